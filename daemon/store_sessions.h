/* SPDX-License-Identifier: MIT */
/*
 * What the store thread knows of each session in the history: how many bytes of events it has, up
 * to where they were evicted, its streams. It mirrors the database and can be loaded from it again
 * at any time, which is what happens after a transaction failed. The store thread's alone.
 */
#ifndef FPROF_DAEMON_STORE_SESSIONS_H
#define FPROF_DAEMON_STORE_SESSIONS_H

#include "batch.h"
#include "zone_totals.h"

#include <sqlite3.h>

struct stored_stream {
	uint32_t stream;
	uint64_t last_frame;  /* newest; 0: none */
	int64_t last_t1;      /* where it ended */
	uint64_t events_from; /* first frame whose events are all there */
};

/* A chunk older than what is retained that stays, since its track has been silent since: a zone may
 * be open in it. */
struct kept_chunk {
	int64_t id;
	uint32_t track, lane;
	uint64_t bytes;
};

/* The newest chunk of a lane of a track. */
struct newest_chunk {
	uint32_t track, lane;
	int64_t id;
};

struct stored_session {
	uint64_t id;
	uint32_t uid;
	enum session_state state;
	bool stored;	      /* the database has it */
	bool touched;	      /* by the transaction in progress */
	bool frozen;	      /* to be looked at: others go first */
	uint64_t chunk_bytes; /* as stored */
	uint32_t threads_seen, next_track;
	int64_t evicted_before;	      /* INT64_MIN: nothing was evicted */
	int64_t scan_from;	      /* chunks that end before it are gone or kept */
	int64_t newest_t1;	      /* of all chunks; outlives a lost database */
	struct zone_totals_mark mark; /* how far the rows of zone_totals go */
	uint64_t unmarked_events;     /* lead words of chunks above it */
	struct zone_totals *totals;   /* all up to now; NULL: nothing has gone yet */
	unsigned evictions;
	uint64_t held_from, held_to; /* frames that a spike needs: see evict_frames; 0: none */
	VEC(struct stored_stream) streams;
	VEC(struct kept_chunk) kept;
	VEC(struct newest_chunk) newest; /* by track and lane; of those that came lately */
	bool has_row;			 /* an ended session's goes after its last commit */
	struct session_row row; /* of live ones: to write it again when the database was lost */
};

struct stored_sessions {
	VEC(struct stored_session *) all; /* by id */
};

void stored_sessions_deinit(struct stored_sessions *sessions);
/* From the database; what it cannot say (row, has_row) is kept. 0 or -errno. */
int stored_sessions_load(struct stored_sessions *sessions, sqlite3 *db);
/* After a commit: nothing is touched any more. */
void stored_sessions_settle(struct stored_sessions *sessions);
struct stored_session *stored_session_find(const struct stored_sessions *sessions, uint64_t id);
/* Finds or makes it; NULL: no memory. */
struct stored_session *stored_session_get(struct stored_sessions *sessions, uint64_t id);
void stored_session_forget(struct stored_sessions *sessions, uint64_t id);
/* Finds or makes a stream; NULL: no memory. */
struct stored_stream *stored_session_stream(struct stored_session *session, uint32_t stream);
/* A chunk of the lane was stored: 0 or -ENOMEM. */
int stored_session_note_chunk(struct stored_session *session, uint32_t track, uint32_t lane,
			      int64_t id);
/* Is there a newer chunk of its lane than this one? False: that is not known. */
bool stored_session_has_newer(const struct stored_session *session, uint32_t track, uint32_t lane,
			      int64_t id);
/* The chunk is gone. */
void stored_session_forget_chunk(struct stored_session *session, uint32_t track, uint32_t lane,
				 int64_t id);
/* Its totals are not as the database is; it knows how to make them again. */
void stored_session_uncount(struct stored_session *session);
/* Keeps a copy of row: 0 or -ENOMEM. */
int stored_session_keep_row(struct stored_session *session, const struct session_row *row);

#endif
