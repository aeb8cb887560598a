/* SPDX-License-Identifier: MIT */
/*
 * A row is hashed as it is stored: of each column its type, its length and its bytes, so that no
 * two tables with different rows have the same input. meta is summed without the sums. Generated
 * columns are left out: they are not stored.
 *
 * The order of rows is that of the table's own tree, which NOT INDEXED keeps SQLite to.
 */
#include "capture_sum.h"

#include "sql.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#define XXH_INLINE_ALL /* millions of small values, one after the other */
#include <xxhash.h>

#define SUM_TEXT 64

static const char tables[] = "SELECT name FROM main.sqlite_schema WHERE type = 'table' "
			     "AND name NOT GLOB 'sqlite_*' ORDER BY name";

static void hash_column(XXH3_state_t *state, sqlite3_stmt *stmt, int column)
{
	struct {
		uint64_t type, value;
	} head = {(uint64_t)sqlite3_column_type(stmt, column), 0};
	const void *bytes = NULL;
	double real;

	switch ((int)head.type) {
	case SQLITE_INTEGER:
		head.value = (uint64_t)sqlite3_column_int64(stmt, column);
		break;
	case SQLITE_FLOAT:
		real = sqlite3_column_double(stmt, column);
		memcpy(&head.value, &real, sizeof(real));
		break;
	case SQLITE_TEXT:
	case SQLITE_BLOB:
		bytes = sqlite3_column_blob(stmt, column);
		head.value = (uint64_t)sqlite3_column_bytes(stmt, column);
		break;
	default:
		break;
	}
	XXH3_64bits_update(state, &head, sizeof(head));
	if (bytes)
		XXH3_64bits_update(state, bytes, head.value);
}

/* SELECT of all stored columns of a table, sqlite3_free it; NULL: no memory or no such table. */
static char *select_all(sqlite3 *db, const char *table)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	const char *where = strcmp(table, "meta") == 0 ? "WHERE key NOT GLOB 'sum.*'" : "";
	int r = sql_prepare(db,
			    "SELECT group_concat('\"' || name || '\"') "
			    "FROM pragma_table_info(?1, 'main')",
			    &stmt);

	if (r < 0)
		return NULL;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sql_step(stmt) != 1 || sqlite3_column_type(stmt, 0) == SQLITE_NULL)
		return NULL;
	return sqlite3_mprintf("SELECT %s FROM main.\"%w\" NOT INDEXED %s",
			       sqlite3_column_text(stmt, 0), table, where);
}

/* The sum of a table as it is kept in meta. */
static int sum_table(sqlite3 *db, const char *table, char text[SUM_TEXT])
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char *sql = select_all(db, table);
	uint64_t rows = 0;
	XXH3_state_t state;
	int columns, i, r;

	if (!sql)
		return -ENOMEM;
	r = sql_prepare(db, sql, &stmt);
	sqlite3_free(sql);
	if (r < 0)
		return r;
	columns = sqlite3_column_count(stmt);
	XXH3_64bits_reset(&state);
	while ((r = sql_step(stmt)) == 1) {
		for (i = 0; i < columns; i++)
			hash_column(&state, stmt, i);
		rows++;
	}
	snprintf(text, SUM_TEXT, "%" PRIu64 " %016" PRIx64, rows,
		 (uint64_t)XXH3_64bits_digest(&state));
	return r;
}

static int write_sum(sqlite3 *db, const char *table)
{
	_cleanup_stmt_ sqlite3_stmt *insert = NULL;
	struct sql_binder b;
	char key[128], sum[SUM_TEXT];
	int r = sum_table(db, table, sum);

	if (r == 0)
		r = sql_prepare(db, "INSERT OR REPLACE INTO main.meta (key, value) VALUES (?,?)",
				&insert);
	if (r < 0)
		return r;
	snprintf(key, sizeof(key), "sum.%s", table);
	b = sql_bind(insert);
	bind_text(&b, key);
	bind_text(&b, sum);
	return sql_run(&b);
}

int capture_sum_write_meta(sqlite3 *db)
{
	return write_sum(db, "meta");
}

int capture_sum_write(sqlite3 *db)
{
	_cleanup_stmt_ sqlite3_stmt *list = NULL;
	int r = sql_prepare(db, tables, &list);

	while (r == 0 && (r = sql_step(list)) == 1) {
		const char *table = (const char *)sqlite3_column_text(list, 0);

		r = table ? write_sum(db, table) : -ENOMEM;
	}
	return r;
}

/* 1: it is what is kept; 0: it is not, or nothing is kept; -errno. */
static int compare_sum(sqlite3_stmt *kept, const char *table, const char *sum)
{
	char key[128];
	const char *text;
	int r;

	snprintf(key, sizeof(key), "sum.%s", table);
	sqlite3_reset(kept);
	sqlite3_bind_text(kept, 1, key, -1, SQLITE_STATIC);
	r = sql_step(kept);
	text = r == 1 ? (const char *)sqlite3_column_text(kept, 0) : NULL;
	if (r == 1)
		r = text && strcmp(text, sum) == 0;
	sqlite3_reset(kept);
	return r;
}

int capture_sum_verify(sqlite3 *db, char *why, size_t size)
{
	_cleanup_stmt_ sqlite3_stmt *list = NULL, *kept = NULL;
	char sum[SUM_TEXT];
	int r = sql_prepare(db, tables, &list);

	if (r == 0)
		r = sql_prepare(db, "SELECT value FROM main.meta WHERE key = ?", &kept);
	while (r == 0 && (r = sql_step(list)) == 1) {
		const char *table = (const char *)sqlite3_column_text(list, 0);

		r = table ? sum_table(db, table, sum) : -ENOMEM;
		if (r == 0)
			r = compare_sum(kept, table, sum);
		if (r == 0) {
			snprintf(why, size, "the rows of table %.40s do not match their checksum",
				 table);
			return -EBADMSG;
		}
		r = MIN(r, 0);
	}
	return r;
}
