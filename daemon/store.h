/* SPDX-License-Identifier: MIT */
/*
 * The writing side of the database: one thread that commits batches, evicts, and keeps within the
 * budget. Every other module reads through history.h. schema.sql defines what is stored.
 *
 * history.db lives in history_dir (tmpfs), fprofd.db in state_dir. When history_dir takes no more
 * (ENOSPC, read-only) the history goes on in memory and the store tries the disk again later; a
 * corrupt file is moved aside. Both are said in store_health.
 */
#ifndef FPROF_DAEMON_STORE_H
#define FPROF_DAEMON_STORE_H

#include "batch.h"
#include "config.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Called on the store thread after each commit; the batch is still whole. Must not block. */
typedef void (*store_committed_fn)(void *userdata, const struct batch *batch);

/* Opens or creates both databases and starts the thread. Sessions that an earlier daemon left live
 * stay live until store_finish_stale. 0 or -errno (said in the log). */
int store_new(const struct config *config, store_committed_fn fn, void *userdata,
	      struct store **ret_store);
/* Commits what is queued, stops the thread, closes. NULL is fine. */
void store_free(struct store *store);

/* Queues a batch; the store owns it from here on. Any thread. Returns the bytes now queued: a
 * caller that sees more than STORE_QUEUE_BYTES should slow down (the queue never refuses). */
#define STORE_QUEUE_BYTES (16u * 1024u * 1024u)
uint64_t store_submit(struct store *store, struct batch *batch);
/* A game has said hello: the row of a session is to be submitted, unless store_session_not_coming
 * says otherwise. Any thread. */
void store_session_coming(struct store *store);
void store_session_not_coming(struct store *store);
/* Waits until those that are coming are committed, until_ns (monotonic) at the latest. */
void store_await_sessions(struct store *store, uint64_t until_ns);
/* Waits until all that was submitted before is committed, and a store_retry is done. Tests and
 * shutdown. */
void store_flush(struct store *store);

/* The next session id; never reused within a state directory. Any thread. */
uint64_t store_next_session_id(struct store *store);

/* What an earlier daemon knew of a session that was live when it ended. */
struct store_resume {
	uint64_t session;
	struct session_row row;
	struct session_update_row last;
	VEC(struct memory_row) memories;
	VEC(struct ledger_row) ledgers;
	VEC(struct track_row) tracks;
	VEC(struct marker_row) markers;
	VEC(struct stream_row) streams;
	VEC(struct frame_row) last_frames; /* newest frame of each stream */
	uint32_t next_track;
};
/* Whose session is looked for. */
struct store_process {
	int32_t pid;
	uint32_t uid;
	uint64_t start; /* 0: it was gone before we looked; then uid and memory_id decide */
	uint64_t image_id, memory_id;
	const char *boot_id;
};
/* Is there one for this process? 0 and an owned ret_resume (store_resume_free), or -ENOENT. */
int store_find_resume(struct store *store, const struct store_process *process,
		      struct store_resume **ret_resume);
void store_resume_free(struct store_resume *resume);
/* Ends a session that an earlier daemon left live and nobody has found again. how begins its
 * reason, which goes on with what is missing. */
void store_end_stale(struct store *store, uint64_t session, enum session_state state,
		     const char *how);

enum store_place { STORE_ON_DISK = 0, STORE_IN_MEMORY = 1 };
struct store_health {
	enum store_place history;
	char history_reason[320]; /* "" or why it is in memory, or was begun anew */
	bool state_ok;
	char state_reason[320];
	uint64_t used_bytes; /* history, WAL included */
	uint64_t budget_bytes;
	uint64_t commits, commit_ns_total, queued_bytes;
	uint64_t raw_bytes, stored_bytes; /* of chunks since start: the compression */
	uint64_t evicted_frames, evicted_chunks;
	uint64_t wal_rotations;	 /* times a pinned WAL forced a new file */
	uint64_t batches_failed; /* transactions that could not be written at all */
	uint64_t events_dropped; /* lead words in those */
};
void store_health(struct store *store, struct store_health *ret_health);

/* Where history readers open it: a path or URI valid until generation changes. Copies into path. */
uint64_t store_location(struct store *store, char *path, size_t size, bool *ret_is_uri);
/* Held around every use of a connection to store_location, from asking for it on: the history is
 * not moved meanwhile, nor written when it is in memory. Keep it short; not recursive. */
void store_read_lock(struct store *store);
void store_read_unlock(struct store *store);

/* Tries now what is tried every 5 s while history or state are not on disk. Returns at once. */
void store_retry(struct store *store);

#endif
