/* SPDX-License-Identifier: MIT */
/*
 * An item is made when its zone begins, so that parents come first, and is filled in when it ends.
 * A zone that then turns out to be short joins the last short one of its depth, if both together
 * are no longer than the resolution; by then the zones inside it have ended, and did the same. Its
 * own item goes: mostly it is the last one, else it is left as a hole that is closed at the end of
 * the track. A sliver may thus reach over the border of the zone around it, by less than the
 * resolution.
 *
 * So a track has at most two items for each stretch of the resolution and each depth, whatever was
 * recorded. Where that is still too much, it is tried again with a coarser one.
 */
#include "timeline.h"

#include "chunk.h"

#include <errno.h>
#include <string.h>

#define NONE	    SIZE_MAX
#define COARSER	    4
#define FIRST_STEPS 65536 /* of the range, as the first resolution when none was asked for */
#define DEPTHS	    (4 * CHUNK_DEPTH_MAX)

struct drawing {
	const struct range *range;
	const bool *skip;
	size_t most;
	struct timeline *t;
	VEC(size_t) open;    /* items of the zones that are open */
	size_t last[DEPTHS]; /* by depth: the item that a short zone may join */
	uint32_t holes;	     /* in the track in progress */
};

void timeline_deinit(struct timeline *timeline)
{
	size_t i;

	for (i = 0; i < timeline->events.count; i++)
		free(timeline->events.at[i].text);
	VEC_FREE(&timeline->tracks);
	VEC_FREE(&timeline->items);
	VEC_FREE(&timeline->events);
	VEC_FREE(&timeline->gaps);
}

/* Deeper than anybody draws: they are all the deepest. */
static uint32_t depth_of(uint32_t depth)
{
	return MIN(depth, DEPTHS - 1u);
}

static int add_item(struct drawing *d, const struct timeline_item *item)
{
	if (d->t->items.count - d->holes >= d->most)
		return -E2BIG;
	return VEC_PUSH(&d->t->items, *item);
}

static void begin_track(struct drawing *d)
{
	size_t i;

	d->holes = 0;
	d->open.count = 0;
	for (i = 0; i < DEPTHS; i++)
		d->last[i] = NONE;
}

/* Ends a track: closes the holes, and says how many items it has. */
static void finish_track(struct drawing *d)
{
	struct timeline *t = d->t;
	struct timeline_track *track;
	size_t kept, i;

	if (t->tracks.count == 0)
		return;
	track = &t->tracks.at[t->tracks.count - 1];
	kept = track->first;
	for (i = track->first; i < t->items.count; i++)
		if (t->items.at[i].count > 0)
			t->items.at[kept++] = t->items.at[i];
	t->items.count = kept;
	track->count = kept - track->first;
	track->events = t->events.count - track->first_event;
}

static int on_track(void *userdata, size_t index, const struct track_row *row)
{
	struct drawing *d = userdata;
	struct timeline_track track = {.track = (uint32_t)index};

	(void)row;
	finish_track(d);
	begin_track(d);
	if (d->skip && d->skip[index])
		return 1;
	track.first = d->t->items.count;
	track.first_event = d->t->events.count;
	return VEC_PUSH(&d->t->tracks, track);
}

static void join(struct timeline_item *sliver, const struct timeline_item *item)
{
	sliver->end_ns = MAX(sliver->end_ns, item->end_ns);
	sliver->busy_ns += item->busy_ns;
	sliver->count += item->count;
	sliver->flags |= item->flags;
	if (item->longest_ns <= sliver->longest_ns)
		return;
	sliver->longest_ns = item->longest_ns;
	sliver->marker = item->marker;
}

/* A finished item at place at: joins it to the one before where both are short. */
static void merge(struct drawing *d, size_t at)
{
	struct timeline_item *item = &d->t->items.at[at], *before;
	int64_t resolution = d->t->resolution_ns;
	size_t *last = &d->last[item->depth];

	if (item->end_ns - item->begin_ns >= resolution) {
		*last = NONE;
		return;
	}
	before = *last == NONE ? NULL : &d->t->items.at[*last];
	if (!before || item->end_ns - before->begin_ns > resolution ||
	    item->begin_ns < before->begin_ns) {
		*last = at;
		return;
	}
	join(before, item);
	if (at + 1 == d->t->items.count) {
		d->t->items.count--;
		return;
	}
	item->count = 0;
	d->holes++;
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct drawing *d = userdata;
	const struct timeline_item item = {.begin_ns = range_ns(d->range, t),
					   .marker = marker,
					   .count = 1,
					   .depth = (uint16_t)depth_of(depth)};
	size_t at = d->t->items.count;
	int r = VEC_PUSH(&d->open, at);

	return r < 0 ? r : add_item(d, &item);
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct drawing *d = userdata;
	size_t at = d->open.at[--d->open.count];
	struct timeline_item *item = &d->t->items.at[at];

	item->end_ns = range_ns(d->range, zone->end);
	item->busy_ns = item->longest_ns = item->end_ns - item->begin_ns;
	item->flags = (uint16_t)zone->flags;
	merge(d, at);
	return 0;
}

