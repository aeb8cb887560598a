/* SPDX-License-Identifier: MIT */
/* Percentiles, means, spreads, and the random numbers that resampling is made of. */
#include "daemon/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sorting_is_right_at_every_size(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 511, 512, 513, 5000};
	struct statistics_random random;
	size_t i, k;

	(void)state;
	statistics_seed(&random, 7);
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t n = sizes[k];
		double *a = calloc(n + 1, sizeof(*a)), *b = calloc(n + 1, sizeof(*b));

		for (i = 0; i < n; i++)
			a[i] = b[i] = ((double)statistics_below(&random, 1000000) - 500000) /
				      (i % 3 ? 1 : 977.0);
		statistics_sort(a, n);
		qsort(b, n, sizeof(*b), compare);
		assert_memory_equal(a, b, (n + 1) * sizeof(*a));
		free(a);
		free(b);
	}
}

static void samples_that_are_all_alike_stay(void **state)
{
	double a[600];
	size_t i;

	(void)state;
	for (i = 0; i < 600; i++)
		a[i] = 16.25;
	statistics_sort(a, 600);
	for (i = 0; i < 600; i++)
		assert_true(a[i] == 16.25);
}

/* By definition: the smallest sample that at least p percent of all are not above. */
static double by_definition(const double *sorted, size_t count, unsigned per_mille)
{
	size_t i;

	for (i = 0; (i + 1) * 1000 < per_mille * count; i++)
		;
	return sorted[i];
}

static void percentiles_are_nearest_rank(void **state)
{
	static const unsigned per_mille[] = {1, 10, 333, 500, 501, 900, 950, 990, 999, 1000};
	double a[2000];
	size_t n, k;

	(void)state;
	for (n = 0; n < 2000; n++)
		a[n] = (double)n;
	for (n = 1; n <= 2000; n++)
		for (k = 0; k < sizeof(per_mille) / sizeof(per_mille[0]); k++)
			assert_true(statistics_percentile(a, n, per_mille[k] / 10.0) ==
				    by_definition(a, n, per_mille[k]));
}

static void a_percentile_says_what_it_needs(void **state)
{
	(void)state;
	assert_int_equal(statistics_percentile_needs(50), 2);
	assert_int_equal(statistics_percentile_needs(90), 10);
	assert_int_equal(statistics_percentile_needs(95), 20);
	assert_int_equal(statistics_percentile_needs(99), 100);
	assert_int_equal(statistics_percentile_needs(99.9), 1000);
	assert_int_equal(statistics_percentile_needs(99.99), 10000);
	assert_int_equal(statistics_percentile_needs(66), 3);
	assert_int_equal(statistics_percentile_needs(100), 1);
}

static void sums_lose_nothing(void **state)
{
	double small[1001];
	size_t i;

	(void)state;
	small[0] = 1e16;
	for (i = 1; i <= 1000; i++)
		small[i] = 1;
	assert_true(statistics_mean(small, 1001) == (1e16 + 1000) / 1001);
	small[0] = 1;
	small[1] = 1e100;
	small[2] = 1;
	small[3] = -1e100;
	assert_true(statistics_mean(small, 4) == 0.5);
}

static void spread_is_that_of_a_sample(void **state)
{
	static const double a[] = {2, 4, 4, 4, 5, 5, 7, 9};
	double far[3] = {1e9 + 1, 1e9 + 2, 1e9 + 3};

	(void)state;
	assert_true(fabs(statistics_sd(a, 8) - sqrt(32.0 / 7)) < 1e-12);
	assert_true(statistics_sd(far, 3) == 1);
	assert_true(statistics_sd(a, 1) == 0);
}

/* What splitmix64 and xoshiro256** as published give for seed 0. */
static void numbers_are_the_same_everywhere(void **state)
{
	struct statistics_random random;

	(void)state;
	statistics_seed(&random, 0);
	assert_true(random.state[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(random.state[1] == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(random.state[2] == UINT64_C(0x06c45d188009454f));
	assert_true(random.state[3] == UINT64_C(0xf88bb8a8724c81ec));
	assert_true(statistics_next(&random) == UINT64_C(0x99ec5f36cb75f2b4));
}

/* Chi-square over 7 cells, 70,000 draws: 22.5 is its 99.9 % point with 6 degrees of freedom. */
static void bounded_numbers_are_even(void **state)
{
	struct statistics_random random;
	double chi = 0;
	size_t counts[7] = {0}, i;

	(void)state;
	statistics_seed(&random, 3);
	for (i = 0; i < 70000; i++) {
		uint64_t x = statistics_below(&random, 7);

		assert_true(x < 7);
		counts[x]++;
	}
	for (i = 0; i < 7; i++)
		chi += ((double)counts[i] - 1e4) * ((double)counts[i] - 1e4) / 1e4;
	assert_true(chi < 22.5);
	for (i = 0; i < 100; i++)
		assert_true(statistics_below(&random, 1) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorting_is_right_at_every_size),
		cmocka_unit_test(samples_that_are_all_alike_stay),
		cmocka_unit_test(percentiles_are_nearest_rank),
		cmocka_unit_test(a_percentile_says_what_it_needs),
		cmocka_unit_test(sums_lose_nothing),
		cmocka_unit_test(spread_is_that_of_a_sample),
		cmocka_unit_test(numbers_are_the_same_everywhere),
		cmocka_unit_test(bounded_numbers_are_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
