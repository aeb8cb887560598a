/* SPDX-License-Identifier: MIT */
/*
 * Nothing is kept here: all state is the connection's. A binder or row remembers its first failure,
 * so that a long list of columns needs one check at its end.
 */
#include "sql.h"

#include "util.h"

#include <errno.h>
#include <string.h>

int sql_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_IOERR:
		return rc == SQLITE_IOERR_NOMEM ? -ENOMEM : -EIO;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		return -EINVAL;
	default: /* SQLITE_ERROR: a table or column of ours is missing */
		return -EBADMSG;
	}
}

int sql_exec(sqlite3 *db, const char *sql)
{
	return sql_errno(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt)
{
	return sql_errno(
		sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL));
}

int sql_ask(sqlite3 *db, const char *sql, const int64_t *values, size_t count,
	    sqlite3_stmt **ret_stmt)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db, sql, &stmt);
	size_t i;

	for (i = 0; i < count && r == 0; i++)
		r = sql_errno(sqlite3_bind_int64(stmt, (int)i + 1, values[i]));
	if (r < 0)
		return r;
	*ret_stmt = stmt;
	stmt = NULL;
	return 0;
}

int sql_step(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	return rc == SQLITE_ROW ? 1 : sql_errno(rc);
}

int sql_int_of(sqlite3_stmt *stmt, int64_t *ret_value)
{
	int r = sql_step(stmt);

	if (r == 1)
		*ret_value = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r;
}

int sql_int(sqlite3 *db, const char *sql, int64_t *ret_value)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db, sql, &stmt);

	return r < 0 ? r : sql_int_of(stmt, ret_value);
}

struct sql_binder sql_bind(sqlite3_stmt *stmt)
{
	return (struct sql_binder){.stmt = stmt};
}

static void bound(struct sql_binder *b, int rc)
{
	if (b->rc == SQLITE_OK)
		b->rc = rc;
}

void bind_int(struct sql_binder *b, int64_t value)
{
	bound(b, sqlite3_bind_int64(b->stmt, ++b->at, value));
}

void bind_uint(struct sql_binder *b, uint64_t value)
{
	bind_int(b, (int64_t)value);
}

void bind_real(struct sql_binder *b, double value)
{
	bound(b, sqlite3_bind_double(b->stmt, ++b->at, value));
}

void bind_text(struct sql_binder *b, const char *text)
{
	bound(b, sqlite3_bind_text(b->stmt, ++b->at, text, -1, SQLITE_STATIC));
}

void bind_blob(struct sql_binder *b, const void *data, size_t bytes)
{
	bound(b, sqlite3_bind_blob64(b->stmt, ++b->at, data ? data : "", bytes, SQLITE_STATIC));
}

void bind_int_or_null(struct sql_binder *b, int64_t value, int64_t unknown)
{
	if (value == unknown)
		bound(b, sqlite3_bind_null(b->stmt, ++b->at));
	else
		bind_int(b, value);
}

int sql_run(struct sql_binder *b)
{
	int r = sql_errno(b->rc);

	while (r == 0) {
		r = sql_step(b->stmt);
		if (r <= 0)
			break;
		r = 0;
	}
	sqlite3_reset(b->stmt);
	return r;
}

struct sql_row sql_row(sqlite3_stmt *stmt)
{
	return (struct sql_row){.stmt = stmt};
}

int64_t row_int(struct sql_row *r)
{
	return sqlite3_column_int64(r->stmt, r->at++);
}

uint64_t row_uint(struct sql_row *r)
{
	return (uint64_t)row_int(r);
}

uint32_t row_u32(struct sql_row *r)
{
	return (uint32_t)row_int(r);
}

double row_real(struct sql_row *r)
{
	return sqlite3_column_double(r->stmt, r->at++);
}

char *row_text(struct sql_row *r)
{
	int column = r->at++;
	const char *text;
	char *copy;

	if (sqlite3_column_type(r->stmt, column) == SQLITE_NULL)
		return NULL;
	text = (const char *)sqlite3_column_text(r->stmt, column);
	copy = text ? strdup(text) : NULL;
	if (!copy)
		r->error = -ENOMEM;
	return copy;
}

int64_t row_int_or(struct sql_row *r, int64_t unknown)
{
	if (sqlite3_column_type(r->stmt, r->at) == SQLITE_NULL) {
		r->at++;
		return unknown;
	}
	return row_int(r);
}
