/* SPDX-License-Identifier: MIT */
/*
 * How often a regression check is wrong, by simulation: builds that are the same, and builds of
 * which one is 5 percent slower, judged by the code that the daemon judges by.
 *
 * A run is 600 frames around 12 ms: an autoregressive series (frames are like their neighbours),
 * hitches of 5 to 50 ms more, and an offset of the whole run (what the machine did that day: heat,
 * layout in memory, clock). Beside it the test that everyone writes first: a bootstrap over the
 * frames of one run a side, which takes frames for independent and the runs' offsets for a change.
 */
#include "daemon/check.h"
#include "daemon/statistics.h"
#include "daemon/util.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define FRAMES	    600u
#define RUNS_MOST   10u
#define BASE_MS	    12.0
#define COMPARISONS 4000u /* of the same build */
#define SLOWER	    500u  /* of one that is 5 percent slower */
#define TOLERANCE   0.02
#define FLOOR_MS    0.1
#define NAIVE	    1000u /* comparisons */
#define NAIVE_DRAWS 400u

static const struct model {
	const char *name;
	double run_sd;	/* of the runs' offsets, a share */
	double ar, sd;	/* of the series */
	double hitches; /* a frame's chance */
} models[] = {
	{"steady machine: runs differ by 0.5 %", 0.005, 0.6, 0.06, 0.004},
	{"common machine: runs differ by 0.7 %", 0.007, 0.6, 0.06, 0.004},
	{"noisy machine: runs differ by 3 %", 0.03, 0.8, 0.08, 0.008},
};

