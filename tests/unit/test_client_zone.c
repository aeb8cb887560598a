// SPDX-License-Identifier: MIT
/* What zones, counters and messages leave in the ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client/origin.h"
#include "client_child.h"
#include "client_ring.h"

#include <pthread.h>

static char text[65536];

static const char *ring(void)
{
	struct memory_view view = own_view();

	ring_text(&view, own_slot(), text, sizeof(text));
	return text;
}

static uint64_t refused(enum fprof_refused kind)
{
	struct memory_view view = own_view();

	return memory_refused(&view, kind);
}

static struct ring_events own_events(void)
{
	struct memory_view view = own_view();

	return ring_events_read(&view, own_slot());
}

/* The last event of a subkind: its index; fails where there is none. */
static size_t last_of(const struct ring_events *e, uint32_t ext)
{
	size_t i;

	for (i = e->count; i-- > 0;)
		if (event_ext(e, i) == ext)
			return i;
	fprintf(stderr, "no event of subkind %u\n", ext);
	_exit(1);
}

static void nest_of_three_levels(void)
{
	{
		FPROF_ZONE("a");
		{
			FPROF_ZONE("b");
			{
				FPROF_ZONE("c");
			}
		}
	}
	CHECK_TEXT(ring(), "a(b(c(c)b)a)");
}
CHILD_TEST(nest_of_three_levels)

static void siblings(void)
{
	int i;

	FPROF_ZONE("parent");
	for (i = 0; i < 3; i++) {
		FPROF_ZONE("child");
	}
	CHECK_TEXT(ring(), "parent(child(child)child(child)child(child)");
}
CHILD_TEST(siblings)

static void two_zones_per_scope(void)
{
	{
		FPROF_ZONE("first");
		FPROF_ZONE("second");
	}
	CHECK_TEXT(ring(), "first(second(second)first)");
}
CHILD_TEST(two_zones_per_scope)

static void next_ends_one_and_begins_another(void)
{
	{
		FPROF_ZONE_V(z, "input");
		FPROF_NEXT(z, "physics");
		FPROF_NEXT(z, "render");
	}
	CHECK_TEXT(ring(), "input(physics|render|render)");
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
}
CHILD_TEST(next_ends_one_and_begins_another)

static void next_with_a_zone_left_open_inside(void)
{
	FPROF_ZONE_MARKER(inside, "inside", NULL, 0, FPROF_LEVEL_PHASE);

	{
		FPROF_ZONE_V(z, "outer");
		(void)fprof_zone_begin(&inside);
		FPROF_NEXT(z, "after");
	}
	CHECK_TEXT(ring(), "outer(inside(outer)after(after)");
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
}
CHILD_TEST(next_with_a_zone_left_open_inside)

static void ends_out_of_order_and_twice(void)
{
	FPROF_ZONE_MARKER(a, "a", NULL, 0, FPROF_LEVEL_PHASE);
	FPROF_ZONE_MARKER(b, "b", NULL, 0, FPROF_LEVEL_PHASE);
	fprof_scope sa = fprof_zone_begin(&a);
	fprof_scope sb = fprof_zone_begin(&b);

	fprof_zone_end(sa);
	fprof_zone_end(sb);
	fprof_zone_end(sa);
	CHECK_TEXT(ring(), "a(b(a)b)a)");
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
}
CHILD_TEST(ends_out_of_order_and_twice)

static void longjmp_over_zones(void)
{
	static jmp_buf back;

	{
		FPROF_ZONE("outer");
		if (setjmp(back) == 0) {
			FPROF_ZONE("left open");
			longjmp(back, 1);
		}
	}
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	{
		FPROF_ZONE("later");
	}
	CHECK_TEXT(ring(), "outer(left open(outer)later(later)");
}
CHILD_TEST(longjmp_over_zones)

