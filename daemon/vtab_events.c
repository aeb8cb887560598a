// SPDX-License-Identifier: MIT
/*
 * `events`: every event as it was recorded, lane by lane, in ring order. A chunk that cannot be
 * decoded is one row of the kind "damaged", whose value says how many events are lost with it.
 *
 * An end carries no marker: the open stack is followed for its name.
 */
#include "vtab_impl.h"

#include "shm/word.h"

#include <string.h>

enum column {
	C_SESSION,
	C_FRAME,
	C_TRACK,
	C_LANE,
	C_THREAD,
	C_T,
	C_KIND,
	C_MARKER,
	C_NAME,
	C_VALUE,
	C_TEXT
};

static const char declaration[] =
	"CREATE TABLE events (session INTEGER, frame INTEGER, track INTEGER, lane INTEGER, "
	"thread TEXT, t_ns INTEGER, kind TEXT, marker INTEGER, name TEXT, value ANY, text TEXT)";
static const struct vtab_keys keys = {{C_SESSION, C_FRAME, C_TRACK, C_T, C_THREAD}};

struct cursor {
	sqlite3_vtab_cursor base;
	struct vtab_scan scan;
	int64_t rowid;
	const struct vtab_part *part;
	int64_t t0, t1; /* ticks that are asked for: [t0, t1) */
	size_t segment; /* hint */
	bool open;	/* a lane is */
	bool done;
	bool damaged; /* the row is a chunk */
	bool reading; /* lane has a chunk */
	struct vtab_lane lane;
	struct chunk_event event;
	uint32_t depth, closes; /* closes: marker of the zone that the event ends, 0: none */
	uint32_t stack[CHUNK_DEPTH_MAX];
};

static int events_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			  sqlite3_vtab **ret_table, char **ret_error)
{
	(void)argc;
	(void)argv;
	(void)ret_error;
	return vtab_connect(db, aux, declaration, ret_table);
}

static int events_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	return vtab_best_index(info, &keys);
}

static int events_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

static int events_close(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;

	vtab_lane_close(&c->lane);
	vtab_scan_deinit(&c->scan);
	free(c);
	return SQLITE_OK;
}

/* The ticks of the frames and times that are asked for, of the session at hand. */
static void bound_time(struct cursor *c)
{
	const struct vtab_scan *scan = &c->scan;
	const struct vtab_session *s = &scan->session;
	int64_t low = scan->bounds.low[VTAB_TIME], high = scan->bounds.high[VTAB_TIME];

	c->t0 = scan->framed ? s->segments.at[scan->first].t0 : INT64_MIN;
	c->t1 = scan->framed ? s->segments.at[scan->end - 1].t1 : s->end;
	if (low > INT64_MIN)
		c->t0 = MAX(c->t0, vtab_session_ticks(s, low));
	if (high < INT64_MAX)
		c->t1 = MIN(c->t1, vtab_session_ticks(s, high + 1));
}

static int next_lane(struct cursor *c)
{
	int rc = vtab_scan_next(&c->scan, &c->part);

	c->open = rc == SQLITE_ROW;
	if (!c->open)
		return rc;
	bound_time(c);
	c->reading = false;
	return vtab_lane_open(&c->lane, c->scan.source.db, c->scan.session.id, c->part, c->t0);
}

static void take_stack(struct cursor *c)
{
	const struct chunk_reader *r = &c->lane.reader;

	for (c->depth = 0; c->depth < r->depth_in; c->depth++)
		c->stack[c->depth] = r->carried[c->depth].marker;
}

/* Goes on to the lane's next chunk: SQLITE_ROW: the chunk is a row itself; SQLITE_OK: it has rows;
 * SQLITE_DONE: there is none. */
static int next_chunk(struct cursor *c)
{
	int rc = vtab_lane_next(&c->lane);

	c->reading = rc == SQLITE_ROW && c->lane.t0 < c->t1;
	if (rc == SQLITE_CORRUPT) {
		c->damaged = c->lane.t1 >= c->t0 && c->lane.t0 < c->t1;
		return c->damaged ? SQLITE_ROW : SQLITE_OK;
	}
	if (rc != SQLITE_ROW)
		return rc;
	take_stack(c);
	return c->reading ? SQLITE_OK : SQLITE_DONE;
}

