/* SPDX-License-Identifier: MIT */
/*
 * The ledger under all that a memory can hold or do: laps, garbage, a head that runs backwards, a
 * writer killed at every step, times that jump; resuming from what an earlier daemon committed.
 */
#include "fake_game.h"

#include <errno.h>
#include <pthread.h>

struct world {
	struct fake_memory m;
	struct fake_thread t[2];
	struct live *s;
	uint32_t a, b;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_memory_new(&w->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	w->a = fake_marker(&w->m, FPROF_MARKER_ZONE, "a");
	w->b = fake_marker(&w->m, FPROF_MARKER_ZONE, "b");
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

/* Sum of the lead words of all chunks. */
static uint64_t chunk_events(const struct batch *b)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < b->chunks.count; i++)
		sum += b->chunks.at[i].events;
	return sum;
}

static const struct chunk_row *last_chunk(const struct world *w, const char *name)
{
	uint32_t track = fake_track(w->s->batch, name);
	size_t i = w->s->batch->chunks.count;

	while (i > 0 && w->s->batch->chunks.at[i - 1].track != track)
		i--;
	assert_true(i > 0);
	return &w->s->batch->chunks.at[i - 1];
}

static const struct ledger_row *last_ledger(const struct batch *b, uint32_t slot)
{
	size_t i;

	for (i = b->ledgers.count; i > 0; i--)
		if (b->ledgers.at[i - 1].slot == slot)
			return &b->ledgers.at[i - 1];
	return NULL;
}

static void the_ledger_is_in_the_batch_of_its_chunks(void **state)
{
	struct world *w = *state;
	const struct ledger_row *l;
	int i;

	for (i = 0; i < 100; i++)
		fake_begin(&w->t[0], w->a, 10 + (uint64_t)i);
	finish(w, 1000);
	l = last_ledger(w->s->batch, 0);
	assert_non_null(l);
	assert_int_equal(l->tail, w->t[0].w.slot->head);
	assert_int_equal(l->produced, 101);
	assert_int_equal(l->received, 101);
	assert_int_equal(l->stored, 101);
	assert_int_equal(l->base_ticks, FAKE_START + 109);
	assert_int_equal(chunk_events(w->s->batch), 102); /* and the other thread's begin */
	assert_int_equal(w->s->batch->updates.at[0].stored, 102);
	assert_int_equal(w->s->batch->memories.count, 1);
	i = (int)w->s->batch->ledgers.count;
	finish(w, 1100); /* nothing new: nothing written */
	assert_int_equal(w->s->batch->ledgers.count, i);
	assert_int_equal(w->s->batch->updates.count, 1);
}

/* The fullest since the row before. */
static void each_ring_says_how_full_it_was(void **state)
{
	struct world *w = *state;
	uint64_t words = w->t[0].w.mask + 1, i, t = 10;

	for (i = 0; i < words / 4; i++)
		fake_begin(&w->t[0], w->a, t++);
	finish(w, t);
	assert_in_range(last_ledger(w->s->batch, 0)->fill_permille, 250, 300);
	assert_in_range(last_ledger(w->s->batch, 1)->fill_permille, 0, 20);
	fake_end(&w->t[0], w->a, t++);
	finish(w, t);
	assert_in_range(last_ledger(w->s->batch, 0)->fill_permille, 0, 5);
}

static void laps_at_every_fill_are_counted_exactly(void **state)
{
	struct world *w = *state;
	uint64_t t = 10, round, i;

	for (round = 1; round < 60; round++) {
		for (i = 0; i < round * 97; i++) {
			fake_begin(&w->t[0], w->a, t++);
			fake_end(&w->t[0], w->a, t++);
		}
		finish(w, t);
		fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	}
	assert_true(fake_ring(w->s, 0, 0)->overwritten > 0);
	assert_int_equal(fake_ring(w->s, 0, 0)->stored + fake_ring(w->s, 0, 1)->stored,
			 chunk_events(w->s->batch));
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 0);
}

static void a_lap_closes_what_was_open_as_truncated(void **state)
{
	struct world *w = *state;
	uint64_t t = 20, i;

	fake_begin(&w->t[0], w->b, 10);
	finish(w, 15);
	for (i = 0; i < 1500; i++) {
		fake_begin(&w->t[0], w->a, t++);
		fake_end(&w->t[0], w->a, t++);
	}
	fake_end(&w->t[0], w->b, t++); /* its begin was closed: known to be no mistake */
	fake_begin(&w->t[0], w->a, t++);
	finish(w, t);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 1);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	assert_int_equal(fake_ring(w->s, 0, 0)->part->depth, 1);
	assert_int_equal(w->s->batch->gaps.count, 1);
	assert_int_equal(w->s->batch->gaps.at[0].events, fake_ring(w->s, 0, 0)->overwritten);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* The slot's owner changes within what is lost. */