static double uniform(struct statistics_random *random)
{
	return ((double)(statistics_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Marsaglia's polar method (1964), two at a time. */
static void normals(struct statistics_random *random, double *ret_two)
{
	double x, y, square;

	do {
		x = 2 * uniform(random) - 1;
		y = 2 * uniform(random) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	square = sqrt(-2 * log(square) / square);
	ret_two[0] = x * square;
	ret_two[1] = y * square;
}

static void simulate_run(struct statistics_random *random, const struct model *m, double slower,
			 double *frames)
{
	double step = sqrt(1 - m->ar * m->ar), level, x, z[2];
	size_t i;

	normals(random, z);
	level = BASE_MS * slower * (1 + m->run_sd * z[0]);
	x = z[1];
	for (i = 0; i < FRAMES; i++) {
		frames[i] = level * (1 + m->sd * x);
		if (uniform(random) < m->hitches)
			frames[i] += 5 * pow(10, uniform(random));
		if (i % 2 == 0)
			normals(random, z);
		x = m->ar * x + step * z[i % 2];
	}
}

struct tally {
	size_t verdicts[3];
};

/* Two numbers of each of so many runs. */
static void measure_runs(struct statistics_random *random, const struct model *m, double slower,
			 size_t runs, double *p99, double *p50)
{
	double frames[FRAMES];
	size_t i;

	for (i = 0; i < runs; i++) {
		simulate_run(random, m, slower, frames);
		statistics_sort(frames, FRAMES);
		p50[i] = statistics_percentile(frames, FRAMES, 50);
		p99[i] = statistics_percentile(frames, FRAMES, 99);
	}
}

static int compare(struct statistics_random *random, const struct model *m, double slower,
		   size_t runs, size_t conditions, struct tally *tally)
{
	double a[2][RUNS_MOST], b[2][RUNS_MOST];
	struct check_condition c[2] = {0};
	size_t i;

	measure_runs(random, m, 1, runs, a[0], a[1]);
	measure_runs(random, m, slower, runs, b[0], b[1]);
	for (i = 0; i < conditions; i++)
		c[i] = (struct check_condition){.compares = true,
						.tolerance = TOLERANCE,
						.floor = FLOOR_MS,
						.runs = b[i],
						.run_count = runs,
						.baseline = a[i],
						.baseline_count = runs};
	if (check_decide(c, conditions) < 0)
		return -1;
	tally->verdicts[check_overall(c, conditions)]++;
	return 0;
}

/* Of seeing at most k of n where each has the chance p, by summing logarithms. */
static double at_most(size_t k, size_t n, double p)
{
	double sum = 0;
	size_t i;

	for (i = 0; i <= k; i++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) -
			   lgamma((double)(n - i) + 1) + (double)i * log(p) +
			   (double)(n - i) * log1p(-p));
	return sum;
}

/* Clopper and Pearson (1934): the one-sided 95 percent upper bound of k of n. */
static double upper_bound(size_t k, size_t n)
{
	double low = (double)k / (double)n, high = 1;
	int i;

	for (i = 0; k < n && i < 60; i++) {
		double middle = (low + high) / 2;

		if (at_most(k, n, middle) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return k < n ? high : 1;
}

static double percent(size_t k, size_t n)
{
	return 100 * (double)k / (double)n;
}

static int tally_of(struct statistics_random *random, const struct model *m, double slower,
		    const size_t *row, size_t comparisons, struct tally *tally)
{
	size_t i;

	for (i = 0; i < comparisons; i++)
		if (compare(random, m, slower, row[0], row[1], tally) < 0)
			return -1;
	return 0;
}

static int print_row(const struct model *m, const size_t *row, size_t *ret_alarms)
{
	struct statistics_random random;
	struct tally same = {0}, slower = {0};

	statistics_seed(&random, 1000 * (uint64_t)(m - models) + 10 * row[0] + row[1]);
	if (tally_of(&random, m, 1, row, COMPARISONS, &same) < 0 ||
	    tally_of(&random, m, 1.05, row, SLOWER, &slower) < 0)
		return -1;
	*ret_alarms += same.verdicts[CHECK_FAIL];
	printf("| %s | %zu v %zu | %s | %zu of %u (<= %.2f %%) | %.1f %% | %.1f %% | %.1f %% | "
	       "%.1f %% |\n",
	       m->name, row[0], row[0], row[1] == 1 ? "P99" : "P99, P50", same.verdicts[CHECK_FAIL],
	       COMPARISONS, 100 * upper_bound(same.verdicts[CHECK_FAIL], COMPARISONS),
	       percent(same.verdicts[CHECK_PASS], COMPARISONS),
	       percent(same.verdicts[CHECK_INCONCLUSIVE], COMPARISONS),
	       percent(slower.verdicts[CHECK_FAIL], SLOWER),
	       percent(slower.verdicts[CHECK_PASS], SLOWER));
	return 0;
}

static double mean_of_drawn(struct statistics_random *random, const double *frames)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < FRAMES; i++)
		sum += frames[statistics_below(random, FRAMES)];
	return sum / FRAMES;
}

/* Does the 95 percent interval of the difference of the means, frames drawn singly, leave out 0? */
static bool naive_alarm(struct statistics_random *random, const double *a, const double *b)
{
	double drawn[NAIVE_DRAWS];
	size_t i;

	for (i = 0; i < NAIVE_DRAWS; i++)
		drawn[i] = mean_of_drawn(random, b) - mean_of_drawn(random, a);
	statistics_sort(drawn, NAIVE_DRAWS);
	return statistics_percentile(drawn, NAIVE_DRAWS, 2.5) > 0 ||
	       statistics_percentile(drawn, NAIVE_DRAWS, 97.5) < 0;
}

static void print_naive(const struct model *m)
{
	struct statistics_random random;
	double a[FRAMES], b[FRAMES];
	size_t alarms = 0, i;

	statistics_seed(&random, 77);
	for (i = 0; i < NAIVE; i++) {
		simulate_run(&random, m, 1, a);
		simulate_run(&random, m, 1, b);
		alarms += naive_alarm(&random, a, b);
	}
	printf("%s: %.1f %% false alarms\n", m->name, percent(alarms, NAIVE));
}

int main(void)
{
	static const size_t rows[][2] = {{5, 1}, {8, 2}};
	size_t alarms = 0, comparisons = 0, i, k;

	printf("the same build %u times a row, one that is 5 %% slower %u times; runs of %u "
	       "frames;\ntolerance %g %%, floor %g ms, alpha %g\n\n",
	       COMPARISONS, SLOWER, FRAMES, 100 * TOLERANCE, FLOOR_MS, CHECK_ALPHA);
	puts("| simulated | runs | conditions | same: false alarms (95 % bound) | same: pass | "
	     "same: inconclusive | +5 %: detected | +5 %: passed |");
	puts("| --- | --- | --- | --- | --- | --- | --- | --- |");
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		for (k = 0; k < ARRAY_SIZE(rows); k++) {
			if (print_row(&models[i], rows[k], &alarms) < 0)
				return 1;
			comparisons += COMPARISONS;
		}
	}
	printf("\nall: %zu false alarms of %zu comparisons: %.3f %%, 95 %% upper bound %.3f %%\n",
	       alarms, comparisons, percent(alarms, comparisons),
	       100 * upper_bound(alarms, comparisons));
	puts("\na bootstrap over the frames of one run a side instead, 95 % interval of the mean:");
	for (i = 0; i < ARRAY_SIZE(models); i++)
		print_naive(&models[i]);
	puts("\nruns a side that a check needs to be able to fail:");
	for (i = 1; i <= 16; i *= 2)
		printf("%zu %s: %zu\n", i, i == 1 ? "condition" : "conditions",
		       check_runs_needed(i));
	return 0;
}
