/* SPDX-License-Identifier: MIT */
/*
 * Database files: their schema and its migrations, how they are opened, checked, moved aside and
 * copied. No state of its own; a connection belongs to the thread that uses it.
 */
#ifndef FPROF_DAEMON_STORE_DB_H
#define FPROF_DAEMON_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define DB_PAGE_BYTES	  16384
#define DB_PATH_MAX	  512
#define DB_URI_MAX	  (3 * DB_PATH_MAX + 32)
#define DB_APPLICATION_ID 0x6670726f /* "fpro" */

/* What leads from version - 1 to version. */
struct schema_step {
	int version;
	const char *sql;
};

struct schema {
	const char *sql; /* makes an empty database one of version */
	int version;
	const struct schema_step *steps; /* by version, for older ones */
	size_t step_count;
};

/* The one of this program. */
struct schema schema_current(void);

/*
 * Makes the database one of schema->version, each step in a transaction. -ENOTSUP: it is newer than
 * this program knows; -EBADMSG: it is no database of ours; -errno.
 */
int schema_apply(sqlite3 *db, const struct schema *schema);

enum db_kind {
	DB_HISTORY, /* in a WAL, never synced: tmpfs */
	DB_MEMORY,  /* a memdb URI, shared within the process */
	DB_STATE,   /* durable */
};

/* Opens or creates one, checks an old one's integrity when check is set, applies the schema. Errors
 * as above. */
int db_open(const char *path, enum db_kind kind, bool check, sqlite3 **ret_db);
/* Read-only, for history readers and the look for sessions to resume. */
int db_open_reader(const char *path, sqlite3 **ret_db);

/* The URI of a path with a query ("vfs=unix"), DB_URI_MAX bytes are enough. */
void db_uri(const char *path, const char *query, char *uri, size_t size);

/* Renames path (and its WAL) to path.why-UTC and keeps the newest two such files. ret_name: of the
 * new file, may be NULL. 0 or -errno. */
int db_move_aside(const char *path, const char *why, char *ret_name, size_t size);
/* Removes path, its WAL and its shared-memory file; what is missing is fine. */
void db_remove(const char *path);

enum db_copy {
	DB_COPY_ALL,
	DB_COPY_NAMES, /* sessions, markers, tracks, streams, ...: what gives events their meaning;
			  a table that cannot be read is left out */
};
/* Copies rows from one open database into another, by its path or URI. 0 or -errno. */
int db_copy_rows(sqlite3 *from, const char *to, enum db_copy what);
/* Copies page by page into a new file at path. 0 or -errno. */
int db_copy_pages(sqlite3 *from, const char *path);

#endif