static void a_lap_over_the_end_of_a_thread_ends_its_track(void **state)
{
	struct world *w = *state;
	uint64_t t = 20, i;

	fake_begin(&w->t[0], w->b, 10);
	finish(w, 15);
	fake_thread_begin(&w->t[0], &w->m, 0, 555, 7, "heir", t++);
	for (i = 0; i < 1500; i++) {
		fake_begin(&w->t[0], w->a, t++);
		fake_end(&w->t[0], w->a, t++);
	}
	finish(w, t);
	expect(w, "t0", "|T0+b|^bx1");
	assert_int_equal(fake_ring(w->s, 0, 0)->own->tid, 555);
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "heir");
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* Writes more than a ring holds. */
static uint64_t lap(struct world *w, uint32_t thread, uint64_t t)
{
	int i;

	for (i = 0; i < 1500; i++) {
		fake_begin(&w->t[thread], w->a, t++);
		fake_end(&w->t[thread], w->a, t++);
	}
	return t;
}

static void a_thread_whose_words_were_lapped_keeps_its_name(void **state)
{
	struct world *w = *state;
	uint64_t t = 20;

	fake_thread_name(&w->t[0], "worker", t++);
	t = lap(w, 0, t); /* before anybody looked */
	finish(w, t);
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "worker");
	assert_int_equal(fake_ring(w->s, 0, 0)->own->tid, 100);
	fake_thread_name(&w->t[0], "other work", t++);
	t = lap(w, 0, t); /* with its track known */
	finish(w, t);
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "other work");
	assert_int_equal(fake_track(w->s->batch, "other work"), fake_ring(w->s, 0, 0)->own->id);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* The hook's memory has the kernel's name for a thread, the game's has what the game calls it. */
static void a_name_of_the_games_holds_over_one_of_the_kernels(void **state)
{
	struct world *w = *state;
	struct fake_memory hook;
	struct fake_thread same = {0};
	uint64_t t = 20;

	fake_memory_new(&hook, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
	assert_int_equal(live_add_memory(w->s, fake_memory_open(&hook)), 0);
	fake_thread_begin(&same, &hook, 0, 100, 1, "kernel", 1);
	fake_mark(&same, t++);
	fake_thread_name(&w->t[0], "worker", t++);
	t = lap(w, 0, t);
	finish(w, t);
	assert_ptr_equal(fake_ring(w->s, 0, 0)->own, fake_ring(w->s, 1, 0)->own);
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "worker");
	while (fake_ring(w->s, 1, 0)->overwritten == 0) {
		for (int i = 0; i < 1500; i++)
			fake_mark(&same, t++);
		finish(w, t);
	}
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "worker");
	fake_memory_deinit(&hook);
}

/* A thread that stops in the middle of writing its slot is known once it goes on. */
static void an_owner_that_was_not_at_rest_is_asked_again(void **state)
{
	struct world *w = *state;
	uint64_t t = lap(w, 0, 20);

	w->t[0].w.slot->seq++;
	finish(w, t);
	assert_int_equal(fake_ring(w->s, 0, 0)->own->tid, 0);
	w->t[0].w.slot->seq++;
	fake_begin(&w->t[0], w->b, t++);
	for (int i = 0; i < 300; i++) { /* up to the next block */
		fake_begin(&w->t[0], w->a, t++);
		fake_end(&w->t[0], w->a, t++);
	}
	finish(w, t);
	assert_int_equal(fake_ring(w->s, 0, 0)->own->tid, 100);
	assert_string_equal(fake_ring(w->s, 0, 0)->own->name, "t0");
	assert_int_equal(fake_track(w->s->batch, "t0"), fake_ring(w->s, 0, 0)->own->id);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void a_head_that_runs_backwards_ends_the_ring_only(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	finish(w, 15);
	w->t[0].w.slot->head -= 1;
	fake_begin(&w->t[1], w->a, 20);
	finish(w, 30);
	finish(w, 40);
	assert_int_equal(w->s->repaired[REPAIR_HEAD_BACKWARDS], 1);
	assert_true(fake_ring(w->s, 0, 0)->abandoned);
	expect(w, "t0", "|T0+a|^ax1");
	expect(w, "t1", "|T0|+a");
	assert_int_equal(w->s->fault, 0);
}

static void raw_word(struct world *w, uint64_t word, uint64_t time)
{
	fake_put(&w->t[0], &word, 1, time);
}

/* A session's names must not fill the history: what has no room is discarded and counted. */
static void names_have_a_bound(void **state)
{
	struct marker_copy copy = {.kind = FPROF_MARKER_ZONE};
	struct world *w = *state;
	uint32_t late, id;
	bool is_new;
	int r = 0;

	memset(copy.name, 'x', FPROF_NAME_MAX);
	while (r == 0) {
		copy.line++;
		r = marker_table_intern(&w->s->markers, &copy, &id, &is_new);
	}
	assert_int_equal(r, -ENOSPC);
	assert_in_range(copy.line, MARKER_TABLE_BYTES / FPROF_NAME_MAX - 1,
			MARKER_TABLE_BYTES / FPROF_NAME_MAX + 1);
	copy.line = 1; /* is there already */
	assert_int_equal(marker_table_intern(&w->s->markers, &copy, &id, &is_new), 0);
	assert_false(is_new);
	late = fake_marker(&w->m, FPROF_MARKER_ZONE, copy.name);
	fake_begin(&w->t[0], late, 10);
	fake_end(&w->t[0], late, 11);
	fake_begin(&w->t[0], w->a, 12);
	fake_end(&w->t[0], w->a, 13);
	finish(w, 100);
	expect(w, "t0", "|T0+a-");
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_QUOTA], 2);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void unknown_markers_are_discarded_one_by_one(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[0], 200, 11);
	fake_end(&w->t[0], 200, 12);
	fake_begin(&w->t[0], 0, 13);
	fake_end(&w->t[0], w->a, 14);
	finish(w, 100);
	expect(w, "t0", "|T0+a-");
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED], 3);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* After a word that makes no sense nothing is believed up to the next header, which gives the
 * number. */
