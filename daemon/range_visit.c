/* SPDX-License-Identifier: MIT */
/*
 * A visit of a range. Each lane of a track has a stack of its own; the visit keeps one for all of
 * them, in which zones nest by time. The zones that were open when the range began are shown when
 * the first thing after its begin comes, since until then they may end: shown ones are always the
 * outermost of the stack. Times never run backwards in what is shown.
 *
 * A transaction is given back and taken anew between two chunks when it has lasted for
 * TRANSACTION_NS.
 */
#include "range.h"

#include "history_impl.h"
#include "range_lane.h"
#include "rows.h"
#include "shm/reader.h"
#include "shm/word.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define TRANSACTION_NS 100000000u
#define NOWHERE	       UINT32_MAX
#define STEPS_AT_ONCE  64u

/* An open zone. */
struct visit_zone {
	uint32_t marker;
	uint32_t lane, level; /* lanes.at[lane]->stack[level] is it */
	uint32_t flags;
	int64_t full_begin, begin; /* begin: never before the range, nor before what was shown */
	int64_t children;
	char *text;
	bool has_value, value_is_double;
	union {
		int64_t i;
		double d;
	} value;
};

struct visit {
	struct history *h;
	const struct range *range;
	const struct range_visitor *v;
	int told;     /* the visitor's reason to stop */
	bool reading; /* within a transaction */
	uint64_t reading_since;
	VEC(struct gap_row) gaps; /* of the range, of all tracks */
	uint32_t track;		  /* id of the one in progress */
	VEC(struct range_lane *) lanes;
	VEC(struct visit_zone) zones; /* open ones, outermost first */
	size_t shown;		      /* of them */
	int64_t now;
	VEC(char) text; /* of a message */
};

static int begin_reading(struct visit *v)
{
	int r = history_begin(v->h);

	v->reading = r == 0;
	v->reading_since = clock_ns(CLOCK_MONOTONIC);
	return r;
}

static int end_reading(struct visit *v, int r)
{
	if (!v->reading)
		return r;
	v->reading = false;
	return history_end(v->h, r);
}

/* What the visitor answered. Its reasons to stop are no errors of ours. */
static int told(struct visit *v, int r)
{
	if (r >= 0)
		return 0;
	v->told = r;
	return -ECANCELED;
}

/* Lets the store in when it may be waiting. */
static int pause_reading(struct visit *v)
{
	int r;

	if (clock_ns(CLOCK_MONOTONIC) - v->reading_since < TRANSACTION_NS)
		return 0;
	r = end_reading(v, 0);
	return r < 0 ? r : begin_reading(v);
}

static int show_step(struct visit *v, uint32_t marker, int64_t t)
{
	const struct range_step step = {t, marker};

	return told(v, v->v->steps(v->v->userdata, &step, 1));
}

static int show_begin(struct visit *v, const struct visit_zone *zone)
{
	if (v->v->steps)
		return show_step(v, zone->marker, zone->begin);
	return v->v->begin ? told(v, v->v->begin(v->v->userdata, zone->marker, zone->begin,
						 (uint32_t)v->shown))
			   : 0;
}

/* Shows the zones of the stack that were not shown yet. */
static int show_zones(struct visit *v)
{
	int r = 0;

	for (; v->shown < v->zones.count && r == 0; v->shown++) {
		struct visit_zone *zone = &v->zones.at[v->shown];

		zone->begin = MAX(zone->begin, v->range->events_t0);
		r = show_begin(v, zone);
	}
	return r;
}

static int show_end(struct visit *v, const struct visit_zone *zone, int64_t full_end)
{
	const struct range *range = v->range;
	struct range_zone out = {
		.marker = zone->marker,
		.begin = zone->begin,
		.end = MIN(full_end, range->t1),
		.full_begin = zone->full_begin,
		.full_end = full_end,
		.children = zone->children,
		.depth = (uint32_t)v->shown,
		.flags = zone->flags,
		.text = zone->text,
		.has_value = zone->has_value,
	};

	if (zone->has_value) {
		out.value_is_double = zone->value_is_double;
		out.value.i = zone->value.i;
	}
	if (zone->full_begin < range->events_t0)
		out.flags |= ZONE_CLIPPED_BEGIN;
	if (full_end > range->t1)
		out.flags |= ZONE_CLIPPED_END;
	if (v->shown > 0)
		v->zones.at[v->shown - 1].children += out.end - out.begin;
	return v->v->end ? told(v, v->v->end(v->v->userdata, &out)) : 0;
}

