/* SPDX-License-Identifier: MIT */
/* Checks from numbers and queries to verdicts; the tests over runs that they rest on. */
#include "daemon/bootstrap.h"
#include "daemon/check.h"
#include "daemon/check_request.h"
#include "daemon/permutation.h"
#include "daemon/run_metrics.h"
#include "daemon/snapshots.h"
#include "daemon/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define MS 1e6

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

static void all_arrangements_are_counted(void **state)
{
	static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
	static const double three[] = {1, 2, 4}, two[] = {3, 4};
	struct permutation test;

	(void)state;
	assert_int_equal(permutation_test(low, 5, high, 5, &test), 0);
	assert_true(test.exact);
	assert_int_equal(test.arrangements, 252);
	assert_true(near(test.p, 1.0 / 252));
	assert_int_equal(permutation_test(high, 5, low, 5, &test), 0);
	assert_true(near(test.p, 1));
	/* pairs of 1 2 4 3 4 whose sum is at least 7: 4+4, 3+4 twice */
	assert_int_equal(permutation_test(three, 3, two, 2, &test), 0);
	assert_int_equal(test.arrangements, 10);
	assert_true(near(test.p, 0.3));
	assert_int_equal(permutation_test(low, 0, high, 5, &test), -EINVAL);
}

static void ties_never_count_as_smaller(void **state)
{
	static const double same[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
	struct permutation test;

	(void)state;
	assert_int_equal(permutation_test(same, 6, same, 6, &test), 0);
	assert_true(test.p == 1);
}

static void many_runs_are_drawn(void **state)
{
	double a[20], b[20];
	struct permutation test;
	size_t i;

	(void)state;
	for (i = 0; i < 20; i++) {
		a[i] = (double)i;
		b[i] = (double)i + 100;
	}
	assert_int_equal(permutation_test(a, 20, b, 20, &test), 0);
	assert_false(test.exact);
	assert_int_equal(test.arrangements, PERMUTATION_DRAWS + 1);
	assert_true(near(test.p, 1.0 / (PERMUTATION_DRAWS + 1)));
	/* a half that is no larger: about one half of all */
	for (i = 0; i < 20; i++)
		b[i] = (double)i;
	assert_int_equal(permutation_test(a, 20, b, 20, &test), 0);
	assert_true(test.p > 0.45 && test.p < 0.55);
}

static void holm_steps_down(void **state)
{
	/* By hand: 0.01 x 4, 0.013 x 3 raised to 0.04, 0.03 x 2, 0.5 */
	double p[] = {0.03, 0.01, 0.5, 0.013}, adjusted[4];

	(void)state;
	assert_int_equal(permutation_holm(p, 4, adjusted), 0);
	assert_true(near(adjusted[1], 0.04));
	assert_true(near(adjusted[3], 0.04));
	assert_true(near(adjusted[0], 0.06));
	assert_true(near(adjusted[2], 0.5));
	assert_int_equal(permutation_holm(p, 4, p), 0);
	assert_memory_equal(p, adjusted, sizeof(p));
}

static void what_is_attainable_is_said(void **state)
{
	(void)state;
	assert_true(near(permutation_smallest(5, 5), 1.0 / 252));
	assert_true(near(permutation_smallest(4, 4), 1.0 / 70));
	assert_int_equal(check_runs_needed(1), 5);
	assert_int_equal(check_runs_needed(2), 6);
	assert_int_equal(check_runs_needed(4), 6);
	assert_int_equal(check_runs_needed(5), 7);
}

static void blocks_follow_the_correlation(void **state)
{
	struct statistics_random random;
	double noise[1000], walk[1000], x = 0;
	size_t i;

	(void)state;
	statistics_seed(&random, 5);
	for (i = 0; i < 1000; i++) {
		double u = (double)statistics_below(&random, 1000000) / 1e6 - 0.5;

		noise[i] = u;
		walk[i] = x = 0.9 * x + u;
	}
	assert_true(bootstrap_block(noise, 1000) <= 12);
	assert_true(bootstrap_block(walk, 1000) >= 30);
	assert_true(bootstrap_block(walk, 8) <= 2);
	for (i = 0; i < 1000; i++)
		noise[i] = 16.6;
	assert_int_equal(bootstrap_block(noise, 1000), 10);
}

static double mean_of(double *samples, size_t count, const void *userdata)
{
	(void)userdata;
	return statistics_mean(samples, count);
}

/* The interval of a correlated series' mean covers its true mean most of the time; that of frames
 * drawn singly (blocks of one) does not. */
static void blocks_cover_what_single_frames_do_not(void **state)
{
	struct statistics_random random;
	size_t trial, i, covered = 0;
	double frames[300];

	(void)state;
	statistics_seed(&random, 9);
	for (trial = 0; trial < 200; trial++) {
		struct interval interval;
		double x = 0;

		for (i = 0; i < 300; i++) {
			x = 0.8 * x + (double)statistics_below(&random, 1000001) / 1e6 - 0.5;
			frames[i] = 10 + x;
		}
		assert_int_equal(bootstrap_run(frames, 300, mean_of, NULL, 0.95, &interval), 0);
		covered += interval.low <= 10 && interval.high >= 10;
	}
	/* the interval of single frames is a third as wide, and would cover half of the time */
	assert_true(covered > 160);
}

static void short_runs_have_no_interval(void **state)
{
	double frames[19] = {0}, *pointer = frames;
	const double *samples = pointer;
	size_t count = 19;
	struct bootstrap_side side = {&samples, &count, 1};
	struct interval interval;

	(void)state;
	assert_int_equal(bootstrap_run(frames, 19, mean_of, NULL, 0.95, &interval), -ERANGE);
	assert_int_equal(bootstrap_difference(&side, &side, 0.95, &interval), -ERANGE);
	assert_int_equal(bootstrap_runs(frames, 1, 0.95, &interval), -ERANGE);
}

static void metrics_are_read_from_their_end(void **state)
{
	static const struct {
		const char *text;
		enum run_source source;
		const char *name;
		enum run_statistic statistic;
		double percentile;
	} good[] = {
		{"frame.p99", RUN_FRAME, "", RUN_PERCENTILE, 99},
		{"frame.p99.9", RUN_FRAME, "", RUN_PERCENTILE, 99.9},
		{"frame.slow_share", RUN_FRAME, "", RUN_SLOW_SHARE, 0},
		{"cpu.mean", RUN_CPU, "", RUN_MEAN, 0},
		{"gpu.max", RUN_GPU, "", RUN_MAX, 0},
		{"wait.jitter", RUN_WAIT, "", RUN_JITTER, 0},
		{"zone:a.b.c.total.p95", RUN_ZONE_TOTAL, "a.b.c", RUN_PERCENTILE, 95},
		{"zone:draw.self.sd", RUN_ZONE_SELF, "draw", RUN_SD, 0},
		{"zone:draw.calls.mean", RUN_ZONE_CALLS, "draw", RUN_MEAN, 0},
		{"zone:draw.p50", RUN_ZONE_TOTAL, "draw", RUN_PERCENTILE, 50},
		{"zone:total.p1.p50", RUN_ZONE_TOTAL, "total.p1", RUN_PERCENTILE, 50},
		{"counter:draw calls.max", RUN_COUNTER, "draw calls", RUN_MAX, 0},
	};
	static const char *const bad[] = {"",
					  "frame",
					  "frame.",
					  "frame.p",
					  "frame.p0",
					  "frame.p100",
					  "frame.p9.9.9",
					  "frame.p.9",
					  "frames.p50",
					  "zone:.p50",
					  "zone:.total.p50",
					  "counter:.max",
					  "cpu.slow_share",
					  "p50",
					  ".p50",
					  "zone:x",
					  "frame.p50 ",
					  "frame.median"};
	struct run_metric m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(run_metric_parse(good[i].text, 33, &m), 0);
		assert_int_equal(m.source, good[i].source);
		assert_string_equal(m.name, good[i].name);
		assert_int_equal(m.statistic, good[i].statistic);
		assert_true(m.percentile == good[i].percentile);
		assert_true(m.slow_ns == 33 * MS);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(run_metric_parse(bad[i], 33, &m), -EINVAL);
}

static double metric(const char *text, const double *samples, size_t count)
{
	double copy[2000];
	struct run_metric m;

	assert_int_equal(run_metric_parse(text, 20e-6, &m), 0);
	memcpy(copy, samples, count * sizeof(*copy));
	return run_metric_of(copy, count, &m);
}

static void metrics_mean_what_they_say(void **state)
{
	static const double a[] = {10, 30, 10, 10, 40};
	struct run_metric m;

	(void)state;
	assert_true(metric("frame.mean", a, 5) == 20);
	assert_true(metric("frame.max", a, 5) == 40);
	assert_true(metric("frame.p50", a, 5) == 10);
	/* 70 of 100 ns were spent in frames above 20 ns */
	assert_true(metric("frame.slow_share", a, 5) == 0.7);
	assert_int_equal(run_metric_parse("frame.p99.9", 1, &m), 0);
	assert_int_equal(run_metric_needs(&m), 1000);
	assert_int_equal(run_metric_parse("frame.max", 1, &m), 0);
	assert_int_equal(run_metric_needs(&m), RUN_LEAST);
}

static struct check_condition compared(const double *runs, size_t run_count, const double *base,
				       size_t base_count)
{
	return (struct check_condition){.compares = true,
					.tolerance = 0.02,
					.floor = 0.1,
					.runs = runs,
					.run_count = run_count,
					.baseline = base,
					.baseline_count = base_count};
}

static const double base_runs[] = {10.0, 10.02, 9.98, 10.01, 9.99};

static void a_clear_regression_fails(void **state)
{
	static const double slow[] = {10.5, 10.52, 10.48, 10.51, 10.49};
	struct check_condition c = compared(slow, 5, base_runs, 5);

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_FAIL);
	assert_int_equal(c.reason, CHECK_ABOVE);
	assert_true(near(c.p, 1.0 / 252) && c.p_holm == c.p);
	assert_true(c.effect_interval.low > 0.4 && c.effect_interval.high < 0.6);
}