static void extreme_depth(void)
{
	enum { DEPTH = 50000 };
	static fprof_scope scopes[DEPTH];
	FPROF_ZONE_MARKER(deep, "deep", NULL, 0, FPROF_LEVEL_PHASE);
	struct ring_events e;
	size_t i, begins = 0;

	for (i = 0; i < DEPTH; i++)
		scopes[i] = fprof_zone_begin(&deep);
	CHECK_EQUAL(fprof_tls.writer->depth, DEPTH);
	while (i-- > 0)
		fprof_zone_end(scopes[i]);
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	e = own_events();
	for (i = 0; i < e.count; i++)
		begins += event_kind(&e, i) == FPROF_WORD_BEGIN;
	CHECK_EQUAL(begins, DEPTH);
	ring_events_free(&e);
}
CHILD_TEST(extreme_depth)

/* Headers and head account for every event, across laps. */
static void headers_count_events(void)
{
	enum { ZONES = 200000 };
	struct memory_view view;
	const uint64_t *words;
	uint64_t head, block;
	int i;

	for (i = 0; i < ZONES; i++) {
		FPROF_ZONE("z");
		if (i % 100 == 0)
			FPROF_COUNTER_ADD_I64("k", FPROF_UNIT_COUNT, 1);
	}
	view = own_view();
	head = memory_slot_head(&view, own_slot());
	block = (head - 1) / FPROF_BLOCK_WORDS;
	words = (const uint64_t *)(view.base + view.head.rings_offset) +
		(uint64_t)own_slot() * view.head.ring_words +
		(block * FPROF_BLOCK_WORDS & (view.head.ring_words - 1));
	CHECK_EQUAL(fprof_word_ext_kind(words[0]), FPROF_EXT_HEADER);
	CHECK_EQUAL(words[1], block);
	CHECK(head > view.head.ring_words);
	/* THREAD, zones, counters: the last block's own are what is left */
	{
		uint64_t total = 1 + 2 * ZONES + ZONES / 100;
		uint64_t here = 0, pos = FPROF_HEADER_WORDS;

		while (block * FPROF_BLOCK_WORDS + pos < head) {
			pos += fprof_word_kind(words[pos]) == FPROF_WORD_EXT
				       ? fprof_word_ext_words(words[pos])
				       : 1;
			here++;
		}
		CHECK_EQUAL(words[3] + here, total);
	}
}
CHILD_TEST(headers_count_events)

static void levels_above_the_gate_are_left_out(void)
{
	struct session *s;

	FPROF_ZONE_L("landmark", FPROF_LEVEL_LANDMARK);
	s = session_peek();
	s->link.gate = FPROF_LEVEL_INNER;
	session_gates(s);
	{
		FPROF_ZONE_L("phase", FPROF_LEVEL_PHASE);
		FPROF_ZONE_L("inner", FPROF_LEVEL_INNER);
	}
	CHECK_TEXT(ring(), "landmark(phase(phase)");
}
CHILD_TEST(levels_above_the_gate_are_left_out)

static void switched_off_in_a_scope_still_ends_it(void)
{
	fprof_frame_mark();
	{
		FPROF_ZONE("open");
		fprof_recording(false);
		FPROF_ZONE("not begun");
	}
	CHECK_TEXT(ring(), "#open(open)");
}
CHILD_TEST(switched_off_in_a_scope_still_ends_it)

static void switched_on_in_a_scope_has_no_stray_end(void)
{
	fprof_frame_mark();
	fprof_recording(false);
	{
		FPROF_ZONE("not begun");
		FPROF_ZONE_V(z, "not begun either");
		fprof_recording(true);
		FPROF_ZONE("begun");
		FPROF_ZONE_TEXT(z, "to nobody");
	}
	CHECK_TEXT(ring(), "#begun(begun)");
}
CHILD_TEST(switched_on_in_a_scope_has_no_stray_end)

static void next_across_switches(void)
{
	fprof_frame_mark();
	{
		FPROF_ZONE_V(z, "a");
		fprof_recording(false);
		FPROF_NEXT(z, "b");
		FPROF_NEXT(z, "c");
		fprof_recording(true);
		FPROF_NEXT(z, "d");
	}
	CHECK_TEXT(ring(), "#a(a)d(d)");
}
CHILD_TEST(next_across_switches)

