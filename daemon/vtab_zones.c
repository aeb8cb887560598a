// SPDX-License-Identifier: MIT
/*
 * `zones`: a row for each frame that a zone touches, clipped to it, as frames/{n} answers; zones
 * outside of all frames have no frame. Rows come when a zone ends, or its frame does.
 *
 * The lanes of a track are read side by side, always the one whose next event is the earliest.
 * Their open zones are one stack, so that a scan of any length costs no more than its depth. An
 * entry that ended while others are open above it stays until they are gone (lanes need not nest).
 *
 * What a chunk says was open at its start is compared with what is: zones that are not open any
 * more were truncated where the lane was last heard of, others are begun when they say they began.
 * A frame is not changed by what only a chunk behind it says (frames/{n} does not read that): where
 * the chunk begins in a later frame, the former last to the end of this one, the latter come after.
 */
#include "vtab_impl.h"

#include "history.h"
#include "json.h"
#include "shm/reader.h"
#include "shm/word.h"

#include <errno.h>
#include <string.h>

enum column {
	C_SESSION,
	C_FRAME,
	C_TRACK,
	C_THREAD,
	C_ZONE,
	C_PARENT,
	C_DEPTH,
	C_MARKER,
	C_NAME,
	C_CATEGORY,
	C_FILE,
	C_LINE,
	C_BEGIN,
	C_END,
	C_DURATION,
	C_SELF,
	C_FULL_BEGIN,
	C_FULL_END,
	C_FLAGS,
	C_TEXT,
	C_VALUE,
	C_PATH
};

static const char declaration[] =
	"CREATE TABLE zones (session INTEGER, frame INTEGER, track INTEGER, thread TEXT, "
	"zone INTEGER, parent INTEGER, depth INTEGER, marker INTEGER, name TEXT, category TEXT, "
	"file TEXT, line INTEGER, begin_ns INTEGER, end_ns INTEGER, duration_ns INTEGER, "
	"self_ns INTEGER, full_begin_ns INTEGER, full_end_ns INTEGER, flags INTEGER, text TEXT, "
	"value ANY, path TEXT)";
static const struct vtab_keys keys = {{C_SESSION, C_FRAME, C_TRACK, -1, C_THREAD}};

#define PARTS_MAX 256 /* memories that say something about one track */

struct number {
	bool is, is_double;
	union {
		int64_t i;
		double d;
	};
};

/* An open zone. */
struct entry {
	uint32_t marker, lane;
	bool ended;	      /* but others are open above it */
	bool lost;	      /* its lane has it open no more, the frame until its end */
	int64_t begin, shown; /* shown: clipped to its frame */
	int64_t children_ns;
	uint32_t zone, depth; /* numbered within the frame and track */
	uint32_t flags;	      /* that its events do not tell */
	int32_t parent;
	char *text;
	struct number value;
};

struct row {
	uint64_t frame;
	uint32_t marker, zone, depth, flags;
	int32_t parent;
	int64_t begin_ns, end_ns, self_ns, full_begin_ns, full_end_ns; /* INT64_MAX: not known */
	char *text, *path;
	struct number value;
};

/* One memory's part of the track: its next operation. */
struct part {
	struct vtab_lane lane;
	uint32_t depth;		       /* zones that it has open */
	uint32_t carried, carried_end; /* of the chunk: still to be begun */
	int64_t not_before;	       /* then */
	int64_t last;		       /* time of the last event */
	bool any;		       /* there was one */
	bool has_event, ended;
	struct chunk_event event;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct vtab_scan scan;
	bool wants_path, wants_text;
	bool done;
	int64_t rowid;
	uint32_t track; /* the one at hand */
	bool open;	/* a track is */
	size_t count;	/* of parts that are the track's */
	VEC(struct part) parts;
	VEC(struct entry) stack;
	uint32_t zones; /* numbered in the frame so far */
	bool before;	/* its time has not come yet: nothing is shown */
	size_t segment;
	VEC(struct row) rows; /* to be shown, from shown on */
	size_t shown;
};

static int zones_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret_table, char **ret_error)
{
	(void)argc;
	(void)argv;
	(void)ret_error;
	return vtab_connect(db, aux, declaration, ret_table);
}

static int zones_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	return vtab_best_index(info, &keys);
}

static int zones_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

