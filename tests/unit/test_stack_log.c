// SPDX-License-Identifier: MIT
/* Sampled stacks, written and read back; and what strangers' bytes do. */
#include "daemon/stack_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXE  UINT64_C(1000)
#define LIBC UINT64_C(2000)

static void put(struct stack_log *log, int64_t t, int32_t tid, uint32_t flags,
		const struct stack_place *places, size_t count)
{
	const struct stack_sample s = {.t = t,
				       .tid = tid,
				       .thread = "main",
				       .period = 250000,
				       .flags = flags,
				       .places = places,
				       .count = count};

	assert_int_equal(stack_log_put(log, &s), 0);
}

/* The next record of a kind, the ones before it passed over. */
static struct stack_record next(struct stack_reader *r, enum stack_kind kind)
{
	struct stack_record record;

	do {
		assert_int_equal(stack_reader_next(r, &record), 1);
	} while (record.kind != kind);
	return record;
}

static void what_was_put_is_read_back(void **state)
{
	static const struct stack_place first[] = {{EXE, 30}, {EXE, 20}, {LIBC, 10}};
	static const struct stack_place second[] = {{EXE, 31}, {EXE, 20}, {LIBC, 10}};
	struct stack_log log;
	struct stack_chunk chunk;
	struct stack_reader reader;
	struct stack_record record;

	(void)state;
	stack_log_init(&log);
	put(&log, 100, 7, 0, first, 3);
	put(&log, 150, 7, STACK_IN_KERNEL, second, 3);
	put(&log, 140, 8, 0, NULL, 0); /* runs backwards */
	assert_int_equal(stack_log_lost(&log, 160, 5), 0);
	stack_log_take(&log, &chunk);
	assert_int_equal(chunk.t0, 100);
	assert_int_equal(chunk.t1, 150);
	assert_int_equal(chunk.samples, 3);
	assert_int_equal(stack_reader_init(&reader, chunk.data, chunk.bytes, chunk.t0), 0);
	assert_int_equal(next(&reader, STACK_PERIOD).value, 250000);
	record = next(&reader, STACK_THREAD);
	assert_int_equal(record.tid, 7);
	assert_memory_equal(record.name, "main", record.name_bytes);
	assert_int_equal(next(&reader, STACK_MODULE).value, LIBC);
	assert_int_equal(next(&reader, STACK_FRAME).frame.offset, 10);
	assert_int_equal(next(&reader, STACK_MODULE).value, EXE);
	record = next(&reader, STACK_FRAME);
	assert_int_equal(record.frame.caller, 1);
	assert_int_equal(record.frame.module, 2);
	record = next(&reader, STACK_SAMPLE);
	assert_int_equal(record.t, 100);
	assert_int_equal(record.innermost, 3);
	record = next(&reader, STACK_SAMPLE);
	assert_int_equal(record.innermost, 4); /* the two callers are there already */
	assert_int_equal(record.flags, STACK_IN_KERNEL);
	record = next(&reader, STACK_SAMPLE);
	assert_int_equal(record.t, 150);
	assert_int_equal(record.thread, 2);
	assert_int_equal(record.innermost, 0);
	assert_int_equal(next(&reader, STACK_LOST).value, 5);
	assert_int_equal(stack_reader_next(&reader, &record), 0);
	free(chunk.data);
	stack_log_deinit(&log);
}

static void a_chunk_after_another_stands_alone(void **state)
{
	static const struct stack_place places[] = {{EXE, 30}, {LIBC, 10}};
	struct stack_log log;
	struct stack_chunk chunk;
	struct stack_reader reader;

	(void)state;
	stack_log_init(&log);
	put(&log, 100, 7, 0, places, 2);
	stack_log_take(&log, &chunk);
	free(chunk.data);
	stack_log_take(&log, &chunk);
	assert_null(chunk.data);
	put(&log, 200, 7, 0, places, 2);
	stack_log_take(&log, &chunk);
	assert_int_equal(chunk.t0, 200);
	assert_int_equal(stack_reader_init(&reader, chunk.data, chunk.bytes, chunk.t0), 0);
	assert_int_equal(next(&reader, STACK_PERIOD).value, 250000);
	assert_int_equal(next(&reader, STACK_THREAD).tid, 7);
	assert_int_equal(next(&reader, STACK_SAMPLE).innermost, 2);
	free(chunk.data);
	stack_log_deinit(&log);
}

/* As many frames as there may be, then one more: what is there can be taken, and it goes on. */
static void a_full_chunk_says_so(void **state)
{
	struct stack_log log;
	struct stack_chunk chunk;
	uint64_t i;
	int r = 0;

	(void)state;
	stack_log_init(&log);
	for (i = 0; r == 0; i++) {
		const struct stack_place place = {EXE, i};
		const struct stack_sample s = {.t = 1, .tid = 7, .places = &place, .count = 1};

		r = stack_log_put(&log, &s);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(i - 1, STACK_FRAMES_MAX);
	stack_log_take(&log, &chunk);
	assert_int_equal(chunk.samples, STACK_FRAMES_MAX);
	free(chunk.data);
	put(&log, 2, 7, 0, &(struct stack_place){EXE, 5}, 1);
	stack_log_deinit(&log);
}

/* Every chunk with a byte changed is read to an end, and no number in it is one that was not given
 * before. */
static void damaged_bytes_are_no_danger(void **state)
{
	static const struct stack_place places[] = {{EXE, 30}, {EXE, 20}, {LIBC, 10}};
	struct stack_log log;
	struct stack_chunk chunk;
	struct stack_reader reader;
	struct stack_record record;
	size_t at, bad = 0;
	unsigned bit;

	(void)state;
	stack_log_init(&log);
	put(&log, 100, 7, 0, places, 3);
	put(&log, 200, 8, 1, places, 2);
	stack_log_take(&log, &chunk);
	for (at = 0; at < chunk.bytes * 8; at++) {
		uint32_t frames = 0, threads = 0;
		int r;

		bit = 1u << at % 8;
		chunk.data[at / 8] ^= bit;
		r = stack_reader_init(&reader, chunk.data, chunk.bytes, chunk.t0);
		while (r == 0 && (r = stack_reader_next(&reader, &record)) == 1) {
			frames += record.kind == STACK_FRAME;
			threads += record.kind == STACK_THREAD;
			assert_true(record.frame.caller < frames + 1);
			assert_true(record.innermost <= frames && record.thread <= threads);
			r = 0;
		}
		bad += r < 0;
		chunk.data[at / 8] ^= bit;
	}
	assert_true(bad > 0);
	for (at = 1; at < chunk.bytes; at++) { /* cut short */
		assert_int_equal(stack_reader_init(&reader, chunk.data, at, chunk.t0), 0);
		while (stack_reader_next(&reader, &record) == 1)
			;
	}
	free(chunk.data);
	stack_log_deinit(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_read_back),
		cmocka_unit_test(a_chunk_after_another_stands_alone),
		cmocka_unit_test(a_full_chunk_says_so),
		cmocka_unit_test(damaged_bytes_are_no_danger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