static void the_same_passes(void **state)
{
	static const double same[] = {10.01, 9.99, 10.0, 10.03, 9.97};
	struct check_condition c = compared(same, 5, base_runs, 5);

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
	assert_int_equal(c.reason, CHECK_WITHIN);
}

/* Certain, but smaller than the tolerance, or than the floor. */
static void what_is_allowed_passes(void **state)
{
	static const double more[] = {10.1, 10.12, 10.08, 10.11, 10.09};
	struct check_condition c = compared(more, 5, base_runs, 5);

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_true(c.p_holm <= CHECK_ALPHA);
	assert_int_equal(c.verdict, CHECK_PASS);
	c.tolerance = 0.001;
	c.floor = 0.5;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
	c.floor = 0.05;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_FAIL);
}

static void spread_is_inconclusive(void **state)
{
	static const double wild[] = {8, 12.5, 10, 13, 9};
	struct check_condition c = compared(wild, 5, base_runs, 5);

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_INCONCLUSIVE);
	assert_int_equal(c.reason, CHECK_SPREAD);
}

static void few_runs_are_inconclusive(void **state)
{
	static const double slow[] = {20, 20, 20, 20, 20};
	struct check_condition c[2] = {compared(slow, 4, base_runs, 5),
				       compared(slow, 5, base_runs, 4)};
	size_t i;

	(void)state;
	assert_int_equal(check_decide(c, 2), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(c[i].verdict, CHECK_INCONCLUSIVE);
		assert_int_equal(c[i].reason, CHECK_TOO_FEW_RUNS);
		assert_false(c[i].tested);
		assert_true(c[i].effect > 9);
	}
}