static void free_rows(struct cursor *c)
{
	for (; c->shown < c->rows.count; c->shown++) {
		free(c->rows.at[c->shown].text);
		free(c->rows.at[c->shown].path);
	}
	c->rows.count = c->shown = 0;
}

static void close_track(struct cursor *c)
{
	size_t i;

	for (i = 0; i < c->stack.count; i++)
		free(c->stack.at[i].text);
	c->stack.count = 0;
	c->count = 0;
	c->open = false;
}

static void reset(struct cursor *c)
{
	size_t i;

	close_track(c);
	free_rows(c);
	for (i = 0; i < c->parts.count; i++)
		vtab_lane_close(&c->parts.at[i].lane);
	c->parts.count = 0;
}

static int zones_close(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;

	reset(c);
	VEC_FREE(&c->parts);
	VEC_FREE(&c->stack);
	VEC_FREE(&c->rows);
	vtab_scan_deinit(&c->scan);
	free(c);
	return SQLITE_OK;
}

static const struct vtab_segment *segment_of(const struct cursor *c)
{
	return &c->scan.session.segments.at[c->segment];
}

/* The names from the thread to entry i, as a JSON array. NULL: no memory. */
static char *path_of(const struct cursor *c, size_t i)
{
	const struct vtab_track *track = vtab_session_track(&c->scan.session, c->track);
	struct json path = {0};
	size_t at;

	json_array_begin(&path);
	json_string(&path, track ? track->name : NULL);
	for (at = 0; at <= i; at++) {
		const struct vtab_marker *m =
			vtab_session_marker(&c->scan.session, c->stack.at[at].marker);

		json_string(&path, m ? m->name : NULL);
	}
	json_array_end(&path);
	return json_text(&path);
}

/* Was the zone over before its frame, and has nothing in it? Then it is not in the frame. */
static bool is_outside(const struct cursor *c, const struct entry *e, int64_t end)
{
	int64_t t0 = segment_of(c)->t0;

	return end <= t0 && e->begin < t0 && e->zone + 1 == c->zones;
}

/* Entry i as a row that ends at end (ticks); known: that is the zone's own end. */
static int put_row(struct cursor *c, size_t i, int64_t end, bool known, uint32_t flags)
{
	const struct vtab_session *s = &c->scan.session;
	struct entry *e = &c->stack.at[i];
	struct row row = {.frame = segment_of(c)->frame, .marker = e->marker, .zone = e->zone};
	int64_t duration;

	if (c->before)
		return SQLITE_OK;
	if (VEC_RESERVE(&c->rows, 1) < 0)
		return SQLITE_NOMEM;
	row.depth = e->depth;
	row.parent = e->parent;
	row.flags = flags | e->flags | (e->begin < segment_of(c)->t0 ? ZONE_CLIPPED_BEGIN : 0);
	row.begin_ns = vtab_session_ns(s, e->shown);
	row.end_ns = vtab_session_ns(s, MAX(end, e->shown));
	row.full_begin_ns = vtab_session_ns(s, e->begin);
	row.full_end_ns = known ? row.end_ns : INT64_MAX;
	row.value = e->value;
	duration = row.end_ns - row.begin_ns;
	row.self_ns = MAX(duration - e->children_ns, 0);
	if (i > 0)
		c->stack.at[i - 1].children_ns += duration;
	row.text = e->text ? strdup(e->text) : NULL;
	row.path = c->wants_path ? path_of(c, i) : NULL;
	c->rows.at[c->rows.count++] = row;
	if ((e->text && !row.text) || (c->wants_path && !row.path))
		return SQLITE_NOMEM;
	return SQLITE_OK;
}

static void drop_top(struct cursor *c)
{
	free(c->stack.at[--c->stack.count].text);
}

static bool is_open_in(const struct entry *e, uint32_t lane)
{
	return e->lane == lane && !e->ended && !e->lost;
}

/* The innermost open zone of a lane; SIZE_MAX: none. */
static size_t innermost(const struct cursor *c, uint32_t lane)
{
	size_t i;

	for (i = c->stack.count; i > 0; i--)
		if (is_open_in(&c->stack.at[i - 1], lane))
			return i - 1;
	return SIZE_MAX;
}

