#!/bin/bash
# SPDX-License-Identifier: MIT
# The fprof command against a daemon and a game. One line a test: "ok NAME", "not ok NAME: why" or
# "skip NAME: why"; exits 1 when one was not ok. B: the build directory.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
# On a tmpfs, so that the history is in here too.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
TMP=$(mktemp -d)
failures=0
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$TMP/empty"

cleanup() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null
	[ -z "${refuser:-}" ] || kill "$refuser" 2>/dev/null
	[ -z "${daemon:-}" ] || wait "$daemon" 2>/dev/null
	rm -rf "$TMP"
}
trap cleanup EXIT

ok() {
	echo "ok $1"
}

fail() { # name, why
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

# Runs fprof; $TMP/out and $TMP/err hold what it says.
expect() { # name, exit status, pattern that stdout or stderr matches, arguments...
	local name=$1 want=$2 pattern=$3 got
	shift 3
	timeout 120 "$B/fprof" "$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	if [ "$got" != "$want" ]; then
		fail "$name" "exit status $got, not $want: $(head -2 "$TMP/err")"
	elif ! cat "$TMP/out" "$TMP/err" | grep -qE -- "$pattern"; then
		fail "$name" "nothing matches '$pattern': $(head -3 "$TMP/out" "$TMP/err" | tr '\n' '|')"
	else
		ok "$name"
	fi
}

# What the JSON of the run before says.
expect_json() { # name, jq filter that must be true
	if jq -e "$2" "$TMP/out" >/dev/null 2>"$TMP/jq"; then
		ok "$1"
	else
		fail "$1" "not so: $2 $(head -1 "$TMP/jq")"
	fi
}

start_daemon() {
	local line
	mkfifo "$TMP/log"
	echo 'ring_kib = 256' >"$TMP/fprofd.conf"
	"$B/fprofd" --http 127.0.0.1:0 --runtime-dir "$XDG_RUNTIME_DIR/fprofd" --state-dir "$TMP/state" \
		--config "$TMP/fprofd.conf" 2>"$TMP/log" &
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

expect without_a_daemon_it_says_where_it_looked 77 "no daemon at $XDG_RUNTIME_DIR/fprofd/http.sock" status
expect selftest_without_a_daemon 77 'no daemon at' selftest
if ! start_daemon; then
	fail daemon "fprofd did not start"
	exit 1
fi

expect version 0 '^fprof [0-9]' --version
expect help 0 'Exit codes: 0 done' --help
expect an_unknown_command 2 "no command 'frobnicate'" frobnicate
expect status_is_readable 0 '^clock +(tsc|cntvct|monotonic), [0-9]+\.[0-9] MHz' status
expect status_has_units 0 '^history +[0-9]+\.[0-9] of 128 MiB, 600 frames' status
expect help_of_a_command 0 '^  fprof status  ' status -h
expect help_of_run 0 '^  --skip M ' run --help
expect help_behind_other_words 0 'METRIC +frame, cpu, gpu, wait, ' check 'frame.p99<=1' --help

# Options that the help names are in the man page; those of a command's synopsis there are in its help.
options() {
	grep -oE -- '(^|[^-a-z])--?[a-z][-a-z]*' | grep -oE -- '--?[a-z].*' | sort -u
}
lacking() { # file, what it is; options at standard input
	local option
	while read -r option; do
		grep -qE -- "(^|[^-a-z])$option([^-a-z]|\$)" "$1" || echo "$option is not in $2"
	done
}
man_agrees() { # command
	"$B/fprof" "$1" --help >"$TMP/help"
	options <"$TMP/help" | lacking "$TMP/man" 'the man page'
	awk -v c="$1" 'BEGIN { n = -1 } /^\.SY/ { n = 0; next } /^\.YS/ { n = -1 }
		n >= 0 && ++n == 1 { own = index(" " $0 " ", " " c " ") }
		n > 0 && own' "$TMP/man" | options | lacking "$TMP/help" 'its help'
}
sed 's/\\-/-/g; s/\\f[A-Z]//g' docs/man/fprof.1 >"$TMP/man"
said=$(for command in run attach detach status sessions frames frame zones stats verdict critical-path sampling samples tail record \
	freeze stop clear detail dashboard snapshot trigger spikes diff check export save captures import query selftest; do
	man_agrees "$command" | sed "s/^/$command: /"
	[ -s "$TMP/help" ] || echo "$command has no help"
done)
if [ -z "$said" ]; then
	ok the_man_page_agrees_with_the_help
else
	fail the_man_page_agrees_with_the_help "$said"
fi
if "$B/fprof" status | grep -q refused; then
	fail status_has_no_refusals "$("$B/fprof" status)"
else
	ok status_has_no_refusals
fi
expect status_has_reasons 0 '^scheduler +off +[a-z]' status
expect no_session_yet 1 'There is no such' frames
expect selftest 0 '^FPROF_SELFTEST_OK=true$' selftest
expect selftest_is_listed 0 'fprof selftest: lapped [0-9]+ +ended' sessions
expect selftest_is_not_current 1 'There is no such' frames
expect selftest_is_in_no_total 0 '"losses"' status --json
expect_json selftest_counts_nothing '.sessions.total == 0 and .current == null and ([.losses[]] | add) == 0'
expect selftest_as_json 0 '"ok": true' selftest --json
expect_json selftest_ran_all_fixtures '.fixtures >= 6 and .failures == []'

if ! "$B/game" --frames 40 --fps 400 --zones 100 --cap >"$TMP/game" 2>&1; then
	fail game "$(cat "$TMP/game")"
fi
name=game
expect sessions_are_listed 0 "^ *[0-9]+ +[0-9]+ +$name +ended " sessions
expect frames_are_in_ms 0 '^ *40 +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} ' frames --last 3
expect cut_frames_are_said 0 '^3 of 40 frames' frames --last 3
expect frames_by_their_numbers 0 '^5 of 5 frames$' frames --from 5 --to 9
expect frames_by_number_and_by_count 2 'exclude each other' frames --from 5 --last 3
expect a_session_by_option 0 '^40 of 40 frames$' frames --session current --last 40
expect two_sessions 2 "two sessions are given: 'current' and '1'" frames 1 --session current
expect a_session_in_front_of_sql 0 '^ *40$' query current 'SELECT count(*) FROM frame_times'
expect two_statements_are_wrong_usage 2 'one statement at a time' query 'SELECT 1; SELECT 2'
expect all_frames_are_said 0 '^40 of 40 frames$' frames current --last=100
expect frames_of_a_stream 0 ' of [0-9]+ frames' frames --stream audio
expect an_unknown_stream 1 'There is no such stream' frames --stream 'no/such stream'
expect an_unknown_session 1 '^fprof: There is no such session, or it is gone' frames 999
expect frames_without_a_number 2 'a number from 1 to 3600' frames --last many
expect frames_of_no_session 2 "SESSION is a number .* or 'current', not 'abc'" frames abc
expect tail_of_no_session 2 "SESSION is a number .* or 'current', not '0'" tail 0
expect frames_over_a_time 0 '^40 of 40 frames are longer than 0 ms$' frames --over 0 --last 40
expect frames_over_more_than_any 0 '^0 of 40 frames are longer than 1e\+06 ms$' frames --over 1000000
expect frames_over_nothing 2 '--over takes milliseconds' frames --over soon
expect frames_by_no_key 2 '--sort takes frame, wall' frames --sort name
expect frames_by_wall_time 0 '"frames"' frames --sort wall --last 7 --json
expect_json the_slowest_frames_come_first '[.frames[].wall_ns] | length == 7 and . == (sort | reverse)'
slowest=$(jq '.frames[0].wall_ns' "$TMP/out")
expect a_frames_numbers 0 '^ *7 +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} ' frame 7
expect a_frames_zones 0 '^main +frame_cap \(wait: cap\) +examples/game\.c:[0-9]+ +[0-9.]+ +[0-9.]+ +1$' frame current 7
expect a_frame_names_its_waits 0 '\(wait: cap\)' frame 7
expect the_slowest_frame_by_name 0 '"wall_ns"' frame slowest --json
expect_json the_slowest_frame_is_one_of_them "$slowest >= .wall_ns"
expect a_verdict_says_what_it_rests_on 0 'confidence [0-9]+%; the kernel was heard of [0-9]+ of [0-9]+ frames$' verdict --last 20
expect a_verdict_says_whose_it_is 0 '^20 frames \([0-9]+\.\.[0-9]+\) of session [0-9]+; ' verdict --last 20
expect the_critical_path_of_a_frame_is_paged 0 '^1 of [0-9]+ rows; frame 7 of session [0-9]+, ' critical-path current 7 --limit 1
expect no_such_frame 1 'There is no such frame' frame 4000
expect no_frame 2 "a frame's number, 'slowest' or 'latest'" frame
expect a_frame_without_a_number 2 "'slowest' or 'latest', not 'third'" frame third
expect frames_as_json 0 '"frames"' frames --last 5 --json
expect_json frames_as_json_are_the_answer '.frames | length == 5 and .[4].frame == 40'
expect nothing_is_open_after_an_orderly_end 0 '^no zone is open$' tail
expect tail_as_json 0 '"unfinished"' tail --json current
expect_json tail_has_no_number '.frame == null and all(.threads[].open; . == [])'
expect tail_of_an_unknown_session 1 'There is no such session' tail 999
expect tail_of_two_sessions 2 'tail does not know' tail 1 2
expect what_was_open_at_death 0 'worker 0 +load > read > decompress$' tail "$("$B/fprof" sessions --json |
	jq '[.sessions[] | select(.state == "crashed")][0].id')"
expect dashboard 0 '^http://127\.0\.0\.1:[0-9]+/$' dashboard
address=$(cat "$TMP/out")
expect dashboard_as_json 0 '"address"' dashboard --json
expect over_tcp 0 "$name" sessions --url "$address"
FPROF_URL=$address expect over_tcp_by_variable 0 "$name" sessions
socket=$XDG_RUNTIME_DIR/fprofd/fprofd.sock
FPROF_SOCKET=$socket XDG_RUNTIME_DIR=$TMP/empty expect by_the_socket_of_the_games 0 "$name" sessions
expect a_port_without_a_daemon 77 'does not answer' sessions --url http://127.0.0.1:1
expect no_address 78 'is no http' sessions --url 127.0.0.1:1
expect a_token_file_that_is_not_there 78 'No such file' sessions --url "$address" --token-file "$TMP/none"

# What the game of `fprof run` sees of a variable.
game_sees() { # name, variable, value, what the tool must say
	local got
	got=$("$B/fprof" run -- sh -c "printf %s \"\${$2-unset}\"" 2>"$TMP/err")
	if [ "$got" != "$3" ]; then
		fail "$1" "$2 is '$got', not '$3'"
	elif [ -z "$4" ] && [ -s "$TMP/err" ] || [ -n "$4" ] && ! grep -q -- "$4" "$TMP/err"; then
		fail "$1" "it says: $(cat "$TMP/err")"
	else
		ok "$1"
	fi
}
game_sees run_asks_for_the_ring_of_the_configuration FPROF_RING_KIB 256 ''
FPROF_RING_KIB=64 game_sees run_leaves_a_ring_that_is_set FPROF_RING_KIB 64 ''
FPROF_SOCKET=$TMP/none/fprofd.sock game_sees run_looks_where_the_game_will FPROF_RING_KIB unset 'no fprofd is running'
# A socket as a service manager has it before the first game comes: somebody listens, nobody answers.
coproc waiting { perl -MSocket -e '
	socket(S, AF_UNIX, SOCK_SEQPACKET, 0) && bind(S, pack_sockaddr_un($ARGV[0])) && listen(S, 9) or die $!;
	$| = 1; print "waits\n"; <STDIN>' "$TMP/empty/fprofd.sock"; }
waiter=$!
read -r -t 30 <&"${waiting[0]}"
FPROF_SOCKET=$TMP/empty/fprofd.sock game_sees run_knows_a_socket_that_waits FPROF_RUN 1 ''
kill "$waiter"

# A game that marks no frame but those of a stream of its own.
gcc -std=c11 -I. -Iclient -o "$TMP/named" tests/browser/named.c -L"$B" -lfprof -Wl,-rpath,"$B" && "$TMP/named"
expect frames_of_no_main_stream_name_the_others 0 "^the session has a stream of its own: --stream 'tick'$" frames

cat >"$TMP/swaps.c" <<'END'
#include <fprof.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 20; i++) {
		{
			FPROF_WAIT_PRESENT("swap");
			usleep(3000);
		}
		fprof_frame_mark();
	}
	return 0;
}
END
gcc -std=gnu11 -Iclient -o "$TMP/swaps" "$TMP/swaps.c" -L"$B" -lfprof -Wl,-rpath,"$B" && "$TMP/swaps"
if "$B/fprof" verdict --json | jq -e '.bound_by == "unknown" and .display.source == null' >/dev/null; then
	expect a_present_that_cannot_be_told_says_what_lacks 0 "^bound by unknown \(the present; no display's refresh rate is known\): " verdict
