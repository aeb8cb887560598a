/* SPDX-License-Identifier: MIT */
/* How the routes that tell of the scheduler name who preempted or woke a thread. */
#ifndef FPROF_DAEMON_API_SCHED_H
#define FPROF_DAEMON_API_SCHED_H

#include "batch.h"
#include "json.h"
#include "sched_log.h"

/* The member `by`: of a RUNNABLE interval of a game with this pid; track is the thread's of i->who
 * where it is one of the session, else NULL. null without an interval. */
void api_json_sched_by(struct json *j, const struct sched_interval *i, int32_t pid,
		       const struct track_row *track);

/* The members that say who it was, of whatever names somebody. */
void api_json_sched_who(struct json *j, const struct sched_interval *i, int32_t pid,
			const struct track_row *track);

#endif