static int begin_zone(struct cursor *c, struct part *p, uint32_t marker, int64_t t)
{
	size_t count = c->stack.count;
	struct entry e = {
		.marker = marker,
		.lane = (uint32_t)(p - c->parts.at),
		.begin = t,
		.shown = MAX(t, segment_of(c)->t0),
		.zone = c->zones,
		.depth = (uint32_t)count,
		.parent = count > 0 ? (int32_t)c->stack.at[count - 1].zone : -1,
	};

	if (p->depth == CHUNK_DEPTH_MAX)
		return SQLITE_CORRUPT;
	if (VEC_PUSH(&c->stack, e) < 0)
		return SQLITE_NOMEM;
	c->zones++;
	p->depth++;
	return SQLITE_OK;
}

static int end_zone(struct cursor *c, struct part *p, int64_t t, uint32_t flags)
{
	size_t i = innermost(c, (uint32_t)(p - c->parts.at));
	int rc = SQLITE_OK;

	if (i == SIZE_MAX)
		return SQLITE_OK;
	p->depth--;
	if (is_outside(c, &c->stack.at[i], t))
		c->zones--;
	else
		rc = put_row(c, i, t, true, flags);
	c->stack.at[i].ended = true;
	while (c->stack.count > 0 && c->stack.at[c->stack.count - 1].ended)
		drop_top(c);
	return rc;
}

static int truncate_to(struct cursor *c, struct part *p, uint32_t depth, int64_t t)
{
	int rc = SQLITE_OK;

	while (p->depth > depth && rc == SQLITE_OK)
		rc = end_zone(c, p, t, ZONE_TRUNCATED);
	return rc;
}

static void lose_to(struct cursor *c, struct part *p, uint32_t depth)
{
	for (; p->depth > depth; p->depth--)
		c->stack.at[innermost(c, (uint32_t)(p - c->parts.at))].lost = true;
}

/* How deep in its lane the innermost open zone of marker is, from 1; 0: there is none. */
static uint32_t depth_of(const struct cursor *c, const struct part *p, uint32_t marker)
{
	uint32_t lane = (uint32_t)(p - c->parts.at), depth = p->depth;
	size_t i;

	for (i = c->stack.count; i > 0; i--) {
		const struct entry *e = &c->stack.at[i - 1];

		if (!is_open_in(e, lane))
			continue;
		if (e->marker == marker)
			return depth;
		depth--;
	}
	return 0;
}

static int end_unbalanced(struct cursor *c, struct part *p, uint32_t marker, int64_t t)
{
	uint32_t depth = depth_of(c, p, marker);
	int rc = SQLITE_OK;

	if (depth > 0)
		rc = truncate_to(c, p, depth, t);
	if (depth > 0 && rc == SQLITE_OK)
		rc = end_zone(c, p, t, ZONE_UNBALANCED);
	return rc;
}

static int set_text(struct cursor *c, const struct part *p)
{
	size_t i = innermost(c, (uint32_t)(p - c->parts.at));
	size_t size = 3 * p->event.byte_count + 1; /* each bad byte becomes three */
	char *text;

	if (i == SIZE_MAX || !c->wants_text)
		return SQLITE_OK;
	text = malloc(size);
	if (!text)
		return SQLITE_NOMEM;
	utf8_copy(text, size, p->event.bytes, p->event.byte_count);
	free(c->stack.at[i].text);
	c->stack.at[i].text = text;
	return SQLITE_OK;
}

static void set_value(struct cursor *c, const struct part *p)
{
	size_t i = innermost(c, (uint32_t)(p - c->parts.at));
	struct number *value;

	if (i == SIZE_MAX)
		return;
	if (p->event.type == CHUNK_VALUE_FLAGS) {
		c->stack.at[i].flags |= (uint32_t)p->event.value.i & ZONE_IMPORTED;
		return;
	}
	value = &c->stack.at[i].value;
	value->is = true;
	value->is_double = p->event.type == FPROF_VALUE_F64;
	if (value->is_double)
		value->d = p->event.value.d;
	else
		value->i = p->event.value.i;
}

/* Zones that the lane has open from the outermost in, as long as the chunk says the same. */
static uint32_t same_as_carried(const struct cursor *c, const struct part *p)
{
	const struct chunk_reader *r = &p->lane.reader;
	uint32_t lane = (uint32_t)(p - c->parts.at), same = 0;
	size_t i;

	for (i = 0; i < c->stack.count && same < r->depth_in; i++) {
		const struct entry *e = &c->stack.at[i];

		if (!is_open_in(e, lane))
			continue;
		if (e->marker != r->carried[same].marker || e->begin != r->carried[same].begin)
			break;
		same++;
	}
	return same;
}

