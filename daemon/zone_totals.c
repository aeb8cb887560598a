/* SPDX-License-Identifier: MIT */
/*
 * Rows are read into a tree, what is new is counted in ticks beside it, and added to it in the end.
 * What is counted of a path is kept apart, in 32 bytes.
 *
 * Node 0 has what is counted of paths that are too many; nothing is ever below it.
 */
#include "zone_totals.h"

#include "chunk.h"
#include "rows.h"
#include "sql.h"
#include "util.h"
#include "zone_counter.h"

#include <errno.h>
#include <string.h>

#define NODE_REST 0u

/* A statement on tables of a database of this connection; each %s of format is its name. */
static int prepare(sqlite3 *db, const char *format, const char *schema, uint64_t session,
		   sqlite3_stmt **ret_stmt)
{
	char *sql = sqlite3_mprintf(format, schema, schema);
	int r = sql ? sql_prepare(db, sql, ret_stmt) : -ENOMEM;

	sqlite3_free(sql);
	if (r == 0)
		sqlite3_bind_int64(*ret_stmt, 1, (sqlite3_int64)session);
	return r;
}

/* --- the tree ---------------------------------------------------------------------------- */

void zone_totals_deinit(struct zone_totals *totals)
{
	size_t i;

	for (i = 0; i < totals->nodes.count; i++)
		free(totals->nodes.at[i].name);
	VEC_FREE(&totals->nodes);
	VEC_FREE(&totals->sums);
	VEC_FREE(&totals->counted);
	VEC_FREE(&totals->roots);
	for (i = 0; i < totals->tracks.count; i++)
		free(totals->tracks.at[i].name);
	VEC_FREE(&totals->tracks);
	paths_deinit(&totals->paths);
}

/* parent PATH_NONE: a root, which takes name over, also where it fails. */
static int add_node(struct zone_totals *t, uint32_t parent, uint32_t marker, enum track_kind kind,
		    char *name, uint32_t *ret_node)
{
	uint32_t node = (uint32_t)t->nodes.count;
	int r = VEC_RESERVE(&t->nodes, 1);

	if (r == 0)
		r = VEC_PUSH(&t->sums, (struct zone_sum){0});
	if (r == 0 && parent == PATH_NONE)
		r = VEC_PUSH(&t->roots, node);
	if (r == 0)
		r = parent == PATH_NONE ? paths_add_root(&t->paths, ret_node)
					: paths_add(&t->paths, parent, marker, ret_node);
	if (r < 0) {
		free(name);
		return r;
	}
	t->nodes.at[t->nodes.count++] = (struct zone_total){
		.parent = parent, .marker = marker, .kind = kind, .name = name, .changed = true};
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int find_root(struct zone_totals *t, enum track_kind kind, const char *name,
		     uint32_t *ret_node)
{
	char *copy = NULL;
	size_t i;

	for (i = 1; i < t->roots.count; i++) {
		const struct zone_total *root = &t->nodes.at[t->roots.at[i]];

		if (root->kind == kind && same_text(root->name, name)) {
			*ret_node = t->roots.at[i];
			return 0;
		}
	}
	if (name && t->roots.count > ZONE_TOTALS_ROOTS)
		return find_root(t, kind, NULL, ret_node);
	if (name) {
		copy = strdup(name);
		if (!copy)
			return -ENOMEM;
	}
	return add_node(t, PATH_NONE, 0, kind, copy, ret_node);
}

/* A child that paths_enter did not find. */
static int add_child(struct zone_totals *t, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	*ret_node = NODE_REST;
	if (parent == NODE_REST || t->nodes.count >= ZONE_TOTALS_MAX)
		return 0;
	return add_node(t, parent, marker, t->nodes.at[parent].kind, NULL, ret_node);
}

static inline int enter_child(struct zone_totals *t, uint32_t parent, uint32_t marker,
			      uint32_t *ret_node)
{
	return paths_enter(&t->paths, parent, marker, ret_node)
		       ? 0
		       : add_child(t, parent, marker, ret_node);
}

static void add_calls(struct zone_total *n, uint64_t calls, uint64_t ns)
{
	n->calls = count_add(n->calls, calls);
	n->total_ns = count_add(n->total_ns, ns);
	n->changed = true;
}

/* frame 0: it is looked up in the end. */
static void add_longest(struct zone_total *n, uint64_t ns, int64_t begin_ns, uint64_t frame)
{
	if (n->calls > 0 && ns <= n->max_ns)
		return;
	n->max_ns = ns;
	n->max_begin_ns = begin_ns;
	n->max_frame = frame;
}

/* --- rows -------------------------------------------------------------------------------- */

static int read_mark(sqlite3 *db, const char *schema, uint64_t session, struct zone_totals *t)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_row row;
	int r = prepare(db,
			"SELECT clock_mult, clock_shift, zones_counted_to, spans_counted_to, "
			"zones_uncounted FROM %s.sessions AS s JOIN %s.session_totals AS t "
			"ON t.session = s.id WHERE s.id = ?",
			schema, session, &stmt);

	if (r == 0)
		r = sql_step(stmt);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	row = sql_row(stmt);
	t->rate.mult = row_uint(&row);
	t->rate.shift = row_u32(&row) & 63;
	t->mark.chunks = row_int_or(&row, ZONE_TOTALS_UNKNOWN);
	t->mark.spans = row_int(&row);
	t->mark.uncounted = row_uint(&row);
	return t->mark.chunks < 0 ? -ENODATA : 0;
}

