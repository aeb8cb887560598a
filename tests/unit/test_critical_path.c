/* SPDX-License-Identifier: MIT */
/* The walk back from a frame's end, over logs made by hand. */
#include "daemon/critical_path.h"
#include "daemon/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define GAME 100u

/* What is said of a thread: from t on it is in this state, by whom. */
struct step {
	int64_t t;
	enum sched_state state;
	uint32_t by; /* a tid of the game's, or one of the following */
};
enum {
	PREEMPTED = 1000, /* RUNNABLE, not woken: by this + a tid */
	TIMER = 2000,
	WORKER, /* of the kernel */
	OTHER,	/* a process */
};
#define STEPS_MAX 16

struct game {
	struct path_threads threads;
	struct path_interval intervals[8][STEPS_MAX];
};

static void add_person(struct path_threads *threads, uint32_t tid, uint32_t tgid)
{
	assert_int_equal(
		VEC_PUSH(&threads->people, ((struct path_person){.who = {tid, tgid, "x"}})), 0);
}

#define END 200 /* of all logs: a step then only says so */

/* Threads come by rising tid. */
static void add_thread(struct game *g, int32_t tid, const struct step *steps)
{
	size_t n = g->threads.at.count;
	struct path_thread thread = {.tid = tid, .sched = {g->intervals[n], 0}};
	struct path_interval *at = g->intervals[n];

	if (g->threads.people.count == 0) {
		uint32_t i;

		add_person(&g->threads, 0, 0);
		for (i = 1; i <= 8; i++)
			add_person(&g->threads, i, GAME);
		add_person(&g->threads, 2, 7); /* another process, whose number is one of ours */
	}
	do {
		*at = (struct path_interval){
			.t0 = steps->t, .state = (uint32_t)steps->state & 7, .reason = WAIT_LOCK};
		at->preempted = steps->by >= PREEMPTED && steps->by < TIMER;
		if (at->preempted)
			at->person = (steps->by - PREEMPTED) & 15;
		else if (steps->by == TIMER)
			at->wake_flags = SCHED_BY_INTERRUPT;
		else if (steps->by == WORKER)
			at->wake_flags = SCHED_BY_KERNEL_THREAD;
		else if (steps->by == OTHER)
			at->person = 9;
		else if (steps->by < 9)
			at->person = steps->by & 15;
		at++;
		thread.sched.count++;
	} while (steps++->t != END);
	assert_int_equal(VEC_PUSH(&g->threads.at, thread), 0);
	g->threads.with_tid++;
	g->threads.tgid = GAME;
}

static void game_deinit(struct game *g)
{
	VEC_FREE(&g->threads.at);
	VEC_FREE(&g->threads.people);
}

/* A frame [t0, t1) that the first thread marks: slices "tid from-to state[end]". */
static void assert_path(struct game *g, int64_t t0, int64_t t1, const char *want)
{
	static const char states[SCHED_STATES] = {'?', 'r', 'q', 'b', 'x'};
	path_slices_vec slices = {0};
	char got[1024] = "";
	size_t i, n = 0;

	path_resolve(&g->threads);
	assert_int_equal(path_walk(&g->threads, 0, t0, t1, &slices), 0);
	for (i = 0; i < slices.count; i++) {
		const struct path_slice *s = &slices.at[i];
		const struct path_thread *thread = &g->threads.at.at[s->thread];
		char state = s->interval == PATH_NOBODY
				     ? '-'
				     : states[thread->sched.at[s->interval].state];

		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%d:%d-%d%c%s%s", i ? " " : "",
				      thread->tid, (int)s->t0, (int)s->t1, state, s->end ? "/" : "",
				      s->end ? path_end_names[s->end] : "");
		assert_int_equal(s->t0, i ? slices.at[i - 1].t1 : t0);
	}
	assert_string_equal(got, want);
	assert_int_equal(slices.at[slices.count - 1].t1, t1);
	VEC_FREE(&slices);
}

