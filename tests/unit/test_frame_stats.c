/* SPDX-License-Identifier: MIT */
/* Statistics of series of one value a frame. */
#include "store_fixture.h"

#include "daemon/frame_stats.h"

#include <math.h>

#define MS 1e6

static void add(frame_samples *samples, double ms)
{
	const struct frame_sample sample = {samples->count + 1, ms * MS, ms * MS};

	PUSH(samples, sample);
}

/* 20 s with four stalls of half a second: 18 s of 16 ms frames. */
static void four_stalls_leave_p99_normal_and_take_a_tenth_of_the_time(void **state)
{
	frame_samples samples = {0};
	struct frame_stats_over over;
	struct frame_stats stats;
	int i;

	(void)state;
	for (i = 0; i < 1125; i++) {
		add(&samples, 16);
		if (i % 300 == 100)
			add(&samples, 500);
	}
	assert_int_equal(samples.count, 1129);
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_true(stats.wall_ns == 20e9);
	assert_true(stats.percentiles[3] == 16 * MS); /* P99 */
	assert_true(stats.percentiles[4] == 500 * MS);
	assert_true(stats.worst == 500 * MS);
	assert_int_equal(stats.worst_frame, 102);
	frame_stats_over(&samples, 33.3 * MS, &over);
	assert_int_equal(over.frames, 4);
	assert_true(over.time_ns == 2e9);
	assert_true(over.share == 0.1);
	assert_int_equal(over.run_frames, 1);
	assert_int_equal(over.run_from, 102);
	VEC_FREE(&samples);
}

static void what_too_few_frames_reach_is_not_told(void **state)
{
	frame_samples samples = {0};
	struct frame_stats_over over;
	struct frame_stats stats;
	int i;

	(void)state;
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_true(isnan(stats.mean) && isnan(stats.sd) && isnan(stats.worst));
	assert_true(isnan(stats.percentiles[0]) && isnan(stats.jitter) && isnan(stats.low));
	frame_stats_over(&samples, 1, &over);
	assert_true(isnan(over.share));
	assert_int_equal(over.run_frames, 0);

	add(&samples, 5);
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_true(stats.mean == 5 * MS && isnan(stats.sd) && isnan(stats.percentiles[0]));
	for (i = 1; i < 99; i++)
		add(&samples, 5 + i);
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_true(stats.percentiles[2] == 99 * MS); /* P95 of 99: the 95th */
	assert_true(isnan(stats.percentiles[3]) && isnan(stats.low));
	add(&samples, 104);
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_true(stats.percentiles[3] == 103 * MS);
	assert_true(isnan(stats.percentiles[4]));
	assert_int_equal(stats.low_frames, 1);
	assert_true(stats.low == 104 * MS);
	VEC_FREE(&samples);
}

/* What is left out between two frames breaks a run and is no step. */
static void runs_and_steps_go_from_frame_to_next_frame(void **state)
{
	static const struct frame_sample values[] = {
		{2, 10, 10}, {3, 40, 40}, {4, 50, 50}, {6, 45, 45},
		{7, 44, 44}, {8, 60, 60}, {9, 8, 8},
	};
	frame_samples samples = {0};
	struct frame_stats_over over;
	struct frame_stats stats;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(values); i++)
		PUSH(&samples, values[i]);
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_int_equal(stats.steps, 5);
	assert_true(stats.jitter == (30 + 10 + 1 + 16 + 52) / 5.0);
	assert_true(stats.jitter_max == 52);
	frame_stats_over(&samples, 33, &over);
	assert_int_equal(over.frames, 5);
	assert_int_equal(over.run_frames, 3);
	assert_int_equal(over.run_from, 6);
	assert_int_equal(over.run_to, 8);
	assert_true(over.run_time_ns == 149);
	assert_true(over.share == 239.0 / 257.0);
	frame_stats_over(&samples, 60, &over); /* not over it */
	assert_int_equal(over.frames, 0);
	VEC_FREE(&samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_stalls_leave_p99_normal_and_take_a_tenth_of_the_time),
		cmocka_unit_test(what_too_few_frames_reach_is_not_told),
		cmocka_unit_test(runs_and_steps_go_from_frame_to_next_frame),
	};

	return cmocka_run_group_tests_name("frame_stats", tests, NULL, NULL);
}
