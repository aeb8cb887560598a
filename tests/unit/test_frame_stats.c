/* SPDX-License-Identifier: MIT */
/* Statistics of series of one value a frame. */
#include "store_fixture.h"

#include "daemon/compare.h"
#include "daemon/frame_stats.h"
#include "daemon/run_metrics.h"

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

/* --- of a history ------------------------------------------------------------------------ */

/* Frames 1..count; the n-th takes 1000 + 10 n^2 ns. */
static struct batch *rising_frames(unsigned count)
{
	struct batch *b = first_batch(1, 1);
	int64_t t = 0, end;
	unsigned n;

	for (n = 1; n <= count; n++) {
		end = t + 1000 + 10 * n * n;
		add_frame(b, 1, 0, n, t, end);
		t = end;
	}
	return b;
}

static void open_all(struct fixture *f, struct range *range)
{
	const struct range_query query = {.from = 1, .to = INT64_MAX};

	assert_int_equal(range_open(f->history, 1, &query, range), 0);
}

static double measured(struct fixture *f, const struct range *range, const char *text)
{
	struct run_series series = {0};
	struct run_frames frames = {0};
	struct run_metric metric;
	double value = NAN;

	assert_int_equal(run_metric_parse(text, 1, &metric), 0);
	assert_int_equal(run_measure(f->history, range, &metric, 1, &frames, &series), 0);
	if (series.samples.count > 0)
		value = run_metric_of(series.samples.at, series.samples.count, &metric);
	run_series_deinit(&series);
	return value;
}

/* A step over frames that are left out is none, as in the statistics. */
static void jitter_of_a_check_is_that_of_the_statistics(void **state)
{
	struct fixture *f = *state;
	struct batch *b = rising_frames(10);
	frame_samples samples = {0};
	struct frame_stats stats;
	struct counted counted;
	struct range range;
	size_t i;

	b->frames.at[4].flags |= FRAME_LOADING;
	b->frames.at[5].flags |= FRAME_LOADING;
	fixture_submit(f, b);
	open_all(f, &range);
	assert_int_equal(counted_init(&counted, &range, 0), 0);
	for (i = 0; i < counted.frames.count; i++) {
		const struct frame_row *row =
			&range.frames.frames.at[counted.frames.at[i].index].row;
		double wall = (double)(row->end_ns - row->begin_ns);

		PUSH(&samples, (struct frame_sample){row->frame, wall, wall});
	}
	assert_int_equal(frame_stats_make(&samples, &stats), 0);
	assert_int_equal(stats.steps, 5); /* 2-3, 3-4, 7-8, 8-9, 9-10 */
	assert_true(stats.jitter == 10 * (5 + 7 + 15 + 17 + 19) / 5.0);
	assert_true(measured(f, &range, "frame.jitter") == stats.jitter);
	VEC_FREE(&samples);
	counted_deinit(&counted);
	range_close(&range);
}

static void wait_is_the_sum_of_the_waits_that_are_known(void **state)
{
	struct fixture *f = *state;
	struct batch *b = rising_frames(4);
	struct range range;

	b->frames.at[1].wait_gpu_ns = 50;
	b->frames.at[1].wait_cap_ns = 30;
	b->frames.at[2].wait_present_ns = 20;
	assert_int_equal(frame_row_wait_ns(&b->frames.at[1]), 80);
	assert_int_equal(frame_row_wait_ns(&b->frames.at[2]), 20);
	assert_int_equal(frame_row_wait_ns(&b->frames.at[3]), NS_UNKNOWN);
	fixture_submit(f, b);
	open_all(f, &range);
	assert_true(measured(f, &range, "wait.mean") == 50);
	range_close(&range);
}

/* A counter is no zone, whatever it is called. */
static void a_counter_is_no_zone(void **state)
{
	struct fixture *f = *state;
	struct batch *b = rising_frames(3);
	static const char *const names[] = {"update", "fuel", NULL, "nobody"};
	struct range range;
	uint32_t found, *named;

	add_marker(b, 1, 5, "fuel");
	b->markers.at[4].kind = FPROF_MARKER_COUNTER;
	add_marker(b, 1, 6, "update"); /* of another place */
	fixture_submit(f, b);
	open_all(f, &range);
	named = range_named(&range, names, ARRAY_SIZE(names), &found);
	assert_non_null(named);
	assert_int_equal(found, 1);
	assert_int_equal(named[1], 1);
	assert_int_equal(named[6], 1);
	assert_int_equal(named[5], 0);
	free(named);
	range_close(&range);
}