/* Ends the innermost zone. One that was not shown ended before the range. */
static int close_innermost(struct visit *v, int64_t full_end, uint32_t flags)
{
	struct visit_zone *zone = &v->zones.at[--v->zones.count];
	int r = 0;

	v->lanes.at[zone->lane]->stack[zone->level].at = NOWHERE;
	if (v->shown > v->zones.count) {
		v->shown = v->zones.count;
		zone->flags |= flags;
		r = v->v->steps ? show_step(v, RANGE_LEFT, MIN(full_end, v->range->t1))
				: show_end(v, zone, full_end);
	}
	if (zone->text) /* few have one, and a call costs */
		free(zone->text);
	return r;
}

/* A lane says that its innermost zone has ended, now. */
static int end_zone(struct visit *v, struct range_lane *lane, uint32_t flags)
{
	uint32_t at;
	int r = 0;

	if (lane->depth == 0)
		return 0;
	at = lane->stack[--lane->depth].at;
	if (at == NOWHERE)
		return 0;
	while (v->zones.count - 1 > at && r == 0)
		r = close_innermost(v, v->now, ZONE_TRUNCATED);
	return r < 0 ? r : close_innermost(v, v->now, flags);
}

static int end_zones(struct visit *v, struct range_lane *lane, uint32_t depth)
{
	int r = 0;

	while (lane->depth > depth && r == 0)
		r = end_zone(v, lane, ZONE_TRUNCATED);
	return r;
}

/* Closes the zones inside the innermost one of marker, then it. */
static int end_unbalanced(struct visit *v, struct range_lane *lane, uint32_t marker)
{
	uint32_t depth = lane->depth;
	int r;

	while (depth > 0 && lane->stack[depth - 1].open.marker != marker)
		depth--;
	if (depth == 0)
		return 0;
	r = end_zones(v, lane, depth);
	return r < 0 ? r : end_zone(v, lane, ZONE_UNBALANCED);
}

/* begin: of what is shown of it. */
static inline int push_zone(struct visit *v, uint32_t lane_index, uint32_t marker, int64_t t,
			    int64_t begin)
{
	struct range_lane *lane = v->lanes.at[lane_index];
	struct lane_open *open = &lane->stack[lane->depth];
	struct visit_zone *zone;

	if (lane->depth == CHUNK_DEPTH_MAX)
		return -EBADMSG;
	open->open.marker = marker;
	open->open.begin = t;
	open->at = NOWHERE;
	lane->depth++;
	if (begin >= v->range->t1)
		return 0;
	if (VEC_RESERVE(&v->zones, 1) < 0)
		return -ENOMEM;
	open->at = (uint32_t)v->zones.count;
	zone = &v->zones.at[v->zones.count++];
	zone->marker = marker;
	zone->lane = lane_index;
	zone->level = lane->depth - 1;
	zone->flags = 0;
	zone->full_begin = t;
	zone->begin = begin;
	zone->children = 0;
	zone->text = NULL;
	zone->has_value = false;
	return 0;
}

static int begin_zone(struct visit *v, uint32_t lane_index, uint32_t marker, int64_t t)
{
	int r = push_zone(v, lane_index, marker, t, v->now);

	return r == 0 && v->now >= v->range->events_t0 ? show_zones(v) : r;
}

static struct visit_zone *innermost(struct visit *v, const struct range_lane *lane)
{
	uint32_t at = lane->depth > 0 ? lane->stack[lane->depth - 1].at : NOWHERE;

	return at == NOWHERE ? NULL : &v->zones.at[at];
}

static int set_text(struct visit *v, const struct range_lane *lane, const struct chunk_event *e)
{
	struct visit_zone *zone = innermost(v, lane);
	size_t size = 3 * e->byte_count + 1; /* each bad byte becomes three */

	if (!zone || v->v->no_texts || !v->v->end)
		return 0;
	free(zone->text);
	zone->text = malloc(size);
	if (!zone->text)
		return -ENOMEM;
	utf8_copy(zone->text, size, e->bytes, e->byte_count);
	return 0;
}

static void set_value(struct visit *v, const struct range_lane *lane, const struct chunk_event *e)
{
	struct visit_zone *zone = innermost(v, lane);

	if (!zone)
		return;
	if (e->type == CHUNK_VALUE_FLAGS) {
		zone->flags |= (uint32_t)e->value.i & ZONE_IMPORTED;
		return;
	}
	zone->has_value = true;
	zone->value_is_double = e->type == FPROF_VALUE_F64;
	zone->value.i = e->value.i;
}

