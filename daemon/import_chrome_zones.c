/* SPDX-License-Identifier: MIT */
/*
 * Chrome trace JSON, second pass: records come thread by thread in order of time and become zones.
 *
 * A stack says what is open. A pair (B, E) ends with its E; a complete zone (X) by itself, before
 * anything that begins at its end. An E looks at pairs only. A zone of our own export may say how
 * deep it lies: at one time several zones can end and begin, and time alone would not tell.
 *
 * Stored zones nest, those of a file need not: one that outlasts the zone in which it began goes,
 * as it is and flagged, to the first lane in which it fits. The first lane is the thread's track,
 * each other one a track of its own with the same name and tid: there its depth counts anew. So a
 * zone's end must be known when it begins. Where a thread has both pairs and complete zones, the
 * ends of its pairs are found in a pass of their own before and kept in an unlinked file that is
 * mapped, 8 bytes a pair.
 *
 * Lanes hold what they must in order of time: an end is written when the next event of its lane
 * comes. At one time X's come longest first, in the places that X's have in the file; of more than
 * TIE_MAX records at one time, each TIE_MAX by themselves.
 */
#include "import_chrome_session.h"

#include "chunk.h"
#include "history.h"
#include "shm/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_MAX 4096u /* zones open at once on a thread, in all lanes */
#define LANES_MAX 64u
#define TIE_MAX	  65536u
#define NO_LANE	  UINT32_MAX

/* An open zone. */
struct open_zone {
	int64_t end; /* INT64_MAX: not known */
	bool pair, closed;
	uint32_t lane, depth;
	uint32_t name; /* string */
	uint64_t event, byte;
};

/* What a lane has open: pairs end when they are told to, others at their end. */
struct lane_zone {
	int64_t end;
	uint32_t depth; /* in the stack */
	bool pair;
};
struct lane {
	struct import_lane *out;
	VEC(struct lane_zone) open;
};

struct zones {
	struct chrome *c;
	struct import_writer *w;
	struct chrome_session *session;
	uint32_t thread;
	VEC(struct open_zone) stack;
	uint64_t too_deep; /* pairs that were refused and are still open */
	struct lane lanes[LANES_MAX];
	uint32_t lane_count;
	VEC(struct import_record) tie;	  /* records of one time */
	VEC(struct import_record) sorted; /* X's of it */
	size_t hint;

	/* The ends of pairs, by their number among the pairs of threads with both. */
	int ends_fd;
	int64_t *ends;
	size_t ends_bytes;
	uint64_t pair;
};

static int64_t relative(const struct zones *z, int64_t t)
{
	return t - z->session->base;
}

static bool is_mixed(const struct chrome *c, uint32_t thread)
{
	return c->threads.at[thread].begins && c->threads.at[thread].completes;
}

/* ---- Lanes --------------------------------------------------------------------------------- */

/* Ends what has ended in a lane before something comes at t at that depth (UINT32_MAX: deeper than
 * any). tied: of what ends at t itself, only what is as deep. */
static int lane_advance(struct lane *lane, int64_t t, uint32_t depth, bool tied)
{
	int r = 0;

	while (lane->open.count > 0 && r == 0) {
		const struct lane_zone *top = &lane->open.at[lane->open.count - 1];

		if (top->pair || top->end > t || (top->end == t && tied && top->depth < depth))
			break;
		r = import_end(lane->out, top->end);
		lane->open.count--;
	}
	return r;
}

static int open_lane(struct zones *z)
{
	uint32_t track = 0;
	int r = chrome_session_lane(z->session, z->thread, z->lane_count, &track);

	if (r == 0)
		r = import_lane_new(z->w, track, 0, &z->lanes[z->lane_count].out);
	if (r == 0)
		z->lane_count++;
	return r;
}

