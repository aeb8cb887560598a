/* SPDX-License-Identifier: MIT */
/* Zones on tracks: balance, depth, threads that come and go, fibers over several rings. */
#include "fake_game.h"

struct world {
	struct fake_memory m;
	struct fake_thread t[4];
	struct live *s;
	uint32_t a, b, c;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_memory_new(&w->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	w->a = fake_marker(&w->m, FPROF_MARKER_ZONE, "a");
	w->b = fake_marker(&w->m, FPROF_MARKER_ZONE, "b");
	w->c = fake_marker(&w->m, FPROF_MARKER_ZONE, "c");
	w->s = fake_session(&w->m, 1);
	fake_thread_begin(&w->t[0], &w->m, 0, 100, 1, "t0", 1);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fake_session_free(w->s);
	fake_memory_deinit(&w->m);
	free(w);
	return 0;
}

static void finish(struct world *w, uint64_t now)
{
	fake_sweep(w->s, now);
	assert_int_equal(live_flush(w->s), 0);
}

static void expect(struct world *w, const char *track, const char *text)
{
	assert_chunks(w->s->batch, fake_track(w->s->batch, track), 0, text);
}

static void nests_and_siblings(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[0], w->b, 11);
	fake_begin(&w->t[0], w->c, 12);
	fake_end(&w->t[0], w->c, 13);
	fake_end(&w->t[0], w->b, 14);
	fake_begin(&w->t[0], w->b, 14); /* equal times keep ring order */
	fake_next(&w->t[0], w->c, 15);
	fake_end(&w->t[0], w->c, 16);
	fake_end(&w->t[0], w->a, 17);
	finish(w, 100);
	expect(w, "t0", "|T0+a+b+c--+b>c--");
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(fake_ring(w->s, 0, 0)->stored, 10);
}

static void zones_stay_open_over_commits(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	finish(w, 20);
	fake_begin(&w->t[0], w->b, 30);
	finish(w, 40);
	fake_end(&w->t[0], w->b, 50);
	fake_end(&w->t[0], w->a, 60);
	finish(w, 70);
	expect(w, "t0", "|T0+a|^a+b|^a^b--");
}

static void an_end_further_out_truncates_what_is_inside(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[0], w->b, 11);
	fake_begin(&w->t[0], w->c, 12);
	fake_end(&w->t[0], w->a, 13);
	fake_end(&w->t[0], w->c, 14); /* by now a stray one */
	fake_begin(&w->t[0], w->b, 15);
	fake_end(&w->t[0], w->b, 16);
	finish(w, 100);
	expect(w, "t0", "|T0+a+b+cu:as:c+b-");
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 1);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 2);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 1);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void the_deepest_zones_are_counted_not_stored(void **state)
{
	struct world *w = *state;
	uint64_t t = 10;
	int i;

	for (i = 0; i < CHUNK_DEPTH_MAX + 100; i++)
		fake_begin(&w->t[0], w->a, t++);
	for (i = 0; i < CHUNK_DEPTH_MAX + 100; i++)
		fake_end(&w->t[0], w->a, t++);
	fake_begin(&w->t[0], w->b, t++);
	fake_end(&w->t[0], w->b, t++);
	finish(w, 10000);
	assert_int_equal(w->s->repaired[REPAIR_DEPTH], 100);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_QUOTA], 200);
	assert_int_equal(fake_ring(w->s, 0, 0)->stored, 1 + 2 * CHUNK_DEPTH_MAX + 2);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(fake_ring(w->s, 0, 0)->part->depth, 0);
}

static void the_end_of_a_thread_truncates_its_zones(void **state)
{
	struct world *w = *state;
	size_t n;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[0], w->b, 11);
	fake_thread_end(&w->t[0], 20);
	finish(w, 100);
	expect(w, "t0", "|T0+a+bx2T1");
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 2);
	n = w->s->batch->tracks.count;
	assert_int_equal(w->s->batch->tracks.at[n - 1].end_ticks, 20);
	assert_int_equal(w->s->batch->updates.at[0].threads_active, 0);
}

static void three_threads(struct world *w)
{
	fake_thread_begin(&w->t[1], &w->m, 1, 101, 2, "t1", 2);
	fake_thread_begin(&w->t[2], &w->m, 2, 102, 3, "t2", 3);
}