/* Rows come by node: they are all there, and parents come first. */
static int take_row(struct zone_totals *t, struct sql_row *row)
{
	uint32_t node = row_u32(row), parent = (uint32_t)row_int_or(row, PATH_NONE), marker, kind;
	struct zone_total *n;
	uint32_t made;
	char *name;
	int r;

	marker = row_u32(row);
	kind = row_u32(row);
	name = row_text(row);
	if (node != t->nodes.count || node >= ZONE_TOTALS_MAX || kind > TRACK_GPU_QUEUE ||
	    (parent != PATH_NONE && (parent >= node || parent == NODE_REST))) {
		free(name);
		return -EBADMSG;
	}
	r = add_node(t, parent, marker, (enum track_kind)kind, name, &made);
	if (r < 0)
		return r;
	n = &t->nodes.at[made];
	n->calls = row_uint(row);
	n->total_ns = row_uint(row);
	n->max_ns = row_uint(row);
	n->max_begin_ns = row_int(row);
	n->max_frame = (uint64_t)row_int_or(row, 0);
	n->changed = false;
	return row->error;
}

static int read_rows(sqlite3 *db, const char *schema, uint64_t session, struct zone_totals *t)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	uint32_t rest;
	int r = prepare(db,
			"SELECT node, parent, marker, kind, name, calls, total_ns, max_ns, "
			"max_begin_ns, max_frame FROM %s.zone_totals WHERE session = ? "
			"ORDER BY node",
			schema, session, &stmt);

	if (r == 0)
		r = add_node(t, PATH_NONE, 0, TRACK_THREAD, NULL, &rest);
	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		r = take_row(t, &row);
	}
	return r;
}

static int write_row(sqlite3_stmt *stmt, uint64_t session, uint32_t node,
		     const struct zone_total *n)
{
	struct sql_binder b = sql_bind(stmt);

	bind_uint(&b, session);
	bind_uint(&b, node);
	bind_int_or_null(&b, n->parent, PATH_NONE);
	bind_uint(&b, n->marker);
	bind_int(&b, n->kind);
	bind_text(&b, n->name);
	bind_uint(&b, n->calls);
	bind_uint(&b, n->total_ns);
	bind_uint(&b, n->max_ns);
	bind_int(&b, n->max_begin_ns);
	bind_int_or_null(&b, (int64_t)n->max_frame, 0);
	return sql_run(&b);
}

int zone_totals_clear(sqlite3 *db, uint64_t session)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "DELETE FROM %s.zone_totals WHERE session = ?", "main", session, &stmt);

	return r < 0 ? r : sql_step(stmt);
}

/* --- tracks ------------------------------------------------------------------------------ */

static int by_track(const void *key, const void *element)
{
	uint32_t track = *(const uint32_t *)key;
	const struct zone_totals_track *at = element;

	return (track > at->track) - (track < at->track);
}

static struct zone_totals_track *find_track(const struct zone_totals *t, uint32_t track)
{
	return t->tracks.count > 0 ? bsearch(&track, t->tracks.at, t->tracks.count,
					     sizeof(*t->tracks.at), by_track)
				   : NULL;
}

