/* SPDX-License-Identifier: MIT */
/*
 * Sessions that an earlier fprofd left live: found again by the process that reconnects, or ended.
 * The caller's thread reads through a connection of its own; what is to be written goes through the
 * queue.
 */
#include "store.h"

#include "log.h"
#include "process.h"
#include "rows.h"
#include "store_impl.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* A session is claimed once: by its process, or to be ended. */
static bool claim_stale(struct store *store, uint64_t id)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&store->lock);
	for (i = 0; i < store->stale.count && !found; i++)
		if (store->stale.at[i] == id) {
			store->stale.at[i] = store->stale.at[--store->stale.count];
			found = true;
		}
	pthread_mutex_unlock(&store->lock);
	return found;
}

static int find_session(sqlite3 *db, int32_t pid, uint64_t process_start, uint64_t image_id,
			const char *boot_id, struct store_resume *resume)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	struct sql_row row;
	int r = sql_prepare(db,
			    "SELECT " ROWS_SESSION ", " ROWS_UPDATE ", t.next_track "
			    "FROM " ROWS_SESSION_FROM " WHERE t.state = 0 AND s.pid = ? AND "
			    "s.process_start = ? AND s.image_id = ? AND s.boot_id IS ? "
			    "ORDER BY s.id DESC LIMIT 1",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_int(&b, pid);
	bind_uint(&b, process_start);
	bind_uint(&b, image_id);
	bind_text(&b, boot_id);
	r = sql_step(stmt);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	row = sql_row(stmt);
	rows_session(&row, &resume->row);
	rows_update(&row, &resume->last);
	resume->next_track = row_u32(&row);
	resume->session = resume->row.id;
	return row.error;
}

/* One table of a session: ROWS_ columns and what makes a row of the current one. */
typedef int (*read_row_fn)(struct sql_row *row, struct store_resume *resume);

static int read_rows(sqlite3 *db, const char *sql, struct store_resume *resume, read_row_fn fn)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db, sql, &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)resume->session);
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		r = fn(&row, resume);
		if (r == 0)
			r = row.error;
		if (r < 0)
			return r;
	}
	return r;
}

static int read_memory(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->memories, 1) < 0)
		return -ENOMEM;
	rows_memory(row, &resume->memories.at[resume->memories.count++]);
	return 0;
}

static int read_ledger(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->ledgers, 1) < 0)
		return -ENOMEM;
	rows_ledger(row, &resume->ledgers.at[resume->ledgers.count++]);
	return 0;
}

static int read_track(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->tracks, 1) < 0)
		return -ENOMEM;
	rows_track(row, &resume->tracks.at[resume->tracks.count++]);
	return 0;
}

static int read_marker(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->markers, 1) < 0)
		return -ENOMEM;
	rows_marker(row, &resume->markers.at[resume->markers.count++]);
	return 0;
}

static int read_stream(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->streams, 1) < 0)
		return -ENOMEM;
	rows_stream(row, &resume->streams.at[resume->streams.count++]);
	return 0;
}

static int read_frame(struct sql_row *row, struct store_resume *resume)
{
	if (VEC_RESERVE(&resume->last_frames, 1) < 0)
		return -ENOMEM;
	rows_frame(row, &resume->last_frames.at[resume->last_frames.count++]);
	return 0;
}