/* Threads that never said so, fibers too: the newest row of each has an end. */
static void what_lives_to_the_end_ends_with_the_session(void **state)
{
	struct world *w = *state;
	bool ended[3] = {false};
	size_t i;

	three_threads(w);
	finish(w, 1000);
	assert_int_equal(live_end(w->s, SESSION_ENDED), 0);
	for (i = 0; i < w->s->batch->tracks.count; i++) {
		const struct track_row *row = &w->s->batch->tracks.at[i];

		assert_in_range(row->track, 1, 3);
		ended[row->track - 1] = row->end_ticks == 1000;
	}
	assert_true(ended[0] && ended[1] && ended[2]);
	assert_int_equal(w->s->batch->updates.at[w->s->batch->updates.count - 1].threads_active, 0);
}

/* 64 threads, one after another, with one tid in one slot. */
static void a_slot_taken_over_is_another_track(void **state)
{
	struct world *w = *state;
	char name[16];
	uint64_t t = 10;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "round %u", i);
		fake_thread_begin(&w->t[0], &w->m, 0, 100, 2 + i, name, t++);
		fake_begin(&w->t[0], w->a, t++);
		if (i % 2)
			fake_thread_end(&w->t[0], t++);
		if (i % 7 == 0)
			finish(w, t);
	}
	finish(w, t + 10);
	for (i = 0; i < 63; i++) {
		snprintf(name, sizeof(name), "round %u", i);
		expect(w, name, i % 2 ? "|T0+ax1T1" : i % 7 ? "|T0+ax1" : "|T0+a|^ax1");
	}
	expect(w, "round 63", "|T0+ax1T1");
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(w->s->tracks.next_id, 66);
	finish(w, t + 20);
	finish(w, t + 30);
	assert_true(w->s->tracks.all.count <= 2); /* what ended is forgotten */
}

/* Hostile: two slots say the same tid, the one ends the thread, the other goes on. */
static void a_track_of_two_slots_outlives_the_end_by_one(void **state)
{
	uint64_t info[3] = {0, 1 | UINT64_C(1) << 32, 0x6161};
	struct world *w = *state;
	int i;

	for (i = 1; i < 3; i++) {
		fake_thread_begin(&w->t[i], &w->m, (uint32_t)i, 4711, 1, "twin", 2);
		w->t[i].w.slot->head = w->t[i].w.non_events = FPROF_HEADER_WORDS;
	}
	fake_ext(&w->t[1], FPROF_EXT_INFO, info, 3, 10); /* needs no part */
	finish(w, 20);
	fake_begin(&w->t[2], w->a, 30);
	finish(w, 40);
	assert_ptr_equal(fake_ring(w->s, 0, 1)->own, fake_ring(w->s, 0, 2)->own);
	fake_begin(&w->t[1], w->b, 50); /* the part is shared too */
	fake_thread_end(&w->t[2], 60);
	finish(w, 70);
	finish(w, 80);
	assert_string_equal(fake_ring(w->s, 0, 1)->own->name, "twin");
	fake_end(&w->t[1], w->b, 90);
	finish(w, 100);
	assert_int_equal(w->s->fault, 0);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
	fake_balance(fake_ring(w->s, 0, 2), &w->t[2]);
}

/* Hostile: one ring that says a new thread in each of its words. */
static void threads_beyond_the_bound_are_discarded(void **state)
{
	struct world *w = *state;
	uint32_t i, quota;

	for (i = 0; i < 2 * TRACKS_MAX; i++) {
		fake_thread_begin(&w->t[1], &w->m, 1, (int32_t)(1000 + i), i + 1, "", 10);
		if (i % 256 == 255)
			fake_sweep(w->s, 20);
	}
	assert_int_equal(w->s->tracks.all.count, TRACKS_MAX);
	quota = (uint32_t)fake_ring(w->s, 0, 1)->discarded[DISCARD_QUOTA];
	assert_int_equal(quota, TRACKS_MAX + 1); /* t0 is one */
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
	finish(w, 30);
	finish(w, 40); /* those that ended are collected: there is room again */
	fake_thread_begin(&w->t[1], &w->m, 1, 999, 999, "again", 50);
	finish(w, 60);
	expect(w, "again", "|T0");
}

