/* SPDX-License-Identifier: MIT */
/* The kernel's events of a game's threads as what their logs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/sched_process.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TID 4000000u /* nobody's: it keeps the kernel's number */

static struct sched_process game_new(void)
{
	return (struct sched_process){.pid = getpid()};
}

static void take_of(struct sched_process *p, uint32_t tid, uint16_t kind, uint32_t state, int64_t t)
{
	const struct probe_event e = {.tid = tid,
				      .tgid = (uint32_t)p->pid,
				      .kind = kind,
				      .state = state,
				      .syscall = SYS_futex};

	assert_int_equal(sched_process_take(p, &e, t), 0);
}

static void take(struct sched_process *p, uint16_t kind, int32_t syscall, int64_t t)
{
	const struct probe_event e = {
		.tid = TID, .tgid = (uint32_t)p->pid, .kind = kind, .state = 1, .syscall = syscall};

	assert_int_equal(sched_process_take(p, &e, t), 0);
}

/* What the only thread's log, which is stored as TID's, says of a time. */
static struct sched_interval state_at(struct sched_process *p, int64_t t)
{
	struct batch *batch = batch_new();
	struct sched_interval found = {0};
	struct sched_reader reader;

	assert_non_null(batch);
	sched_process_flush(p, 1, batch);
	assert_int_equal(batch->scheds.count, 1);
	assert_int_equal(batch->scheds.at[0].tid, TID);
	assert_int_equal(sched_reader_init(&reader, batch->scheds.at[0].data,
					   batch->scheds.at[0].bytes, batch->scheds.at[0].t0),
			 0);
	do
		assert_int_equal(sched_reader_next(&reader, &found), 1);
	while (found.t1 <= t);
	batch_free(batch);
	return found;
}

/* A signal interrupts a sleep: the thread runs, and the kernel restarts the call. */
static void a_restarted_call_waits_for_what_it_had_waited_for(void **state)
{
	struct sched_process p = game_new();
	struct sched_interval i;

	(void)state;
	take(&p, PROBE_IN, -1, 10);
	take(&p, PROBE_OUT, SYS_clock_nanosleep, 20);
	take(&p, PROBE_WAKING, -1, 30);
	take(&p, PROBE_IN, -1, 40);
	take(&p, PROBE_OUT, SYS_restart_syscall, 50);
	take(&p, PROBE_IN, -1, 60);
	i = state_at(&p, 50);
	assert_int_equal(i.t0, 50);
	assert_int_equal(i.state, SCHED_STATE_BLOCKED);
	assert_int_equal(i.syscall, SYS_restart_syscall);
	assert_int_equal(i.reason, WAIT_SLEEP);
	sched_process_deinit(&p);
}

static void a_restarted_call_that_was_never_seen_waits_for_something(void **state)
{
	struct sched_process p = game_new();

	(void)state;
	take(&p, PROBE_OUT, SYS_restart_syscall, 10);
	take(&p, PROBE_IN, -1, 20);
	assert_int_equal(state_at(&p, 10).reason, WAIT_OTHER);
	sched_process_deinit(&p);
}

static void after_a_loss_nothing_is_known_until_the_next_event(void **state)
{
	struct sched_process p = game_new();
	struct sched_interval i;

	(void)state;
	take(&p, PROBE_OUT, SYS_futex, 10);
	take(&p, PROBE_IN, -1, 20);
	sched_process_lost(&p);
	take(&p, PROBE_OUT, SYS_futex, 50);
	i = state_at(&p, 30);
	assert_int_equal(i.t0, 20);
	assert_int_equal(i.t1, 50);
	assert_int_equal(i.state, SCHED_STATE_UNKNOWN);
	sched_process_deinit(&p);
}

static void a_thread_that_is_gone_is_forgotten_when_it_is_stored(void **state)
{
	struct sched_process p = game_new();

	(void)state;
	take(&p, PROBE_IN, -1, 10);
	take_of(&p, TID, PROBE_OUT, 0x80, 20);
	assert_int_equal(p.threads.count, 1);
	assert_int_equal(state_at(&p, 20).state, SCHED_STATE_GONE);
	assert_int_equal(p.threads.count, 0);
	sched_process_deinit(&p);
}

/* Each is switched out for good once: as many may come and go as like to. */
static void threads_that_end_leave_no_trace(void **state)
{
	struct sched_process p = game_new();
	uint32_t i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		take_of(&p, TID + i, PROBE_WAKING, 0, 10 * i);
		take_of(&p, TID + i, PROBE_IN, 0, 10 * i + 1);
		take_of(&p, TID + i, PROBE_OUT, 0x80, 10 * i + 2);
		if (sched_process_is_full(&p)) {
			struct batch *batch = batch_new();

			assert_non_null(batch);
			sched_process_flush(&p, 1, batch);
			batch_free(batch);
			assert_int_equal(p.threads.count, 0);
		}
	}
	sched_process_deinit(&p);
}

/* The switch to it was never told of. */
static void who_wakes_another_runs(void **state)
{
	struct sched_process p = game_new();
	struct probe_event wake = {.tid = TID + 1,
				   .tgid = (uint32_t)getpid(),
				   .kind = PROBE_WAKING,
				   .other_tid = TID,
				   .other_tgid = (uint32_t)getpid(),
				   .cpu = 3};
	struct batch *batch = batch_new();
	struct sched_interval i;
	struct sched_reader reader;

	(void)state;
	assert_non_null(batch);
	take(&p, PROBE_OUT, SYS_futex, 10);
	take(&p, PROBE_WAKING, -1, 20);
	wake.flags = PROBE_INTERRUPT; /* it was only interrupted */
	assert_int_equal(sched_process_take(&p, &wake, 25), 0);
	assert_int_equal(p.missed, 0);
	wake.flags = 0;
	assert_int_equal(sched_process_take(&p, &wake, 30), 0);
	assert_int_equal(p.missed, 1);
	take(&p, PROBE_OUT, SYS_futex, 40);
	assert_int_equal(p.missed, 1);
	take(&p, PROBE_OUT, SYS_futex, 50);
	assert_int_equal(p.missed, 2);
	take(&p, PROBE_IN, SYS_futex, 60); /* woken by nobody */
	assert_int_equal(p.missed, 3);
	sched_process_flush(&p, 1, batch);
	assert_int_equal(batch->scheds.at[0].tid, TID);
	assert_int_equal(sched_reader_init(&reader, batch->scheds.at[0].data,
					   batch->scheds.at[0].bytes, batch->scheds.at[0].t0),
			 0);
	do
		assert_int_equal(sched_reader_next(&reader, &i), 1);
	while (i.t1 <= 30);
	assert_int_equal(i.state, SCHED_STATE_RUNNING);
	assert_int_equal(i.t0, 30);
	assert_int_equal(i.cpu, 3);
	batch_free(batch);
	sched_process_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restarted_call_waits_for_what_it_had_waited_for),
		cmocka_unit_test(a_restarted_call_that_was_never_seen_waits_for_something),
		cmocka_unit_test(after_a_loss_nothing_is_known_until_the_next_event),
		cmocka_unit_test(a_thread_that_is_gone_is_forgotten_when_it_is_stored),
		cmocka_unit_test(threads_that_end_leave_no_trace),
		cmocka_unit_test(who_wakes_another_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