static int read_tables(sqlite3 *db, struct store_resume *resume)
{
	static const struct {
		const char *sql;
		read_row_fn fn;
	} tables[] = {
		{"SELECT " ROWS_MEMORY " FROM memories WHERE session=?", read_memory},
		{"SELECT " ROWS_LEDGER " FROM ledger WHERE session=?", read_ledger},
		{"SELECT " ROWS_TRACK " FROM tracks WHERE session=?", read_track},
		{"SELECT " ROWS_MARKER " FROM markers WHERE session=?", read_marker},
		{"SELECT " ROWS_STREAM " FROM streams WHERE session=?", read_stream},
		{"SELECT " ROWS_FRAME " FROM frames f WHERE session=? AND frame = "
		 "(SELECT max(frame) FROM frames g WHERE g.session = f.session AND "
		 "g.stream = f.stream)",
		 read_frame},
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = read_rows(db, tables[i].sql, resume, tables[i].fn);
	return r;
}

int store_find_resume(struct store *store, int32_t pid, uint64_t process_start, uint64_t image_id,
		      const char *boot_id, struct store_resume **ret_resume)
{
	struct store_resume *resume = calloc(1, sizeof(*resume));
	char path[DB_PATH_MAX];
	sqlite3 *db = NULL;
	bool is_uri;
	int r;

	if (!resume)
		return -ENOMEM;
	store_read_lock(store);
	store_location(store, path, sizeof(path), &is_uri);
	r = db_open_reader(path, &db);
	if (r == 0)
		r = sql_exec(db, "BEGIN");
	if (r == 0)
		r = find_session(db, pid, process_start, image_id, boot_id, resume);
	if (r == 0)
		r = read_tables(db, resume);
	sqlite3_close(db);
	store_read_unlock(store);
	if (r == 0 && !claim_stale(store, resume->session))
		r = -ENOENT;
	if (r < 0) {
		store_resume_free(resume);
		return r;
	}
	*ret_resume = resume;
	return 0;
}

void store_resume_free(struct store_resume *resume)
{
	size_t i;

	if (!resume)
		return;
	session_row_deinit(&resume->row);
	session_update_row_deinit(&resume->last);
	for (i = 0; i < resume->ledgers.count; i++)
		free(resume->ledgers.at[i].stack);
	for (i = 0; i < resume->tracks.count; i++)
		free(resume->tracks.at[i].name);
	for (i = 0; i < resume->markers.count; i++)
		marker_row_deinit(&resume->markers.at[i]);
	for (i = 0; i < resume->streams.count; i++)
		free(resume->streams.at[i].name);
	VEC_FREE(&resume->memories);
	VEC_FREE(&resume->ledgers);
	VEC_FREE(&resume->tracks);
	VEC_FREE(&resume->markers);
	VEC_FREE(&resume->streams);
	VEC_FREE(&resume->last_frames);
	free(resume);
}

static bool is_running(const struct session_row *row, const char *boot_id)
{
	struct process_stat st;

	if (row->boot_id && boot_id && strcmp(row->boot_id, boot_id) != 0)
		return false;
	return process_stat(row->pid, &st) == 0 && st.start == row->process_start &&
	       st.state != 'Z' && st.state != 'X';
}

static int end_session(struct batch *batch, struct session_update_row *update, const char *reason)
{
	free(update->end_reason);
	update->end_reason = strdup(reason);
	update->state = SESSION_CRASHED;
	update->threads_active = 0;
	return update->end_reason ? VEC_PUSH(&batch->updates, *update) : -ENOMEM;
}

/* Ends what is stale of the current row. */
static int end_row(struct store *store, sqlite3_stmt *stmt, const char *boot_id, bool all,
		   struct batch *batch)
{
	struct sql_row row = sql_row(stmt);
	struct session_row session = {0};
	struct session_update_row update = {0};
	bool running;
	int r = 0;

	rows_session(&row, &session);
	rows_update(&row, &update);
	running = is_running(&session, boot_id);
	if (row.error == 0 && (all || !running) && claim_stale(store, session.id))
		r = end_session(batch, &update,
				running ? "it did not connect to the new fprofd"
					: "the process ended while fprofd was not running");
	if (batch->updates.count == 0 ||
	    batch->updates.at[batch->updates.count - 1].id != session.id)
		session_update_row_deinit(&update);
	session_row_deinit(&session);
	return r < 0 ? r : row.error;
}

static int end_rows(struct store *store, sqlite3 *db, bool all, struct batch *batch)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	_cleanup_free_ char *boot_id = process_boot_id();
	int r = sql_prepare(db,
			    "SELECT " ROWS_SESSION ", " ROWS_UPDATE " FROM " ROWS_SESSION_FROM
			    " WHERE t.state = 0",
			    &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1)
		r = end_row(store, stmt, boot_id, all, batch);
	return r;
}

void store_finish_stale(struct store *store, bool all)
{
	struct batch *batch;
	char path[DB_PATH_MAX];
	sqlite3 *db = NULL;
	bool is_uri, none;
	int r;

	pthread_mutex_lock(&store->lock);
	none = store->stale.count == 0;
	pthread_mutex_unlock(&store->lock);
	batch = none ? NULL : batch_new();
	if (!batch)
		return;
	store_read_lock(store);
	store_location(store, path, sizeof(path), &is_uri);
	r = db_open_reader(path, &db);
	if (r == 0)
		r = end_rows(store, db, all, batch);
	if (r < 0)
		log_debug("history: ignoring that left-over sessions could not be read: %s",
			  strerror(-r));
	sqlite3_close(db);
	store_read_unlock(store);
	if (batch->updates.count > 0)
		store_submit(store, batch);
	else
		batch_free(batch);
}