static void a_garbage_word_costs_its_block_exactly(void **state)
{
	struct world *w = *state;
	uint64_t t = 10, i;

	fake_begin(&w->t[0], w->a, t++);
	raw_word(w, UINT64_C(7) << 60, t);
	for (i = 0; i < 600; i++) {
		fake_begin(&w->t[0], w->b, t++);
		fake_end(&w->t[0], w->b, t++);
	}
	finish(w, t);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED] > 400);
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED] < 512);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 1); /* a */
}

/* Hostile: markers that differ in no string must not all meet in one place of the table. */
static void markers_that_differ_in_numbers_only_do_not_meet(void **state)
{
	struct marker_copy copy = {.kind = FPROF_MARKER_ZONE, .name = "x"};
	struct marker_table t = {0};
	uint32_t i, id, equal = 0;
	bool is_new;

	(void)state;
	for (i = 0; i < 4096; i++) {
		copy.colour = i;
		assert_int_equal(marker_table_intern(&t, &copy, &id, &is_new), 0);
		assert_true(is_new);
		equal += i > 0 && marker_table_at(&t, id)->hash == marker_table_at(&t, 1)->hash;
	}
	assert_true(equal < 2);
	marker_table_deinit(&t);
}

/* Counts that a memory claims do not wrap the sums. */
static void hostile_counts_do_not_wrap(void **state)
{
	uint64_t words[4] = {0, 0, 1, UINT64_MAX};
	struct world *w = *state;
	const struct session_update_row *row;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		w->t[i].w.slot->dropped_reentrant = UINT64_MAX;
		fake_ext(&w->t[i], FPROF_EXT_GPU_DROPPED, words, 4, 10);
	}
	finish(w, 100);
	row = &w->s->batch->updates.at[w->s->batch->updates.count - 1];
	assert_true(row->dropped_reentrant == INT64_MAX);
	assert_true(row->repaired[REPAIR_GPU_DROPPED] == INT64_MAX);
}

/* Nothing is silent: each block whose header is garbage has one event at least. */
static void garbage_headers_are_counted(void **state)
{
	struct world *w = *state;
	uint64_t t = 10, i;

	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->a, t++), fake_end(&w->t[0], w->a, t++);
	w->t[0].w.ring[FPROF_BLOCK_WORDS] = 3;
	w->t[0].w.ring[2 * FPROF_BLOCK_WORDS] = 3;
	finish(w, t);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED], 2);
	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->a, t++), fake_end(&w->t[0], w->a, t++);
	finish(w, t);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]); /* the next header knows them all */
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED] > 600);
}

/* A memory's start is its own word: no time of ours is built on it. */
static void absurd_starts_of_a_memory_are_bounded(void **state)
{
	static const uint64_t starts[] = {0, UINT64_C(1) << 63, INT64_MAX, UINT64_MAX};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct fake_thread t = {0};
		struct fake_memory m;

		fake_memory_new(&m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
		m.head->start_ticks = starts[i];
		assert_int_equal(live_add_memory(w->s, fake_memory_open(&m)), 0);
		fake_thread_begin(&t, &m, 0, 200, 1, "h", 10);
		finish(w, 100 + i);
		assert_true(fake_ring(w->s, (uint32_t)i + 1, 0)->base <= (int64_t)(100 + i));
		assert_true(fake_ring(w->s, (uint32_t)i + 1, 0)->base >= -LANE_START_MAX);
		assert_true(live_ticks(w->s, starts[i]) <= LIVE_TICKS_MAX);
		assert_true(live_ticks(w->s, starts[i]) >= -LIVE_TICKS_MAX);
		fake_memory_deinit(&m);
	}
}

