/* SPDX-License-Identifier: MIT */
/* Choosing the clock, reading any of them, and turning ticks into ns. */
#ifndef FPROF_SHM_CLOCK_SOURCE_H
#define FPROF_SHM_CLOCK_SOURCE_H

#include "layout.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The clock that this machine's processes use: the counter when the CPU says it is invariant,
 * else FPROF_CLOCK_MONOTONIC. $FPROF_CLOCK=monotonic forces the latter (tests, broken firmware).
 * Any thread; the same answer every time within one environment.
 */
enum fprof_clock_kind fprof_clock_choose(void);

/* Now, in ticks of kind. Any thread, async-signal-safe. */
uint64_t fprof_clock_read(enum fprof_clock_kind kind);

/*
 * A line through the tick axis: ns(t) = (t - base) * mult / 2^shift. Only time points are
 * converted, never durations, so that intervals that touch in ticks touch in ns.
 */
struct fprof_clock_rate {
	uint64_t mult;
	uint32_t shift;
	double hz; /* ticks a second */
};

/* What rate runs kind at? Measures against CLOCK_MONOTONIC_RAW for about window_ns (counter kinds
 * only); the error is about 100 ns / window. */
void fprof_clock_measure(enum fprof_clock_kind kind, uint64_t window_ns,
			 struct fprof_clock_rate *ret_rate);
void fprof_clock_rate_set(struct fprof_clock_rate *rate, double hz);

/* ns from base to ticks; negative where ticks lie before base. */
int64_t fprof_clock_ns(const struct fprof_clock_rate *rate, uint64_t base, uint64_t ticks);
/* The inverse, for searching: the first tick whose ns is >= ns. */
uint64_t fprof_clock_ticks(const struct fprof_clock_rate *rate, uint64_t base, int64_t ns);

#endif