/* Five a side cannot show a regression in one of two conditions: that is not called a spread. */
static void many_conditions_need_more_runs(void **state)
{
	static const double slow[] = {10.5, 10.52, 10.48, 10.51, 10.49};
	struct check_condition c[2] = {compared(slow, 5, base_runs, 5),
				       compared(base_runs, 5, base_runs, 5)};

	(void)state;
	assert_int_equal(check_decide(c, 2), 0);
	assert_true(near(c[0].p_holm, 2.0 / 252));
	assert_int_equal(c[0].verdict, CHECK_INCONCLUSIVE);
	assert_int_equal(c[0].reason, CHECK_TOO_FEW_RUNS);
	assert_int_equal(c[1].verdict, CHECK_PASS);
	assert_int_equal(check_overall(c, 2), CHECK_INCONCLUSIVE);
}

static void counters_that_never_vary_pass(void **state)
{
	static const double same[] = {7, 7, 7, 7, 7};
	struct check_condition c = compared(same, 5, same, 5);

	(void)state;
	c.tolerance = c.floor = 0;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
}

static void loss_and_few_frames_go_before_numbers(void **state)
{
	static const double slow[] = {20, 20, 20, 20, 20};
	struct check_condition c = compared(slow, 5, base_runs, 5);

	(void)state;
	c.lost = true;
	c.unmeasured = true;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.reason, CHECK_LOST);
	c.lost = false;
	c.gone = true;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_INCONCLUSIVE);
	assert_string_equal(check_reason_name(c.reason), "events_gone");
	c.gone = false;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.reason, CHECK_TOO_FEW_FRAMES);
	assert_int_equal(c.verdict, CHECK_INCONCLUSIVE);
}

