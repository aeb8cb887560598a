/* SPDX-License-Identifier: MIT */
/*
 * An internal fault ends the recording of its session, says why, and touches nothing else: the Nth
 * time that an array of the daemon has to grow while one of two sessions is swept, it does not.
 */
#include "failing_vec.h"
#include "fake_game.h"

#include <errno.h>
#include <stdlib.h>

struct game {
	struct fake_memory m;
	struct fake_thread t[2];
	struct live *s;
	uint32_t zone;
};

static void game_begin(struct game *g, uint64_t id, struct batch *batch)
{
	struct session_row row = fake_row();

	memset(g, 0, sizeof(*g));
	row.id = id;
	fake_memory_new(&g->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	g->zone = fake_marker(&g->m, FPROF_MARKER_ZONE, "zone");
	assert_int_equal(live_new(&row, NULL, NULL, 4096, batch, &g->s), 0);
	assert_int_equal(live_add_memory(g->s, fake_memory_open(&g->m)), 0);
	fake_thread_begin(&g->t[0], &g->m, 0, 100, 1, "main", 10);
	fake_thread_begin(&g->t[1], &g->m, 1, 101, 2, "other", 20);
}

static void game_play(struct game *g, uint64_t from)
{
	uint64_t i;

	for (i = from; i < from + 1000; i += 100) {
		fake_begin(&g->t[0], g->zone, i + 10);
		fake_begin(&g->t[1], g->zone, i + 20);
		fake_end(&g->t[1], g->zone, i + 30);
		fake_end(&g->t[0], g->zone, i + 40);
		fake_mark(&g->t[0], i + 50);
	}
}

static void game_end(struct game *g)
{
	live_free(g->s);
	fake_memory_deinit(&g->m);
}

static int sweep(struct live *s, uint64_t now)
{
	struct live_sweep sweep = {.now = FAKE_START + now};

	return live_sweep(s, &sweep);
}

static const struct session_update_row *newest_update(const struct batch *b, uint64_t id)
{
	size_t i;

	for (i = b->updates.count; i > 0; i--)
		if (b->updates.at[i - 1].id == id)
			return &b->updates.at[i - 1];
	return NULL;
}

/* The sound game: all that it did is in the batch, balanced. */
static void expect_whole(const struct game *g, uint64_t id, const struct batch *b)
{
	const struct session_update_row *update = newest_update(b, id);
	uint64_t events = 0;
	size_t i, frames = 0;

	for (i = 0; i < b->frames.count; i++)
		frames += b->frames.at[i].session == id;
	for (i = 0; i < b->chunks.count; i++)
		events += b->chunks.at[i].session == id ? b->chunks.at[i].events : 0;
	assert_int_equal(frames, 20);
	assert_int_equal(g->s->fault, 0);
	assert_non_null(update);
	assert_null(update->fault);
	assert_int_equal(update->frames_total, 20);
	assert_int_equal(update->produced, fake_produced(&g->t[0]) + fake_produced(&g->t[1]));
	assert_int_equal(update->produced, update->received + update->overwritten);
	assert_int_equal(update->overwritten, 0);
	assert_int_equal(update->stored, update->received);
	assert_int_equal(update->stored, events);
	fake_balance(fake_ring(g->s, 0, 0), &g->t[0]);
	fake_balance(fake_ring(g->s, 0, 1), &g->t[1]);
}

/* Two games in one batch; the nth growth of a sweep or flush of the second fails. Did it? */
static bool play_with_fault(long nth)
{
	struct batch *batch = batch_new();
	struct game sound, broken;
	const struct session_update_row *update;
	bool failed;

	assert_non_null(batch);
	game_begin(&sound, 1, batch);
	game_begin(&broken, 2, batch);
	game_play(&sound, 0);
	game_play(&broken, 0);
	assert_int_equal(sweep(sound.s, 1000), 0);
	vec_grows_left = nth;
	if (sweep(broken.s, 1000) == 0)
		live_flush(broken.s);
	failed = vec_grows_left < 0;
	vec_grows_left = -1;
	game_play(&sound, 1000);
	game_play(&broken, 1000);
	assert_int_equal(sweep(sound.s, 2000), 0);
	assert_int_equal(sweep(broken.s, 2000), broken.s->fault);
	assert_int_equal(live_flush(sound.s), 0);
	assert_int_equal(live_flush(broken.s), broken.s->fault);
	expect_whole(&sound, 1, batch);
	if (broken.s->fault < 0) {
		update = newest_update(batch, 2);
		assert_non_null(update);
		assert_string_equal(update->fault,
				    "recording was given up: Cannot allocate memory");
	} else {
		expect_whole(&broken, 2, batch);
	}
	game_end(&sound);
	game_end(&broken);
	batch_free(batch);
	return failed;
}

static void a_fault_stops_its_session_with_a_reason_and_nothing_else(void **state)
{
	long nth = 0;

	(void)state;
	while (play_with_fault(nth))
		nth++;
	assert_true(nth > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_stops_its_session_with_a_reason_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