static void two_lanes_match_threads_with_one_tid_by_time(void **state)
{
	struct world *w = *state;
	struct fake_memory hook;
	struct fake_thread h = {0};
	uint32_t swap;

	fake_memory_new(&hook, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
	assert_int_equal(live_add_memory(w->s, fake_memory_open(&hook)), 0);
	swap = fake_marker(&hook, FPROF_MARKER_ZONE, "swap");
	fake_thread_begin(&w->t[1], &w->m, 1, 200, 2, "first", 100);
	fake_thread_begin(&h, &hook, 0, 200, 1, "", 110);
	fake_begin(&h, swap, 120);
	fake_thread_end(&h, 130);
	fake_thread_end(&w->t[1], 140);
	fake_thread_begin(&h, &hook, 0, 200, 2, "", 210); /* hears of it first */
	fake_begin(&h, swap, 215);
	fake_thread_begin(&w->t[1], &w->m, 1, 200, 3, "second", 220);
	fake_thread_end(&w->t[1], 230);
	fake_thread_end(&h, 240);
	finish(w, 1000);
	assert_chunks(w->s->batch, fake_track(w->s->batch, "first"), 1, "|T0+swapx1T1");
	assert_chunks(w->s->batch, fake_track(w->s->batch, "first"), 0, "|T0T1");
	assert_chunks(w->s->batch, fake_track(w->s->batch, "second"), 1, "|T0+swapx1T1");
	assert_chunks(w->s->batch, fake_track(w->s->batch, "second"), 0, "|T0T1");
	fake_memory_deinit(&hook);
}

static void what_belongs_to_a_zone_stays_in_order(void **state)
{
	struct world *w = *state;
	uint64_t text[3] = {0, 5}, value[3] = {0, FPROF_VALUE_I64, 9};
	uint64_t message[4] = {0, UINT64_C(3) << 32, 0xff0000}, other[2] = {0, 1};
	uint64_t name[3] = {0, 7};

	memcpy(&text[2], "h\xffllo", 5);
	memcpy(&message[3], "hey", 3);
	memcpy(&name[2], "renamed", 7);
	fake_begin(&w->t[0], w->a, 10);
	fake_ext(&w->t[0], FPROF_EXT_TEXT, text, 3, 11);
	fake_ext(&w->t[0], FPROF_EXT_VALUE, value, 3, 12);
	fake_single(&w->t[0], FPROF_WORD_INSTANT, w->b, 13, 0);
	fake_ext(&w->t[0], FPROF_EXT_MESSAGE, message, 4, 14);
	fake_ext(&w->t[0], (enum fprof_ext_kind)200, other, 2, 15);
	fake_ext(&w->t[0], FPROF_EXT_THREAD_NAME, name, 3, 16);
	fake_end(&w->t[0], w->a, 17);
	finish(w, 100);
	expect(w, "renamed", "|T0+a\"h\xef\xbf\xbdllo\"v!bm:hey?-");
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(fake_ring(w->s, 0, 0)->stored, fake_ring(w->s, 0, 0)->received);
}

/* ---- fibers ---- */

/* A fiber's three segments lie on three rings, in the reverse of the order in which rings are read.
 */
static void segments_are_put_in_order_over_rings(void **state)
{
	struct world *w = *state;
	uint32_t fiber = fake_marker(&w->m, FPROF_MARKER_FIBER, "job");

	three_threads(w);
	fake_fiber(&w->t[2], 9, 0, fiber, 10);
	fake_begin(&w->t[2], w->a, 11);
	fake_fiber(&w->t[2], 0, 0, 0, 12);
	fake_begin(&w->t[2], w->c, 13);
	fake_fiber(&w->t[1], 9, 1, fiber, 20);
	fake_begin(&w->t[1], w->b, 21);
	fake_fiber(&w->t[1], 0, 0, 0, 22);
	fake_fiber(&w->t[0], 9, 2, fiber, 30);
	fake_end(&w->t[0], w->b, 31);
	fake_end(&w->t[0], w->a, 32);
	fake_fiber(&w->t[0], 0, 0, 0, 33);
	finish(w, 100);
	expect(w, "job", "|+a+b--");
	expect(w, "t0", "|T0FL");
	expect(w, "t1", "|T0FL");
	expect(w, "t2", "|T0FL+c");
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
	fake_balance(fake_ring(w->s, 0, 2), &w->t[2]);
}

/* Two rings that each wait for what the other has before it: both have left their own by then. */
static void crossing_fibers_do_not_wait_for_each_other(void **state)
{
	struct world *w = *state;
	uint32_t x = fake_marker(&w->m, FPROF_MARKER_FIBER, "x");
	uint32_t y = fake_marker(&w->m, FPROF_MARKER_FIBER, "y");

	three_threads(w);
	fake_fiber(&w->t[0], 1, 0, x, 10);
	fake_begin(&w->t[0], w->a, 11);
	fake_fiber(&w->t[0], 2, 1, y, 20);
	fake_end(&w->t[0], w->b, 21);
	fake_fiber(&w->t[0], 0, 0, 0, 22);
	fake_fiber(&w->t[1], 2, 0, y, 12);
	fake_begin(&w->t[1], w->b, 13);
	fake_fiber(&w->t[1], 1, 1, x, 20);
	fake_end(&w->t[1], w->a, 21);
	fake_fiber(&w->t[1], 0, 0, 0, 22);
	finish(w, 100);
	expect(w, "x", "|+a-");
	expect(w, "y", "|+b-");
	expect(w, "t0", "|T0FFL");
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 0);
}

