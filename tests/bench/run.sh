#!/bin/bash
# SPDX-License-Identifier: MIT
# What recording costs, measured now, on this machine. No pass or fail: numbers, and what they are compared with. Each
# section has a daemon of its own with a fresh history. Games run on the first CPU and the daemon on the second, where
# there are two. BENCH=NAME runs only that section: zone, rate, drain, cpu, idle, p99, latency, query, memory, scene,
# exchange, live, vprof, switch, sampling, page. RUNS=11: how often where runs are compared.
set -euo pipefail

cd "$(dirname "$0")/../.."
B=$(realpath "${B:-build}")
RUNS=${RUNS:-11}
tmp=$(mktemp -d /dev/shm/fprof-bench.XXXXXX)
daemon=
trap 'stop_daemon; rm -rf "$tmp"' EXIT
export FPROF_SOCKET=$tmp/run/fprofd.sock
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
game_cpu=${cpus[0]}
daemon_cpu=${cpus[1]:-${cpus[0]}}

# A command where games run, and one where the daemon does.
as_game() {
	exec taskset -c "$game_cpu" "$@"
}

as_daemon() {
	exec taskset -c "$daemon_cpu" "$@"
}

start_daemon() { # options...
	rm -rf "$tmp/run" "$tmp/state"
	mkdir -m 755 "$tmp/run" "$tmp/state"
	: >"$tmp/log" # or the address of the one before would still be in it
	as_daemon "$B/fprofd" --http 127.0.0.1:0 --socket "$FPROF_SOCKET" --runtime-dir "$tmp/run" --state-dir "$tmp/state" \
		"$@" 2>"$tmp/log" &
	daemon=$!
	url=
	while [ -z "$url" ]; do
		kill -0 "$daemon"
		url=$(sed -n 's|.*\(http://[^ /]*\)/.*games at.*|\1|p' "$tmp/log")
		sleep 0.05
	done
}

stop_daemon() {
	[ -n "$daemon" ] || return 0
	kill "$daemon" 2>/dev/null || true
	wait "$daemon" 2>/dev/null || true
	daemon=
}

api() {
	curl -sS --fail "$url/api/v1$1"
}

# The session of a process, once it has ended and is stored.
ended() { # pid
	local session=
	while [ -z "$session" ]; do
		session=$(api /sessions | jq -c --argjson pid "$1" '.sessions[] | select(.pid == $pid and .kind == "recorded" and .state != "live")')
		sleep 0.05
	done
	printf '%s\n' "$session"
}

# CPU time of a process so far, in seconds, of all its threads: by the clock that clock_getcpuclockid(3) is. /proc counts
# in ticks.
cpu_of() { # pid
	python3 -c 'import sys, time; print(time.clock_gettime(~int(sys.argv[1]) << 3 | 2))' "$1"
}

peak_of() { # pid: MiB
	awk '/^VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"
}

# median, least and most of numbers, one a line
spread() { # format of one number
	sort -n | awk -v f="$1" '{ a[NR] = $1 } END { m = NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2
		printf f " (" f " to " f ")\n", m, a[1], a[NR] }'
}

section() {
	[ -z "${BENCH-}" ] || [ "$BENCH" = "$1" ] || return 1
	printf '\n== %s\n' "$2"
}

bench_zone_rows() { # --bursts, --floods or --detail URL
	local game
	"$B/tests/bench/bench_zone" "$@" &
	game=$!
	wait "$game"
	echo "events lost in these rows: $(ended "$game" | jq .lost_events)"
}

bench_zone() {
	section zone "the recording path, daemon draining (bench_zone)" || return 0
	start_daemon
	bench_zone_rows --bursts
	bench_zone_rows --floods
	bench_zone_rows --detail "$url"
	FPROF_ALLOC=1 bench_zone_rows --allocations
	stop_daemon
}

# One thread records so many zones each so many microseconds. Says whether all arrived; $rate: what it made a second.
lossless() { # zones, period in us, ms
	local game
	as_game "$B/tests/bench/bench_rate" "$@" >"$tmp/rate" &
	game=$!
	wait "$game"
	rate=$(cat "$tmp/rate")
	[ "$(ended "$game" | jq .lost_events)" = 0 ]
}