else
	echo "skip a_present_that_cannot_be_told_says_what_lacks: the kernel, or a display, tells it"
fi

# Triggers of a live game, and what they keep.
"$B/game" --frames 0 --fps 60 --zones 50 --hitch-every 70 --hitch-ms 100 >/dev/null 2>&1 &
player=$!
for ((i = 0; i < 400; i++)); do
	"$B/fprof" trigger --frame-ms 90 --before 3 --after 3 >/dev/null 2>&1 && break
	sleep 0.05
done
expect trigger_sets_the_usual_one 0 '^frame above 90 ms +3 +3 +8 +no$' trigger
expect trigger_refuses_what_is_no_number 2 'takes a number' trigger --frame-ms fast
expect trigger_refuses_two_things_at_once 2 'not several' trigger clear --frame-ms 33
echo '[{"on": "zone"}]' >"$TMP/list"
expect trigger_names_entry_and_member 78 '\[0\]\.name is missing' trigger --list "$TMP/list"
for ((i = 0; i < 400; i++)); do
	"$B/fprof" spikes current --json | jq -e '.spikes[0].state == "saved"' >/dev/null && break
	sleep 0.05
done
expect spikes_say_why 0 'saved +spike +[0-9]+ +[0-9]+-[0-9]+ +frame above 90 ms +[0-9.]+ ms, above 90.* [0-9]+: [0-9.]+ ms ' spikes
expect spikes_are_json 0 '^' spikes current --json
expect_json spikes_of_a_session '.spikes[0].reason.fired[0].value_ms > 90'
for ((i = 0; i < 400; i++)); do
	"$B/fprof" spikes current --json | jq -e '.suppressed[0].count > 0' >/dev/null && break
	sleep 0.05
