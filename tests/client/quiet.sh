#!/bin/bash
# SPDX-License-Identifier: MIT
# After the warm-up 300 frames x 500 zones on two threads with 32 counters make no allocation and at
# most one system call a second: with a daemon, without one, and recording without one.
. "$(dirname "$0")/lib.sh"

[ -z "$SAN" ] || skip "a sanitizer allocates and makes system calls of its own"

# The stand-in maps what it is given: it needs the reader.
program quiet shm/reader.c
ways=("daemon" "" "run")
for way in "${ways[@]}"; do
	out=$(FPROF_RUN=${way#daemon} "$OUT/quiet" "$way" 0) || fail "$way: it ended with $?"
	[ "$out" = "allocations 0" ] || fail "$way: $out"
done
command -v strace >/dev/null || skip "strace is not installed; allocations are checked"
strace -f -qq -o /dev/null true 2>/dev/null ||
	skip "ptrace is refused here; allocations are checked"
for way in "${ways[@]}"; do
	FPROF_RUN=${way#daemon} strace -f -qq -ttt -o "$OUT/trace" "$OUT/quiet" "$way" 4 >/dev/null ||
		fail "$way: under strace it ended with $?"
	awk -v way="${way:-nothing}" '
		{ line[NR] = $0; if (/getppid\(/) count[$1]++ }
		END {
			# the main thread calls getppid twice, the second one once
			for (p in count) if (count[p] == 2) m = p
			for (i = 1; i <= NR; i++) {
				split(line[i], f, " ")
				if (f[1] == m && line[i] ~ /getppid\(/) {
					on = !on
					if (on) from = f[2]; else to = f[2]
				} else if (on && (f[1] in count) &&
					   line[i] !~ /getppid|resumed>|---|\+\+\+/) {
					calls++
					print line[i]
				}
			}
			seconds = to - from
			printf "%s: %d system calls in %.2f s\n", way, calls, seconds
			exit !(m && seconds > 1 && calls <= 1 + seconds)
		}' "$OUT/trace" || fail "$way: too many system calls"
done
