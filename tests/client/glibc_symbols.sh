#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing newer than glibc 2.28 is asked for: a preload that needs more kills the game on an older
# system.
. "$(dirname "$0")/lib.sh"

newest=2.28
for library in "$B/libfprof.so" "$B/libfprof-preload.so"; do
	[ -e "$library" ] || fail "$library is not built"
	versions=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu)
	[ -n "$versions" ] || fail "$library: no versions found"
	last=$(printf '%s\n%s\n' "$versions" $newest | sort -V | tail -1)
	if [ "$last" != $newest ]; then
		objdump -T "$library" | grep "GLIBC_$last"
		fail "$library needs glibc $last"
	fi
	echo "$library needs glibc $(tail -1 <<<"$versions")"
done
