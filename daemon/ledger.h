/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the absolute state of each ring, committed with the chunks that it accounts for, and
 * how a session of an earlier daemon goes on from it. Drain thread only.
 */
#ifndef FPROF_DAEMON_LEDGER_H
#define FPROF_DAEMON_LEDGER_H

#include "lane.h"

struct live;

/* Queues the ring's row. */
int ledger_put(struct live *s, struct ring *ring);
/* Markers, tracks and streams of s->resume. Called once, before any memory is added. */
int ledger_resume(struct live *s);
/* The rings of a memory that has come back. */
int ledger_resume_lane(struct live *s, struct lane *lane);

#endif
