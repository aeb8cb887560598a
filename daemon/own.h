/* SPDX-License-Identifier: MIT */
/* What the daemon itself costs, and what an event costs a game on this machine. Any thread. */
#ifndef FPROF_DAEMON_OWN_H
#define FPROF_DAEMON_OWN_H

#include <stdint.h>

struct own_usage {
	uint64_t cpu_ns; /* user and system, all threads, since the daemon started */
	uint64_t rss_bytes, peak_rss_bytes;
	uint64_t rss_private_bytes; /* without what is shared: rings, the history on tmpfs */
	uint32_t threads;
};
void own_usage(struct own_usage *ret_usage);

/*
 * Nanoseconds that recording one event takes here: one read of the games' clock, one store of a
 * word, one of the head, measured over some 10,000 rounds (a fraction of a millisecond). The median
 * of 11.
 */
double own_event_cost_ns(void);

#endif