#define R SCHED_STATE_RUNNING
#define Q SCHED_STATE_RUNNABLE
#define B SCHED_STATE_BLOCKED
#define U SCHED_STATE_UNKNOWN
#define X SCHED_STATE_GONE

static void a_thread_that_runs_is_the_path(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0}, {30, Q, PREEMPTED}, {50, R, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	assert_path(&g, 10, 100, "1:10-30r 1:30-50q 1:50-100r");
	assert_path(&g, 30, 50, "1:30-50q");
	assert_path(&g, 40, 60, "1:40-50q 1:50-60r");
	game_deinit(&g);
}

/* main waits for A, which waits for B, which worked on its own: its own time before main's wait
 * counts, main's does not. */
static void wakers_lead_across_threads(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0}, {20, B, 0}, {80, Q, 2}, {82, R, 0}, {END, U, 0}};
	static const struct step a[] = {{0, B, 0},  {10, Q, 1}, {12, R, 0}, {15, B, 0},
					{70, Q, 3}, {71, R, 0}, {90, B, 0}, {END, U, 0}};
	static const struct step b[] = {{0, R, 0}, {75, B, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, a);
	add_thread(&g, 3, b);
	assert_path(&g, 0, 100, "3:0-70r 2:70-71q 2:71-80r 1:80-82q 1:82-100r");
	/* a frame that begins later cuts whoever it is */
	assert_path(&g, 60, 100, "3:60-70r 2:70-71q 2:71-80r 1:80-82q 1:82-100r");
	/* one that ends in the middle of a wait: nothing has ended it */
	assert_path(&g, 0, 50, "1:0-20r 1:20-50b/still");
	game_deinit(&g);
}

static void a_wait_that_goes_on_is_still_one(void **state)
{
	static const struct step main_thread[] = {{0, R, 0}, {20, B, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	assert_path(&g, 0, END, "1:0-20r 1:20-200b/still");
	game_deinit(&g);
}

/* The job was given by the waiting thread itself: the path comes back to it. */
static void a_job_leads_back_to_who_gave_it(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0}, {20, B, 0}, {80, Q, 2}, {82, R, 0}, {END, U, 0}};
	static const struct step worker[] = {
		{0, B, 0}, {15, Q, 1}, {18, R, 0}, {85, B, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, worker);
	assert_path(&g, 0, 100, "1:0-15r 2:15-18q 2:18-80r 1:80-82q 1:82-100r");
	game_deinit(&g);
}

static void what_is_no_thread_of_the_game_ends_it(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0},	{10, B, 0}, {20, Q, TIMER}, {21, R, 0},	     {30, B, 0},
		{40, Q, OTHER}, {41, R, 0}, {50, B, 0},	    {60, Q, WORKER}, {61, R, 0},
		{70, B, 0},	{80, Q, 0}, {81, R, 0},	    {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	assert_path(
		&g, 0, 100,
		"1:0-10r 1:10-20b/interrupt 1:20-21q 1:21-30r 1:30-40b/process 1:40-41q 1:41-50r "
		"1:50-60b/kernel 1:60-61q 1:61-70r 1:70-80b/lost 1:80-81q 1:81-100r");
	game_deinit(&g);
}

/* Thread 5 is no one's that was read; 2 did not run when it is said to have woken; 1 woke itself.
 */
static void wakers_that_cannot_be_followed_are_lost(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0},  {10, B, 0}, {20, Q, 5}, {21, R, 0}, {30, B, 0}, {40, Q, 2}, {41, R, 0},
		{50, B, 0}, {60, Q, 1}, {61, R, 0}, {70, B, 0}, {80, R, 0}, {END, U, 0}};
	static const struct step asleep[] = {{0, B, 0}, {100, Q, TIMER}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, asleep);
	assert_path(&g, 0, 100,
		    "1:0-10r 1:10-20b/lost 1:20-21q 1:21-30r 1:30-40b/lost 1:40-41q 1:41-50r "
		    "1:50-60b/lost 1:60-61q 1:61-70r 1:70-80b/lost 1:80-100r");
	game_deinit(&g);
}