static void lengths_beyond_the_block_are_malformed(void **state)
{
	struct world *w = *state;
	uint64_t t = 10, i;

	raw_word(w, FPROF_EXT_TOP(FPROF_EXT_MESSAGE, 4095) | 10, t);
	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->a, t++), fake_end(&w->t[0], w->a, t++);
	raw_word(w, FPROF_EXT_TOP(FPROF_EXT_MARK, 0) | 10, t);
	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->a, t++), fake_end(&w->t[0], w->a, t++);
	finish(w, t);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_true(fake_ring(w->s, 0, 0)->stored > 500);
}

static void short_extended_events_are_malformed_alone(void **state)
{
	struct world *w = *state;
	uint64_t words[2] = {0, 0};
	unsigned kind;

	for (kind = FPROF_EXT_THREAD; kind <= FPROF_EXT_INFO; kind++)
		if (kind != FPROF_EXT_THREAD_END && kind != FPROF_EXT_THREAD_NAME &&
		    kind != FPROF_EXT_TEXT)
			fake_ext(&w->t[0], (enum fprof_ext_kind)kind, words, 2, 10);
	fake_begin(&w->t[0], w->a, 20);
	finish(w, 100);
	expect(w, "t0", "|T0+a");
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED],
			 FPROF_EXT_INFO - FPROF_EXT_THREAD + 1 - 3);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void times_that_run_backwards_are_clamped_or_dropped(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 100000);
	fake_end(&w->t[0], w->a, 99999);   /* within what CPUs differ */
	fake_begin(&w->t[0], w->b, 50000); /* behind the block's header, but far back */
	fake_end(&w->t[0], w->b, 100500);
	finish(w, 200000);
	expect(w, "t0", "|T0+a-+b-");
	assert_int_equal(last_chunk(w, "t0")->t1, 100500);
	assert_int_equal(w->s->repaired[REPAIR_TIME_BACKWARDS], 1);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void times_from_before_the_block_are_dropped(void **state)
{
	struct world *w = *state;
	uint64_t i;

	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->a, 100000 + i), fake_end(&w->t[0], w->a, 100000 + i);
	fake_begin(&w->t[0], w->b, 50);
	fake_begin(&w->t[0], w->a, 200000);
	finish(w, 300000);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_TIME], 1);
	assert_int_equal(fake_ring(w->s, 0, 0)->part->depth, 1);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* The future is measured by the real clock: a day after it. */
static void times_from_the_future_are_dropped_and_block_nothing(void **state)
{
	struct world *w = *state;
	uint64_t now = fprof_clock_read(FPROF_CLOCK_MONOTONIC) - FAKE_START, t;

	for (t = 10; t < now; t += UINT64_C(1) << 38)
		fake_sweep(w->s, t);
	fake_begin(&w->t[0], w->a, now);
	fake_end(&w->t[0], w->a, now + UINT64_C(400) * 1000000000);
	fake_begin(&w->t[0], w->b, now + 10);
	fake_sweep(w->s, now + 100);
	assert_int_equal(live_flush(w->s), 0);
	expect(w, "t0", "|T0+a+b");
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_TIME], 1);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* 40 bits of ticks are 18 minutes here; sweeps and headers keep longer silences unambiguous. */
static void a_long_silence_is_bridged_by_sweeps(void **state)
{
	struct world *w = *state;
	const uint64_t step = UINT64_C(1) << 38;
	uint64_t t = 10, i;

	fake_begin(&w->t[0], w->a, t);
	for (i = 0; i < 12; i++) {
		t += step;
		fake_sweep(w->s, t);
	}
	fake_end(&w->t[0], w->a, t + 5);
	finish(w, t + 10);
	assert_int_equal(last_chunk(w, "t0")->t1, t + 5);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

static void what_stays_ambiguous_is_dropped_up_to_the_next_header(void **state)
{
	struct world *w = *state;
	uint64_t t = UINT64_C(1) << 41, i;

	fake_begin(&w->t[0], w->a, 10);
	finish(w, 20);
	for (i = 0; i < 600; i++)
		fake_begin(&w->t[0], w->b, t + i), fake_end(&w->t[0], w->b, t + i);
	finish(w, t + 1000);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_TIME] > 400);
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_TIME] < 512);
	assert_int_equal(last_chunk(w, "t0")->t1, t + 599);
}

