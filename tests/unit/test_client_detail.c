// SPDX-License-Identifier: MIT
/*
 * Levels of detail by path and masked categories, as a client takes them from a control page. One
 * process plays both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client/thread.h"
#include "client_child.h"
#include "client_ring.h"
#include "fake_daemon.h"

static char text[65536];
static size_t seen; /* of text, by the test */

/* Single-word events since the last call. */
static const char *since(const struct fake_daemon *d)
{
	static char part[65536];
	size_t at = 0;
	const char *p;

	ring_text(&d->view, own_slot(), text, sizeof(text));
	for (p = text + seen; *p; p++)
		if (*p != '#')
			part[at++] = *p;
	part[at] = '\0';
	seen = strlen(text);
	return part;
}

static struct fprof_detail *area(const struct fake_daemon *d)
{
	return (struct fprof_detail *)(void *)((uint8_t *)d->control + FPROF_CONTROL_BYTES);
}

/* A daemon whose page has levels, of which there are none yet; the session is up and its thread is
 * called t. */
static void begin(struct fake_daemon *d)
{
	struct fprof_control old;

	fake_init(d);
	old = *d->control;
	close(d->control_fd);
	d->control_fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(ftruncate(d->control_fd, FPROF_CONTROL_BYTES_DETAIL) == 0);
	d->control = mmap(NULL, FPROF_CONTROL_BYTES_DETAIL, PROT_READ | PROT_WRITE, MAP_SHARED,
			  d->control_fd, 0);
	CHECK(d->control != MAP_FAILED);
	CHECK(fcntl(d->control_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	old.control_bytes = FPROF_CONTROL_BYTES_DETAIL;
	*d->control = old;
	fake_listen(d);
	fprof_thread_name("t");
	fprof_frame_mark();
	CHECK(fake_accept(d, 0));
	fake_welcome(d);
	fprof_frame_mark();
	since(d);
}

static void publish(struct fake_daemon *d)
{
	area(d)->seq += 2;
	FPROF_STORE_RELEASE(&d->control->generation, d->control->generation + 1);
}

/* One more rule: names, NULL-terminated, and the gate below them. */
static void rule(struct fake_daemon *d, uint32_t gate, const char *const *names)
{
	struct fprof_detail_rule *r = &area(d)->rules[area(d)->rule_count++];

	for (r->count = 0; names[r->count]; r->count++)
		r->names[r->count] = fprof_name_hash(names[r->count], strlen(names[r->count]));
	r->gate = gate;
	publish(d);
}
#define RULE(d, gate, ...) rule((d), (gate), (const char *const[]){__VA_ARGS__, NULL})

static void mask(struct fake_daemon *d, const char *category)
{
	area(d)->masks[area(d)->mask_count++] = fprof_name_hash(category, strlen(category));
	publish(d);
}

static void clear(struct fake_daemon *d)
{
	area(d)->rule_count = area(d)->mask_count = 0;
	publish(d);
}

/* a { b { c(inner) } b } with landmarks a and d: a(L) > b(P) > c(I), a > d(L) */
static void tree(void)
{
	FPROF_ZONE_L("a", FPROF_LEVEL_LANDMARK);
	{
		FPROF_ZONE("b");
		{
			FPROF_ZONE_L("c", FPROF_LEVEL_INNER);
		}
	}
	{
		FPROF_ZONE_L("d", FPROF_LEVEL_LANDMARK);
	}
}
#define WHOLE "a(b(c(c)b)d(d)a)"

static void a_level_governs_what_is_below_its_node(void)
{
	struct fake_daemon d;

	begin(&d);
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	RULE(&d, FPROF_LEVEL_PHASE, "t", "a");
	tree();
	CHECK_TEXT(since(&d), WHOLE); /* not before the boundary */
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	{
		FPROF_ZONE("b");
	}
	CHECK_TEXT(since(&d), "b(b)"); /* elsewhere */
	clear(&d);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	CHECK_EQUAL(fprof_tls.writer->ready, 1);
	fake_deinit(&d);
}
CHILD_TEST(a_level_governs_what_is_below_its_node)

static void the_innermost_level_wins_and_ends_with_its_node(void)
{
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVEL_INNER, "t", "a");
	RULE(&d, FPROF_LEVELS, "t", "a", "b");
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	{
		FPROF_ZONE_L("a", FPROF_LEVEL_LANDMARK);
		tree();
		{
			FPROF_ZONE_L("c", FPROF_LEVEL_INNER);
		}
	}
	CHECK_TEXT(since(&d), "a(a(b(b)d(d)a)a)");
	{
		FPROF_ZONE_L("c", FPROF_LEVEL_INNER);
	}
	CHECK_TEXT(since(&d), "c(c)");
	fake_deinit(&d);
}
CHILD_TEST(the_innermost_level_wins_and_ends_with_its_node)

static void a_thread_is_a_node_and_others_are_not_it(void)
{
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "t");
	RULE(&d, FPROF_LEVEL_PHASE, "u", "a");
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	fprof_thread_name("u");
	{
		FPROF_ZONE("b");
	}
	tree();
	CHECK_TEXT(since(&d), "b(b)a(d(d)a)");
	fprof_thread_name("v");
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	fake_deinit(&d);
}
CHILD_TEST(a_thread_is_a_node_and_others_are_not_it)