/* A wake that nobody told of, and then it was preempted by who ran: that did not wake it. */
static void who_preempts_does_not_wake(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0}, {20, B, 0}, {50, Q, PREEMPTED + 2}, {60, R, 0}, {END, U, 0}};
	static const struct step other[] = {{0, R, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, other);
	assert_path(&g, 0, 100, "1:0-20r 1:20-50b/lost 1:50-60q 1:60-100r");
	assert_int_equal(g.threads.people.at[2].thread, 1);
	assert_int_equal(g.threads.people.at[9].thread, PATH_NOBODY);
	game_deinit(&g);
}

/* Two threads that hand over to each other more often than there are threads are no loop. */
static void handing_over_again_and_again_is_no_loop(void **state)
{
	static const struct step main_thread[] = {{0, R, 0},  {11, B, 0}, {20, Q, 2}, {22, R, 0},
						  {31, B, 0}, {40, Q, 2}, {42, R, 0}, {51, B, 0},
						  {60, Q, 2}, {62, R, 0}, {END, U, 0}};
	static const struct step other[] = {{0, B, 0},	{10, Q, 1}, {12, R, 0}, {21, B, 0},
					    {30, Q, 1}, {32, R, 0}, {41, B, 0}, {50, Q, 1},
					    {52, R, 0}, {61, B, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, other);
	assert_path(&g, 0, 70,
		    "1:0-10r 2:10-12q 2:12-20r 1:20-22q 1:22-30r 2:30-32q 2:32-40r 1:40-42q "
		    "1:42-50r 2:50-52q 2:52-60r 1:60-62q 1:62-70r");
	game_deinit(&g);
}

/* A stretch of which nothing is known stays that; one that a wake ends was a wait: so a thread
 * begins, made by main. */
static void what_is_unknown(void **state)
{
	static const struct step main_thread[] = {{0, R, 0},  {20, U, 0}, {30, R, 0}, {50, B, 0},
						  {80, Q, 2}, {82, R, 0}, {END, U, 0}};
	static const struct step made[] = {
		{0, U, 0}, {40, Q, 1}, {44, R, 0}, {90, X, 0}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, made);
	assert_path(&g, 0, 100, "1:0-20r 1:20-30? 1:30-40r 2:40-44q 2:44-80r 1:80-82q 1:82-100r");
	assert_path(&g, 10, 25, "1:10-20r 1:20-25?");
	game_deinit(&g);
}

/* Two that woke each other at one moment would be walked for ever. */
static void a_loop_of_wakers_ends(void **state)
{
	static const struct step main_thread[] = {{0, R, 0}, {20, B, 0}, {50, Q, 2}, {END, U, 0}};
	static const struct step other[] = {{0, R, 0}, {30, B, 0}, {50, Q, 1}, {END, U, 0}};
	struct game g = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, other);
	path_resolve(&g.threads);
	/* neither ran at 50, so both are lost */
	assert_path(&g, 0, 100, "1:0-20r 1:20-50b/lost 1:50-100q");
	/* were they both said to run from then on, the wake would be believed */
	g.intervals[0][2].state = R;
	g.intervals[1][2].state = R;
	path_resolve(&g.threads);
	g.intervals[0][1].waker = 2;
	g.intervals[0][1].end = PATH_GOES_ON;
	g.intervals[1][1].waker = 1;
	g.intervals[1][1].end = PATH_GOES_ON;
	{
		path_slices_vec slices = {0};

		assert_int_equal(path_walk(&g.threads, 0, 0, 100, &slices), 0);
		assert_int_equal(slices.count, 3);
		assert_int_equal(slices.at[1].end, PATH_LOOP);
		assert_int_equal(slices.at[1].t1, 50);
		VEC_FREE(&slices);
	}
	game_deinit(&g);
}