static void a_ring_waits_for_a_segment_that_comes_a_sweep_later(void **state)
{
	struct world *w = *state;
	uint32_t fiber = fake_marker(&w->m, FPROF_MARKER_FIBER, "job");

	three_threads(w);
	fake_fiber(&w->t[1], 9, 0, fiber, 10);
	fake_begin(&w->t[1], w->a, 11);
	fake_fiber(&w->t[0], 9, 1, fiber, 20);
	fake_end(&w->t[0], w->a, 21);
	fake_mark(&w->t[2], 50);
	finish(w, 100);
	expect(w, "job", "|+a");
	assert_int_equal(w->s->batch->frames.count, 0); /* not read past its end yet */
	fake_fiber(&w->t[1], 0, 0, 0, 19);		/* its writer was held up before this */
	finish(w, 110);
	expect(w, "job", "|+a|^a-");
	assert_int_equal(w->s->batch->frames.count, 1);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 0);
}

static void a_lost_segment_is_not_waited_for_for_ever(void **state)
{
	struct world *w = *state;
	uint32_t fiber = fake_marker(&w->m, FPROF_MARKER_FIBER, "job");
	int i;

	three_threads(w);
	fake_fiber(&w->t[1], 9, 0, fiber, 10);
	fake_begin(&w->t[1], w->a, 11);
	fake_fiber(&w->t[1], 0, 0, 0, 12);
	fake_fiber(&w->t[0], 9, 2, fiber, 20);
	fake_begin(&w->t[0], w->b, 21);
	fake_end(&w->t[0], w->b, 22);
	fake_end(&w->t[0], w->a, 23); /* its begin was closed with what was lost: no mistake */
	for (i = 0; i < 4; i++)
		finish(w, 100 + (uint64_t)i);
	expect(w, "job", "|+a|^ax1+b-s:a");
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 1);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void the_last_sweep_waits_for_nobody_but_orders_all(void **state)
{
	struct world *w = *state;
	uint32_t fiber = fake_marker(&w->m, FPROF_MARKER_FIBER, "job");

	three_threads(w);
	fake_fiber(&w->t[0], 9, 2, fiber, 30);
	fake_begin(&w->t[0], w->c, 31);
	fake_fiber(&w->t[1], 9, 0, fiber, 10);
	fake_begin(&w->t[1], w->a, 11);
	fake_fiber(&w->t[1], 0, 0, 0, 12);
	fake_last_sweep(w->s, 100);
	w->s->end_reason = strdup("killed");
	assert_int_equal(live_end(w->s, SESSION_CRASHED), 0);
	expect(w, "job", "|+ax1+c");
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
	assert_int_equal(w->s->batch->updates.count, 1);
	assert_int_equal(w->s->batch->updates.at[0].state, SESSION_CRASHED);
	assert_string_equal(w->s->batch->updates.at[0].end_reason, "killed");
}