/* Where it is, or would be: they come in the order of their ids. */
static int add_track(struct zone_totals *t, uint32_t track, struct zone_totals_track **ret_track)
{
	size_t i;

	if (VEC_RESERVE(&t->tracks, 1) < 0)
		return -ENOMEM;
	for (i = t->tracks.count++; i > 0 && t->tracks.at[i - 1].track > track; i--)
		t->tracks.at[i] = t->tracks.at[i - 1];
	t->tracks.at[i] = (struct zone_totals_track){.track = track};
	*ret_track = &t->tracks.at[i];
	return 0;
}

int zone_totals_track(struct zone_totals *totals, const struct track_row *row)
{
	struct zone_totals_track *track = find_track(totals, row->track);
	char *name = row->name ? strdup(row->name) : NULL;
	int r = row->name && !name ? -ENOMEM : 0;

	if (r == 0 && !track)
		r = add_track(totals, row->track, &track);
	if (r < 0) {
		free(name);
		return r;
	}
	free(track->name);
	track->kind = row->kind;
	track->name = name;
	track->root = 0;
	track->ended = row->end_ticks != INT64_MAX;
	return 0;
}

/* Of a thread that has ended something may come for a while. */
static void forget_tracks(struct zone_totals *t)
{
	size_t i, kept = 0;

	for (i = 0; i < t->tracks.count; i++) {
		struct zone_totals_track *track = &t->tracks.at[i];

		if (track->ended == 2) {
			free(track->name);
			continue;
		}
		track->ended *= 2;
		t->tracks.at[kept++] = *track;
	}
	t->tracks.count = kept;
}

static int read_tracks(sqlite3 *db, const char *schema, uint64_t session, struct zone_totals *t)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "SELECT " ROWS_TRACK " FROM %s.tracks WHERE session = ? ORDER BY track",
			schema, session, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct track_row track = {0};

		rows_track(&row, &track);
		r = row.error ? row.error : zone_totals_track(t, &track);
		free(track.name);
	}
	return r;
}

static int root_of(struct zone_totals *t, uint32_t track, uint32_t *ret_root)
{
	struct zone_totals_track *at = find_track(t, track);
	int r = 0;

	if (!at)
		return find_root(t, TRACK_THREAD, NULL, ret_root);
	if (at->root == 0)
		r = find_root(t, (enum track_kind)MIN(at->kind, TRACK_GPU_QUEUE), at->name,
			      &at->root);
	*ret_root = at->root;
	return r;
}

/* --- chunks ------------------------------------------------------------------------------ */

struct open_zone {
	uint32_t node;
	int64_t begin;
};

struct counter {
	struct zone_totals *t;
	uint32_t depth;
	struct open_zone stack[CHUNK_DEPTH_MAX + 1]; /* stack[0] is the root */
	struct chunk_reader reader;
};

static inline int begin_zone(struct counter *c, uint32_t marker, int64_t t)
{
	uint32_t node;
	int r;

	if (c->depth == CHUNK_DEPTH_MAX)
		return -EBADMSG;
	r = enter_child(c->t, c->stack[c->depth].node, marker, &node);
	if (r < 0)
		return r;
	c->depth++;
	c->stack[c->depth].node = node;
	c->stack[c->depth].begin = t;
	return 0;
}

static inline void end_zone(struct counter *c, int64_t t)
{
	const struct open_zone *zone = &c->stack[c->depth];

	if (c->depth == 0)
		return;
	zone_sum_add(&c->t->sums.at[zone->node], zone->begin, t);
	c->depth--;
}

static void end_to(struct counter *c, uint32_t depth, int64_t t)
{
	while (c->depth > depth)
		end_zone(c, t);
}

/* The innermost zone of marker and all inside. */
static void end_unbalanced(struct counter *c, uint32_t marker, int64_t t)
{
	uint32_t depth = c->depth;

	while (depth > 0 && c->t->nodes.at[c->stack[depth].node].marker != marker)
		depth--;
	if (depth > 0)
		end_to(c, depth - 1, t);
}

