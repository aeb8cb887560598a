/* SPDX-License-Identifier: MIT */
/*
 * Watches the clock of the rings for steps: a suspend (BOOTTIME runs on, MONOTONIC does not) or a
 * migration (ticks and MONOTONIC part). One thread.
 */
#ifndef FPROF_DAEMON_CLOCK_WATCH_H
#define FPROF_DAEMON_CLOCK_WATCH_H

#include "shm/clock_source.h"

#include <stdbool.h>
#include <stdint.h>

/* The clocks at one moment; window: ticks that reading them took. */
struct clock_reading {
	uint64_t ticks, monotonic_ns, boottime_ns, window;
};

struct clock_watch {
	enum fprof_clock_kind kind;
	struct fprof_clock_rate rate;
	struct clock_reading last;
	uint64_t steps;
};

void clock_watch_init(struct clock_watch *w, enum fprof_clock_kind kind,
		      const struct fprof_clock_rate *rate);
/* Compares with the last time: true when there was a step between *ret_from and *ret_to (ticks). */
bool clock_watch_check(struct clock_watch *w, uint64_t *ret_from, uint64_t *ret_to);
/* The comparison by itself. */
bool clock_watch_compare(struct clock_watch *w, const struct clock_reading *now, uint64_t *ret_from,
			 uint64_t *ret_to);

#endif
