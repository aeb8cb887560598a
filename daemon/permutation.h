/* SPDX-License-Identifier: MIT */
/*
 * Is one group of runs larger than another? By trying how the runs could have fallen into the two
 * groups otherwise, which assumes nothing of how their numbers are distributed. Pure; any thread.
 *
 * p counts the observed arrangement among the others (Phipson and Smyth, "Permutation p-values
 * should never be zero", 2010), so it is never 0: with five runs a side the smallest is 1 of 252.
 */
#ifndef FPROF_DAEMON_PERMUTATION_H
#define FPROF_DAEMON_PERMUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERMUTATION_EXACT_MAX \
	1000000u		    /* arrangements that are all tried; 11 + 11 runs have fewer */
#define PERMUTATION_DRAWS    99999u /* at random, where there are more */
#define PERMUTATION_RUNS_MAX 1000u  /* of both sides together */

struct permutation {
	double p;	       /* one-sided: that b's mean is no larger than a's */
	uint64_t arrangements; /* tried, the observed one among them */
	bool exact;	       /* these are all */
};

/* 0; -EINVAL: an empty side, or too many runs; -ENOMEM. The same numbers give the same answer. */
int permutation_test(const double *a, size_t a_count, const double *b, size_t b_count,
		     struct permutation *ret_test);

/* The smallest p that so many runs can give, as permutation_test tries them. */
double permutation_smallest(size_t a_count, size_t b_count);
/* So many runs a side that the smallest p is at most so much. */
size_t permutation_runs_needed(double p);

/* Holm's step-down (1979): adjusted[i] <= alpha for all that may be rejected while the chance of
 * rejecting any true one stays below alpha. The arrays may be the same. 0 or -ENOMEM. */
int permutation_holm(const double *p, size_t count, double *adjusted);

#endif
