/* SPDX-License-Identifier: MIT */
/*
 * The statistic is the difference of the means. The total of all runs is the same however they
 * fall, so b's sum alone orders the arrangements: those are counted whose sum is at least the
 * observed one. All choices of b's runs are walked depth first, each partial sum once, so that no
 * error adds up; sums that differ by less than rounding count as equal, which is on the safe side.
 */
#include "permutation.h"

#include "statistics.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SEED UINT64_C(0x70657267)

/* n over k, or limit + 1 where it is more. */
static uint64_t choices(size_t n, size_t k, uint64_t limit)
{
	uint64_t c = 1;
	size_t i;

	k = MIN(k, n - k);
	for (i = 1; i <= k; i++) {
		/* c <= limit here, and limit * n fits: both are bounded above */
		c = c * (n - k + i) / i;
		if (c > limit)
			return limit + 1;
	}
	return c;
}

struct walk {
	const double *pool;
	size_t count;
	double bound; /* sums from here on count */
	uint64_t tried, counted;
};

/* Chooses take more of the runs from index on. Depth is at most the number of b's runs. */
static void walk_from(struct walk *w, size_t index, size_t take,
		      double sum) // NOLINT(misc-no-recursion)
{
	if (take == 0) {
		w->tried++;
		w->counted += sum >= w->bound;
		return;
	}
	for (; index + take <= w->count; index++)
		walk_from(w, index + 1, take - 1, sum + w->pool[index]);
}

static void draw(struct walk *w, double *pool, size_t take)
{
	struct statistics_random random;
	size_t i;

	statistics_seed(&random, SEED);
	w->tried = w->counted = 1; /* the observed one */
	while (w->tried <= PERMUTATION_DRAWS) {
		double sum = 0;

		for (i = 0; i < take; i++) {
			size_t k = i + statistics_below(&random, w->count - i);
			double swap = pool[i];

			pool[i] = pool[k];
			pool[k] = swap;
			sum += pool[i];
		}
		w->tried++;
		w->counted += sum >= w->bound;
	}
}

int permutation_test(const double *a, size_t a_count, const double *b, size_t b_count,
		     struct permutation *ret_test)
{
	size_t count = a_count + b_count, i;
	_cleanup_free_ double *pool = NULL;
	struct walk w = {.count = count};
	double sum = 0, size = 0;

	if (!a_count || !b_count || count > PERMUTATION_RUNS_MAX)
		return -EINVAL;
	pool = malloc(count * sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	memcpy(pool, a, a_count * sizeof(*pool));
	memcpy(pool + a_count, b, b_count * sizeof(*pool));
	for (i = 0; i < count; i++)
		size += fabs(pool[i]);
	for (i = a_count; i < count; i++)
		sum += pool[i];
	w.pool = pool;
	w.bound = sum - size * 1e-12;
	ret_test->exact = choices(count, b_count, PERMUTATION_EXACT_MAX) <= PERMUTATION_EXACT_MAX;
	if (ret_test->exact)
		walk_from(&w, 0, b_count, 0);
	else
		draw(&w, pool, b_count);
	ret_test->arrangements = w.tried;
	ret_test->p = (double)w.counted / (double)w.tried;
	return 0;
}

double permutation_smallest(size_t a_count, size_t b_count)
{
	uint64_t all;

	if (!a_count || !b_count)
		return 1;
	all = choices(a_count + b_count, b_count, PERMUTATION_EXACT_MAX);
	return 1.0 / (double)(all <= PERMUTATION_EXACT_MAX ? all : PERMUTATION_DRAWS + 1);
}

size_t permutation_runs_needed(double p)
{
	size_t n = 1;

	while (n < PERMUTATION_RUNS_MAX / 2 && permutation_smallest(n, n) > p)
		n++;
	return n;
}

int permutation_holm(const double *p, size_t count, double *adjusted)
{
	_cleanup_free_ size_t *order = calloc(count + 1, sizeof(*order));
	double least = 0;
	size_t i, k;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		for (k = i; k > 0 && p[order[k - 1]] > p[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	/* Read before it is written: the arrays may be one. */
	for (i = 0; i < count; i++) {
		least = MAX(least, MIN(1.0, p[order[i]] * (double)(count - i)));
		adjusted[order[i]] = least;
	}
	return 0;
}
