/* SPDX-License-Identifier: MIT */
/* The kernel's events of a game's threads as what their logs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/sched_process.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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

/* What it blocks for, as one event of the kernel tells. */
static enum wait_reason reason_of(struct probe_event e)
{
	struct sched_process p = game_new();
	enum wait_reason reason;

	e.tid = TID;
	e.tgid = (uint32_t)p.pid;
	e.kind = PROBE_OUT;
	e.state = e.state ? e.state : 1;
	assert_int_equal(sched_process_take(&p, &e, 10), 0);
	take(&p, PROBE_IN, -1, 20);
	reason = state_at(&p, 10).reason;
	sched_process_deinit(&p);
	return reason;
}

static void find(struct sched_process *p, uint16_t kind, int64_t t)
{
	const struct probe_event e = {.tid = TID,
				      .tgid = (uint32_t)p->pid,
				      .kind = kind,
				      .cpu = 3,
				      .flags = PROBE_FOUND,
				      .state = kind == PROBE_OUT,
				      .syscall = SYS_futex};

	assert_int_equal(sched_process_take(p, &e, t), 0);
}

/* Until something happens to it, that is what it does. */
static void a_thread_is_as_it_was_found(void **state)
{
	static const struct {
		uint16_t kind;
		enum sched_state state;
	} found[] = {{PROBE_IN, SCHED_STATE_RUNNING},
		     {PROBE_OUT, SCHED_STATE_BLOCKED},
		     {PROBE_WAKING, SCHED_STATE_RUNNABLE}};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(found); i++) {
		struct sched_process p = game_new();
		struct sched_interval at;

		find(&p, found[i].kind, 10);
		at = state_at(&p, 15);
		assert_int_equal(at.state, found[i].state);
		assert_int_equal(at.t0, 10);
		assert_int_equal(at.cpu, found[i].kind == PROBE_IN ? 3 : 0);
		assert_int_equal(at.reason, found[i].kind == PROBE_OUT ? WAIT_LOCK : WAIT_OTHER);
		assert_int_equal(at.who.tid, 0);
		assert_int_equal(p.missed, 0);
		sched_process_deinit(&p);
	}
}

/* An event that came before it is later than what was read for it. */
static void what_happened_since_is_believed_more(void **state)
{
	struct sched_process p = game_new();

	(void)state;
	take(&p, PROBE_OUT, SYS_nanosleep, 10);
	find(&p, PROBE_IN, 11);
	assert_int_equal(state_at(&p, 12).state, SCHED_STATE_BLOCKED);
	find(&p, PROBE_WAKING, 13);
	take(&p, PROBE_IN, -1, 20);
	assert_int_equal(state_at(&p, 15).state, SCHED_STATE_BLOCKED);
	/* of one that events were lost of nothing is known */
	sched_process_lost(&p);
	find(&p, PROBE_OUT, 30);
	assert_int_equal(state_at(&p, 31).state, SCHED_STATE_BLOCKED);
	sched_process_deinit(&p);
}

static void a_page_of_a_file_is_disk_one_that_memory_lacks_is_memory(void **state)
{
	(void)state;
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .flags = PROBE_IO_WAIT}),
			 WAIT_DISK);
	assert_int_equal(reason_of((struct probe_event){
				 .syscall = -1, .flags = PROBE_IO_WAIT | PROBE_MEMORY_STALL}),
			 WAIT_MEMORY);
	assert_int_equal(reason_of((struct probe_event){.syscall = -1}), WAIT_MEMORY);
}

static void a_worker_of_io_uring_and_a_stopped_thread_do_not_wait_for_memory(void **state)
{
	(void)state;
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .flags = PROBE_IO_WORKER}),
			 WAIT_OTHER);
	assert_int_equal(reason_of((struct probe_event){.syscall = -1,
							.flags = PROBE_IO_WORKER | PROBE_IO_WAIT}),
			 WAIT_DISK);
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .state = 4}), WAIT_STOPPED);
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .state = 8}), WAIT_STOPPED);
}

