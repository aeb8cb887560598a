/* SPDX-License-Identifier: MIT */
/*
 * SQLite in the daemon's terms: negative errno up, columns bound and read one after the other. A
 * connection and its statements are used by one thread at a time.
 */
#ifndef FPROF_DAEMON_SQL_H
#define FPROF_DAEMON_SQL_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* -ENOSPC, -EROFS, -EIO, -EBUSY, -ENOMEM, -ENOENT (cannot be opened), -EINVAL (the schema refuses
 * this row), -EBADMSG (damaged, no database, or not of our schema); 0 for SQLITE_OK, ROW and DONE.
 */
int sql_errno(int rc);

/* Runs statements that answer nothing: 0 or -errno. */
int sql_exec(sqlite3 *db, const char *sql);
/* Prepares one that is kept: 0 or -errno. */
int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt);
/* The same, with its first parameters bound. */
int sql_ask(sqlite3 *db, const char *sql, const int64_t *values, size_t count,
	    sqlite3_stmt **ret_stmt);
/* 1: a row; 0: done; -errno. */
int sql_step(sqlite3_stmt *stmt);
/* The first column of the first row: 1, 0 (no row), -errno. */
int sql_int(sqlite3 *db, const char *sql, int64_t *ret_value);
/* The same of a kept statement, which is reset. */
int sql_int_of(sqlite3_stmt *stmt, int64_t *ret_value);

/* Binds parameters from the first on. Texts and blobs must live until sql_run. */
struct sql_binder {
	sqlite3_stmt *stmt;
	int at; /* of the last bound */
	int rc; /* first failure */
};
struct sql_binder sql_bind(sqlite3_stmt *stmt);
void bind_int(struct sql_binder *b, int64_t value);
void bind_uint(struct sql_binder *b, uint64_t value); /* above INT64_MAX: negative in SQL */
void bind_real(struct sql_binder *b, double value);
void bind_text(struct sql_binder *b, const char *text); /* NULL: NULL */
void bind_blob(struct sql_binder *b, const void *data, size_t bytes);
/* NULL when value is unknown. */
void bind_int_or_null(struct sql_binder *b, int64_t value, int64_t unknown);
/* Runs it to its end and resets it: 0 or -errno. */
int sql_run(struct sql_binder *b);

/* Reads columns of the current row from the first on. */
struct sql_row {
	sqlite3_stmt *stmt;
	int at;	   /* next column */
	int error; /* -ENOMEM once a text could not be copied */
};
struct sql_row sql_row(sqlite3_stmt *stmt);
int64_t row_int(struct sql_row *r);
uint64_t row_uint(struct sql_row *r);
uint32_t row_u32(struct sql_row *r);
double row_real(struct sql_row *r);
char *row_text(struct sql_row *r);			/* a copy, NULL for NULL */
int64_t row_int_or(struct sql_row *r, int64_t unknown); /* unknown for NULL */

static inline void sql_finalizep(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

static inline void sql_resetp(sqlite3_stmt **stmt)
{
	if (*stmt)
		sqlite3_reset(*stmt);
}

#define _cleanup_stmt_	__attribute__((cleanup(sql_finalizep)))
#define _cleanup_reset_ __attribute__((cleanup(sql_resetp)))

#endif
