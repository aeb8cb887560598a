#!/bin/bash
# SPDX-License-Identifier: MIT
# `fprof run --frames`: games that are measured, that end early, that are killed. One line a test: "ok NAME",
# "not ok NAME: why" or "skip NAME: why"; exits 1 when one was not ok. B: the build directory.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
TMP=$(mktemp -d)
failures=0
export XDG_RUNTIME_DIR=$TMP/runtime HOME=$TMP PATH=$PATH:/usr/games
unset FPROF_SOCKET FPROF_URL
mkdir -m 700 "$XDG_RUNTIME_DIR"

cleanup() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null
	[ -z "${daemon:-}" ] || wait "$daemon" 2>/dev/null
	rm -rf "$TMP"
}
trap cleanup EXIT

verdict() { # name, what is wrong or nothing
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2"
		failures=$((failures + 1))
	fi
}

# Runs fprof run with these arguments; $TMP/report is to be what it writes.
measure() { # exit status, arguments...
	local want=$1 got
	shift
	rm -f "$TMP/report"
	timeout 120 "$B/fprof" run --export "$TMP/report" "$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	wrong=
	[ "$got" = "$want" ] || wrong="exit status $got, not $want: $(tail -1 "$TMP/err")"
}

# What must be true of the report.
holds() { # jq filter
	[ -n "$wrong" ] || jq -e "$1" "$TMP/report" >/dev/null 2>"$TMP/jq" ||
		wrong="not so: $1: $(jq -c '[.complete, .reason, .end, .left_out, .frames.count]' "$TMP/report" 2>&1) $(head -1 "$TMP/jq")"
}

start_daemon() {
	local line
	mkfifo "$TMP/log"
	"$B/fprofd" --http 127.0.0.1:0 --runtime-dir "$XDG_RUNTIME_DIR/fprofd" --state-dir "$TMP/state" 2>"$TMP/log" &
	daemon=$!
	exec 8<"$TMP/log"
	while read -r -t 30 line <&8; do
		case $line in
		*'games at'*)
			cat <&8 >"$TMP/daemon.log" &
			return 0
			;;
		esac
	done
	return 1
}

game=("$B/game" --fps 200 --zones 100)
line="${game[*]}"

measure 77 --frames 5 -- touch "$TMP/started"
[ ! -e "$TMP/started" ] || wrong='the game was started'
[ -n "$wrong" ] || ! ls "$TMP"/report* >/dev/null 2>&1 || wrong='a file was left'
verdict without_a_daemon_nothing_is_started "$wrong"

if ! start_daemon; then
	verdict daemon 'fprofd did not start'
	exit 1
fi

measure 0 --frames 100 --skip 20 -- "${game[@]}" --frames 100000
holds '.format == "fprof-run" and .version == 1 and .complete and .reason == null'
holds '.asked == {frames: 100, skip: 20} and .end.by == "fprof" and (.end.killed | not)'
holds '.frames.count == 100 and .frames.frame == [range(22; 122)]'
holds '[.frames | .wall_ns, .cpu_ns, .gpu_ns, .lost_events | length] == [100, 100, 100, 100]'
holds '.left_out.startup == 1 and .left_out.skipped == 20 and .left_out.missing == 0 and .left_out.loading == 0'
holds '.lost_events == 0 and .session.name == "game" and .bounds.history_frames == 600'
verdict frames_are_measured_and_the_game_is_ended "$wrong"
holds '[.frames.wall_ns | sort | .[49], .[98], .[99]] == [.frames.statistics.wall_ns | .p50, .p99, .max]'
holds '.frames.statistics.wall_ns.samples == 100 and .frames.statistics.wall_ns.p50 > 4000000'
verdict percentiles_are_nearest_rank "$wrong"
holds '.zones.complete and .zones.reason == null and .zones.range.frames == 100 and (.zones.table | length) > 5'
# (a call at a frame's edge is in two frames)
holds 'all(.zones.table[]; .calls > 0 and .frames <= 2 * .calls and .total_ns >= .self_ns and (.path | length) > 0 and .path[-1] == .name)'
holds 'any(.zones.table[]; .frames == 100 and .p50_ns <= .p99_ns and .frame_p50_ns <= .frame_p99_ns and .frame_p99_ns > 0)'
verdict zones_have_counts_and_percentiles "$wrong"

measure 1 --frames 900 -- "${game[@]}" --frames 50
holds '(.complete | not) and .end == {by: "itself", status: 0, signal: null, killed: false}'
holds '.frames.count == 49 and .frames.statistics.wall_ns.p99 == null and (.reason | contains("ended with status 0"))'
[ -n "$wrong" ] || grep -q 'keeps 600 frames .* of 900 the first' "$TMP/err" || wrong="$(head -1 "$TMP/err")"
verdict a_game_that_ends_early_has_its_frames "$wrong"

