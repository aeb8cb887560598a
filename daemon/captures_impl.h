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

/* Lists a file that is in its place, whatever room there is: 0 or -errno. */
int captures_list_again(struct captures *captures, const struct capture *capture);
/* The database at where (a path or a URI) is `source` in db from here on. */
int captures_attach(sqlite3 *db, const char *where);
/* What the sources' states are now, or were when the capture at path was saved ("": a recording is
 * saved). */
int captures_write_sources(struct captures *captures, sqlite3 *db, const char *path);
uint64_t captures_now_utc_ns(void);
/* At the start: what an earlier daemon left. */
void captures_recover(struct captures *captures);

#endif
