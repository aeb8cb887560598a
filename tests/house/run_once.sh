#!/bin/bash
# SPDX-License-Identifier: MIT
# `make run` without its waiting: the daemon, doom's 1281 frames, the example game, three lines that answer.
set -uo pipefail

. "$(dirname "$0")/../tap.sh"
dir=$(mktemp -d /dev/shm/fprof-once.XXXXXX)
trap 'rm -rf "$dir" "$tmp"' EXIT

out=$(XDG_RUNTIME_DIR=$dir XDG_STATE_HOME=$dir/state RUN_ONCE=1 bash tools/run.sh 2>&1)
status=$?
printf '%s\n' "$out" | sed 's/^/# /'
has() {
	printf '%s\n' "$out" | grep -qE "$1"
}
check "make run ends well" [ "$status" = 0 ]
check "make run recorded doom's 1281 frames" has '^doom drew 1281 frames'
check "make run prints the dashboard's address" has '^The dashboard:  http://127\.0\.0\.1:[0-9]+/$'
check "make run prints three curl lines" [ "$(printf '%s\n' "$out" | grep -c "^  curl -s 'http")" = 3 ]
exit "$failed"
