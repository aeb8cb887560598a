/* SPDX-License-Identifier: MIT */
/* What the scheduler did with a thread, as far as somebody listened. */
#include "store_fixture.h"

#include "daemon/history_sched.h"

#define TID 42

/* One that runs from t on and is heard of no more. */
static void add_running(struct batch *b, int64_t t)
{
	add_schedule(b, TID, &(struct sched_record){.kind = SCHED_RUN, .t = t}, 1);
}

static void add_heard(struct batch *b, int64_t t0, int64_t t1)
{
	PUSH(&b->scheds, (struct sched_row){.session = 1, .t0 = t0, .t1 = t1});
}

static void check(struct fixture *f, int64_t t0, int64_t t1, const struct sched_interval *want,
		  size_t count)
{
	sched_intervals_vec got = {0};
	size_t i;

	assert_int_equal(history_sched(f->history, 1, TID, t0, t1, &got), 0);
	assert_int_equal(got.count, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(got.at[i].t0, want[i].t0);
		assert_int_equal(got.at[i].t1, want[i].t1);
		assert_int_equal(got.at[i].state, want[i].state);
	}
	VEC_FREE(&got);
}

static void a_state_goes_on_as_far_as_somebody_listened(void **state)
{
	static const struct sched_interval holes[] = {
		{.t0 = 0, .t1 = 10},
		{.t0 = 10, .t1 = 100, .state = SCHED_STATE_RUNNING},
		{.t0 = 100, .t1 = 150},
		{.t0 = 150, .t1 = 200, .state = SCHED_STATE_RUNNING},
		{.t0 = 200, .t1 = 250}};
	static const struct sched_interval within[] = {
		{.t0 = 60, .t1 = 90, .state = SCHED_STATE_RUNNING}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);

	add_running(b, 10);
	add_heard(b, 5, 50);
	add_heard(b, 50, 100); /* they touch */
	add_heard(b, 150, 200);
	fixture_submit(f, b);
	check(f, 0, 250, holes, 5);
	check(f, 60, 90, within, 1);
}

/* The kernel was asked: its silence is told as such, before the first word and after the last. */
static void where_nobody_listened_it_is_unknown(void **state)
{
	static const struct sched_interval before[] = {{.t0 = 2, .t1 = 5}};
	static const struct sched_interval after[] = {{.t0 = 50, .t1 = 80}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);

	add_running(b, 10);
	add_heard(b, 5, 50);
	fixture_submit(f, b);
	check(f, 2, 5, before, 1);
	check(f, 50, 80, after, 1);
}

/* Nobody ever listened: was the kernel asked? */
static void a_stretch_without_length_says_that_it_was_asked(void **state)
{
	static const struct sched_interval unknown[] = {{.t0 = 10, .t1 = 80}};
	struct fixture *f = *state;
	struct batch *b = must(batch_new());

	fixture_submit(f, first_batch(1, 1));
	check(f, 10, 80, NULL, 0);
	add_heard(b, 40, 40);
	fixture_submit(f, b);
	check(f, 10, 80, unknown, 1);
}

/* After events were lost somebody listens, but the thread's next event is still to come. */
static void a_word_that_was_lost_is_not_silence(void **state)
{
	static const struct sched_interval unknown[] = {{.t0 = 30, .t1 = 40}};
	const struct sched_record records[] = {{.kind = SCHED_RUN, .t = 10},
					       {.kind = SCHED_LOST, .t = 20}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);

	add_schedule(b, TID, records, 2);
	add_heard(b, 0, 100);
	fixture_submit(f, b);
	check(f, 30, 40, unknown, 1);
}

/* Its checksum may be right: whoever sends a file writes it, too. */
static void a_damaged_chunk_is_unknown_and_the_rest_is_told(void **state)
{
	static const struct sched_interval all[] = {
		{.t0 = 10, .t1 = 20, .state = SCHED_STATE_RUNNING},
		{.t0 = 20, .t1 = 40},
		{.t0 = 40, .t1 = 50, .state = SCHED_STATE_RUNNING}};
	static const struct sched_interval within[] = {{.t0 = 25, .t1 = 35}};
	const struct sched_record first[] = {{.kind = SCHED_RUN, .t = 10},
					     {.kind = SCHED_BLOCK, .t = 20}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);

	add_schedule(b, TID, first, 2);
	add_schedule(b, TID, first, 2);
	b->scheds.at[1].t0 = 22;
	b->scheds.at[1].t1 = 38;
	b->scheds.at[1].data[0] = 99; /* no version of ours */
	add_schedule(b, TID, &(struct sched_record){.kind = SCHED_RUN, .t = 40}, 1);
	add_heard(b, 0, 100);
	fixture_submit(f, b);
	check(f, 10, 50, all, 3);
	check(f, 25, 35, within, 1);
}

/* They have no rows that say when somebody listened. */
static void files_of_earlier_versions_are_believed(void **state)
{
	static const struct sched_interval all[] = {
		{.t0 = 0, .t1 = 10}, {.t0 = 10, .t1 = 1000, .state = SCHED_STATE_RUNNING}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);

	add_running(b, 10);
	fixture_submit(f, b);
	check(f, 0, 1000, all, 2);
}

/* A wait that nobody saw the end of was not ended by whoever woke the thread later. */
static void a_wake_that_is_heard_of_late_has_no_waker(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	sched_intervals_vec got = {0};
	const struct sched_record records[] = {
		{.kind = SCHED_BLOCK, .t = 10},
		{.kind = SCHED_WAKE, .t = 20, .who = {.tid = 7, .tgid = 1}}};

	add_schedule(b, TID, records, 2);
	add_heard(b, 0, 15);
	add_heard(b, 30, 50);
	fixture_submit(f, b);
	assert_int_equal(history_sched(f->history, 1, TID, 10, 50, &got), 0);
	assert_int_equal(got.count, 3);
	assert_int_equal(got.at[1].state, SCHED_STATE_UNKNOWN);
	assert_int_equal(got.at[1].t1, 30);
	assert_int_equal(got.at[2].state, SCHED_STATE_RUNNABLE);
	assert_int_equal(got.at[2].who.tid, 0);
	VEC_FREE(&got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_state_goes_on_as_far_as_somebody_listened),
		TEST(where_nobody_listened_it_is_unknown),
		TEST(a_stretch_without_length_says_that_it_was_asked),
		TEST(a_word_that_was_lost_is_not_silence),
		TEST(a_damaged_chunk_is_unknown_and_the_rest_is_told),
		TEST(files_of_earlier_versions_are_believed),
		TEST(a_wake_that_is_heard_of_late_has_no_waker),
	};

	return cmocka_run_group_tests_name("history_sched", tests, NULL, NULL);
}
