// SPDX-License-Identifier: MIT
/*
 * What readings of a thread's schedstat say of its frames. The truth is a list of frames, each of
 * which computes, waits unseen and waits in a zone; readings are made of it as the kernel makes
 * them, behind by up to a tick while the thread runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/util.h"
#include "daemon/verdict_ran.h"

#define MS(n) ((int64_t)((n)*1e6))
#define TICK  MS(4)
#define SLACK (2 * TICK)
#define TRACK 7

/* It computes, waits in a way that nobody marked, and waits in a zone, in this order. */
struct truth {
	double cpu_ms, unseen_ms, zone_ms;
};

struct world {
	history_nears_vec frames;
	struct ran_thread thread;
	const struct truth *truth;
	size_t count;
};

/* How long it has run by t. */
static int64_t ran_by(const struct world *w, int64_t t)
{
	int64_t ran = 0;
	size_t i;

	for (i = 0; i < w->count; i++) {
		int64_t in = t - w->frames.at[i].begin_ns;

		if (in <= 0)
			break;
		ran += MIN(in, MS(w->truth[i].cpu_ms));
	}
	return ran;
}

static void world_make(struct world *w, const struct truth *truth, size_t count, int64_t each)
{
	int64_t t = MS(1000), at;
	size_t i;

	*w = (struct world){.thread = {.track = TRACK}, .truth = truth, .count = count};
	for (i = 0; i < count; i++) {
		struct history_near f = {.frame = i + 1, .begin_ns = t, .track = TRACK};

		f.cpu_ns = MS(truth[i].cpu_ms) + MS(truth[i].unseen_ms);
		t += f.cpu_ns + MS(truth[i].zone_ms);
		f.end_ns = t;
		assert_int_equal(VEC_PUSH(&w->frames, f), 0);
	}
	for (at = MS(990); at < t + each; at += each) {
		int64_t behind = (at / 1000) % TICK, ran = ran_by(w, at);
		int64_t stale = MAX(ran - behind, ran_by(w, at - behind));

		assert_int_equal(VEC_PUSH(&w->thread.rans, ((struct history_ran){at, stale})), 0);
	}
	assert_int_equal(ran_thread_bound(&w->thread, &w->frames, SLACK), 0);
}

static struct verdict_ran ran_of(const struct world *w, size_t i)
{
	return ran_thread_frame(&w->thread, &w->frames, SLACK, i);
}

static void world_end(struct world *w)
{
	VEC_FREE(&w->frames);
	VEC_FREE(&w->thread.rans);
	VEC_FREE(&w->thread.least_ns);
}

#define FRAMES 180

static void fill(struct truth *truth, struct truth each)
{
	size_t i;

	for (i = 0; i < FRAMES; i++)
		truth[i] = each;
}

/* That many ms of frame i were not run, give or take. */
static void expect(const struct world *w, size_t i, double ms, double error)
{
	struct verdict_ran ran = ran_of(w, i);

	assert_true(ran.window_ns > 0);
	if (ran.not_run_ns < MS(ms - error) || ran.not_run_ns > MS(ms + error))
		fail_msg("frame %zu: %.3f ms, not %.3f (at least %.3f)", i,
			 (double)ran.not_run_ns / 1e6, ms, (double)ran.least_ns / 1e6);
}

static void a_game_that_computes_is_not_accused(void **state)
{
	struct truth truth[FRAMES];
	struct world w;
	size_t i;

	(void)state;
	fill(truth, (struct truth){16.7, 0, 0});
	world_make(&w, truth, FRAMES, MS(40));
	for (i = 5; i < FRAMES - 5; i++)
		assert_int_equal(ran_of(&w, i).not_run_ns, 0);
	world_end(&w);
	fill(truth, (struct truth){6, 0, 10.7});
	truth[90].cpu_ms = 100;
	world_make(&w, truth, FRAMES, MS(40));
	for (i = 5; i < FRAMES - 5; i++)
		assert_int_equal(ran_of(&w, i).not_run_ns, 0);
	world_end(&w);
}

static void a_sleep_of_every_frame_is_found_in_each(void **state)
{
	struct truth truth[FRAMES];
	struct world w;
	size_t i;

	(void)state;
	fill(truth, (struct truth){2, 5, 0});
	world_make(&w, truth, FRAMES, MS(40));
	for (i = 10; i < FRAMES - 10; i++)
		expect(&w, i, 5, 0.3);
	world_end(&w);
	fill(truth, (struct truth){6, 5, 5.7});
	world_make(&w, truth, FRAMES, MS(40));
	for (i = 10; i < FRAMES - 10; i++)
		expect(&w, i, 5, 0.4);
	world_end(&w);
}

