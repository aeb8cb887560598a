/* SPDX-License-Identifier: MIT */
/*
 * Which sources were on, and why the others were not, when a capture was saved: a JSON array under
 * the key capture.sources of its file's meta. A capture of a capture has that of the first one.
 */
#include "captures.h"

#include "capture_check.h"
#include "captures_impl.h"
#include "json.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define KEY "capture.sources"

static const char *const state_names[] = {"on", "off", "degraded", "unavailable"};

static void json_sources(struct json *j, const struct status_snapshot *status)
{
	uint32_t i;

	json_array_begin(j);
	for (i = 0; i < status->source_count; i++) {
		const struct status_source *s = &status->sources[i];

		json_object_begin(j);
		json_member_string(j, "name", s->name);
		json_member_string(j, "state",
				   (unsigned)s->state < ARRAY_SIZE(state_names)
					   ? state_names[s->state]
					   : "unavailable");
		json_member_string(j, "reason", s->reason[0] ? s->reason : NULL);
		json_object_end(j);
	}
	json_array_end(j);
}

static int insert(sqlite3 *db, const char *text, size_t bytes)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(
		db, "INSERT OR REPLACE INTO main.meta (key, value) VALUES ('" KEY "', ?)", &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, text, (int)bytes, SQLITE_STATIC);
	return sql_step(stmt);
}

static int write_now(struct captures *c, sqlite3 *db)
{
	struct status_snapshot *status = malloc(sizeof(*status));
	struct json j = {0};
	int r;

	if (!status)
		return -ENOMEM;
	status_snapshot(c->status, status);
	json_sources(&j, status);
	r = j.failed ? -ENOMEM : insert(db, j.at, j.count);
	json_free(&j);
	free(status);
	return r;
}

static int read_text(const char *path, char **ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	struct sql_row row;
	int r = capture_open_raw(path, &db);

	if (r == 0)
		r = sql_prepare(db, "SELECT value FROM meta WHERE key = '" KEY "'", &stmt);
	if (r == 0)
		r = sql_step(stmt);
	*ret = NULL;
	if (r == 1) {
		row = sql_row(stmt);
		*ret = row_text(&row);
		r = row.error;
	}
	sqlite3_finalize(stmt);
	stmt = NULL;
	sqlite3_close(db);
	return r;
}

int captures_write_sources(struct captures *captures, sqlite3 *db, const char *path)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (!path[0])
		return captures->status ? write_now(captures, db) : 0;
	r = read_text(path, &text);
	return r == 0 && text ? insert(db, text, strlen(text)) : r;
}

int captures_sources(struct captures *captures, const struct capture *capture, char **ret_json)
{
	char path[DB_PATH_MAX];

	captures_path(captures, capture->file, path, sizeof(path));
	return read_text(path, ret_json);
}
