/* SPDX-License-Identifier: MIT */
/*
 * A mean of drawn blocks needs no samples, only the sums up to each of them, so differences of
 * many zones stay cheap. Other statistics get the drawn samples copied together.
 *
 * Blocks are drawn until there are as many samples as before; the last one is cut.
 */
#include "bootstrap.h"

#include "statistics.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SEED UINT64_C(0x626f6f74)

struct ranked {
	double value;
	size_t at;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Ranks from 0; equal values have the mean of theirs. */
static void rank(struct ranked *sorted, size_t count, double *ranks)
{
	size_t i, k, end;

	qsort(sorted, count, sizeof(*sorted), by_value);
	for (i = 0; i < count; i = end) {
		for (end = i + 1; end < count && sorted[end].value == sorted[i].value; end++)
			;
		for (k = i; k < end; k++)
			ranks[sorted[k].at] = (double)(i + end - 1) / 2;
	}
}

/* How the ranks of neighbours correlate. */
static double correlation(const double *ranks, size_t count)
{
	double mean = (double)(count - 1) / 2, with = 0, own = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		double x = ranks[i] - mean;

		own += x * x;
		if (i + 1 < count)
			with += x * (ranks[i + 1] - mean);
	}
	return own > 0 ? with / own : 0;
}

size_t bootstrap_block(const double *samples, size_t count)
{
	_cleanup_free_ struct ranked *sorted = malloc((count + 1) * sizeof(*sorted));
	_cleanup_free_ double *ranks = malloc((count + 1) * sizeof(*ranks));
	double r, base = cbrt((double)count), length;
	size_t i;

	if (!sorted || !ranks)
		return 0;
	for (i = 0; i < count; i++)
		sorted[i] = (struct ranked){samples[i], i};
	rank(sorted, count, ranks);
	r = MIN(correlation(ranks, count), 0.99);
	length = r > 0 ? cbrt(pow(2 * r / (1 - r * r), 2)) * base : 0;
	length = MIN(MAX(length, base), (double)count / 4);
	return length < 1 ? 1 : (size_t)ceil(length);
}

static void interval_of(double *drawn, size_t count, double confidence,
			struct interval *ret_interval)
{
	double tail = (1 - confidence) / 2 * 100;

	statistics_sort(drawn, count);
	ret_interval->low = statistics_percentile(drawn, count, tail);
	ret_interval->high = statistics_percentile(drawn, count, 100 - tail);
}

int bootstrap_run(const double *samples, size_t count, bootstrap_statistic statistic,
		  const void *userdata, double confidence, struct interval *ret_interval)
{
	_cleanup_free_ double *scratch = NULL;
	struct statistics_random random;
	double drawn[BOOTSTRAP_DRAWS];
	size_t block, i, at, n;

	if (count < BOOTSTRAP_LEAST)
		return -ERANGE;
	block = bootstrap_block(samples, count);
	scratch = malloc(count * sizeof(*scratch));
	if (!scratch || !block)
		return -ENOMEM;
	statistics_seed(&random, SEED);
	for (i = 0; i < BOOTSTRAP_DRAWS; i++) {
		for (at = 0; at < count; at += n) {
			n = MIN(block, count - at);
			memcpy(scratch + at, samples + statistics_below(&random, count - block + 1),
			       n * sizeof(*scratch));
		}
		drawn[i] = statistic(scratch, count, userdata);
	}
	interval_of(drawn, BOOTSTRAP_DRAWS, confidence, ret_interval);
	return 0;
}

static double mean_of_drawn(const double *values, size_t count, struct statistics_random *random)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += values[statistics_below(random, count)];
	return sum / (double)count;
}

int bootstrap_runs(const double *values, size_t count, double confidence,
		   struct interval *ret_interval)
{
	struct statistics_random random;
	double drawn[BOOTSTRAP_DRAWS];
	size_t i;