/* However many sweeps that is, what is left in the rings of a process that is gone is counted. */
static void what_a_gone_process_left_is_given_up_in_the_end(void **state)
{
	struct live_sweep sweep = {.now = FAKE_START + 100, .last = true, .budget_ns = 1};
	struct world *w = *state;
	uint32_t i;

	for (i = 0; i < LIVE_LAST_SWEEPS; i++) {
		fake_begin(&w->t[0], w->a, 10); /* somebody else still writes */
		assert_int_equal(live_sweep(w->s, &sweep), 0);
		fake_begin(&w->t[0], w->a, 10);
		fake_begin(&w->t[1], w->a, 10);
	}
	assert_int_equal(live_sweep(w->s, &sweep), 0);
	assert_false(sweep.behind);
	assert_int_equal(live_flush(w->s), 0);
	for (i = 0; i < 2; i++) {
		const struct ring *ring = fake_ring(w->s, 0, i);

		assert_int_equal(ring->reader.tail, w->t[i].w.slot->head);
		assert_int_equal(ring->received, ring->stored + ring_discarded(ring));
		assert_true(ring->received + ring->overwritten >= fake_produced(&w->t[i]));
	}
	assert_true(fake_ring(w->s, 0, 0)->discarded[DISCARD_QUOTA] > 0);
}

/* A sweep that has no time left reads something, and the next ones the rest. */
static void a_sweep_that_takes_too_long_leaves_the_rest_to_the_next(void **state)
{
	struct live_sweep sweep = {.now = FAKE_START + 100, .budget_ns = 1};
	struct world *w = *state;
	unsigned sweeps = 0;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[1], w->a, 10);
	do
		assert_int_equal(live_sweep(w->s, &sweep), 0);
	while (sweep.behind && ++sweeps < 10);
	assert_true(sweeps > 0 && sweeps < 10);
	assert_int_equal(live_flush(w->s), 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
}

static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A word that is garbage in one of several ways. */
static uint64_t garbage(uint64_t time)
{
	uint64_t kind = draw() % 16, sub = draw() % 20;

	switch (draw() % 4) {
	case 0:
		return draw();
	case 1:
		return FPROF_WORD_TOP(kind, draw() % 4) | ((FAKE_START + time) & FPROF_TIME_MASK);
	case 2:
		return FPROF_EXT_TOP(sub, draw() % 12) | ((FAKE_START + time) & FPROF_TIME_MASK);
	default:
		return draw() % 8;
	}
}

/* Whatever the words are: no crash, every row sound, received = stored + discarded, all of it read.
 */
static void random_words_never_unbalance_the_ledger(void **state)
{
	struct world *w = *state;
	static char text[1 << 20];
	uint64_t t = 10, *ring = w->t[0].w.ring;
	uint32_t round, i;

	seed = 4711;
	for (round = 0; round < 400; round++) {
		for (i = 0; i < draw() % 900; i++) {
			uint64_t pos;

			if (draw() % 3)
				fake_begin(&w->t[0], w->a, t), fake_end(&w->t[0], w->a, t + 1);
			pos = w->t[0].w.slot->head - 1 - draw() % 3;
			if (draw() % 20 == 0)
				ring[pos & w->t[0].w.mask] = garbage(t);
			t += 2;
		}
		finish(w, t);
		assert_int_equal(w->s->fault, 0);
		for (i = 0; i < 2; i++) {
			const struct ring *r = fake_ring(w->s, 0, i);

			assert_int_equal(r->received, r->stored + ring_discarded(r));
		}
	}
	fake_last_sweep(w->s, t);
	assert_int_equal(live_flush(w->s), 0);
	assert_true(fake_ring(w->s, 0, 0)->reader.tail == w->t[0].w.slot->head);
	for (i = 1; i < w->s->tracks.next_id; i++)
		fake_text(w->s->batch, i, 0, false, text, sizeof(text));
}

/* Only random words, headers too: nothing can be known but that all was read. */
static void a_ring_of_noise_is_read_to_its_end(void **state)
{
	struct world *w = *state;
	uint64_t pos, t = 10;
	uint32_t round;

	seed = 99;
	for (round = 0; round < 300; round++) {
		uint64_t head = w->t[0].w.slot->head, more = draw() % 3000;

		for (pos = head; pos < head + more; pos++)
			w->t[0].w.ring[pos & w->t[0].w.mask] = garbage(t++);
		w->t[0].w.slot->head = head + more;
		finish(w, t);
		assert_int_equal(w->s->fault, 0);
		assert_int_equal(fake_ring(w->s, 0, 0)->received,
				 fake_ring(w->s, 0, 0)->stored +
					 ring_discarded(fake_ring(w->s, 0, 0)));
	}
	fake_begin(&w->t[1], w->a, t);
	finish(w, t + 1);
	expect(w, "t1", "|T0|+a"); /* the other thread is none the worse */
}

