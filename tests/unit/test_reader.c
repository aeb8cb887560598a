/* SPDX-License-Identifier: MIT */
/* The reader of memories that another process writes: bounds, strings, laps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shm/atomic.h"
#include "shm/reader.h"
#include "shm/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RING_WORDS FPROF_RING_WORDS_MIN
#define SLOTS	   2u
#define MARKERS	   16u
#define STRINGS	   4096u
#define RINGS_AT   8192u
#define BYTES	   (RINGS_AT + SLOTS * RING_WORDS * 8u)

struct fixture {
	uint8_t *base;
	struct fprof_memory_header *head;
	struct fprof_slot *slots;
	struct fprof_marker_entry *markers;
	char *strings;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->base = aligned_alloc(4096, BYTES);
	memset(f->base, 0, BYTES);
	f->head = (struct fprof_memory_header *)f->base;
	f->head->magic = FPROF_MEMORY_MAGIC;
	f->head->abi_major = FPROF_ABI_MAJOR;
	f->head->header_bytes = sizeof(*f->head);
	f->head->total_bytes = BYTES;
	f->head->slot_count = SLOTS;
	f->head->slot_bytes = sizeof(struct fprof_slot);
	f->head->slots_offset = sizeof(*f->head);
	f->head->marker_capacity = MARKERS;
	f->head->marker_bytes = sizeof(struct fprof_marker_entry);
	f->head->markers_offset = f->head->slots_offset + SLOTS * sizeof(struct fprof_slot);
	f->head->strings_offset = f->head->markers_offset + MARKERS * 64;
	f->head->strings_bytes = STRINGS;
	f->head->ring_words = RING_WORDS;
	f->head->rings_offset = RINGS_AT;
	f->head->clock_kind = FPROF_CLOCK_MONOTONIC;
	f->head->origin = FPROF_ORIGIN_GAME;
	f->slots = (struct fprof_slot *)(f->base + f->head->slots_offset);
	f->markers = (struct fprof_marker_entry *)(f->base + f->head->markers_offset);
	f->strings = (char *)f->base + f->head->strings_offset;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->base);
	free(f);
	return 0;
}

static void view_init(struct fixture *f, struct memory_view *view)
{
	const char *why = NULL;

	assert_int_equal(memory_view_init(f->base, BYTES, view, &why), 0);
	assert_null(why);
}

static void expect_refused(struct fixture *f, int error)
{
	struct memory_view view;
	const char *why = NULL;

	assert_int_equal(memory_view_init(f->base, BYTES, &view, &why), error);
	assert_non_null(why);
}

#define REFUSE(field, value, error)                          \
	do {                                                 \
		struct fprof_memory_header saved = *f->head; \
		f->head->field = (value);                    \
		expect_refused(f, error);                    \
		*f->head = saved;                            \
	} while (0)

static void unsound_headers_are_refused(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	const char *why;

	view_init(f, &view);
	REFUSE(magic, 0, -EPROTO);
	REFUSE(abi_major, FPROF_ABI_MAJOR + 1, -EPROTO);
	REFUSE(total_bytes, BYTES - 1, -EINVAL);
	REFUSE(header_bytes, 8, -EINVAL);
	REFUSE(slot_count, 0, -EINVAL);
	REFUSE(slot_count, UINT32_MAX, -EINVAL);
	REFUSE(slot_count, FPROF_SLOTS_MAX, -EINVAL);
	REFUSE(slot_bytes, 8, -EINVAL);
	REFUSE(slot_bytes, 324, -EINVAL);
	REFUSE(slots_offset, 0, -EINVAL);
	REFUSE(slots_offset, UINT64_MAX - 7, -EINVAL);
	REFUSE(slots_offset, sizeof(struct fprof_memory_header) + 1, -EINVAL);
	REFUSE(marker_capacity, 0, -EINVAL);
	REFUSE(marker_capacity, FPROF_MARKERS_MAX + 1, -EINVAL);
	REFUSE(marker_bytes, 0, -EINVAL);
	REFUSE(markers_offset, BYTES, -EINVAL);
	REFUSE(strings_offset, BYTES - 8, -EINVAL);
	REFUSE(strings_bytes, FPROF_STRINGS_MAX + 1, -EINVAL);
	REFUSE(ring_words, RING_WORDS - 1, -EINVAL);
	REFUSE(ring_words, RING_WORDS * 2, -EINVAL);
	REFUSE(rings_offset, RINGS_AT + 8, -EINVAL);
	REFUSE(rings_offset, UINT64_MAX & ~UINT64_C(4095), -EINVAL);
	REFUSE(clock_kind, 0, -EINVAL);
	REFUSE(origin, 9, -EINVAL);
	assert_int_equal(memory_view_init(f->base, 100, &view, &why), -EINVAL);
}

static void later_changes_of_the_header_change_nothing(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;

	view_init(f, &view);
	f->head->slot_count = UINT32_MAX;
	f->head->slots_used = UINT32_MAX;
	assert_int_equal(memory_slots_used(&view), SLOTS);
	assert_int_equal(memory_slot_head(&view, UINT32_MAX), 0);
}

static void set_marker(struct fixture *f, uint32_t id, const char *name, uint32_t offset)
{
	struct fprof_marker_entry *e = &f->markers[id - 1];

	memcpy(f->strings + offset, name, strlen(name));
	e->kind = FPROF_MARKER_WAIT_GPU;
	e->line = 12;
	e->name_offset = offset;
	e->name_bytes = (uint16_t)strlen(name);
	e->ready = 1;
}

static void markers_are_copied_and_bounded(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct marker_copy m;

	view_init(f, &view);
	set_marker(f, 1, "physics", 100);
	set_marker(f, MARKERS, "last \xff\xc3", 200);
	assert_int_equal(memory_marker(&view, 1, &m), 0);
	assert_string_equal(m.name, "physics");
	assert_string_equal(m.category, "");
	assert_int_equal(m.kind, FPROF_MARKER_WAIT_GPU);
	assert_int_equal(m.line, 12);
	assert_int_equal(memory_marker(&view, MARKERS, &m), 0);
	assert_string_equal(m.name, "last \xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(memory_marker(&view, 0, &m), -ENOENT);
	assert_int_equal(memory_marker(&view, 2, &m), -ENOENT);
	assert_int_equal(memory_marker(&view, MARKERS + 1, &m), -ENOENT);
	f->markers[0].name_offset = STRINGS - 2;
	assert_int_equal(memory_marker(&view, 1, &m), -EINVAL);
	f->markers[0].name_offset = UINT32_MAX;
	assert_int_equal(memory_marker(&view, 1, &m), -EINVAL);
	f->markers[0].name_offset = 100;
	f->markers[0].kind = 200;
	assert_int_equal(memory_marker(&view, 1, &m), -EINVAL);
}

static void an_owner_at_rest_is_read_and_a_torn_one_is_not(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct slot_owner o;

	view_init(f, &view);
	f->slots[1].tid = 77;
	f->slots[1].serial = 3;
	f->slots[1].state = FPROF_SLOT_LIVE;
	memset(f->slots[1].name, 'x', sizeof(f->slots[1].name));
	assert_int_equal(memory_slot_owner(&view, 1, &o), 0);
	assert_int_equal(o.tid, 77);
	assert_int_equal(o.serial, 3);
	assert_int_equal(strlen(o.name), FPROF_THREAD_NAME_MAX);
	f->slots[1].seq = 5;
	assert_int_equal(memory_slot_owner(&view, 1, &o), -EAGAIN);
}

static void expect_utf8(const char *in, size_t bytes, size_t size, const char *out, bool changed)
{
	char dst[64];

	memset(dst, 'Z', sizeof(dst));
	assert_int_equal(utf8_copy(dst, size, in, bytes), changed);
	assert_string_equal(dst, out);
	assert_int_equal(dst[size], 'Z');
}

static void any_bytes_become_utf8(void **state)
{
	(void)state;
	expect_utf8("h\xc3\xa9llo", 6, 20, "h\xc3\xa9llo", false);
	expect_utf8("\xf0\x9f\x8e\xae", 4, 20, "\xf0\x9f\x8e\xae", false);
	expect_utf8("\xed\xa0\x80", 3, 20, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", true);
	expect_utf8("\xc0\xaf", 2, 20, "\xef\xbf\xbd\xef\xbf\xbd", true);
	expect_utf8("\xf4\x90\x80\x80", 4, 20, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		    true);
	expect_utf8("a\0b", 3, 20,
		    "a\xef\xbf\xbd"
		    "b",
		    true);
	expect_utf8("a\xc3\xa9", 3, 3, "a", true); /* cut at a character */
	expect_utf8("a\xc3\xa9", 3, 4, "a\xc3\xa9", false);
	expect_utf8("a\xe2\x82", 3, 20, "a\xef\xbf\xbd\xef\xbf\xbd", true);
	expect_utf8("", 0, 1, "", false);
	expect_utf8("abc", 3, 1, "", true);
}

