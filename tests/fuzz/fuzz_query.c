/* SPDX-License-Identifier: MIT */
/* A query's body: taken apart, and its SQL run on tables as the child has them. Nothing may come of
 * it but rows: the database that they are read from stays as it was. */
#include "daemon/query_body.h"
#include "daemon/query_guard.h"
#include "daemon/store_db.h"
#include "daemon/util.h"
#include "daemon/vtab.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 200 /* looks of the progress handler, 1,000 instructions apart */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *source, *db;
static unsigned steps;

static int on_progress(void *userdata)
{
	(void)userdata;
	return ++steps > STEPS_MAX;
}

static void must(int rc)
{
	if (rc != SQLITE_OK)
		abort();
}

static void open_both(void)
{
	struct vtab_source from = {.uid = 7};
	struct schema schema = schema_current();

	must(sqlite3_open(":memory:", &source));
	must(schema_apply(source, &schema));
	must(sqlite3_exec(source,
			  "INSERT INTO sessions VALUES (1, 1, 1, 7, 1, 1, 'b', 'n', 'e', 'i', "
			  "'{}', 3, 1e9, 1, 0, 0, 0, 1, 0, 0), (2, 1, 1, 8, 1, 1, 'b', 'secret', "
			  "'e', 'i', '{}', 3, 1e9, 1, 0, 0, 0, 1, 0, 0);"
			  "INSERT INTO markers (session, marker, kind, level, unit, dynamic, line, "
			  "colour, name) VALUES (1, 1, 0, 0, 0, 0, 1, 0, 'a'), "
			  "(2, 1, 0, 0, 0, 0, 1, 0, 'secret')",
			  NULL, NULL, NULL));
	must(sqlite3_open(":memory:", &db));
	from.db = source;
	must(vtab_register_tables(db, &from));
	must(vtab_register(db, &from));
	query_guard(db);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100000);
	sqlite3_progress_handler(db, 1000, on_progress, NULL);
}

/* What belongs to another is never seen. */
static void check_value(sqlite3_value *value, const char *sql)
{
	const char *text = (const char *)sqlite3_value_text(value);

	if (text && strstr(text, "secret") && !strcasestr(sql, "secret"))
		abort();
}

static void run(const char *sql)
{
	sqlite3_stmt *stmt;
	const char *why;
	int64_t offset;
	int i, changes = sqlite3_total_changes(source), rows = 0;

	steps = 0;
	if (query_guard_prepare(db, sql, &stmt, &why, &offset) != SQLITE_OK || !stmt)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW && rows++ < 100)
		for (i = 0; i < sqlite3_column_count(stmt); i++)
			check_value(sqlite3_column_value(stmt, i), sql);
	sqlite3_finalize(stmt);
	if (sqlite3_total_changes(source) != changes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *sql = NULL, *params = NULL, *body = malloc(size + 1);
	char why[160];

	if (!body)
		abort();
	memcpy(body, data, size);
	body[size] = '\0';
	if (!db)
		open_both();
	if (query_body_parse(body, size, &sql, &params, why) < 0)
		return 0;
	if (params && query_body_check_params(params) < 0)
		abort();
	run(sql);
	return 0;
}