/* The lane in which a zone from t to end nests; NO_LANE: there is none. */
static int find_lane(struct zones *z, int64_t t, int64_t end, uint32_t depth, bool tied,
		     uint32_t *ret_lane)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < LANES_MAX && r == 0; i++) {
		struct lane *lane = &z->lanes[i];

		if (i == z->lane_count)
			r = open_lane(z);
		if (r == 0)
			r = lane_advance(lane, t, depth, tied);
		if (r == 0 && lane->open.count < CHUNK_DEPTH_MAX &&
		    (lane->open.count == 0 || lane->open.at[lane->open.count - 1].end >= end)) {
			*ret_lane = i;
			return 0;
		}
	}
	*ret_lane = NO_LANE;
	return r;
}

/* Ends the lane's innermost pair at t. */
static int lane_close(struct lane *lane, int64_t t, bool truncated)
{
	int r = lane_advance(lane, t, UINT32_MAX, false);

	if (r < 0 || lane->open.count == 0)
		return r;
	lane->open.count--;
	return truncated ? import_truncate(lane->out, t, 1) : import_end(lane->out, t);
}

/* ---- The stack ----------------------------------------------------------------------------- */

/* Drops what has ended when something comes at t. depth: of our own export's zones, else 0. */
static void drop_ended(struct zones *z, int64_t t, bool tied, uint32_t depth)
{
	while (z->stack.count > 0) {
		const struct open_zone *top = &z->stack.at[z->stack.count - 1];

		if (top->pair ? !top->closed
			      : top->end > t || (tied && top->end == t && top->depth < depth))
			break;
		z->stack.count--;
	}
}

static struct open_zone *top_of(struct zones *z)
{
	return z->stack.count > 0 ? &z->stack.at[z->stack.count - 1] : NULL;
}

static int write_note(struct zones *z, struct import_lane *out, int64_t t,
		      const struct import_record *record, uint32_t flags)
{
	struct chrome_note note = {0};
	const void *data = NULL;
	size_t bytes;
	int r = 0;

	if (record->extra) {
		r = import_extras_get(&z->c->extras, record->extra, &data, &bytes);
		if (r < 0)
			return r;
		memcpy(&note, data, sizeof(note));
	}
	if (note.has_text)
		r = import_text(out, t, (const char *)data + sizeof(note), note.text_bytes);
	if (r == 0 && note.has_value)
		r = note.value_is_double ? import_value_double(out, t, note.value.d)
					 : import_value_int(out, t, note.value.i);
	if (r == 0 && (flags | note.flags))
		r = import_flags(out, t, flags | note.flags);
	return r;
}

static const char *name_of(const struct zones *z, uint32_t marker)
{
	return import_strings_at(&z->c->strings, z->c->markers.at[marker - 1].name);
}

static void too_deep(struct zones *z, const struct import_record *record)
{
	import_report_add(z->c->report, "too_deep", record->event, record->byte,
			  "a zone in too many others (%.80s)", name_of(z, record->marker));
}

/* A zone begins. end: INT64_MAX: not known. */
static int begin_zone(struct zones *z, const struct import_record *record, int64_t end)
{
	bool pair = record->kind == CHROME_BEGIN, tied = record->flags & CHROME_TIED;
	struct open_zone zone = {.end = end,
				 .pair = pair,
				 .name = z->c->markers.at[record->marker - 1].name,
				 .event = record->event,
				 .byte = record->byte};
	int64_t t = relative(z, record->ts);
	const struct open_zone *top;
	uint32_t flags = 0;
	int r;

	drop_ended(z, record->ts, tied, record->depth);
	top = top_of(z);
	zone.depth = top ? top->depth + 1 : 0;
	if (top && top->end < end) {
		flags |= ZONE_OVERLAP;
		import_report_add(z->c->report, "overlap", record->event, record->byte,
				  "a zone that outlasts the one in which it begins (%.80s)",
				  name_of(z, record->marker));
	}
	if (z->stack.count >= STACK_MAX) {
		too_deep(z, record);
		z->too_deep += pair;
		return 0;
	}
	r = find_lane(z, t, end == INT64_MAX ? end : relative(z, end), zone.depth, tied,
		      &zone.lane);
	if (r == 0 && zone.lane == NO_LANE)
		too_deep(z, record);
	if (r == 0 && zone.lane != NO_LANE) {
		struct lane *lane = &z->lanes[zone.lane];
		struct lane_zone open = {end == INT64_MAX ? end : relative(z, end), zone.depth,
					 pair};

		r = VEC_PUSH(&lane->open, open);
		if (r == 0)
			r = import_begin(lane->out, t,
					 chrome_session_marker(z->session, record->marker));
		if (r == 0)
			r = write_note(z, lane->out, t, record, flags);
		chrome_session_count(z->session, record->ts, &z->hint);
		z->c->report->zones++;
	}
	return r < 0 ? r : VEC_PUSH(&z->stack, zone);
}