	if (count < 2)
		return -ERANGE;
	statistics_seed(&random, SEED);
	for (i = 0; i < BOOTSTRAP_DRAWS; i++)
		drawn[i] = mean_of_drawn(values, count, &random);
	interval_of(drawn, BOOTSTRAP_DRAWS, confidence, ret_interval);
	return 0;
}

int bootstrap_runs_difference(const double *a, size_t a_count, const double *b, size_t b_count,
			      double confidence, struct interval *ret_interval)
{
	struct statistics_random random;
	double drawn[BOOTSTRAP_DRAWS];
	size_t i;

	if (MIN(a_count, b_count) < 2)
		return -ERANGE;
	statistics_seed(&random, SEED);
	for (i = 0; i < BOOTSTRAP_DRAWS; i++) {
		drawn[i] = mean_of_drawn(b, b_count, &random);
		drawn[i] -= mean_of_drawn(a, a_count, &random);
	}
	interval_of(drawn, BOOTSTRAP_DRAWS, confidence, ret_interval);
	return 0;
}

/* A side with what draws need: of each run the sums before each sample, and its block. */
struct prepared {
	const struct bootstrap_side *side;
	double *sums;	/* of all runs, count + 1 each */
	size_t *starts; /* of a run's sums */
	size_t *blocks;
};

static void prepared_deinit(struct prepared *p)
{
	free(p->sums);
	free(p->starts);
	free(p->blocks);
}

static int prepare(const struct bootstrap_side *side, struct prepared *p)
{
	size_t all = 0, i, k, at = 0;

	for (i = 0; i < side->runs; i++) {
		if (side->counts[i] < BOOTSTRAP_LEAST)
			return -ERANGE;
		all += side->counts[i] + 1;
	}
	if (!side->runs)
		return -ERANGE;
	p->side = side;
	p->sums = malloc(all * sizeof(*p->sums));
	p->starts = malloc(side->runs * sizeof(*p->starts));
	p->blocks = malloc(side->runs * sizeof(*p->blocks));
	if (!p->sums || !p->starts || !p->blocks)
		return -ENOMEM;
	for (i = 0; i < side->runs; i++) {
		p->blocks[i] = bootstrap_block(side->samples[i], side->counts[i]);
		if (!p->blocks[i])
			return -ENOMEM;
		p->starts[i] = at;
		p->sums[at] = 0;
		for (k = 0; k < side->counts[i]; k++)
			p->sums[at + k + 1] = p->sums[at + k] + side->samples[i][k];
		at += side->counts[i] + 1;
	}
	return 0;
}

static double draw_mean(const double *sums, size_t count, size_t block,
			struct statistics_random *random)
{
	double sum = 0;
	size_t at, n;

	for (at = 0; at < count; at += n) {
		size_t from = statistics_below(random, count - block + 1);

		n = MIN(block, count - at);
		sum += sums[from + n] - sums[from];
	}
	return sum / (double)count;
}

static double draw_side(const struct prepared *p, struct statistics_random *random)
{
	size_t runs = p->side->runs, i;
	double sum = 0;

	for (i = 0; i < runs; i++) {
		size_t run = statistics_below(random, runs);

		sum += draw_mean(p->sums + p->starts[run], p->side->counts[run], p->blocks[run],
				 random);
	}
	return sum / (double)runs;
}

int bootstrap_difference(const struct bootstrap_side *a, const struct bootstrap_side *b,
			 double confidence, struct interval *ret_interval)
{
	__attribute__((cleanup(prepared_deinit))) struct prepared pa = {0}, pb = {0};
	struct statistics_random random;
	double drawn[BOOTSTRAP_DRAWS];
	size_t i;
	int r = prepare(a, &pa);

	if (r == 0)
		r = prepare(b, &pb);
	if (r < 0)
		return r;
	statistics_seed(&random, SEED);
	for (i = 0; i < BOOTSTRAP_DRAWS; i++)
		drawn[i] = draw_side(&pb, &random) - draw_side(&pa, &random);
	interval_of(drawn, BOOTSTRAP_DRAWS, confidence, ret_interval);
	return 0;
}
