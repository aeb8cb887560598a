/* SPDX-License-Identifier: MIT */
/*
 * The drain thread: sweeps all rings, cuts their events into chunks and frames, hands batches
 * to the store. It alone knows the sessions' live state; others tell it what happened to
 * a process, and read what it found from the database.
 *
 * Idle (no session) it sleeps until told; with sessions it sweeps at an adaptive pace, so that no
 * ring gets more than a quarter full between two sweeps, at least every 250 ms, at most every
 * millisecond.
 */
#ifndef FPROF_DAEMON_DRAIN_H
#define FPROF_DAEMON_DRAIN_H

#include "batch.h"
#include "config.h"
#include "control_set.h"
#include "memory.h"
#include "sampler.h"
#include "sched_trace.h"
#include "stack_trace.h"
#include "store.h"
#include "trigger_book.h"

#include <stdint.h>

struct drain;

int drain_new(const struct config *config, struct store *store, struct drain **ret_drain);
/* Drains what there is, submits it, stops. What others ask it is answered until drain_free. NULL is
 * fine. */
void drain_stop(struct drain *drain);
/* The same, where that was not done yet, and frees it. NULL is fine. */
void drain_free(struct drain *drain);

/* Where sessions' triggers are; before any is opened. */
void drain_set_triggers(struct drain *drain, struct trigger_book *book);

/* Who is told of sessions, once the store has their rows; before any is opened. */
void drain_set_watchers(struct drain *drain, struct sampler *sampler, struct sched_trace *trace,
			struct stack_trace *stacks);

/* All of these queue a command and return; any thread. Ownership of row, control, memory and resume
 * passes to the drain. resume may be NULL. */
int drain_session_open(struct drain *drain, struct session_row *row, struct control *control,
		       struct store_resume *resume);
int drain_memory_add(struct drain *drain, uint64_t session, struct memory *memory);
/* The process said goodbye (it may still record until it exits). */
int drain_session_bye(struct drain *drain, uint64_t session);
/* The process is gone: a last sweep, then the session ends. reason: copied. */
int drain_session_gone(struct drain *drain, uint64_t session, bool crashed, const char *reason);

/* What others may change of live sessions. Lives as long as the drain. */
struct control_set *drain_controls(struct drain *drain);
/* Orders a state, which takes effect at the game's next frame boundary: 0, -ENOENT (no such live
 * session), -EINVAL (a session that is stopped cannot be frozen). Any thread. */
int drain_session_record(struct drain *drain, uint64_t session, enum fprof_record_state state);
/* Empties the session's history up to the last frame boundary; names stay. One that was frozen is
 * stopped afterwards. Waits until the store has what clears it: 0, -ENOENT, -ENOMEM, -ETIMEDOUT. */
int drain_session_clear(struct drain *drain, uint64_t session);

struct drain_health {
	uint32_t sessions;
	uint64_t sweeps;
	uint64_t events;  /* received since start */
	uint64_t busy_ns; /* CPU time of the drain thread */
	uint64_t pace_ns; /* of the last sleep */
	uint32_t clock_kind;
	double clock_hz;
	uint64_t clock_steps;
};
void drain_health(struct drain *drain, struct drain_health *ret_health);

#endif