static void bounds_of_one_run(void **state)
{
	static const double run = 15;
	struct check_condition c = {.max = 16,
				    .runs = &run,
				    .run_count = 1,
				    .has_interval = true,
				    .interval = {14, 15.5}};

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
	c.interval.high = 16.5;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_INCONCLUSIVE);
	assert_int_equal(c.reason, CHECK_SPREAD);
	c.max = 14.5;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_FAIL);
	c.max = 15;
	c.has_interval = false;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
}

static void bounds_of_several_runs(void **state)
{
	static const double runs[] = {15, 17, 16, 15};
	struct check_condition c = {.max = 18, .runs = runs, .run_count = 4};

	(void)state;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_PASS);
	c.max = 14;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_FAIL);
	c.max = 15.7;
	assert_int_equal(check_decide(&c, 1), 0);
	assert_int_equal(c.verdict, CHECK_INCONCLUSIVE);
}

static struct route_request route;
static struct check_request request;

static int ask(const char *query, struct check_wrong *wrong)
{
	char uri[1024];

	snprintf(uri, sizeof(uri), "/api/v1/check?%s", query);
	assert_int_equal(route_parse("GET", uri, &route), 0);
	return check_request_parse(&route, &request, wrong);
}

static void queries_become_conditions(void **state)
{
	struct check_wrong wrong;

	(void)state;
	assert_int_equal(ask("metric=frame.p99&max_ms=16.7", &wrong), 0);
	assert_int_equal(request.count, 1);
	assert_null(request.asks[0].baseline);
	assert_true(request.asks[0].max == 16.7 * MS);
	assert_int_equal(ask("baseline=old&tolerance=5%&floor_ms=0.2", &wrong), 0);
	assert_string_equal(request.asks[0].text, "frame.p99");
	assert_true(near(request.asks[0].tolerance, 0.05));
	assert_true(request.asks[0].floor == 0.2 * MS);
	assert_int_equal(ask("baseline=old&tolerance=0.1&metric=cpu.p50&metric=frame.max&max_ms=50&"
			     "metric=counter:n.mean&tolerance=1%25&floor=3&runs=1,2",
			     &wrong),
			 0);
	assert_int_equal(request.count, 3);
	assert_string_equal(request.runs, "1,2");
	assert_string_equal(request.asks[0].baseline, "old");
	assert_true(near(request.asks[0].tolerance, 0.1));
	assert_true(request.asks[0].floor == CHECK_FLOOR_MS * MS);
	assert_null(request.asks[1].baseline);
	assert_true(request.asks[1].max == 50 * MS);
	assert_string_equal(request.asks[2].baseline, "old");
	assert_true(near(request.asks[2].tolerance, 0.01));
	assert_true(request.asks[2].floor == 3);
	assert_int_equal(ask("metric=frame.slow_share&max=1%25", &wrong), 0);
	assert_true(near(request.asks[0].max, 0.01));
}