static void add_gpu_queue(struct batch *b)
{
	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 3,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX});
}

static void add_gpu_span(struct batch *b, uint64_t frame, uint32_t marker, int64_t begin,
			 int64_t end)
{
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = frame,
						  .track = 3,
						  .marker = marker,
						  .begin_ns = begin,
						  .end_ns = end});
}

/* Several zones are read at once, each as if it were alone. */
static void zones_of_one_visit_do_not_mix(void **state)
{
	struct fixture *f = *state;
	struct batch *b = rising_frames(3); /* 2: 1010 to 2050, 3: to 3140 */
	struct maker *m = maker_new(1, 1, 0, 1100);
	struct frame_stats_zone zones[] = {{.name = "update"},
					   {.name = "physics"},
					   {.name = "render", .gpu = true},
					   {.name = "physics", .gpu = true},
					   {.name = "nobody"}};
	struct counted counted;
	struct range range;
	size_t i;

	make_begin(m, 1100, 1);
	make_begin(m, 1200, 2);
	make_begin(m, 1300, 2);
	make_end(m, 1400);
	make_end(m, 2100);
	make_end(m, 2200);
	make_chunk(m, b);
	add_gpu_queue(b);
	add_gpu_span(b, 2, 3, 5000, 5100);
	add_gpu_span(b, 2, 3, 5050, 5120);
	fixture_submit(f, b);
	open_all(f, &range);
	assert_int_equal(counted_init(&counted, &range, COUNTED_EVENTS), 0);
	assert_int_equal(frame_stats_zones(f->history, &counted, NULL, zones, ARRAY_SIZE(zones)),
			 0);
	assert_true(zones[0].samples.at[0].value == 950 && zones[0].samples.at[1].value == 150);
	assert_true(zones[1].samples.at[0].value == 850 && zones[1].samples.at[1].value == 50);
	assert_true(zones[2].samples.at[0].value == 120 && zones[2].samples.at[1].value == 0);
	assert_int_equal(zones[1].frames, 2);
	assert_int_equal(zones[2].frames, 1);
	assert_int_equal(zones[3].frames, 0);
	assert_true(zones[3].found && !zones[4].found);
	for (i = 0; i < ARRAY_SIZE(zones); i++)
		VEC_FREE(&zones[i].samples);
	counted_deinit(&counted);
	range_close(&range);
}

/* What has no path is counted, on GPU queues as on threads. */
static void gpu_zones_without_a_path_are_counted(void **state)
{
	struct fixture *f = *state;
	struct batch *b = rising_frames(3);
	struct compare *compare;
	struct range range;

	add_gpu_queue(b);
	add_gpu_span(b, 2, 3, 1100, 1200);
	add_gpu_span(b, 2, 99, 1300, 1400); /* nobody knows its name */
	fixture_submit(f, b);
	open_all(f, &range);
	assert_int_equal(compare_new(&compare), 0);
	assert_int_equal(compare_add_run(compare, 0), 0);
	assert_int_equal(compare_read(compare, 0, 0, f->history, &range), 0);
	assert_int_equal(compare->left_out, 1);
	compare_free(compare);
	range_close(&range);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_stalls_leave_p99_normal_and_take_a_tenth_of_the_time),
		cmocka_unit_test(what_too_few_frames_reach_is_not_told),
		cmocka_unit_test(runs_and_steps_go_from_frame_to_next_frame),
		TEST(jitter_of_a_check_is_that_of_the_statistics),
		TEST(wait_is_the_sum_of_the_waits_that_are_known),
		TEST(a_counter_is_no_zone),
		TEST(zones_of_one_visit_do_not_mix),
		TEST(gpu_zones_without_a_path_are_counted),
	};

	return cmocka_run_group_tests_name("frame_stats", tests, NULL, NULL);
}