/* Hostile: every ring waits for a segment that never comes, before more than a sweep's share. */
static void rings_that_all_wait_for_ever_end_with_their_process(void **state)
{
	struct live_sweep sweep = {.now = FAKE_START + 100000, .last = true};
	struct fake_memory m[LIVE_LANES_MAX];
	static struct fake_thread t[LIVE_LANES_MAX][FAKE_SLOTS];
	struct live *s;
	uint32_t i, j, k, a;

	(void)state;
	memset(t, 0, sizeof(t));
	for (i = 0; i < LIVE_LANES_MAX; i++) {
		fake_memory_new(&m[i], 16384, FPROF_ORIGIN_GAME);
		a = fake_marker(&m[i], FPROF_MARKER_ZONE, "a");
		for (j = 0; j < FAKE_SLOTS; j++) {
			fake_thread_begin(&t[i][j], &m[i], j, (int)(1 + i * 100 + j), 1, "t", 1);
			fake_fiber(&t[i][j], 1 + j, 7, 0, 2);
			for (k = 0; k < 8500; k++)
				fake_begin(&t[i][j], a, 10 + k), fake_end(&t[i][j], a, 10 + k);
		}
	}
	s = fake_session(m, LIVE_LANES_MAX);
	for (i = 0; (i == 0 || sweep.behind) && i < LIVE_LAST_SWEEPS; i++) {
		assert_int_equal(live_sweep(s, &sweep), 0);
		assert_int_equal(live_flush(s), 0);
		batch_free(s->batch); /* as if handed over */
		s->batch = batch_new();
		assert_non_null(s->batch);
	}
	assert_false(sweep.behind);
	for (i = 0; i < LIVE_LANES_MAX; i++)
		for (j = 0; j < FAKE_SLOTS; j++)
			fake_balance(fake_ring(s, i, j), &t[i][j]);
	fake_session_free(s);
	for (i = 0; i < LIVE_LANES_MAX; i++)
		fake_memory_deinit(&m[i]);
}

/* A ring is lapped while it runs a fiber: the next header says which one goes on. */
static void a_lap_within_fibers_goes_on_in_the_right_one(void **state)
{
	struct world *w = *state;
	uint32_t x = fake_marker(&w->m, FPROF_MARKER_FIBER, "x");
	uint32_t y = fake_marker(&w->m, FPROF_MARKER_FIBER, "y");
	uint64_t t = 20;
	int i;

	fake_fiber(&w->t[0], 1, 0, x, 10);
	fake_begin(&w->t[0], w->a, 11);
	finish(w, 15);
	fake_end(&w->t[0], w->a, 16);
	fake_fiber(&w->t[0], 2, 0, y, 17);
	for (i = 0; i < 4000; i++) {
		fake_begin(&w->t[0], w->b, t++);
		fake_end(&w->t[0], w->b, t++);
	}
	fake_fiber(&w->t[0], 0, 0, 0, t++);
	fake_begin(&w->t[0], w->c, t++);
	for (i = 0; i < 4; i++)
		finish(w, t + (uint64_t)i);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(w->s->batch->gaps.count, 1);
	expect(w, "x", "|+a|^ax1");
	expect(w, "t0", "|T0F|L+c");
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 0);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nests_and_siblings),
		TEST(zones_stay_open_over_commits),
		TEST(an_end_further_out_truncates_what_is_inside),
		TEST(the_deepest_zones_are_counted_not_stored),
		TEST(the_end_of_a_thread_truncates_its_zones),
		TEST(what_lives_to_the_end_ends_with_the_session),
		TEST(a_slot_taken_over_is_another_track),
		TEST(a_track_of_two_slots_outlives_the_end_by_one),
		TEST(threads_beyond_the_bound_are_discarded),
		TEST(two_lanes_match_threads_with_one_tid_by_time),
		TEST(what_belongs_to_a_zone_stays_in_order),
		TEST(segments_are_put_in_order_over_rings),
		TEST(crossing_fibers_do_not_wait_for_each_other),
		TEST(a_ring_waits_for_a_segment_that_comes_a_sweep_later),
		TEST(a_lost_segment_is_not_waited_for_for_ever),
		TEST(the_last_sweep_waits_for_nobody_but_orders_all),
		cmocka_unit_test(rings_that_all_wait_for_ever_end_with_their_process),
		TEST(a_lap_within_fibers_goes_on_in_the_right_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
