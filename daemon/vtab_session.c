// SPDX-License-Identifier: MIT
/*
 * A database may be anybody's file: ids are bounded before they become indexes, frames that overlap
 * others are left out, and a clock that cannot be one makes the session unreadable.
 *
 * Nothing behind a capture's end is shown: its last chunks may go on.
 *
 * Segments begin with the first frame whose events are all there (frames/{n} shows no zones of an
 * earlier one either); without frames with the first event that is.
 */
#include "vtab_session.h"

#include "batch.h"
#include "vtab.h"

#include <errno.h>
#include <string.h>

static int prepare(sqlite3 *db, const char *sql, int64_t id, sqlite3_stmt **ret_stmt)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, ret_stmt, NULL);

	return rc == SQLITE_OK ? sqlite3_bind_int64(*ret_stmt, 1, id) : rc;
}

/* Finalizes; the code of the whole. */
static int finish(sqlite3_stmt *stmt, int rc)
{
	int last = sqlite3_finalize(stmt);

	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		rc = SQLITE_OK;
	return rc == SQLITE_OK ? last : rc;
}

static char *copy_text(sqlite3_stmt *stmt, int column, int *rc)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);
	char *copy = text ? strdup((const char *)text) : NULL;

	if (text && !copy)
		*rc = SQLITE_NOMEM;
	return copy;
}

void vtab_session_deinit(struct vtab_session *session)
{
	size_t i;

	for (i = 0; i < session->tracks.count; i++)
		free(session->tracks.at[i].name);
	for (i = 0; i < session->markers.count; i++) {
		free(session->markers.at[i].name);
		free(session->markers.at[i].category);
		free(session->markers.at[i].file);
	}
	VEC_FREE(&session->tracks);
	VEC_FREE(&session->markers);
	VEC_FREE(&session->segments);
	VEC_FREE(&session->parts);
	memset(session, 0, sizeof(*session));
}

static int load_clock(sqlite3 *db, struct vtab_session *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(db,
			 "SELECT clock_mult, clock_shift, start_ticks FROM sessions WHERE id = ?",
			 s->id, &stmt);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		s->rate.mult = (uint64_t)sqlite3_column_int64(stmt, 0);
		s->rate.shift = (uint32_t)sqlite3_column_int64(stmt, 1);
		s->base = (uint64_t)sqlite3_column_int64(stmt, 2);
		if (s->rate.mult == 0 || s->rate.shift > 63)
			rc = SQLITE_CORRUPT;
	}
	return finish(stmt, rc);
}

static int load_tracks(sqlite3 *db, struct vtab_session *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(db, "SELECT track, name FROM tracks WHERE session = ? ORDER BY track",
			 s->id, &stmt);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct vtab_track track = {.track = (uint32_t)sqlite3_column_int64(stmt, 0)};

		rc = SQLITE_OK;
		track.name = copy_text(stmt, 1, &rc);
		if (rc == SQLITE_OK && VEC_PUSH(&s->tracks, track) < 0) {
			free(track.name);
			rc = SQLITE_NOMEM;
		}
	}
	return finish(stmt, rc);
}

static int put_marker(struct vtab_session *s, sqlite3_stmt *stmt)
{
	uint64_t id = (uint64_t)sqlite3_column_int64(stmt, 0);
	struct vtab_marker *marker;
	int rc = SQLITE_OK;

	if (id > MARKER_ID_MAX)
		return SQLITE_OK;
	while (s->markers.count <= id)
		if (VEC_PUSH(&s->markers, (struct vtab_marker){0}) < 0)
			return SQLITE_NOMEM;
	marker = &s->markers.at[id];
	if (marker->name)
		return SQLITE_OK;
	marker->name = copy_text(stmt, 1, &rc);
	marker->category = copy_text(stmt, 2, &rc);
	marker->file = copy_text(stmt, 3, &rc);
	marker->line = (uint32_t)sqlite3_column_int64(stmt, 4);
	return rc;
}

static int load_markers(sqlite3 *db, struct vtab_session *s)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(db,
			 "SELECT marker, name, category, file, line FROM markers WHERE session = ?",
			 s->id, &stmt);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = put_marker(s, stmt);
	return finish(stmt, rc);
}

/* Skips from one (track, lane) to the next; SQLite would step over every chunk of each. */
static int load_parts(sqlite3 *db, struct vtab_session *s)
{
	static const char sql[] =
		"SELECT track, lane FROM chunks WHERE session = ?1 AND track = ?2 AND lane > ?3 "
		"UNION ALL SELECT * FROM (SELECT track, lane FROM chunks WHERE session = ?1 "
		"AND track > ?2 ORDER BY track, lane LIMIT 1) LIMIT 1";
	int64_t track = INT64_MIN, lane = INT64_MIN;
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(db, sql, s->id, &stmt);

	while (rc == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 2, track);
		sqlite3_bind_int64(stmt, 3, lane);
		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		track = sqlite3_column_int64(stmt, 0);
		lane = sqlite3_column_int64(stmt, 1);
		if (VEC_PUSH(&s->parts, ((struct vtab_part){(uint32_t)track, (uint32_t)lane})) < 0)
			rc = SQLITE_NOMEM;
		else
			rc = sqlite3_reset(stmt);
	}
	return finish(stmt, rc);
}