/* Without marks nobody polls but the writers themselves, once a block. */
static void switched_off_without_marks(void)
{
	struct memory_view view;
	uint64_t head;
	int i;

	{
		FPROF_ZONE("before");
	}
	fprof_recording(false);
	for (i = 0; i < 100000; i++) {
		FPROF_ZONE("z");
	}
	view = own_view();
	head = memory_slot_head(&view, own_slot());
	CHECK(head <= 2 * FPROF_BLOCK_WORDS);
	fprof_recording(true);
	{
		FPROF_ZONE("after");
	}
	view = own_view();
	CHECK_EQUAL(memory_slot_head(&view, own_slot()), head + 2);
}
CHILD_TEST(switched_off_without_marks)

static void texts_and_values_go_to_the_innermost(void)
{
	struct ring_events e;
	size_t i;

	FPROF_ZONE_V(outer, "outer");
	FPROF_ZONE_TEXT(outer, "nine byte");
	{
		FPROF_ZONE_V(inner, "inner");
		FPROF_ZONE_TEXT(outer, "not the innermost");
		FPROF_ZONE_VALUE_F64(inner, 2.5);
		FPROF_ZONE_TEXT(inner, NULL);
	}
	CHECK_TEXT(ring(), "outer(#inner(#inner)");
	CHECK_EQUAL(refused(FPROF_REFUSED_ARGUMENTS), 2);
	e = own_events();
	i = last_of(&e, FPROF_EXT_TEXT);
	CHECK_EQUAL(event_word(&e, i, 1), 9);
	CHECK_EQUAL(fprof_word_ext_words(event_word(&e, i, 0)), 4);
	CHECK(!memcmp(&e.words[e.lead[i] + 2], "nine byte\0\0\0\0\0\0\0", 16));
	i = last_of(&e, FPROF_EXT_VALUE);
	CHECK_EQUAL(event_word(&e, i, 1), FPROF_VALUE_F64);
	CHECK(event_word(&e, i, 2) == fprof_f64_bits(2.5));
}
CHILD_TEST(texts_and_values_go_to_the_innermost)

static void dynamic_names_are_copied_and_interned(void)
{
	char name[32];
	int i;

	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "level %d", i % 2);
		FPROF_ZONE_DYNAMIC(name);
		memset(name, 'x', sizeof(name) - 1);
	}
	CHECK_TEXT(ring(), "level 0(level 0)level 1(level 1)level 0(level 0)level 1(level 1)");
	CHECK_EQUAL(session_peek()->head->markers_used, 2);
}
CHILD_TEST(dynamic_names_are_copied_and_interned)

static void names_that_are_none_or_too_long(void)
{
	static char longest[FPROF_NAME_MAX + 100];
	struct marker_copy copy;
	struct memory_view view;

	memset(longest, 'n', sizeof(longest) - 1);
	{
		FPROF_ZONE(NULL);
		FPROF_ZONE_DYNAMIC(NULL);
		FPROF_ZONE_DYNAMIC(longest);
	}
	fprof_message(NULL);
	fprof_message_ex(NULL, 0, longest);
	fprof_message_ex(NULL, 0, "");
	fprof_frame_mark_named(NULL);
	fprof_frame_mark_named("");
	fprof_thread_name(NULL);
	fprof_session_info(NULL, "v");
	fprof_session_info("k", NULL);
	fprof_fiber_enter(NULL);
	fprof_fiber_leave();
	fprof_gpu_span(NULL);
	CHECK_EQUAL(fprof_gpu_queue(NULL, 1, 64), 0);
	CHECK_EQUAL(fprof_gpu_queue("q", 0, 64), 0);
	CHECK_EQUAL(fprof_gpu_queue("q", __builtin_nan(""), 64), 0);
	CHECK_EQUAL(fprof_gpu_queue("q", 1, 65), 0);
	fprof_gpu_submit(1, 0, 0, 0);
	view = own_view();
	CHECK_EQUAL(memory_marker(&view, 1, &copy), 0);
	CHECK_EQUAL(strlen(copy.name), FPROF_NAME_MAX);
	CHECK_EQUAL(refused(FPROF_REFUSED_TRUNCATED), 2);
	CHECK_EQUAL(refused(FPROF_REFUSED_ARGUMENTS), 15);
}
CHILD_TEST(names_that_are_none_or_too_long)

