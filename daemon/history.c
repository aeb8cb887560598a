/* SPDX-License-Identifier: MIT */
/*
 * A reader's connection, and the rows that are answered as they are stored. Every call is one read
 * transaction under store_read_lock, so that the store never moves the database under it, and the
 * WAL is never pinned by us for longer than a call. Statements are prepared as they are needed: a
 * list of captures opens each for one row.
 */
#include "history.h"

#include "capture_check.h"
#include "history_impl.h"
#include "log.h"
#include "rows.h"
#include "shm/layout.h"
#include "store_db.h"
#include "util.h"
#include "zone_totals.h"

#include <errno.h>
#include <string.h>

#define SESSION_SELECT                                                              \
	"SELECT " ROWS_SESSION ", " ROWS_UPDATE ", t.threads_seen, t.chunk_bytes, " \
	"(SELECT min(frame) FROM frames WHERE session = s.id AND stream = 0), "     \
	"(SELECT max(frame) FROM frames WHERE session = s.id AND stream = 0), "     \
	"(SELECT events_from FROM streams WHERE session = s.id AND stream = 0), "   \
	"(SELECT value FROM meta WHERE key = 'capture.kind'), "                     \
	"(SELECT count(*) FROM memories WHERE session = s.id AND origin = 3), "     \
	"(SELECT count(*) FROM memories WHERE session = s.id AND origin = 2) "      \
	"FROM " ROWS_SESSION_FROM " WHERE (?1 = 4294967295 OR s.uid = ?1) "

#define CHUNK_SELECT "SELECT t0, t1, events, depth_in, data FROM chunks "
#define LANE_SELECT                                        \
	"SELECT id, t0, t1, events, depth_in FROM chunks " \
	"WHERE session = ? AND track = ? AND lane = ? "