done
expect spikes_say_what_a_rest_kept_back 0 'while it rested, frame above 90 ms would have fired [0-9]+ more times' spikes
expect trigger_clears 0 '^no triggers$' trigger clear
kill -INT "$player"
wait "$player"

# A hello of another major version.
perl -MSocket -e '
	socket(S, AF_UNIX, SOCK_SEQPACKET, 0) && connect(S, pack_sockaddr_un($ARGV[0])) or die $!;
	send(S, pack("LSSSSLx112", 0x4b534650, 1, 128, 99, 7, 0), 0) or die $!;
	recv(S, my $answer, 4096, 0)' "$socket"
expect a_refused_client_is_listed 0 '^ *[0-9]+ +99\.7 +[0-9]+\.[0-9]+ +[a-zA-Z]' status

expect run_records_with_a_name 0 'frames=12' run --name 'a name' -- "$B/game" --frames 12 --fps 0 --zones 50
# (A sanitizer has something to say of fibers.)
if grep -v 'WARNING: ASan' "$TMP/err" >"$TMP/said"; then
	fail run_says_nothing_with_a_daemon "$(cat "$TMP/said")"
else
	ok run_says_nothing_with_a_daemon
fi
expect who_waited_for_a_game_sees_all_of_it 0 'a name +ended +[0-9]+ +12 ' sessions

