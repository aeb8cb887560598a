/* SPDX-License-Identifier: MIT */
/* A sorted array of pointers: there are at most some hundred sessions, and one is nearly always
 * last. */
#include "store_sessions.h"

#include "shm/layout.h"
#include "sql.h"

#include <errno.h>
#include <string.h>

void stored_session_uncount(struct stored_session *session)
{
	if (session->totals)
		zone_totals_deinit(session->totals);
	free(session->totals);
	session->totals = NULL;
}

static void session_free(struct stored_session *session)
{
	stored_session_uncount(session);
	VEC_FREE(&session->streams);
	VEC_FREE(&session->kept);
	VEC_FREE(&session->newest);
	session_row_deinit(&session->row);
	free(session);
}

void stored_sessions_deinit(struct stored_sessions *sessions)
{
	size_t i;

	for (i = 0; i < sessions->all.count; i++)
		session_free(sessions->all.at[i]);
	VEC_FREE(&sessions->all);
}

/* Where id is, or would be. */
static size_t position_of(const struct stored_sessions *sessions, uint64_t id)
{
	size_t at = sessions->all.count;

	while (at > 0 && sessions->all.at[at - 1]->id >= id)
		at--;
	return at;
}

struct stored_session *stored_session_find(const struct stored_sessions *sessions, uint64_t id)
{
	size_t at = position_of(sessions, id);

	if (at == sessions->all.count || sessions->all.at[at]->id != id)
		return NULL;
	return sessions->all.at[at];
}

struct stored_session *stored_session_get(struct stored_sessions *sessions, uint64_t id)
{
	struct stored_session *session = stored_session_find(sessions, id);
	size_t at = position_of(sessions, id);

	if (session)
		return session;
	/* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	if (VEC_RESERVE(&sessions->all, 1) < 0)
		return NULL;
	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	session->id = id;
	session->next_track = 1;
	session->evicted_before = session->scan_from = session->newest_t1 = INT64_MIN;
	memmove(sessions->all.at + at + 1, sessions->all.at + at,
		(sessions->all.count - at) * sizeof(void *));
	sessions->all.at[at] = session;
	sessions->all.count++;
	return session;
}

void stored_session_forget(struct stored_sessions *sessions, uint64_t id)
{
	size_t at = position_of(sessions, id);

	if (at == sessions->all.count || sessions->all.at[at]->id != id)
		return;
	session_free(sessions->all.at[at]);
	sessions->all.count--;
	memmove(sessions->all.at + at, sessions->all.at + at + 1,
		(sessions->all.count - at) * sizeof(void *));
}

struct stored_stream *stored_session_stream(struct stored_session *session, uint32_t stream)
{
	struct stored_stream *s;
	size_t i;

	for (i = 0; i < session->streams.count; i++)
		if (session->streams.at[i].stream == stream)
			return &session->streams.at[i];
	if (VEC_RESERVE(&session->streams, 1) < 0)
		return NULL;
	s = &session->streams.at[session->streams.count++];
	*s = (struct stored_stream){.stream = stream, .events_from = 1, .last_t1 = INT64_MIN};
	return s;
}

/* Where the lane's is, or would be. */
static size_t newest_at(const struct stored_session *session, uint32_t track, uint32_t lane)
{
	uint64_t key = (uint64_t)track << 32 | lane;
	size_t from = 0, to = session->newest.count;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		const struct newest_chunk *n = &session->newest.at[at];

		if (((uint64_t)n->track << 32 | n->lane) < key)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

static struct newest_chunk *newest_of(const struct stored_session *session, uint32_t track,
				      uint32_t lane)
{
	size_t at = newest_at(session, track, lane);

	if (at == session->newest.count || session->newest.at[at].track != track ||
	    session->newest.at[at].lane != lane)
		return NULL;
	return &session->newest.at[at];
}

int stored_session_note_chunk(struct stored_session *session, uint32_t track, uint32_t lane,
			      int64_t id)
{
	struct newest_chunk *n = newest_of(session, track, lane);
	size_t at;

	if (n) {
		n->id = id;
		return 0;
	}
	if (VEC_RESERVE(&session->newest, 1) < 0)
		return -ENOMEM;
	at = newest_at(session, track, lane);
	n = session->newest.at + at;
	memmove(n + 1, n, (session->newest.count++ - at) * sizeof(*n));
	*n = (struct newest_chunk){track, lane, id};
	return 0;
}

bool stored_session_has_newer(const struct stored_session *session, uint32_t track, uint32_t lane,
			      int64_t id)
{
	const struct newest_chunk *n = newest_of(session, track, lane);

	return n && n->id > id;
}

void stored_session_forget_chunk(struct stored_session *session, uint32_t track, uint32_t lane,
				 int64_t id)
{
	struct newest_chunk *n = newest_of(session, track, lane);

	if (!n || n->id != id)
		return;
	session->newest.count--;
	memmove(n, n + 1, (size_t)(session->newest.at + session->newest.count - n) * sizeof(*n));
}

void stored_sessions_settle(struct stored_sessions *sessions)
{
	size_t i;

	for (i = 0; i < sessions->all.count; i++) {
		struct stored_session *s = sessions->all.at[i];

		s->stored = true;
		s->touched = false;
		if (s->state != SESSION_LIVE)
			stored_session_uncount(s);
		if (s->has_row && s->state != SESSION_LIVE) {
			session_row_deinit(&s->row);
			memset(&s->row, 0, sizeof(s->row));
			s->has_row = false;
		}
	}
}

static char *copy_text(const char *text, int *error)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		*error = -ENOMEM;
	return copy;
}

int stored_session_keep_row(struct stored_session *session, const struct session_row *row)
{
	struct session_row copy = *row;
	int r = 0;

	copy.boot_id = copy_text(row->boot_id, &r);
	copy.name = copy_text(row->name, &r);
	copy.exe = copy_text(row->exe, &r);
	copy.build_id = copy_text(row->build_id, &r);
	copy.facts_json = copy_text(row->facts_json, &r);
	if (r < 0) {
		session_row_deinit(&copy);
		return r;
	}
	session_row_deinit(&session->row);
	session->row = copy;
	session->uid = row->uid;
	session->has_row = true;
	return 0;
}

/* What the database does not hold is gone, unless it can be written again. */
static void forget_state(struct stored_sessions *sessions)
{
	size_t i = sessions->all.count;

	while (i-- > 0) {
		struct stored_session *s = sessions->all.at[i];

		if (!s->has_row) {
			stored_session_forget(sessions, s->id);
			continue;
		}
		VEC_FREE(&s->streams);
		VEC_FREE(&s->kept);
		VEC_FREE(&s->newest);
		s->stored = s->touched = false;
		s->state = s->row.state;
		s->chunk_bytes = 0;
		stored_session_uncount(s);
		s->mark = (struct zone_totals_mark){0};
		s->unmarked_events = 0;
		s->threads_seen = 0;
		s->next_track = 1;
		s->evicted_before = s->scan_from = INT64_MIN;
	}
}

static int load_totals(struct stored_sessions *sessions, sqlite3 *db)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db,
			    "SELECT t.session, t.state, threads_seen, next_track, chunk_bytes, "
			    "evicted_before_ticks, uid, recording, zones_counted_to, "
			    "spans_counted_to, zones_uncounted, (SELECT ifnull(sum(events), 0) "
			    "FROM chunks c WHERE c.session = t.session AND +c.id > "
			    "zones_counted_to) FROM session_totals t "
			    "JOIN sessions s ON s.id = t.session",
			    &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct stored_session *s = stored_session_get(sessions, row_uint(&row));

