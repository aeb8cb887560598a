#!/bin/bash
# SPDX-License-Identifier: MIT
# The preload hook under games of our own making: fake graphics libraries, and a stand-in for the
# daemon that prints what was written. One line a test: "ok NAME", "not ok NAME: why" or
# "skip NAME: why"; exits 1 when one was not ok. B: the build directory. Arguments: only these tests.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
CC=${CC:-gcc}
OUT=$B/tests/preload
HOOK=$B/libfprof-preload.so
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
failures=0
declare -a wanted=("$@")

build() {
	local flags=(-std=gnu11 -D_GNU_SOURCE -I. -Iclient -Wall -Wextra -O1 -g -Wno-unused-function)
	local so=(-shared -fPIC "-Wl,-rpath,\$ORIGIN")
	local exe=("-L$OUT" "-Wl,-rpath,$OUT" -lpthread)

	mkdir -p "$OUT"
	"$CC" "${flags[@]}" -o "$OUT/ringdump" tests/tools/ringdump.c shm/*.c &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libfakegl.so" tests/preload/fake_gl.c &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libfakesdl.so" tests/preload/fake_sdl.c "-L$OUT" -lfakegl &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libfakevulkan.so" tests/preload/fake_vulkan.c &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libplugin.so" tests/preload/plugin.c "-L$OUT" -lfakesdl -lfakegl &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libwrapgl.so" tests/preload/wrapper.c &&
	"$CC" "${flags[@]}" "${so[@]}" -o "$OUT/libshim.so" tests/preload/shim.c &&
	"$CC" "${flags[@]}" -o "$OUT/linked" tests/preload/linked.c "${exe[@]}" -lfakesdl -lfakegl &&
	"$CC" "${flags[@]}" -o "$OUT/loaded" tests/preload/loaded.c -lpthread -ldl &&
	"$CC" "${flags[@]}" -o "$OUT/instrumented" tests/preload/instrumented.c "${exe[@]}" \
		-lshim -lfakesdl -lfakegl "-L$B" -lfprof "-Wl,-rpath,$B" &&
	"$CC" "${flags[@]}" -rdynamic -o "$OUT/instrumented_static" tests/preload/instrumented.c \
		"${exe[@]}" -lshim -lfakesdl -lfakegl "$B/libfprof.a"
}

fail() { # name, why
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

is_wanted() {
	local name
	[ ${#wanted[@]} -eq 0 ] && return 0
	for name in "${wanted[@]}"; do
		[ "$name" = "$1" ] && return 0
	done
	return 1
}

# Starts ringdump for a number of games. It is there once it has said so.
start_dump() { # games
	local line
	rm -f "$TMP/fifo"
	mkfifo "$TMP/fifo"
	"$OUT/ringdump" "$TMP/socket" "$1" >"$TMP/fifo" 2>"$TMP/dump.err" &
	dump_pid=$!
	exec 9<"$TMP/fifo"
	read -r line <&9
	[ "$line" = listening ]
}

end_dump() {
	timeout 20 cat <&9 >"$TMP/dump"
	exec 9<&-
	kill "$dump_pid" 2>/dev/null
	wait "$dump_pid" 2>/dev/null
}

count() { # pattern: lines of the dump that match
	grep -cE "$1" "$TMP/dump"
}

# A game that is to register once, then what its dump must hold: "count pattern" each.
check() { # name, program and case..., --, expectations...
	local name=$1 expectation want pattern got
	local -a command=()
	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	is_wanted "$name" || return 0
	start_dump "${games:-1}" || { fail "$name" "ringdump: $(cat "$TMP/dump.err")"; return; }
	if ! FPROF_SOCKET=$TMP/socket LD_PRELOAD=$HOOK timeout 20 "${command[@]}" 2>"$TMP/err"; then
		kill "$dump_pid"
		end_dump
		fail "$name" "the game failed: $(head -3 "$TMP/err")"
		return
	fi
	end_dump
	for expectation in "$@"; do
		want=${expectation%% *}
		pattern=${expectation#* }
		got=$(count "$pattern")
		[ "$got" = "$want" ] || { fail "$name" "$got lines, not $want, match: $pattern"; return; }
	done
	echo "ok $name"
}

linked=$OUT/linked
loaded=$OUT/loaded

if ! build; then
	fail build "the test programs do not compile"
	exit 1
fi

check nested_presents_are_one_frame "$linked" nested -- \
	'5 ^mark .*origin=2 stream=main' '5 ^begin .*name=SDL_RenderPresent' '5 ^begin ' '5 ^end ' \
	'1 ^memory .*origin=2' '1 ^total .*marks.game=0 marks.hook=5'
check arguments_and_errno_pass_through "$linked" arguments_and_errno -- '2 ^mark '
check failed_presents_are_no_frames "$linked" failed_presents -- '2 ^mark ' '4 ^begin .*kind=2'
check a_thread_other_than_main_presents "$linked" off_thread -- \
	'7 ^mark ' '7 ^begin .*name=nanosleep' '1 ^thread '
check sleeps_on_the_marking_thread_only "$linked" sleeps -- \
	'2 ^begin .*kind=3 name=nanosleep' '1 ^begin .*kind=3 name=clock_nanosleep' \
	'1 ^begin .*kind=3 name=usleep' '1 ^begin .*kind=3 name=SDL_Delay' '5 ^begin .*kind=3' '2 ^mark '
check waits_for_the_gpu "$linked" gpu_waits -- \
	'1 ^begin .*kind=1 name=glFinish' '1 ^begin .*kind=1 name=glClientWaitSync' '1 ^mark '
check longjmp_out_of_a_sleep "$linked" longjmp_out_of_sleep -- \
	'3 ^mark ' '1 ^begin .*name=nanosleep' '1 ^end .*name=nanosleep' '3 ^begin .*depth=0 .*SDL_GL_SwapWindow'
check dlsym_from_a_local_library "$loaded" dlsym_local "$OUT" -- '3 ^mark ' '3 ^begin .*glXSwapBuffers'
check dlsym_from_a_global_library "$loaded" dlsym_global "$OUT" -- '2 ^mark '
check plugin_loaded_for_itself "$loaded" linked_plugin_local "$OUT" -- \
	'4 ^mark ' '4 ^begin .*SDL_RenderPresent' '4 ^begin '
check get_proc_address "$loaded" get_proc_address "$OUT" -- \
	'4 ^mark ' '1 ^begin .*kind=1 name=glFinish'
check wrapper_of_the_same_name "$loaded" wrapper_of_same_name "$OUT" -- '6 ^mark ' '6 ^begin '
check vulkan_two_devices "$loaded" vulkan_two_devices "$OUT" -- '20 ^mark '
check vulkan_results_and_arguments "$loaded" vulkan_results "$OUT" -- \
	'2 ^mark ' '3 ^begin .*kind=2 name=vkQueuePresentKHR' \
	'1 ^begin .*kind=2 name=vkAcquireNextImageKHR' '1 ^begin .*kind=1 name=vkWaitForFences'
check vulkan_waits_for_semaphores "$loaded" vulkan_semaphores "$OUT" -- '1 ^mark ' \
	'2 ^begin .*kind=1 name=vkWaitSemaphores$' '1 ^begin .*kind=1 name=vkWaitSemaphoresKHR$' '3 ^begin .*kind=1'
# 128 thunks, one of which is eglGetProcAddress itself
check more_functions_than_thunks "$loaded" more_than_the_pool "$OUT" -- '127 ^mark ' \
	'1 ^info hook=eglSwapBuffersWithDamageEXT was fetched too often'
check hook_and_library_are_one_memory "$OUT/instrumented" -- \
	'1 ^memory ' '4 ^mark .*origin=1 stream=main' '4 ^mark .*origin=2 stream=main' \
	'4 ^begin .*depth=0 kind=0 name=tick' '4 ^begin .*depth=1 kind=2 name=SDL_GL_SwapWindow' \
	'4 ^begin .*depth=1 kind=3 name=nanosleep' '1 ^thread '
games=2 check hook_and_static_library_do_not_mix "$OUT/instrumented_static" -- \
	'1 ^memory .*origin=1' '1 ^memory .*origin=2' '1 ^total marks.game=4 marks.hook=0' \
	'1 ^total marks.game=0 marks.hook=4'

# A sanitizer asks for the real functions before any constructor of ours has run.
sanitized() { # name, compiler, option
	if "$2" -std=gnu11 -D_GNU_SOURCE -I. "-fsanitize=$3" -g -o "$OUT/linked_$3" tests/preload/linked.c \
		"-L$OUT" "-Wl,-rpath,$OUT" -lpthread -lfakesdl -lfakegl 2>/dev/null; then
		check "$1" "$OUT/linked_$3" off_thread -- '7 ^mark ' '7 ^begin .*name=nanosleep'
	else
		echo "skip $1: $2 has no -fsanitize=$3"
	fi
}
sanitized a_game_with_the_address_sanitizer clang address
sanitized a_game_with_the_thread_sanitizer "$CC" thread

# What must not happen at all: no game may be there before the one that is.
if is_wanted absent_functions_stay_absent; then
	if LD_PRELOAD=$HOOK timeout 20 "$loaded" dlsym_absent "$OUT" 2>"$TMP/err"; then
		echo "ok absent_functions_stay_absent"
	else
		fail absent_functions_stay_absent "$(head -3 "$TMP/err")"
	fi
fi
check programs_that_are_no_games_register_nothing \
	sh -c "'$linked' not_a_game && sh -c 'sleep 0.01; exec ls /' >/dev/null && '$linked' nested" -- \
	'1 ^memory ' '1 ^total .*marks.hook=5'

if is_wanted symbols_of_glibc_2_28; then
	newer=$(objdump -T "$HOOK" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u -t. -k2n |
		awk -F. '$2 > 28 {printf "%s ", $0}')
	if ! command -v objdump >/dev/null; then
		echo "skip symbols_of_glibc_2_28: no objdump"
	elif [ -n "$newer" ]; then
		fail symbols_of_glibc_2_28 "needs $newer: $(objdump -T "$HOOK" | grep -E "(${newer// /|}none)" |
			awk '{printf "%s ", $NF}')"
	else
		echo "ok symbols_of_glibc_2_28"
	fi
fi

# `fprof run`: what it answers, and that the game notices nothing. No daemon is asked for anything.
expect_run() { # name, status, text that stderr holds, command...
	local name=$1 want=$2 text=$3 got
	shift 3
	is_wanted "$name" || return 0
	# the inner shell is the one that says "Terminated"
	(XDG_RUNTIME_DIR=$TMP/none FPROF_PRELOAD=$HOOK timeout 20 "$B/fprof" run "$@" \
		>"$TMP/run.out" 2>"$TMP/run.err"; exit $?) 2>/dev/null
	got=$?
	if [ "$got" != "$want" ]; then
		fail "$name" "exit status $got, not $want: $(head -2 "$TMP/run.err")"
	elif ! grep -qF -- "$text" "$TMP/run.err"; then
		fail "$name" "stderr does not say '$text': $(head -2 "$TMP/run.err")"
	else
		echo "ok $name"
	fi
}

expect_output() { # name, text: of the run before
	is_wanted "$1" || return 0
	if grep -qxF -- "$2" "$TMP/run.out"; then
		echo "ok $1"
	else
		fail "$1" "stdout is '$(head -2 "$TMP/run.out")', not '$2'"
	fi
}

printf '\177ELF\1\1\1' >"$TMP/elf32"
head -c 57 /dev/zero >>"$TMP/elf32"
printf '#!%s\n' "$TMP/elf32" >"$TMP/script32"
printf '#!/bin/sh\nexit 9\n' >"$TMP/script"
chmod +x "$TMP/elf32" "$TMP/script32" "$TMP/script"
echo 'int main(void) { return 3; }' | "$CC" -x c -static -o "$TMP/static" - 2>/dev/null

expect_run run_passes_the_exit_status 7 'no fprofd is running' -- sh -c 'exit 7'
# shellcheck disable=SC2016 # for the shell that runs there
expect_run run_passes_signals 143 '' -- sh -c 'kill -TERM $$'
# shellcheck disable=SC2016
expect_run run_keeps_arguments 0 '' --name X -- sh -c 'echo "$1|$2|$FPROF_NAME"' sh 'a b' --name
expect_output run_keeps_arguments_2 'a b|--name|X'
# shellcheck disable=SC2016
LD_PRELOAD=libm.so.6 expect_run run_keeps_what_was_preloaded 0 '' sh -c 'echo $LD_PRELOAD'
expect_output run_keeps_what_was_preloaded_2 "$HOOK:libm.so.6"
expect_run run_runs_scripts 9 '' "$TMP/script"
expect_run run_refuses_32_bits 77 '32 bits' "$TMP/elf32"
expect_run run_refuses_scripts_of_32_bits 77 '32 bits' "$TMP/script32"
[ -x "$TMP/static" ] && expect_run run_says_static_is_unseen 3 'statically linked' "$TMP/static"
expect_run run_without_such_a_command 127 'No such file' -- no-such-command-here
expect_run run_of_what_cannot_run 126 'Permission denied' -- /etc/passwd
expect_run run_without_a_command 2 'needs a command' --name X
expect_run run_with_an_unknown_option 2 "no option '--frobnicate'" --frobnicate

exit $((failures > 0))