/* One frame in seconds, of which the game has no zone. */
static void a_lone_frame_that_waited_is_the_one(void **state)
{
	static const double waits[] = {30, 100, 500};
	struct truth truth[FRAMES];
	struct world w;
	size_t i, k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(waits); k++) {
		fill(truth, (struct truth){6, 0, 10.7});
		truth[90].unseen_ms = waits[k];
		world_make(&w, truth, FRAMES, MS(40));
		for (i = 10; i < FRAMES - 10; i++)
			if (i == 90)
				expect(&w, i, waits[k], 12);
			else
				assert_int_equal(ran_of(&w, i).not_run_ns, 0);
		world_end(&w);
	}
}

/* Beside it another frame as long computes: the readings next to them tell them apart. */
static void who_waited_and_who_computed_are_told_apart(void **state)
{
	struct truth truth[FRAMES];
	struct world w;

	(void)state;
	fill(truth, (struct truth){6, 0, 10.7});
	truth[80].unseen_ms = 150;
	truth[90].cpu_ms = 156;
	world_make(&w, truth, FRAMES, MS(40));
	expect(&w, 80, 150, 25);
	expect(&w, 90, 10, 20);
	world_end(&w);
}

static void without_readings_on_both_sides_nothing_is_said(void **state)
{
	struct truth truth[FRAMES];
	struct world w;
	size_t i;

	(void)state;
	fill(truth, (struct truth){2, 5, 0});
	world_make(&w, truth, FRAMES, MS(40));
	w.thread.rans.count /= 2;
	assert_int_equal(ran_of(&w, FRAMES - 1).window_ns, 0);
	assert_true(ran_of(&w, FRAMES - 1).unread);
	assert_true(ran_of(&w, 20).window_ns > 0 && !ran_of(&w, 20).unread);
	/* those that began before the first, or go on after the last */
	for (i = 0; i < FRAMES; i++) {
		const struct history_near *f = &w.frames.at[i];
		bool between = f->begin_ns >= w.thread.rans.at[0].ns &&
			       f->end_ns <= w.thread.rans.at[w.thread.rans.count - 1].ns;

		if (ran_of(&w, i).window_ns > 0)
			assert_true(between);
	}
	w.thread.rans.at += 2;
	w.thread.rans.count -= 2;
	assert_int_equal(ran_of(&w, 0).window_ns, 0);
	w.thread.rans.at -= 2;
	w.thread.rans.count = 1;
	assert_int_equal(ran_of(&w, 20).window_ns, 0);
	w.thread.rans.count = 0;
	assert_false(ran_of(&w, 20).unread);
	world_end(&w);
}

/* The thread may have run outside of them, or in frames of which nothing is known. */
static void what_ran_outside_of_frames_tells_nothing(void **state)
{
	struct truth truth[FRAMES];
	struct world w;
	size_t i;

	(void)state;
	fill(truth, (struct truth){2, 5, 0});
	world_make(&w, truth, FRAMES, MS(40));
	for (i = 0; i < FRAMES; i += 2)
		w.frames.at[i].cpu_ns = NS_UNKNOWN;
	assert_int_equal(ran_of(&w, 91).window_ns, 0);
	assert_int_equal(ran_of(&w, 90).window_ns, 0);
	for (i = 0; i < FRAMES; i += 2)
		w.frames.at[i].track = TRACK + 1;
	assert_int_equal(ran_of(&w, 91).window_ns, 0);
	world_end(&w);
}

/* As those that older recordings have. */
static void readings_a_second_apart_tell_of_all_between(void **state)
{
	struct truth truth[FRAMES];
	struct world w;

	(void)state;
	fill(truth, (struct truth){5, 10, 0});
	world_make(&w, truth, FRAMES, MS(1000));
	expect(&w, 90, 10, 0.5);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_game_that_computes_is_not_accused),
		cmocka_unit_test(a_sleep_of_every_frame_is_found_in_each),
		cmocka_unit_test(a_lone_frame_that_waited_is_the_one),
		cmocka_unit_test(who_waited_and_who_computed_are_told_apart),
		cmocka_unit_test(without_readings_on_both_sides_nothing_is_said),
		cmocka_unit_test(what_ran_outside_of_frames_tells_nothing),
		cmocka_unit_test(readings_a_second_apart_tell_of_all_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