# A game that plays on, and is controlled.
"$B/game" --frames 0 --fps 200 --zones 20 >"$TMP/game" 2>&1 &
game=$!
for ((i = 0; i < 400; i++)); do
	[ "$("$B/fprof" sessions --json | jq '.sessions[0] | select(.state == "live").frames_total')" -gt 20 ] 2>/dev/null && break
	sleep 0.05
done
expect freeze_orders 0 '^session [0-9]+: frozen' freeze
expect freeze_as_json 0 '"state": "frozen"' freeze current --json
expect clear_stops_what_is_frozen 0 '^session [0-9]+: stopped' clear
expect a_stopped_session_is_not_frozen 1 'only one that is recording can be frozen' freeze
expect record_orders 0 '^session [0-9]+: recording' record
expect stop_as_json 0 '"state": "stopped"' stop --json
expect record_again 0 'recording' record
expect sampling_is_off_by_default 0 '^session [0-9]+: stacks are not sampled; 0 samples' sampling
expect sampling_takes_on_or_off 2 'sampling takes on, off or --hz' sampling maybe
expect a_rate_out_of_range_is_refused 2 '10 to 10000' sampling --hz 5
for ((i = 0; i < 400; i++)); do # what it is asked about has to be in the history
	"$B/fprof" frames --last 1 --json | jq -e '.frames | length == 1' >/dev/null 2>&1 && break
	sleep 0.05