# The most zones of which none is lost: a quarter more until some are, then between the two.
most_lossless() { # first try, period in us, ms; prints it and the rate that it made
	local good=0 bad=0 try=$1 made=0 before=0 i
	for ((i = 0; i < 24; i++)); do
		if lossless "$try" "$2" "$3"; then
			good=$try made=$rate
			[ "$bad" = 0 ] || break
			# as fast as a thread can: more zones at a time make no more a second
			[ "$rate" -gt $((before * 102 / 100)) ] || break
			before=$rate
			try=$((try * 5 / 4))
		else
			bad=$try
			try=$((try * 9 / 10))
		fi
	done
	echo "$good $made $bad"
}

bench_rate() {
	section rate "what one thread can record without loss, rings of 1 MiB" || return 0
	local good made bad
	start_daemon
	read -r good made bad < <(most_lossless 2000 1000 1500)
	echo "sustained: $(awk -v r="$made" 'BEGIN { printf "%.1f", r / 1e6 }') M zones/s for 1.5 s, in bursts of $good each ms$(
		[ "$bad" = 0 ] && echo ': as fast as a thread can' || echo "; some were lost in bursts of $bad")"
	read -r good made bad < <(most_lossless 20000 200000 1500)
	echo "in one burst, each 200 ms: $good zones$([ "$bad" = 0 ] || echo "; some were lost of $bad")"
	stop_daemon
}

bench_drain() {
	section drain "rings to database, one core (bench_drain)" || return 0
	mkdir -p "$tmp/drain"
	(as_daemon "$B/tests/bench/bench_drain" "$tmp/drain")
}

cpu_beside_game() { # daemon's options...
	local game before i
	start_daemon "$@"
	as_game "$B/game" --fps 60 --zones 2000 --frames 0 >/dev/null &
	game=$!
	sleep 12 # frames are evicted by then
	for ((i = 0; i < RUNS; i++)); do
		before=$(cpu_of "$daemon")
		sleep 2
		awk -v a="$before" -v b="$(cpu_of "$daemon")" 'BEGIN { print (b - a) / 2 * 100 }'
	done >"$tmp/cpu"
	kill "$game"
	wait "$game" || true
	echo "percent of a core, $RUNS windows of 2 s: $(spread %.2f <"$tmp/cpu")"
	ended "$game" | jq -r '"    frames \(.frames_total), events \(.ledger.produced), lost \(.lost_events)"'
	stop_daemon
}

bench_cpu() {
	section cpu "daemon CPU, 60 fps game, 4 threads (main, render, 2 workers; audio and streaming beside), 2,000 zones a frame" || return 0
	echo 'scheduler = no' >"$tmp/conf"
	echo "the rings' events, bar 2: $(cpu_beside_game --config "$tmp/conf")"
	echo "what the scheduler did, too: $(cpu_beside_game)"
}

switches() { # pid: of all its threads
	cat /proc/"$1"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

bench_idle() {
	section idle "wakeups of an idle daemon, no game" || return 0
	local before after
	start_daemon
	sleep 2
	before=$(switches "$daemon")
	sleep 10
	after=$(switches "$daemon")
	echo "context switches of all its threads in 10 s: $((after - before))"
	stop_daemon
}

# Three modes in turn. The kernel's program goes with its daemon, so each has one of its own.
bench_p99() {
	section p99 "the example game's p99 frame time, $RUNS runs each, one after the other in turn" || return 0
	local i mode
	echo 'scheduler = no' >"$tmp/conf"
	for ((i = 0; i < RUNS; i++)); do
		for mode in not untraced traced; do
			case $mode in
			not) FPROF_SOCKET=$tmp/none ;;
			untraced) start_daemon --config "$tmp/conf" ;;
			traced) start_daemon ;;
			esac
			(as_game "$B/game" --fps 240 --frames 480 --zones 2000) | sed 's/.*p99_ms=\([0-9.]*\).*/\1/' >>"$tmp/p99.$mode"
			stop_daemon
			FPROF_SOCKET=$tmp/run/fprofd.sock
		done
	done
	echo "not recorded, ms:                            $(spread %.3f <"$tmp/p99.not")"
	echo "recorded, without what the scheduler did, ms: $(spread %.3f <"$tmp/p99.untraced")"
	echo "recorded, with it, ms:                        $(spread %.3f <"$tmp/p99.traced")"
	echo "with it to without it, pair by pair:          $(paste "$tmp/p99.traced" "$tmp/p99.untraced" | awk '{ print $1 / $2 }' | spread %.3f)"
}


