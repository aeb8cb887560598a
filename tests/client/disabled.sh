#!/bin/bash
# SPDX-License-Identifier: MIT
# With FPROF_DISABLED no code, no string and no symbol of ours is left, optimised
# or not, in C and C++; without it the same source compiles without a warning, and has all
# strings.
. "$(dirname "$0")/lib.sh"

languages=("gcc -std=c11" "clang -std=c11" "g++ -std=c++17 -x c++" "clang++ -std=c++17 -x c++")

compile() { # CHECK OBJECT FLAGS...
	local check=$1 object=$2 language
	shift 2
	for language in "${languages[@]}"; do
		command -v "${language%% *}" >/dev/null || { echo "${language%% *} is not installed"; continue; }
		# shellcheck disable=SC2086
		$language $WARNINGS "$@" -Iclient -I. -c tests/client/disabled.c -o "$object" ||
			fail "$language $* does not compile"
		"$check" "$object" || fail "$language $*: see above"
	done
}

nothing_left() {
	if strings -a "$1" | grep FPROFTEXT; then
		return 1
	fi
	if nm "$1" | grep -i fprof; then
		return 1
	fi
}

everything_there() {
	local texts
	texts=$(strings -a "$1" | grep -c FPROFTEXT)
	[ "$texts" -ge 30 ] || { echo "only $texts texts"; return 1; }
	[ "$(nm "$1" | grep -c fprof_begin_)" -ge 1 ]
}

for level in -O0 -O2; do
	compile nothing_left "$OUT/disabled.o" -DFPROF_DISABLED $level
	compile everything_there "$OUT/enabled.o" $level
done

# No code: the functions do nothing but return.
gcc -std=c11 -O2 -DFPROF_DISABLED -Iclient -I. -c tests/client/disabled.c -o "$OUT/disabled.o"
text=$(size -A "$OUT/disabled.o" | awk '$1 ~ /^\.text/ { n += $2 } END { print n }')
[ "$text" -le 64 ] || fail "$text bytes of code are left"
gcc -std=c11 -DFPROF_DISABLED -Iclient -I. tests/client/disabled.c -o "$OUT/disabled" ||
	fail "it needs a library"
"$OUT/disabled" || fail "it does not run"