/* Of an event that the drain keeps as it was. False: it is another, or no sound one. */
static bool get_allocations(const struct chunk_event *e, struct range_event *out)
{
	uint64_t words[2];

	if (e->type != FPROF_EXT_ALLOC || e->byte_count < sizeof(words))
		return false;
	memcpy(words, e->bytes, sizeof(words));
	out->value.i = (int64_t)MIN(words[0], (uint64_t)INT64_MAX / 4096);
	out->count = (int64_t)MIN(words[1], (uint64_t)INT64_MAX / 4096);
	return true;
}

/* Anything but zones. */
static int show_event(struct visit *v, const struct chunk_event *e)
{
	struct range_event out = {.marker = e->marker, .t = v->now, .colour = e->colour};

	if (!v->v->event || v->now < v->range->events_t0 || v->now >= v->range->t1)
		return 0;
	if (e->code == CHUNK_MESSAGE) {
		out.kind = RANGE_MESSAGE;
		if (VEC_RESERVE(&v->text, 3 * e->byte_count + 1) < 0)
			return -ENOMEM;
		utf8_copy(v->text.at, v->text.capacity, e->bytes, e->byte_count);
		out.text = v->text.at;
	} else if (e->code == CHUNK_COUNTER) {
		out.kind = RANGE_COUNTER;
		out.adds = e->op == FPROF_COUNTER_ADD;
		out.is_double = e->type == FPROF_VALUE_F64;
		out.value.i = e->value.i;
	} else if (e->code == CHUNK_MARK) {
		out.kind = RANGE_MARK;
		out.marker = e->stream;
		out.value.i = e->value.i;
	} else if (e->code == CHUNK_OTHER) {
		out.kind = RANGE_ALLOC;
		if (!get_allocations(e, &out))
			return 0;
	} else if (e->code == CHUNK_FIBER_ENTER || e->code == CHUNK_FIBER_LEAVE) {
		out.kind = RANGE_FIBER;
		out.value.i = e->track;
	} else {
		out.kind = RANGE_INSTANT;
	}
	return told(v, v->v->event(v->v->userdata, &out));
}

/* The lane's next event happens. -EBADMSG: it cannot be. */
static int apply(struct visit *v, uint32_t lane_index)
{
	struct range_lane *lane = v->lanes.at[lane_index];
	const struct chunk_event *e = &lane->next;
	int r = 0;

	v->now = MAX(v->now, e->t);
	if (v->now > v->range->events_t0 && v->shown < v->zones.count)
		r = show_zones(v);
	if (r < 0)
		return r;
	switch (e->code) {
	case CHUNK_BEGIN:
		return begin_zone(v, lane_index, e->marker, e->t);
	case CHUNK_END:
		return end_zone(v, lane, 0);
	case CHUNK_NEXT:
		r = end_zone(v, lane, 0);
		return r < 0 ? r : begin_zone(v, lane_index, e->marker, e->t);
	case CHUNK_TRUNCATE:
		return end_zones(v, lane,
				 lane->depth - (uint32_t)MIN(e->value.u, (uint64_t)lane->depth));
	case CHUNK_UNBALANCED_END:
		return end_unbalanced(v, lane, e->marker);
	case CHUNK_TEXT:
		return set_text(v, lane, e);
	case CHUNK_VALUE:
		set_value(v, lane, e);
		return 0;
	case CHUNK_MESSAGE:
	case CHUNK_INSTANT:
	case CHUNK_COUNTER:
	case CHUNK_MARK:
	case CHUNK_FIBER_ENTER:
	case CHUNK_FIBER_LEAVE:
	case CHUNK_OTHER:
		return show_event(v, e);
	default:
		return 0;
	}
}

static int show_gap(struct visit *v, const struct gap_row *gap)
{
	return v->v->gap ? told(v, v->v->gap(v->v->userdata, gap)) : 0;
}

/* A chunk is gone or cannot be read. */
static int show_damage(struct visit *v, const struct range_lane *lane)
{
	const struct lane_chunk *chunk = &lane->chunks.at[lane->chunk - 1];
	struct gap_row gap = {.session = v->range->session,
			      .track = v->track,
			      .lane = lane->lane,
			      .t0 = chunk->t0,
			      .t1 = chunk->t1,
			      .events = chunk->events};

	return show_gap(v, &gap);
}