static void zones_that_were_open_before_stand_for_any_name(void)
{
	FPROF_ZONE_MARKER(around, "around", NULL, 0, FPROF_LEVEL_LANDMARK);
	struct fake_daemon d;
	fprof_scope scope;

	begin(&d);
	scope = fprof_zone_begin(&around);
	since(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "t", "game", "a");
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	fprof_zone_end(scope);
	since(&d);
	scope = fprof_zone_begin(&around);
	tree();
	CHECK_TEXT(since(&d), "around(" WHOLE);
	fprof_zone_end(scope);
	tree();
	CHECK_TEXT(since(&d), "around)" WHOLE);
	fake_deinit(&d);
}
CHILD_TEST(zones_that_were_open_before_stand_for_any_name)

static struct fprof_marker physics =
	FPROF_MARKER_INIT("p", "physics", 0, FPROF_MARKER_ZONE, FPROF_LEVEL_PHASE, 0);

static void step(void)
{
	fprof_scope scope = fprof_zone_begin(&physics);

	fprof_zone_end(scope);
}

static void a_masked_category_is_left_out_until_it_is_wanted_again(void)
{
	FPROF_INSTANT_MARKER(hit, "hit", "physics", 0, FPROF_LEVEL_PHASE);
	struct fake_daemon d;
	fprof_scope scope;

	begin(&d);
	step();
	CHECK_TEXT(since(&d), "p(p)");
	mask(&d, "physics");
	fprof_frame_mark();
	CHECK_EQUAL(fprof_zone_begin(&physics), 0);
	CHECK_EQUAL(physics.top >> 60, 0);
	CHECK(fprof_masked(fprof_tls.writer, physics.top)); /* the inline path knows by now */
	step();
	fprof_instant(&hit);
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	scope = fprof_zone_next(fprof_zone_begin(&physics), &physics);
	CHECK_EQUAL(scope, 0);
	CHECK_TEXT(since(&d), "");
	clear(&d);
	fprof_frame_mark();
	step();
	fprof_instant(&hit);
	CHECK_TEXT(since(&d), "p(p)hit!");
	CHECK_EQUAL(fprof_word_kind(physics.top), FPROF_WORD_BEGIN);
	mask(&d, "graphics");
	fprof_frame_mark();
	step();
	CHECK_TEXT(since(&d), "p(p)");
	fake_deinit(&d);
}
CHILD_TEST(a_masked_category_is_left_out_until_it_is_wanted_again)

/* A marker that only FPROF_NEXT uses. */
static void next_is_inline_again_when_its_category_is_wanted_again(void)
{
	FPROF_ZONE_MARKER(first, "f", NULL, 0, FPROF_LEVEL_PHASE);
	struct fake_daemon d;
	fprof_scope scope;

	begin(&d);
	mask(&d, "physics");
	fprof_frame_mark();
	scope = fprof_zone_next(fprof_zone_begin(&first), &physics);
	CHECK_EQUAL(scope, 0);
	CHECK(fprof_masked(fprof_tls.writer, physics.top));
	clear(&d);
	fprof_frame_mark();
	scope = fprof_zone_next(fprof_zone_begin(&first), &physics);
	fprof_zone_end(scope);
	CHECK_TEXT(since(&d), "f(f)f(p|p)");
	CHECK_EQUAL(fprof_word_kind(physics.top), FPROF_WORD_BEGIN);
	fake_deinit(&d);
}
CHILD_TEST(next_is_inline_again_when_its_category_is_wanted_again)

