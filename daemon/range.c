/* SPDX-License-Identifier: MIT */
/*
 * What a range is: frames of a stream, and all that is needed to read the events between the begin
 * of the first and the end of the last of them. It is a copy of rows: nothing is held open. Events
 * are evicted by time, so those of the first frames may be gone while their rows are still there:
 * events_t0 says from where on all are here.
 */
#include "range.h"

#include "history_impl.h"
#include "rows.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

void range_close(struct range *range)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		free(range->tracks.at[i].name);
	for (i = 0; i < range->markers.count; i++)
		marker_row_deinit(&range->markers.at[i]);
	VEC_FREE(&range->tracks);
	VEC_FREE(&range->markers);
	history_frames_deinit(&range->frames);
	session_row_deinit(&range->row);
	memset(range, 0, sizeof(*range));
}

static int read_session(struct history *h, uint64_t session, struct range *range)
{
	struct history_session s = {0};
	int r = history_session(h, session, HISTORY_ANY_UID, &s);

	if (r < 0)
		return r;
	range->row = s.row;
	memset(&s.row, 0, sizeof(s.row));
	history_session_deinit(&s);
	range->session = range->row.id;
	range->rate.mult = range->row.clock_mult;
	range->rate.shift = range->row.clock_shift;
	range->rate.hz = range->row.clock_hz;
	return range->rate.mult == 0 || range->rate.shift > 63 ? -EBADMSG : 0;
}

static int read_frames(struct history *h, const struct range_query *query, int64_t evicted_before,
		       struct range *range)
{
	int64_t key[] = {(int64_t)range->session, range->stream}, oldest = 0, newest = 0;
	uint64_t from = query->from, to = query->to;
	int r = history_ask_int(h, HISTORY_FIRST, key, 2, &oldest);

	if (r >= 0)
		r = history_ask_int(h, HISTORY_LAST, key, 2, &newest);
	range->frames.first_row = (uint64_t)oldest;
	range->frames.last_row = (uint64_t)newest;
	if (query->last > 0) {
		to = (uint64_t)newest;
		from = to - MIN(to, query->last) + 1;
	}
	if (r >= 0)
		r = history_read_frames(h, range->session, range->stream, from, to, evicted_before,
					&range->frames);
	if (r == 0 && range->frames.frames.count == 0)
		r = -ENOENT;
	return r;
}

/* The bounds, from the rows. */
static void set_bounds(struct range *range, int64_t evicted_before)
{
	const struct history_frame *f = range->frames.frames.at;
	size_t count = range->frames.frames.count;

	range->first = f[0].row.frame;
	range->last = f[count - 1].row.frame;
	range->t0 = f[0].row.t0;
	range->t1 = f[count - 1].row.t1;
	range->begin_ns = f[0].row.begin_ns;
	range->end_ns = f[count - 1].row.end_ns;
	while (range->kept_from < count && f[range->kept_from].row.t0 < evicted_before)
		range->kept_from++;
	range->evicted = range->kept_from > 0;
	range->events_t0 = range->kept_from < count ? f[range->kept_from].row.t0 : range->t1;
}

static bool has_track(const struct range *range, int64_t track)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].track == track)
			return true;
	return false;
}

/* Tracks that have events but no row are threads without a name. */
static int add_unknown_tracks(struct history *h, struct range *range)
{
	int64_t key[] = {(int64_t)range->session, 0};
	int r;

	while ((r = history_ask_int(h, HISTORY_NEXT_TRACK, key, 2, &key[1])) == 1) {
		struct track_row track = {.session = range->session,
					  .track = (uint32_t)key[1],
					  .end_ticks = INT64_MAX};

		if (!has_track(range, key[1]) && VEC_PUSH(&range->tracks, track) < 0)
			return -ENOMEM;
	}
	return r;
}

static void put_first(struct range *range, int64_t track)
{
	struct track_row *at = range->tracks.at, moved;
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (at[i].track == track)
			break;
	if (i == 0 || i == range->tracks.count)
		return;
	moved = at[i];
	memmove(at + 1, at, i * sizeof(*at));
	at[0] = moved;
}

static int read_tracks(struct history *h, struct range *range)
{
	int64_t key[] = {(int64_t)range->session, 0}, marking = 0;
	sqlite3_stmt *stmt = history_ask(h, HISTORY_TRACKS, key, 1);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&range->tracks, 1) < 0)
			return -ENOMEM;
		rows_track(&row, &range->tracks.at[range->tracks.count++]);
		if (row.error < 0)
			return row.error;
	}
	if (r == 0)
		r = add_unknown_tracks(h, range);
	if (r == 0)
		r = history_ask_int(h, HISTORY_MARKING, key, 2, &marking);
	if (r == 1)
		put_first(range, marking);
	return MIN(r, 0);
}

/* Makes markers.at[id] be there; what is skipped has no name. */
static int reserve_marker(struct range *range, uint32_t id)
{
	size_t have = range->markers.count;

	if (id < have)
		return 0;
	if (VEC_RESERVE(&range->markers, id + 1 - have) < 0)
		return -ENOMEM;
	memset(range->markers.at + have, 0, (id + 1 - have) * sizeof(*range->markers.at));
	range->markers.count = id + 1;
	return 0;
}

/* An id that no session gives stays unknown: a file may say anything. */
static int read_markers(struct history *h, struct range *range)
{
	int64_t id = (int64_t)range->session;
	sqlite3_stmt *stmt = history_ask(h, HISTORY_MARKERS, &id, 1);
	struct marker_row marker;
	int r;

	while ((r = rows_marker_next(stmt, &marker)) == 1) {
		bool known = marker.marker <= MARKER_ID_MAX;

		r = known ? reserve_marker(range, marker.marker) : 0;
		if (r < 0 || !known)
			marker_row_deinit(&marker);
		else
			range->markers.at[marker.marker] = marker;
		if (r < 0)
			return r;
	}
	return r;
}

