/* SPDX-License-Identifier: MIT */
/*
 * Making captures. A save reads the history in one transaction, under store_read_lock, so that
 * whatever is evicted, cleared or recorded meanwhile changes nothing in it; the recording goes on,
 * since a WAL's reader holds up nobody. Only the copying is under the lock: checksums and syncs
 * come after it.
 *
 * A file that takes part in nothing yet has a temporary name; it gets its own and then its row.
 * What fails on the way removes it again.
 */
#include "captures.h"

#include "capture_check.h"
#include "capture_copy.h"
#include "capture_file.h"
#include "captures_impl.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

uint64_t captures_next_id(struct captures *captures)
{
	return store_next_session_id(captures->store);
}

void captures_file_name(uint64_t session, char *name, size_t size)
{
	snprintf(name, size, "%" PRIu64 ".fprof", session);
}

static int write_value(sqlite3_stmt *stmt, const char *key, const char *text, int64_t value)
{
	struct sql_binder b = sql_bind(stmt);

	bind_text(&b, key);
	if (text)
		bind_text(&b, text);
	else
		bind_int(&b, value);
	return sql_run(&b);
}

int captures_write_meta(sqlite3 *db, const struct capture *capture, int64_t end_ticks)
{
	const struct {
		const char *key, *text;
		int64_t value;
	} values[] = {
		{"capture.fprofd", FPROF_VERSION, 0},
		{"capture.kind", NULL, capture->kind},
		{"capture.created_utc_ns", NULL, (int64_t)capture->created_utc_ns},
		{"capture.source_session", NULL, (int64_t)capture->source_session},
		{"capture.first_frame", NULL, (int64_t)capture->first_frame},
		{"capture.last_frame", NULL, (int64_t)capture->last_frame},
		{"capture.aggregate", NULL, capture->aggregate},
		{"capture.name", capture->name, 0},
		{"capture.note", capture->note, 0},
		{"capture.reason", capture->reason_json, 0},
		{"capture.end_ticks", NULL, end_ticks},
	};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	size_t i;
	int r = sql_exec(db, "DELETE FROM main.meta WHERE key GLOB 'capture.*' "
			     "AND key <> 'capture.sources'");

	if (r == 0)
		r = sql_prepare(db, "INSERT INTO main.meta (key, value) VALUES (?,?)", &stmt);
	for (i = 0; i < ARRAY_SIZE(values) && r == 0; i++) {
		bool absent = strcmp(values[i].key, "capture.end_ticks") == 0
				      ? end_ticks == INT64_MAX
				      : i >= 7 && !values[i].text;

		if (!absent)
			r = write_value(stmt, values[i].key, values[i].text, values[i].value);
	}
	return r;
}

/* Where a session is: the file of a capture, or "" for the store's. 0, -ENOENT, -errno. */
static int find_source(struct captures *c, uint64_t session, char *path, size_t size)
{
	struct capture capture;
	int r = captures_find(c, session, HISTORY_ANY_UID, &capture);

	path[0] = '\0';
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	captures_path(c, capture.file, path, size);
	capture_deinit(&capture);
	return 0;
}

int captures_attach(sqlite3 *db, const char *where)
{
	char *sql = sqlite3_mprintf("ATTACH %Q AS source", where);
	int r = sql ? sql_exec(db, sql) : -ENOMEM;

	sqlite3_free(sql);
	return r;
}

/* A save in progress. */
struct saving {
	struct captures *captures;
	struct capture_copy copy;
	struct capture capture; /* borrows the order's strings */
	int64_t end_ticks;
	struct capture_file *file;
};

/* The owner: whoever asked, or whose the session is. -ENOENT: it is another's. */
static int find_owner(sqlite3 *db, struct saving *s, uint32_t uid)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int64_t owner = 0;
	int r = sql_prepare(db, "SELECT uid FROM source.sessions WHERE id = ?", &stmt);

	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, (int64_t)s->copy.source);
		r = sql_int_of(stmt, &owner);
	}
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	s->copy.uid = (uint32_t)owner;
	s->capture.uid = (uint32_t)owner;
	return uid == HISTORY_ANY_UID || uid == (uint32_t)owner ? 0 : -ENOENT;
}

