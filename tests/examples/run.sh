#!/bin/bash
# SPDX-License-Identifier: MIT
# The example game: what it promises to tests and benches, with recording and without.
set -u
. "$(dirname "$0")/../tap.sh"

B=$(realpath "$B")
GAME=$B/game
OFF=$tmp/game_off
export XDG_RUNTIME_DIR=$tmp/none # no daemon
unset FPROF_SOCKET

compiles_without_recording() {
	"${CC:-gcc}" -std=c11 -DFPROF_DISABLED -I. -Iclient -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror \
		-O2 -o "$OFF" examples/game.c -lm -lpthread
}

# No string of ours but the names of its threads' own C strings, and no symbol.
nothing_is_left() {
	! nm "$OFF" | grep -i fprof && ! grep -aE 'audio_callback|wait_for_jobs|record_commands|load_level|uploaded_bytes' "$OFF"
}

reports() { # frames, command...
	local frames=$1 out
	shift
	out=$("$@") || return 1
	echo "$out"
	[[ $out =~ ^frames=$frames\ p50_ms=[0-9]+\.[0-9]{3}\ (p95_ms=[0-9]+\.[0-9]{3}\ )?p99_ms=[0-9]+\.[0-9]{3}\ max_ms=[0-9]+\.[0-9]{3}$ ]]
}

refuses() { # arguments...
	local status
	"$GAME" "$@"
	status=$?
	[ "$status" = 2 ]
}

# A frame that is told to take 40 ms takes no less.
hitches() {
	local out
	out=$("$GAME" --frames 20 --fps 0 --hitch-every 10 --hitch-ms 40 --zones 20) || return 1
	echo "$out"
	[[ $out =~ max_ms=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 40 ]
}

# Endless, until it is told to stop: then it reports like any other.
ends_when_interrupted() {
	local game threads=()
	"$GAME" --frames 0 --fps 500 --zones 20 >"$tmp/out" &
	game=$!
	until [ "${#threads[@]}" -ge 6 ]; do # all are there
		kill -0 "$game" || return 1
		sleep 0.01
		threads=("/proc/$game/task/"*)
	done
	kill -TERM "$game"
	wait "$game" || return 1
	grep -qE '^frames=[0-9]+ p50_ms=' "$tmp/out"
}

check example_compiles_without_recording compiles_without_recording
check example_without_recording_has_nothing_of_ours nothing_is_left
check example_reports_its_frames reports 30 "$GAME" --frames 30 --fps 0 --zones 200
check example_without_recording_reports_too reports 30 "$OFF" --frames 30 --fps 0 --zones 200
check example_with_a_cap reports 10 "$GAME" --frames 10 --fps 200 --cap --zones 20 --threads 4 --seed 7
check example_hitches hitches
check example_ends_when_interrupted ends_when_interrupted
check example_refuses_unknown_options refuses --frobnicate 1
check example_refuses_no_number refuses --frames many
check example_refuses_out_of_range refuses --threads 0
check example_refuses_a_missing_value refuses --fps
exit "$failed"
