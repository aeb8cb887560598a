#!/bin/bash
# SPDX-License-Identifier: MIT
# `make run` without its waiting: the daemon, doom's 1281 frames, the example game, three lines that answer.
set -uo pipefail

. "$(dirname "$0")/../tap.sh"
dir=$(mktemp -d "${TMPDIR:-/dev/shm}/fprof-once.XXXXXX")
trap 'rm -rf "$dir" "$tmp"' EXIT
export XDG_RUNTIME_DIR=$dir XDG_STATE_HOME=$dir/state

said=$(RUN_ONCE=1 bash tools/run.sh 2>&1)
status=$?
printf '%s\n' "$said" | sed 's/^/# /'
has() {
	printf '%s\n' "$said" | grep -qE "$1"
}
check "make run ends well" [ "$status" = 0 ]
# Whether they are as many as Doom drew is tests/api/doom.test.mjs's to say: a busy machine skips some of the melt's 41.
recorded=$(printf '%s\n' "$said" | sed -n 's/^doom (session [0-9]*) drew \([0-9]*\) frames.*/\1/p')
check "make run recorded doom's frames" test "${recorded:-0}" -gt 1240 -a "${recorded:-0}" -le 1281
check "make run prints the dashboard's address" has '^The dashboard:  http://127\.0\.0\.1:[0-9]+/$'
check "make run prints three curl lines" [ "$(printf '%s\n' "$said" | grep -c "^  curl -s 'http")" = 3 ]
doom=$(printf '%s\n' "$said" | sed -n 's/^doom (session \([0-9]*\)) .*/\1/p')
check "make run plays doom first, and its lines ask for it" has "^  curl -s 'http://.*/sessions/1/frames/slowest'\$"
check "make run says doom's session" test "$doom" = 1

# Ctrl-C goes to all processes of the terminal's group. This shell's children would ignore it.
mkfifo "$tmp/out"
perl -e '$SIG{INT} = "DEFAULT"; setpgrp(0, 0); exec @ARGV' bash tools/run.sh >"$tmp/out" 2>&1 &
run=$!
: >"$tmp/log"
while IFS= read -r line; do
	printf '%s\n' "$line" >>"$tmp/log"
	[[ $line != 'Ctrl-C stops everything.' ]] || kill -INT -- "-$run"
done <"$tmp/out"
status=0
wait "$run" || status=$?
sed 's/^/# /' "$tmp/log"
check "Ctrl-C ends make run" test "$status" = 130
check "after Ctrl-C the game's session has ended in order" grep -q 'session [0-9]* ended: exit$' "$tmp/log"
no_daemon() {
	! "$B/fprof" status
}
check "after Ctrl-C no daemon is left" no_daemon

# After su, in a container, from cron: a user without a runtime directory.
name="make run without a runtime directory"
user=(env)
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ! "${user[@]}" test -x "$B/fprofd" -a -r tools/run.sh; then
	skip "$name" "another user cannot read this directory"
else
	mkdir -m 777 "$dir/home"
	chmod 711 "$dir"
	check "$name" env -u XDG_RUNTIME_DIR -u XDG_STATE_HOME -u XDG_CONFIG_HOME -u TMPDIR HOME="$dir/home" RUN_ONCE=1 \
		"${user[@]}" bash tools/run.sh
fi
exit "$failed"
