/* SPDX-License-Identifier: MIT */
/* The inside of the captures, shared by captures*.c only. */
#ifndef FPROF_DAEMON_CAPTURES_IMPL_H
#define FPROF_DAEMON_CAPTURES_IMPL_H

#include "captures.h"
#include "sql.h"
#include "store_db.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#define CAPTURES_IDLE_MAX     8
#define CAPTURES_VERIFIED_MAX 4096

/* A file that was found to be sound, and whether it is still the same. */
struct captures_verified {
	uint64_t session;
	dev_t dev;
	ino_t ino;
	off_t bytes;
	int64_t changed_ns;
};

struct captures_reader {
	uint64_t session;
	struct history *history;
};

struct captures {
	struct store *store;
	char state_dir[DB_PATH_MAX - 64], directory[DB_PATH_MAX - 48], db_path[DB_PATH_MAX - 48];
	uint64_t limit_bytes;
	struct status *status; /* NULL: not known */

	pthread_mutex_t lock; /* of all that follows */
	sqlite3 *db;	      /* fprofd.db; NULL: to be opened */
	dev_t db_dev;
	ino_t db_ino;
	struct captures_reader idle[CAPTURES_IDLE_MAX]; /* the newest last */
	size_t idle_count;
	VEC(struct captures_verified) verified;
};

/* Is there room for bytes more? 0, -EDQUOT, -errno. */
int captures_check_room(struct captures *captures, uint64_t bytes);
/* Lists a file that is in its place: room, row. -EDQUOT, -errno: it is not listed, and the file is
 * still the caller's. */
int captures_enter(struct captures *captures, const struct capture *capture);
/* Writes what a capture says of itself into its file: keys of meta that begin with "capture.".
 * end_ticks: nothing after it is shown; INT64_MAX: no bound. */
int captures_write_meta(sqlite3 *db, const struct capture *capture, int64_t end_ticks);
/* What the sources' states are now, or were when the capture at path was saved ("": a recording is
 * saved). */
int captures_write_sources(struct captures *captures, sqlite3 *db, const char *path);
uint64_t captures_now_utc_ns(void);
/* At the start: what an earlier daemon left. */
void captures_recover(struct captures *captures);
/* The name of a capture's file. */
void captures_file_name(uint64_t session, char *name, size_t size);
/* Lists a file that is in its place, or removes it. */
int captures_enter_or_remove(struct captures *captures, struct capture *capture);
/* Makes a closed file that of capture: its session's id and owner, what is said of it, its sums;
 * synced. Sets capture's frames. */
int captures_take_over(const char *path, struct capture *capture);

#endif
