#!/bin/sh
# SPDX-License-Identifier: MIT
# Turns files into the C source of the daemon's assets (daemon/assets.h).
# usage: sh tools/embed.sh OUT.c FILE...
# A file under web/ is served at its name ("/index.html"); any other is known by its base name. Lines of our scripts that
# are nothing but comment are empty there, and types and indentation are left out: they are a fourth of what a browser would
# load.
set -eu

out=$1
shift
work=$(mktemp)
trap 'rm -f "$work"' EXIT

type_of() {
	case $1 in
	*.html) echo 'text/html; charset=utf-8' ;;
	*.js) echo 'text/javascript; charset=utf-8' ;;
	*.css) echo 'text/css; charset=utf-8' ;;
	*.svg) echo 'image/svg+xml' ;;
	*.yaml) echo 'application/yaml; charset=utf-8' ;;
	*) echo 'text/plain; charset=utf-8' ;;
	esac
}

path_of() {
	case $1 in
	web/*) echo "/${1#web/}" ;;
	*) basename "$1" ;;
	esac
}

content_of() {
	case $1 in
	web/vendor/*) cat "$1" ;;
	web/*.js) awk '
		inside { print ""; inside = !/\*\/[ \t]*$/; next }
		NR > 1 && /^[ \t]*\/\// { print ""; next }
		/^[ \t]*\/\*\*.*\*\/[ \t]*$/ { print ""; next }
		/^[ \t]*\/\*\*/ && !/\*\// { inside = 1; print ""; next }
		{ gsub(/\/\*\* @(type|param|returns)[^*]*\*\/ ?/, ""); sub(/^\t+/, ""); print }' "$1" ;;
	*) cat "$1" ;;
	esac
}

{
	echo '/* Made by tools/embed.sh: do not edit. */'
	echo '#include "daemon/assets.h"'
	echo '#include <string.h>'
	n=0
	for file; do
		[ -r "$file" ] || {
			echo "embed.sh: cannot read $file" >&2
			exit 1
		}
		echo "static const unsigned char data_${n}[] = {"
		content_of "$file" | od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
		echo '0x00};'
		n=$((n + 1))
	done
	echo 'static const struct asset assets[] = {'
	n=0
	for file; do
		hash=$(content_of "$file" | sha256sum | cut -c1-16)
		printf '{"%s", data_%d, sizeof(data_%d) - 1, "%s", "W/\\"%s\\""},\n' \
			"$(path_of "$file")" "$n" "$n" "$(type_of "$file")" "$hash"
		n=$((n + 1))
	done
	cat <<'END'
{0}};

const struct asset *assets_find(const char *path)
{
	const struct asset *a;

	for (a = assets; a->path; a++)
		if (!strcmp(a->path, path))
			return a;
	return NULL;
}

const char *assets_text(const char *path)
{
	const struct asset *a = assets_find(path);

	return a ? (const char *)a->data : NULL;
}
END
} >"$work"
cat "$work" >"$out"
