/* SPDX-License-Identifier: MIT */
/*
 * How long a thread was on a CPU, waited for one, and was blocked, up to any time: what zones' own
 * are differences of. In counted time. One thread at a time.
 */
#ifndef FPROF_DAEMON_ZONE_KERNEL_H
#define FPROF_DAEMON_ZONE_KERNEL_H

#include "counted.h"
#include "history.h"
#include "util.h"

#include <stdbool.h>
#include <stdint.h>

enum zone_kernel_state { ZONE_ON_CPU, ZONE_RUNNABLE, ZONE_BLOCKED, ZONE_KERNEL_STATES };
struct zone_kernel_ns {
	int64_t ns[ZONE_KERNEL_STATES];
};
/* Adds what happened between two answers. */
static inline void zone_kernel_add(struct zone_kernel_ns *sum, const struct zone_kernel_ns *begin,
				   const struct zone_kernel_ns *end)
{
	int i;

	for (i = 0; i < ZONE_KERNEL_STATES; i++)
		sum->ns[i] += end->ns[i] - begin->ns[i];
}

#define ZONE_KERNEL_INTERVALS_MAX (1u << 22) /* of all threads: 64 MiB */

struct zone_kernel_interval;
struct zone_kernel {
	struct counted *counted;
	bool any;      /* something is known of some thread */
	bool too_much; /* more intervals than are held: nothing is known */
	/* inside */
	struct zone_kernel_interval *intervals;
	size_t count;
	VEC(size_t) tracks; /* by track: the begin of its intervals; the next one's is their end */
	size_t at, end;	    /* of the track in progress */
	int64_t since;	    /* begin of at, counted ns */
	struct zone_kernel_ns sum; /* up to there, from whenever */
};
/* Reads what the scheduler did with the threads of the range; skip: by range->tracks, NULL: none.
 * 0 or -errno. */
int zone_kernel_read(struct history *h, struct counted *counted, const bool *skip,
		     struct zone_kernel *ret_kernel);
void zone_kernel_deinit(struct zone_kernel *kernel);
/* From here on a track (an index) is asked about, from its begin on: false: nothing is known. */
bool zone_kernel_track(struct zone_kernel *kernel, size_t track);
/* Up to t, which is counted time ns; t never falls. */
void zone_kernel_at(struct zone_kernel *kernel, int64_t t, int64_t ns,
		    struct zone_kernel_ns *ret_ns);

#endif