static void set_words(struct fixture *f, uint64_t from, uint64_t to)
{
	uint64_t *ring = (uint64_t *)(f->base + RINGS_AT), pos;

	for (pos = from; pos < to; pos++)
		ring[pos % RING_WORDS] = pos;
	f->slots[0].head = to;
}

static void a_ring_is_read_up_to_its_head(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct ring_reader r;
	uint64_t buf[2 * FPROF_BLOCK_WORDS], pos;
	size_t count;

	view_init(f, &view);
	ring_reader_init(&r, &view, 0, 0);
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_OK);
	assert_int_equal(count, 0);
	set_words(f, 0, 1100);
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_OK);
	assert_int_equal(pos, 0);
	assert_int_equal(count, 1024);
	assert_int_equal(buf[1023], 1023);
	r.tail = 1024;
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_OK);
	assert_int_equal(pos, 1024);
	assert_int_equal(count, 1100 - 1024);
	assert_int_equal(buf[0], 1024);
}

/* The block that the head stands in may be written already: one block less than a ring is intact.
 */
static void a_lapped_reader_goes_on_at_the_first_intact_block(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct ring_reader r;
	uint64_t buf[RING_WORDS], pos;
	size_t count;

	view_init(f, &view);
	ring_reader_init(&r, &view, 0, 0);
	set_words(f, 0, RING_WORDS - 1);
	assert_int_equal(ring_reader_copy(&r, buf, RING_WORDS, &pos, &count), RING_OK);
	assert_int_equal(count, RING_WORDS - 1);
	set_words(f, RING_WORDS - 1, RING_WORDS); /* the next word starts a block over block 0 */
	assert_int_equal(ring_reader_copy(&r, buf, RING_WORDS, &pos, &count), RING_LAPPED);
	assert_int_equal(pos, FPROF_BLOCK_WORDS);
	assert_int_equal(count, RING_WORDS - FPROF_BLOCK_WORDS);
	assert_int_equal(buf[0], FPROF_BLOCK_WORDS);
	set_words(f, RING_WORDS, 10 * RING_WORDS + 7);
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_LAPPED);
	assert_int_equal(pos, 9 * RING_WORDS + FPROF_BLOCK_WORDS);
	assert_int_equal(count, 1024);
	assert_int_equal(buf[0], pos);
}