static uint32_t pop(struct cursor *c)
{
	return c->depth > 0 ? c->stack[--c->depth] : 0;
}

static void push(struct cursor *c, uint32_t marker)
{
	if (c->depth < CHUNK_DEPTH_MAX)
		c->stack[c->depth++] = marker;
}

static void pop_unbalanced(struct cursor *c, uint32_t marker)
{
	uint32_t depth = c->depth;

	while (depth > 0 && c->stack[depth - 1] != marker)
		depth--;
	if (depth > 0)
		c->depth = depth - 1;
}

static inline void follow(struct cursor *c)
{
	const struct chunk_event *e = &c->event;

	switch (e->code) {
	case CHUNK_BEGIN:
		push(c, e->marker);
		break;
	case CHUNK_END:
		c->closes = pop(c);
		break;
	case CHUNK_NEXT:
		pop(c);
		push(c, e->marker);
		break;
	case CHUNK_TRUNCATE:
		c->depth -= (uint32_t)MIN(e->value.u, (uint64_t)c->depth);
		break;
	case CHUNK_UNBALANCED_END:
		pop_unbalanced(c, e->marker);
		break;
	default:
		break;
	}
}

/* The next event of the chunk at hand: SQLITE_ROW, SQLITE_OK: there is none. */
static int next_event(struct cursor *c)
{
	int r;

	while ((r = chunk_reader_next(&c->lane.reader, &c->event)) == 1) {
		follow(c);
		if (c->event.t >= c->t0 && c->event.t < c->t1)
			return SQLITE_ROW;
	}
	c->reading = false;
	c->damaged = r < 0;
	if (c->damaged)
		c->lane.events = c->lane.reader.events_left;
	return r < 0 ? SQLITE_ROW : SQLITE_OK;
}

static int advance(struct cursor *c)
{
	int rc = SQLITE_OK;

	c->damaged = false;
	c->rowid++;
	while (rc == SQLITE_OK) {
		if (c->reading)
			rc = next_event(c);
		else if (c->open)
			rc = next_chunk(c);
		else
			rc = next_lane(c);
		if (rc == SQLITE_DONE && c->open) {
			c->open = c->reading = false;
			rc = SQLITE_OK;
		}
	}
	return rc;
}

static int events_next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	int rc;

	if (c->reading) { /* the usual case */
		c->damaged = false;
		c->rowid++;
		rc = next_event(c);
		if (rc == SQLITE_ROW)
			return SQLITE_OK;
		c->rowid--;
	}
	rc = advance(c);
	c->done = rc != SQLITE_ROW;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return vtab_fail(cursor->pVtab, c->scan.source.db, rc);
}

static int events_filter(sqlite3_vtab_cursor *cursor, int used, const char *taken, int argc,
			 sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	int rc = vtab_scan_begin(&c->scan, &((struct vtab_table *)cursor->pVtab)->source, taken,
				 argc, argv);

	(void)used;
	if (rc != SQLITE_OK)
		return rc;
	c->rowid = 0;
	c->segment = 0;
	c->open = c->reading = c->done = false;
	return events_next(cursor);
}

static int events_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->done;
}

static const char *kind_of(const struct cursor *c)
{
	static const char *const names[] = {
		[CHUNK_END] = "end",
		[CHUNK_NEXT] = "next",
		[CHUNK_INSTANT] = "instant",
		[CHUNK_COUNTER] = "counter",
		[CHUNK_MESSAGE] = "message",
		[CHUNK_TEXT] = "text",
		[CHUNK_VALUE] = "value",
		[CHUNK_MARK] = "mark",
		[CHUNK_TRUNCATE] = "truncate",
		[CHUNK_THREAD_BEGIN] = "thread_begin",
		[CHUNK_THREAD_END] = "thread_end",
		[CHUNK_UNBALANCED_END] = "unbalanced_end",
		[CHUNK_STRAY_END] = "stray_end",
		[CHUNK_FIBER_ENTER] = "fiber_enter",
		[CHUNK_FIBER_LEAVE] = "fiber_leave",
		[CHUNK_OTHER] = "other",
		[CHUNK_BEGIN] = "begin",
	};

	if (c->damaged)
		return "damaged";
	if (c->event.code == CHUNK_COUNTER && c->event.op)
		return "counter_add";
	if (c->event.code == CHUNK_VALUE && c->event.type == CHUNK_VALUE_FLAGS)
		return "flags";
	return names[c->event.code];
}

