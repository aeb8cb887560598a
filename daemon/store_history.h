/* SPDX-License-Identifier: MIT */
/*
 * The history database and where it is: on disk, or in memory while the disk takes nothing. The
 * store thread's, except for what store_history_place says.
 */
#ifndef FPROF_DAEMON_STORE_HISTORY_H
#define FPROF_DAEMON_STORE_HISTORY_H

#include "batch.h"
#include "config.h"
#include "store.h"
#include "store_db.h"
#include "store_evict.h"
#include "store_sessions.h"
#include "store_write.h"

#include <pthread.h>
#include <sqlite3.h>

/* What readers need, under lock. */
struct store_history_place {
	enum store_place where;
	uint64_t generation; /* changes when the database moves */
	char path[DB_PATH_MAX];
	bool is_uri;
	char reason[320];
};

struct store_history {
	char dir[DB_PATH_MAX - 64], path[DB_PATH_MAX - 32];
	uint64_t budget_bytes, frames, session_bytes;

	/* Held for reading around every use of a reader's connection, for writing while the
	 * database is replaced, and while one in memory is written (its VFS does not isolate). */
	pthread_rwlock_t use;
	pthread_mutex_t lock; /* of place */
	struct store_history_place place;

	sqlite3 *db;
	struct row_writer *writer;
	struct evictor *evictor;
	struct stored_sessions sessions;
	unsigned memories; /* made so far: their names differ */
	int wal_pages;
	uint64_t wal_bytes, used_bytes;
	struct write_totals written;
	struct evict_totals evicted;
	uint64_t rotations;
};

/* Opens it on disk, or in memory when that fails (said in place.reason). -ENOMEM or what memory
 * said. */
int store_history_init(struct store_history *h, const struct config *config);
void store_history_deinit(struct store_history *h);

/* One transaction: the rows of the batches from first up to but without end (linked by next), what
 * they evict, the sessions' figures. -errno: nothing was written. */
int store_history_commit(struct store_history *h, const struct batch *first,
			 const struct batch *end);
/* After a commit: checkpoints; replaces a database whose WAL a reader holds. */
void store_history_maintain(struct store_history *h);

/* What to do about an error of store_history_commit, so that it can be tried again: 0 or -errno. */
int store_history_recover(struct store_history *h, int error);
/* In memory: tries the disk again. 0 or -errno. */
int store_history_return(struct store_history *h);

#endif