static const char *const texts[HISTORY_STATEMENTS] = {
	[HISTORY_SESSIONS] = SESSION_SELECT "ORDER BY s.id DESC",
	[HISTORY_SESSION] = SESSION_SELECT "AND s.id = ?2",
	[HISTORY_CURRENT] =
		SESSION_SELECT "AND ifnull(s.name, '') NOT GLOB '" FPROF_SELFTEST_NAME "*' "
			       "ORDER BY t.state = 0 DESC, s.id DESC LIMIT 1",
	[HISTORY_INFOS] = "SELECT key, value FROM infos WHERE session = ? ORDER BY key",
	[HISTORY_EVICTED] = "SELECT ifnull(evicted_before_ticks, -9223372036854775807 - 1) "
			    "FROM session_totals WHERE session = ?",
	[HISTORY_STREAM] = "SELECT stream FROM streams WHERE session = ? AND name = ? LIMIT 1",
	[HISTORY_STREAMS] = "SELECT " ROWS_STREAM " FROM streams WHERE session = ? ORDER BY stream",
	[HISTORY_TRACKS] = "SELECT " ROWS_TRACK " FROM tracks WHERE session = ? ORDER BY track",
	[HISTORY_TRACK] = "SELECT " ROWS_TRACK " FROM tracks WHERE session = ? AND track = ?",
	[HISTORY_FIRST] = "SELECT min(frame) FROM frames WHERE session = ? AND stream = ?",
	[HISTORY_LAST] = "SELECT max(frame) FROM frames WHERE session = ? AND stream = ?",
	[HISTORY_FRAMES] = "SELECT " ROWS_FRAME " FROM frames WHERE session = ? AND stream = ? "
			   "AND frame BETWEEN ? AND ? ORDER BY frame",
	[HISTORY_GPUS] = "SELECT " ROWS_GPU " FROM frame_gpus WHERE session = ? "
			 "AND frame BETWEEN ? AND ? ORDER BY frame, track",
	[HISTORY_LATE] = "SELECT t0, t1, late FROM chunks WHERE session = ? AND t1 >= ? "
			 "AND t0 < ? AND late > 0",
	[HISTORY_SLOWEST] = "SELECT frame FROM frames WHERE session = ? AND stream = ? "
			    "AND flags & ? = 0 ORDER BY t0 < ?, wall_ns DESC, frame LIMIT 1",
	[HISTORY_CLOCK] = "SELECT clock_mult, clock_shift, start_ticks FROM sessions WHERE id = ?",
	/* No (track, lane) > (?, ?): SQLite would step over every chunk of that lane. */
	[HISTORY_NEXT_TRACK] = "SELECT track FROM chunks WHERE session = ? AND track > ? "
			       "ORDER BY track LIMIT 1",
	[HISTORY_NEXT_LANE] = "SELECT lane FROM chunks WHERE session = ? AND track = ? "
			      "AND lane > ? ORDER BY lane LIMIT 1",
	[HISTORY_CHUNKS] = CHUNK_SELECT "WHERE session = ? AND track = ? AND lane = ? "
					"AND t1 >= ? ORDER BY t1, id",
	[HISTORY_LAST_CHUNK] = CHUNK_SELECT "WHERE session = ? AND track = ? AND lane = ? "
					    "ORDER BY t1 DESC, id DESC LIMIT 1",
	[HISTORY_COUNTERS] = "SELECT " ROWS_COUNTER " FROM frame_counters WHERE session = ? "
			     "AND stream = ? AND frame = ? ORDER BY marker",
	/* The newest frame has a value of each that ever had one. */
	[HISTORY_COUNTERS_TO_COME] =
		"SELECT marker FROM frame_counters WHERE session = ?1 AND stream = ?2 AND frame = "
		"(SELECT max(frame) FROM frame_counters WHERE session = ?1 AND stream = ?2) "
		"AND marker NOT IN (SELECT marker FROM frame_counters WHERE session = ?1 "
		"AND stream = ?2 AND frame = ?3) ORDER BY marker",
	[HISTORY_SPANS] = "SELECT " ROWS_SPAN " FROM gpu_spans WHERE session = ? AND frame = ? "
			  "ORDER BY track, begin_ns, end_ns DESC",
	[HISTORY_GAPS] = "SELECT " ROWS_GAP " FROM gaps WHERE session = ? AND t1 >= ? AND t0 < ?",
	[HISTORY_MARKER] = "SELECT " ROWS_MARKER " FROM markers WHERE session = ? AND marker = ?",
	/* A capture may hold more than the frames that it is of. */
	[HISTORY_NEWEST] = "SELECT min(max(t1), ifnull((SELECT value - 1 FROM meta WHERE key = "
			   "'capture.end_ticks'), 9223372036854775807)) FROM chunks WHERE session "
			   "= ?",
	[HISTORY_SINCE] = "SELECT t1, events FROM chunks WHERE session = ? AND t1 > ? "
			  "ORDER BY t1 DESC",
	[HISTORY_LOST] = "SELECT sum(events) FROM gaps WHERE session = ? AND t1 >= ? AND t0 < ?",
	[HISTORY_MARKING] = "SELECT track FROM streams WHERE session = ? AND stream = ?",
	[HISTORY_LANE_CHUNKS] = LANE_SELECT "AND t1 >= ?4 AND (t1 > ?4 OR id > ?5) "
					    "ORDER BY t1, id LIMIT ?6",
	[HISTORY_LANE_LAST] = LANE_SELECT "ORDER BY t1 DESC, id DESC LIMIT 1",
	[HISTORY_LANE_DATA] = "SELECT data FROM chunks WHERE id = ? AND session = ? AND track = ? "
			      "AND lane = ? AND t1 = ?",
	[HISTORY_MARKERS] = "SELECT " ROWS_MARKER " FROM markers WHERE session = ? ORDER BY marker",
	[HISTORY_QUEUE_SPANS] = "SELECT " ROWS_SPAN " FROM gpu_spans WHERE session = ? "
				"AND frame BETWEEN ? AND ? AND track = ? "
				"ORDER BY begin_ns, end_ns DESC, id",
};

int history_open(struct store *store, struct history **ret_history)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->store = store;
	*ret_history = h;
	return 0;
}

static void close_database(struct history *h)
{
	size_t i;

	for (i = 0; i < HISTORY_STATEMENTS; i++) {
		sqlite3_finalize(h->statements[i]);
		h->statements[i] = NULL;
	}
	sqlite3_close(h->db);
	h->db = NULL;
}

void history_close(struct history *history)
{
	if (!history)
		return;
	close_database(history);
	free(history->file);
	free(history);
}

static int open_database(struct history *h, const char *path, uint64_t generation)
{
	int r;

	close_database(h);
	r = h->file ? capture_open(path, &h->db) : db_open_reader(path, &h->db);
	if (r < 0) {
		close_database(h);
		return r;
	}
	h->generation = generation;
	return 0;
}

int history_open_file(const char *path, struct history **ret_history)
{
	struct history *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->file = strdup(path);
	r = h->file ? open_database(h, path, 0) : -ENOMEM;
	if (r < 0) {
		history_close(h);
		return r;
	}
	*ret_history = h;
	return 0;
}

/* -ENOENT is for what was asked for: all that can go wrong with the database is -EIO. */
static int error_of(int r)
{
	return r == -ENOMEM ? r : -EIO;
}

static int begin_file(struct history *h)
{
	int r = h->db ? 0 : open_database(h, h->file, 0);

	if (r == 0)
		r = sql_exec(h->db, "BEGIN");
	if (r == 0)
		return 0;
	log_debug("history: cannot read %s: %s", h->file, strerror(-r));
	close_database(h);
	return error_of(r);
}

