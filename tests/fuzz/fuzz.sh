#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh: runs each fuzzer for FUZZ_SECONDS from its corpus; what it finds is left in B/fuzz/found. New inputs that
# reach new code go to B/fuzz/work/NAME; FUZZ_KEEP=yes merges the smallest useful set back into the corpus.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
found=$B/fuzz/found
mkdir -p "$found"
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
TMPDIR=$(mktemp -d -t fprof-XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
failed=0

for program in "$B"/tests/fuzz/fuzz_*; do
	[ -x "$program" ] || continue
	name=$(basename "$program")
	corpus=tests/fuzz/corpus/${name#fuzz_}
	work=$B/fuzz/work/${name#fuzz_}
	mkdir -p "$corpus" "$work"
	echo "== $name"
	"$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
		-artifact_prefix="$found/$name-" -close_fd_mask=1 -print_final_stats=1 "$work" "$corpus" || failed=1
	if [ "${FUZZ_KEEP-}" = yes ]; then
		rm -rf "$work.min"
		mkdir "$work.min"
		"$program" -set_cover_merge=1 -max_len=4096 -close_fd_mask=1 "$work.min" "$corpus" "$work" 2>/dev/null || continue
		# Of all sizes some: at most FUZZ_FILES.
		find "$work.min" -type f -printf '%s %p\n' | sort -n | cut -d' ' -f2- >"$work.list"
		rm -f "$corpus"/*
		awk -v all="$(wc -l <"$work.list")" -v most="${FUZZ_FILES:-35}" \
			'int(NR * most / all) != int((NR - 1) * most / all) || all <= most' "$work.list" |
			xargs -r cp -t "$corpus"
	fi
done
exit "$failed"