/* The lane's next chunk that can be decoded; the lane has ended where there is none. */
static int next_chunk(struct cursor *c, struct part *p)
{
	int rc;

	do
		rc = vtab_lane_next(&p->lane);
	while (rc == SQLITE_CORRUPT);
	p->ended = rc == SQLITE_DONE;
	if (rc != SQLITE_ROW)
		return p->ended ? SQLITE_OK : rc;
	rc = SQLITE_OK;
	p->carried = same_as_carried(c, p);
	p->carried_end = p->lane.reader.depth_in;
	p->not_before = INT64_MIN;
	if (p->any && !c->before && p->lane.t0 >= segment_of(c)->t1) {
		p->not_before = segment_of(c)->t1;
		lose_to(c, p, p->carried);
	} else {
		rc = truncate_to(c, p, p->carried, p->any ? p->last : p->lane.t0);
	}
	p->last = p->lane.t0;
	p->any = true;
	return rc;
}

/* Makes the lane's next operation known. What follows damage in a chunk is left out. */
static int fill(struct cursor *c, struct part *p)
{
	int r, rc = SQLITE_OK;

	while (rc == SQLITE_OK && !p->ended && !p->has_event && p->carried == p->carried_end) {
		r = p->lane.raw ? chunk_reader_next(&p->lane.reader, &p->event) : 0;
		p->has_event = r == 1;
		if (r <= 0)
			rc = next_chunk(c, p);
	}
	return rc;
}

static int64_t time_of(const struct part *p)
{
	if (p->carried < p->carried_end)
		return MAX(p->lane.reader.carried[p->carried].begin, p->not_before);
	return p->event.t;
}

/* The lane whose next operation comes first, the first of those; NULL: all have ended. */
static int earliest(struct cursor *c, struct part **ret_part)
{
	struct part *p;
	int rc;

	*ret_part = NULL;
	for (p = c->parts.at; p < c->parts.at + c->count; p++) {
		rc = fill(c, p);
		if (rc != SQLITE_OK)
			return rc;
		if (!p->ended && (!*ret_part || time_of(p) < time_of(*ret_part)))
			*ret_part = p;
	}
	return SQLITE_OK;
}

/* A row of each open zone, innermost first: its frame ends at t. */
static int close_segment(struct cursor *c, int64_t t)
{
	int rc = SQLITE_OK;
	size_t i;

	for (i = c->stack.count; i > 0 && rc == SQLITE_OK; i--) {
		const struct entry *e = &c->stack.at[i - 1];
		bool ended = c->parts.at[e->lane].ended;

		if (!e->ended)
			rc = put_row(c, i - 1, t, false,
				     ZONE_CLIPPED_END | (ended ? ZONE_OPEN : 0));
	}
	return rc;
}

/* What is still open begins anew in the segment. */
static void enter_segment(struct cursor *c, size_t segment)
{
	size_t i, kept = 0;

	c->segment = segment;
	for (i = 0; i < c->stack.count; i++) {
		struct entry *e = &c->stack.at[i];

		if (e->ended || e->lost) {
			free(e->text);
			continue;
		}
		e->shown = MAX(e->begin, segment_of(c)->t0);
		e->children_ns = 0;
		e->zone = e->depth = (uint32_t)kept;
		e->parent = (int32_t)kept - 1;
		c->stack.at[kept++] = *e;
	}
	c->stack.count = kept;
	c->zones = (uint32_t)kept;
}

/* Leaves the segment at hand; the track is finished with the last one that is asked for. */
static int leave_segment(struct cursor *c)
{
	int rc = close_segment(c, segment_of(c)->t1);

	if (rc == SQLITE_OK && c->segment + 1 < c->scan.end)
		enter_segment(c, c->segment + 1);
	else
		close_track(c);
	return rc;
}

