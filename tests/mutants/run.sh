#!/bin/bash
# SPDX-License-Identifier: MIT
# Are the checks of the verdict's rules worth anything? Each row takes one rule out of daemon/verdict.c, displays.c or
# verdict_ran.c and names a check of test_verdict_words, of the last of test_verdict_ran, that has to fail then; where one
# let go of a lock is checked by test_verdict. What a row changes must be there, once.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
CC=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mutants=(
	'the GPU is never the ceiling|verdict|busy >= VERDICT_GPU_SATURATED|false|gpu: it is busy all the time while the thread computes'
	'a present wins over a saturated GPU|verdict|busy >= VERDICT_GPU_SATURATED|busy >= VERDICT_GPU_SATURATED \&\& v->ns[PART_PRESENT] == 0|gpu: it is busy all the time while the present blocks at a display.s pace'
	'a GPU is saturated early|verdict|busy >= VERDICT_GPU_SATURATED|busy >= 0.75|not gpu: it was idle for a fifth'
	'a zone of the GPU is the limiter.s|verdict|? PART_GPU\r|? PART_CAP\r|gpu: the thread waits in a zone for it, whose time is not known'
	'the driver.s ioctl is nothing|verdict|\[WAIT_GPU\] = PART_GPU|[WAIT_GPU] = PART_OTHER|gpu: the thread blocks in the driver, unmarked'
	'every present is a display.s|verdict|v->fit.refreshes > 0|v->fit.refreshes + 1 > 0|not display: the present blocks at a pace that fits none'
	'a display need not be known|verdict|v->fit.refreshes > 0|v->fit.refreshes > 0 \|\| v->fit.display_hz <= 0|not display: no rate is known'
	'no present is a display.s|verdict|v->fit.refreshes > 0|false|display: the present blocks at its pace'
	'a frame is one refresh|displays|n <= DISPLAYS_REFRESHES_MAX|n <= 1|display: a frame of two refreshes, its time not known to the kernel'
	'a hitch in the present is nobody.s|verdict|part == BOUND_DISPLAY)\r|part == BOUND_CAP)\r|not display: a hitch at a pace that fits none'
	'who sleeps in the present is not asked|verdict|2 \* v->slept_ns > held_by(v, BOUND_DISPLAY)|false|cap: it sleeps in the present at a pace that fits no display'
	'an idle GPU is not asked|verdict|BOUND_DISPLAY) .. v->gpu_busy_ns != NS_UNKNOWN|BOUND_DISPLAY)|cap: it blocks in the present at a pace that fits none, and the GPU is idle'
	'frames beyond the display are not counted|displays|fit.cadence_hz > fit.display_hz|false|cap: faster than the display, of which it is told'
	'nothing is paced|verdict|!judge_paced(v)|true|cap: it waits in the limiter.s zone'
	'any slack paces|verdict|share(v, slack) < VERDICT_SLACK .. is_hitch|slack == 0 \|\| is_hitch|not cap: the slack is a moment'
	'a hitch is paced|verdict|(double)v->wall_ns > VERDICT_HITCH|false \&\& (double)v->wall_ns > VERDICT_HITCH|cpu: a hitch that computes has no excuse in its slack'
	'any even wait paces|verdict|return steady ? PACE_LIKELY : PACE_NONE|return PACE_LIKELY|not cap: it sleeps, unmarked, and frames are as long as they come'
	'what is unmarked paces nothing|verdict|return steady ? PACE_LIKELY : PACE_NONE|return PACE_NONE|cap: it sleeps, unmarked, and frames are even'
	'whether a wait evens out is not asked|verdict|spread->wall_ns <= VERDICT_EVENS|spread->wall_ns <= 1000 * VERDICT_EVENS|not cap: it sleeps for as long whatever its work does'
	'nothing evens out|verdict|spread->wall_ns <= VERDICT_EVENS|spread->wall_ns <= 0 * VERDICT_EVENS|cap: a small slack that evens frames out'
	'even work tells|verdict|share(v, slack) < VERDICT_SLACK_LARGE|false|not cap: the work is as even as the frames, and the slack is small'
	'a large slack tells nothing|verdict|share(v, slack) < VERDICT_SLACK_LARGE|true|cap: the work is as even as the frames, and the slack is large'
	'most of the frame is not enough|verdict|slack >= held_by(v, largest(v, BOUNDS))|false|cap: most of the frame is slack, however frames vary'
	'a display.s pace is no pace|verdict|fits = v->fit.refreshes != 0|fits = false|display: a small slack at its pace, however frames vary'
	'the kernel denies nothing|verdict|return kind != FPROF_MARKER_WAIT_CAP|return true|not lock: the limiter.s zone waits by one'
	'the kernel denies what a driver does|verdict|return kind != FPROF_MARKER_WAIT_CAP|return false|gpu: the thread waits in a zone for it, whose time is not known'
	'files are no contradiction|verdict|case WAIT_DISK:\r|case WAIT_DISK: return true;|not io: the present.s zone waits for a disk'
	'a stopped thread may wait for a moment|verdict|case WAIT_STOPPED: ..|case WAIT_STOPPED: return true; /*|cap: it was stopped in the limiter.s zone, which is said'
	'that it was stopped is not said|verdict|2 \* v->stopped_ns > ns|false|unknown: it was stopped'
	'who is stopped waits for a disk|verdict|\[WAIT_STOPPED\] = PART_OTHER|[WAIT_STOPPED] = PART_IO|unknown: it was stopped'
	'what runs is nothing|verdict|return wait ? PART_SPIN : PART_CPU|return wait ? PART_SPIN : PART_OTHER|cpu: it computes'
	'a sleep is nothing|verdict|\[WAIT_SLEEP\] = PART_CAP|[WAIT_SLEEP] = PART_OTHER|cap: it sleeps, unmarked'
	'a limiter that spins computes|verdict| + v->spun_ns\[PART_CAP\]||cap: the limiter spins'
	'zones are not asked what a wait is for|verdict|wait ? of_zone(wait->kind) : of_reason|of_reason|not lock: the limiter.s zone waits by one'
	'all that is left is cpu, run or not|verdict|excess <= 0)|true)|not cpu: by elimination, of which it ran little'
	'the check takes all|verdict|MIN(v->ran.not_run_ns,|MIN(INT64_MAX,|cpu: by elimination, and so it ran'
	'frames that stand out are as others|verdict_ran|MIN(MAX(stands_out, 0.0), room)|0|a_lone_frame_that_waited_is_the_one'
	'the readings next to a frame are not asked|verdict_ran|MAX(f->cpu_ns - ran_in(rans, w) - slack_ns, INT64_C(0))|0|who_waited_and_who_computed_are_told_apart'
	'frames around are not asked|verdict_ran|wide_window(rans, frames, i), narrow|narrow_window(rans, f), narrow|a_sleep_of_every_frame_is_found_in_each'
	'readings are never behind|verdict_ran|ran.cpu_ns - ran.ran_ns - slack_ns|ran.cpu_ns - ran.ran_ns|a_game_that_computes_is_not_accused'
	'time outside of frames does not matter|verdict_ran|>= COVERED_LEAST \*|>= 0 *|what_ran_outside_of_frames_tells_nothing'
	'unchecked is not said|verdict|"" : ", unchecked"|"" : ""|cpu: by elimination, unchecked'
	'who is queued runs|verdict|return PART_RUNNABLE|return PART_CPU|scheduler: it could have run'
	'who is queued in a zone waits|verdict|return PART_RUNNABLE|return wait ? of_zone(wait->kind) : PART_RUNNABLE|scheduler: in a hitch, with slack, within a wait zone'
	'a lock is nothing|verdict|\[WAIT_LOCK\] = PART_LOCK|[WAIT_LOCK] = PART_OTHER|lock: it waits for one'
	'where it was let go of is not said|verdict|v->bound == BOUND_LOCK .. who->zone|false|who_lets_go_of_a_lock_does_so_in_a_zone'
	'a zone that ends as it lets go is open|verdict_let_go|at\].t < t; r->at|at].t <= t; r->at|who_lets_go_of_a_lock_does_so_in_a_zone'
	'the outermost zone lets go|verdict_let_go|r->open.at\[r->open.count - 1\]|r->open.at[0]|who_lets_go_of_a_lock_does_so_in_a_zone'
	'zones that were lost let go|verdict_let_go|lost = true|lost = false|what_was_lost_as_it_let_go_is_not_told'
	'a later wait is as the longest|verdict_who|who->longest_ns > into->longest_ns|true|who_lets_go_of_a_lock_does_so_in_a_zone'
	'a sync is nothing|verdict|\[WAIT_DISK\] = PART_IO|[WAIT_DISK] = PART_OTHER|io: it syncs'
	'a read is nothing|verdict|\[WAIT_READ\] = PART_IO|[WAIT_READ] = PART_OTHER|io: it reads'
	'a write is nothing|verdict|\[WAIT_WRITE\] = PART_IO|[WAIT_WRITE] = PART_OTHER|io: it writes'
	'a socket is nothing|verdict|\[WAIT_SOCKET\] = PART_IO|[WAIT_SOCKET] = PART_OTHER|io: a socket, in a hitch, with slack'
	'a fault is nothing|verdict|\[WAIT_MEMORY\] = PART_MEMORY|[WAIT_MEMORY] = PART_OTHER|memory: it faults'
	'a poll is a limiter.s|verdict|\[WAIT_POLL\] = PART_OTHER|[WAIT_POLL] = PART_CAP|unknown: it polls for what nobody knows'
	'that the kernel was not heard is not said|verdict|v->unheard_ns) > VERDICT_UNHEARD|v->unheard_ns) > 1|cpu: though a tenth of it nobody heard of, which is said'
	'what nobody heard of does not count|verdict|share(v, v->ns\[PART_UNKNOWN\]) > 0.5 ..|false \|\||unknown: most of it nobody heard of, slack or not'
)

