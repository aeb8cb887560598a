/* SPDX-License-Identifier: MIT */
/* Frames out of rings: boundaries, streams, marks of wrong threads, waits, counters, lateness. */
#include "fake_game.h"

#define MS 1000000

struct world {
	struct fake_memory m[2];
	struct fake_thread main, other, hook;
	struct live *s;
	uint32_t zone, inner;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_memory_new(&w->m[0], FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	fake_memory_new(&w->m[1], FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
	w->zone = fake_marker(&w->m[0], FPROF_MARKER_ZONE, "zone");
	w->inner = fake_marker(&w->m[0], FPROF_MARKER_ZONE, "inner");
	w->s = fake_session(w->m, 2);
	fake_thread_begin(&w->main, &w->m[0], 1, 100, 1, "main", 10);
	fake_thread_begin(&w->other, &w->m[0], 0, 101, 2, "other", 20);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fake_session_free(w->s);
	fake_memory_deinit(&w->m[0]);
	fake_memory_deinit(&w->m[1]);
	free(w);
	return 0;
}

static void expect_frame(const struct world *w, size_t i, uint32_t stream, uint64_t number,
			 int64_t t0, int64_t t1, uint32_t flags)
{
	const struct frame_row *f;

	assert_true(i < w->s->batch->frames.count);
	f = &w->s->batch->frames.at[i];
	assert_int_equal(f->stream, stream);
	assert_int_equal(f->frame, number);
	assert_int_equal(f->t0, t0);
	assert_int_equal(f->t1, t1);
	assert_int_equal(f->begin_ns, t0);
	assert_int_equal(f->end_ns, t1);
	assert_int_equal(f->flags & ~(uint32_t)FRAME_CLOCK_DOUBTFUL, flags);
}

static void expect_frames(const struct world *w, size_t count)
{
	assert_int_equal(w->s->batch->frames.count, count);
}

static void marks_end_frames(void **state)
{
	struct world *w = *state;

	fake_begin(&w->main, w->zone, 50);
	fake_end(&w->main, w->zone, 60);
	fake_mark(&w->main, 100);
	fake_mark_by(&w->main, 0, FPROF_ORIGIN_GAME, 2, 4711, 200);
	fake_begin(&w->main, w->zone, 250);
	fake_sweep(w->s, 1000);
	expect_frames(w, 2);
	expect_frame(w, 0, 0, 1, 0, 100, FRAME_STARTUP);
	expect_frame(w, 1, 0, 2, 100, 200, 0);
	assert_int_equal(w->s->batch->frames.at[0].engine_id, -1);
	assert_int_equal(w->s->batch->frames.at[1].engine_id, 4711);
	assert_int_equal(w->s->batch->frames.at[0].events, 4); /* two threads, one zone */
	assert_int_equal(w->s->batch->frames.at[1].events, 1); /* the mark of frame 1 */
	assert_int_equal(w->s->batch->streams.count, 1);
	assert_string_equal(w->s->batch->streams.at[0].name, "main");
	assert_int_equal(w->s->batch->streams.at[0].track, fake_track(w->s->batch, "main"));
	assert_int_equal(w->s->batch->frames.at[0].track, fake_track(w->s->batch, "main"));
}

/* The other thread's ring comes first in the memory; its chunks are cut at the marks all the same.
 */
static void other_threads_are_cut_at_the_marks(void **state)
{
	struct world *w = *state;

	fake_begin(&w->other, w->zone, 90);
	fake_begin(&w->other, w->inner, 99);
	fake_end(&w->other, w->inner, 100); /* at the mark: already the next frame */
	fake_mark(&w->main, 100);
	fake_end(&w->other, w->zone, 150);
	fake_begin(&w->other, w->zone, 160);
	fake_mark(&w->main, 200);
	fake_mark(&w->main, 300); /* a frame in which the other thread is silent */
	fake_end(&w->other, w->zone, 350);
	fake_mark(&w->main, 400);
	fake_sweep(w->s, 1000);
	assert_int_equal(live_flush(w->s), 0);
	assert_chunks(w->s->batch, fake_track(w->s->batch, "other"), 0,
		      "|T0+zone+inner|^zone^inner--+zone|^zone-");
	expect_frames(w, 4);
	assert_int_equal(w->s->batch->frames.at[0].events, 4);
	assert_int_equal(w->s->batch->frames.at[1].events, 4);
	assert_int_equal(w->s->batch->frames.at[2].events, 1);
	assert_int_equal(w->s->batch->frames.at[3].events, 2);
}

/* The same in many sweeps, each of which ends somewhere else. */
static void sweeps_do_not_change_what_is_cut(void **state)
{
	struct world *w = *state;
	uint64_t t;

	fake_begin(&w->other, w->zone, 90);
	fake_mark(&w->main, 100);
	fake_end(&w->other, w->zone, 150);
	fake_begin(&w->other, w->zone, 160);
	fake_mark(&w->main, 200);
	fake_end(&w->other, w->zone, 250);
	for (t = 0; t <= 300; t += 7)
		fake_sweep(w->s, t);
	assert_int_equal(live_flush(w->s), 0);
	assert_chunks(w->s->batch, fake_track(w->s->batch, "other"), 0,
		      "|T0+zone|^zone-+zone|^zone-");
	expect_frames(w, 2);
	assert_int_equal(w->s->batch->frames.at[0].events, 3);
	assert_int_equal(w->s->batch->frames.at[1].events, 3);
	assert_int_equal(w->s->repaired[REPAIR_LATE_EVENT], 0);
}

static void nothing_beyond_the_horizon_is_read(void **state)
{
	struct world *w = *state;
	struct live_sweep sweep = {.now = FAKE_START + 150, .grace = 50};

	fake_mark(&w->main, 99);
	fake_begin(&w->main, w->zone, 100);
	fake_end(&w->main, w->zone, 101);
	assert_int_equal(live_sweep(w->s, &sweep), 0);
	assert_int_equal(sweep.events, 4);
	assert_int_equal(w->s->swept_to, 100);
	expect_frames(w, 1);
	fake_sweep(w->s, 151);
	fake_balance(fake_ring(w->s, 0, 1), &w->main);
}

static void late_events_are_kept_apart_and_counted(void **state)
{
	struct world *w = *state;

	fake_begin(&w->other, w->zone, 50);
	fake_mark(&w->main, 100);
	fake_sweep(w->s, 200);
	expect_frames(w, 1);
	fake_end(&w->other, w->zone, 80); /* its writer was held up */
	fake_begin(&w->other, w->inner, 150);
	fake_mark(&w->main, 300);
	fake_sweep(w->s, 400);
	assert_int_equal(live_flush(w->s), 0);
	assert_chunks(w->s->batch, fake_track(w->s->batch, "other"), 0, "|T0+zone~^zone-|+inner");
	assert_int_equal(w->s->repaired[REPAIR_LATE_EVENT], 1);
	expect_frames(w, 2);
	assert_int_equal(w->s->batch->frames.at[1].events, 2); /* mark 1 and +inner */
	fake_balance(fake_ring(w->s, 0, 0), &w->other);
}

static void marks_of_another_thread_are_counted_not_obeyed(void **state)
{
	struct world *w = *state;

	fake_mark(&w->main, 100);
	fake_mark(&w->other, 150);
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	expect_frames(w, 2);
	expect_frame(w, 1, 0, 2, 100, 200, 0);
	assert_int_equal(w->s->repaired[REPAIR_FOREIGN_MARK], 1);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_HOOK_MARK], 0);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_FOREIGN_MARK], 1);
	fake_balance(fake_ring(w->s, 0, 0), &w->other);
}