/* What the chunk before left open and this one does not know was closed in between. */
static int load(struct visit *v, struct range_lane *lane)
{
	const struct lane_chunk *chunk;
	uint32_t same = 0;
	int r = pause_reading(v);

	if (r == 0)
		r = range_lane_load(v->h, v->range->session, v->track, lane, v->range->t1, &chunk,
				    &same);
	if (r == -EBADMSG || r == -ENOENT)
		return show_damage(v, lane);
	return r < 0 ? r : end_zones(v, lane, same);
}

/* Finds the lane's next event, if need be in its next chunks. */
static int advance(struct visit *v, struct range_lane *lane)
{
	int r = 0;

	do {
		if (lane->state == LANE_LOAD)
			r = load(v, lane);
		if (r == 0 && lane->state == LANE_EVENT)
			r = range_lane_next(lane);
		if (r == -EBADMSG)
			r = show_damage(v, lane);
	} while (r == 0 && lane->state == LANE_LOAD);
	if (lane->state == LANE_EVENT && lane->next.t > v->range->t1) {
		lane->later = true;
		lane->state = LANE_AT_END;
	}
	return r;
}

/* Does the lane's next event end the innermost zone? Where several are due, that one comes first.
 */
static bool ends_innermost(const struct visit *v, const struct range_lane *lane)
{
	return lane->next.code == CHUNK_END && lane->depth > 0 && v->zones.count > 0 &&
	       lane->stack[lane->depth - 1].at == v->zones.count - 1;
}

/* The lane whose event comes next; *ret_limit is when another's comes. False: none is left. */
static bool next_lane(const struct visit *v, uint32_t *ret_index, int64_t *ret_limit)
{
	const struct range_lane *best = NULL;
	uint32_t i;

	*ret_limit = INT64_MAX;
	for (i = 0; i < v->lanes.count; i++) {
		struct range_lane *lane = v->lanes.at[i];

		if (lane->state != LANE_EVENT)
			continue;
		if (best && (lane->next.t > best->next.t ||
			     (lane->next.t == best->next.t && !ends_innermost(v, lane)))) {
			*ret_limit = MIN(*ret_limit, lane->next.t);
			continue;
		}
		if (best)
			*ret_limit = MIN(*ret_limit, best->next.t);
		best = lane;
		*ret_index = i;
	}
	return best;
}

static int apply_step(struct visit *v, uint32_t index, const struct range_step *step)
{
	struct range_lane *lane = v->lanes.at[index];
	int r = 0;

	v->now = MAX(v->now, step->t);
	if (v->shown < v->zones.count && v->now > v->range->events_t0)
		r = show_zones(v);
	if (r < 0)
		return r;
	return step->marker == RANGE_LEFT ? end_zone(v, lane, 0)
					  : begin_zone(v, index, step->marker, step->t);
}

/* Is the lane's stack the visit's, all of it shown, and do the steps lie in the range? */
static bool shows_as_it_is(const struct visit *v, const struct range_lane *lane,
			   const struct range_step *steps, uint32_t count)
{
	return v->v->steps && v->lanes.count == 1 && count > 0 && lane->depth == v->zones.count &&
	       v->shown == v->zones.count && v->now >= v->range->events_t0 &&
	       steps[0].t >= v->now && steps[count - 1].t < v->range->t1;
}

/* Puts on the stacks what the steps leave open: from depth kept on opened[depth] began it. */
static int restack(struct visit *v, uint32_t index, const struct range_step *steps, uint32_t kept,
		   uint32_t depth, const uint8_t *opened)
{
	struct range_lane *lane = v->lanes.at[index];
	int r = 0;

	while (v->zones.count > kept)
		free(v->zones.at[--v->zones.count].text);
	lane->depth = kept;
	for (; kept < depth && r == 0; kept++) {
		const struct range_step *step = &steps[opened[kept]];

		r = push_zone(v, index, step->marker, step->t, step->t);
	}
	v->shown = v->zones.count;
	return r;
}

/* Shows steps as they are, up to one that takes a closer look, *ret_count. What begins and ends
 * among them is on no stack. */