# What fprofd needs beside a game that switches 20,000 times a second.
beside_switches() { # daemon's options...
	local game before i
	start_daemon "$@"
	as_game "$B/tests/bench/bench_switch" --pace 20000 $((RUNS + 3)) >"$tmp/pace" &
	game=$!
	sleep 2 # the helper is there by then
	for ((i = 0; i < RUNS; i++)); do
		before=$(cpu_of "$daemon")
		sleep 1
		awk -v a="$before" -v b="$(cpu_of "$daemon")" 'BEGIN { print (b - a) * 100 }'
	done >"$tmp/cpu"
	wait "$game"
	echo "$(cat "$tmp/pace") switches/s, percent of a core: $(spread %.2f <"$tmp/cpu")"
	api /status | jq -r '"    events of the kernel \(.scheduler.events), lost \(.scheduler.lost)"'
	stop_daemon
}

bench_switch() {
	section switch "the scheduler source: a pair of threads that hand a byte to and fro, $RUNS runs (bench_switch)" || return 0
	"$B/tests/bench/bench_switch" "$RUNS"
	echo 'scheduler = no' >"$tmp/conf"
	echo "fprofd without the source, $(beside_switches --config "$tmp/conf")"
	echo "fprofd with it, bar 3, $(beside_switches)"
}