		if (!s)
			return -ENOMEM;
		s->stored = true;
		s->state = (enum session_state)row_int(&row);
		s->threads_seen = row_u32(&row);
		s->next_track = row_u32(&row);
		s->chunk_bytes = row_uint(&row);
		s->evicted_before = row_int_or(&row, INT64_MIN);
		s->uid = row_u32(&row);
		s->frozen = row_u32(&row) == FPROF_STATE_FROZEN;
		s->mark.chunks = row_int_or(&row, ZONE_TOTALS_UNKNOWN);
		s->mark.spans = row_int(&row);
		s->mark.uncounted = row_uint(&row);
		s->unmarked_events = row_uint(&row);
		r = 0;
	}
	return r;
}

static int load_streams(struct stored_sessions *sessions, sqlite3 *db)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(
		db,
		"SELECT s.session, s.stream, s.events_from, f.frame, f.t1 FROM streams s "
		"LEFT JOIN frames f ON f.session = s.session AND f.stream = s.stream "
		"AND f.frame = (SELECT max(frame) FROM frames WHERE session = s.session "
		"AND stream = s.stream)",
		&stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct stored_session *s = stored_session_get(sessions, row_uint(&row));
		struct stored_stream *stream = s ? stored_session_stream(s, row_u32(&row)) : NULL;

		if (!stream)
			return -ENOMEM;
		stream->events_from = row_uint(&row);
		stream->last_frame = row_uint(&row);
		stream->last_t1 = row_int_or(&row, INT64_MIN);
		r = 0;
	}
	return r;
}

int stored_sessions_load(struct stored_sessions *sessions, sqlite3 *db)
{
	int r;

	forget_state(sessions);
	r = load_totals(sessions, db);
	return r < 0 ? r : load_streams(sessions, db);
}
