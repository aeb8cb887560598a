/* SPDX-License-Identifier: MIT */
/* Chunks: what is built is read back, and nothing that is not a chunk is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/chunk_build.h"
#include "daemon/util.h"

#include <errno.h>

#define EVENTS 5000

static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct expect {
	int64_t t;
	uint32_t code;
};

static void make_events(struct expect *e, size_t count)
{
	static const int64_t steps[] = {
		0,   1,	    63,	   64,	     8191,     8192,	255,
		256, 65535, 65536, 16777215, 16777216, 1 << 20, INT64_C(1) << 39};
	static const uint32_t markers[] = {1, 111, 112, 16367, 16368, 1u << 20};
	int64_t t = -100;
	size_t i;

	for (i = 0; i < count; i++) {
		e[i].t = t;
		e[i].code = draw() % 2 ? CHUNK_END
				       : CHUNK_BEGIN + markers[draw() % ARRAY_SIZE(markers)];
		t += steps[draw() % ARRAY_SIZE(steps)];
	}
}

static void times_and_codes_round_trip(void **state)
{
	static struct expect e[EVENTS];
	struct chunk_open open[2] = {{7, -5000}, {1u << 20, -90}};
	struct chunk_builder b;
	struct chunk_reader r;
	struct chunk_event got;
	uint8_t *raw;
	uint32_t bytes;
	size_t i;

	(void)state;
	seed = 1;
	make_events(e, EVENTS);
	chunk_build_init(&b);
	chunk_build_start(&b, e[0].t, open, 2);
	assert_int_equal(chunk_build_room(&b, EVENTS, 0), 0);
	for (i = 0; i < EVENTS; i++)
		chunk_build_event(&b, e[i].t, e[i].code);
	assert_int_equal(chunk_build_finish(&b, &raw, &bytes), 0);
	assert_int_equal(b.events, 0);

	assert_int_equal(chunk_reader_init(&r, raw, bytes, e[0].t), 0);
	assert_int_equal(r.depth_in, 2);
	assert_int_equal(r.carried[0].marker, 7);
	assert_int_equal(r.carried[0].begin, -5000);
	assert_int_equal(r.carried[1].marker, 1u << 20);
	assert_int_equal(r.carried[1].begin, -90); /* after t0: kept as it was */
	for (i = 0; i < EVENTS; i++) {
		assert_int_equal(chunk_reader_next(&r, &got), 1);
		assert_int_equal(got.t, e[i].t);
		if (e[i].code == CHUNK_END) {
			assert_int_equal(got.code, CHUNK_END);
		} else {
			assert_int_equal(got.code, CHUNK_BEGIN);
			assert_int_equal(got.marker, e[i].code - CHUNK_BEGIN);
		}
	}
	assert_int_equal(chunk_reader_next(&r, &got), 0);
	free(raw);
	chunk_build_deinit(&b);
}

/* One event of every code, with arguments at the ends of their ranges. */
static void build_all_codes(struct chunk_builder *b)
{
	static const uint64_t words[2] = {0x0123456789abcdefu, 5};
	double d = -0.25;

	assert_int_equal(chunk_build_room(b, 32, 1024), 0);
	chunk_build_event(b, 1, CHUNK_THREAD_BEGIN);
	chunk_build_event(b, 2, CHUNK_BEGIN + 3);
	chunk_build_event(b, 3, CHUNK_NEXT);
	chunk_build_varint(b, 4);
	chunk_build_event(b, 4, CHUNK_COUNTER);
	chunk_build_varint(b, 9);
	chunk_build_varint(b, 1 | 0 << 1);
	chunk_build_varint(b, chunk_zigzag(INT64_MIN));
	chunk_build_event(b, 5, CHUNK_COUNTER);
	chunk_build_varint(b, 9);
	chunk_build_varint(b, 0 | 1 << 1);
	chunk_build_raw(b, &d, 8);
	chunk_build_event(b, 6, CHUNK_MESSAGE);
	chunk_build_varint(b, 2);
	chunk_build_varint(b, 0xff0000);
	chunk_build_varint(b, 5);
	chunk_build_raw(b, "hello", 5);
	chunk_build_event(b, 7, CHUNK_TEXT);
	chunk_build_varint(b, 0);
	chunk_build_event(b, 8, CHUNK_MARK);
	chunk_build_varint(b, 0);
	chunk_build_varint(b, 2);
	chunk_build_varint(b, 77);
	chunk_build_varint(b, 0);
	chunk_build_event(b, 9, CHUNK_TRUNCATE);
	chunk_build_varint(b, 1);
	chunk_build_event(b, 10, CHUNK_FIBER_ENTER);
	chunk_build_varint(b, 12);
	chunk_build_event(b, 11, CHUNK_OTHER);
	chunk_build_varint(b, 200);
	chunk_build_varint(b, 2);
	chunk_build_raw(b, words, 16);
	chunk_build_event(b, 12, CHUNK_STRAY_END);
	chunk_build_varint(b, 1u << 20);
}

static void check_all_codes(struct chunk_reader *r)
{
	struct chunk_event e;

	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.code, CHUNK_THREAD_BEGIN);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.marker, 3);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.code, CHUNK_NEXT);
	assert_int_equal(e.marker, 4);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.op, 1);
	assert_int_equal(e.type, 0);
	assert_true(e.value.i == INT64_MIN);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.op, 0);
	assert_int_equal(e.type, 1);
	assert_true(e.value.d == -0.25);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.colour, 0xff0000);
	assert_int_equal(e.byte_count, 5);
	assert_memory_equal(e.bytes, "hello", 5);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.code, CHUNK_TEXT);
	assert_int_equal(e.byte_count, 0);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.origin, 2);
	assert_int_equal(e.sequence, 77);
	assert_int_equal(e.value.i, -1);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.value.u, 1);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.track, 12);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.type, 200);
	assert_int_equal(e.byte_count, 16);
	assert_int_equal(chunk_reader_next(r, &e), 1);
	assert_int_equal(e.code, CHUNK_STRAY_END);
	assert_int_equal(e.marker, 1u << 20);
	assert_int_equal(e.t, 12);
	assert_int_equal(chunk_reader_next(r, &e), 0);
}

