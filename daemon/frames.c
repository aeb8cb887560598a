/* SPDX-License-Identifier: MIT */
/*
 * A stream is a queue of frames that are not closed yet: each ends where the next begins, the last
 * one is open. Marks are obeyed in the order in which they are read, which is the order of the
 * marking thread; the owner of this machine reads that thread's ring first and no other ring beyond
 * it, so that boundaries are known before the events that they divide.
 */
#include "frames.h"

#include "live.h"
#include "waits.h"

#include <errno.h>
#include <string.h>

/* The waits of such a frame are not known. */
#define NOT_ALL_SEEN   ((uint32_t)FRAME_MARKS_LOST | (uint32_t)FRAME_PAUSED)
#define STREAMS_MAX    256u
#define GAPS_MAX       4096u
#define MARKS_LOST_MAX (UINT64_C(1) << 32) /* a jump beyond is nonsense, not a loss */

__extension__ typedef unsigned __int128 u128;

int64_t frames_ns(const struct live *s, int64_t t)
{
	return fprof_clock_ns(&s->rate, s->start, s->start + (uint64_t)t);
}

/* Frames move as they are, cells included: those of closed ones are used again. */
static int stream_grow(struct stream *st)
{
	uint32_t capacity = st->capacity ? st->capacity * 2 : 8, i;
	struct frame *frames = calloc(capacity, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (i = 0; i < st->capacity; i++)
		frames[i] = *stream_frame(st, i);
	free(st->frames);
	st->frames = frames;
	st->capacity = capacity;
	st->first = 0;
	return 0;
}

/* Begins a frame at t. */
static int stream_begin(struct stream *st, uint64_t number, int64_t t)
{
	struct frame *f;
	int r;

	if (st->count == st->capacity) {
		r = stream_grow(st);
		if (r < 0)
			return r;
	}
	f = stream_frame(st, st->count++);
	f->number = number;
	f->t0 = t;
	f->t1 = TIME_OPEN;
	f->engine_id = -1;
	f->events = 0;
	f->flags = number == 1 ? FRAME_STARTUP : 0;
	f->cells.count = 0;
	return 0;
}

static int stream_new(struct live *s, uint32_t id, uint32_t marker, uint64_t number, int64_t t,
		      struct stream **ret_stream)
{
	struct stream *st;
	int r;

	if (VEC_RESERVE(&s->frames.streams, 1) < 0)
		return -ENOMEM;
	st = calloc(1, sizeof(*st));
	if (!st)
		return -ENOMEM;
	st->id = id;
	st->marker = marker;
	r = stream_begin(st, number, t);
	if (r < 0) {
		free(st);
		return r;
	}
	st->closed_total = number - 1;
	s->frames.streams.at[s->frames.streams.count++] = st;
	*ret_stream = st;
	return 0;
}

int frames_init(struct live *s)
{
	struct stream *main_stream;

	s->frames.step_from = INT64_MAX;
	s->frames.step_to = INT64_MIN;
	return stream_new(s, 0, 0, 1, 0, &main_stream);
}

static void stream_free(struct stream *st)
{
	uint32_t i;

	for (i = 0; i < st->capacity; i++)
		VEC_FREE(&st->frames[i].cells);
	VEC_FREE(&st->gaps);
	free(st->frames);
	free(st);
}

void frames_deinit(struct frames *f)
{
	size_t i;

	for (i = 0; i < f->streams.count; i++)
		stream_free(f->streams.at[i]);
	VEC_FREE(&f->streams);
	loading_deinit(&f->loading);
}

/* Index of the frame that t falls into; t is not before the first one. */
static uint32_t find_index(const struct stream *st, int64_t t)
{
	uint32_t low = 0, high = st->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (stream_frame(st, middle)->t0 <= t)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

struct frame *stream_find(const struct stream *st, int64_t t)
{
	return t < stream_closed(st) ? NULL : stream_frame(st, find_index(st, t));
}

static int64_t stream_cut(const struct stream *st, int64_t t)
{
	if (t < stream_closed(st))
		return stream_closed(st);
	return stream_frame(st, find_index(st, t))->t1;
}

int64_t frames_cut(const struct live *s, const struct track *track, int64_t t)
{
	int64_t cut = stream_cut(s->frames.streams.at[0], t), own;
	size_t i;

	if (track->streams == 0)
		return cut;
	for (i = 1; i < s->frames.streams.count; i++) {
		if (s->frames.streams.at[i]->track != track)
			continue;
		own = stream_cut(s->frames.streams.at[i], t);
		cut = MIN(cut, own);
	}
	return cut;
}

static void stream_count(const struct stream *st, int64_t t, uint32_t leads)
{
	struct frame *f = stream_find(st, t);

	if (f)
		f->events += leads;
}

void frames_count(struct live *s, const struct track *track, int64_t t, uint32_t leads)
{
	size_t i;

	stream_count(s->frames.streams.at[0], t, leads);
	for (i = 1; track->streams > 0 && i < s->frames.streams.count; i++)
		if (s->frames.streams.at[i]->track == track)
			stream_count(s->frames.streams.at[i], t, leads);
}

static int put_stream_row(struct live *s, const struct stream *st)
{
	const struct marker *m = marker_table_at(&s->markers, st->marker);
	struct stream_row row = {.session = s->id,
				 .stream = st->id,
				 .track = st->track->id,
				 .tid = st->track->kind == TRACK_THREAD ? st->track->tid : 0};

	row.name = strdup(m ? m->strings : "main");
	if (!row.name || VEC_PUSH(&s->batch->streams, row) < 0) {
		free(row.name);
		return -ENOMEM;
	}
	return 0;
}

static int stream_give(struct live *s, struct stream *st, struct track *track)
{
	if (st->track == track)
		return 0;
	if (st->track)
		st->track->streams--;
	st->track = track;
	track->streams++;
	return put_stream_row(s, st);
}

/* The stream of a mark, begun where need be; NULL: *ret_verdict says why there is none. */
static int stream_of(struct live *s, const struct mark *mark, struct stream **ret_stream,
		     enum mark_verdict *ret_verdict)
{
	size_t i;
	int r;

	*ret_stream = NULL;
	*ret_verdict = MARK_FOREIGN;
	for (i = 0; i < s->frames.streams.count; i++)
		if (s->frames.streams.at[i]->marker == mark->marker) {
			*ret_stream = s->frames.streams.at[i];
			return 0;
		}
	if (mark->flags & FPROF_MARK_FOREIGN)
		return 0;
	*ret_verdict = MARK_NO_ROOM;
	if (s->frames.streams.count >= STREAMS_MAX)
		return 0;
	r = stream_new(s, (uint32_t)s->frames.streams.count, mark->marker, 1, mark->track->begin,
		       ret_stream);
	if (r == 0)
		stream_frame(*ret_stream, 0)->events = mark->track->leads;
	return r;
}

static enum mark_verdict judge(const struct stream *st, const struct mark *mark)
{
	if (mark->origin == FPROF_ORIGIN_HOOK && (st->game || st->game_ahead))
		return MARK_HOOK;
	if (mark->flags & FPROF_MARK_FOREIGN)
		return MARK_FOREIGN;
	if (mark->origin == FPROF_ORIGIN_GAME && !st->game)
		return MARK_OBEYED;
	if (st->track && st->track != mark->track && st->track->end == TIME_OPEN)
		return MARK_FOREIGN;
	return MARK_OBEYED;
}

/* How many marks before this one never came. */
static uint64_t marks_lost(const struct stream *st, const struct mark *mark)
{
	uint64_t expected;

	if (st->origin == mark->origin && st->lane == mark->lane)
		expected = st->sequence + 1;
	else if (st->origin == 0 && st->closed_total == 0)
		expected = 1;
	else
		return 0;
	if (mark->sequence <= expected || mark->sequence - expected > MARKS_LOST_MAX)
		return 0;
	return mark->sequence - expected;
}

int frames_mark(struct live *s, const struct mark *mark, struct stream **ret_stream,
		enum mark_verdict *ret_verdict)
{
	struct stream *st;
	struct frame *f;
	uint64_t lost;
	int64_t t;
	int r;

	r = stream_of(s, mark, &st, ret_verdict);
	*ret_stream = st;
	if (r < 0 || !st)
		return r;
	*ret_verdict = judge(st, mark);
	if (*ret_verdict != MARK_OBEYED)
		return 0;
	r = stream_give(s, st, mark->track);
	if (r < 0)
		return r;
	f = stream_frame(st, st->count - 1);
	lost = marks_lost(st, mark);
	t = MAX(mark->t, f->t0);
	f->number += lost;
	if (lost > 0)
		f->flags |= FRAME_MARKS_LOST;
	if (mark->flags & FPROF_MARK_PAUSED)
		f->flags |= FRAME_PAUSED;
	f->engine_id = mark->engine_id;
	f->t1 = t;
	st->game = st->game || mark->origin == FPROF_ORIGIN_GAME;
	st->sequence = mark->sequence;
	st->origin = mark->origin;
	st->lane = mark->lane;
	st->ring = mark->ring;
	if (st->id == 0)
		s->gpu_frame_shift = (int64_t)(f->number - mark->sequence);
	return stream_begin(st, f->number + 1, t);
}

/* A gap list that is full loses no event: the newest gap is made longer. */
static int stream_gap(struct stream *st, const struct frames_gap *gap)
{
	struct frames_gap *last;

	if (st->gaps.count < GAPS_MAX)
		return VEC_PUSH(&st->gaps, *gap);
	last = &st->gaps.at[st->gaps.count - 1];
	last->t0 = MIN(last->t0, gap->t0);
	last->t1 = MAX(last->t1, gap->t1);
	last->events += gap->events;
	return 0;
}

int frames_gap(struct live *s, const struct track *track, int64_t t0, int64_t t1, uint64_t events)
{
	struct frames_gap gap = {t0, t1, events, 0};
	size_t i;
	int r;

	for (i = 0; i < s->frames.streams.count; i++) {
		struct stream *st = s->frames.streams.at[i];

		if (st->id > 0 && st->track != track)
			continue;
		r = stream_gap(st, &gap);
		if (r < 0)
			return r;
	}
	return 0;
}

/* How many events of the gap lie before t, spread evenly over its time. */
static uint64_t gap_before(const struct frames_gap *gap, int64_t t)
{
	if (t >= gap->t1)
		return gap->events;
	return (uint64_t)((u128)gap->events * (uint64_t)(t - gap->t0) /
			  (uint64_t)(gap->t1 - gap->t0));
}

/* The share of a frame that ends at t1 in what was lost; gaps that are shared out go. */
static bool take_gaps(struct stream *st, int64_t t1, uint64_t *ret_events)
{
	bool touched = false;
	size_t i, kept = 0;

	*ret_events = 0;
	for (i = 0; i < st->gaps.count; i++) {
		struct frames_gap *gap = &st->gaps.at[i];

		if (gap->t0 < t1) {
			uint64_t before = gap_before(gap, t1);

			*ret_events += before - gap->shared;
			gap->shared = before;
			touched = true;
		}
		if (gap->t1 > t1 || gap->t0 >= t1)
			st->gaps.at[kept++] = *gap;
	}
	st->gaps.count = kept;
	return touched;
}

static int64_t wait_or_unknown(const struct live *s, const int64_t *ns, uint32_t kind, bool known)
{
	return known && s->markers.kinds_seen & 1u << kind ? ns[kind] : NS_UNKNOWN;
}

static void fill_waits(const struct live *s, const struct stream *st, const struct frame *f,
		       struct frame_row *row)
{
	int64_t ns[WAIT_KINDS];
	bool known = waits_partition(s, st, f, ns) && !(f->flags & NOT_ALL_SEEN);

	row->cpu_ns = known ? ns[0] : NS_UNKNOWN;
	row->wait_gpu_ns = wait_or_unknown(s, ns, FPROF_MARKER_WAIT_GPU, known);
	row->wait_present_ns = wait_or_unknown(s, ns, FPROF_MARKER_WAIT_PRESENT, known);
	row->wait_cap_ns = wait_or_unknown(s, ns, FPROF_MARKER_WAIT_CAP, known);
}

static void fill_flags(struct live *s, struct stream *st, const struct frame *f,
		       struct frame_row *row)
{
	row->flags = f->flags;
	if (take_gaps(st, f->t1, &row->lost_events))
		row->flags |= FRAME_LOST_EVENTS | FRAME_COUNTERS_INCOMPLETE;
	if (s->frames.step_from < f->t1 && s->frames.step_to >= f->t0)
		row->flags |= FRAME_CLOCK_STEP;
	if (loading_within(&s->frames.loading, f->t0, f->t1))
		row->flags |= FRAME_LOADING;
	if (s->clock_kind == FPROF_CLOCK_MONOTONIC)
		row->flags |= FRAME_CLOCK_DOUBTFUL;
	if (st->id == 0 && gpu_frame_pending(s->gpu, f->number))
		row->flags |= FRAME_GPU_PENDING;
}

static int close_first(struct live *s, struct stream *st)
{
	struct frame *f = stream_frame(st, 0);
	struct frame_row row = {
		.session = s->id,
		.stream = st->id,
		.frame = f->number,
		.engine_id = f->engine_id,
		.t0 = f->t0,
		.t1 = f->t1,
		.begin_ns = frames_ns(s, f->t0),
		.end_ns = frames_ns(s, f->t1),
		.events = f->events,
		.track = st->track->id,
	};
	int r = 0;

	fill_flags(s, st, f, &row);
	fill_waits(s, st, f, &row);
	if (VEC_PUSH(&s->batch->frames, row) < 0)
		return -ENOMEM;
	if (st->id == 0) {
		r = counters_close(s, f, &row);
		gpu_frame_closed(s->gpu, f->number);
		r = r < 0 ? r : trigger_watch_frame(s, &row);
	}
	st->closed_total = f->number;
	st->blind = false;
	st->first = (st->first + 1) & (st->capacity - 1);
	st->count--;
	return r;
}

/* The newest boundary that is not after until, or INT64_MIN. */
static int64_t last_boundary(const struct stream *st, int64_t until)
{
	uint32_t i;

	if (until < stream_closed(st))
		return INT64_MIN;
	i = find_index(st, until);
	return i > 0 ? stream_frame(st, i)->t0 : INT64_MIN;
}

/* Chunks of what is to be closed must be counted first. */
static int finish_before(struct live *s, const struct stream *st, int64_t boundary)
{
	struct part *part;
	int r;

	for (part = s->tracks.parts; part; part = part->next) {
		if (!part->open || part->b.t0 >= boundary ||
		    (st->id > 0 && part->track != st->track))
			continue;
		r = part_finish(s, part);
		if (r < 0)
			return r;
	}
	return 0;
}

static void prune_steps(struct live *s)
{
	struct part *part;
	size_t i;

	for (part = s->tracks.parts; part; part = part->next) {
		int64_t from = stream_closed(s->frames.streams.at[0]);

		for (i = 1; part->track->streams > 0 && i < s->frames.streams.count; i++)
			if (s->frames.streams.at[i]->track == part->track)
				from = MIN(from, stream_closed(s->frames.streams.at[i]));
		part_prune_steps(part, from);
	}
}

/* Loading before the oldest frame that is not closed is over. */
static void prune_loading(struct live *s)
{
	int64_t from = INT64_MAX;
	size_t i;

	for (i = 0; i < s->frames.streams.count; i++)
		from = MIN(from, stream_closed(s->frames.streams.at[i]));
	loading_prune(&s->frames.loading, from);
}

int frames_close(struct live *s, int64_t until)
{
	bool closed = false;
	size_t i;
	int r;

	for (i = 0; i < s->frames.streams.count; i++) {
		struct stream *st = s->frames.streams.at[i];
		int64_t boundary = last_boundary(st, until);

		if (boundary == INT64_MIN)
			continue;
		r = finish_before(s, st, boundary);
		while (r == 0 && st->count > 1 && stream_frame(st, 0)->t1 <= boundary)
			r = close_first(s, st);
		if (r < 0)
			return r;
		closed = true;
	}
	if (!closed)
		return 0;
	prune_steps(s);
	prune_loading(s);
	return 0;
}

int frames_resume(struct live *s, const struct stream_row *stream, uint32_t marker,
		  const struct frame_row *row)
{
	struct track *track = track_find_id(s, stream->track);
	struct stream *st = s->frames.streams.at[0];
	uint64_t number = row ? row->frame + 1 : 1;
	int64_t t = row ? row->t1 : 0;
	int r;

	if (stream->stream > 0) {
		r = stream_new(s, stream->stream, marker, number, t, &st);
		if (r < 0)
			return r;
	}
	st->closed_total = number - 1;
	st->blind = true;
	stream_frame(st, 0)->number = number;
	stream_frame(st, 0)->t0 = t;
	if (number > 1)
		stream_frame(st, 0)->flags &= ~(uint32_t)FRAME_STARTUP;
	if (!track)
		return 0;
	st->track = track;
	track->streams++;
	return put_stream_row(s, st); /* whoever watches its thread hears of it anew */
}