/* Another thread takes new masks over between a thread's look at a marker and what it makes of it:
 * then nobody would clear them any more. */
static void masks_of_an_old_generation_do_not_stay(void)
{
	struct fake_daemon d;
	struct session *s;
	struct fprof_writer *w;
	uint32_t id;

	begin(&d);
	step();
	id = fprof_word_id(physics.top);
	mask(&d, "physics");
	fprof_frame_mark();
	s = session_peek();
	w = thread_hold_recording(s);
	CHECK(detail_masked(s, w, id));
	clear(&d);
	session_poll(s, true);
	detail_masked_top(s, w, id);
	CHECK_EQUAL(w->masks, 0);
	thread_release(w);
	fake_deinit(&d);
}
CHILD_TEST(masks_of_an_old_generation_do_not_stay)

/* A scope that was begun before its category was masked has its end. */
static void a_zone_ends_though_it_is_masked_by_now(void)
{
	struct fake_daemon d;
	fprof_scope scope;

	begin(&d);
	scope = fprof_zone_begin(&physics);
	mask(&d, "physics");
	fprof_frame_mark();
	step();
	fprof_zone_end(scope);
	CHECK_TEXT(since(&d), "p(p)");
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	fake_deinit(&d);
}
CHILD_TEST(a_zone_ends_though_it_is_masked_by_now)

static void next_goes_by_the_levels(void)
{
	FPROF_ZONE_MARKER(inner, "i", NULL, 0, FPROF_LEVEL_INNER);
	FPROF_ZONE_MARKER(phase, "f", NULL, 0, FPROF_LEVEL_PHASE);
	struct fake_daemon d;
	fprof_scope scope;

	begin(&d);
	RULE(&d, FPROF_LEVEL_INNER, "t", "a");
	fprof_frame_mark();
	{
		FPROF_ZONE_L("a", FPROF_LEVEL_LANDMARK);
		scope = fprof_zone_begin(&phase);
		scope = fprof_zone_next(scope, &inner);
		scope = fprof_zone_next(scope, &phase);
		fprof_zone_end(scope);
	}
	CHECK_TEXT(since(&d), "a(f(f)f(f)a)");
	fake_deinit(&d);
}
CHILD_TEST(next_goes_by_the_levels)

static void a_fiber_has_paths_of_its_own(void)
{
	struct fprof_fiber fiber = FPROF_FIBER_INIT(7, "job");
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "job", "a");
	fprof_frame_mark();
	fprof_fiber_enter(&fiber);
	tree();
	fprof_fiber_leave();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	fake_deinit(&d);
}
CHILD_TEST(a_fiber_has_paths_of_its_own)

static void the_sessions_level_and_stops_go_first(void)
{
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVELS, "t", "a");
	fake_set(&d, FPROF_STATE_RECORDING, FPROF_LEVEL_PHASE);
	fprof_frame_mark();
	tree();
	{
		FPROF_ZONE("b");
	}
	CHECK_TEXT(since(&d), WHOLE);
	fake_set(&d, FPROF_STATE_STOPPED, FPROF_LEVEL_PHASE);
	fprof_frame_mark();
	tree();
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "");
	fake_set(&d, FPROF_STATE_RECORDING, FPROF_LEVEL_PHASE);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	fake_deinit(&d);
}
CHILD_TEST(the_sessions_level_and_stops_go_first)

static void deep_zones_keep_the_level_of_the_last_node(void)
{
	FPROF_ZONE_MARKER(deep, "deep", NULL, 0, FPROF_LEVEL_LANDMARK);
	fprof_scope scopes[100];
	struct fake_daemon d;
	int i;

	begin(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "t", "deep");
	fprof_frame_mark();
	for (i = 0; i < 100; i++)
		scopes[i] = fprof_zone_begin(&deep);
	since(&d);
	{
		FPROF_ZONE("b");
	}
	CHECK_TEXT(since(&d), "");
	for (i = 99; i >= 0; i--)
		fprof_zone_end(scopes[i]);
	since(&d);
	{
		FPROF_ZONE("b");
	}
	CHECK_TEXT(since(&d), "b(b)");
	fake_deinit(&d);
}
CHILD_TEST(deep_zones_keep_the_level_of_the_last_node)