static void text_is_cut_between_characters(void)
{
	char long_text[FPROF_TEXT_MAX + 8];
	struct ring_events e;
	size_t i;

	/* the character that crosses the limit is left out whole */
	memset(long_text, 'a', sizeof(long_text));
	memcpy(long_text + FPROF_TEXT_MAX - 2, "\xe2\x82\xac", 4);
	memcpy(long_text + FPROF_TEXT_MAX + 1, "tail", 5);
	fprof_message(long_text);
	e = own_events();
	i = last_of(&e, FPROF_EXT_MESSAGE);
	CHECK_EQUAL(event_word(&e, i, 1) >> 32, FPROF_TEXT_MAX - 2);
	CHECK_EQUAL(refused(FPROF_REFUSED_TRUNCATED), 1);
}
CHILD_TEST(text_is_cut_between_characters)

static void counters_of_all_kinds(void)
{
	struct memory_view view;
	struct marker_copy copy;
	struct ring_events e;
	size_t i;

	FPROF_COUNTER_SET_I64("draw_calls", FPROF_UNIT_COUNT, -5);
	FPROF_COUNTER_ADD_F64("upload", FPROF_UNIT_MS, 1.5);
	e = own_events();
	view = own_view();
	i = last_of(&e, FPROF_EXT_COUNTER);
	CHECK_EQUAL(memory_marker(&view, (uint32_t)event_word(&e, i, 1), &copy), 0);
	CHECK_TEXT(copy.name, "upload");
	CHECK_EQUAL(copy.unit, FPROF_UNIT_MS);
	CHECK_EQUAL(event_word(&e, i, 1) >> 32, FPROF_COUNTER_ADD | FPROF_VALUE_F64 << 8);
	CHECK(event_word(&e, i, 2) == fprof_f64_bits(1.5));
	CHECK_EQUAL((int64_t)event_word(&e, i - 1, 2), -5);
	CHECK_EQUAL(event_word(&e, i - 1, 1) >> 32, FPROF_COUNTER_SET | FPROF_VALUE_I64 << 8);
}
CHILD_TEST(counters_of_all_kinds)

static void marks_are_counted_and_numbered(void)
{
	struct ring_events e;
	size_t i;

	CHECK_EQUAL(fprof_frame_number(), 1);
	fprof_frame_mark();
	fprof_frame_mark_id(77);
	CHECK_EQUAL(fprof_frame_number(), 3);
	e = own_events();
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 1), (uint64_t)FPROF_ORIGIN_GAME << 32);
	CHECK_EQUAL(event_word(&e, i, 2), 2);
	CHECK_EQUAL(event_word(&e, i, 3), 77);
	ring_events_free(&e);
	FPROF_FRAME_MARK_NAMED("audio");
	fprof_frame_mark_named("worker");
	fprof_frame_mark_named("worker");
	e = own_events();
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 2), 2);
	CHECK_EQUAL((int64_t)event_word(&e, i, 3), -1);
	CHECK_EQUAL(fprof_frame_number(), 3);
}
CHILD_TEST(marks_are_counted_and_numbered)

static void *marker_thread(void *unused)
{
	fprof_frame_mark();
	return unused;
}

