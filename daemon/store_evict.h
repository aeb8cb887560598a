/* SPDX-License-Identifier: MIT */
/*
 * Keeps the history within its bounds, inside the transaction that made it grow. The store
 * thread's.
 */
#ifndef FPROF_DAEMON_STORE_EVICT_H
#define FPROF_DAEMON_STORE_EVICT_H

#include "store_sessions.h"

#include <sqlite3.h>
#include <stdint.h>

#define EVICT_FRAME_ROWS     3600u /* frames whose rows stay */
#define EVICT_ENDED_SESSIONS 64u
#define EVICT_HELD_FRAMES    300u /* after the last one that a spike needs */

struct evict_limits {
	uint64_t frames;	/* of the main stream that keep their events */
	uint64_t pages_bytes;	/* of the database's pages in use; may change with every call */
	uint64_t session_bytes; /* of one session's chunks */
};

struct evictor;

int evictor_new(sqlite3 *db, struct stored_sessions *sessions, struct evictor **ret_evictor);
void evictor_free(struct evictor *evictor); /* NULL is fine */

/* Pages in use, in bytes: 0 or -errno. */
int evictor_used(struct evictor *evictor, uint64_t *ret_bytes);

struct evict_totals {
	uint64_t frames, chunks, sessions; /* grow */
};

/* Makes room for incoming more bytes of chunks: oldest ended sessions whole, then the oldest events
 * of the largest session. */
int evictor_make_room(struct evictor *evictor, const struct evict_limits *limits, uint64_t incoming,
		      struct evict_totals *totals);
/* A session's history up to before (ticks) goes: events, and frames that ended by then. Names
 * stay. */
int evictor_clear(struct evictor *evictor, uint64_t session, int64_t before,
		  struct evict_totals *totals);
/* A session's main stream is about to reach frame last: what has to go for that goes before, so
 * that what comes takes its pages within the same transaction. */
int evictor_make_way(struct evictor *evictor, const struct evict_limits *limits, uint64_t session,
		     uint64_t last, struct evict_totals *totals);
/* What the touched sessions hold beyond their frames and bytes, and ended sessions beyond their
 * number. */
int evictor_trim(struct evictor *evictor, const struct evict_limits *limits,
		 struct evict_totals *totals);

#endif