static int close_pair(struct zones *z, struct open_zone *zone, int64_t t, bool truncated)
{
	zone->closed = true;
	return zone->lane == NO_LANE ? 0
				     : lane_close(&z->lanes[zone->lane], relative(z, t), truncated);
}

static void stray_end(struct zones *z, const struct import_record *record)
{
	import_report_add(z->c->report, "stray_end", record->event, record->byte,
			  "an end of nothing that is open");
}

/* The pair that an end closes: the innermost, or the innermost of its name. -1: none. */
static long find_pair(const struct zones *z, uint32_t name)
{
	long i;

	for (i = (long)z->stack.count - 1; i >= 0; i--) {
		const struct open_zone *zone = &z->stack.at[i];

		if (zone->pair && !zone->closed && (!name || zone->name == name))
			return i;
	}
	return -1;
}

static int end_zone(struct zones *z, const struct import_record *record)
{
	uint32_t name = *import_strings_at(&z->c->strings, record->marker) ? record->marker : 0;
	long target, i;
	int r = 0;

	if (z->too_deep > 0) {
		z->too_deep--;
		return 0;
	}
	drop_ended(z, record->ts, false, 0);
	target = find_pair(z, name);
	if (target < 0) {
		stray_end(z, record);
		return 0;
	}
	for (i = (long)z->stack.count - 1; i > target && r == 0; i--) {
		struct open_zone *zone = &z->stack.at[i];

		if (!zone->pair || zone->closed)
			continue;
		import_report_add(z->c->report, "truncated", record->event, record->byte,
				  "an end that has others open inside (%.80s)",
				  import_strings_at(&z->c->strings, record->marker));
		r = close_pair(z, zone, record->ts, true);
	}
	return r < 0 ? r : close_pair(z, &z->stack.at[target], record->ts, false);
}

/* Never closed: they end with the trace. */
static int close_unclosed(struct zones *z)
{
	int64_t last = relative(z, z->c->last);
	uint32_t i;
	size_t k;
	int r = 0;

	for (k = 0; k < z->stack.count; k++) {
		const struct open_zone *zone = &z->stack.at[k];

		if (zone->pair && !zone->closed)
			import_report_add(z->c->report, "unclosed", zone->event, zone->byte,
					  "a zone that has no end (%.80s)",
					  import_strings_at(&z->c->strings, zone->name));
	}
	for (i = 0; i < z->lane_count && r == 0; i++) {
		struct lane *lane = &z->lanes[i];

		r = lane_advance(lane, INT64_MAX, UINT32_MAX, false);
		while (lane->open.count > 0 && r == 0) {
			r = import_flags(lane->out, last, ZONE_UNCLOSED);
			if (r == 0)
				r = lane_close(lane, last, false);
			if (r == 0)
				r = lane_advance(lane, INT64_MAX, UINT32_MAX, false);
		}
	}
	return r;
}

/* ---- The ends of pairs ---------------------------------------------------------------------- */