static void a_page_that_is_nonsense_is_bounded(void)
{
	struct fake_daemon d;
	uint32_t i;

	begin(&d);
	memset(area(&d), 0xff, sizeof(*area(&d)));
	area(&d)->seq = 2;
	publish(&d);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	for (i = 0; i < FPROF_DETAIL_RULES_MAX; i++) {
		area(&d)->rules[i].count = i;
		area(&d)->rules[i].gate = i * 7;
		area(&d)->rules[i].names[0] = fprof_name_hash("t", 1);
	}
	publish(&d);
	fprof_frame_mark();
	tree();
	fprof_frame_mark();
	CHECK(*since(&d) == 'a');
	fake_deinit(&d);
}
CHILD_TEST(a_page_that_is_nonsense_is_bounded)

static void a_page_that_is_being_written_is_left_for_later(void)
{
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "t", "a");
	area(&d)->seq++; /* odd */
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	area(&d)->seq++;
	FPROF_STORE_RELEASE(&d.control->generation, d.control->generation + 1);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	fake_deinit(&d);
}
CHILD_TEST(a_page_that_is_being_written_is_left_for_later)

/* A daemon of minor version 0 has a page without levels. */
static void an_older_daemon_has_none(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	fprof_frame_mark();
	since(&d);
	fake_set(&d, FPROF_STATE_RECORDING, FPROF_LEVEL_INNER);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(b(b)d(d)a)");
	CHECK_EQUAL(fprof_tls.writer->ready, 1);
	fake_deinit(&d);
}
CHILD_TEST(an_older_daemon_has_none)

static bool next_daemon_came(struct fake_daemon *d)
{
	int ms;

	for (ms = 0; ms < 6000; ms++) {
		fprof_frame_mark();
		if (fake_accept(d, 1))
			return true;
	}
	return false;
}

/* Another daemon's page, with a number that the one before had, too. */
static void the_next_daemons_levels_are_its_own(void)
{
	struct fake_daemon d;

	begin(&d);
	RULE(&d, FPROF_LEVEL_PHASE, "t", "a");
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(d(d)a)");
	fake_die(&d);
	area(&d)->rules[0].gate = FPROF_LEVEL_INNER;
	fake_listen(&d);
	CHECK(next_daemon_came(&d));
	fake_welcome(&d);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), "a(b(b)d(d)a)");
	fake_die(&d);
	d.control->control_bytes = FPROF_CONTROL_BYTES; /* an older one's */
	fake_listen(&d);
	CHECK(next_daemon_came(&d));
	fake_welcome(&d);
	fprof_frame_mark();
	tree();
	CHECK_TEXT(since(&d), WHOLE);
	fake_deinit(&d);
}
CHILD_TEST(the_next_daemons_levels_are_its_own)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(a_level_governs_what_is_below_its_node),
		CHILD_UNIT(the_innermost_level_wins_and_ends_with_its_node),
		CHILD_UNIT(a_thread_is_a_node_and_others_are_not_it),
		CHILD_UNIT(zones_that_were_open_before_stand_for_any_name),
		CHILD_UNIT(a_masked_category_is_left_out_until_it_is_wanted_again),
		CHILD_UNIT(next_is_inline_again_when_its_category_is_wanted_again),
		CHILD_UNIT(masks_of_an_old_generation_do_not_stay),
		CHILD_UNIT(a_zone_ends_though_it_is_masked_by_now),
		CHILD_UNIT(next_goes_by_the_levels),
		CHILD_UNIT(a_fiber_has_paths_of_its_own),
		CHILD_UNIT(the_sessions_level_and_stops_go_first),
		CHILD_UNIT(deep_zones_keep_the_level_of_the_last_node),
		CHILD_UNIT(a_page_that_is_nonsense_is_bounded),
		CHILD_UNIT(a_page_that_is_being_written_is_left_for_later),
		CHILD_UNIT(an_older_daemon_has_none),
		CHILD_UNIT(the_next_daemons_levels_are_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
