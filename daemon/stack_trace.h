/* SPDX-License-Identifier: MIT */
/*
 * The stacks source: a thread that has games sampled by the kernel that were ordered to be, and
 * stores what came of it. It sleeps, and fprof-probe has nothing loaded for it, while there is
 * none. Where stacks cannot be had, the source "stacks" says why, and how to change that.
 */
#ifndef FPROF_DAEMON_STACK_TRACE_H
#define FPROF_DAEMON_STACK_TRACE_H

#include "config.h"
#include "status.h"
#include "store.h"

#include <stdint.h>

#define SAMPLING_HZ_MIN 10u
#define SAMPLING_HZ_MAX 10000u

struct stack_trace;

/* 0 or -errno. */
int stack_trace_new(const struct config *config, struct store *store, struct status *status,
		    struct stack_trace **ret_trace);
/* Nobody waits for an order any more, which is refused from now on. NULL is fine. */
void stack_trace_stop(struct stack_trace *trace);
void stack_trace_free(struct stack_trace *trace); /* stops the thread; NULL is fine */

/* A session whose row was given to the store. ordered_hz: what was ordered of it before (0: not to
 * be sampled), -1: nothing, so that the configuration says. Any thread. */
void stack_trace_add(struct stack_trace *trace, const struct session_row *row, int ordered_hz);
/* Its process is gone. Any thread; unknown ones are fine. */
void stack_trace_remove(struct stack_trace *trace, uint64_t session);

struct stack_order {
	uint32_t hz;	/* samples a second of each CPU; 0: none */
	uint64_t taken; /* samples since it was recorded */
	uint64_t lost;	/* that the kernel had no room for, of all sessions while it was sampled */
	char reason[160], fix[160]; /* why it is not sampled as ordered; "" */
};
/* From now on; waits until it is in force, or known not to be: then what held before holds on. Any
 * thread. 0; -ENOENT: it is not live; -EOPNOTSUPP: it cannot be had, for ret_order's reason. */
int stack_trace_order(struct stack_trace *trace, uint64_t session, uint32_t hz,
		      struct stack_order *ret_order);
/* 0 or -ENOENT. Any thread. */
int stack_trace_ordered(struct stack_trace *trace, uint64_t session, struct stack_order *ret_order);

struct stack_trace_health {
	uint32_t sessions;	/* that are sampled */
	uint32_t finishing;	/* that have ended, and whose last samples are not stored yet */
	uint64_t samples;	/* read since start */
	uint64_t lost;		/* that the kernel had no room for */
	uint64_t dropped;	/* read, and in no log: no memory */
	uint64_t interruptions; /* fprof-probe ended */
	uint64_t cost_ns;	/* CPU time of the thread */
};
void stack_trace_health(struct stack_trace *trace, struct stack_trace_health *ret_health);

#endif