/* Up to where the last of its frames goes. */
static int find_end(sqlite3 *db, struct saving *s)
{
	int64_t end = 0;
	int r;

	s->end_ticks = INT64_MAX;
	if (s->copy.tail)
		return 0;
	r = sql_int(db,
		    "SELECT ifnull(max(t1), -9223372036854775807) FROM main.frames "
		    "WHERE stream = 0",
		    &end);
	if (r == 1)
		s->end_ticks = end;
	return MIN(r, 0);
}

static int copy_attached(struct saving *s, uint32_t uid)
{
	sqlite3 *db = capture_file_db(s->file);
	int r = sql_exec(db, "BEGIN"), end;

	if (r < 0)
		return r;
	r = find_owner(db, s, uid);
	if (r == 0)
		r = capture_copy(db, &s->copy);
	if (r == 0)
		r = find_end(db, s);
	end = sql_exec(db, "COMMIT");
	return r < 0 ? r : end;
}

static int copy_from(struct saving *s, const char *where, uint32_t uid)
{
	sqlite3 *db = capture_file_db(s->file);
	int r = captures_attach(db, where), end;

	if (r < 0)
		return r;
	r = copy_attached(s, uid);
	end = sql_exec(db, "DETACH source");
	return r < 0 ? r : end;
}

static int copy_from_store(struct saving *s, uint32_t uid)
{
	struct store *store = s->captures->store;
	char where[DB_PATH_MAX];
	bool is_uri;
	int r;

	store_read_lock(store);
	store_location(store, where, sizeof(where), &is_uri);
	r = copy_from(s, where, uid);
	store_read_unlock(store);
	return r;
}

static int copy_from_capture(struct saving *s, const char *path, uint32_t uid)
{
	char uri[DB_URI_MAX];

	capture_uri(path, uri, sizeof(uri));
	return copy_from(s, uri, uid);
}

static int fill(struct saving *s, uint32_t uid)
{
	char path[DB_PATH_MAX];
	sqlite3 *db = capture_file_db(s->file);
	int r = find_source(s->captures, s->copy.source, path, sizeof(path));

	if (r == 0)
		r = path[0] ? copy_from_capture(s, path, uid) : copy_from_store(s, uid);
	if (r < 0)
		return r;
	s->capture.first_frame = s->copy.first;
	s->capture.last_frame = s->copy.first ? s->copy.last : 0;
	r = sql_exec(db, "BEGIN");
	if (r == 0)
		r = captures_write_meta(db, &s->capture, s->end_ticks);
	return r == 0 ? captures_write_sources(s->captures, db, path) : r;
}

static int save(struct saving *s, uint32_t uid)
{
	int r = capture_file_new(s->captures->directory, &s->file);

	if (r < 0)
		return r;
	r = fill(s, uid);
	if (r == 0)
		r = capture_file_finish(s->file, s->capture.file);
	capture_file_free(s->file);
	return r < 0 ? r : captures_enter_or_remove(s->captures, &s->capture);
}

int captures_save(struct captures *captures, const struct capture_order *order, uint32_t uid,
		  uint64_t *ret_session)
{
	char file[48];
	struct saving s = {
		.captures = captures,
		.copy = {.source = order->session,
			 .first = order->first,
			 .last = order->last,
			 .tail = order->tail},
		.capture = {.source_session = order->session,
			    .kind = order->kind,
			    .note = (char *)order->note,
			    .reason_json = (char *)order->reason_json,
			    .file = file,
			    .created_utc_ns = captures_now_utc_ns()},
	};
	char name[48];
	int r = captures_prepare(captures);

	if (r == 0)
		r = captures_check_room(captures, 0);
	if (r < 0)
		return r;
	s.copy.session = s.capture.session = captures_next_id(captures);
	captures_file_name(s.copy.session, file, sizeof(file));
	snprintf(name, sizeof(name), "capture %" PRIu64, s.copy.session);
	s.capture.name = order->name ? (char *)order->name : name;
	r = save(&s, uid);
	if (r == 0)
		*ret_session = s.copy.session;
	return r;
}