static void fake_mark_flagged(struct fake_thread *t, uint32_t stream, uint64_t sequence,
			      uint64_t flags, uint64_t time)
{
	uint64_t words[5] = {0, stream | (uint64_t)FPROF_ORIGIN_GAME << 32, sequence, UINT64_MAX,
			     flags};

	fake_ext(t, FPROF_EXT_MARK, words, 5, time);
}

/* A daemon that comes late may read another thread's mark first: the mark says whose it is. */
static void a_mark_that_says_it_is_foreign_gives_nobody_a_stream(void **state)
{
	struct world *w = *state;
	uint32_t tick = fake_marker(&w->m[0], FPROF_MARKER_STREAM, "tick");

	fake_mark_flagged(&w->other, tick, 3, FPROF_MARK_FOREIGN, 50);
	fake_mark_flagged(&w->other, 0, 3, FPROF_MARK_FOREIGN, 60);
	fake_mark_by(&w->main, tick, FPROF_ORIGIN_GAME, 4, UINT64_MAX, 100);
	fake_mark_by(&w->main, 0, FPROF_ORIGIN_GAME, 4, UINT64_MAX, 100);
	fake_mark_flagged(&w->other, tick, 4, FPROF_MARK_FOREIGN, 150);
	fake_mark_by(&w->main, tick, FPROF_ORIGIN_GAME, 5, UINT64_MAX, 200);
	fake_sweep(w->s, 1000);
	expect_frames(w, 3);
	expect_frame(w, 0, 0, 4, 0, 100, FRAME_STARTUP | FRAME_MARKS_LOST);
	expect_frame(w, 1, 1, 4, 10, 100, FRAME_STARTUP | FRAME_MARKS_LOST);
	expect_frame(w, 2, 1, 5, 100, 200, 0);
	assert_int_equal(w->s->repaired[REPAIR_FOREIGN_MARK], 3);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_FOREIGN_MARK], 3);
	fake_balance(fake_ring(w->s, 0, 0), &w->other);
}

static void say_loading(struct fake_thread *t, bool on, uint64_t time)
{
	uint64_t words[2] = {0, on};

	fake_ext(t, FPROF_EXT_LOADING, words, 2, time);
}