static int show_steps(struct visit *v, uint32_t index, const struct range_step *steps,
		      uint32_t count, uint32_t *ret_count)
{
	uint32_t depth = v->lanes.at[index]->depth, kept = depth, i;
	uint8_t opened[CHUNK_DEPTH_MAX];
	int r;

	for (i = 0; i < count; i++) {
		if (depth == (steps[i].marker == RANGE_LEFT ? 0 : CHUNK_DEPTH_MAX))
			break;
		if (steps[i].marker != RANGE_LEFT)
			opened[depth++] = (uint8_t)i;
		else if (--depth < kept)
			kept = depth;
	}
	*ret_count = i;
	if (i == 0)
		return 0;
	v->now = steps[i - 1].t;
	r = restack(v, index, steps, kept, depth, opened);
	return r < 0 ? r : told(v, v->v->steps(v->v->userdata, steps, i));
}

/* The begins and ends that follow at once, of a lane that is alone. -EBADMSG: they cannot be. */
static int run_steps(struct visit *v, uint32_t index)
{
	struct range_lane *lane = v->lanes.at[index];
	struct range_step steps[STEPS_AT_ONCE];
	uint32_t most = v->v->only ? 1 : STEPS_AT_ONCE, count, i;
	int r = 0;

	do {
		if (v->v->only) {
			range_lane_skip(lane, v->range->t1, v->v->only, v->range->markers.count);
			v->now = MAX(v->now, lane->reader.last);
		}
		count = range_lane_zones(lane, v->range->t1, steps, most);
		i = 0;
		if (shows_as_it_is(v, lane, steps, count))
			r = show_steps(v, index, steps, count, &i);
		for (; i < count && r == 0; i++)
			r = apply_step(v, index, &steps[i]);
	} while (count > 0 && r == 0);
	return r;
}

/* Runs a lane up to where another one has something to say. */
static int run_lane(struct visit *v, uint32_t index, int64_t limit)
{
	struct range_lane *lane = v->lanes.at[index];
	bool alone = limit == INT64_MAX;
	int r;

	do {
		r = apply(v, index);
		if (r == 0 && alone && range_lane_in_chunk(lane))
			r = run_steps(v, index);
		if (r == -EBADMSG) {
			lane->state = lane->chunk < lane->chunks.count ? LANE_LOAD : LANE_AT_END;
			r = show_damage(v, lane);
		}
		if (r == 0)
			r = advance(v, lane);
	} while (r == 0 && lane->state == LANE_EVENT && lane->next.t < limit);
	return r;
}

/* What is still open reaches out of the range. */
static int close_all(struct visit *v)
{
	int r = v->zones.count > v->shown ? show_zones(v) : 0;

	while (v->zones.count > 0 && r == 0) {
		const struct range_lane *lane = v->lanes.at[v->zones.at[v->zones.count - 1].lane];

		r = close_innermost(v, INT64_MAX, lane->later ? 0 : ZONE_OPEN);
	}
	return r;
}

static void drop_track(struct visit *v)
{
	size_t i;

	for (i = 0; i < v->zones.count; i++)
		free(v->zones.at[i].text);
	for (i = 0; i < v->lanes.count; i++)
		range_lane_free(v->lanes.at[i]);
	v->zones.count = v->lanes.count = 0;
	v->shown = 0;
	v->now = INT64_MIN;
}

static int open_lanes(struct visit *v)
{
	const struct range *range = v->range;
	int64_t key[] = {(int64_t)range->session, v->track, -1};
	struct range_lane *lane;
	int r;

	while ((r = history_ask_int(v->h, HISTORY_NEXT_LANE, key, 3, &key[2])) == 1) {
		if (VEC_RESERVE(&v->lanes, 1) < 0)
			return -ENOMEM;
		r = range_lane_open(v->h, range->session, v->track, (uint32_t)key[2],
				    range->events_t0, range->t1, &lane);
		if (r < 0)
			return r;
		v->lanes.at[v->lanes.count++] = lane;
	}
	return r;
}

static int visit_thread(struct visit *v)
{
	uint32_t index = 0;
	int64_t limit;
	size_t i;
	int r = open_lanes(v);

	for (i = 0; i < v->lanes.count && r == 0; i++)
		r = advance(v, v->lanes.at[i]);
	while (r == 0 && next_lane(v, &index, &limit))
		r = run_lane(v, index, limit);
	if (r == 0)
		r = close_all(v);
	drop_track(v);
	return r;
}

/* The ends of the spans around the one in progress. */
typedef VEC(int64_t) ends_vec;

