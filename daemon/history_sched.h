/* SPDX-License-Identifier: MIT */
/* What the scheduler did with a thread, as the history has it. */
#ifndef FPROF_DAEMON_HISTORY_SCHED_H
#define FPROF_DAEMON_HISTORY_SCHED_H

#include "history.h"
#include "sched_log.h"

typedef VEC(struct sched_interval) sched_intervals_vec;

/* Is anything known of any thread from t0 on? 1, 0, -errno. */
int history_sched_any(struct history *h, uint64_t session, int64_t t0);
/* One interval after the other, as below, within one transaction: take's negative return ends it.
 */
int history_sched_each(struct history *h, uint64_t session, int32_t tid, int64_t t0, int64_t t1,
		       int (*take)(void *userdata, const struct sched_interval *interval),
		       void *userdata);
/*
 * The intervals of thread tid (the game's) that touch [t0, t1) in ticks, clipped to it, in order,
 * without holes: what is not known is SCHED_STATE_UNKNOWN. None: the kernel was not asked, or never
 * told of the thread. 0 or -errno.
 */
int history_sched(struct history *h, uint64_t session, int32_t tid, int64_t t0, int64_t t1,
		  sched_intervals_vec *ret_intervals);

/* Threads, by the game's numbers, that the kernel told anything of before t1. 0 or -errno. */
typedef VEC(int32_t) sched_tids_vec;
int history_sched_tids(struct history *h, uint64_t session, int64_t t1, sched_tids_vec *ret_tids);

#endif