static int map_ends(struct zones *z)
{
	size_t bytes = MAX(z->c->begins, (uint64_t)1) * sizeof(*z->ends);
	void *map;

	z->ends_fd = util_temporary(z->c->order->directory);
	if (z->ends_fd < 0)
		return z->ends_fd;
	/* allocated, so that a full disk is an error here and not a signal later */
	if (posix_fallocate(z->ends_fd, 0, (off_t)bytes) != 0)
		return -ENOSPC;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, z->ends_fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	z->ends = map;
	z->ends_bytes = bytes;
	return 0;
}

/* A pair that is open while ends are looked for. */
struct begun {
	uint32_t name;
	uint64_t pair;
};

static void find_end(struct zones *z, struct begun *open, size_t *count, uint64_t *too_many,
		     const struct import_record *record)
{
	uint32_t name = *import_strings_at(&z->c->strings, record->marker) ? record->marker : 0;
	size_t i = *count;

	if (*too_many > 0) {
		--*too_many;
		return;
	}
	while (i > 0 && name && open[i - 1].name != name)
		i--;
	if (i == 0)
		return;
	while (*count >= i)
		z->ends[open[--*count].pair] = record->ts;
}

/* Goes over all records and notes the end of each pair of the threads that have both. */
static int find_ends(struct zones *z)
{
	struct begun *open = malloc(STACK_MAX * sizeof(*open));
	const struct import_record *record;
	uint64_t pair = 0, too_many = 0;
	uint32_t thread = UINT32_MAX;
	size_t count = 0;
	int r = open ? map_ends(z) : -ENOMEM;

	while (r == 0 && (r = import_sort_next(&z->c->sort, &record)) == 1) {
		r = 0;
		if (record->thread != thread)
			count = too_many = 0;
		thread = record->thread;
		if (thread >= z->c->threads.count || !is_mixed(z->c, thread))
			continue;
		if (record->kind == CHROME_END) {
			find_end(z, open, &count, &too_many, record);
		} else if (record->kind == CHROME_BEGIN) {
			z->ends[pair] = z->c->last;
			if (count < STACK_MAX)
				open[count++] = (struct begun){
					z->c->markers.at[record->marker - 1].name, pair};
			else
				too_many++;
			pair++;
		}
	}
	free(open);
	return r < 0 ? r : import_sort_rewind(&z->c->sort);
}

/* ---- Records ------------------------------------------------------------------------------- */

static int put_point(struct zones *z, const struct import_record *record)
{
	struct import_lane *out;
	int64_t t = relative(z, record->ts);
	uint32_t marker = record->marker ? chrome_session_marker(z->session, record->marker) : 0;
	const void *text;
	size_t bytes;
	int r = z->lane_count > 0 ? 0 : open_lane(z);

	if (r == 0)
		r = lane_advance(&z->lanes[0], t, UINT32_MAX, true);
	if (r < 0)
		return r;
	out = z->lanes[0].out;
	chrome_session_count(z->session, record->ts, &z->hint);
	if (record->kind == CHROME_INSTANT)
		return import_instant(out, t, marker);
	if (record->kind == CHROME_COUNTER)
		return record->flags & CHROME_DOUBLE
			       ? import_set_double(out, t, marker, record->value.d)
			       : import_set_int(out, t, marker, record->value.i);
	r = import_extras_get(&z->c->extras, record->extra, &text, &bytes);
	if (r < 0)
		return r;
	return import_message(out, t, marker, (uint32_t)record->value.i, text, bytes);
}