# One run beside a daemon that samples, or not: the game's p99 frame time in ms; its CPU time of a frame in us; the
# daemon's in percent of a core; that of its helpers, which have ended, in ms; samples, lost ones, stored bytes of each.
sampled_run() { # yes, no, or other: a game that does next to nothing is, not this one; options of the game...
	local frames before begun other=
	printf 'scheduler = no\nsampling = %s\n' "${1/other/no}" >"$tmp/conf"
	start_daemon --config "$tmp/conf"
	if [ "$1" = other ]; then
		as_daemon "$B/game" --fps 1 --frames 0 --zones 0 >/dev/null &
		other=$!
		until api /sessions/current >/dev/null 2>&1; do
			sleep 0.05
		done
		curl -sS --fail -o /dev/null -X PUT --json '{"hz": 4000}' "$url/api/v1/sessions/current/sampling"
	fi
	before=$(cpu_of "$daemon")
	begun=$EPOCHREALTIME
	(as_game python3 -c 'import os, subprocess, sys
game = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
text = game.stdout.read().decode()
used = os.wait4(game.pid, 0)[2]
print(text.split("p99_ms=")[1].split()[0], used.ru_utime + used.ru_stime, game.pid)' "$B/game" "${@:2}") >"$tmp/game"
	frames=$(ended "$(cut -d' ' -f3 "$tmp/game")" | jq .frames_total)
	awk -v a="$before" -v b="$(cpu_of "$daemon")" -v s="$begun" -v e="$EPOCHREALTIME" 'BEGIN { print (b - a) * 100 / (e - s) }' >"$tmp/share"
	[ -z "$other" ] || kill "$other"
	until api /status | jq -e '.stacks.sessions == 0' >/dev/null; do
		sleep 0.05
	done
	awk -v frames="$frames" '{ printf "%s %s ", $1, $2 / frames * 1e6 }' "$tmp/game"
	tr '\n' ' ' <"$tmp/share"
	awk -v hz="$(getconf CLK_TCK)" '{ printf "%s ", ($16 + $17) * 1000 / hz }' "/proc/$daemon/stat"
	api /status | jq -j '.stacks | "\(.samples) \(.lost) "'
	sqlite3 "$tmp/run/history.db" 'SELECT ifnull(sum(length(data)) * 1.0 / sum(samples), 0) FROM stack_chunks'
	stop_daemon
}

bench_sampling() {
	section sampling "stacks at 4,000 a second of each CPU: the example game, 2,000 zones a frame, $RUNS runs each in turn" || return 0
	local i on
	for ((i = 0; i < RUNS; i++)); do
		for on in no other yes; do
			sampled_run $on --fps 240 --frames 960 --zones 2000 >>"$tmp/sampled.$on"
		done
	done
	for on in no other yes; do
		echo "sampled: ${on/other/another game}"
		echo "  p99 frame time, ms                  $(cut -d' ' -f1 "$tmp/sampled.$on" | spread %.3f)"
		echo "  the game's CPU time of a frame, us  $(cut -d' ' -f2 "$tmp/sampled.$on" | spread %.1f)"
		echo "  daemon, percent of a core           $(cut -d' ' -f3 "$tmp/sampled.$on" | spread %.2f)"
		echo "  its helpers, once, ms               $(cut -d' ' -f4 "$tmp/sampled.$on" | spread %.0f)"
	done
	paste -d' ' "$tmp/sampled.yes" "$tmp/sampled.no" "$tmp/sampled.other" >"$tmp/pairs"
	echo "p99, sampled to not, pair by pair:       $(awk '{ print $1 / $8 }' "$tmp/pairs" | spread %.3f)"
	echo "CPU time, sampled to not, pair by pair:  $(awk '{ print $2 / $9 }' "$tmp/pairs" | spread %.3f)"
	echo "  of it the clock's interrupts alone:    $(awk '{ print $16 / $9 }' "$tmp/pairs" | spread %.3f)"
	awk '{ n += $5; l += $6; b += $5 * $7 } END { printf "samples %d, lost %d, %.1f stored bytes a sample\n", n, l, n ? b / n : 0 }' "$tmp/sampled.yes"
}

# Median of 51 answers over one connection, after 3 to warm up.
latency() { # path
	local urls=() i
	for ((i = 0; i < 54; i++)); do
		urls+=("$url$1" -o /dev/null)
	done
	curl -sS --fail -w '%{time_total}\n' "${urls[@]}" | tail -n 51 | awk '{ print $1 * 1000 }' | spread %.2f
}

bench_latency() {
	section latency "answers on loopback, 51 each, ms" || return 0
	local game id bytes
	start_daemon
	as_game "$B/game" --fps 240 --frames 660 --zones 2000 >/dev/null &
	game=$!
	wait "$game"
	id=$(ended "$game" | jq .id)
	echo "frames?last=600 at 2,000 zones a frame ($(api "/sessions/$id/frames?last=600" | jq '.frames | length') frames): $(latency "/api/v1/sessions/$id/frames?last=600")"
	as_game "$B/game" --fps 60 --frames 60 --zones 10000 >/dev/null &
	game=$!
	wait "$game"
	id=$(ended "$game" | jq .id)
	bytes=$(api "/sessions/$id/frames/30" | wc -c)
	echo "one frame with $(api "/sessions/$id/frames/30" | jq '[.threads[].zones | length] | add') zones ($bytes bytes): $(latency "/api/v1/sessions/$id/frames/30")"
	stop_daemon
}

# Millions of events or rows a second that a query reads, starting its process included.
query_rate() { # what, SQL that counts them
	local i
	for ((i = 0; i < RUNS; i++)); do
		curl -sS --fail --data-binary "$2" "$url/api/v1/query" | jq '.rows[0][0] / .elapsed_ms / 1000'
	done >"$tmp/query"
	echo "$1: M/s $(spread %.1f <"$tmp/query")"
}

bench_query() {
	section query "SQL over 600 frames of 2,000 zones, a process each" || return 0
	local game
	start_daemon
	as_game "$B/game" --fps 240 --frames 660 --zones 2000 >/dev/null &
	game=$!
	wait "$game"
	ended "$game" >/dev/null
	query_rate "count(*) from events" 'SELECT count(*) FROM events'
	query_rate "count(*) from zones" 'SELECT count(*) FROM zones'
	query_rate "zones by name, with self times" 'SELECT sum(n) FROM (SELECT name, count(*) AS n, sum(self_ns) FROM zones GROUP BY name)'
	stop_daemon
}

bench_memory() {
	section memory "the daemon's memory, history filled to a budget of 16 MiB" || return 0
	local game
	printf '%s\n' 'history_frames = 100000' 'history_mib = 16' 'history_session_mib = 16' >"$tmp/conf"
	start_daemon --config "$tmp/conf"
	as_game "$B/game" --fps 250 --frames 4500 --zones 8000 >/dev/null &
	game=$!
	wait "$game"
	ended "$game" >"$tmp/session"
	echo "VmHWM $(peak_of "$daemon") MiB"
	awk '/^Rss(Anon|File|Shmem)/ { printf "%s %.1f MiB now\n", $1, $2 / 1024 }' "/proc/$daemon/status"
	api /status | jq -r '"budget \(.history.budget_bytes / 1048576) MiB, used \(.history.used_bytes / 1048576 * 10 | round / 10) MiB, \(.history.evicted_frames) frames evicted"'
	jq -r '"threads \(.threads) with rings of 1 MiB each; events \(.ledger.produced), lost \(.lost_events)"' "$tmp/session"
	stop_daemon
}

# One row: the game in one variant, the daemon's CPU beside it.
scene_row() { # name, program, recorded?
	local i game before after session events stored lost
	: >"$tmp/p50"
	: >"$tmp/p95"
	: >"$tmp/p99"
	: >"$tmp/rates"
	start_daemon
	[ "$3" = yes ] || export FPROF_SOCKET=$tmp/none
	for ((i = 0; i < RUNS; i++)); do
		before=$(cpu_of "$daemon")
		as_game "$2" --fps 120 --frames 300 --zones 2000 >"$tmp/line" &
		game=$!
		wait "$game"
		sed 's/.*p50_ms=\([0-9.]*\).*/\1/' "$tmp/line" >>"$tmp/p50"
		sed 's/.*p95_ms=\([0-9.]*\).*/\1/' "$tmp/line" >>"$tmp/p95"
		sed 's/.*p99_ms=\([0-9.]*\).*/\1/' "$tmp/line" >>"$tmp/p99"
		after=$(cpu_of "$daemon")
		awk -v a="$before" -v b="$after" 'BEGIN { print (b - a) / 2.5 * 100 }' >>"$tmp/rates"
	done
	events=0 lost=0
	if [ "$3" = yes ]; then
		session=$(ended "$game")
		events=$(jq '.ledger.produced / 2.5 | round' <<<"$session")
		lost=$(api /sessions | jq '[.sessions[].lost_events] | add')
	fi
	stored=$(api /status | jq --argjson runs "$RUNS" '.history.stored_bytes / (2.5 * $runs) | round')
	printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(spread %.3f <"$tmp/p50")" "$(spread %.3f <"$tmp/p95")" "$(spread %.3f <"$tmp/p99")" \
		"$(spread %.1f <"$tmp/rates")" "$events" "$stored" "$lost" "$(peak_of "$daemon")"
	export FPROF_SOCKET=$tmp/run/fprofd.sock
	stop_daemon
}

bench_scene() {
	section scene "one seeded scene, 120 fps, 2,000 zones a frame, 300 frames, $RUNS runs each: median (least to most)" || return 0
	echo "| scene | median frame ms | P95 | P99 | daemon CPU % | events/s | stored bytes/s | lost events | daemon peak MiB |"
	echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	scene_row "compiled out" "$B/tests/bench/game_off" no
	scene_row "compiled in, not recording" "$B/game" no
	scene_row "zones" "$B/tests/bench/game_zones" yes
	scene_row "zones, GPU, all counters" "$B/game" yes
}

bench_check() {
	section check "regression checks by simulation (bench_check)" || return 0
	"$B/tests/bench/bench_check"
}

# Megabytes a second of a file, by wall time and by the daemon's CPU time, medians of RUNS.
exchange_row() { # name, bytes, command...
	local name=$1 bytes=$2 i before t0
	shift 2
	: >"$tmp/wall"
	: >"$tmp/busy"
	for ((i = 0; i < RUNS; i++)); do
		before=$(cpu_of "$daemon")
		t0=$(date +%s%N)
		"$@" >"$tmp/answer"
		awk -v b="$bytes" -v ns="$(($(date +%s%N) - t0))" 'BEGIN { print b * 1000 / ns }' >>"$tmp/wall"
		awk -v b="$bytes" -v s="$before" -v e="$(cpu_of "$daemon")" 'BEGIN { print b / 1e6 / (e > s ? e - s : 0.01) }' >>"$tmp/busy"
	done
	echo "$name: MB/s $(spread %.0f <"$tmp/wall"), by the daemon's CPU time $(spread %.0f <"$tmp/busy")"
}

bench_read() {
	section read "tables, statistics and timelines of 600 frames with 2,000 zones, one core (bench_read)" || return 0
	mkdir -p "$tmp/read"
	(as_daemon "$B/tests/bench/bench_read" "$tmp")
}

bench_exchange() {
	section exchange "Chrome trace JSON of 600 frames with 2,000 zones, over HTTP, daemon on one core" || return 0
	local game id bytes
	start_daemon
	as_game "$B/game" --fps 240 --frames 660 --zones 2000 >/dev/null &
	game=$!
	wait "$game"
	id=$(ended "$game" | jq .id)
	api "/sessions/$id/export?format=chrome&last=600" >"$tmp/trace.json"
	bytes=$(stat -c %s "$tmp/trace.json")
	exchange_row "export of $bytes bytes" "$bytes" curl -sS --fail "$url/api/v1/sessions/$id/export?format=chrome&last=600"
	exchange_row "import of the same" "$bytes" curl -sS --fail --data-binary "@$tmp/trace.json" "$url/api/v1/import?format=chrome"
	jq -r '"zones \(.zones), frames \(.frames), repaired or refused \(.counts | length)"' "$tmp/answer"
	echo "VmHWM $(peak_of "$daemon") MiB"
	rm -f "$tmp/trace.json"
	stop_daemon
}

# Saves and questions while the game goes on.
bench_live() {
	section live "600 frames of a 60 fps game with 2,000 zones a frame, while they are recorded" || return 0
	local game i route
	start_daemon
	as_game "$B/game" --fps 60 --zones 2000 --frames 0 >/dev/null &
	game=$!
	until [ "$(api /sessions/current | jq .frames_retained)" -ge 600 ]; do
		sleep 1
	done
	for ((i = 0; i < RUNS; i++)); do
		curl -sS --fail -o "$tmp/answer" -w '%{time_total}\n' --json '{"last": 600}' "$url/api/v1/captures"
		curl -sS --fail -X DELETE "$url/api/v1/captures/$(jq .id "$tmp/answer")" >/dev/null
	done | awk '{ print $1 * 1000 }' >"$tmp/saves"
	echo "save of $(jq ".frames.last - .frames.first + 1" "$tmp/answer") frames, ms, bar 300: $(spread %.1f <"$tmp/saves")"
	for ((i = 0; i < RUNS; i++)); do
		for route in 'zones?view=tree&last=600' 'zones?view=flat&last=600' 'zones?view=calls&name=work&last=600' \
			'stats?last=600' 'stats?last=600&metric=zone:work' 'timeline?last=1' 'export?format=vprof&last=600'; do
			api "/sessions/current/$route" >/dev/null
		done
		api "/sessions/current/export?format=chrome&last=600" >"$tmp/trace.json"
		curl -sS --fail -o /dev/null --data-binary "@$tmp/trace.json" "$url/api/v1/import?format=chrome"
		curl -sS --fail -o /dev/null --data 'SELECT count(*) FROM events' "$url/api/v1/query"
	done
	kill "$game"
	wait "$game" || true
	ended "$game" | jq -r '"beside these, and \($runs) of each table, statistics, export, import and query: frames \(.frames_total), events \(.ledger.produced), lost \(.lost_events)"' --argjson runs "$RUNS"
	rm -f "$tmp/trace.json"
	stop_daemon
}

bench_vprof() {
	section vprof "a recording of VProf, 200 MB, 1,000 nodes, one core (bench_vprof)" || return 0
	mkdir -p "$tmp/vprof"
	(as_daemon "$B/tests/bench/bench_vprof" "$tmp/vprof" 3)
}

# Its daemon, game and browser are its own.
bench_page() {
	section page "the page in a browser that draws in software (page.mjs)" || return 0
	FPROF_BUILD=$B node tests/bench/page.mjs
}

echo "fprof bench: $(nproc) CPUs, $(sed -n 's/^model name\t*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r);" \
	"games on CPU $game_cpu, the daemon on CPU $daemon_cpu"
bench_zone
bench_rate
bench_drain
bench_cpu
bench_idle
bench_p99
bench_switch
bench_sampling
bench_latency
bench_query
bench_memory
bench_scene
bench_check
bench_read
bench_exchange
bench_live
bench_vprof
bench_page
printf '\ntook %d s; load average %s\n' "$SECONDS" "$(cut -d' ' -f1-3 /proc/loadavg)"