/* Whichever thread says so, and in whatever order that is read. */
static void frames_in_which_the_game_loads_are_flagged(void **state)
{
	struct world *w = *state;

	fake_mark_flagged(&w->main, 0, 1, 0, 1000);
	say_loading(&w->main, true, 1500);
	fake_mark_flagged(&w->main, 0, 2, 0, 2000);
	fake_mark_flagged(&w->main, 0, 3, 0, 3000);
	say_loading(&w->other, false, 3500); /* this ring is read first */
	fake_mark_flagged(&w->main, 0, 4, 0, 4000);
	fake_mark_flagged(&w->main, 0, 5, 0, 5000);
	say_loading(&w->other, true, 5100);
	say_loading(&w->other, false, 5200);
	fake_mark_flagged(&w->main, 0, 6, 0, 6000);
	fake_mark_flagged(&w->main, 0, 7, 0, 7000);
	fake_sweep(w->s, 10000);
	expect_frames(w, 7);
	expect_frame(w, 0, 0, 1, 0, 1000, FRAME_STARTUP);
	expect_frame(w, 1, 0, 2, 1000, 2000, FRAME_LOADING);
	expect_frame(w, 2, 0, 3, 2000, 3000, FRAME_LOADING);
	expect_frame(w, 3, 0, 4, 3000, 4000, FRAME_LOADING);
	expect_frame(w, 4, 0, 5, 4000, 5000, 0);
	expect_frame(w, 5, 0, 6, 5000, 6000, FRAME_LOADING);
	expect_frame(w, 6, 0, 7, 6000, 7000, 0);
}

/* What was not recorded is neither cpu nor wait. */
static void frames_not_recorded_throughout_have_no_partition(void **state)
{
	struct world *w = *state;
	uint32_t cap = fake_marker(&w->m[0], FPROF_MARKER_WAIT_CAP, "cap");

	fake_mark_flagged(&w->main, 0, 1, FPROF_MARK_PAUSED, 4000); /* it began before us */
	fake_begin(&w->main, cap, 4010);
	fake_end(&w->main, cap, 4040);
	fake_mark_flagged(&w->main, 0, 2, 0, 4100);
	fake_mark_flagged(&w->main, 0, 5, 0, 4400); /* two marks never came */
	fake_mark_flagged(&w->main, 0, 6, 0, 4500);
	fake_sweep(w->s, 10000);
	expect_frames(w, 4);
	expect_frame(w, 0, 0, 1, 0, 4000, FRAME_STARTUP | FRAME_PAUSED);
	assert_true(w->s->batch->frames.at[0].cpu_ns == NS_UNKNOWN);
	assert_true(w->s->batch->frames.at[0].wait_cap_ns == NS_UNKNOWN);
	assert_int_equal(w->s->batch->frames.at[1].cpu_ns, 70);
	assert_int_equal(w->s->batch->frames.at[1].wait_cap_ns, 30);
	expect_frame(w, 2, 0, 5, 4100, 4400, FRAME_MARKS_LOST);
	assert_true(w->s->batch->frames.at[2].cpu_ns == NS_UNKNOWN);
	assert_true(w->s->batch->frames.at[2].wait_cap_ns == NS_UNKNOWN);
	assert_int_equal(w->s->batch->frames.at[3].cpu_ns, 100);
}

static void the_next_marking_thread_takes_over_from_one_that_ended(void **state)
{
	struct world *w = *state;

	fake_mark(&w->main, 100);
	fake_thread_end(&w->main, 150);
	fake_mark(&w->other, 200);
	fake_mark(&w->other, 300);
	fake_sweep(w->s, 1000);
	expect_frames(w, 3);
	expect_frame(w, 1, 0, 2, 100, 200, 0);
	expect_frame(w, 2, 0, 3, 200, 300, 0);
	assert_int_equal(w->s->batch->frames.at[2].track, fake_track(w->s->batch, "other"));
	assert_int_equal(w->s->repaired[REPAIR_FOREIGN_MARK], 0);
}

static void hook_begin(struct world *w)
{
	fake_thread_begin(&w->hook, &w->m[1], 0, 100, 1, "main", 15);
}

static void the_games_marks_win_over_the_hooks(void **state)
{
	struct world *w = *state;

	hook_begin(w);
	fake_mark(&w->hook, 100);
	fake_mark(&w->hook, 200);
	fake_sweep(w->s, 250);
	expect_frames(w, 0); /* the game may be about to mark */
	fake_sweep(w->s, 250 + 100 * MS);
	expect_frames(w, 2);
	fake_mark(&w->main, 200 * MS);
	fake_mark(&w->hook, 201 * MS);
	fake_mark(&w->main, 300 * MS);
	fake_mark(&w->hook, 301 * MS);
	fake_sweep(w->s, 500 * MS);
	expect_frames(w, 4);
	expect_frame(w, 2, 0, 3, 200, 200 * MS, 0);
	expect_frame(w, 3, 0, 4, 200 * MS, 300 * MS, 0);
	assert_int_equal(fake_ring(w->s, 1, 0)->discarded[DISCARD_HOOK_MARK], 2);
	assert_int_equal(w->s->repaired[REPAIR_FOREIGN_MARK], 0);
	fake_balance(fake_ring(w->s, 1, 0), &w->hook);
}

