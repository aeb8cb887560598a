/* SPDX-License-Identifier: MIT */
/* What the scheduler did, written and read back. */
#include "daemon/sched_log.h"
#include "daemon/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static struct sched_who somebody(uint32_t tid, const char *comm)
{
	struct sched_who who = {.tid = tid, .tgid = 7};

	snprintf(who.comm, sizeof(who.comm), "%s", comm);
	return who;
}

static void put(struct sched_log *log, struct sched_record r)
{
	assert_int_equal(sched_log_put(log, &r), 0);
}

static size_t read_all(const struct sched_chunk *chunk, struct sched_interval *out, size_t max)
{
	struct sched_reader reader;
	size_t n = 0;

	assert_int_equal(sched_reader_init(&reader, chunk->data, chunk->bytes, chunk->t0), 0);
	while (n < max && sched_reader_next(&reader, &out[n]) == 1)
		n++;
	return n;
}

static void a_wait_is_read_back(void **state)
{
	struct sched_interval got[8];
	struct sched_chunk chunk;
	struct sched_log log;

	(void)state;
	sched_log_init(&log);
	put(&log, (struct sched_record){.kind = SCHED_RUN, .t = 100, .cpu = 3});
	put(&log, (struct sched_record){.kind = SCHED_BLOCK,
					.t = 250,
					.reason = WAIT_LOCK,
					.syscall = SYS_futex,
					.uninterruptible = true});
	put(&log,
	    (struct sched_record){.kind = SCHED_WAKE, .t = 400, .who = somebody(12, "worker")});
	put(&log, (struct sched_record){
			  .kind = SCHED_RUN, .t = 420, .cpu = 1, .who = somebody(13, "before")});
	put(&log,
	    (struct sched_record){.kind = SCHED_PREEMPT, .t = 500, .who = somebody(99, "busy")});
	sched_log_take(&log, &chunk);
	assert_int_equal(chunk.records, 5);
	assert_int_equal(chunk.t0, 100);
	assert_int_equal(chunk.t1, 500);
	/* the state before the first record, which lasted no time */
	assert_int_equal(read_all(&chunk, got, 8), 6);
	assert_int_equal(got[0].state, SCHED_STATE_UNKNOWN);
	assert_int_equal(got[1].state, SCHED_STATE_RUNNING);
	assert_int_equal(got[1].cpu, 3);
	assert_int_equal(got[1].t0, 100);
	assert_int_equal(got[1].t1, 250);
	assert_int_equal(got[2].state, SCHED_STATE_BLOCKED);
	assert_int_equal(got[2].reason, WAIT_LOCK);
	assert_int_equal(got[2].syscall, SYS_futex);
	assert_true(got[2].uninterruptible);
	assert_int_equal(got[3].state, SCHED_STATE_RUNNABLE);
	assert_false(got[3].preempted);
	assert_int_equal(got[3].who.tid, 12);
	assert_string_equal(got[3].who.comm, "worker");
	assert_int_equal(got[3].t1, 420);
	assert_int_equal(got[4].who.tid, 13);
	assert_true(got[5].preempted);
	assert_string_equal(got[5].who.comm, "busy");
	assert_true(got[5].t1 == INT64_MAX);
	free(chunk.data);
	sched_log_deinit(&log);
}

/* A chunk begins with the state that the one before ended with, and since when. */
static void chunks_go_on(void **state)
{
	struct sched_interval first[4], second[4];
	struct sched_chunk a, b;
	struct sched_log log;

	(void)state;
	sched_log_init(&log);
	put(&log, (struct sched_record){.kind = SCHED_RUN, .t = 10, .cpu = 2});
	sched_log_take(&log, &a);
	put(&log, (struct sched_record){.kind = SCHED_BLOCK, .t = 70, .syscall = -1});
	sched_log_take(&log, &b);
	assert_int_equal(read_all(&a, first, 4), 2);
	assert_int_equal(read_all(&b, second, 4), 2);
	assert_int_equal(second[0].state, SCHED_STATE_RUNNING);
	assert_int_equal(second[0].cpu, 2);
	assert_int_equal(second[0].t0, first[1].t0);
	assert_int_equal(second[0].t1, 70);
	assert_int_equal(second[1].syscall, -1);
	free(a.data);
	free(b.data);
	sched_log_deinit(&log);
}