measure 0 --frames 700 -- "$B/game" --fps 2000 --zones 10 --frames 100000
holds '.complete and (.zones.complete | not) and .zones.range.left_out.evicted >= 100 and .zones.reason != null'
[ -n "$wrong" ] || grep -q 'zones are those of the last frames only' "$TMP/err" || wrong='nothing is said'
verdict zones_that_left_the_history_are_missed "$wrong"

# Kills itself in the middle: -9 of the child's shell would be of another process.
measure 1 --frames 100000 -- bash -c "$line --frames 100000 & until [ \"\$($B/fprof sessions --json |
	jq --argjson p \$! '[.sessions[] | select(.pid == \$p)][0].frames_total // 0')\" -gt 30 ]; do :; done; kill -9 \$!; wait \$!; kill -9 \$\$"
holds '(.complete | not) and .end.signal == 9 and .end.by == "itself" and (.reason | contains("signal 9"))'
holds '.frames.count >= 29 and .session.state == "crashed" and .session.end_reason != null'
verdict a_killed_game_has_its_frames "$wrong"

measure 0 --frames 30 -- bash -c "$line --frames 100000 & exit 0"
holds '.complete and .frames.count == 30 and .end.by == "fprof"'
[ -n "$wrong" ] || ! kill -0 "$(jq .session.pid "$TMP/report")" 2>/dev/null || wrong='the game lives'
verdict a_game_that_a_launcher_leaves_is_measured_and_ended "$wrong"

measure 0 --frames 30 -- bash -c "trap '' TERM; $line --frames 100000"
holds '.complete'
[ -n "$wrong" ] || ! kill -0 "$(jq .session.pid "$TMP/report")" 2>/dev/null || wrong='the game lives'
verdict a_game_that_stays_is_killed "$wrong"

measure 1 --frames 10 -- sh -c 'exit 3'
holds '.frames.count == 0 and .end.status == 3 and .session == null and (.reason | contains("saw nothing")) and .zones.table == []'
verdict a_program_without_frames_is_reported "$wrong"

gcc -std=c11 -I. -Iclient -o "$TMP/loads" tests/harness/loads.c -L"$B" -lfprof -Wl,-rpath,"$B"
measure 0 --frames 20 -- "$TMP/loads"
holds '.complete and .left_out.loading == 32 and .frames.frame == ([range(12; 22)] + [range(44; 54)])'
verdict frames_in_which_it_loads_are_left_out "$wrong"

# Told to stop: the game ends and what there is is written.
rm -f "$TMP/report"
"$B/fprof" run --frames 100000 --export "$TMP/report" -- "${game[@]}" --frames 100000 >/dev/null 2>&1 &
tool=$!
newest=0
until [ "$newest" -gt 30 ]; do
	newest=$("$B/fprof" sessions --json | jq '.sessions[0] | if .state == "live" then .frames_total else 0 end')
done
kill -INT "$tool"
wait "$tool"
[ $? = 1 ] && wrong= || wrong='the exit status is not 1'
holds '(.complete | not) and (.reason | contains("told to stop")) and .frames.count > 20 and .end.by == "fprof"'
verdict a_run_that_is_interrupted_has_its_frames "$wrong"

WAD=/usr/share/games/doom/freedoom1.wad
if [ -e "$WAD" ] && command -v chocolate-doom >/dev/null; then
	SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy measure 0 --frames 500 --skip 100 -- chocolate-doom -iwad "$WAD" \
		-timedemo demo3 -nosound -nogui
	holds '.complete and .frames.frame == [range(102; 602)] and .end.by == "fprof" and .left_out.missing == 0'
	holds 'any(.zones.table[]; .name == "SDL_RenderPresent" and .calls == .frames and .frames > 0)'
	verdict doom_is_measured_by_the_hook "$wrong"
else
	echo "skip doom_is_measured_by_the_hook: chocolate-doom and freedoom are not installed"
fi

refuse() { # name, exit status, arguments...
	local name=$1 want=$2 got
	shift 2
	"$B/fprof" run "$@" >/dev/null 2>"$TMP/err"
	got=$?
	verdict "$name" "$([ "$got" = "$want" ] || echo "exit status $got: $(tail -1 "$TMP/err")")"
}
refuse frames_without_a_file 2 --frames 5 -- true
refuse a_file_without_frames 2 --export "$TMP/x" -- true
refuse frames_that_are_no_number 2 --frames many --export "$TMP/x" -- true
refuse no_frames_at_all 2 --frames 0 --export "$TMP/x" -- true
refuse a_file_that_cannot_be_made 78 --frames 5 --export "$TMP/none/x" -- true
refuse a_command_that_is_not_there 127 --frames 5 --export "$TMP/x" -- no-such-program
verdict nothing_is_left_beside_the_file "$(ls "$TMP"/x* "$TMP"/report.* 2>/dev/null)"

exit $((failures > 0))
