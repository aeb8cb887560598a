/* SPDX-License-Identifier: MIT */
/*
 * Counters that every game has without asking: a thread that reads them from the kernel (usage.h)
 * about once a second for each live session and hands them to the store. It sleeps while no game is
 * there. And how long the threads that mark frames have run, for verdict_ran.h.
 *
 * A sample is what was true when it was read, and is stored with that time. Differences between two
 * samples belong to the time between them, never to a frame.
 */
#ifndef FPROF_DAEMON_SAMPLER_H
#define FPROF_DAEMON_SAMPLER_H

#include "batch.h"
#include "config.h"
#include "store.h"

#include <stdint.h>

struct pmu_events;
struct sampler;

/* config->sample_ms 0: it is off, and *ret_sampler is one that does nothing. pmu: hardware counters
 * to be read, too; kept by the caller; NULL: none. 0 or -errno. */
int sampler_new(const struct config *config, const struct pmu_events *pmu, struct store *store,
		struct sampler **ret_sampler);
void sampler_free(struct sampler *sampler); /* stops the thread; NULL is fine */

/* A session whose row was given to the store. Any thread. */
void sampler_add(struct sampler *sampler, const struct session_row *row);
/* One of its threads, by the game's own number, marks frames, main: those of the main stream. Any
 * thread; unknown sessions are fine. */
void sampler_mark(struct sampler *sampler, uint64_t session, int32_t tid, bool main);
/* Adds to the batch how long such threads have run, where that was last read some time ago: 30 ms,
 * half a second of those of named streams. Any thread: one that is awake anyway. */
void sampler_read_marking(struct sampler *sampler, struct batch *batch);
/* Its process is gone. Any thread; unknown ones are fine. */
void sampler_remove(struct sampler *sampler, uint64_t session);

struct sampler_health {
	uint32_t interval_ms; /* 0: off */
	uint32_t sessions;    /* that are sampled */
	uint64_t rounds;      /* one a session and interval */
	uint64_t cost_ns;     /* CPU time of the thread so far */
	uint64_t refused;     /* rounds for which there was no memory or too many counters */
};
void sampler_health(struct sampler *sampler, struct sampler_health *ret_health);

#endif
