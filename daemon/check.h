/* SPDX-License-Identifier: MIT */
/*
 * The verdict of a regression check, from numbers that were measured: one of each run. Pure; any
 * thread. What is worse is larger, in every metric.
 *
 * A bound is held against what was measured. One run: above the bound it fails, that is a fact of
 * its frames; below it passes when the interval of the metric (bootstrap.h) is below too. Several
 * runs: their mean, with the interval over runs.
 *
 * A baseline is held against by runs, since the frames of one run are alike and differ from the
 * next run's for reasons that are not the build's. Let the effect be the mean of the runs minus
 * that of the baseline's, and the allowance the larger of tolerance x baseline and floor. Then
 *   fail          the runs are larger (permutation.h, one-sided, Holm over the conditions of the
 *                 check, at CHECK_ALPHA), and the effect is above the allowance;
 *   pass          the effect is below the allowance, and that is shown: with the allowance taken
 *                 off, the runs are smaller (the same test, at CHECK_ALPHA_PASS; every condition
 *                 has to pass, which needs no correction: Berger, 1982);
 *   inconclusive  neither: the spread is larger than the effect.
 *
 * What is attainable: p is at least 1 of the number of arrangements. With 5 runs a side that is
 * 1/252 = 0.00397, below CHECK_ALPHA for one condition, when every run is larger than every run of
 * the baseline; two conditions need 6 a side (1/924), five need 7 (1/3432). CHECK_ALPHA is small
 * since a gate runs a hundred times a day: `make bench` counts the false alarms.
 */
#ifndef FPROF_DAEMON_CHECK_H
#define FPROF_DAEMON_CHECK_H

#include "bootstrap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_ALPHA	 0.005
#define CHECK_ALPHA_PASS 0.05
#define CHECK_RUNS_LEAST 5u
#define CHECK_TOLERANCE	 0.05 /* unless said otherwise */

enum check_verdict { CHECK_PASS, CHECK_FAIL, CHECK_INCONCLUSIVE };

enum check_reason {
	CHECK_WITHIN,	      /* pass */
	CHECK_ABOVE,	      /* fail */
	CHECK_TOO_FEW_FRAMES, /* the metric has no value */
	CHECK_LOST,	      /* events were lost */
	CHECK_GONE,	      /* events that the metric rests on have left the history */
	CHECK_TOO_FEW_RUNS,
	CHECK_SPREAD, /* larger than the effect */
};

struct check_condition {
	/* What is asked: a bound or a baseline. */
	bool compares;
	double max;		 /* of a bound */
	double tolerance, floor; /* of a comparison; tolerance: a share of the baseline */

	/* What was measured: borrowed, one number a run. */
	const double *runs, *baseline;
	size_t run_count, baseline_count;
	bool unmeasured;	  /* a run has no number: too few frames */
	bool lost;		  /* events were lost in a run */
	bool gone;		  /* of some frames those that the metric rests on are gone */
	bool has_interval;	  /* of the only run, for a bound; of several it is made here */
	struct interval interval; /* of the runs' mean */

	/* What is said. */
	enum check_verdict verdict;
	enum check_reason reason;
	double value, baseline_value; /* means; with no runs 0 */
	double effect, allowance;     /* of a comparison */
	bool has_effect_interval;
	struct interval effect_interval;
	bool tested; /* there were enough runs: */
	double p, p_holm, p_within;
	double smallest_p; /* that so many runs can give */
	uint64_t arrangements;
	bool exact;
};

/* Says of each condition what is to be said. 0 or -ENOMEM. */
int check_decide(struct check_condition *conditions, size_t count);
/* Of all together: fail before inconclusive before pass. */
enum check_verdict check_overall(const struct check_condition *conditions, size_t count);
/* Runs a side that a check of so many comparisons needs to be able to fail. */
size_t check_runs_needed(size_t comparisons);

const char *check_verdict_name(enum check_verdict verdict); /* "pass", ... */
const char *check_reason_name(enum check_reason reason);    /* "too_few_runs", ... */

#endif