static int read_range(struct history *h, const struct range_query *query, struct range *range)
{
	int64_t evicted_before;
	int r = history_find_stream(h, range->session, query->stream, &range->stream,
				    &evicted_before);

	if (r == 0)
		r = read_frames(h, query, evicted_before, range);
	if (r < 0)
		return r;
	set_bounds(range, evicted_before);
	r = read_tracks(h, range);
	return r < 0 ? r : read_markers(h, range);
}

int range_open(struct history *h, uint64_t session, const struct range_query *query,
	       struct range *ret_range)
{
	struct range range = {0};
	int r = read_session(h, session, &range);

	if (r == 0)
		r = history_begin(h);
	if (r == 0)
		r = history_end(h, read_range(h, query, &range));
	if (r < 0) {
		range_close(&range);
		return r == -EBADMSG ? -EIO : r;
	}
	*ret_range = range;
	return 0;
}

int64_t range_ns(const struct range *range, int64_t ticks)
{
	return fprof_clock_ns(&range->rate, 0, (uint64_t)ticks);
}

/* The first tick of [t0, t1] that is not before ns. */
static int64_t ticks_at(const struct range *range, int64_t ns, int64_t t0, int64_t t1)
{
	while (t0 < t1) {
		int64_t middle = t0 + (t1 - t0) / 2;

		if (range_ns(range, middle) < ns)
			t0 = middle + 1;
		else
			t1 = middle;
	}
	return t0;
}

int range_clip(struct range *range, int64_t begin_ns, int64_t end_ns)
{
	size_t count = range->frames.frames.count;
	struct frame_row *first = &range->frames.frames.at[0].row;
	struct frame_row *last = &range->frames.frames.at[count - 1].row;

	if (begin_ns < first->begin_ns || begin_ns >= first->end_ns || end_ns <= begin_ns ||
	    end_ns <= last->begin_ns || end_ns > last->end_ns)
		return -ERANGE;
	last->t1 = ticks_at(range, end_ns, last->t0, last->t1);
	first->t0 = ticks_at(range, begin_ns, first->t0, first->t1);
	range->t0 = first->t0;
	range->t1 = last->t1;
	range->begin_ns = first->begin_ns = range_ns(range, first->t0);
	range->end_ns = last->end_ns = range_ns(range, last->t1);
	range->events_t0 = range->kept_from < count
				   ? range->frames.frames.at[range->kept_from].row.t0
				   : range->t1;
	range->clipped = true;
	return 0;
}

const struct marker_row *range_marker(const struct range *range, uint32_t marker)
{
	if (marker >= range->markers.count || !range->markers.at[marker].name)
		return NULL;
	return &range->markers.at[marker];
}

const char *range_name(const struct range *range, uint32_t marker, char *buf, size_t size)
{
	const struct marker_row *row = range_marker(range, marker);

	if (row)
		return row->name;
	snprintf(buf, size, "marker #%u", marker);
	return buf;
}

int range_first_named(const struct range *range, uint32_t **ret_first)
{
	size_t count = range->markers.count, size = 64, id, at;
	_cleanup_free_ uint32_t *table = NULL;
	uint64_t seed = util_seed();
	uint32_t *first;

	while (size < 2 * count)
		size *= 2;
	table = calloc(size, sizeof(*table));
	first = calloc(count + 1, sizeof(*first));
	if (!table || !first) {
		free(first);
		return -ENOMEM;
	}
	for (id = 0; id < count; id++) {
		const char *name = range->markers.at[id].name;

		first[id] = (uint32_t)id;
		if (!name)
			continue;
		at = XXH3_64bits_withSeed(name, strlen(name), seed) & (size - 1);
		while (table[at] && strcmp(range->markers.at[table[at] - 1].name, name) != 0)
			at = (at + 1) & (size - 1);
		if (!table[at])
			table[at] = (uint32_t)id + 1;
		first[id] = table[at] - 1;
	}
	*ret_first = first;
	return 0;
}

static bool is_in(const struct history_frame *frame, int64_t t)
{
	return frame->row.t0 <= t && t < frame->row.t1;
}

size_t range_frame_at(const struct range *range, int64_t t, size_t hint)
{
	const struct history_frame *f = range->frames.frames.at;
	size_t count = range->frames.frames.count, at;

	if (hint < count && is_in(&f[hint], t))
		return hint;
	if (hint < count && hint + 1 < count && is_in(&f[hint + 1], t))
		return hint + 1;
	at = history_frames_after(&range->frames, t);
	return at < count && is_in(&f[at], t) ? at : SIZE_MAX;
}

size_t range_frame_numbered(const struct range *range, uint64_t frame)
{
	const struct history_frame *f = range->frames.frames.at;
	size_t low = 0, high = range->frames.frames.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f[middle].row.frame < frame)
			low = middle + 1;
		else
			high = middle;
	}
	return low < range->frames.frames.count && f[low].row.frame == frame ? low : SIZE_MAX;
}

uint32_t *range_named(const struct range *range, const char *const *names, size_t count,
		      uint32_t *ret_found)
{
	uint32_t *named = calloc(range->markers.count + 1, sizeof(*named));
	size_t i, k;

	*ret_found = 0;
	for (i = 0; named && i < range->markers.count; i++) {
		const struct marker_row *row = &range->markers.at[i];

		for (k = 0; row->name && row->kind != FPROF_MARKER_COUNTER && k < count; k++)
			if (names[k] && strcmp(row->name, names[k]) == 0)
				named[i] |= UINT32_C(1) << k;
		*ret_found |= named[i];
	}
	return named;
}