static int apply(struct cursor *c, struct part *p)
{
	const struct chunk_event *e = &p->event;

	switch (e->code) {
	case CHUNK_BEGIN:
		return begin_zone(c, p, e->marker, e->t);
	case CHUNK_END:
		return end_zone(c, p, e->t, 0);
	case CHUNK_TRUNCATE:
		return truncate_to(c, p, p->depth - (uint32_t)MIN(e->value.u, (uint64_t)p->depth),
				   e->t);
	case CHUNK_UNBALANCED_END:
		return end_unbalanced(c, p, e->marker, e->t);
	case CHUNK_TEXT:
		return set_text(c, p);
	case CHUNK_VALUE:
		set_value(c, p);
		return SQLITE_OK;
	default:
		return SQLITE_OK;
	}
}

/* Does the operation belong behind t? What ends just there does not. */
static bool is_behind(const struct part *p, int64_t t)
{
	bool begins = p->carried < p->carried_end || p->event.code == CHUNK_BEGIN;

	return begins ? time_of(p) >= t : time_of(p) > t;
}

/* A zone cannot be begun: what the chunk says further is of no use. */
static void abandon_chunk(struct part *p)
{
	p->has_event = false;
	p->carried = p->carried_end;
	free(p->lane.raw);
	p->lane.raw = NULL;
}

static int do_next(struct cursor *c, struct part *p)
{
	struct chunk_open *open = &p->lane.reader.carried[p->carried];
	int rc;

	if (p->carried < p->carried_end) {
		p->carried++;
		rc = begin_zone(c, p, open->marker, open->begin);
	} else if (p->event.code == CHUNK_NEXT) { /* two operations */
		p->last = p->event.t;
		p->event.code = CHUNK_BEGIN;
		return end_zone(c, p, p->event.t, 0);
	} else {
		p->last = p->event.t;
		p->has_event = false;
		rc = apply(c, p);
	}
	if (rc != SQLITE_CORRUPT)
		return rc;
	abandon_chunk(p);
	return SQLITE_OK;
}

static int step(struct cursor *c)
{
	struct part *p;
	size_t segment;
	int rc = earliest(c, &p);

	if (rc != SQLITE_OK)
		return rc;
	if (!p && c->stack.count == 0) { /* nothing is left to be shown */
		close_track(c);
		return SQLITE_OK;
	}
	if (c->before && (!p || is_behind(p, segment_of(c)->t0))) {
		c->before = false;
		enter_segment(c, c->segment);
		return SQLITE_OK;
	}
	if (p && !is_behind(p, segment_of(c)->t1))
		return do_next(c, p);
	if (p && c->stack.count == 0) {
		segment = vtab_session_segment(&c->scan.session, time_of(p), c->segment + 1);
		if (segment > c->segment + 1 && segment < c->scan.end) {
			enter_segment(c, segment);
			return SQLITE_OK;
		}
	}
	return leave_segment(c);
}

static int add_part(struct cursor *c, const struct vtab_part *part)
{
	const struct vtab_session *s = &c->scan.session;
	struct part *p;

	if (c->count == PARTS_MAX)
		return SQLITE_CORRUPT;
	if (c->count == c->parts.count && VEC_PUSH(&c->parts, (struct part){0}) < 0)
		return SQLITE_NOMEM;
	p = &c->parts.at[c->count++];
	p->depth = p->carried = p->carried_end = 0;
	p->any = p->has_event = p->ended = false;
	free(p->lane.raw);
	p->lane.raw = NULL;
	return vtab_lane_open(&p->lane, c->scan.source.db, s->id, part,
			      s->segments.at[c->scan.first].t0);
}

static int open_track(struct cursor *c)
{
	struct vtab_scan *scan = &c->scan;
	const struct vtab_part *part;
	int rc = vtab_scan_next(scan, &part);

	if (rc != SQLITE_ROW)
		return rc;
	if (scan->first >= scan->end)
		return SQLITE_OK;
	c->open = true;
	c->track = part->track;
	rc = add_part(c, part);
	while (rc == SQLITE_OK && scan->part < scan->session.parts.count &&
	       scan->session.parts.at[scan->part].track == c->track)
		rc = add_part(c, &scan->session.parts.at[scan->part++]);
	enter_segment(c, scan->first);
	c->before = true;
	return rc;
}

static int zones_next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	int rc = SQLITE_OK;

	if (c->shown < c->rows.count) {
		free(c->rows.at[c->shown].text);
		free(c->rows.at[c->shown].path);
		c->shown++;
	}
	c->rowid++;
	while (rc == SQLITE_OK && c->shown == c->rows.count) {
		c->shown = c->rows.count = 0;
		rc = c->open ? step(c) : open_track(c);
	}
	c->done = rc == SQLITE_DONE;
	return c->done ? SQLITE_OK : vtab_fail(cursor->pVtab, c->scan.source.db, rc);
}

