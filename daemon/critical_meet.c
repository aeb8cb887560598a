/* SPDX-License-Identifier: MIT */
/*
 * The wakes of each thread are in order as they are found, and so are the frames; these sorted runs
 * are merged two by two. (Sorting all at once took ten times as long.)
 */
#include "critical_meet.h"

#include <errno.h>

static const struct frame_row *row_of(const struct counted *counted, size_t i)
{
	return &counted->range->frames.frames.at[counted->frames.at[i].index].row;
}

/* What ended the waits of one thread, in counted frames. */
static void add_wakes(const struct counted *counted, const struct path_threads *threads,
		      uint32_t thread, struct meetings *meetings)
{
	const struct path_thread *t = &threads->at.at[thread];
	size_t i, frame = 0;

	for (i = 0; i + 1 < t->sched.count; i++) {
		const struct path_interval *at = &t->sched.at[i];
		struct gain_meeting m = {.t = at[1].t0,
					 .kind = GAIN_WAKE,
					 .thread = thread & (GAIN_THREADS_MAX - 1)};
		int64_t waited;
		const struct frame_row *row;

		if (at->waker == 0)
			continue;
		m.waker = (at->waker - 1u) & (GAIN_THREADS_MAX - 1);
		while (frame < counted->frames.count && row_of(counted, frame)->t1 < m.t)
			frame++;
		row = frame < counted->frames.count ? row_of(counted, frame) : NULL;
		if (!row || m.t <= row->t0)
			continue;
		waited = range_ns(counted->range, m.t) -
			 range_ns(counted->range, MAX(at->t0, row->t0));
		m.waited_ns = (uint64_t)MIN(waited, GAIN_WAITED_MAX) & GAIN_WAITED_MAX;
		meetings->at[meetings->count++] = m;
	}
}

static void add_frames(const struct counted *counted, const uint32_t *marking,
		       struct meetings *meetings)
{
	size_t i;

	for (i = 0; i < counted->frames.count; i++) {
		const struct frame_row *row = row_of(counted, i);
		const struct gain_meeting begin = {.t = row->t0, .kind = GAIN_BEGIN};
		const struct gain_meeting end = {.t = row->t1,
						 .kind = GAIN_END,
						 .thread = marking[i] & (GAIN_THREADS_MAX - 1)};

		meetings->at[meetings->count++] = begin;
		meetings->at[meetings->count++] = end;
	}
}

static bool is_before(const struct gain_meeting *a, const struct gain_meeting *b)
{
	return a->t != b->t ? a->t < b->t : a->kind < b->kind;
}

/* Merges the sorted runs from[0..middle) and from[middle..end) to to. */
static void merge(const struct gain_meeting *from, size_t middle, size_t end,
		  struct gain_meeting *to)
{
	size_t a = 0, b = middle;

	while (a < middle || b < end)
		if (b == end || (a < middle && !is_before(&from[b], &from[a])))
			*to++ = from[a++];
		else
			*to++ = from[b++];
}

/* ends: of the runs. */
static int merge_runs(struct meetings *meetings, size_t *ends, size_t runs)
{
	struct meetings spare = {.room = meetings->room};
	size_t i, made, begin;

	spare.at = slab_reserve(spare.room * sizeof(*spare.at));
	if (!spare.at)
		return -ENOMEM;
	for (; runs > 1; runs = made) {
		struct meetings merged = spare;

		for (i = made = begin = 0; i < runs; i += 2, made++) {
			size_t end = ends[MIN(i + 1, runs - 1)];

			merge(meetings->at + begin, ends[i] - begin, end - begin,
			      merged.at + begin);
			ends[made] = begin = end;
		}
		merged.count = meetings->count;
		spare = *meetings;
		*meetings = merged;
	}
	meetings_deinit(&spare);
	return 0;
}

/* As many as there can be. */
static size_t room_for(const struct counted *counted, const struct path_threads *threads)
{
	size_t room = 2 * counted->frames.count, i, k;

	for (i = 0; i < threads->at.count; i++)
		for (k = 0; k < threads->at.at[i].sched.count; k++)
			room += threads->at.at[i].sched.at[k].waker != 0;
	return room;
}

int meetings_find(const struct counted *counted, const struct path_threads *threads,
		  const uint32_t *marking, struct meetings *ret_meetings)
{
	size_t count = threads->at.count, i;
	_cleanup_free_ size_t *ends = calloc(count + 1, sizeof(*ends));
	struct meetings meetings = {.room = room_for(counted, threads)};
	int r;

	meetings.at = slab_reserve(meetings.room * sizeof(*meetings.at));
	if (!ends || !meetings.at) {
		meetings_deinit(&meetings);
		return -ENOMEM;
	}
	for (i = 0; i < count; i++) {
		add_wakes(counted, threads, (uint32_t)i, &meetings);
		ends[i] = meetings.count;
	}
	add_frames(counted, marking, &meetings);
	ends[count] = meetings.count;
	r = merge_runs(&meetings, ends, count + 1);
	if (r < 0) {
		meetings_deinit(&meetings);
		return r;
	}
	*ret_meetings = meetings;
	return 0;
}

void meetings_deinit(struct meetings *meetings)
{
	slab_release(meetings->at, meetings->room * sizeof(*meetings->at));
}