static void hook_marks_seen_together_with_the_games_are_ignored(void **state)
{
	struct world *w = *state;

	hook_begin(w);
	fake_mark(&w->hook, 95);
	fake_mark(&w->main, 100);
	fake_mark(&w->hook, 195);
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	expect_frames(w, 2);
	expect_frame(w, 0, 0, 1, 0, 100, FRAME_STARTUP);
	expect_frame(w, 1, 0, 2, 100, 200, 0);
}

/* Game and hook in one memory, as where the game's library is the hook's. */
static void one_memory(struct fake_memory *m, struct fake_thread *t, struct live **ret_s)
{
	memset(t, 0, sizeof(*t));
	fake_memory_new(m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
	*ret_s = fake_session(m, 1);
	fake_thread_begin(t, m, 0, 100, 1, "main", 10);
}

static void expect_game_frames(const struct live *s, int64_t step, int64_t later, size_t count)
{
	size_t i;

	assert_int_equal(s->batch->frames.count, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(s->batch->frames.at[i].frame, i + 1);
		assert_int_equal(s->batch->frames.at[i].t1, ((int64_t)i + 1) * step + later);
	}
}

/* Presents every step, each followed by the game's mark; swept every period. */
static void play_both(int64_t step, int64_t later, int64_t period)
{
	struct fake_memory m;
	struct fake_thread t;
	struct live *s;
	int64_t at, swept = 0;
	uint64_t i;

	one_memory(&m, &t, &s);
	for (i = 1; i <= 4; i++) {
		at = (int64_t)i * step;
		for (; swept < at; swept += period)
			fake_sweep(s, (uint64_t)swept);
		fake_mark_by(&t, 0, FPROF_ORIGIN_HOOK, i, UINT64_MAX, (uint64_t)at);
		for (; swept < at + later; swept += period)
			fake_sweep(s, (uint64_t)swept);
		fake_mark_by(&t, 0, FPROF_ORIGIN_GAME, i, UINT64_MAX, (uint64_t)(at + later));
	}
	fake_last_sweep(s, (uint64_t)(at + 1000 * MS));
	expect_game_frames(s, step, later, 4);
	assert_int_equal(fake_ring(s, 0, 0)->discarded[DISCARD_HOOK_MARK], 4);
	fake_balance(fake_ring(s, 0, 0), &t);
	fake_session_free(s);
	fake_memory_deinit(&m);
}

static void a_game_that_marks_behind_the_hook_in_its_ring_has_its_own_frames(void **state)
{
	(void)state;
	play_both(1000, 10, 1000 * MS);	   /* all is there at once */
	play_both(1000, 10, 300);	   /* swept between the two marks */
	play_both(40 * MS, 10000, 5 * MS); /* a slow game */
	play_both(400 * MS, 150 * MS, 5 * MS);
}

/* A second mark of the hook says that the game does not mark; no frame of a hooked game is lost. */
static void a_hooked_game_is_held_until_its_second_mark(void **state)
{
	struct fake_memory m;
	struct fake_thread t;
	struct live *s;

	(void)state;
	one_memory(&m, &t, &s);
	fake_mark(&t, 100);
	fake_sweep(s, 20 * MS);
	assert_int_equal(s->batch->frames.count, 0);
	fake_mark(&t, 20 * MS);
	fake_sweep(s, 21 * MS);
	assert_int_equal(s->batch->frames.count, 2);
	assert_int_equal(s->batch->frames.at[0].t1, 100);
	assert_int_equal(fake_ring(s, 0, 0)->discarded[DISCARD_HOOK_MARK], 0);
	fake_session_free(s);
	fake_memory_deinit(&m);
}

static void a_hooked_game_with_one_frame_is_held_for_a_second_only(void **state)
{
	struct fake_memory m;
	struct fake_thread t;
	struct live *s;

	(void)state;
	one_memory(&m, &t, &s);
	fake_mark(&t, 100);
	fake_sweep(s, 1000 * MS);
	assert_int_equal(s->batch->frames.count, 0);
	fake_sweep(s, 1001 * MS);
	assert_int_equal(s->batch->frames.count, 1);
	fake_session_free(s);
	fake_memory_deinit(&m);
}

/* One thread in two memories is one track. */
static void lanes_of_a_thread_are_one_track(void **state)
{
	struct world *w = *state;

	hook_begin(w);
	fake_mark(&w->hook, 100);
	fake_begin(&w->main, w->zone, 120);
	fake_end(&w->main, w->zone, 130);
	fake_sweep(w->s, 2000 * MS);
	assert_int_equal(live_flush(w->s), 0);
	assert_int_equal(fake_ring(w->s, 1, 0)->own->id, fake_ring(w->s, 0, 1)->own->id);
	assert_chunks(w->s->batch, fake_track(w->s->batch, "main"), 0, "|T0|+zone-");
	assert_chunks(w->s->batch, fake_track(w->s->batch, "main"), 1, "|T0|M");
}

/* The ith interval of a slow worker: 251 to 1999 ms, in no order. */
static uint64_t uneven(uint64_t i)
{
	return (251 + i * 7919 % 1749) * MS;
}

/* Beside a main stream at 60 Hz, in sweeps that end anywhere. */
static void a_slow_uneven_stream_has_no_empty_and_no_long_frames(void **state)
{
	struct world *w = *state;
	uint32_t stream = fake_marker(&w->m[0], FPROF_MARKER_STREAM, "stream");
	uint64_t ticks[40], tick = 0, main = 0, t = 0, n = 0;
	size_t i, seen = 0;

	for (i = 0; i < 40; i++)
		ticks[i] = tick += uneven(i);
	for (i = 0; i < 40; t = main += 16 * MS) {
		fake_mark(&w->main, main + 100);
		if (ticks[i] < main + 16 * MS) {
			fake_begin(&w->other, w->zone, ticks[i] - 10);
			fake_end(&w->other, w->zone, ticks[i] - 5);
			fake_mark_by(&w->other, stream, FPROF_ORIGIN_GAME, ++n, UINT64_MAX,
				     ticks[i++]);
		}
		if (n % 3 == 0)
			fake_sweep(w->s, t);
	}
	fake_sweep(w->s, t + 1000 * MS);
	for (i = 0; i < w->s->batch->frames.count; i++) {
		const struct frame_row *f = &w->s->batch->frames.at[i];

		if (f->stream == 0)
			continue;
		assert_int_equal(f->frame, seen + 1);
		assert_int_equal(f->t1, ticks[seen]);
		assert_int_equal(f->t0, seen ? ticks[seen - 1] : 20);
		assert_int_equal(f->flags & FRAME_STARTUP, seen ? 0 : FRAME_STARTUP);
		assert_true(f->end_ns - f->begin_ns >= 251 * MS - 20);
		assert_true(f->end_ns - f->begin_ns < 2000 * (int64_t)MS);
		seen++;
	}
	assert_int_equal(seen, 40);
}

/* Every number of a session rests on its clock. */
static void a_doubtful_clock_marks_every_frame(void **state)
{
	struct world *w = *state;

	assert_int_equal(w->s->clock_kind, FPROF_CLOCK_MONOTONIC);
	fake_mark(&w->main, 100);
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	w->s->clock_kind = FPROF_CLOCK_TSC; /* as if it had always been */
	fake_mark(&w->main, 300);
	fake_sweep(w->s, 1000);
	expect_frames(w, 3);
	assert_int_equal(w->s->batch->frames.at[0].flags, FRAME_STARTUP | FRAME_CLOCK_DOUBTFUL);
	assert_int_equal(w->s->batch->frames.at[1].flags, FRAME_CLOCK_DOUBTFUL);
	assert_int_equal(w->s->batch->frames.at[2].flags, 0);
}

/* NaN is no number, and a database would take it for NULL. */
static void a_counter_of_nan_is_malformed(void **state)
{
	struct world *w = *state;
	uint32_t marker = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "c");
	const uint64_t nan = UINT64_C(0xfff8000000000000), inf = UINT64_C(0x7ff0000000000000);

	fake_counter(&w->main, marker, FPROF_COUNTER_SET, FPROF_VALUE_F64, nan, 50);
	fake_mark(&w->main, 100);
	fake_counter(&w->main, marker, FPROF_COUNTER_SET, FPROF_VALUE_F64, inf, 150);
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	assert_int_equal(fake_ring(w->s, 0, 1)->discarded[DISCARD_MALFORMED], 1);
	assert_int_equal(w->s->batch->frame_counters.count, 1);
	assert_int_equal(w->s->batch->frame_counters.at[0].frame, 2);
	fake_balance(fake_ring(w->s, 0, 1), &w->main);
}