static int apply(struct counter *c, const struct chunk_event *e)
{
	switch (e->code) {
	case CHUNK_BEGIN:
		return begin_zone(c, e->marker, e->t);
	case CHUNK_END:
		end_zone(c, e->t);
		return 0;
	case CHUNK_NEXT:
		end_zone(c, e->t);
		return begin_zone(c, e->marker, e->t);
	case CHUNK_TRUNCATE:
		end_to(c, c->depth - (uint32_t)MIN(e->value.u, (uint64_t)c->depth), e->t);
		return 0;
	case CHUNK_UNBALANCED_END:
		end_unbalanced(c, e->marker, e->t);
		return 0;
	default:
		return 0;
	}
}

/* The begins and ends that follow at once, what most events are. All that a turn needs is at hand
 * until a path is new. */
static int count_run(struct counter *c)
{
	const uint8_t *tags = c->reader.tags;
	struct zone_totals *t = c->t;
	struct zone_sum *sums = t->sums.at;
	struct open_zone *top = &c->stack[c->depth];
	struct chunk_cursor at;
	uint32_t left = chunk_cursor_init(&at, &c->reader), code, node;
	int r = 0;

	for (; left > 0 && chunk_cursor_next(&at, tags, INT64_MAX, &code); left--) {
		if (code == CHUNK_END) {
			if (top > c->stack) {
				zone_sum_add(&sums[top->node], top->begin, at.t);
				top--;
			}
			continue;
		}
		r = top < &c->stack[CHUNK_DEPTH_MAX]
			    ? enter_child(t, top->node, code - CHUNK_BEGIN, &node)
			    : -EBADMSG;
		if (r < 0)
			break;
		sums = t->sums.at;
		*++top = (struct open_zone){.node = node, .begin = at.t};
	}
	c->depth = (uint32_t)(top - c->stack);
	chunk_cursor_done(&at, &c->reader);
	return r;
}

/* -EBADMSG: what follows in the chunk makes no sense; what came before is counted. */
static int count_events(struct counter *c)
{
	struct chunk_event e;
	uint32_t i;
	int r = 0;

	c->depth = 0;
	for (i = 0; i < c->reader.depth_in && r == 0; i++)
		r = begin_zone(c, c->reader.carried[i].marker, c->reader.carried[i].begin);
	while (r == 0) {
		r = count_run(c);
		if (r == 0)
			r = chunk_reader_next(&c->reader, &e);
		if (r <= 0)
			break;
		r = apply(c, &e);
	}
	return r;
}

static void merge_sum(struct zone_sum *into, const struct zone_sum *sum)
{
	if (sum->calls == 0)
		return;
	if (into->calls == 0 || sum->max_ticks > into->max_ticks) {
		into->max_ticks = sum->max_ticks;
		into->max_begin = sum->max_begin;
	}
	into->calls += sum->calls;
	into->ticks += sum->ticks;
}

/* What the drain has counted. */
static int take_counts(struct zone_totals *t, uint32_t root, const struct zone_count_row *rows,
		       size_t count)
{
	uint32_t parent, node;
	size_t i;
	int r;

	t->counted.count = 0;
	if (VEC_RESERVE(&t->counted, count) < 0)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		parent = rows[i].parent ? t->counted.at[rows[i].parent - 1] : root;
		r = enter_child(t, parent, rows[i].marker, &node);
		if (r < 0)
			return r;
		merge_sum(&t->sums.at[node], &rows[i].sum);
		t->counted.at[t->counted.count++] = node;
	}
	return 0;
}

int zone_totals_chunk(struct zone_totals *totals, const struct zone_totals_chunk *chunk)
{
	struct counter c;
	uint64_t events = chunk->events;
	int r = root_of(totals, chunk->track, &c.stack[0].node);

	c.t = totals;
	totals->mark.chunks = MAX(totals->mark.chunks, chunk->id);
	if (r == 0 && chunk->counts)
		return take_counts(totals, c.stack[0].node, chunk->counts, chunk->count);
	if (r == 0)
		r = chunk->raw ? chunk_reader_init(&c.reader, chunk->raw, chunk->bytes, chunk->t0)
			       : -EBADMSG;
	if (r == 0) {
		r = count_events(&c);
		events = c.reader.events_left + 1;
	}
	if (r != -EBADMSG)
		return r;
	totals->mark.uncounted = count_add(totals->mark.uncounted, events);
	return 0;
}