static void marks_of_another_thread_are_not_obeyed(void)
{
	pthread_t thread;

	fprof_frame_mark();
	CHECK_EQUAL(pthread_create(&thread, NULL, marker_thread, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQUAL(fprof_frame_number(), 2);
}
CHILD_TEST(marks_of_another_thread_are_not_obeyed)

static void *worker_mark_thread(void *unused)
{
	fprof_frame_mark_named("worker");
	return unused;
}

/* The words of a named mark that this test is about: flags and count. */
static uint64_t mark_flags(const struct ring_events *e, size_t i)
{
	return fprof_word_ext_words(event_word(e, i, 0)) > 4 ? event_word(e, i, 4) : 0;
}

static void a_named_stream_is_counted_by_its_owner(void)
{
	struct memory_view view;
	struct ring_events e;
	pthread_t thread;
	size_t i;

	fprof_frame_mark_named("worker");
	CHECK_EQUAL(pthread_create(&thread, NULL, worker_mark_thread, NULL), 0);
	pthread_join(thread, NULL);
	fprof_frame_mark_named("worker");
	e = own_events();
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 2), 2);
	CHECK_EQUAL(mark_flags(&e, i), 0);
	ring_events_free(&e);
	view = own_view();
	e = ring_events_read(&view, 1);
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 2), 1);
	CHECK_EQUAL(mark_flags(&e, i), FPROF_MARK_FOREIGN);
}
CHILD_TEST(a_named_stream_is_counted_by_its_owner)

static void a_named_stream_outlives_its_thread(void)
{
	struct ring_events e;
	pthread_t thread;
	size_t i;

	CHECK_EQUAL(pthread_create(&thread, NULL, worker_mark_thread, NULL), 0);
	pthread_join(thread, NULL);
	fprof_frame_mark_named("worker");
	e = own_events();
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 2), 2);
	CHECK_EQUAL(mark_flags(&e, i), 0);
}
CHILD_TEST(a_named_stream_outlives_its_thread)

static void a_fiber_owns_its_stream_on_every_thread(void)
{
	static struct fprof_fiber job = {.id = 7, .name = "job"},
				  other = {.id = 8, .name = "other"};
	struct ring_events e;
	size_t i;

	fprof_fiber_enter(&job);
	fprof_frame_mark_named("jobs");
	fprof_fiber_enter(&other);
	fprof_frame_mark_named("jobs");
	fprof_fiber_leave();
	e = own_events();
	i = last_of(&e, FPROF_EXT_MARK);
	CHECK_EQUAL(event_word(&e, i, 2), 1);
	CHECK_EQUAL(mark_flags(&e, i), FPROF_MARK_FOREIGN);
}
CHILD_TEST(a_fiber_owns_its_stream_on_every_thread)

static void loading_is_said_each_time(void)
{
	struct ring_events e;

	fprof_loading(true);
	e = own_events();
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_LOADING), 1), 1);
	ring_events_free(&e);
	fprof_loading(false);
	e = own_events();
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_LOADING), 1), 0);
	ring_events_free(&e);
	fprof_recording(false);
	fprof_loading(true);
	fprof_recording(true);
	FPROF_INSTANT("after"); /* the first event after it says what was not said */
	e = own_events();
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_LOADING), 1), 1);
	ring_events_free(&e);
}
CHILD_TEST(loading_is_said_each_time)

static void a_mark_says_that_its_frame_was_not_recorded_throughout(void)
{
	struct ring_events e;

	fprof_frame_mark();
	e = own_events();
	CHECK_EQUAL(mark_flags(&e, last_of(&e, FPROF_EXT_MARK)), 0);
	ring_events_free(&e);
	fprof_recording(false);
	fprof_recording(true);
	fprof_frame_mark();
	e = own_events();
	CHECK_EQUAL(mark_flags(&e, last_of(&e, FPROF_EXT_MARK)), FPROF_MARK_PAUSED);
	ring_events_free(&e);
	fprof_frame_mark();
	e = own_events();
	CHECK_EQUAL(mark_flags(&e, last_of(&e, FPROF_EXT_MARK)), 0);
	ring_events_free(&e);
	fprof_recording(false);
	fprof_frame_mark();
	fprof_recording(true);
	fprof_frame_mark();
	e = own_events();
	CHECK_EQUAL(mark_flags(&e, last_of(&e, FPROF_EXT_MARK)), FPROF_MARK_PAUSED);
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_MARK), 2), 5);
}
CHILD_TEST(a_mark_says_that_its_frame_was_not_recorded_throughout)