static void named_streams_have_frames_of_their_own(void **state)
{
	struct world *w = *state;
	uint32_t tick = fake_marker(&w->m[0], FPROF_MARKER_STREAM, "tick");

	fake_mark(&w->main, 100);
	fake_begin(&w->other, w->zone, 110);
	fake_end(&w->other, w->zone, 120);
	fake_mark_by(&w->other, tick, FPROF_ORIGIN_GAME, 1, UINT64_MAX, 250);
	fake_mark(&w->main, 200);
	fake_begin(&w->other, w->zone, 260);
	fake_end(&w->other, w->zone, 270);
	fake_mark_by(&w->other, tick, FPROF_ORIGIN_GAME, 2, UINT64_MAX, 350);
	fake_mark(&w->main, 300);
	fake_sweep(w->s, 1000);
	assert_int_equal(live_flush(w->s), 0);
	expect_frames(w, 5);
	expect_frame(w, 0, 0, 1, 0, 100, FRAME_STARTUP);
	expect_frame(w, 2, 0, 3, 200, 300, 0);
	expect_frame(w, 3, 1, 1, 20, 250, FRAME_STARTUP);
	expect_frame(w, 4, 1, 2, 250, 350, 0);
	assert_int_equal(w->s->batch->frames.at[3].events, 3); /* of that thread only */
	assert_int_equal(w->s->batch->frames.at[4].events, 3); /* its first mark, a zone */
	assert_string_equal(w->s->batch->streams.at[1].name, "tick");
	assert_int_equal(w->s->batch->streams.at[1].track, fake_track(w->s->batch, "other"));
}

