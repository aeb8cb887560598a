#!/bin/bash
# SPDX-License-Identifier: MIT
# replay.sh: every input of every committed corpus again, under the sanitizers. One line a fuzzer.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
failed=0
TMPDIR=$(mktemp -d -t fprof-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

if ! make --no-print-directory B="$B" fuzzers >"$B/fuzzers.log" 2>&1; then
	sed 's/^/# /' "$B/fuzzers.log" | tail -n 20
	echo "not ok the fuzzers' build"
	exit 1
fi
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	corpus=tests/fuzz/corpus/${name#fuzz_}
	files=("$corpus"/*)
	if [ ! -f "${files[0]}" ]; then
		echo "not ok $name has no corpus"
		failed=1
	elif out=$("$B/tests/fuzz/$name" -timeout=10 -rss_limit_mb=2048 "${files[@]}" 2>&1); then
		echo "ok $name replays ${#files[@]} inputs"
	else
		echo "not ok $name fails on an input of its corpus"
		printf '%s\n' "$out" | tail -n 60 | sed 's/^/# /'
		failed=1
	fi
done
exit "$failed"
