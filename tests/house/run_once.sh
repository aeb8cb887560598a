#!/bin/bash
# SPDX-License-Identifier: MIT
# `make run` without its waiting: the daemon, doom's 1281 frames, the example game, three lines that answer.
set -uo pipefail

. "$(dirname "$0")/../tap.sh"
dir=$(mktemp -d /dev/shm/fprof-once.XXXXXX)
trap 'rm -rf "$dir" "$tmp"' EXIT

said=$(XDG_RUNTIME_DIR=$dir XDG_STATE_HOME=$dir/state RUN_ONCE=1 bash tools/run.sh 2>&1)
status=$?
printf '%s\n' "$said" | sed 's/^/# /'
has() {
	printf '%s\n' "$said" | grep -qE "$1"
}
check "make run ends well" [ "$status" = 0 ]
# Whether they are as many as Doom drew is tests/api/doom.test.mjs's to say: a busy machine skips some of the melt's 41.
recorded=$(printf '%s\n' "$said" | sed -n 's/^doom drew \([0-9]*\) frames.*/\1/p')
check "make run recorded doom's frames" test "${recorded:-0}" -gt 1240 -a "${recorded:-0}" -le 1281
check "make run prints the dashboard's address" has '^The dashboard:  http://127\.0\.0\.1:[0-9]+/$'
check "make run prints three curl lines" [ "$(printf '%s\n' "$said" | grep -c "^  curl -s 'http")" = 3 ]
exit "$failed"