/* The freezers of both versions; a call that goes on afterwards waits for what it did. */
static void a_frozen_thread_is_stopped_whatever_call_it_is_in(void **state)
{
	struct sched_process p = game_new();
	const struct probe_event frozen = {.tid = TID,
					   .tgid = (uint32_t)p.pid,
					   .kind = PROBE_OUT,
					   .state = 1,
					   .syscall = SYS_futex,
					   .flags = PROBE_FROZEN};

	(void)state;
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .state = 0x8000}),
			 WAIT_STOPPED);
	assert_int_equal(reason_of((struct probe_event){.syscall = -1, .flags = PROBE_FROZEN}),
			 WAIT_STOPPED);
	take(&p, PROBE_OUT, SYS_futex, 10);
	take(&p, PROBE_IN, -1, 20);
	assert_int_equal(sched_process_take(&p, &frozen, 30), 0);
	take(&p, PROBE_IN, -1, 40);
	take(&p, PROBE_OUT, SYS_restart_syscall, 50);
	assert_int_equal(p.threads.at[0]->log.now.reason, WAIT_LOCK);
	assert_int_equal(state_at(&p, 35).reason, WAIT_STOPPED);
	sched_process_deinit(&p);
}

static void a_poll_of_nothing_sleeps_one_of_a_descriptor_waits_by_it(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(reason_of((struct probe_event){.syscall = SYS_ppoll}), WAIT_SLEEP);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(reason_of((struct probe_event){.syscall = SYS_ppoll,
							.flags = PROBE_POLL_FD,
							.arg0 = (uint64_t)ends[0]}),
			 WAIT_SOCKET);
	assert_int_equal(
		reason_of((struct probe_event){.syscall = SYS_ppoll, .arg0 = 4096, .arg1 = 2}),
		WAIT_POLL);
	close(ends[0]);
	close(ends[1]);
}

/* Its number is somebody else's when the event is read. */
static void a_sync_file_is_the_gpu_s_though_it_is_closed(void **state)
{
	struct probe_event e = {.syscall = SYS_ppoll, .flags = PROBE_POLL_FD};
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	e.arg0 = (uint64_t)ends[0];
	memcpy(&e.arg1, "sync_file", sizeof(e.arg1));
	assert_int_equal(reason_of(e), WAIT_GPU);
	memcpy(&e.arg1, "[timerfd]", sizeof(e.arg1));
	assert_int_equal(reason_of(e), WAIT_SLEEP);
	memcpy(&e.arg1, "[eventfd]", sizeof(e.arg1));
	assert_int_equal(reason_of(e), WAIT_LOCK);
	memcpy(&e.arg1, "inotify\0", sizeof(e.arg1));
	assert_int_equal(reason_of(e), WAIT_POLL);
	close(ends[0]);
	close(ends[1]);
}

static void a_lock_whose_wait_a_timer_ended_was_a_sleep(void **state)
{
	struct sched_process p = game_new();
	const struct probe_event tick = {.tid = TID,
					 .tgid = (uint32_t)p.pid,
					 .kind = PROBE_WAKING,
					 .flags = PROBE_INTERRUPT};

	(void)state;
	take(&p, PROBE_OUT, SYS_futex, 10);
	assert_int_equal(sched_process_take(&p, &tick, 20), 0);
	take(&p, PROBE_IN, -1, 30);
	assert_int_equal(state_at(&p, 10).reason, WAIT_SLEEP);
	take(&p, PROBE_OUT, SYS_futex, 40);
	take(&p, PROBE_WAKING, -1, 50);
	take(&p, PROBE_IN, -1, 60);
	assert_int_equal(state_at(&p, 40).reason, WAIT_LOCK);
	sched_process_deinit(&p);
}