static const struct frame_row *frame_at(const struct world *w, size_t i)
{
	assert_true(i < w->s->batch->frames.count);
	return &w->s->batch->frames.at[i];
}

static void expect_waits(const struct world *w, size_t i, int64_t cpu, int64_t gpu, int64_t present,
			 int64_t cap)
{
	const struct frame_row *f = frame_at(w, i);

	assert_int_equal(f->cpu_ns, cpu);
	assert_true(f->wait_gpu_ns == gpu);
	assert_true(f->wait_present_ns == present);
	assert_true(f->wait_cap_ns == cap);
}

static void waits_partition_the_wall_time(void **state)
{
	struct world *w = *state;
	uint32_t gpu = fake_marker(&w->m[0], FPROF_MARKER_WAIT_GPU, "fence");
	uint32_t cap = fake_marker(&w->m[0], FPROF_MARKER_WAIT_CAP, "sleep");

	fake_mark(&w->main, 1000);
	fake_begin(&w->main, w->zone, 1010);
	fake_begin(&w->main, gpu, 1100);
	fake_begin(&w->main, w->inner, 1110); /* a zone inside a wait refines nothing */
	fake_end(&w->main, w->inner, 1120);
	fake_begin(&w->main, cap, 1150); /* the innermost wait counts */
	fake_end(&w->main, cap, 1160);
	fake_end(&w->main, gpu, 1200);
	fake_end(&w->main, w->zone, 1300);
	fake_begin(&w->main, cap, 1900);
	fake_mark(&w->main, 2000); /* a wait across the boundary is clipped */
	fake_end(&w->main, cap, 2500);
	fake_mark(&w->main, 3000);
	fake_begin(&w->other, gpu, 2100); /* another thread's waits are its own */
	fake_end(&w->other, gpu, 2900);
	fake_sweep(w->s, 5000);
	expect_frames(w, 3);
	expect_waits(w, 0, 1000, 0, NS_UNKNOWN, 0);
	expect_waits(w, 1, 1000 - 90 - 110, 90, NS_UNKNOWN, 110);
	expect_waits(w, 2, 500, 0, NS_UNKNOWN, 500);
}

/* The hook's wait zones lie in another memory than the game's, on the same thread. */
static void waits_of_two_lanes_are_merged(void **state)
{
	struct world *w = *state;
	uint32_t gpu = fake_marker(&w->m[0], FPROF_MARKER_WAIT_GPU, "fence");
	uint32_t present = fake_marker(&w->m[1], FPROF_MARKER_WAIT_PRESENT, "swap");

	hook_begin(w);
	fake_mark(&w->main, 1000);
	fake_begin(&w->main, gpu, 1100);
	fake_begin(&w->hook, present, 1200);
	fake_end(&w->hook, present, 1300);
	fake_end(&w->main, gpu, 1400);
	fake_begin(&w->hook, present, 1900);
	fake_mark(&w->main, 2000);
	fake_end(&w->hook, present, 2100);
	fake_mark(&w->main, 3000);
	fake_sweep(w->s, 5000);
	expect_frames(w, 3);
	expect_waits(w, 1, 1000 - 200 - 200, 200, 200, NS_UNKNOWN);
	expect_waits(w, 2, 900, 0, 100, NS_UNKNOWN);
}

static const struct frame_counter_row *counter_at(const struct world *w, uint64_t frame,
						  const char *name)
{
	size_t i;

	for (i = 0; i < w->s->batch->frame_counters.count; i++) {
		const struct frame_counter_row *c = &w->s->batch->frame_counters.at[i];

		if (c->frame == frame && !strcmp(fake_marker_name(w->s->batch, c->marker), name))
			return c;
	}
	return NULL;
}

static void expect_counter(const struct world *w, uint64_t frame, const char *name, int64_t value)
{
	const struct frame_counter_row *c = counter_at(w, frame, name);

	assert_non_null(c);
	assert_false(c->is_double);
	assert_int_equal(c->value.i, value);
}