# A changed module before the daemon's library: the one in there is not taken then.
try() { # number, row
	local what module from to check dir=$tmp/$1 test=verdict_words
	IFS='|' read -r what module from to check <<<"${2//\\|/$'\a'}"
	to=${to//$'\a'/|}
	mkdir "$dir"
	[ "$module" != verdict_ran ] || test=verdict_ran
	[[ $check != *let_go* && $check != *lets_go* ]] || test=verdict
	# \r in a row stands for the end of a line
	from=${from//\\r/\$} to=${to//\\r/}
	if [ "$(grep -c -- "$from" "daemon/$module.c")" != 1 ]; then
		echo "not ok $what: what it changes is not in $module.c once"
		return
	fi
	sed "s@$from@$to@" "daemon/$module.c" >"$dir/$module.c"
	if ! { "${compile[@]}" -c -o "$dir/mutant.o" "$dir/$module.c" &&
		$CC -o "$dir/test" "$tmp/$test.o" "$dir/mutant.o" "$B/libfprofd.a" "${libs[@]}"; } >"$dir/log" 2>&1; then
		echo "not ok $what: it does not compile"
		sed 's/^/    /' "$dir/log"
		return
	fi
	CMOCKA_MESSAGE_OUTPUT=TAP "$dir/test" >"$dir/log" 2>&1
	if grep -q "^not ok [0-9]* - $check" "$dir/log"; then
		echo "ok without a rule a check fails: $what"
	else
		echo "not ok $what: \"$check\" passes all the same"
	fi
}

read -ra libs < <(pkg-config --libs sqlite3 libmicrohttpd liburing liblz4 libxxhash zlib jansson cmocka)
libs+=(-lm -lpthread)
compile=("$CC" -std=gnu11 -D_GNU_SOURCE -I. -Idaemon -Iclient -O0 -w)
for test in verdict_words verdict_ran verdict; do
	"${compile[@]}" -c -o "$tmp/$test.o" "tests/unit/test_$test.c" || exit 1
done

failed=0
for i in "${!mutants[@]}"; do
	try "$i" "${mutants[i]}" >"$tmp/$i.log" &
	[ $((i % 2)) = 0 ] || wait
done
wait
for i in "${!mutants[@]}"; do
	cat "$tmp/$i.log"
	! grep -q '^not ok' "$tmp/$i.log" || failed=1
done
exit $failed
