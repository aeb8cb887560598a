#!/bin/bash
# SPDX-License-Identifier: MIT
# What a machine can say about the tree without running it. One line a check; LINT=NAME runs only that one.
set -uo pipefail
. "$(dirname "$0")/../tap.sh"

mapfile -t c_files < <(git ls-files -- '*.c' '*.h' '*.cpp' '*.hpp')
mapfile -t shell_files < <(git ls-files -- '*.sh' .ci/run)
mapfile -t modules < <(git ls-files -- 'shm/*.c' 'client/*.c' 'daemon/*.c' ':!*.bpf.c')
tidy_flags=(-std=gnu11 -I. -Iclient -D_GNU_SOURCE '-DFPROF_VERSION="0"' '-DFPROF_LIBDIR="/"'
	-Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Xclang -analyzer-config -Xclang max-nodes=1)

lint() { # name, command...
	[ -z "${LINT-}" ] || [ "$LINT" = "$1" ] || return 0
	check "lint: $1" "${@:2}"
}

format() {
	clang-format --dry-run -Werror "${c_files[@]}"
}

# Clang's warnings are among its checks. As many at a time as make a run worth its start. Those of the analyzer's checks that .clang-tidy asks for look at a
# function's text; its walk along the paths, nine tenths of the time, would be for the core checks, which are not.
tidy() {
	# shellcheck disable=SC2016 # sh expands it
	printf '%s\0' "${modules[@]}" |
		xargs -0 -n 8 -P 2 sh -c 'clang-tidy --quiet "$@" -- '"${tidy_flags[*]@Q}" tidy 2>&1 |
		grep -v ' warnings\? generated\.$'
	return "${PIPESTATUS[1]}"
}

static_check() {
	# It knows neither the cleanup attribute (leaks), nor that mmap takes -1, nor glibc's promises.
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability -j 2 \
		--suppress=memleak --suppress=resourceLeak --suppress=invalidFunctionArg \
		--suppress=readdirCalled --suppress=shiftTooManyBitsSigned --suppress=invalidPrintfArgType_uint \
		-I. -Iclient -D_GNU_SOURCE -D__x86_64__ -D__linux__ -DFPROF_VERSION='"0"' -DFPROF_LIBDIR='"/"' \
		'-DElfW(type)=Elf64_##type' '-Djson_array_foreach(a, i, v)=for (i = 0; (v = json_array_get(a, i)); i++)' \
		'-Djson_object_foreach(o, k, v)=for (v = json_object_get(o, k); v;)' '-DLIBBPF_OPTS(type, name, ...)=struct type name = {__VA_ARGS__}' \
		"${modules[@]}"
}

shell() {
	shellcheck "${shell_files[@]}"
}

first_line() {
	git ls-files -- '*.c' '*.h' '*.cpp' '*.hpp' '*.sh' '*.mjs' 'web/*.js' Makefile '*.mk' schema.sql .ci/run '*.pml' | awk '
		{
			licensed = 0
			for (i = 0; i < 2 && (getline line <$0) > 0; i++)
				licensed += line ~ /SPDX-License-Identifier: /
			close($0)
			if (!licensed) {
				print $0 " does not begin with its licence"
				bad = 1
			}
		}
		END { exit bad }'
}

# The tree must not know where it was written, nor keep notes to its writers. Absolute paths are those of any machine,
# of the API, or of nothing; what ".." leads to is in the tree, or beside an installed program.
foreign_words() {
	local files=(. ':!tests/lint/lint.sh' ':!tests/package-lock.json' ':!*/corpus/*' ':!web/vendor/*') bad=0 known
	local machine='usr|etc|run|dev|proc|sys|tmp|var|opt|home|bin|lib'
	local api='api|sessions|frames|captures|consumers|problems|components|tests|vendor|fprofd'
	known=$(git ls-files | tr '/' '\n' | sort -u | sed 's/[.+]/\\&/g' | tr '\n' '|')
	! git grep -nIE 'TODO|FIXME' -- "${files[@]}" || bad=1
	! git grep -nIP '(?<![\w.$})\]*/{%@-])/(?!('"$machine|$api"'|nonexistent|a|worker)/)[A-Za-z][\w.-]*/\w' -- "${files[@]}" || bad=1
	! git grep -nIP '(?<![\w/.])(\.\./)+(?!\.\.|('"$known"'lib|bus|use\.c|node_modules)(?![\w-]))\w' -- "${files[@]}" || bad=1
	return "$bad"
}

types() {
	tests/node_modules/.bin/tsc -p tests/tsconfig.json
}

openapi() {
	node tests/lint/openapi.mjs
}

lint clang-format format
lint layers bash tests/lint/layers.sh
lint licences first_line
lint words foreign_words
lint shellcheck shell
lint openapi openapi
lint tsc types
lint cppcheck static_check
lint clang-tidy tidy
exit "$failed"
