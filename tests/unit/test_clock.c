// SPDX-License-Identifier: MIT
/* Ticks to ns and back: exact, monotone, for as long as a session may last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client_child.h"
#include "shm/clock_source.h"
#include "shm/word.h"

#include <time.h>

static const double rates[] = {24e6, 19.2e6, 1e6, 1e9, 2095999846.0, 2.1e9, 3.6e9, 5.0e9};
#define RATES (sizeof(rates) / sizeof(*rates))

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void conversion_is_monotone_and_points_touch(void **state)
{
	size_t r;
	int i;

	(void)state;
	for (r = 0; r < RATES; r++) {
		struct fprof_clock_rate rate;

		fprof_clock_rate_set(&rate, rates[r]);
		for (i = 0; i < 100000; i++) {
			uint64_t base = random_next();
			uint64_t t = base + (random_next() >> 11) - (UINT64_C(1) << 50);
			int64_t a = fprof_clock_ns(&rate, base, t);
			int64_t b = fprof_clock_ns(&rate, base, t + 1);

			assert_true(a <= b);
			assert_true(b - a <= (int64_t)(1e9 / rates[r]) + 1);
			assert_true(a == fprof_clock_ns(&rate, base, t));
		}
		assert_int_equal(fprof_clock_ns(&rate, 77, 77), 0);
	}
}

static void ticks_is_the_first_tick_that_reaches_ns(void **state)
{
	size_t r;
	int i;

	(void)state;
	for (r = 0; r < RATES; r++) {
		struct fprof_clock_rate rate;

		fprof_clock_rate_set(&rate, rates[r]);
		for (i = 0; i < 100000; i++) {
			uint64_t base = random_next();
			int64_t ns = (int64_t)(random_next() >> 11) - (INT64_C(1) << 52);
			uint64_t t = fprof_clock_ticks(&rate, base, ns);

			assert_true(fprof_clock_ns(&rate, base, t) >= ns);
			assert_true(fprof_clock_ns(&rate, base, t - 1) < ns);
		}
	}
}

/* 2^53 ns, the most that a double in JSON holds exactly. */
static void exact_over_104_days(void **state)
{
	struct fprof_clock_rate rate;
	size_t r;

	(void)state;
	for (r = 0; r < RATES; r++) {
		const uint64_t days = 104, seconds = days * 86400;
		uint64_t ticks = (uint64_t)rates[r] * seconds;
		int64_t ns;

		fprof_clock_rate_set(&rate, rates[r]);
		ns = fprof_clock_ns(&rate, 0, ticks);
		assert_true(ns - (int64_t)(seconds * 1000000000u) <= 1);
		assert_true(ns - (int64_t)(seconds * 1000000000u) >= -1);
	}
	fprof_clock_rate_set(&rate, 1e9);
	assert_int_equal(fprof_clock_ns(&rate, 5, 5 + (UINT64_C(1) << 53)), INT64_C(1) << 53);
	assert_int_equal(fprof_clock_ns(&rate, 1000, 10), -990);
}

static void extremes_saturate(void **state)
{
	struct fprof_clock_rate rate;

	(void)state;
	fprof_clock_rate_set(&rate, 1e6);
	assert_true(fprof_clock_ns(&rate, 0, INT64_MAX) == INT64_MAX);
	assert_true(fprof_clock_ns(&rate, (uint64_t)INT64_MAX, 0) == INT64_MIN);
}

/* Whatever this machine's clock is, it runs at the rate that was measured. */
static void measured_rate_fits_the_time_that_passes(void **state)
{
	enum fprof_clock_kind kind = fprof_clock_choose();
	struct fprof_clock_rate rate;
	struct timespec a, b, pause = {0, 50000000};
	uint64_t from, to;
	double ours, theirs;

	(void)state;
	fprof_clock_measure(kind, 20000000, &rate);
	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	from = fprof_clock_read(kind);
	nanosleep(&pause, NULL);
	to = fprof_clock_read(kind);
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	ours = (double)fprof_clock_ns(&rate, from, to);
	theirs = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	/* the readings around lie outside; slewing is at most 500 ppm, the measuring error less */
	assert_true(ours <= theirs * 1.001);
	assert_true(to > from);
	assert_true(rate.hz > 1e6 && rate.hz < 1e11);
}

static void choose_says_monotonic_when_told(void)
{
	setenv("FPROF_CLOCK", "monotonic", 1);
	CHECK_EQUAL(fprof_clock_choose(), FPROF_CLOCK_MONOTONIC);
	unsetenv("FPROF_CLOCK");
	CHECK_EQUAL(fprof_clock_choose(), FPROF_CLOCK_MONOTONIC);
}
CHILD_TEST(choose_says_monotonic_when_told)

static void monotonic_is_in_ns(void **state)
{
	struct fprof_clock_rate rate;
	uint64_t a = fprof_clock_read(FPROF_CLOCK_MONOTONIC);

	(void)state;
	fprof_clock_measure(FPROF_CLOCK_MONOTONIC, 0, &rate);
	assert_int_equal(fprof_clock_ns(&rate, a, a + 12345), 12345);
	assert_true(fprof_clock_read(FPROF_CLOCK_MONOTONIC) >= a);
}

static void short_times_extend_around_their_base(void **state)
{
	const uint64_t half = UINT64_C(1) << (FPROF_TIME_BITS - 1);
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		uint64_t base = random_next();
		uint64_t t = base - half + (random_next() & (2 * half - 1));

		assert_true(fprof_time_extend(base, t & FPROF_TIME_MASK) == t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(choose_says_monotonic_when_told),
		cmocka_unit_test(conversion_is_monotone_and_points_touch),
		cmocka_unit_test(ticks_is_the_first_tick_that_reaches_ns),
		cmocka_unit_test(exact_over_104_days),
		cmocka_unit_test(extremes_saturate),
		cmocka_unit_test(measured_rate_fits_the_time_that_passes),
		cmocka_unit_test(monotonic_is_in_ns),
		cmocka_unit_test(short_times_extend_around_their_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