/* A device's interrupt may answer a read, which ends by nothing else. */
static void a_wait_for_an_answer_is_no_sleep_whoever_answers(void **state)
{
	struct sched_process p = game_new();
	int fd = eventfd(0, EFD_CLOEXEC);
	struct probe_event e = {.tid = TID,
				.tgid = (uint32_t)p.pid,
				.kind = PROBE_OUT,
				.state = 1,
				.syscall = SYS_read,
				.arg0 = (uint64_t)fd};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sched_process_take(&p, &e, 10), 0);
	e.kind = PROBE_WAKING;
	e.flags = PROBE_INTERRUPT;
	assert_int_equal(sched_process_take(&p, &e, 20), 0);
	take(&p, PROBE_IN, -1, 30);
	assert_int_equal(state_at(&p, 10).reason, WAIT_LOCK);
	sched_process_deinit(&p);
	close(fd);
}

#ifdef __x86_64__
/* Numbers of two tables could not be told apart once they are stored. */
static void a_call_of_the_32_bit_table_has_the_number_of_the_other(void **state)
{
	struct sched_process p = game_new();
	struct probe_event e = {.tid = TID,
				.tgid = (uint32_t)p.pid,
				.kind = PROBE_OUT,
				.state = 1,
				.syscall = 422,
				.flags = PROBE_COMPAT};

	(void)state;
	assert_int_equal(sched_process_take(&p, &e, 10), 0);
	take(&p, PROBE_IN, -1, 20);
	assert_int_equal(state_at(&p, 10).syscall, SYS_futex);
	e.syscall = 202;
	assert_int_equal(sched_process_take(&p, &e, 30), 0);
	take(&p, PROBE_IN, -1, 40);
	assert_int_equal(state_at(&p, 30).syscall, -1);
	sched_process_deinit(&p);
}

static void calls_of_the_32_bit_table_are_known(void **state)
{
	(void)state;
	assert_int_equal(reason_of((struct probe_event){.syscall = 240, .flags = PROBE_COMPAT}),
			 WAIT_LOCK);
	assert_int_equal(reason_of((struct probe_event){.syscall = 407, .flags = PROBE_COMPAT}),
			 WAIT_SLEEP);
	assert_int_equal(reason_of((struct probe_event){.syscall = 202, .flags = PROBE_COMPAT}),
			 WAIT_OTHER);
}
#endif

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
		cmocka_unit_test(a_thread_is_as_it_was_found),
		cmocka_unit_test(what_happened_since_is_believed_more),
		cmocka_unit_test(a_restarted_call_waits_for_what_it_had_waited_for),
		cmocka_unit_test(a_restarted_call_that_was_never_seen_waits_for_something),
		cmocka_unit_test(after_a_loss_nothing_is_known_until_the_next_event),
		cmocka_unit_test(a_thread_that_is_gone_is_forgotten_when_it_is_stored),
		cmocka_unit_test(threads_that_end_leave_no_trace),
		cmocka_unit_test(who_wakes_another_runs),
		cmocka_unit_test(a_page_of_a_file_is_disk_one_that_memory_lacks_is_memory),
		cmocka_unit_test(a_worker_of_io_uring_and_a_stopped_thread_do_not_wait_for_memory),
		cmocka_unit_test(a_frozen_thread_is_stopped_whatever_call_it_is_in),
		cmocka_unit_test(a_poll_of_nothing_sleeps_one_of_a_descriptor_waits_by_it),
		cmocka_unit_test(a_sync_file_is_the_gpu_s_though_it_is_closed),
		cmocka_unit_test(a_lock_whose_wait_a_timer_ended_was_a_sleep),
		cmocka_unit_test(a_wait_for_an_answer_is_no_sleep_whoever_answers),
#ifdef __x86_64__
		cmocka_unit_test(a_call_of_the_32_bit_table_has_the_number_of_the_other),
		cmocka_unit_test(calls_of_the_32_bit_table_are_known),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
