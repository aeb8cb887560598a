#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make run` shows: a daemon, a real game that knows nothing of us, a game with zones of its own.
# Everything that is started here ends with this script. B: the build directory; RUN_ONCE=1: end after
# printing; RUN_HTTP: another address than 127.0.0.1:7600 to start looking from.
set -euo pipefail

B=${B:-build}
PATH=$PATH:/usr/games
wad=/usr/share/games/doom/freedoom1.wad
frames_of_demo3=1281
private=
pids=()

say() {
	printf '%s\n' "$*"
}

die() {
	printf 'make run: %s\n' "$*" >&2
	exit 1
}

finish() {
	local pid
	trap - EXIT
	trap "" INT TERM HUP
	# The last one started ends first, so that the daemon sees its games go.
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		pid=${pids[i]}
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	[ -z "$private" ] || rm -rf "$private"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Is somebody listening there?
port_taken() { # host port
	(exec 3<>"/dev/tcp/$1/$2") 2>/dev/null
}

api() { # path
	curl -sS --fail --max-time 10 "$url$1"
}

# Asks again until the condition holds; what cannot come any more ends the waiting.
until_ok() { # what, command...
	local what=$1 tries
	shift
	for ((tries = 0; tries < 300; tries++)); do
		"$@" && return 0
		kill -0 "$daemon" 2>/dev/null || die "fprofd ended while waiting for $what"
		sleep 0.1
	done
	die "waited 30 s for $what"
}

# A daemon that runs already keeps its socket, and not everybody has a runtime directory: after su, in a container.
own_directories() { # why; adds to args
	local place=/tmp candidate
	for candidate in "${XDG_RUNTIME_DIR-}" /dev/shm; do
		[ ! -w "$candidate" ] || { place=$candidate && break; }
	done
	private=$(mktemp -d "$place/fprof-run.XXXXXX")
	args+=(--runtime-dir "$private" --state-dir "$private/state")
	export FPROF_SOCKET=$private/fprofd.sock
	say "$1; this fprofd's socket is $FPROF_SOCKET."
}

start_daemon() {
	local args=()
	local host=${RUN_HTTP:-127.0.0.1:7600}
	local port=${host##*:}
	host=${host%:*}
	if port_taken "$host" "$port"; then
		local wanted=$port
		while port_taken "$host" "$port"; do
			port=$((port + 1))
		done
		say "Port $wanted is taken; using $port."
	fi
	if "$B/fprof" status >/dev/null 2>&1; then
		own_directories "Another fprofd is running"
	elif [ "$(id -u)" != 0 ] && [ ! -w "${XDG_RUNTIME_DIR:-/nowhere}" ]; then
		own_directories "There is no \$XDG_RUNTIME_DIR to write to"
	fi
	url=http://$host:$port
	# Out of the terminal's group: Ctrl-C must reach the games first.
	setsid "$B/fprofd" --http "$host:$port" "${args[@]}" &
	daemon=$!
	pids+=("$daemon")
	until_ok "$url/readyz" ready
}

ready() {
	curl -sf --max-time 2 -o /dev/null "$url/readyz"
}

# The newest session of a game, as JSON. A hitch of it that was kept is a session of its name, too.
session() { # name
	api /api/v1/sessions | jq -ce --arg name "$1" '[.sessions[] | select(.name == $name and .kind == "recorded")] | max_by(.id) // empty'
}

session_ended() { # name
	[ "$(session "$1" | jq -r .state)" != live ]
}

session_has_frames() { # name
	[ "$(session "$1" | jq -r .frames_total)" -gt 0 ] 2>/dev/null
}

play_game() {
	local frames=0
	[ -z "${RUN_ONCE-}" ] || frames=180
	"$B/game" --cap --frames "$frames" >/dev/null &
	pids+=("$!")
}

play_doom() {
	local status=0
	say "Playing chocolate-doom with Freedoom, demo3, without a window ..."
	SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy "$B/fprof" run --name doom -- \
		chocolate-doom -iwad "$wad" -timedemo demo3 -nosound -nogui >/dev/null 2>&1 || status=$?
	# 255 is how chocolate-doom ends a timed demo.
	[ "$status" = 255 ] || die "chocolate-doom ended with $status, not with 255"
	until_ok "the end of doom's session" session_ended doom
}

show() {
	local id frames line
	id=$(session doom | jq -r .id)
	frames=$(session doom | jq -r .frames_total)
	say ""
	say "The dashboard:  $url/"
	say ""
	# On a machine that cannot give Doom 35 steps a second it skips steps of its screen melt.
	if [ "$frames" = "$frames_of_demo3" ]; then
		say "doom (session $id) drew $frames frames. Ask for them:"
	else
		say "doom (session $id) drew $frames frames, fewer than demo3's $frames_of_demo3: this machine is busy. Ask for them:"
	fi
	for line in "/api/v1/sessions" "/api/v1/sessions/$id/frames?last=3" \
		"/api/v1/sessions/$id/frames/slowest"; do
		api "$line" | jq -e . >/dev/null || die "$url$line does not answer"
		say "  curl -s '$url$line'"
	done
	say ""
}

start_daemon
play_doom
play_game
until_ok "the example game's first frame" session_has_frames game
show
if [ -n "${RUN_ONCE-}" ]; then
	exit 0
fi
say "The example game goes on; record your own with: ${FPROF_SOCKET:+FPROF_SOCKET=$FPROF_SOCKET }$B/fprof run -- ./your-game"
say "Ctrl-C stops everything."
# A signal that comes just before bash waits for a process is looked at when that one ends: so for a short one at a time.
while kill -0 "$daemon" 2>/dev/null; do
	sleep 1
done
wait "$daemon"