done
expect samples_says_why_there_are_none 0 'not sampled unless that is ordered' samples
expect samples_as_json 0 '"functions"' samples --view flat --json
expect_json samples_have_a_view '.view == "flat" and .samples == 0'
expect record_takes_one_session 2 'takes one session' record 1 2
expect record_of_no_session 1 'no such session' record 99999
for ((i = 0; i < 400; i++)); do # what is named has to be in the history
	"$B/fprof" detail main/frame --json >/dev/null 2>&1 && break
	sleep 0.05
done
expect detail_of_all 0 '^everything: level 2$' detail
expect detail_of_a_node 0 '^main > frame: level 2, the default$' detail main/frame
expect detail_puts_a_level 0 '^main > frame: level 1, its own$' detail main/frame 1
expect detail_of_a_node_below 0 '^main > frame > simulate: level 1, from main > frame$' detail '["main", "frame", "simulate"]'
expect detail_lists_levels 0 '^main > frame: level 1, its own$' detail --session current
expect detail_takes_a_level_away 0 '^main > frame: level 2, the default$' detail main/frame inherit
expect detail_masks 0 '^category jobs: masked$' detail --mask jobs
expect detail_unmasks_as_json 0 '"masked": false' detail --unmask jobs --json
expect detail_says_what_was_meant 1 'there is simulate, ' detail main/frame/simulat 1
expect detail_reads_no_unknown_node 1 'there is frame' detail main/fraem
expect detail_knows_three_levels 2 'a level is 0, 1, 2 or inherit' detail main 3
expect detail_takes_one_thing 2 'one of a path' detail main --mask jobs
# Whatever is wrong with a command line, and whoever finds it out, it is 2.
wrong=
while read -r -a words; do
	"$B/fprof" "${words[@]}" >"$TMP/out" 2>&1 </dev/null
	got=$?
	[ $got = 2 ] || wrong+="$got: ${words[*]}: $(head -1 "$TMP/out"); "
done <<'END'
run --frames none --export f true
run --nothing true
attach none
detach none
status now
sessions now
frames --last 0
frames --sort name
frame slow
zones --sort slow
zones --limit 0
zones --from 5 --to 4
zones --nothing
stats --metric name
stats --over-ms slow
verdict --last 0
critical-path --sort name
critical-path 7 --sort self
critical-path 7 --limit 0
critical-path none
sampling --hz none
samples --view name
samples --limit none
tail now
record now
freeze --now
stop now
clear now
trigger --frame-ms 5 --before none
trigger --frame-ms 5 --before 99999999
spikes now
detail main 3
save --from 500 --to 100
save --last 0
captures delete none
export --format name -o f
export
snapshot a --from 5 --to 4
snapshot a --seconds 0
snapshot a:b
diff 1
diff 1 1 --by name
diff 1 1 --floor-ms none
check frame.p99<=none
check frame.p99<=1 --last 0
import
import tests/tool/run.sh --frames name
query --limit none 1
query --limt 5 1
query --csv --json 1
query SELEC
dashboard --now
selftest now
frames --url
END
if [ -z "$wrong" ]; then
	ok what_is_asked_wrongly_is_2_in_every_command
else
	fail what_is_asked_wrongly_is_2_in_every_command "$wrong"
fi
expect edges_that_cross_are_named 2 'to=100 is below from=500' save --from 500 --to 100
expect a_query_takes_options_behind_the_sql 0 '^x,2' query 'SELECT ?, ?' --csv x 2 --limit 5
expect and_parameters_that_look_like_them 0 '^--csv' query --csv 'SELECT ?' -- --csv
expect a_querys_unknown_option_is_said 2 'come behind a --' query 'SELECT 1' --limt 5
expect status_says_what_sampling_needs 0 'fprof sampling on' status
kill "$game"
wait "$game"
expect a_word_of_the_api_is_offered 2 'allowed: tree, flat, ' zones --view mosaic
expect of_an_option_given_twice_the_last_counts 0 '"view": "tree"' zones --view calls --view tree --json
expect_json and_it_alone_is_asked_for '.view == "tree"'
expect a_session_of_many_digits_is_not_cut 2 '1234567890123456789012345678901234567890' query \
	--session 1234567890123456789012345678901234567890 'SELECT 1'
