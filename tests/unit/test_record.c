// SPDX-License-Identifier: MIT
/*
 * Where recording ceases and begins again, as the rings say: zones that are open there are closed
 * in the last frame, what comes from beyond is left out and counted, ends that come later are no
 * mistakes.
 */
#include "fake_game.h"

struct world {
	struct fake_memory m;
	struct fake_thread t[2];
	struct live *s;
	uint32_t a, b, count;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_memory_new(&w->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	w->a = fake_marker(&w->m, FPROF_MARKER_ZONE, "a");
	w->b = fake_marker(&w->m, FPROF_MARKER_ZONE, "b");
	w->count = fake_marker(&w->m, FPROF_MARKER_COUNTER, "c");
	w->s = fake_session(&w->m, 1);
	fake_thread_begin(&w->t[0], &w->m, 0, 100, 1, "t0", 1);
	fake_thread_begin(&w->t[1], &w->m, 1, 101, 2, "t1", 2);
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

static void say(struct fake_thread *t, uint32_t state, uint64_t ticks, uint64_t time)
{
	uint64_t words[3] = {0, state, FAKE_START + ticks};

	fake_ext(t, FPROF_EXT_RECORD, words, 3, time);
}

#define AT_MARK (FPROF_RECORD_AT_MARK | FPROF_STATE_FROZEN)

static void balance(struct world *w)
{
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
}

static void open_zones_are_closed_in_the_last_frame(void **state)
{
	struct world *w = *state;
	const struct frame_row *frame;

	fake_mark(&w->t[0], 10);
	fake_begin(&w->t[0], w->a, 20);
	fake_begin(&w->t[1], w->a, 21);
	fake_begin(&w->t[1], w->b, 22);
	say(&w->t[0], AT_MARK, 0, 99);
	fake_mark(&w->t[0], 100);
	finish(w, 200);
	expect(w, "t0", "|T0|M+a?x1|M");
	expect(w, "t1", "|T0|+a+bx2");
	assert_int_equal(w->s->batch->frames.count, 2);
	frame = &w->s->batch->frames.at[1];
	assert_int_equal(frame->t1, 100);
	assert_int_equal(frame->flags & FRAME_PAUSED, 0);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 3);
	assert_int_equal(w->s->record.state, FPROF_STATE_FROZEN);
	balance(w);
}

static void what_comes_from_beyond_is_left_out_and_counted(void **state)
{
	struct world *w = *state;

	fake_mark(&w->t[0], 10);
	fake_begin(&w->t[1], w->a, 21);
	say(&w->t[0], AT_MARK, 0, 99);
	fake_mark(&w->t[0], 100);
	fake_begin(&w->t[1], w->b, 101); /* slipped through */
	fake_counter(&w->t[1], w->count, FPROF_COUNTER_ADD, FPROF_VALUE_I64, 1, 102);
	fake_end(&w->t[1], w->b, 103);
	fake_end(&w->t[1], w->a, 104);
	finish(w, 200);
	expect(w, "t1", "|T0|+ax1");
	assert_int_equal(fake_ring(w->s, 0, 1)->discarded[DISCARD_NOT_RECORDING], 4);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	balance(w);
}

static void recording_begins_again_before_its_mark(void **state)
{
	struct world *w = *state;

	fake_mark(&w->t[0], 10);
	fake_begin(&w->t[1], w->a, 21);
	say(&w->t[0], AT_MARK, 0, 99);
	fake_mark(&w->t[0], 100);
	finish(w, 200);
	fake_begin(&w->t[1], w->b, 499); /* the gates were not open yet */
	fake_begin(&w->t[1], w->b, 501);
	say(&w->t[0], FPROF_STATE_RECORDING, 500, 510);
	w->t[0].marks += 4; /* counted while nothing was recorded */
	fake_mark(&w->t[0], 511);
	fake_end(&w->t[1], w->b, 520);
	fake_end(&w->t[1], w->b, 521);
	fake_end(&w->t[1], w->a, 522);
	fake_end(&w->t[1], w->a, 523);
	finish(w, 600);
	expect(w, "t1", "|T0|+ax1|+b|^b-s:bs:as:a");
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 1); /* the last one */
	assert_int_equal(fake_ring(w->s, 0, 1)->discarded[DISCARD_NOT_RECORDING], 1);
	assert_int_equal(w->s->record.state, FPROF_STATE_RECORDING);
	assert_int_equal(w->s->batch->frames.at[2].frame, 7);
	balance(w);
}

/* The word that says so was overwritten: a mark is proof enough. */
static void a_mark_says_that_recording_is_on(void **state)
{
	struct world *w = *state;

	fake_mark(&w->t[0], 10);
	say(&w->t[0], AT_MARK, 0, 99);
	fake_mark(&w->t[0], 100);
	finish(w, 200);
	fake_mark(&w->t[0], 300);
	fake_begin(&w->t[1], w->a, 310);
	finish(w, 400);
	expect(w, "t1", "|T0|+a");
	assert_int_equal(w->s->record.state, FPROF_STATE_RECORDING);
	balance(w);
}

/* The mark that was announced never came. */
static void a_lost_boundary_is_made_up_for_when_recording_begins(void **state)
{
	struct world *w = *state;

	fake_mark(&w->t[0], 10);
	fake_begin(&w->t[1], w->a, 20);
	say(&w->t[0], AT_MARK, 0, 99);
	finish(w, 200);
	assert_int_equal(w->s->record.state, FPROF_STATE_RECORDING);
	say(&w->t[0], FPROF_STATE_RECORDING, 500, 510);
	fake_mark(&w->t[0], 511);
	fake_begin(&w->t[1], w->b, 520);
	finish(w, 600);
	expect(w, "t1", "|T0|+a|^ax1|+b");
	balance(w);
}

static void a_process_without_marks_ceases_at_once(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 20);
	fake_begin(&w->t[1], w->a, 20);
	say(&w->t[0], FPROF_STATE_STOPPED, 0, 50);
	finish(w, 55);
	fake_end(&w->t[1], w->a, 60);
	finish(w, 100);
	expect(w, "t0", "|T0+a?x1");
	expect(w, "t1", "|T0+ax1");
	assert_int_equal(record_clear_point(w->s), 51);
	balance(w);
}

static void nonsense_is_malformed(void **state)
{
	struct world *w = *state;
	uint64_t two[2] = {0, FPROF_STATE_STOPPED};

	say(&w->t[0], 7, 0, 20);
	fake_ext(&w->t[0], FPROF_EXT_RECORD, two, 2, 21);
	finish(w, 100);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED], 2);
	assert_int_equal(w->s->record.state, FPROF_STATE_RECORDING);
	balance(w);
}

static void a_clear_goes_up_to_the_last_boundary(void **state)
{
	struct world *w = *state;

	assert_int_equal(live_clear(w->s), 0);
	assert_int_equal(w->s->batch->clears.count, 0); /* nothing was read */
	fake_mark(&w->t[0], 10);
	fake_mark(&w->t[0], 100);
	finish(w, 150);
	assert_int_equal(live_clear(w->s), 0);
	assert_int_equal(w->s->batch->clears.count, 1);
	assert_int_equal(w->s->batch->clears.at[0].before, 100);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(open_zones_are_closed_in_the_last_frame),
		T(what_comes_from_beyond_is_left_out_and_counted),
		T(recording_begins_again_before_its_mark),
		T(a_mark_says_that_recording_is_on),
		T(a_lost_boundary_is_made_up_for_when_recording_begins),
		T(a_process_without_marks_ceases_at_once),
		T(nonsense_is_malformed),
		T(a_clear_goes_up_to_the_last_boundary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