/* More than a chunk knows at a time, some of them again and again. */
static void everybody_is_named(void **state)
{
	static struct sched_interval got[1000];
	struct sched_chunk chunk;
	struct sched_log log;
	uint32_t i;
	size_t n;

	(void)state;
	sched_log_init(&log);
	for (i = 1; i <= 300; i++)
		put(&log,
		    (struct sched_record){.kind = SCHED_PREEMPT,
					  .t = i,
					  .who = somebody(i % 3 ? i : i - 20 * (i > 20), "one")});
	sched_log_take(&log, &chunk);
	n = read_all(&chunk, got, 1000);
	assert_int_equal(n, 301);
	for (i = 1; i <= 300; i++)
		assert_int_equal(got[i].who.tid, i % 3 ? i : i - 20 * (i > 20));
	free(chunk.data);
	sched_log_deinit(&log);
}

/* A chunk of version 1: nobody is named at a RUN, and a free place names. */
static void the_first_form_is_read(void **state)
{
	/* unknown for 5; runs on 2; preempted by 9 of 7, "x"; runs; preempted by the same */
	static const uint8_t bytes[] = {
		1, SCHED_LOST, 0, 5,   10, SCHED_RUN, 2, 20, SCHED_PREEMPT, 1,
		9, 7,	       1, 'x', 5,  SCHED_RUN, 3, 5,  SCHED_PREEMPT, 1};
	struct sched_interval got[8];
	struct sched_reader reader;
	size_t n = 0;

	(void)state;
	assert_int_equal(sched_reader_init(&reader, bytes, sizeof(bytes), 100), 0);
	while (sched_reader_next(&reader, &got[n]) == 1)
		n++;
	assert_int_equal(n, 5);
	assert_int_equal(got[0].t0, 95);
	assert_int_equal(got[1].state, SCHED_STATE_RUNNING);
	assert_int_equal(got[1].who.tid, 0);
	assert_int_equal(got[2].who.tid, 9);
	assert_int_equal(got[3].cpu, 3);
	assert_int_equal(got[4].t0, 140);
	assert_string_equal(got[4].who.comm, "x");
}

static void waking_who_does_not_wait_changes_nothing(void **state)
{
	struct sched_interval got[8];
	struct sched_chunk chunk;
	struct sched_log log;

	(void)state;
	sched_log_init(&log);
	put(&log, (struct sched_record){.kind = SCHED_RUN, .t = 10});
	put(&log, (struct sched_record){.kind = SCHED_WAKE, .t = 20, .who = somebody(1, "x")});
	put(&log, (struct sched_record){.kind = SCHED_BLOCK, .t = 30, .reason = WAIT_POLL});
	sched_log_take(&log, &chunk);
	assert_int_equal(read_all(&chunk, got, 8), 3);
	assert_int_equal(got[1].t0, 10);
	assert_int_equal(got[1].t1, 30);
	free(chunk.data);
	sched_log_deinit(&log);
}

static void times_never_run_backwards(void **state)
{
	struct sched_interval got[8];
	struct sched_chunk chunk;
	struct sched_log log;

	(void)state;
	sched_log_init(&log);
	put(&log, (struct sched_record){.kind = SCHED_RUN, .t = 100});
	put(&log, (struct sched_record){.kind = SCHED_BLOCK, .t = 50, .reason = WAIT_POLL});
	put(&log, (struct sched_record){.kind = SCHED_RUN, .t = 130});
	sched_log_take(&log, &chunk);
	assert_int_equal(read_all(&chunk, got, 8), 4);
	assert_int_equal(got[2].t0, 100);
	assert_int_equal(got[2].t1, 130);
	free(chunk.data);
	sched_log_deinit(&log);
}

static struct sched_record random_record(struct statistics_random *random, int64_t t)
{
	static const char *const names[] = {"a", "worker 1", "fifteen letters", ""};
	struct sched_record r = {.kind = (enum sched_kind)(1 + statistics_below(random, 6)),
				 .t = t};

	r.cpu = (uint32_t)statistics_below(random, 300);
	r.reason = (enum wait_reason)statistics_below(random, WAIT_REASONS);
	r.syscall = (int32_t)statistics_below(random, 500) - 1;
	r.flags = (uint32_t)statistics_below(random, 4);
	r.who = somebody((uint32_t)statistics_below(random, 100),
			 names[statistics_below(random, 4)]);
	return r;
}

/* Intervals touch, in order, whatever was put; and a cut or changed chunk is refused or read, and
 * never more than it is. */