expect sessions_have_a_kind 0 '^ *id +pid +name +.* +kind$' sessions
expect a_recorded_sessions_kind 0 ' +recorded$' sessions

# Nothing that a game calls its own writes to the terminal.
gcc -std=gnu11 -I. -Iclient -o "$TMP/rude" tests/tool/rude.c -L"$B" -lfprof -Wl,-rpath,"$B"
"$TMP/rude"
rude=$("$B/fprof" sessions --json | jq '.sessions[0].id')
"$TMP/rude" more
more=$("$B/fprof" sessions --json | jq '.sessions[0].id')
quiet() { # name, text that has to be there, arguments...
	local name=$1 text=$2
	shift 2
	"$B/fprof" "$@" >"$TMP/out" 2>&1
	if ! grep -qF "$text" "$TMP/out"; then
		fail "$name" "no '$text': $(head -3 "$TMP/out" | cat -v | tr '\n' '|')"
	elif LC_ALL=C grep -q -e $'[\x01-\x08\x0b-\x1f\x7f]' -e $'\xc2[\x80-\x9f]' "$TMP/out"; then
		fail "$name" "$(LC_ALL=C grep -m 1 -e $'[\x01-\x08\x0b-\x1f\x7f]' -e $'\xc2' "$TMP/out" | cat -v)"
	else
		ok "$name"
	fi
}
said='?]0;rude??? '
quiet zones_cannot_write_to_the_terminal "${said}zone" zones "$rude"
quiet a_tree_cannot_write_to_the_terminal "${said}thread" zones "$rude" --view tree
quiet calls_cannot_write_to_the_terminal "${said}zone" zones "$rude" --view calls
quiet a_frame_cannot_write_to_the_terminal "${said}zone" frame "$rude" 7
quiet a_diff_cannot_write_to_the_terminal "${said}thread > ${said}zone > ??2Jnew" diff "$rude" "$more"
c1=$'zone:\xc2\x9b2Jnew'
quiet stats_cannot_write_to_the_terminal '??2Jnew over 1' stats "$more" --metric "$c1" --over-ms 1
quiet reasons_cannot_write_to_the_terminal '??2Jnew: no p99' stats "$more" --metric "$c1"
quiet a_check_cannot_write_to_the_terminal '??2Jnew' check "$c1.total.mean<=9999" --session "$more"
quiet a_query_cannot_write_to_the_terminal "${said}zone" query --session "$rude" 'SELECT DISTINCT name FROM zones'
quiet many_columns_cannot_write_to_the_terminal "${said}zone" query --session "$rude" \
	'SELECT name,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 FROM zones LIMIT 1'
quiet a_problem_cannot_write_to_the_terminal 'no such ??2Jnew' query $'SELECT * FROM "no such \xc2\x9b2Jnew"'
expect json_is_as_it_came 0 'u001[bB]' zones "$rude" --json

# Files, whole or not at all, and with the permissions of any.
permissions() { # name, arguments...
	local name=$1 got
	shift
	(umask 027 && "$B/fprof" "$@" -o "$TMP/file" >/dev/null 2>"$TMP/err")
	got=$(stat -c %a "$TMP/file" 2>&1)
	rm -f "$TMP/file"
	if [ "$got" = 640 ]; then
		ok "$name"
	else
		fail "$name" "$got $(head -1 "$TMP/err")"
	fi
}
permissions an_export_heeds_the_umask export "$rude"
permissions a_saved_file_heeds_the_umask save "$rude" --last 5
mkfifo "$TMP/pipe"
cat "$TMP/pipe" >"$TMP/piped" &
piped=$!
"$B/fprof" export "$rude" --format folded -o "$TMP/pipe"
[ -p "$TMP/pipe" ] || kill "$piped"
wait "$piped"
if [ -p "$TMP/pipe" ] && [ -s "$TMP/piped" ]; then
	ok what_is_no_file_is_written_to_and_not_replaced