static int put_record(struct zones *z, const struct import_record *record)
{
	bool mixed = is_mixed(z->c, record->thread);

	switch (record->kind) {
	case CHROME_BEGIN:
		return begin_zone(z, record, mixed ? z->ends[z->pair++] : INT64_MAX);
	case CHROME_COMPLETE:
		return begin_zone(z, record, record->ts + record->value.dur);
	case CHROME_END:
		return end_zone(z, record);
	case CHROME_GPU:
		return chrome_session_span(z->session, record);
	default:
		return put_point(z, record);
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct import_record *x = a, *y = b;

	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	if (x->value.dur != y->value.dur)
		return x->value.dur > y->value.dur ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Puts the X's of one time in order, into the places that they have among the others. */
static int sort_tie(struct zones *z)
{
	size_t i, k = 0;

	z->sorted.count = 0;
	for (i = 0; i < z->tie.count; i++)
		if (z->tie.at[i].kind == CHROME_COMPLETE && VEC_PUSH(&z->sorted, z->tie.at[i]) < 0)
			return -ENOMEM;
	if (z->sorted.count < 2)
		return 0;
	qsort(z->sorted.at, z->sorted.count, sizeof(*z->sorted.at), longest_first);
	for (i = 0; i < z->tie.count; i++)
		if (z->tie.at[i].kind == CHROME_COMPLETE)
			z->tie.at[i] = z->sorted.at[k++];
	return 0;
}

static int flush_tie(struct zones *z)
{
	size_t i;
	int r = z->tie.count > 1 ? sort_tie(z) : 0;

	for (i = 0; i < z->tie.count && r == 0; i++)
		r = put_record(z, &z->tie.at[i]);
	z->tie.count = 0;
	return r;
}

static void drop_lanes(struct zones *z)
{
	uint32_t i;

	for (i = 0; i < z->lane_count; i++) {
		import_lane_free(z->lanes[i].out);
		VEC_FREE(&z->lanes[i].open);
		z->lanes[i].out = NULL;
	}
	z->lane_count = 0;
	z->stack.count = 0;
	z->too_deep = 0;
	z->hint = 0;
}

static int end_thread(struct zones *z)
{
	uint32_t i;
	int r = flush_tie(z);

	if (r == 0)
		r = close_unclosed(z);
	for (i = 0; i < z->lane_count && r == 0; i++)
		r = import_lane_finish(z->lanes[i].out);
	drop_lanes(z);
	return r;
}

static int next_record(struct zones *z, const struct import_record *record)
{
	const struct import_record *last = z->tie.count > 0 ? &z->tie.at[z->tie.count - 1] : NULL;
	int r = 0;

	if (record->thread != z->thread) {
		r = z->thread != UINT32_MAX ? end_thread(z) : 0;
		z->thread = record->thread;
	} else if (last && (last->ts != record->ts || z->tie.count == TIE_MAX)) {
		r = flush_tie(z);
	}
	if (r < 0)
		return r;
	return VEC_PUSH(&z->tie, *record);
}

static int run(struct zones *z)
{
	const struct import_record *record;
	size_t i;
	bool mixed = false;
	int r = import_sort_rewind(&z->c->sort);

	for (i = 0; i < z->c->threads.count; i++)
		mixed |= is_mixed(z->c, (uint32_t)i);
	if (r == 0 && mixed)
		r = find_ends(z);
	while (r == 0 && (r = import_sort_next(&z->c->sort, &record)) == 1) {
		if (record->thread >= z->c->threads.count)
			r = chrome_session_value(z->session, record);
		else
			r = next_record(z, record);
	}
	if (r == 0 && z->thread != UINT32_MAX)
		r = end_thread(z);
	return r;
}

int chrome_zones(struct chrome *c, struct import_writer *w, struct chrome_session *session)
{
	struct zones *z = calloc(1, sizeof(*z));
	int r;

	if (!z)
		return -ENOMEM;
	z->c = c;
	z->w = w;
	z->session = session;
	z->thread = UINT32_MAX;
	z->ends_fd = -1;
	r = run(z);
	drop_lanes(z);
	VEC_FREE(&z->stack);
	VEC_FREE(&z->tie);
	VEC_FREE(&z->sorted);
	if (z->ends)
		munmap(z->ends, z->ends_bytes);
	if (z->ends_fd >= 0)
		close(z->ends_fd);
	free(z);
	return r;
}
