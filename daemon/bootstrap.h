/* SPDX-License-Identifier: MIT */
/*
 * How far off a number may be, from the samples themselves. Frames that follow each other are
 * alike, so within a run whole blocks of them are drawn, which keeps that: the moving block
 * bootstrap (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989).
 * Over several runs the runs are drawn, then the blocks within each. Intervals are percentile
 * intervals. The same samples give the same interval. Pure; any thread.
 */
#ifndef FPROF_DAEMON_BOOTSTRAP_H
#define FPROF_DAEMON_BOOTSTRAP_H

#include <stddef.h>

#define BOOTSTRAP_DRAWS	     1000u
#define BOOTSTRAP_LEAST	     20u /* frames of a run, below which nothing is said */
#define BOOTSTRAP_CONFIDENCE 0.95

struct interval {
	double low, high;
};

/*
 * How many frames a block has: Carlstein's rule (1986) for a series whose neighbours correlate with
 * r, (2 r / (1 - r^2))^(2/3) n^(1/3), where r is that of the ranks, which a hitch does not sway;
 * at least n^(1/3), at most n / 4. 0: no memory.
 */
size_t bootstrap_block(const double *samples, size_t count);

/* Of drawn samples, which it may sort. */
typedef double (*bootstrap_statistic)(double *samples, size_t count, const void *userdata);

/* The samples of one run, in time order. 0; -ERANGE: fewer than BOOTSTRAP_LEAST; -ENOMEM. */
int bootstrap_run(const double *samples, size_t count, bootstrap_statistic statistic,
		  const void *userdata, double confidence, struct interval *ret_interval);

/* A number of each run: of their mean. 0; -ERANGE: fewer than 2. */
int bootstrap_runs(const double *values, size_t count, double confidence,
		   struct interval *ret_interval);

/* By how much b's mean is above a's, numbers of runs. 0; -ERANGE: fewer than 2 a side. */
int bootstrap_runs_difference(const double *a, size_t a_count, const double *b, size_t b_count,
			      double confidence, struct interval *ret_interval);

/* Runs of samples. */
struct bootstrap_side {
	const double *const *samples;
	const size_t *counts;
	size_t runs;
};
/* By how much b's mean over runs is above a's. 0; -ERANGE: a run has fewer than BOOTSTRAP_LEAST;
 * -ENOMEM. */
int bootstrap_difference(const struct bootstrap_side *a, const struct bootstrap_side *b,
			 double confidence, struct interval *ret_interval);

#endif
