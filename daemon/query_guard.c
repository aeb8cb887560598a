// SPDX-License-Identifier: MIT
/*
 * An authorizer lets through what reads: all tables of the connection are the asker's to see. What
 * it cannot see (VACUUM, statements without an answer) is looked at when a statement is prepared.
 */
#include "query_guard.h"

#include "util.h"

#include <stdbool.h>
#include <string.h>

#define VALUE_BYTES_MAX (16 * 1024 * 1024) /* of one text or blob */

/* PRAGMAs that only tell of tables and functions. */
static const char *const harmless_pragmas[] = {"table_info",	  "table_xinfo",    "table_list",
					       "function_list",	  "collation_list", "module_list",
					       "compile_options", "pragma_list"};

static bool is_harmless_pragma(const char *name)
{
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(harmless_pragmas); i++)
		if (strcmp(name, harmless_pragmas[i]) == 0)
			return true;
	return false;
}

static int authorize(void *userdata, int action, const char *a, const char *b, const char *database,
		     const char *view)
{
	(void)userdata;
	(void)database;
	(void)view;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* Makes a table that exists by its module alone known: its declaration is SQL that is not allowed
 * later. One that is none is no loss. */
static void connect_table(sqlite3 *db, const char *name)
{
	char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", name);
	sqlite3_stmt *stmt = NULL;

	if (sql)
		sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static void connect_tables(sqlite3 *db)
{
	sqlite3_stmt *modules = NULL;
	char name[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(harmless_pragmas); i++) {
		snprintf(name, sizeof(name), "pragma_%s", harmless_pragmas[i]);
		connect_table(db, name);
	}
	if (sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &modules, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(modules) == SQLITE_ROW)
		connect_table(db, (const char *)sqlite3_column_text(modules, 0));
	sqlite3_finalize(modules);
}

static void set_limits(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 500);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
	sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
	sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 1000);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

void query_guard(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	connect_tables(db);
	set_limits(db);
	sqlite3_set_authorizer(db, authorize, NULL);
}

/* What is wrong with what was prepared, or NULL. */
static const char *find_fault(sqlite3 *db, sqlite3_stmt *stmt, const char *tail, bool *ret_at_tail)
{
	sqlite3_stmt *second = NULL;
	int rc;

	*ret_at_tail = false;
	if (!stmt)
		return "there is no statement";
	rc = sqlite3_prepare_v2(db, tail, -1, &second, NULL);
	sqlite3_finalize(second);
	*ret_at_tail = rc != SQLITE_OK || second;
	if (*ret_at_tail)
		return "one statement at a time";
	if (!sqlite3_stmt_readonly(stmt) || sqlite3_column_count(stmt) == 0)
		return "only statements that read are run";
	return NULL;
}

int query_guard_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt, const char **ret_why,
			int64_t *ret_offset)
{
	sqlite3_stmt *stmt = NULL;
	const char *tail;
	bool at_tail;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &tail);

	*ret_stmt = NULL;
	if (rc != SQLITE_OK)
		return rc;
	*ret_why = find_fault(db, stmt, tail, &at_tail);
	*ret_offset = at_tail ? tail - sql : -1;
	if (*ret_why)
		sqlite3_finalize(stmt);
	else
		*ret_stmt = stmt;
	return SQLITE_OK;
}