/*
 * The stores of a writer, one by one: killed after any of them, what was published is read, what
 * was not is not, and the ledger balances.
 */
static void a_writer_killed_at_any_step_leaves_a_sound_ring(void **state)
{
	const unsigned events =
		FPROF_BLOCK_WORDS - FPROF_HEADER_WORDS; /* the next one opens a block */
	unsigned steps, step;

	(void)state;
	for (step = 0;; step++) {
		struct fake_memory m;
		struct fake_thread t = {0};
		struct fprof_slot *slot;
		uint64_t saved[2 * FPROF_BLOCK_WORDS], head, produced;
		struct live *s;
		uint32_t a;
		unsigned i;

		fake_memory_new(&m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
		a = fake_marker(&m, FPROF_MARKER_ZONE, "a");
		s = fake_session(&m, 1);
		fake_thread_begin(&t, &m, 0, 100, 1, "t0", 1);
		slot = t.w.slot;
		for (i = 3; i + 1 < events; i++)
			fake_begin(&t, a, 10 + i), i++, fake_end(&t, a, 10 + i);
		/* the whole of what is to come, and then only its first steps */
		head = slot->head;
		produced = fake_produced(&t);
		memcpy(saved, t.w.ring, sizeof(saved));
		fake_mark(&t, 5000); /* pads, header, mark */
		steps = (unsigned)(slot->head - head) + 3;
		if (step >= steps) {
			fake_session_free(s);
			fake_memory_deinit(&m);
			break;
		}
		for (i = (unsigned)head + step; i < slot->head; i++)
			t.w.ring[i] = saved[i];
		t.w.slot->head = step < steps - 2    ? head
				 : step == steps - 2 ? FPROF_BLOCK_WORDS
						     : FPROF_BLOCK_WORDS + FPROF_HEADER_WORDS;
		fake_last_sweep(s, 10000);
		s->end_reason = strdup("killed");
		assert_int_equal(live_end(s, SESSION_CRASHED), 0);
		assert_int_equal(fake_ring(s, 0, 0)->stored, fake_ring(s, 0, 0)->received);
		assert_int_equal(fake_ring(s, 0, 0)->received, produced);
		assert_int_equal(fake_ring(s, 0, 0)->reader.tail, t.w.slot->head);
		fake_session_free(s);
		fake_memory_deinit(&m);
	}
	assert_true(step > 8);
}

/* ---- resuming ---- */

/* What the store would give back after the batches so far. Takes the batch's strings. */
static struct store_resume *resume_from(const struct live *s)
{
	struct store_resume *r = calloc(1, sizeof(*r));
	const struct batch *b = s->batch;
	size_t i;

	assert_non_null(r);
	r->session = s->id;
	r->row = fake_row();
	r->last = s->last_update;
	r->next_track = s->tracks.next_id;
	for (i = 0; i < b->memories.count; i++)
		assert_int_equal(VEC_PUSH(&r->memories, b->memories.at[i]), 0);
	for (i = 0; i < b->markers.count; i++) {
		struct marker_row row = b->markers.at[i];

		row.name = strdup(row.name);
		row.category = row.file = NULL;
		assert_int_equal(VEC_PUSH(&r->markers, row), 0);
	}
	for (i = 0; i < s->tracks.all.count; i++) {
		const struct track *t = s->tracks.all.at[i];
		struct track_row row = {
			.session = s->id,
			.track = t->id,
			.kind = t->kind,
			.tid = t->tid,
			.name = t->name ? strdup(t->name) : NULL,
			.begin_ticks = t->begin,
			.end_ticks = t->end,
		};

		assert_int_equal(VEC_PUSH(&r->tracks, row), 0);
	}
	for (i = 0; i < b->streams.count; i++) {
		struct stream_row row = b->streams.at[i];

		row.name = strdup(row.name);
		assert_int_equal(VEC_PUSH(&r->streams, row), 0);
	}
	for (i = 0; i < 2; i++) {
		const struct ledger_row *l = last_ledger(b, (uint32_t)i);
		struct ledger_row row;

		if (!l)
			continue;
		row = *l;
		row.stack = malloc(row.stack_bytes);
		assert_non_null(row.stack);
		memcpy(row.stack, l->stack, row.stack_bytes);
		assert_int_equal(VEC_PUSH(&r->ledgers, row), 0);
	}
	if (b->frames.count > 0)
		assert_int_equal(VEC_PUSH(&r->last_frames, b->frames.at[b->frames.count - 1]), 0);
	return r;
}

/* The daemon is killed and started again: the session goes on from what was committed. */
static void restart(struct world *w)
{
	struct session_row row = fake_row();
	struct store_resume *resume = resume_from(w->s);
	struct batch *batch = batch_new();

	fake_session_free(w->s);
	assert_int_equal(live_new(&row, NULL, resume, 4096, batch, &w->s), 0);
	assert_int_equal(live_add_memory(w->s, fake_memory_open(&w->m)), 0);
}

static void a_restarted_daemon_goes_on_where_it_stopped(void **state)
{
	struct world *w = *state;

	fake_begin(&w->t[0], w->a, 10);
	fake_begin(&w->t[0], w->b, 20);
	fake_mark(&w->t[0], 100);
	fake_mark(&w->t[0], 200);
	finish(w, 250);
	restart(w);
	fake_end(&w->t[0], w->b, 260);
	fake_mark(&w->t[0], 300);
	fake_mark(&w->t[0], 400);
	fake_end(&w->t[0], w->a, 450);
	finish(w, 500);
	assert_int_equal(w->s->batch->memories.count, 0);
	assert_int_equal(w->s->batch->markers.count, 0);
	assert_int_equal(w->s->batch->frames.count, 2);
	assert_int_equal(w->s->batch->frames.at[0].frame, 3);
	assert_int_equal(w->s->batch->frames.at[0].t0, 200);
	assert_true(w->s->batch->frames.at[0].cpu_ns == NS_UNKNOWN); /* not seen from its start */
	assert_int_equal(w->s->batch->frames.at[1].frame, 4);
	assert_int_equal(w->s->batch->frames.at[1].cpu_ns, 100);
	assert_int_equal(w->s->batch->frames.at[1].flags & FRAME_MARKS_LOST, 0);
	assert_int_equal(w->s->batch->chunks.count, 3);
	assert_int_equal(w->s->batch->chunks.at[0].depth_in, 2);
	assert_int_equal(w->s->batch->chunks.at[2].depth_in, 1);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
}

static void what_was_overwritten_meanwhile_is_counted(void **state)
{
	struct world *w = *state;
	uint64_t t = 300, i, overwritten;

	fake_begin(&w->t[0], w->a, 10);
	fake_mark(&w->t[0], 100);
	finish(w, 250);
	overwritten = fake_ring(w->s, 0, 0)->overwritten;
	restart(w);
	for (i = 0; i < 3000; i++) {
		fake_begin(&w->t[0], w->b, t++);
		fake_end(&w->t[0], w->b, t++);
		if (i % 100 == 99)
			fake_mark(&w->t[0], t++);
	}
	finish(w, t);
	assert_true(fake_ring(w->s, 0, 0)->overwritten > overwritten);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_true(w->s->batch->frames.at[0].flags & FRAME_MARKS_LOST);
	assert_int_equal(w->s->batch->frames.at[w->s->batch->frames.count - 1].frame, 31);
}

static void fibers_go_on_after_a_restart(void **state)
{
	struct world *w = *state;
	uint32_t fiber = fake_marker(&w->m, FPROF_MARKER_FIBER, "job");
	uint32_t id;

	fake_fiber(&w->t[0], 9, 0, fiber, 10);
	fake_begin(&w->t[0], w->a, 11);
	fake_fiber(&w->t[0], 0, 0, 0, 12);
	fake_fiber(&w->t[1], 9, 1, fiber, 20);
	fake_begin(&w->t[1], w->b, 21);
	finish(w, 50);
	id = fake_track(w->s->batch, "job");
	restart(w);
	fake_end(&w->t[1], w->b, 61);
	fake_fiber(&w->t[1], 0, 0, 0, 62);
	fake_fiber(&w->t[0], 9, 2, fiber, 70);
	fake_end(&w->t[0], w->a, 71);
	finish(w, 100);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	assert_int_equal(w->s->repaired[REPAIR_TRUNCATED_ZONE], 0);
	assert_int_equal(w->s->batch->chunks.at[0].track, id);
	assert_int_equal(w->s->batch->chunks.at[0].depth_in, 2);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	fake_balance(fake_ring(w->s, 0, 1), &w->t[1]);
}

/* A damaged ledger loses the open zones and nothing else. */
static void a_damaged_stack_is_left_out(void **state)
{
	struct world *w = *state;
	struct ledger_row *l;
	uint32_t i;

	fake_begin(&w->t[0], w->a, 10);
	finish(w, 50);
	l = (struct ledger_row *)last_ledger(w->s->batch, 0);
	for (i = 0; i < l->stack_bytes; i++)
		l->stack[i] = 0xff;
	restart(w);
	fake_end(&w->t[0], w->a, 60);
	finish(w, 100);
	assert_int_equal(w->s->fault, 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
}

/* ---- with a real thread ---- */

#define RACE_EVENTS 400000u

static bool race_over;

static void *race_thread(void *userdata)
{
	struct world *w = userdata;
	uint32_t i;

	for (i = 0; i < RACE_EVENTS; i++) {
		uint64_t now = fprof_clock_read(FPROF_CLOCK_MONOTONIC) - FAKE_START;

		if (i % 2)
			fake_end(&w->t[0], w->a, now);
		else
			fake_begin(&w->t[0], w->a, now);
	}
	FPROF_STORE_RELEASE(&race_over, true);
	return NULL;
}

/* A writer that runs free against a reader that does too: all is received or counted as
 * overwritten. */
static void a_running_writer_loses_nothing_uncounted(void **state)
{
	struct world *w = *state;
	struct live_sweep sweep = {0};
	pthread_t thread;
	bool done = false;

	assert_int_equal(pthread_create(&thread, NULL, race_thread, w), 0);
	while (!done) {
		done = FPROF_LOAD_ACQUIRE(&race_over);
		sweep.now = fprof_clock_read(FPROF_CLOCK_MONOTONIC);
		sweep.grace = 0;
		assert_int_equal(live_sweep(w->s, &sweep), 0);
		assert_int_equal(live_flush(w->s), 0);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	sweep.last = true;
	do {
		sweep.now = fprof_clock_read(FPROF_CLOCK_MONOTONIC);
		assert_int_equal(live_sweep(w->s, &sweep), 0);
	} while (sweep.behind);
	w->s->end_reason = strdup("exit");
	assert_int_equal(live_end(w->s, SESSION_ENDED), 0);
	fake_balance(fake_ring(w->s, 0, 0), &w->t[0]);
	assert_int_equal(fake_ring(w->s, 0, 0)->discarded[DISCARD_MALFORMED], 0);
	assert_int_equal(w->s->repaired[REPAIR_STRAY_END], 0);
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 0);
	assert_int_equal(fake_ring(w->s, 0, 0)->stored + fake_ring(w->s, 0, 1)->stored,
			 chunk_events(w->s->batch));
}

static void a_memory_with_another_clock_is_refused(void **state)
{
	struct world *w = *state;
	struct fake_memory other;
	struct memory *memory;

	fake_memory_new(&other, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_HOOK);
	other.head->clock_kind = FPROF_CLOCK_TSC;
	memory = fake_memory_open(&other);
	assert_int_equal(live_add_memory(w->s, memory), -EINVAL);
	memory_free(memory);
	fake_memory_deinit(&other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_ledger_is_in_the_batch_of_its_chunks),
		TEST(each_ring_says_how_full_it_was),
		TEST(laps_at_every_fill_are_counted_exactly),
		TEST(a_lap_closes_what_was_open_as_truncated),
		TEST(a_lap_over_the_end_of_a_thread_ends_its_track),
		TEST(a_thread_whose_words_were_lapped_keeps_its_name),
		TEST(a_name_of_the_games_holds_over_one_of_the_kernels),
		TEST(an_owner_that_was_not_at_rest_is_asked_again),
		TEST(a_head_that_runs_backwards_ends_the_ring_only),
		TEST(names_have_a_bound),
		TEST(unknown_markers_are_discarded_one_by_one),
		TEST(a_garbage_word_costs_its_block_exactly),
		cmocka_unit_test(markers_that_differ_in_numbers_only_do_not_meet),
		TEST(hostile_counts_do_not_wrap),
		TEST(garbage_headers_are_counted),
		TEST(absurd_starts_of_a_memory_are_bounded),
		TEST(lengths_beyond_the_block_are_malformed),
		TEST(short_extended_events_are_malformed_alone),
		TEST(times_that_run_backwards_are_clamped_or_dropped),
		TEST(times_from_before_the_block_are_dropped),
		TEST(times_from_the_future_are_dropped_and_block_nothing),
		TEST(a_long_silence_is_bridged_by_sweeps),
		TEST(what_stays_ambiguous_is_dropped_up_to_the_next_header),
		TEST(what_a_gone_process_left_is_given_up_in_the_end),
		TEST(a_sweep_that_takes_too_long_leaves_the_rest_to_the_next),
		TEST(random_words_never_unbalance_the_ledger),
		TEST(a_ring_of_noise_is_read_to_its_end),
		cmocka_unit_test(a_writer_killed_at_any_step_leaves_a_sound_ring),
		TEST(a_restarted_daemon_goes_on_where_it_stopped),
		TEST(what_was_overwritten_meanwhile_is_counted),
		TEST(fibers_go_on_after_a_restart),
		TEST(a_damaged_stack_is_left_out),
		TEST(a_running_writer_loses_nothing_uncounted),
		TEST(a_memory_with_another_clock_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