static void every_code_round_trips_packed(void **state)
{
	struct chunk_builder b;
	struct chunk_reader r;
	uint8_t packed[2048], *raw, *again;
	uint32_t bytes;
	size_t again_bytes;
	long n;

	(void)state;
	chunk_build_init(&b);
	chunk_build_start(&b, 1, NULL, 0);
	build_all_codes(&b);
	assert_int_equal(chunk_build_finish(&b, &raw, &bytes), 0);
	n = chunk_pack(packed, sizeof(packed), raw, bytes);
	assert_true(n > 0);
	assert_int_equal(chunk_unpack(packed, (size_t)n, &again, &again_bytes), 0);
	assert_int_equal(again_bytes, bytes);
	assert_memory_equal(again, raw, bytes);
	assert_int_equal(chunk_reader_init(&r, again, again_bytes, 1), 0);
	check_all_codes(&r);
	free(raw);
	free(again);
	chunk_build_deinit(&b);
}

/* A chunk that compresses, for damage to be done to. */
static long make_packed(uint8_t *packed, size_t capacity)
{
	struct chunk_builder b;
	uint8_t *raw;
	uint32_t bytes, i;
	long n;

	chunk_build_init(&b);
	chunk_build_start(&b, 0, NULL, 0);
	assert_int_equal(chunk_build_room(&b, 400, 0), 0);
	for (i = 0; i < 400; i++)
		chunk_build_event(&b, i * 50, i % 2 ? CHUNK_END : CHUNK_BEGIN + 5);
	assert_int_equal(chunk_build_finish(&b, &raw, &bytes), 0);
	n = chunk_pack(packed, capacity, raw, bytes);
	assert_true(n > 0 && (uint32_t)n < bytes);
	free(raw);
	chunk_build_deinit(&b);
	return n;
}

static void every_flipped_bit_is_found(void **state)
{
	uint8_t packed[2048], *raw;
	size_t bytes;
	long n = make_packed(packed, sizeof(packed)), i;
	int bit;

	(void)state;
	for (i = 0; i < n; i++)
		for (bit = 0; bit < 8; bit++) {
			packed[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(chunk_unpack(packed, (size_t)n, &raw, &bytes), -EBADMSG);
			packed[i] ^= (uint8_t)(1 << bit);
		}
	for (i = 0; i < n; i++)
		assert_int_equal(chunk_unpack(packed, (size_t)i, &raw, &bytes), -EBADMSG);
}

/* Raw forms with random damage: any answer but a crash or an endless read. */
static void damaged_raw_forms_end(void **state)
{
	struct chunk_builder b;
	struct chunk_reader r;
	struct chunk_event e;
	uint8_t *raw, *copy;
	uint32_t bytes, round, events;
	int got = 0;

	(void)state;
	seed = 99;
	chunk_build_init(&b);
	chunk_build_start(&b, 1, NULL, 0);
	build_all_codes(&b);
	assert_int_equal(chunk_build_finish(&b, &raw, &bytes), 0);
	for (round = 0; round < 20000; round++) {
		size_t length = 1 + draw() % bytes;

		copy = malloc(length); /* exact, so that a sanitizer sees a read beyond it */
		assert_non_null(copy);
		memcpy(copy, raw, length);
		copy[draw() % length] = (uint8_t)draw();
		copy[draw() % length] = (uint8_t)draw();
		if (chunk_reader_init(&r, copy, length, 1) == 0) {
			events = 0;
			while ((got = chunk_reader_next(&r, &e)) == 1)
				assert_true(++events <= length);
			assert_true(got == 0 || got == -EBADMSG);
		}
		free(copy);
	}
	free(raw);
	chunk_build_deinit(&b);
}

static void stacks_round_trip(void **state)
{
	struct chunk_open in[CHUNK_DEPTH_MAX], out[CHUNK_DEPTH_MAX];
	static uint8_t bytes[CHUNK_STACK_BYTES(CHUNK_DEPTH_MAX)];
	uint32_t i, depth;
	size_t n;

	(void)state;
	for (i = 0; i < CHUNK_DEPTH_MAX; i++) {
		in[i].marker = (1u << 20) - i;
		in[i].begin = (INT64_C(1) << 62) - (int64_t)i * 1000;
	}
	n = chunk_stack_put(bytes, in, CHUNK_DEPTH_MAX, -1);
	assert_true(n <= sizeof(bytes));
	assert_int_equal(chunk_stack_get(bytes, n, -1, out, &depth), (long)n);
	assert_int_equal(depth, CHUNK_DEPTH_MAX);
	for (i = 0; i < CHUNK_DEPTH_MAX; i++) {
		assert_int_equal(out[i].marker, in[i].marker);
		assert_true(out[i].begin == in[i].begin);
	}
	assert_int_equal(chunk_stack_get(bytes, n - 1, -1, out, &depth), -EBADMSG);
	chunk_put_varint(bytes, CHUNK_DEPTH_MAX + 1);
	assert_int_equal(chunk_stack_get(bytes, n, -1, out, &depth), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_and_codes_round_trip),
		cmocka_unit_test(every_code_round_trips_packed),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(damaged_raw_forms_end),
		cmocka_unit_test(stacks_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