static void any_records_and_any_bytes(void **state)
{
	static struct sched_interval got[600];
	struct statistics_random random;
	struct sched_reader reader;
	struct sched_chunk chunk;
	struct sched_log log;
	int64_t t = 0;
	size_t i, n, round;

	(void)state;
	statistics_seed(&random, 4);
	for (round = 0; round < 200; round++) {
		sched_log_init(&log);
		for (i = 0; i < 300; i++) {
			t += (int64_t)statistics_below(&random, 100000);
			put(&log, random_record(&random, t));
		}
		sched_log_take(&log, &chunk);
		n = read_all(&chunk, got, 600);
		assert_true(n > 1);
		for (i = 1; i < n; i++)
			assert_int_equal(got[i].t0, got[i - 1].t1);
		assert_true(got[n - 1].t1 == INT64_MAX);
		chunk.data[statistics_below(&random, chunk.bytes)] ^=
			(uint8_t)(1 + statistics_below(&random, 255));
		if (sched_reader_init(&reader, chunk.data,
				      statistics_below(&random, chunk.bytes + 1), 0) == 0)
			for (i = 0; sched_reader_next(&reader, &got[0]) == 1; i++)
				assert_true(i <= 300);
		free(chunk.data);
		sched_log_deinit(&log);
	}
}

static void descriptors_tell_what_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(wait_reason_of(SYS_futex, FD_UNKNOWN), WAIT_LOCK);
	assert_int_equal(wait_reason_of(SYS_read, fd_class_of("socket:[12]")), WAIT_SOCKET);
	assert_int_equal(wait_reason_of(SYS_read, fd_class_of("/home/a/b")), WAIT_READ);
	assert_int_equal(wait_reason_of(SYS_ioctl, fd_class_of("/dev/dri/card0")), WAIT_GPU);
	assert_int_equal(wait_reason_of(SYS_ioctl, fd_class_of("/dev/nvidiactl")), WAIT_GPU);
	assert_int_equal(wait_reason_of(SYS_ioctl, fd_class_of("/dev/ntsync")), WAIT_LOCK);
	assert_int_equal(wait_reason_of(SYS_ioctl, fd_class_of("/dev/tty")), WAIT_OTHER);
	assert_int_equal(wait_reason_of(SYS_fsync, FD_UNKNOWN), WAIT_DISK);
	assert_int_equal(wait_reason_of(SYS_read, fd_class_of("anon_inode:[timerfd]")), WAIT_SLEEP);
	assert_int_equal(wait_reason_of(SYS_read, fd_class_of("anon_inode:[eventfd]")), WAIT_LOCK);
	assert_int_equal(wait_reason_of(SYS_ppoll, fd_class_of("anon_inode:sync_file")), WAIT_GPU);
	assert_int_equal(wait_reason_of(SYS_ppoll, FD_FILE), WAIT_POLL);
	assert_int_equal(wait_reason_of(SYS_semtimedop, FD_UNKNOWN), WAIT_LOCK);
	assert_int_equal(wait_reason_of(SYS_fcntl, FD_UNKNOWN), WAIT_LOCK);
	assert_int_equal(wait_reason_of(SYS_unlinkat, FD_UNKNOWN), WAIT_DISK);
	assert_int_equal(wait_reason_of(SYS_renameat, FD_UNKNOWN), WAIT_DISK);
	assert_int_equal(wait_reason_of(SYS_openat2, FD_UNKNOWN), WAIT_DISK);
	assert_int_equal(wait_reason_of(100000, FD_SOCKET), WAIT_OTHER);
	assert_int_equal(wait_reason_of_fault(true, false), WAIT_DISK);
	assert_int_equal(wait_reason_of_fault(true, true), WAIT_MEMORY);
	assert_int_equal(wait_reason_of_fault(false, false), WAIT_MEMORY);
	assert_true(wait_is_sleep(SYS_ppoll, 0, 0));
	assert_false(wait_is_sleep(SYS_ppoll, 0, 1));
	assert_true(wait_is_sleep(SYS_pselect6, 0, 1));
	assert_false(wait_is_sleep(SYS_futex, 0, 0));
	assert_int_equal(wait_native_of(-1), -1);
	assert_int_equal(wait_native_of(250), INT32_MAX);
#ifdef __x86_64__
	assert_int_equal(wait_native_of(240), SYS_futex);
	assert_int_equal(wait_native_of(162), SYS_nanosleep);
	assert_int_equal(wait_native_of(102), SYS_recvfrom);
	assert_int_equal(wait_native_of(117), SYS_semtimedop);
	assert_int_equal(wait_native_of(195), SYS_stat);
	assert_int_equal(wait_native_of(221), SYS_fcntl);
#endif
	assert_true(wait_wants_fd(SYS_read));
	assert_false(wait_wants_fd(SYS_futex));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_read_back),
		cmocka_unit_test(chunks_go_on),
		cmocka_unit_test(everybody_is_named),
		cmocka_unit_test(the_first_form_is_read),
		cmocka_unit_test(waking_who_does_not_wait_changes_nothing),
		cmocka_unit_test(times_never_run_backwards),
		cmocka_unit_test(any_records_and_any_bytes),
		cmocka_unit_test(descriptors_tell_what_is_waited_for),
	};

	return cmocka_run_group_tests_name("sched_log", tests, NULL, NULL);
}
