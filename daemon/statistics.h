/* SPDX-License-Identifier: MIT */
/*
 * Numbers from samples. Pure; any thread. Samples are doubles in any unit; NaN is never given.
 */
#ifndef FPROF_DAEMON_STATISTICS_H
#define FPROF_DAEMON_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts in place. */
void statistics_sort(double *samples, size_t count);
/* Nearest rank (NIST/SEMATECH e-Handbook 7.2.6.2's simplest form): the smallest sample that at
 * least p percent of all are not above. sorted; 0 < p <= 100; count > 0. */
double statistics_percentile(const double *sorted, size_t count, double p);
/* Their median by nearest rank, as they are sorted in place; 0: there are none. */
double statistics_median(double *samples, size_t count);
/* Fewer samples than this do not reach percentile p: 100 / (100 - p), rounded up. */
size_t statistics_percentile_needs(double p);
double statistics_mean(const double *samples, size_t count);
/* Of a sample (n - 1); count > 1. */
double statistics_sd(const double *samples, size_t count);

/* xoshiro256**, seeded by splitmix64: the same numbers on every machine. */
struct statistics_random {
	uint64_t state[4];
};
void statistics_seed(struct statistics_random *random, uint64_t seed);
uint64_t statistics_next(struct statistics_random *random);
/* Uniform in 0..below-1, without bias. */
uint64_t statistics_below(struct statistics_random *random, uint64_t below);

#endif