int history_begin(struct history *h)
{
	char path[DB_PATH_MAX];
	uint64_t generation;
	bool is_uri;
	int r = 0;

	if (h->file)
		return begin_file(h);
	store_read_lock(h->store);
	generation = store_location(h->store, path, sizeof(path), &is_uri);
	if (!h->db || generation != h->generation)
		r = open_database(h, path, generation);
	if (r == 0)
		r = sql_exec(h->db, "BEGIN");
	if (r == 0)
		return 0;
	log_debug("history: cannot read %s: %s", path, strerror(-r));
	close_database(h);
	store_read_unlock(h->store);
	return error_of(r);
}

int history_end(struct history *h, int r)
{
	size_t i;

	for (i = 0; i < HISTORY_STATEMENTS; i++)
		sqlite3_reset(h->statements[i]);
	if (sql_exec(h->db, "COMMIT") < 0 || (r < 0 && r != -ENOENT))
		close_database(h);
	if (!h->file)
		store_read_unlock(h->store);
	return r >= 0 || r == -ENOENT ? r : error_of(r);
}

/* What cannot be prepared is NULL, and stepping that an error. */
static sqlite3_stmt *prepared(struct history *h, enum history_statement which)
{
	if (!h->statements[which])
		(void)sql_prepare(h->db, texts[which], &h->statements[which]);
	return h->statements[which];
}

sqlite3_stmt *history_ask(struct history *h, enum history_statement which, const int64_t *values,
			  size_t count)
{
	sqlite3_stmt *stmt = prepared(h, which);
	size_t i;

	sqlite3_reset(stmt);
	for (i = 0; i < count; i++)
		sqlite3_bind_int64(stmt, (int)i + 1, values[i]);
	return stmt;
}

int history_ask_int(struct history *h, enum history_statement which, const int64_t *values,
		    size_t count, int64_t *ret_value)
{
	sqlite3_stmt *stmt = history_ask(h, which, values, count);
	int r = sql_step(stmt);

	if (r == 1 && sqlite3_column_type(stmt, 0) == SQLITE_NULL)
		r = 0;
	if (r == 1)
		*ret_value = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r;
}

int history_find_stream(struct history *h, uint64_t session, const char *name, uint32_t *ret_stream,
			int64_t *ret_evicted_before)
{
	int64_t id = (int64_t)session, stream = 0;
	sqlite3_stmt *stmt;
	int r = history_ask_int(h, HISTORY_EVICTED, &id, 1, ret_evicted_before);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (name && strcmp(name, "main") != 0) {
		stmt = prepared(h, HISTORY_STREAM);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
		r = history_ask_int(h, HISTORY_STREAM, &id, 1, &stream);
		sqlite3_bind_null(stmt, 2);
		if (r <= 0)
			return r < 0 ? r : -ENOENT;
	}
	*ret_stream = (uint32_t)stream;
	return 0;
}

void history_session_deinit(struct history_session *session)
{
	size_t i;

	session_row_deinit(&session->row);
	session_update_row_deinit(&session->update);
	for (i = 0; i < session->infos.count; i++) {
		free(session->infos.at[i].key);
		free(session->infos.at[i].value);
	}
	VEC_FREE(&session->infos);
	memset(session, 0, sizeof(*session));
}

void history_sessions_free(history_sessions_vec *sessions)
{
	size_t i;

	for (i = 0; i < sessions->count; i++)
		history_session_deinit(&sessions->at[i]);
	VEC_FREE(sessions);
}

static int read_infos(struct history *h, struct history_session *session)
{
	int64_t id = (int64_t)session->row.id;
	sqlite3_stmt *stmt = history_ask(h, HISTORY_INFOS, &id, 1);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct info_row info = {.session = session->row.id};

		if (VEC_RESERVE(&session->infos, 1) < 0)
			return -ENOMEM;
		info.key = row_text(&row);
		info.value = row_text(&row);
		session->infos.at[session->infos.count++] = info;
		if (row.error < 0)
			return row.error;
	}
	return r;
}

/* A session from the current row of one of the SESSION_SELECTs; deinit it also on failure. */
static int read_session(struct history *h, sqlite3_stmt *stmt, struct history_session *ret)
{
	struct sql_row row = sql_row(stmt);
	uint64_t events_from;

	memset(ret, 0, sizeof(*ret));
	rows_session(&row, &ret->row);
	rows_update(&row, &ret->update);
	ret->threads = row_u32(&row);
	ret->chunk_bytes = row_uint(&row);
	ret->first_frame = row_uint(&row);
	ret->last_frame = row_uint(&row);
	events_from = row_uint(&row);
	ret->capture_kind = (int)(h->file ? row_int(&row) : row_int_or(&row, -1));
	ret->attached = row_int(&row) > 0;
	ret->hooked = row_int(&row) > 0;
	events_from = MAX(events_from, ret->first_frame);
	if (ret->last_frame > 0 && ret->last_frame >= events_from) {
		ret->first_retained = events_from;
		ret->frames_retained = ret->last_frame - events_from + 1;
	}
	return row.error < 0 ? row.error : read_infos(h, ret);
}

