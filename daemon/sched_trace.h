/* SPDX-License-Identifier: MIT */
/*
 * The scheduler source: a thread that has recorded games' threads traced by the kernel, and stores
 * what came of it. It sleeps while no game is there, and does nothing where fprof-probe cannot be
 * had: then the source "scheduler" says why, and how to change that.
 */
#ifndef FPROF_DAEMON_SCHED_TRACE_H
#define FPROF_DAEMON_SCHED_TRACE_H

#include "config.h"
#include "status.h"
#include "store.h"

#include <stdint.h>

struct sched_trace;

/* 0 or -errno. */
int sched_trace_new(const struct config *config, struct store *store, struct status *status,
		    struct sched_trace **ret_trace);
void sched_trace_free(struct sched_trace *trace); /* stops the thread; NULL is fine */

/* A session whose row was given to the store. Any thread. */
void sched_trace_add(struct sched_trace *trace, const struct session_row *row);
/* Its process is gone. Any thread; unknown ones are fine. */
void sched_trace_remove(struct sched_trace *trace, uint64_t session);

struct sched_trace_health {
	uint32_t sessions;	/* that are traced, or would be */
	uint64_t events;	/* read since start */
	uint64_t lost;		/* that the kernel had no room for */
	uint64_t dropped;	/* read, and in no log: no memory, or too many threads */
	uint64_t missed;	/* switches and wakes that the kernel did not tell of */
	uint64_t interruptions; /* fprof-probe ended: what happened until the next one is unknown */
	uint64_t cost_ns;	/* CPU time of the thread */
	uint64_t clock_error_ns; /* the largest between the kernel's time and the rings', so far */
};
void sched_trace_health(struct sched_trace *trace, struct sched_trace_health *ret_health);

#endif