static void the_main_stream_outlives_its_thread(void)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, marker_thread, NULL), 0);
	pthread_join(thread, NULL);
	fprof_frame_mark();
	CHECK_EQUAL(fprof_frame_number(), 3);
}
CHILD_TEST(the_main_stream_outlives_its_thread)

static void gpu_events(void)
{
	FPROF_GPU_MARKER(shadow, "shadow");
	struct fprof_gpu_result span = {.marker = &shadow,
					.view = 2,
					.begin = 10,
					.end = 20,
					.frame = 3,
					.submission = 4,
					.fence = 5};
	uint32_t queue = fprof_gpu_queue("graphics", 1.0, 36);
	struct ring_events e;
	size_t i;

	CHECK_EQUAL(queue, 1);
	CHECK_EQUAL(fprof_gpu_queue("graphics", 2.0, 64), 1);
	CHECK_EQUAL(fprof_gpu_queue("compute", 2.0, 64), 2);
	span.queue = queue;
	fprof_gpu_calibrate(queue, 100, fprof_ticks());
	fprof_gpu_submit(queue, 2, 4, 3);
	fprof_gpu_span(&span);
	fprof_gpu_dropped(queue, 3, 9);
	e = own_events();
	i = last_of(&e, FPROF_EXT_GPU_SPAN);
	CHECK_EQUAL((uint32_t)event_word(&e, i, 1), queue);
	CHECK_EQUAL(event_word(&e, i, 2), 10);
	CHECK_EQUAL(event_word(&e, i, 3), 20);
	CHECK_EQUAL(event_word(&e, i, 4), 3);
	CHECK_EQUAL(event_word(&e, i, 5), 4);
	CHECK_EQUAL(event_word(&e, i, 6), 2);
	CHECK_EQUAL(event_word(&e, i, 7), 5);
	i = last_of(&e, FPROF_EXT_GPU_DROPPED);
	CHECK_EQUAL(event_word(&e, i, 3), 9);
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_GPU_SUBMIT), 1), 1 | UINT64_C(2) << 32);
}
CHILD_TEST(gpu_events)

static void wait_zones_say_what_for(void)
{
	static const uint8_t kinds[] = {FPROF_MARKER_WAIT_GPU, FPROF_MARKER_WAIT_PRESENT,
					FPROF_MARKER_WAIT_CAP};
	struct memory_view view;
	struct marker_copy copy;
	uint32_t i;

	{
		FPROF_WAIT_GPU("fence");
		FPROF_WAIT_PRESENT("present");
		FPROF_WAIT_CAP("cap");
	}
	CHECK_TEXT(ring(), "fence(present(cap(cap)present)fence)");
	view = own_view();
	for (i = 0; i < 3; i++) {
		CHECK_EQUAL(memory_marker(&view, i + 1, &copy), 0);
		CHECK_EQUAL(copy.kind, kinds[i]);
		CHECK_EQUAL(copy.level, FPROF_LEVEL_LANDMARK);
	}
}
CHILD_TEST(wait_zones_say_what_for)

/* The hook's marks and the game's count apart; the game's number the frames once there are any. */
static void marks_of_the_hook_count_apart(void)
{
	struct ring_events e;

	client_mark(FPROF_ORIGIN_HOOK);
	client_mark(FPROF_ORIGIN_HOOK);
	CHECK_EQUAL(fprof_frame_number(), 3);
	fprof_frame_mark();
	CHECK_EQUAL(fprof_frame_number(), 2);
	client_mark(FPROF_ORIGIN_HOOK);
	e = own_events();
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_MARK), 1),
		    (uint64_t)FPROF_ORIGIN_HOOK << 32);
	CHECK_EQUAL(event_word(&e, last_of(&e, FPROF_EXT_MARK), 2), 3);
}
CHILD_TEST(marks_of_the_hook_count_apart)