static int zones_filter(sqlite3_vtab_cursor *cursor, int used, const char *taken, int argc,
			sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	int rc = vtab_scan_begin(&c->scan, &((struct vtab_table *)cursor->pVtab)->source, taken,
				 argc, argv);

	if (rc != SQLITE_OK)
		return rc;
	close_track(c);
	free_rows(c);
	c->wants_path = used & 1 << C_PATH;
	c->wants_text = used & 1 << C_TEXT;
	c->rowid = 0;
	return zones_next(cursor);
}

static int zones_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->done;
}

static void result_marker(sqlite3_context *context, const struct cursor *c, uint32_t marker,
			  int column)
{
	const struct vtab_marker *m = vtab_session_marker(&c->scan.session, marker);

	if (column == C_NAME)
		vtab_result_marker(context, &c->scan.session, marker);
	else if (m && column == C_CATEGORY)
		vtab_result_text(context, m->category);
	else if (m && column == C_FILE)
		vtab_result_text(context, m->file);
	else if (m && column == C_LINE && m->line > 0)
		sqlite3_result_int64(context, m->line);
}

static void result_thread(sqlite3_context *context, const struct cursor *c)
{
	const struct vtab_track *track = vtab_session_track(&c->scan.session, c->track);

	vtab_result_text(context, track ? track->name : NULL);
}

static void result_number(sqlite3_context *context, const struct number *value)
{
	if (value->is && value->is_double)
		sqlite3_result_double(context, value->d);
	else if (value->is)
		sqlite3_result_int64(context, value->i);
}

/* What is not set is NULL. */
static int zones_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct cursor *c = (const struct cursor *)cursor;
	const struct row *row = &c->rows.at[c->shown];

	switch (column) {
	case C_SESSION:
		sqlite3_result_int64(context, c->scan.session.id);
		break;
	case C_FRAME:
		if (row->frame > 0)
			sqlite3_result_int64(context, (int64_t)row->frame);
		break;
	case C_TRACK:
		sqlite3_result_int64(context, c->track);
		break;
	case C_THREAD:
		result_thread(context, c);
		break;
	case C_ZONE:
		sqlite3_result_int64(context, row->zone);
		break;
	case C_PARENT:
		if (row->parent >= 0)
			sqlite3_result_int64(context, row->parent);
		break;
	case C_DEPTH:
		sqlite3_result_int64(context, row->depth);
		break;
	case C_MARKER:
		sqlite3_result_int64(context, row->marker);
		break;
	case C_NAME:
	case C_CATEGORY:
	case C_FILE:
	case C_LINE:
		result_marker(context, c, row->marker, column);
		break;
	case C_BEGIN:
		sqlite3_result_int64(context, row->begin_ns);
		break;
	case C_END:
		sqlite3_result_int64(context, row->end_ns);
		break;
	case C_DURATION:
		sqlite3_result_int64(context, row->end_ns - row->begin_ns);
		break;
	case C_SELF:
		sqlite3_result_int64(context, row->self_ns);
		break;
	case C_FULL_BEGIN:
		sqlite3_result_int64(context, row->full_begin_ns);
		break;
	case C_FULL_END:
		if (row->full_end_ns != INT64_MAX)
			sqlite3_result_int64(context, row->full_end_ns);
		break;
	case C_FLAGS:
		sqlite3_result_int64(context, row->flags);
		break;
	case C_TEXT:
		vtab_result_text(context, row->text);
		break;
	case C_VALUE:
		result_number(context, &row->value);
		break;
	case C_PATH:
		vtab_result_text(context, row->path);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int zones_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((struct cursor *)cursor)->rowid;
	return SQLITE_OK;
}

const sqlite3_module vtab_zones_module = {
	.iVersion = 1,
	.xConnect = zones_connect,
	.xBestIndex = zones_best_index,
	.xDisconnect = vtab_disconnect,
	.xOpen = zones_open,
	.xClose = zones_close,
	.xFilter = zones_filter,
	.xNext = zones_next,
	.xEof = zones_eof,
	.xColumn = zones_column,
	.xRowid = zones_rowid,
};