static int count_stored(sqlite3_stmt *stmt, struct zone_totals *t)
{
	_cleanup_free_ uint8_t *raw = NULL;
	struct sql_row row = sql_row(stmt);
	struct zone_totals_chunk chunk = {0};
	int r = chunk_unpack(sqlite3_column_blob(stmt, 4), (size_t)sqlite3_column_bytes(stmt, 4),
			     &raw, &chunk.bytes);

	if (r < 0 && r != -EBADMSG)
		return r;
	chunk.id = row_int(&row);
	chunk.track = row_u32(&row);
	chunk.t0 = row_int(&row);
	chunk.events = row_uint(&row);
	chunk.raw = raw;
	return zone_totals_chunk(t, &chunk);
}

/* Chunks above the mark that end at from or later. */
static int count_chunks(sqlite3 *db, const char *schema, uint64_t session, int64_t from,
			struct zone_totals *t)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	/* by time, which is nearly the order in which they are stored; +id: not by that index */
	int r = prepare(db,
			"SELECT id, track, t0, events, data FROM %s.chunks WHERE session = ? "
			"AND +id > ? AND t1 >= ? ORDER BY t1",
			schema, session, &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 2, t->mark.chunks);
	sqlite3_bind_int64(stmt, 3, from);
	while ((r = sql_step(stmt)) == 1) {
		r = count_stored(stmt, t);
		if (r < 0)
			break;
	}
	return r;
}

/* --- GPU spans --------------------------------------------------------------------------- */

int zone_totals_span(struct zone_totals *totals, const struct zone_totals_span *span)
{
	struct zone_total *n;
	uint32_t node;
	uint64_t ns = 0;
	int r = root_of(totals, span->track, &node);

	totals->mark.spans = MAX(totals->mark.spans, span->id);
	if (r == 0)
		r = enter_child(totals, node, span->marker, &node);
	if (r < 0)
		return r;
	n = &totals->nodes.at[node];
	if (span->end_ns > span->begin_ns)
		ns = (uint64_t)span->end_ns - (uint64_t)span->begin_ns;
	add_longest(n, ns, span->begin_ns, span->frame);
	add_calls(n, 1, ns);
	return 0;
}

static int count_spans(sqlite3 *db, const char *schema, uint64_t session, struct zone_totals *t)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(db,
			"SELECT id, track, marker, frame, begin_ns, end_ns FROM %s.gpu_spans "
			"WHERE session = ? AND +id > ?",
			schema, session, &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 2, t->mark.spans);
	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct zone_totals_span span = {0};

		span.id = row_int(&row);
		span.track = row_u32(&row);
		span.marker = row_u32(&row);
		span.frame = row_uint(&row);
		span.begin_ns = row_int(&row);
		span.end_ns = row_int(&row);
		r = zone_totals_span(t, &span);
	}
	return r;
}

/* --- frames ------------------------------------------------------------------------------ */

struct frame_span {
	uint64_t frame;
	int64_t begin, end; /* ns */
};

static bool lacks_frame(const struct zone_total *n)
{
	return n->parent != PATH_NONE && n->calls > 0 && n->max_frame == 0;
}

/* Newest first, down to the one in which from lies. */
static int read_frames(sqlite3 *db, const char *schema, uint64_t session, int64_t from,
		       struct frame_span **ret_frames, size_t *ret_count)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	VEC(struct frame_span) frames = {0};
	int r = prepare(db,
			"SELECT frame, begin_ns, end_ns FROM %s.frames WHERE session = ? "
			"AND stream = 0 ORDER BY frame DESC",
			schema, session, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct frame_span frame = {0};

		frame.frame = row_uint(&row);
		frame.begin = row_int(&row);
		frame.end = row_int(&row);
		r = frame.end > from ? VEC_PUSH(&frames, frame) : 0;
		if (frame.end <= from)
			break;
	}
	*ret_frames = frames.at;
	*ret_count = frames.count;
	return r;
}

static int frame_at(const void *key, const void *element)
{
	int64_t ns = *(const int64_t *)key;
	const struct frame_span *f = element;

	return (ns < f->begin) - (ns >= f->end);
}