/* False: nothing of it is in the range. */
static bool clip_span(const struct range *range, struct gpu_span_row *span)
{
	if (span->begin_ns >= range->end_ns || span->end_ns <= range->begin_ns)
		return false;
	span->begin_ns = MAX(span->begin_ns, range->begin_ns);
	span->end_ns = MIN(span->end_ns, range->end_ns);
	return true;
}

static int show_span(struct visit *v, sqlite3_stmt *stmt, ends_vec *ends)
{
	struct range_gpu_zone zone = {0};
	struct sql_row row = sql_row(stmt);

	rows_span(&row, &zone.span);
	if (v->range->clipped && !clip_span(v->range, &zone.span))
		return 0;
	while (ends->count > 0 && (ends->at[ends->count - 1] < zone.span.end_ns ||
				   ends->at[ends->count - 1] <= zone.span.begin_ns))
		ends->count--;
	zone.depth = (uint32_t)ends->count;
	if (VEC_PUSH(ends, zone.span.end_ns) < 0)
		return -ENOMEM;
	return told(v, v->v->gpu(v->v->userdata, &zone));
}

/* A span is inside the one before only if that ends no earlier: queues overlap at will. */
static int visit_queue(struct visit *v)
{
	const struct range *range = v->range;
	int64_t key[] = {(int64_t)range->session, 0, (int64_t)range->last, v->track};
	sqlite3_stmt *stmt;
	ends_vec ends = {0};
	int r = 0;

	if (!v->v->gpu || range->stream != 0 || range->kept_from == range->frames.frames.count)
		return 0;
	key[1] = (int64_t)range->frames.frames.at[range->kept_from].row.frame;
	stmt = history_ask(v->h, HISTORY_QUEUE_SPANS, key, 4);
	while (r >= 0 && (r = sql_step(stmt)) == 1)
		r = show_span(v, stmt, &ends);
	sqlite3_reset(stmt);
	VEC_FREE(&ends);
	return r;
}

/* Was more evicted since the range was opened? */
static int show_evicted(struct visit *v)
{
	int64_t id = (int64_t)v->range->session, evicted_before = INT64_MIN;
	struct gap_row gap = {.session = v->range->session, .track = v->track};
	int r = history_ask_int(v->h, HISTORY_EVICTED, &id, 1, &evicted_before);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (evicted_before <= v->range->events_t0)
		return 0;
	gap.t0 = v->range->events_t0;
	gap.t1 = MIN(evicted_before, v->range->t1);
	return show_gap(v, &gap);
}

static int show_gaps(struct visit *v)
{
	size_t i;
	int r = show_evicted(v);

	for (i = 0; i < v->gaps.count && r == 0; i++)
		if (v->gaps.at[i].track == v->track)
			r = show_gap(v, &v->gaps.at[i]);
	return r;
}

static int visit_track(struct visit *v, size_t index)
{
	const struct track_row *track = &v->range->tracks.at[index];
	int r = v->v->track ? v->v->track(v->v->userdata, index, track) : 0;

	if (r != 0)
		return told(v, r);
	v->track = track->track;
	r = pause_reading(v);
	if (r == 0)
		r = show_gaps(v);
	if (r == 0)
		r = track->kind == TRACK_GPU_QUEUE ? visit_queue(v) : visit_thread(v);
	return r;
}

static int read_gaps(struct visit *v)
{
	int64_t key[] = {(int64_t)v->range->session, v->range->events_t0, v->range->t1};
	sqlite3_stmt *stmt = history_ask(v->h, HISTORY_GAPS, key, 3);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&v->gaps, 1) < 0)
			return -ENOMEM;
		rows_gap(&row, &v->gaps.at[v->gaps.count++]);
	}
	return r;
}

int range_visit(struct history *h, const struct range *range, const struct range_visitor *visitor)
{
	struct visit v = {.h = h, .range = range, .v = visitor, .now = INT64_MIN};
	size_t i;
	int r = begin_reading(&v);

	if (r == 0)
		r = read_gaps(&v);
	for (i = 0; i < range->tracks.count && r == 0; i++)
		r = visit_track(&v, i);
	r = end_reading(&v, v.told ? 0 : r);
	if (v.told)
		r = v.told;
	drop_track(&v);
	VEC_FREE(&v.gaps);
	VEC_FREE(&v.lanes);
	VEC_FREE(&v.zones);
	VEC_FREE(&v.text);
	return r;
}