static void set_counters_hold_and_add_counters_start_at_zero(void **state)
{
	struct world *w = *state;
	uint32_t set = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "set");
	uint32_t add = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "add");

	fake_mark(&w->main, 100);
	fake_counter(&w->other, set, FPROF_COUNTER_SET, FPROF_VALUE_I64, 7, 150);
	fake_counter(&w->main, set, FPROF_COUNTER_SET, FPROF_VALUE_I64, 6, 140);
	fake_counter(&w->main, add, FPROF_COUNTER_ADD, FPROF_VALUE_I64, 10, 160);
	fake_counter(&w->other, add, FPROF_COUNTER_ADD, FPROF_VALUE_I64, 5, 170);
	fake_mark(&w->main, 200);
	fake_mark(&w->main, 300);
	fake_counter(&w->other, add, FPROF_COUNTER_ADD, FPROF_VALUE_I64, (uint64_t)-3, 350);
	fake_mark(&w->main, 400);
	fake_sweep(w->s, 1000);
	assert_null(counter_at(w, 1, "set")); /* null before the first */
	assert_null(counter_at(w, 1, "add"));
	expect_counter(w, 2, "set", 7); /* the last by time, not by arrival */
	expect_counter(w, 2, "add", 15);
	expect_counter(w, 3, "set", 7);
	expect_counter(w, 3, "add", 0);
	expect_counter(w, 4, "add", -3);
	assert_false(counter_at(w, 4, "add")->incomplete);
}

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, 8);
	return bits;
}

static void a_counter_becomes_a_double_with_its_first_fraction(void **state)
{
	struct world *w = *state;
	uint32_t ms = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "ms");
	const struct frame_counter_row *c;

	fake_counter(&w->main, ms, FPROF_COUNTER_ADD, FPROF_VALUE_I64, 2, 50);
	fake_counter(&w->main, ms, FPROF_COUNTER_ADD, FPROF_VALUE_F64, bits_of(0.5), 60);
	fake_mark(&w->main, 100);
	fake_sweep(w->s, 1000);
	c = counter_at(w, 1, "ms");
	assert_non_null(c);
	assert_true(c->is_double);
	assert_true(c->value.d == 2.5);
}

static void counters_beyond_the_limit_are_refused_and_counted(void **state)
{
	struct world *w = *state;
	uint32_t a = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "a");
	uint32_t b = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "b");

	w->s->counters.max = 1;
	fake_counter(&w->main, a, FPROF_COUNTER_SET, FPROF_VALUE_I64, 1, 50);
	fake_counter(&w->main, b, FPROF_COUNTER_SET, FPROF_VALUE_I64, 1, 60);
	fake_mark(&w->main, 100);
	fake_sweep(w->s, 1000);
	assert_non_null(counter_at(w, 1, "a"));
	assert_null(counter_at(w, 1, "b"));
	assert_int_equal(w->s->repaired[REPAIR_COUNTERS_REFUSED], 1);
	fake_balance(fake_ring(w->s, 0, 1), &w->main);
}

/* The ring of the other thread is lapped: the frames of the loss say so, and all that was lost is
 * shared out. */
static void a_lap_is_counted_exactly_and_flags_the_frames(void **state)
{
	struct world *w = *state;
	uint32_t set = fake_marker(&w->m[0], FPROF_MARKER_COUNTER, "set");
	uint64_t lost = 0, t = 1000, i;

	fake_counter(&w->main, set, FPROF_COUNTER_SET, FPROF_VALUE_I64, 1, 30);
	fake_mark(&w->main, 1000);
	fake_sweep(w->s, 1001);
	for (i = 0; i < 3000; i++, t += 2) {
		fake_begin(&w->other, w->zone, t);
		fake_end(&w->other, w->zone, t + 1);
		if (i % 1000 == 999)
			fake_mark(&w->main, t + 2);
	}
	fake_mark(&w->main, 8000);
	fake_sweep(w->s, 10000);
	assert_int_equal(live_flush(w->s), 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->other);
	assert_true(fake_ring(w->s, 0, 0)->overwritten > 3000);
	expect_frames(w, 5);
	for (i = 0; i < 5; i++)
		lost += frame_at(w, i)->lost_events;
	assert_int_equal(lost, fake_ring(w->s, 0, 0)->overwritten);
	assert_int_equal(w->s->batch->gaps.count, 1);
	assert_int_equal(w->s->batch->gaps.at[0].events, lost);
	assert_false(frame_at(w, 0)->flags & FRAME_LOST_EVENTS);
	assert_true(frame_at(w, 1)->flags & FRAME_LOST_EVENTS);
	assert_true(frame_at(w, 1)->flags & FRAME_COUNTERS_INCOMPLETE);
	assert_true(counter_at(w, 2, "set")->incomplete);
	assert_true(frame_at(w, 2)->flags & FRAME_LOST_EVENTS);
	assert_true(frame_at(w, 3)->flags & FRAME_LOST_EVENTS);
	assert_false(frame_at(w, 4)->flags & FRAME_LOST_EVENTS);
}