static void a_head_that_runs_backwards_is_said(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct ring_reader r;
	uint64_t buf[1024], pos;
	size_t count;

	view_init(f, &view);
	ring_reader_init(&r, &view, 0, 100);
	f->slots[0].head = 99;
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_BACKWARDS);
	assert_int_equal(count, 0);
	f->slots[0].head = UINT64_MAX;
	assert_int_equal(ring_reader_copy(&r, buf, 1024, &pos, &count), RING_BACKWARDS);
}

#define RACE_WORDS 3000000u

/* Writes its own position into every word, as fast as it can, as a writer does. */
static void *race_writer(void *userdata)
{
	struct fixture *f = userdata;
	uint64_t *ring = (uint64_t *)(f->base + RINGS_AT), pos;

	for (pos = 0; pos < RACE_WORDS; pos++) {
		if (pos % FPROF_BLOCK_WORDS == 0) {
			FPROF_STORE_RELEASE(&f->slots[0].head, pos);
			FPROF_FENCE_RELEASE();
		}
		FPROF_STORE_RELAXED(&ring[pos % RING_WORDS], pos);
		FPROF_STORE_RELEASE(&f->slots[0].head, pos + 1);
	}
	return NULL;
}

static void no_torn_word_is_read_while_a_writer_laps(void **state)
{
	struct fixture *f = *state;
	struct memory_view view;
	struct ring_reader r;
	uint64_t buf[1024], pos, seen = 0, lost = 0;
	pthread_t thread;
	size_t count, i;

	view_init(f, &view);
	ring_reader_init(&r, &view, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, race_writer, f), 0);
	while (r.tail < RACE_WORDS) {
		enum ring_status s = ring_reader_copy(&r, buf, 1024, &pos, &count);

		assert_int_not_equal(s, RING_BACKWARDS);
		if (s == RING_LAPPED)
			assert_int_equal(pos % FPROF_BLOCK_WORDS, 0);
		for (i = 0; i < count; i++)
			assert_true(buf[i] == pos + i);
		lost += pos - r.tail;
		seen += count;
		r.tail = pos + count;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(seen + lost, RACE_WORDS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unsound_headers_are_refused),
		TEST(later_changes_of_the_header_change_nothing),
		TEST(markers_are_copied_and_bounded),
		TEST(an_owner_at_rest_is_read_and_a_torn_one_is_not),
		TEST(any_bytes_become_utf8),
		TEST(a_ring_is_read_up_to_its_head),
		TEST(a_lapped_reader_goes_on_at_the_first_intact_block),
		TEST(a_head_that_runs_backwards_is_said),
		TEST(no_torn_word_is_read_while_a_writer_laps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
