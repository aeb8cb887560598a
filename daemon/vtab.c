// SPDX-License-Identifier: MIT
/*
 * The tables are eponymous-only: they exist in any connection that registers them and never in a
 * database file, which stays readable without them.
 */
#include "vtab.h"

#include "shm/reader.h"
#include "vtab_impl.h"

#include <string.h>

int vtab_connect(sqlite3 *db, const struct vtab_source *source, const char *declaration,
		 sqlite3_vtab **ret_table)
{
	struct vtab_table *table;
	int rc = sqlite3_declare_vtab(db, declaration);

	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0, sizeof(*table));
	table->source = *source;
	*ret_table = &table->base;
	return SQLITE_OK;
}

int vtab_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

int vtab_fail(sqlite3_vtab *table, sqlite3 *db, int rc)
{
	if (rc == SQLITE_OK || rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT)
		return rc;
	sqlite3_free(table->zErrMsg);
	table->zErrMsg =
		sqlite3_mprintf("the history cannot be read: %s",
				rc == SQLITE_ERROR ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	return rc;
}

/* A session's own number, or all: what every select of vtab_rows_module ends with. */
#define ALLOWED                                                            \
	" IN (SELECT id FROM sessions WHERE (?1 = 4294967295 OR uid = ?1)" \
	" AND (?2 = 0 OR id = ?2))"

static void free_rows(void *userdata)
{
	struct vtab_rows *rows = userdata;

	sqlite3_free(rows->select);
	sqlite3_free(rows);
}

/* Takes select, a text of sqlite3_mprintf. */
static int register_rows(sqlite3 *db, const char *name, const struct vtab_source *source,
			 char *select)
{
	struct vtab_rows *rows = sqlite3_malloc(sizeof(*rows));

	if (!rows || !select) {
		sqlite3_free(rows);
		sqlite3_free(select);
		return SQLITE_NOMEM;
	}
	rows->source = *source;
	rows->select = select;
	return sqlite3_create_module_v2(db, name, &vtab_rows_module, rows, free_rows);
}

static int register_named(sqlite3 *db, const struct vtab_source *source)
{
	static const char counters[] =
		"SELECT c.session AS session, c.stream AS stream, c.frame AS frame, "
		"c.marker AS marker, m.name AS name, m.category AS category, "
		"CASE m.unit WHEN 1 THEN 'bytes' WHEN 2 THEN 'ms' WHEN 3 THEN 'percent' "
		"ELSE 'count' END AS unit, c.value AS value, c.incomplete AS incomplete "
		"FROM frame_counters c LEFT JOIN markers m "
		"ON m.session = c.session AND m.marker = c.marker WHERE c.session" ALLOWED;
	static const char gpu[] =
		"SELECT g.session AS session, g.frame AS frame, g.track AS track, "
		"t.name AS queue, g.marker AS marker, m.name AS name, "
		"m.category AS category, g.submission AS submission, g.view AS view, "
		"g.begin_ns AS begin_ns, g.end_ns AS end_ns, "
		"g.end_ns - g.begin_ns AS duration_ns, g.calibrated AS calibrated "
		"FROM gpu_spans g LEFT JOIN markers m "
		"ON m.session = g.session AND m.marker = g.marker "
		"LEFT JOIN tracks t ON t.session = g.session AND t.track = g.track "
		"WHERE g.session" ALLOWED;
	int rc = register_rows(db, "counters", source, sqlite3_mprintf("%s", counters));

	if (rc == SQLITE_OK)
		rc = register_rows(db, "gpu_zones", source, sqlite3_mprintf("%s", gpu));
	return rc;
}

int vtab_register(sqlite3 *db, const struct vtab_source *source)
{
	struct vtab_source *copies[2] = {sqlite3_malloc(sizeof(*source)),
					 sqlite3_malloc(sizeof(*source))};
	int rc;

	if (!copies[0] || !copies[1]) {
		sqlite3_free(copies[0]);
		sqlite3_free(copies[1]);
		return SQLITE_NOMEM;
	}
	*copies[0] = *copies[1] = *source;
	rc = sqlite3_create_module_v2(db, "events", &vtab_events_module, copies[0], sqlite3_free);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_module_v2(db, "zones", &vtab_zones_module, copies[1],
					      sqlite3_free);
	else
		sqlite3_free(copies[1]);
	return rc == SQLITE_OK ? register_named(db, source) : rc;
}

int vtab_register_tables(sqlite3 *db, const struct vtab_source *source)
{
	static const char sql[] =
		"SELECT t.name, max(c.name = 'session') FROM sqlite_schema t, "
		"pragma_table_xinfo(t.name) c WHERE t.type IN ('table', 'view') AND "
		"(c.name = 'session' OR (c.name = 'id' AND t.name IN ('sessions', 'session_list')))"
		" GROUP BY t.name";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(source->db, sql, -1, &stmt, NULL), last;

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *column = sqlite3_column_int(stmt, 1) ? "session" : "id";

		rc = register_rows(db, name, source,
				   sqlite3_mprintf("SELECT * FROM main.\"%w\" WHERE %s%s", name,
						   column, ALLOWED));
	}
	last = sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? last : rc;
}

void vtab_result_text(sqlite3_context *context, const char *text)
{
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(context);
}

void vtab_result_bytes(sqlite3_context *context, const void *bytes, size_t count)
{
	size_t size = 3 * count + 1; /* each bad byte becomes three */
	char *text = sqlite3_malloc64(size);

	if (!text) {
		sqlite3_result_error_nomem(context);
		return;
	}
	utf8_copy(text, size, bytes, count);
	sqlite3_result_text(context, text, -1, sqlite3_free);
}

void vtab_result_marker(sqlite3_context *context, const struct vtab_session *session,
			uint32_t marker)
{
	const struct vtab_marker *m = vtab_session_marker(session, marker);
	char unknown[32];

	if (m) {
		sqlite3_result_text(context, m->name, -1, SQLITE_TRANSIENT);
		return;
	}
	sqlite3_snprintf(sizeof(unknown), unknown, "marker #%u", marker);
	sqlite3_result_text(context, unknown, -1, SQLITE_TRANSIENT);
}
