#!/bin/bash
# SPDX-License-Identifier: MIT
# replay.sh: every input of every committed corpus again, by the programs of `make replays` in B (a sanitized build). One
# line a fuzzer.
set -uo pipefail
. "$(dirname "$0")/../tap.sh"
export TMPDIR=$tmp
export ASAN_OPTIONS=${ASAN_OPTIONS-}:hard_rss_limit_mb=2048:max_allocation_size_mb=2048

for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	files=("tests/fuzz/corpus/$name"/*)
	check "fuzz_$name replays ${#files[@]} inputs" "$B/tests/fuzz/replay_$name" "${files[@]}"
done
exit "$failed"