static void wrong_queries_name_the_parameter(void **state)
{
	static const char *const cases[][2] = {
		{"metric=frame.p99", "metric"},
		{"", "metric"},
		{"metric=nothing.p99&max_ms=1", "metric"},
		{"metric=frame.p99&max=1", "max"},
		{"metric=counter:x.max&max_ms=1", "max_ms"},
		{"metric=frame.p99&max_ms=-1", "max_ms"},
		{"metric=frame.p99&max_ms=0x10", "max_ms"},
		{"metric=frame.p99&max_ms=nan", "max_ms"},
		{"metric=frame.p99&max_ms=inf", "max_ms"},
		{"metric=frame.p99&max_ms=1e999", "max_ms"},
		{"metric=frame.p99&max_ms=", "max_ms"},
		{"metric=frame.p99&max_ms=1&max_ms=2", "max_ms"},
		{"metric=frame.p99&max_ms=1&baseline=x", "baseline"},
		{"metric=frame.p99&baseline=", "baseline"},
		{"metric=frame.p99&baseline=x&tolerance=200%", "tolerance"},
		{"metric=frame.p99&baseline=x&tolerance=5ms", "tolerance"},
		{"metric=frame.p99&baseline=x&tolerance=5", "tolerance"},
		{"metric=counter:x.max&max=1%25", "max"},
		{"metric=frame.p99&baseline=x&floor=1", "floor"},
		{"metric=frame.p99&max_ms=1&allow_loss=1", "allow_loss"},
		{"metric=frame.slow_share&max=0.1&slow_ms=x", "slow_ms"},
	};
	struct check_wrong wrong;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ask(cases[i][0], &wrong), -EINVAL);
		assert_string_equal(wrong.parameter, cases[i][1]);
		assert_non_null(wrong.allowed);
	}
}

static void conditions_are_bounded(void **state)
{
	char query[1024] = "max_ms=5";
	struct check_wrong wrong;
	size_t i;

	(void)state;
	for (i = 0; i < CHECK_CONDITIONS_MAX; i++)
		strcat(query, "&metric=frame.p50");
	assert_int_equal(ask(query, &wrong), 0);
	assert_int_equal(request.count, CHECK_CONDITIONS_MAX);
	strcat(query, "&metric=frame.p50");
	assert_int_equal(ask(query, &wrong), -EINVAL);
	assert_string_equal(wrong.parameter, "metric");
}

static void names_of_snapshots_are_no_numbers(void **state)
{
	char name[SNAPSHOT_NAME_MAX + 2];

	(void)state;
	assert_true(snapshot_name_ok("v1.2 \xc3\xa4"));
	assert_false(snapshot_name_ok(""));
	assert_false(snapshot_name_ok("12"));
	assert_false(snapshot_name_ok("current"));
	assert_false(snapshot_name_ok("a,b"));
	assert_false(snapshot_name_ok("a:1-2"));
	memset(name, 'x', sizeof(name));
	name[SNAPSHOT_NAME_MAX + 1] = '\0';
	assert_false(snapshot_name_ok(name));
	name[SNAPSHOT_NAME_MAX] = '\0';
	assert_true(snapshot_name_ok(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_arrangements_are_counted),
		cmocka_unit_test(ties_never_count_as_smaller),
		cmocka_unit_test(many_runs_are_drawn),
		cmocka_unit_test(holm_steps_down),
		cmocka_unit_test(what_is_attainable_is_said),
		cmocka_unit_test(blocks_follow_the_correlation),
		cmocka_unit_test(blocks_cover_what_single_frames_do_not),
		cmocka_unit_test(short_runs_have_no_interval),
		cmocka_unit_test(metrics_are_read_from_their_end),
		cmocka_unit_test(metrics_mean_what_they_say),
		cmocka_unit_test(a_clear_regression_fails),
		cmocka_unit_test(the_same_passes),
		cmocka_unit_test(what_is_allowed_passes),
		cmocka_unit_test(spread_is_inconclusive),
		cmocka_unit_test(few_runs_are_inconclusive),
		cmocka_unit_test(many_conditions_need_more_runs),
		cmocka_unit_test(counters_that_never_vary_pass),
		cmocka_unit_test(loss_and_few_frames_go_before_numbers),
		cmocka_unit_test(bounds_of_one_run),
		cmocka_unit_test(bounds_of_several_runs),
		cmocka_unit_test(queries_become_conditions),
		cmocka_unit_test(wrong_queries_name_the_parameter),
		cmocka_unit_test(conditions_are_bounded),
		cmocka_unit_test(names_of_snapshots_are_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
