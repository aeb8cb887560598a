#!/bin/sh
# SPDX-License-Identifier: MIT
# need.sh [--check] LIST...: are the packages of these lists (tools/packages) there?
#
# Without --check, what is missing is installed from Debian's archive, by root or through sudo; when nothing
# is missing, nothing is asked of the network. With --check it only says what is missing.
set -eu

here=$(dirname "$0")
check=no
if [ "${1-}" = --check ]; then
	check=yes
	shift
fi

# Another distribution: its packages have other names, and the compiler will say what it lacks.
command -v dpkg-query >/dev/null 2>&1 || exit 0

wanted() {
	for list in "$@"; do
		found=$(sed -n "s/^$list: *//p" "$here/packages")
		if [ -z "$found" ]; then
			echo "need.sh: no list '$list' in $here/packages" >&2
			return 2
		fi
		for word in $found; do
			case $word in
			*=*) command -v "${word%%=*}" >/dev/null 2>&1 || echo "${word#*=}" ;;
			*) echo "$word" ;;
			esac
		done
	done
}

names=$(wanted "$@")
[ -n "$names" ] || exit 0
# shellcheck disable=SC2086 # one word a package
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n${db:Status-Status} ${Provides}\n' $names 2>/dev/null |
	sed -n 's/^installed //p' | tr -d ',' | tr ' ' '\n') || true
missing=
for name in $names; do
	printf '%s\n' "$installed" | grep -qxF -e "$name" && continue
	# A package may stand in for another by Provides.
	case " $missing " in *" $name "*) ;; *) missing="$missing $name" ;; esac
done
[ -n "$missing" ] || exit 0

if [ "$check" = yes ]; then
	echo "fprof: these Debian packages are missing:$missing" >&2
	echo "fprof: install them with: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	as=
elif command -v sudo >/dev/null 2>&1; then
	as=sudo
else
	echo "fprof: neither root nor sudo; install these Debian packages first:$missing" >&2
	exit 1
fi
echo "fprof: installing from Debian:$missing"
export DEBIAN_FRONTEND=noninteractive
$as apt-get -q update
# shellcheck disable=SC2086
$as apt-get -q install -y --no-install-recommends $missing
