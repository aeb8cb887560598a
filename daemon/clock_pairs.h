/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC, in which the kernel stamps its events, against the clock of the rings. A pair is
 * both read at once; a time is converted between the two pairs around it, never beyond the newest:
 * NTP slews CLOCK_MONOTONIC by up to 500 ppm, which is 20 us in 40 ms. One thread.
 */
#ifndef FPROF_DAEMON_CLOCK_PAIRS_H
#define FPROF_DAEMON_CLOCK_PAIRS_H

#include "shm/clock_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_PAIRS 256u

struct clock_pair {
	uint64_t mono, ticks;
	uint64_t width; /* ticks within which mono was read */
};
struct clock_pairs {
	enum fprof_clock_kind kind;
	double hz;
	struct clock_pair at[CLOCK_PAIRS]; /* a ring */
	size_t first, count;
	uint64_t error_ns; /* the largest that a conversion between pairs may have had */
	uint64_t steps;	   /* of one clock alone: no time is converted across one */
};
void clock_pairs_init(struct clock_pairs *p, enum fprof_clock_kind kind, double hz);
/* The same for one that is all zero, with its first pair; nothing where that was done, or where the
 * clock's rate is not known (0). */
void clock_pairs_need(struct clock_pairs *p, enum fprof_clock_kind kind, double hz);
/* Reads both clocks: the narrowest of five readings. */
void clock_pairs_take(struct clock_pairs *p);
/* The same with a pair that was read elsewhere (tests); older ones than the newest are ignored. */
void clock_pairs_put(struct clock_pairs *p, const struct clock_pair *pair);
/* The ticks at a time of CLOCK_MONOTONIC: 0; -ERANGE: it is later than the newest pair, or there
 * are not two (since the last step). What is older than all pairs is on the line of the oldest two,
 * unless a step lies between: -ERANGE. */
int clock_pairs_ticks(const struct clock_pairs *p, uint64_t mono, uint64_t *ret_ticks);

#endif