static void fiber_segments_are_numbered(void)
{
	static struct fprof_fiber one = FPROF_FIBER_INIT(11, "one"),
				  two = FPROF_FIBER_INIT(12, NULL);
	FPROF_ZONE_MARKER(m, "m", NULL, 0, FPROF_LEVEL_PHASE);
	struct ring_events e;
	fprof_scope open;
	size_t i;

	FPROF_ZONE("thread");
	fprof_fiber_enter(&one);
	open = fprof_zone_begin(&m);
	fprof_fiber_enter(&two);
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	fprof_fiber_leave();
	CHECK_EQUAL(fprof_tls.writer->depth, 1);
	fprof_fiber_leave();
	fprof_fiber_enter(&one);
	CHECK_EQUAL(fprof_tls.writer->depth, 1);
	fprof_zone_end(open);
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	fprof_fiber_leave();
	CHECK_TEXT(ring(), "thread(#m(###m)#");
	e = own_events();
	i = last_of(&e, FPROF_EXT_FIBER);
	CHECK_EQUAL(event_word(&e, i, 1), 0);
	CHECK_EQUAL(event_word(&e, i - 2, 1), 11);
	CHECK_EQUAL(event_word(&e, i - 2, 2), 1);
}
CHILD_TEST(fiber_segments_are_numbered)

static void same_events_without_a_counter_clock(void)
{
	setenv("FPROF_CLOCK", "monotonic", 1);
	{
		FPROF_ZONE("a");
		FPROF_ZONE_V(z, "b");
		FPROF_NEXT(z, "c");
		FPROF_INSTANT("i");
	}
	CHECK_EQUAL(session_peek()->head->clock_kind, FPROF_CLOCK_MONOTONIC);
	CHECK_TEXT(ring(), "a(b(c|i!c)a)");
}
CHILD_TEST(same_events_without_a_counter_clock)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(nest_of_three_levels),
		CHILD_UNIT(siblings),
		CHILD_UNIT(two_zones_per_scope),
		CHILD_UNIT(next_ends_one_and_begins_another),
		CHILD_UNIT(next_with_a_zone_left_open_inside),
		CHILD_UNIT(ends_out_of_order_and_twice),
		CHILD_UNIT(longjmp_over_zones),
		CHILD_UNIT(extreme_depth),
		CHILD_UNIT(headers_count_events),
		CHILD_UNIT(levels_above_the_gate_are_left_out),
		CHILD_UNIT(switched_off_in_a_scope_still_ends_it),
		CHILD_UNIT(switched_on_in_a_scope_has_no_stray_end),
		CHILD_UNIT(next_across_switches),
		CHILD_UNIT(switched_off_without_marks),
		CHILD_UNIT(texts_and_values_go_to_the_innermost),
		CHILD_UNIT(dynamic_names_are_copied_and_interned),
		CHILD_UNIT(names_that_are_none_or_too_long),
		CHILD_UNIT(text_is_cut_between_characters),
		CHILD_UNIT(counters_of_all_kinds),
		CHILD_UNIT(marks_are_counted_and_numbered),
		CHILD_UNIT(marks_of_another_thread_are_not_obeyed),
		CHILD_UNIT(a_named_stream_is_counted_by_its_owner),
		CHILD_UNIT(a_named_stream_outlives_its_thread),
		CHILD_UNIT(a_fiber_owns_its_stream_on_every_thread),
		CHILD_UNIT(loading_is_said_each_time),
		CHILD_UNIT(a_mark_says_that_its_frame_was_not_recorded_throughout),
		CHILD_UNIT(the_main_stream_outlives_its_thread),
		CHILD_UNIT(gpu_events),
		CHILD_UNIT(wait_zones_say_what_for),
		CHILD_UNIT(marks_of_the_hook_count_apart),
		CHILD_UNIT(fiber_segments_are_numbered),
		CHILD_UNIT(same_events_without_a_counter_clock),
	};

	record_alone();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