/* The marker that an event is of, 0: none. */
static uint32_t marker_of(const struct cursor *c)
{
	if (c->damaged)
		return 0;
	switch (c->event.code) {
	case CHUNK_END:
		return c->closes;
	case CHUNK_BEGIN:
	case CHUNK_NEXT:
	case CHUNK_INSTANT:
	case CHUNK_COUNTER:
	case CHUNK_MESSAGE:
	case CHUNK_UNBALANCED_END:
	case CHUNK_STRAY_END:
		return c->event.marker;
	default:
		return 0;
	}
}

static void result_number(sqlite3_context *context, const struct chunk_event *e)
{
	if (e->type == FPROF_VALUE_F64)
		sqlite3_result_double(context, e->value.d);
	else
		sqlite3_result_int64(context, e->value.i);
}

static void result_value(sqlite3_context *context, const struct cursor *c)
{
	if (c->damaged) {
		sqlite3_result_int64(context, c->lane.events);
		return;
	}
	switch (c->event.code) {
	case CHUNK_COUNTER:
	case CHUNK_VALUE:
		result_number(context, &c->event);
		break;
	case CHUNK_MARK:
		if (c->event.value.i >= 0)
			sqlite3_result_int64(context, c->event.value.i);
		break;
	case CHUNK_TRUNCATE:
		sqlite3_result_int64(context, c->event.value.i);
		break;
	case CHUNK_FIBER_ENTER:
		sqlite3_result_int64(context, c->event.track);
		break;
	default:
		break;
	}
}

static void result_frame(sqlite3_context *context, struct cursor *c, int64_t t)
{
	const struct vtab_session *s = &c->scan.session;

	c->segment = vtab_session_segment(s, t, c->segment);
	if (c->segment < s->segments.count && s->segments.at[c->segment].frame > 0)
		sqlite3_result_int64(context, (int64_t)s->segments.at[c->segment].frame);
}

static void result_thread(sqlite3_context *context, const struct cursor *c)
{
	const struct vtab_track *track = vtab_session_track(&c->scan.session, c->part->track);

	vtab_result_text(context, track ? track->name : NULL);
}

static void result_text(sqlite3_context *context, const struct cursor *c)
{
	if (c->damaged)
		vtab_result_text(context, "a chunk that cannot be decoded");
	else if (c->event.code == CHUNK_MESSAGE || c->event.code == CHUNK_TEXT)
		vtab_result_bytes(context, c->event.bytes, c->event.byte_count);
}

/* What is not set is NULL. */
static int events_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	struct cursor *c = (struct cursor *)cursor;
	int64_t t = c->damaged ? c->lane.t0 : c->event.t;
	uint32_t marker = marker_of(c);

	switch (column) {
	case C_SESSION:
		sqlite3_result_int64(context, c->scan.session.id);
		break;
	case C_FRAME:
		result_frame(context, c, t);
		break;
	case C_TRACK:
		sqlite3_result_int64(context, c->part->track);
		break;
	case C_LANE:
		sqlite3_result_int64(context, c->part->lane);
		break;
	case C_THREAD:
		result_thread(context, c);
		break;
	case C_T:
		sqlite3_result_int64(context, vtab_session_ns(&c->scan.session, t));
		break;
	case C_KIND:
		sqlite3_result_text(context, kind_of(c), -1, SQLITE_STATIC);
		break;
	case C_MARKER:
		if (marker > 0)
			sqlite3_result_int64(context, marker);
		break;
	case C_NAME:
		if (marker > 0)
			vtab_result_marker(context, &c->scan.session, marker);
		break;
	case C_VALUE:
		result_value(context, c);
		break;
	case C_TEXT:
		result_text(context, c);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int events_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((struct cursor *)cursor)->rowid;
	return SQLITE_OK;
}

const sqlite3_module vtab_events_module = {
	.iVersion = 1,
	.xConnect = events_connect,
	.xBestIndex = events_best_index,
	.xDisconnect = vtab_disconnect,
	.xOpen = events_open,
	.xClose = events_close,
	.xFilter = events_filter,
	.xNext = events_next,
	.xEof = events_eof,
	.xColumn = events_column,
	.xRowid = events_rowid,
};