int history_sessions(struct history *h, uint32_t uid, history_sessions_vec *ret_sessions)
{
	history_sessions_vec sessions = {0};
	int64_t owner = uid;
	sqlite3_stmt *stmt;
	int r = history_begin(h);

	if (r < 0)
		return r;
	stmt = history_ask(h, HISTORY_SESSIONS, &owner, 1);
	while ((r = sql_step(stmt)) == 1) {
		if (VEC_RESERVE(&sessions, 1) < 0)
			r = -ENOMEM;
		else
			r = read_session(h, stmt, &sessions.at[sessions.count++]);
		if (r < 0)
			break;
	}
	r = history_end(h, r);
	if (r < 0) {
		history_sessions_free(&sessions);
		return r;
	}
	*ret_sessions = sessions;
	return 0;
}

int history_session(struct history *h, uint64_t id, uint32_t uid,
		    struct history_session *ret_session)
{
	struct history_session session = {0};
	int64_t values[] = {uid, (int64_t)id};
	sqlite3_stmt *stmt;
	int r = history_begin(h);

	if (r < 0)
		return r;
	stmt = id == 0 ? history_ask(h, HISTORY_CURRENT, values, 1)
		       : history_ask(h, HISTORY_SESSION, values, 2);
	r = sql_step(stmt);
	if (r == 1)
		r = read_session(h, stmt, &session);
	else if (r == 0)
		r = -ENOENT;
	r = history_end(h, r);
	if (r < 0) {
		history_session_deinit(&session);
		return r;
	}
	*ret_session = session;
	return 0;
}

int history_streams(struct history *h, uint64_t session, history_streams_vec *ret_streams)
{
	history_streams_vec streams = {0};
	int64_t id = (int64_t)session, ignored;
	sqlite3_stmt *stmt;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_ask_int(h, HISTORY_EVICTED, &id, 1, &ignored);
	if (r <= 0)
		return history_end(h, r < 0 ? r : -ENOENT);
	stmt = history_ask(h, HISTORY_STREAMS, &id, 1);
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		r = VEC_RESERVE(&streams, 1);
		if (r < 0)
			break;
		rows_stream(&row, &streams.at[streams.count++]);
		r = row.error;
		if (r < 0)
			break;
	}
	r = history_end(h, r);
	*ret_streams = streams;
	return r;
}

int history_tracks(struct history *h, uint64_t session, history_tracks_vec *ret_tracks)
{
	history_tracks_vec tracks = {0};
	int64_t id = (int64_t)session, ignored;
	sqlite3_stmt *stmt;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_ask_int(h, HISTORY_EVICTED, &id, 1, &ignored);
	if (r <= 0)
		return history_end(h, r < 0 ? r : -ENOENT);
	stmt = history_ask(h, HISTORY_TRACKS, &id, 1);
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		r = VEC_RESERVE(&tracks, 1);
		if (r < 0)
			break;
		rows_track(&row, &tracks.at[tracks.count++]);
		r = row.error;
		if (r < 0)
			break;
	}
	r = history_end(h, r);
	*ret_tracks = tracks;
	return r;
}

static int read_fills(struct history *h, uint64_t session, history_fills_vec *fills)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int64_t id = (int64_t)session;
	int r = sql_ask(h->db,
			"SELECT track, max(fill_permille) FROM ledger WHERE session = ? "
			"GROUP BY track ORDER BY track",
			&id, 1, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_fill fill = {.track = row_u32(&row)};

		fill.permille = row_u32(&row);
		r = VEC_PUSH(fills, fill);
	}
	return r;
}

int history_fills(struct history *h, uint64_t session, history_fills_vec *ret_fills)
{
	history_fills_vec fills = {0};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_fills(h, session, &fills));
	if (r < 0) {
		VEC_FREE(&fills);
		return r;
	}
	*ret_fills = fills;
	return 0;
}

int history_zone_totals(struct history *h, uint64_t session, struct zone_totals *ret_totals)
{
	int r = history_begin(h), known;

	if (r < 0)
		return r;
	known = zone_totals_read(h->db, "main", session, ret_totals);
	r = history_end(h, known == -ENODATA ? 0 : known);
	if (r < 0 && known == 0)
		zone_totals_deinit(ret_totals);
	return known == -ENODATA ? known : r;
}