static void lost_marks_make_the_numbers_jump(void **state)
{
	struct world *w = *state;
	uint64_t t;

	fake_mark(&w->main, 100);
	fake_sweep(w->s, 150);
	for (t = 200; t <= 200 * 1000; t += 200)
		fake_mark(&w->main, t);
	fake_sweep(w->s, 300 * 1000);
	fake_balance(fake_ring(w->s, 0, 1), &w->main);
	assert_true(w->s->batch->frames.count > 100 && w->s->batch->frames.count < 1001);
	assert_true(frame_at(w, 1)->flags & FRAME_MARKS_LOST);
	assert_true(frame_at(w, 1)->flags & FRAME_LOST_EVENTS);
	assert_true(frame_at(w, 1)->frame > 2);
	assert_false(frame_at(w, 2)->flags & FRAME_MARKS_LOST);
	assert_int_equal(frame_at(w, w->s->batch->frames.count - 1)->frame, 1001);
}

/* A zero-length wait and equal times, a mark at the very time of the one before. */
static void equal_times_are_frames_of_no_length(void **state)
{
	struct world *w = *state;

	fake_mark(&w->main, 100);
	fake_mark(&w->main, 100);
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	expect_frames(w, 3);
	expect_frame(w, 1, 0, 2, 100, 100, 0);
	expect_frame(w, 2, 0, 3, 100, 200, 0);
}

static void many_marks_in_one_sweep_close_many_frames(void **state)
{
	struct world *w = *state;
	uint64_t t;

	for (t = 1; t <= 300; t++)
		fake_mark(&w->main, 100 * t);
	for (t = 1; t <= 300; t++)
		fake_begin(&w->other, w->zone, 100 * t + 50),
			fake_end(&w->other, w->zone, 100 * t + 60);
	fake_sweep(w->s, 40000);
	expect_frames(w, 300);
	for (t = 1; t < 300; t++)
		assert_int_equal(frame_at(w, t)->events, 3);
}

static void without_a_clock_step_no_frame_is_flagged(void **state)
{
	struct world *w = *state;

	fake_mark(&w->main, 100); /* its frame begins at 0, the session's start */
	fake_mark(&w->main, 200);
	fake_sweep(w->s, 1000);
	expect_frames(w, 2);
	expect_frame(w, 0, 0, 1, 0, 100, FRAME_STARTUP);
	expect_frame(w, 1, 0, 2, 100, 200, 0);
	assert_int_equal(w->s->repaired[REPAIR_CLOCK_STEP], 0);
}

static void a_clock_step_flags_its_frame(void **state)
{
	struct world *w = *state;

	fake_mark(&w->main, 100);
	fake_mark(&w->main, 200);
	fake_mark(&w->main, 300);
	live_clock_step(w->s, FAKE_START + 110, FAKE_START + 150);
	fake_sweep(w->s, 1000);
	expect_frames(w, 3);
	expect_frame(w, 0, 0, 1, 0, 100, FRAME_STARTUP);
	expect_frame(w, 1, 0, 2, 100, 200, FRAME_CLOCK_STEP);
	expect_frame(w, 2, 0, 3, 200, 300, 0);
	assert_int_equal(w->s->repaired[REPAIR_CLOCK_STEP], 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(marks_end_frames),
		TEST(other_threads_are_cut_at_the_marks),
		TEST(sweeps_do_not_change_what_is_cut),
		TEST(nothing_beyond_the_horizon_is_read),
		TEST(late_events_are_kept_apart_and_counted),
		TEST(marks_of_another_thread_are_counted_not_obeyed),
		TEST(a_mark_that_says_it_is_foreign_gives_nobody_a_stream),
		TEST(frames_in_which_the_game_loads_are_flagged),
		TEST(frames_not_recorded_throughout_have_no_partition),
		TEST(the_next_marking_thread_takes_over_from_one_that_ended),
		TEST(the_games_marks_win_over_the_hooks),
		TEST(hook_marks_seen_together_with_the_games_are_ignored),
		TEST(a_game_that_marks_behind_the_hook_in_its_ring_has_its_own_frames),
		TEST(a_hooked_game_is_held_until_its_second_mark),
		TEST(a_hooked_game_with_one_frame_is_held_for_a_second_only),
		TEST(lanes_of_a_thread_are_one_track),
		TEST(named_streams_have_frames_of_their_own),
		TEST(a_slow_uneven_stream_has_no_empty_and_no_long_frames),
		TEST(a_doubtful_clock_marks_every_frame),
		TEST(a_counter_of_nan_is_malformed),
		TEST(waits_partition_the_wall_time),
		TEST(waits_of_two_lanes_are_merged),
		TEST(set_counters_hold_and_add_counters_start_at_zero),
		TEST(a_counter_becomes_a_double_with_its_first_fraction),
		TEST(counters_beyond_the_limit_are_refused_and_counted),
		TEST(a_lap_is_counted_exactly_and_flags_the_frames),
		TEST(lost_marks_make_the_numbers_jump),
		TEST(equal_times_are_frames_of_no_length),
		TEST(many_marks_in_one_sweep_close_many_frames),
		TEST(without_a_clock_step_no_frame_is_flagged),
		TEST(a_clock_step_flags_its_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
