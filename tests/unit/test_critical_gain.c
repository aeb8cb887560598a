/* SPDX-License-Identifier: MIT */
/* What frames would lose without a zone: played by hand. */
#include "daemon/critical_gain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAIN  0u
#define NODES 8

struct game {
	struct slab *slabs;
	struct slab_list threads[3];
	struct gain_meeting meetings[16];
	size_t count;
	uint64_t keys[NODES];
};

/* Each node is a key of its own, unless a test says otherwise: nodes 0..3. */
static struct game game_new(void)
{
	return (struct game){.keys = {1, 2, 4, 8}};
}

static void did(struct game *g, uint32_t thread, uint32_t node, int64_t ns)
{
	assert_int_equal(gain_add(&g->threads[thread], &g->slabs, node, ns), 0);
}

static void meets(struct game *g, uint32_t thread)
{
	assert_int_equal(gain_add(&g->threads[thread], &g->slabs, GAIN_MEETS, 0), 0);
}

static void begin(struct game *g, int64_t t)
{
	uint32_t i;

	g->meetings[g->count++] = (struct gain_meeting){.t = t, .kind = GAIN_BEGIN};
	for (i = 0; i < 3; i++)
		meets(g, i);
}

static void end(struct game *g, int64_t t)
{
	g->meetings[g->count++] = (struct gain_meeting){.t = t, .kind = GAIN_END, .thread = MAIN};
	meets(g, MAIN);
}

static void wakes(struct game *g, uint32_t waker, uint32_t thread, int64_t t, uint64_t waited)
{
	g->meetings[g->count++] = (struct gain_meeting){.t = t,
							.kind = GAIN_WAKE,
							.thread = thread & 7,
							.waker = waker & 7,
							.waited_ns = waited & 0xffff};
	meets(g, thread);
	meets(g, waker);
}

/* Ends the game, too. */
static void assert_gains(struct game *g, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const struct gain_play play = {.threads = g->threads,
				       .thread_count = 3,
				       .meetings = g->meetings,
				       .meeting_count = g->count,
				       .keys = g->keys,
				       .node_count = NODES,
				       .key_count = 4};
	int64_t gains[GAIN_KEYS_MAX] = {0};

	assert_int_equal(gain_play(&play, gains), 0);
	assert_int_equal(gains[0], a);
	assert_int_equal(gains[1], b);
	assert_int_equal(gains[2], c);
	assert_int_equal(gains[3], d);
	slab_free(g->slabs);
}

/* Node 1 is inside of node 0; node 4 is nobody's key. */
static void own_time_is_gained(void **state)
{
	struct game g = game_new();

	(void)state;
	g.keys[1] |= g.keys[0];
	did(&g, MAIN, 2, 1000); /* before the frame */
	begin(&g, 0);
	did(&g, MAIN, 0, 10);
	did(&g, MAIN, 1, 20);
	did(&g, MAIN, 4, 500);
	did(&g, MAIN, NODES, 500); /* nobody knows it */
	did(&g, MAIN, 0, 5);
	end(&g, 1035);
	did(&g, MAIN, 3, 1000); /* after it */
	assert_gains(&g, 35, 20, 0, 0);
}

/* main does 20, waits until 80 for thread 1, which did node 1 for 30 and node 2 for 50. */
static void what_is_waited_for_is_gained_up_to_the_wait(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, 20);
	did(&g, 1, 1, 30);
	did(&g, 1, 2, 50);
	wakes(&g, 1, MAIN, 80, 60);
	did(&g, 1, 3, 20); /* what the waker does then is of no interest */
	did(&g, MAIN, 0, 20);
	end(&g, 100);
	/* node 0 before the wait had slack; after it, it counts */
	assert_gains(&g, 20, 30, 50, 0);
}

/* Thread 1 does nothing but node 1: without it main would not wait, and that is all. */
static void no_more_than_the_wait_is_gained(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, 20);
	did(&g, 1, 1, 80);
	wakes(&g, 1, MAIN, 80, 60);
	end(&g, 80);
	assert_gains(&g, 0, 60, 0, 0);
}

/* Thread 2 ends main's next wait at 60, but thread 1 had held it up to 51. */
static void the_next_longest_path_takes_over(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, 20);
	did(&g, 1, 1, 50);
	wakes(&g, 1, MAIN, 50, 30);
	did(&g, MAIN, 0, 1);
	did(&g, 2, 2, 60);
	wakes(&g, 2, MAIN, 60, 9);
	end(&g, 60);
	assert_gains(&g, 0, 0, 9, 0);
}

/* Both waits of main are for node 1: 0-3 and 3-8 of the other thread. Without it main does its own
 * millisecond, and is done. */
static void a_zone_that_is_waited_for_twice(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, 1, 1, 3);
	wakes(&g, 1, MAIN, 3, 3);
	did(&g, MAIN, 0, 1);
	did(&g, 1, 1, 5);
	wakes(&g, 1, MAIN, 8, 4);
	did(&g, MAIN, 2, 1);
	end(&g, 9);
	assert_gains(&g, 0, 7, 1, 0);
}

/* Node 1 is the limiter's zone: it wakes when it woke, whatever came before. */
static void what_paces_takes_up_what_was_saved(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, 10);
	did(&g, MAIN, 1, 2);
	did(&g, MAIN, 1 | GAIN_UNTIL, 20);
	did(&g, MAIN, 2, 3);
	end(&g, 35);
	assert_gains(&g, 0, 22, 3, 0);
}

static void frames_add_up_and_begin_anew(void **state)
{
	struct game g = game_new();

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, 10);
	did(&g, 1, 1, 10);
	end(&g, 10);
	begin(&g, 10);
	did(&g, MAIN, 0, 5);
	did(&g, 1, 1, 4);
	/* what the first frame saved of node 1 is not there any more */
	wakes(&g, 1, MAIN, 19, 4);
	end(&g, 20);
	assert_gains(&g, 10, 4, 0, 0);
}

static void entries_of_any_length(void **state)
{
	struct game g = game_new();
	int i;

	(void)state;
	begin(&g, 0);
	did(&g, MAIN, 0, INT64_C(10000000000));
	did(&g, MAIN, 0, 0);
	for (i = 0; i < 3000; i++) /* more than a block */
		did(&g, MAIN, 1, 2);
	end(&g, INT64_C(10000006000));
	assert_gains(&g, INT64_C(10000000000), 6000, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_time_is_gained),
		cmocka_unit_test(what_is_waited_for_is_gained_up_to_the_wait),
		cmocka_unit_test(no_more_than_the_wait_is_gained),
		cmocka_unit_test(the_next_longest_path_takes_over),
		cmocka_unit_test(a_zone_that_is_waited_for_twice),
		cmocka_unit_test(what_paces_takes_up_what_was_saved),
		cmocka_unit_test(frames_add_up_and_begin_anew),
		cmocka_unit_test(entries_of_any_length),
	};

	return cmocka_run_group_tests_name("critical_gain", tests, NULL, NULL);
}