/* Of the two intervals that touch at the wake either may say that the waker ran. */
static void a_waker_ran_before_or_after(void **state)
{
	static const struct step main_thread[] = {
		{0, R, 0}, {20, B, 0}, {50, Q, 2}, {52, R, 0}, {END, U, 0}};
	static const struct step before[] = {{0, R, 0}, {50, B, 0}, {END, U, 0}};
	static const struct step after[] = {{0, B, 0}, {40, Q, TIMER}, {50, R, 0}, {END, U, 0}};
	struct game g = {0}, h = {0};

	(void)state;
	add_thread(&g, 1, main_thread);
	add_thread(&g, 2, before);
	assert_path(&g, 0, 100, "2:0-50r 1:50-52q 1:52-100r");
	add_thread(&h, 1, main_thread);
	add_thread(&h, 2, after);
	assert_path(&h, 0, 100, "2:0-40b/interrupt 2:40-50q 1:50-52q 1:52-100r");
	game_deinit(&g);
	game_deinit(&h);
}

/* The kernel was not asked about the marking thread. */
static void without_a_log_the_thread_is_all(void **state)
{
	struct game g = {0};

	(void)state;
	assert_int_equal(VEC_PUSH(&g.threads.at, ((struct path_thread){.tid = 1})), 0);
	g.threads.with_tid = 1;
	assert_path(&g, 10, 100, "1:10-100-");
	game_deinit(&g);
}

/* Whatever the logs say, a walk ends, touches and covers; wherever the search was last. */
static void random_logs_are_covered(void **state)
{
	struct statistics_random random;
	path_slices_vec slices = {0};
	size_t round, i, k;

	(void)state;
	statistics_seed(&random, 7);
	for (round = 0; round < 3000; round++) {
		struct game g = {0};

		for (i = 0; i < 4; i++) {
			struct step steps[STEPS_MAX] = {{0, R, 0}};

			for (k = 1; k < STEPS_MAX - 1; k++)
				steps[k] = (struct step){
					steps[k - 1].t + 1 + (int64_t)statistics_below(&random, 12),
					(enum sched_state)(1 + statistics_below(&random, 4)),
					(uint32_t)statistics_below(&random, 6)};
			steps[k] = (struct step){END, U, 0};
			add_thread(&g, (int32_t)i + 1, steps);
		}
		path_resolve(&g.threads);
		for (k = 0; k < 5; k++) {
			int64_t t0 = (int64_t)statistics_below(&random, 90);
			int64_t t1 = t0 + 1 + (int64_t)statistics_below(&random, 100);

			assert_int_equal(path_walk(&g.threads, 0, t0, t1, &slices), 0);
			assert_int_equal(slices.at[0].t0, t0);
			for (i = 1; i < slices.count; i++)
				assert_int_equal(slices.at[i].t0, slices.at[i - 1].t1);
			assert_int_equal(slices.at[slices.count - 1].t1, t1);
			for (i = 0; i < slices.count; i++) {
				const struct path_slice *s = &slices.at[i];
				const struct path_interval *at =
					&g.threads.at.at[s->thread].sched.at[s->interval];

				assert_true(at[0].t0 <= s->t0 && s->t1 <= at[1].t0);
			}
		}
		game_deinit(&g);
	}
	VEC_FREE(&slices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_runs_is_the_path),
		cmocka_unit_test(wakers_lead_across_threads),
		cmocka_unit_test(a_wait_that_goes_on_is_still_one),
		cmocka_unit_test(a_job_leads_back_to_who_gave_it),
		cmocka_unit_test(what_is_no_thread_of_the_game_ends_it),
		cmocka_unit_test(wakers_that_cannot_be_followed_are_lost),
		cmocka_unit_test(who_preempts_does_not_wake),
		cmocka_unit_test(handing_over_again_and_again_is_no_loop),
		cmocka_unit_test(what_is_unknown),
		cmocka_unit_test(a_loop_of_wakers_ends),
		cmocka_unit_test(a_waker_ran_before_or_after),
		cmocka_unit_test(without_a_log_the_thread_is_all),
		cmocka_unit_test(random_logs_are_covered),
	};

	return cmocka_run_group_tests_name("critical_path", tests, NULL, NULL);
}