/* The frames of the longest calls, as far as they are there. */
static int find_frames(sqlite3 *db, const char *schema, uint64_t session, struct zone_totals *t)
{
	_cleanup_free_ struct frame_span *frames = NULL;
	int64_t from = INT64_MAX;
	size_t count, i;
	int r;

	for (i = 0; i < t->nodes.count; i++)
		if (lacks_frame(&t->nodes.at[i]))
			from = MIN(from, t->nodes.at[i].max_begin_ns);
	if (from == INT64_MAX)
		return 0;
	r = read_frames(db, schema, session, from, &frames, &count);
	for (i = 0; i < t->nodes.count && r == 0 && count > 0; i++) {
		struct zone_total *n = &t->nodes.at[i];
		const struct frame_span *f;

		if (!lacks_frame(n))
			continue;
		f = bsearch(&n->max_begin_ns, frames, count, sizeof(*frames), frame_at);
		n->max_frame = f ? f->frame : 0;
		n->changed = n->changed || f;
	}
	return r;
}

/* --- all together ------------------------------------------------------------------------ */

static int64_t ns_of(const struct zone_totals *t, int64_t ticks)
{
	return fprof_clock_ns(&t->rate, 0, (uint64_t)ticks);
}

/* What was counted goes to the nodes. */
static void settle(struct zone_totals *t)
{
	size_t i;

	for (i = 0; i < t->nodes.count; i++) {
		struct zone_sum *sum = &t->sums.at[i];
		int64_t begin = ns_of(t, sum->max_begin);
		int64_t end = ns_of(t, (int64_t)((uint64_t)sum->max_begin + sum->max_ticks));

		if (sum->calls == 0)
			continue;
		add_longest(&t->nodes.at[i], (uint64_t)MAX(end - begin, 0), begin, 0);
		add_calls(&t->nodes.at[i], sum->calls,
			  (uint64_t)ns_of(t, (int64_t)MIN(sum->ticks, (uint64_t)INT64_MAX)));
		*sum = (struct zone_sum){0};
	}
	t->mark.uncounted = count_add(t->mark.uncounted, t->nodes.at[NODE_REST].calls);
	t->nodes.at[NODE_REST].calls = 0;
}

/* The rows, and what is above the mark. */
static int read_all(sqlite3 *db, const char *schema, uint64_t session, int64_t from,
		    struct zone_totals *t)
{
	int r = read_rows(db, schema, session, t);

	if (r < 0 || t->mark.chunks == ZONE_TOTALS_ALL)
		return r;
	r = read_tracks(db, schema, session, t);
	if (r == 0)
		r = count_chunks(db, schema, session, from, t);
	return r < 0 ? r : count_spans(db, schema, session, t);
}

int zone_totals_read(sqlite3 *db, const char *schema, uint64_t session,
		     struct zone_totals *ret_totals)
{
	struct zone_totals *t = ret_totals;
	int r;

	memset(t, 0, sizeof(*t));
	r = read_mark(db, schema, session, t);
	if (r == 0)
		r = read_all(db, schema, session, INT64_MIN, t);
	if (r == 0) {
		settle(t);
		r = find_frames(db, schema, session, t);
	}
	if (r < 0)
		zone_totals_deinit(t);
	return r;
}

int zone_totals_open(sqlite3 *db, uint64_t session, const struct zone_totals_mark *mark,
		     int64_t from, struct zone_totals *ret_totals)
{
	struct zone_totals *t = ret_totals;
	int r;

	memset(t, 0, sizeof(*t));
	r = read_mark(db, "main", session, t);
	t->mark = *mark;
	if (r == 0 || r == -ENODATA)
		r = read_all(db, "main", session, from, t);
	if (r < 0)
		zone_totals_deinit(t);
	return r;
}

int zone_totals_write(sqlite3 *db, uint64_t session, struct zone_totals *totals)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	uint32_t i;
	int r = sql_prepare(db,
			    "INSERT OR REPLACE INTO main.zone_totals (session, node, parent, "
			    "marker, kind, name, calls, total_ns, max_ns, max_begin_ns, max_frame) "
			    "VALUES (?,?,?,?,?,?,?,?,?,?,?)",
			    &stmt);

	settle(totals);
	forget_tracks(totals);
	if (r == 0)
		r = find_frames(db, "main", session, totals);
	for (i = NODE_REST + 1; i < totals->nodes.count && r == 0; i++)
		if (totals->nodes.at[i].changed) {
			r = write_row(stmt, session, i, &totals->nodes.at[i]);
			totals->nodes.at[i].changed = r < 0;
		}
	return r;
}
