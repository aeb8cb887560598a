#!/bin/bash
# SPDX-License-Identifier: MIT
# main returns, exit is called, or another program is executed, while threads record. The status
# is the program's own, and none of our descriptors is left to the new program.
. "$(dirname "$0")/lib.sh"

export FPROF_RUN=1
program ends
times=${SAN:+5} # a sanitized one takes its time
for how in return exit quick exec; do
	for ((i = 0; i < ${times:-20}; i++)); do
		"$OUT/ends" $how
		status=$?
		[ $status -eq 7 ] || fail "$how: status $status, not 7"
	done
done
cat >"$OUT/inherit.c" <<'END'
#include <fprof.h>
#include <unistd.h>
int main(void)
{
	fprof_frame_mark();
	return execlp("ls", "ls", "-l", "/proc/self/fd", (char *)0);
}
END
# shellcheck disable=SC2086
$CC -std=gnu11 $SAN -Iclient -I. -o "$OUT/inherit" "$OUT/inherit.c" \
	-L"$B" -lfprof -Wl,-rpath,"$(realpath "$B")" ||
	fail inherit
"$OUT/inherit" >"$OUT/fds" || fail "exec: ls failed"
if grep -i memfd "$OUT/fds"; then
	fail "a new program inherits the memory"
fi