else
	fail what_is_no_file_is_written_to_and_not_replaced "$(ls -l "$TMP/pipe" "$TMP/piped")"
fi
: >"$TMP/target"
ln -s target "$TMP/link"
"$B/fprof" export "$rude" --format folded -o "$TMP/link"
if [ -L "$TMP/link" ] && [ -s "$TMP/target" ]; then
	ok a_link_stays_one
else
	fail a_link_stays_one "$(ls -l "$TMP/link" "$TMP/target")"
fi
expect an_export_says_what_it_lost 0 'does not hold all: .*rounded' export "$rude" --format vprof -o "$TMP/file"
captures() {
	"$B/fprof" captures --json | jq '.captures | length'
}
before=$(captures)
expect a_file_that_cannot_be_made 78 'No such file' save "$rude" -o "$TMP/none/file"
if [ "$(captures)" = "$before" ]; then
	ok nothing_is_kept_without_its_file
else
	fail nothing_is_kept_without_its_file "there is a capture more"
fi
"$B/fprof" export "$rude" --format folded -o "$TMP/file"
"$B/fprof" export "$rude" --format speedscope -o "$TMP/speedscope"
expect import_says_what_it_reads 1 'profile of speedscope.*what is read is Chrome.s trace JSON, .vprof and' import "$TMP/speedscope"
printf '[{"ph":"X","ts":0,"dur":-3,"name":"n"},{"ph":"X","ts":5,"dur":1,"name":"m"},{"ph":"?","ts":6,"name":"q"}' >"$TMP/bad.json"
expect import_counts_what_it_did_not_read 0 'not read: .*1 bad_dur' import "$TMP/bad.json"
expect and_names_the_first 0 'the first is event 0, at byte 1: ' import "$TMP/bad.json"
expect and_the_session_keeps_the_counts 0 'bad_dur 1.*; the first is event 0, at byte 1"' sessions --json
expect import_takes_no_pipe 78 'Illegal seek: .*read from its beginning' import <(cat "$TMP/file")

# No memory, a daemon that refuses, a signal before the game has begun.
gcc -std=gnu11 -D_GNU_SOURCE -shared -fPIC -o "$TMP/shim.so" tests/tool/shim.c
LD_PRELOAD=$TMP/shim.so SHIM_NO_MEMORY=1 expect no_memory_is_no_regression 3 'out of memory' check 'frame.p50<=1'
coproc refusing { exec node tests/tool/refuses.mjs "$TMP/pid"; }
refuser=$!
read -r -t 30 port <&"${refusing[0]}"
expect all_that_is_allowed_is_said 1 'allowed: one0, .*, one11$' captures --url "http://127.0.0.1:$port"
quiet a_daemon_cannot_write_to_the_terminal '?[2J' captures --url "http://127.0.0.1:$port"
expect status_says_what_was_ordered 0 '^ +4 of them came while .* as ordered$' status --url "http://127.0.0.1:$port"
expect status_says_where_zones_were_cut 0 '^ +2 of them were open when recording was ordered' status --url "http://127.0.0.1:$port"
# (With sanitizers: what it was refused is not leaked either.)
# shellcheck disable=SC2016 # the game's shell expands it
expect a_refused_freeze_is_said 0 'could not be frozen' run --url "http://127.0.0.1:$port" --frames 2 --export "$TMP/report" -- \
	sh -c 'echo $$ >"$0"; exec sleep 30' "$TMP/pid"
kill "$refuser"
mkfifo "$TMP/gate"
LD_PRELOAD=$TMP/shim.so SHIM_GATE=$TMP/gate "$B/fprof" run --frames 5 --export "$TMP/report" -- sleep 5 2>"$TMP/err" &
tool=$!
# It sleeps behind its fork: the child is not the program yet.
while kill -0 "$tool" 2>/dev/null; do
	! pgrep -P "$tool" >/dev/null || [ "$(awk '{ print $3 }' "/proc/$tool/stat")" != S ] || break
done
kill -INT "$tool" && : >"$TMP/gate"
wait "$tool"
got=$?
if [ "$got" = 1 ] && jq -e '.reason | contains("told to stop")' "$TMP/report" >/dev/null; then
	ok a_signal_while_the_game_starts_stops_the_run
else
	fail a_signal_while_the_game_starts_stops_the_run "exit status $got: $(cat "$TMP/err")"
fi

exit $((failures > 0))
