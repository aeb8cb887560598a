/* SPDX-License-Identifier: MIT */
/* Steps of the rings' clock against the system's, of readings made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/clock_watch.h"
#include "daemon/util.h"

#define HZ	2e9
#define PACE_MS INT64_C(50)

/* The clocks run on by so many ms each; window: what the reading took. */
struct passed {
	int64_t ticks_ms, monotonic_ms, boottime_ms;
	double slew;
	uint64_t window;
	uint64_t steps; /* that are known of then */
};

static void pass(struct clock_reading *now, const struct passed *p)
{
	now->ticks += (uint64_t)(int64_t)((double)p->ticks_ms * HZ / 1e3);
	now->monotonic_ns += (uint64_t)((double)p->monotonic_ms * 1e6 * (1 + p->slew));
	now->boottime_ns += (uint64_t)((double)p->boottime_ms * 1e6 * (1 + p->slew));
	now->window = p->window ? p->window : 100;
}

static void follow(const struct passed *rows, size_t count)
{
	struct clock_reading now = {UINT64_C(1) << 44, 1 << 30, 1 << 30, 100};
	struct fprof_clock_rate rate;
	struct clock_watch w;
	uint64_t from, to, before;
	bool stepped;
	size_t i;

	fprof_clock_rate_set(&rate, HZ);
	clock_watch_init(&w, FPROF_CLOCK_TSC, &rate);
	assert_false(clock_watch_compare(&w, &now, &from, &to));
	for (i = 0; i < count; i++) {
		before = w.steps;
		pass(&now, &rows[i]);
		stepped = clock_watch_compare(&w, &now, &from, &to);
		assert_int_equal(w.steps, rows[i].steps);
		assert_int_equal(stepped, w.steps != before);
		assert_true(!stepped || (from <= to && (from == now.ticks || to == now.ticks)));
	}
}

#define EVEN .ticks_ms = PACE_MS, .monotonic_ms = PACE_MS, .boottime_ms = PACE_MS

static void clocks_that_run_alike_have_no_step(void **state)
{
	const struct passed rows[] = {
		{EVEN}, {EVEN, .slew = 500e-6}, {EVEN, .slew = -500e-6}, {EVEN}};

	(void)state;
	follow(rows, ARRAY_SIZE(rows));
}

/* BOOTTIME has gone on; the TSC as well, or it begins anew. */
static void a_suspend_is_a_step(void **state)
{
	const struct passed on[] = {{EVEN}, {3600050, 50, 3600050, .steps = 1}, {EVEN, .steps = 1}};
	const struct passed anew[] = {{EVEN}, {-90, 50, 3600050, .steps = 1}, {EVEN, .steps = 1}};
	const struct passed stopped[] = {{EVEN}, {50, 50, 3600050, .steps = 1}, {EVEN, .steps = 1}};

	(void)state;
	follow(on, ARRAY_SIZE(on));
	follow(anew, ARRAY_SIZE(anew));
	follow(stopped, ARRAY_SIZE(stopped));
}

static void ticks_that_part_from_the_system_are_a_step(void **state)
{
	const struct passed rows[] = {{EVEN}, {90, 50, 50, .steps = 1}, {10, 50, 50, .steps = 2}};

	(void)state;
	follow(rows, ARRAY_SIZE(rows));
}

/* A thread that was stopped within a reading saw no step; a real one is still seen by the next. */
static void a_wide_reading_is_no_evidence(void **state)
{
	const struct passed rows[] = {{EVEN},
				      {90, 50, 50, .window = 1000000},
				      {.ticks_ms = 10, .monotonic_ms = 50, .boottime_ms = 50},
				      {90, 50, 50, .window = 1000000},
				      {EVEN, .steps = 1}};

	(void)state;
	follow(rows, ARRAY_SIZE(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_run_alike_have_no_step),
		cmocka_unit_test(a_suspend_is_a_step),
		cmocka_unit_test(ticks_that_part_from_the_system_are_a_step),
		cmocka_unit_test(a_wide_reading_is_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
