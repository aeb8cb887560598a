// SPDX-License-Identifier: MIT
/* What the game's allocations leave in the ring: one event in front of a zone's word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client_child.h"
#include "client_ring.h"
#include "fake_daemon.h"

#include <pthread.h>

static char text[4096];

/* Bytes and count of the allocations that the ring tells of, oldest first: "30/2 5/1". */
static const char *told(void)
{
	struct memory_view view = own_view();
	struct ring_events e = ring_events_read(&view, own_slot());
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i < e.count; i++)
		if (event_ext(&e, i) == FPROF_EXT_ALLOC)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%llu/%llu",
					       at ? " " : "",
					       (unsigned long long)event_word(&e, i, 1),
					       (unsigned long long)event_word(&e, i, 2));
	ring_events_free(&e);
	return text;
}

static const char *ring(void)
{
	struct memory_view view = own_view();

	ring_text(&view, own_slot(), text, sizeof(text));
	return text;
}

static void zone(void)
{
	FPROF_ZONE("z");
}

/* In front of a begin, an end and a next: whose zone was innermost has them. */
static void sums_stand_in_front_of_a_zones_word(void)
{
	FPROF_ZONE_MARKER(outer, "a", NULL, 0, FPROF_LEVEL_PHASE);
	FPROF_ZONE_MARKER(sibling, "b", NULL, 0, FPROF_LEVEL_PHASE);
	fprof_scope scope;

	setenv("FPROF_ALLOC", "1", 1);
	record_alone();
	scope = fprof_zone_begin(&outer);
	fprof_alloc(10);
	fprof_alloc(20);
	zone();
	fprof_alloc(5);
	scope = fprof_zone_next(scope, &sibling);
	fprof_alloc(0);
	fprof_zone_end(scope);
	CHECK_TEXT(ring(), "a(#z(z)#b|#b)");
	CHECK_TEXT(told(), "30/2 5/1 0/1");
}
CHILD_TEST(sums_stand_in_front_of_a_zones_word)

static void *allocates(void *unused)
{
	zone();
	fprof_alloc(7);
	zone();
	CHECK_TEXT(told(), "7/1");
	return unused;
}

static void each_thread_tells_of_its_own(void)
{
	pthread_t thread;

	setenv("FPROF_ALLOC", "1", 1);
	record_alone();
	zone();
	fprof_alloc(3);
	CHECK_EQUAL(pthread_create(&thread, NULL, allocates, NULL), 0);
	pthread_join(thread, NULL);
	zone();
	CHECK_TEXT(told(), "3/1");
}
CHILD_TEST(each_thread_tells_of_its_own)

static void nothing_while_it_is_off(void)
{
	record_alone();
	zone();
	fprof_alloc(10);
	zone();
	CHECK_TEXT(ring(), "z(z)z(z)");
	CHECK_EQUAL(fprof_tls.writer->ready, 1);
}
CHILD_TEST(nothing_while_it_is_off)

static void track(struct fake_daemon *d, bool on)
{
	FPROF_STORE_RELAXED(&d->control->flags, on ? FPROF_CONTROL_ALLOCATIONS : 0u);
	FPROF_STORE_RELEASE(&d->control->generation, d->control->generation + 1);
	fprof_frame_mark();
}

static void begin(struct fake_daemon *d)
{
	fake_init(d);
	fake_listen(d);
	fprof_frame_mark();
	CHECK(fake_accept(d, 0));
	fake_welcome(d);
	fprof_frame_mark();
}

static void nothing_of_before_it_was_switched_on(void)
{
	struct fake_daemon d;

	begin(&d);
	zone();
	fprof_alloc(10);
	track(&d, true);
	fprof_alloc(20);
	zone(); /* the first that knows */
	CHECK_TEXT(told(), "");
	fprof_alloc(30);
	zone();
	CHECK_TEXT(told(), "30/1");
	track(&d, false);
	fprof_alloc(40);
	zone();
	track(&d, true);
	zone();
	CHECK_TEXT(told(), "30/1");
	fake_deinit(&d);
}
CHILD_TEST(nothing_of_before_it_was_switched_on)

/* The first zone after a pause is not charged with what was allocated in it. */
static void nothing_of_a_pause(void)
{
	struct fake_daemon d;

	begin(&d);
	track(&d, true);
	zone();
	fake_set(&d, FPROF_STATE_STOPPED, FPROF_LEVELS);
	fprof_frame_mark();
	fprof_alloc(10);
	zone();
	fake_set(&d, FPROF_STATE_RECORDING, FPROF_LEVELS);
	fprof_frame_mark();
	zone();
	CHECK_TEXT(told(), "");
	fprof_alloc(5);
	fprof_recording(false);
	fprof_alloc(20);
	fprof_recording(true);
	zone();
	CHECK_TEXT(told(), "");
	fprof_alloc(30);
	zone();
	CHECK_TEXT(told(), "30/1");
	fake_deinit(&d);
}
CHILD_TEST(nothing_of_a_pause)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(sums_stand_in_front_of_a_zones_word),
		CHILD_UNIT(each_thread_tells_of_its_own),
		CHILD_UNIT(nothing_while_it_is_off),
		CHILD_UNIT(nothing_of_before_it_was_switched_on),
		CHILD_UNIT(nothing_of_a_pause),
	};

	unsetenv("FPROF_ALLOC");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
