/* SPDX-License-Identifier: MIT */
/*
 * Sessions that an earlier fprofd left live: found again by the process that reconnects, or ended.
 * The caller's thread reads through a connection of its own; what is to be written goes through the
 * queue.
 */
#include "store.h"

#include "log.h"
#include "rows.h"
#include "shm/clock_source.h"
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

static int find_session(sqlite3 *db, const struct store_process *process,
			struct store_resume *resume)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	struct sql_row row;
	int r = sql_prepare(db,
			    "SELECT " ROWS_SESSION ", " ROWS_UPDATE ", t.next_track "
			    "FROM " ROWS_SESSION_FROM " WHERE t.state = 0 AND s.pid = ?1 AND "
			    "s.image_id = ?3 AND s.boot_id IS ?4 AND (s.process_start = ?2 OR "
			    "(?2 = 0 AND s.uid = ?5 AND EXISTS (SELECT 1 FROM memories m "
			    "WHERE m.session = s.id AND m.memory_id = ?6))) "
			    "ORDER BY s.id DESC LIMIT 1",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_int(&b, process->pid);
	bind_uint(&b, process->start);
	bind_uint(&b, process->image_id);
	bind_text(&b, process->boot_id);
	bind_int(&b, process->uid);
	bind_uint(&b, process->memory_id);
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

int store_find_resume(struct store *store, const struct store_process *process,
		      struct store_resume **ret_resume)
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
		r = find_session(db, process, resume);
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

/* When the last event of the session that was read happened, in ticks since its start. */
static int last_event(sqlite3 *db, const struct session_row *session, int64_t *ret_ticks)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db, "SELECT base_ticks FROM ledger WHERE session = ?", &stmt);
	int64_t last = 0;

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)session->id);
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		int64_t ticks = (int64_t)(row_uint(&row) - session->start_ticks);

		last = MAX(last, ticks);
	}
	*ret_ticks = last;
	return r;
}

/* Tracks that were alive end there too. */
static int end_tracks(sqlite3 *db, uint64_t session, int64_t ticks, struct batch *batch)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(
		db, "SELECT " ROWS_TRACK " FROM tracks WHERE session = ? AND end_ticks IS NULL",
		&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)session);
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct track_row track = {0};

		if (VEC_RESERVE(&batch->tracks, 1) < 0)
			return -ENOMEM;
		rows_track(&row, &track);
		track.end_ticks = MAX(ticks, track.begin_ticks);
		batch->tracks.at[batch->tracks.count++] = track;
		if (row.error)
			return row.error;
	}
	return r;
}

static int end_update(struct session_update_row *update, const struct session_row *session,
		      int64_t ticks, enum session_state state, const char *how)
{
	const struct fprof_clock_rate rate = {.mult = session->clock_mult,
					      .shift = session->clock_shift,
					      .hz = session->clock_hz};
	char reason[256];

	update->state = state;
	update->end_unknown = true;
	update->end_ns =
		fprof_clock_ns(&rate, session->start_ticks, session->start_ticks + (uint64_t)ticks);
	update->threads_active = 0;
	snprintf(reason, sizeof(reason), "%s events after %lld ms are missing", how,
		 (long long)(update->end_ns / 1000000));
	free(update->end_reason);
	update->end_reason = strdup(reason);
	return update->end_reason ? 0 : -ENOMEM;
}

/* Fills the batch with what ends the session; -ENOENT: there is no such live one. */
static int end_session(struct store *store, sqlite3 *db, uint64_t id, enum session_state state,
		       const char *how, struct batch *batch)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct session_update_row update = {0};
	struct session_row session = {0};
	struct sql_row row;
	int64_t ticks = 0;
	int r = sql_prepare(db,
			    "SELECT " ROWS_SESSION ", " ROWS_UPDATE " FROM " ROWS_SESSION_FROM
			    " WHERE t.state = 0 AND s.id = ?",
			    &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)id);
	r = sql_step(stmt);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	row = sql_row(stmt);
	rows_session(&row, &session);
	rows_update(&row, &update);
	r = row.error;
	if (r == 0)
		r = last_event(db, &session, &ticks);
	if (r == 0)
		r = end_tracks(db, id, ticks, batch);
	if (r == 0)
		r = end_update(&update, &session, ticks, state, how);
	if (r == 0 && !claim_stale(store, id))
		r = -ENOENT;
	if (r == 0)
		r = VEC_PUSH(&batch->updates, update);
	if (r < 0)
		session_update_row_deinit(&update);
	session_row_deinit(&session);
	return r;
}

void store_end_stale(struct store *store, uint64_t session, enum session_state state,
		     const char *how)
{
	struct batch *batch = batch_new();
	char path[DB_PATH_MAX];
	sqlite3 *db = NULL;
	bool is_uri;
	int r;

	if (!batch)
		return;
	store_read_lock(store);
	store_location(store, path, sizeof(path), &is_uri);
	r = db_open_reader(path, &db);
	if (r == 0)
		r = end_session(store, db, session, state, how, batch);
	sqlite3_close(db);
	store_read_unlock(store);
	if (r == 0) {
		log_info("session %llu ended: %s", (unsigned long long)session,
			 batch->updates.at[0].end_reason);
		store_submit(store, batch);
		return;
	}
	if (r != -ENOENT)
		log_debug("history: ignoring that left-over session %llu could not be read: %s",
			  (unsigned long long)session, strerror(-r));
	batch_free(batch);
}