static int load_edges(sqlite3 *db, struct vtab_session *s, int64_t *ret_evicted)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(db,
			 "SELECT min((SELECT max(t1) FROM chunks WHERE session = ?1), "
			 "ifnull((SELECT value - 1 FROM meta WHERE key = "
			 "'capture.end_ticks'), 9223372036854775807)), "
			 "(SELECT evicted_before_ticks FROM session_totals "
			 "WHERE session = ?1)",
			 s->id, &stmt);

	*ret_evicted = INT64_MIN;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		s->end = MIN(sqlite3_column_int64(stmt, 0), INT64_MAX - 1) + 1;
		if (sqlite3_column_type(stmt, 1) == SQLITE_INTEGER)
			*ret_evicted = sqlite3_column_int64(stmt, 1);
	}
	return finish(stmt, rc);
}

/* The next frame, and the stretch before it that belongs to none. */
static int put_frame(struct vtab_session *s, int64_t *end, const struct vtab_segment *frame)
{
	struct vtab_segment between = {*end, frame->t0, 0};

	if (frame->t1 <= frame->t0 || (s->segments.count > 0 && frame->t0 < *end))
		return SQLITE_OK;
	if (s->segments.count > 0 && frame->t0 > *end && VEC_PUSH(&s->segments, between) < 0)
		return SQLITE_NOMEM;
	if (VEC_PUSH(&s->segments, *frame) < 0)
		return SQLITE_NOMEM;
	*end = frame->t1;
	return SQLITE_OK;
}

static int load_segments(sqlite3 *db, struct vtab_session *s)
{
	sqlite3_stmt *stmt = NULL;
	int64_t end;
	int rc = load_edges(db, s, &end);

	if (rc == SQLITE_OK)
		rc = prepare(db,
			     "SELECT t0, t1, frame FROM frames WHERE session = ?1 AND stream = 0 "
			     "AND t0 >= ?2 ORDER BY frame",
			     s->id, &stmt);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 2, end);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct vtab_segment frame = {sqlite3_column_int64(stmt, 0),
					     sqlite3_column_int64(stmt, 1),
					     (uint64_t)sqlite3_column_int64(stmt, 2)};

		rc = put_frame(s, &end, &frame);
	}
	if (rc == SQLITE_DONE && end < s->end &&
	    VEC_PUSH(&s->segments, ((struct vtab_segment){end, s->end, 0})) < 0)
		rc = SQLITE_NOMEM;
	return finish(stmt, rc);
}

int vtab_session_load(sqlite3 *db, int64_t id, struct vtab_session *session)
{
	int rc;

	if (session->id == id)
		return SQLITE_OK;
	vtab_session_deinit(session);
	session->id = id;
	rc = load_clock(db, session);
	if (rc == SQLITE_OK)
		rc = load_segments(db, session);
	if (rc == SQLITE_OK)
		rc = load_tracks(db, session);
	if (rc == SQLITE_OK)
		rc = load_markers(db, session);
	if (rc == SQLITE_OK && session->rate.mult > 0)
		rc = load_parts(db, session);
	if (rc != SQLITE_OK)
		vtab_session_deinit(session);
	return rc;
}

int vtab_session_after(const struct vtab_source *source, int64_t after, int64_t last,
		       int64_t *ret_id)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(source->db,
			 "SELECT id FROM sessions WHERE id > ?1 AND id <= ?2 AND "
			 "(?3 = 4294967295 OR uid = ?3) AND (?4 = 0 OR id = ?4) ORDER BY id "
			 "LIMIT 1",
			 after, &stmt);

	*ret_id = 0;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 2, last);
		sqlite3_bind_int64(stmt, 3, source->uid);
		sqlite3_bind_int64(stmt, 4, source->session);
		rc = sqlite3_step(stmt);
	}
	if (rc == SQLITE_ROW)
		*ret_id = sqlite3_column_int64(stmt, 0);
	return finish(stmt, rc);
}

int64_t vtab_session_ns(const struct vtab_session *session, int64_t ticks)
{
	return fprof_clock_ns(&session->rate, session->base, session->base + (uint64_t)ticks);
}

int64_t vtab_session_ticks(const struct vtab_session *session, int64_t ns)
{
	int64_t ticks =
		(int64_t)(fprof_clock_ticks(&session->rate, session->base, ns) - session->base);

	if ((ticks < 0) != (ns < 0) && ticks != 0) /* beyond what ticks can say */
		return ns < 0 ? INT64_MIN : INT64_MAX;
	return ticks;
}

const struct vtab_track *vtab_session_track(const struct vtab_session *session, uint32_t track)
{
	size_t low = 0, high = session->tracks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (session->tracks.at[middle].track < track)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < session->tracks.count && session->tracks.at[low].track == track)
		return &session->tracks.at[low];
	return NULL;
}

const struct vtab_marker *vtab_session_marker(const struct vtab_session *session, uint32_t marker)
{
	if (marker < session->markers.count && session->markers.at[marker].name)
		return &session->markers.at[marker];
	return NULL;
}

size_t vtab_session_segment(const struct vtab_session *session, int64_t t, size_t hint)
{
	size_t low = 0, high = session->segments.count;

	if (hint < high && session->segments.at[hint].t0 <= t && t < session->segments.at[hint].t1)
		return hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (session->segments.at[middle].t0 <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? SIZE_MAX : low - 1;
}
