#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs from Debian that know nothing of us, under the hook, with a stand-in for the daemon that counts.
# Where a program is told how many frames to draw, that many marks must be there; where something else
# counts what it draws (tests/api/presents.c), as many as that; the others are ended once they have drawn
# some, and then each present must be one mark. One line a test: "ok NAME", "not ok NAME: why" or
# "skip NAME: why". B: the build directory.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
CC=${CC:-gcc}
OUT=$B/tests/games
HOOK=$B/libfprof-preload.so
SDL=/usr/libexec/installed-tests/SDL2
WORDS=2000 # written by then: 100 frames and more
TMP=$(mktemp -d)
failures=0
mkdir -p "$OUT"
export LIBGL_ALWAYS_SOFTWARE=1 HOME=$TMP PATH=$PATH:/usr/games

cleanup() {
	[ -z "${xvfb:-}" ] || kill "$xvfb" 2>/dev/null
	rm -rf "$TMP"
}
trap cleanup EXIT

fail() { # name, why
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

start_display() {
	local number
	command -v Xvfb >/dev/null || return 1
	mkfifo "$TMP/display"
	Xvfb -displayfd 7 -screen 0 1024x768x24 7>"$TMP/display" >/dev/null 2>&1 &
	xvfb=$!
	read -r -t 30 number <"$TMP/display" || return 1
	export DISPLAY=:$number
}

# Runs a program; its dump is in $TMP/dump.
record() { # words (0: until it ends), command...
	local words=$1 line dump
	shift
	rm -f "$TMP/fifo"
	mkfifo "$TMP/fifo"
	"$OUT/ringdump" "$TMP/socket" 1 "$words" >"$TMP/fifo" 2>"$TMP/dump.err" &
	dump=$!
	exec 9<"$TMP/fifo"
	read -r line <&9
	[ "$line" = listening ] || return 1
	(FPROF_RING_KIB=16384 FPROF_SOCKET=$TMP/socket LD_PRELOAD=$HOOK${counter:+:$counter} timeout 60 "$@" \
		>"$TMP/out" 2>"$TMP/err"; exit $?) 2>/dev/null
	timeout 20 cat <&9 >"$TMP/dump"
	exec 9<&-
	kill "$dump" 2>/dev/null
	wait "$dump" 2>/dev/null
}

has() { # pattern
	grep -acE "$1" "$TMP/dump"
}

# exactly NAME FRAMES PRESENT COMMAND...: draws a known number of frames
exactly() {
	local name=$1 frames=$2 present=$3 marks presents
	shift 3
	command -v "$1" >/dev/null || { echo "skip $name: $1 is not installed"; return; }
	record 0 "$@"
	marks=$(has '^mark .*origin=2 stream=main')
	presents=$(has "^begin .*kind=2 name=$present\$")
	if [ "$marks" != "$frames" ] || [ "$presents" != "$frames" ]; then
		fail "$name" "$marks marks and $presents presents of $frames frames; $(tail -1 "$TMP/err")"
	else
		echo "ok $name"
	fi
}

# counted NAME PRESENT COMMAND...: draws as many frames as it likes; someone else counts them
counted() {
	local name=$1 present=$2 drawn=0 marks presents
	shift 2
	rm -f "$TMP/presents"
	counter=$OUT/presents.so PRESENTS_FILE=$TMP/presents record 0 "$@"
	[ ! -e "$TMP/presents" ] || drawn=$(cat "$TMP/presents")
	marks=$(has '^mark .*origin=2 stream=main')
	presents=$(has "^begin .*kind=2 name=$present\$")
	if [ "$drawn" -lt 100 ] || [ "$marks" != "$drawn" ] || [ "$presents" != "$drawn" ]; then
		fail "$name" "$marks marks and $presents presents of $drawn frames drawn; $(tail -1 "$TMP/err")"
	else
		echo "ok $name"
	fi
}

# some NAME PRESENT COMMAND...: draws until it is ended, maybe in the middle of a present
some() {
	local name=$1 present=$2 marks presents
	shift 2
	command -v "$1" >/dev/null || { echo "skip $name: $1 is not installed"; return; }
	record "$WORDS" "$@"
	marks=$(has '^mark .*origin=2 stream=main')
	presents=$(has "^begin .*kind=2 name=$present\$")
	if [ "$marks" -lt 10 ] || [ $((presents - marks)) -lt 0 ] || [ $((presents - marks)) -gt 1 ]; then
		fail "$name" "$marks marks, $presents presents; $(tail -1 "$TMP/err")"
	else
		echo "ok $name"
	fi
}

if ! "$CC" -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -o "$OUT/ringdump" tests/tools/ringdump.c shm/*.c ||
	! "$CC" -D_GNU_SOURCE -shared -fPIC -O2 -o "$OUT/presents.so" tests/api/presents.c -ldl; then
	fail build "ringdump or the counter of presents does not compile"
	exit 1
fi

# How many frames the demo has is tests/api/doom.test.mjs's to say: beside other tests Doom skips some.
WAD=/usr/share/games/doom/freedoom1.wad
if [ -e "$WAD" ] && command -v chocolate-doom >/dev/null; then
	SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy counted doom_has_a_mark_for_each_frame SDL_RenderPresent \
		chocolate-doom -iwad "$WAD" -timedemo demo3 -nosound -nogui
else
	echo "skip doom_has_a_mark_for_each_frame: chocolate-doom and freedoom are not installed"
fi
if ! start_display; then
	echo "skip games_on_a_display: no Xvfb"
	exit $((failures > 0))
fi
exactly vkcube_draws_300_frames 300 vkQueuePresentKHR vkcube --c 300 --suppress_popups --present_mode 0
some sdl_vulkan_from_a_local_library vkQueuePresentKHR "$SDL/testvulkan"
some sdl_gl SDL_GL_SwapWindow "$SDL/testgl2"
some sdl_gles SDL_GL_SwapWindow "$SDL/testgles2"
some sdl_renderer SDL_RenderPresent "$SDL/testsprite2"
some glx_linked glXSwapBuffers glxgears
some glx_by_dlsym glXSwapBuffers glmark2 -b build:duration=30 -s 320x240

exit $((failures > 0))