static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct drawing *d = userdata;
	int64_t duration = MAX(zone->span.end_ns - zone->span.begin_ns, 0);
	const struct timeline_item item = {.begin_ns = zone->span.begin_ns,
					   .end_ns = zone->span.begin_ns + duration,
					   .busy_ns = duration,
					   .longest_ns = duration,
					   .marker = zone->span.marker,
					   .count = 1,
					   .flags = zone->span.calibrated ? 0 : ZONE_ALIGNED,
					   .depth = (uint16_t)depth_of(zone->depth)};
	int r = add_item(d, &item);

	if (r == 0)
		merge(d, d->t->items.count - 1);
	return r;
}

/* Events of a track join as zones do. */
static struct timeline_event *event_to_join(struct drawing *d, const struct timeline_event *e)
{
	const struct timeline_track *track = &d->t->tracks.at[d->t->tracks.count - 1];
	struct timeline_event *last;

	if (d->t->events.count == track->first_event)
		return NULL;
	last = &d->t->events.at[d->t->events.count - 1];
	return last->kind == e->kind && e->ns - last->ns < d->t->resolution_ns ? last : NULL;
}

/* Marks of the main stream are the frames themselves. */
static enum timeline_event_kind kind_of(const struct range_event *e)
{
	switch (e->kind) {
	case RANGE_INSTANT:
		return TIMELINE_INSTANT;
	case RANGE_MESSAGE:
		return TIMELINE_MESSAGE;
	case RANGE_MARK:
		return e->marker != 0 ? TIMELINE_MARK : TIMELINE_NOTHING;
	default:
		return TIMELINE_NOTHING;
	}
}

static int on_event(void *userdata, const struct range_event *e)
{
	struct drawing *d = userdata;
	struct timeline_event event = {.ns = range_ns(d->range, e->t),
				       .marker = e->marker,
				       .colour = e->colour,
				       .count = 1,
				       .kind = kind_of(e)};
	struct timeline_event *before;

	if (event.kind == TIMELINE_NOTHING)
		return 0;
	before = event_to_join(d, &event);
	if (before) {
		before->count++;
		return 0;
	}
	if (d->t->events.count >= d->most)
		return -E2BIG;
	if (VEC_RESERVE(&d->t->events, 1) < 0)
		return -ENOMEM;
	event.text = e->text ? strdup(e->text) : NULL;
	if (e->text && !event.text)
		return -ENOMEM;
	d->t->events.at[d->t->events.count++] = event;
	return 0;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct drawing *d = userdata;

	return VEC_PUSH(&d->t->gaps, *gap);
}

static int draw(struct history *h, struct drawing *d)
{
	const struct range_visitor visitor = {.userdata = d,
					      .no_texts = true,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end,
					      .event = on_event,
					      .gap = on_gap,
					      .gpu = on_gpu};
	int r = range_visit(h, d->range, &visitor);

	finish_track(d);
	VEC_FREE(&d->open);
	return r;
}

/* Coarser, but never beyond the whole range, in which all that is left is one item a depth. */
static bool coarsen(const struct range *range, int64_t *resolution_ns)
{
	int64_t whole = range->end_ns - range->begin_ns;

	if (*resolution_ns > whole)
		return false;
	*resolution_ns =
		*resolution_ns > 0 ? *resolution_ns * COARSER : MAX(whole / FIRST_STEPS, 1);
	return true;
}

int timeline_read(struct history *h, const struct range *range, const bool *skip,
		  int64_t resolution_ns, size_t most, struct timeline *ret_timeline)
{
	struct timeline t = {0};
	struct drawing d = {.range = range, .skip = skip, .most = most, .t = &t};
	int r;

	do {
		timeline_deinit(&t);
		t.resolution_ns = resolution_ns;
		r = draw(h, &d);
	} while (r == -E2BIG && coarsen(range, &resolution_ns));
	if (r < 0) {
		timeline_deinit(&t);
		return r;
	}
	*ret_timeline = t;
	return 0;
}
