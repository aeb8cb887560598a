/* SPDX-License-Identifier: MIT */
/*
 * A range's frames as series. Of zones one dense value a frame is kept for each metric that asks,
 * and a stack of the open ones: what a zone spent is taken off the self time of the one around it
 * frame by frame, so that a zone over many frames is right in each.
 *
 * Frames that are not counted, and of zones those whose events are gone, are dropped at the end.
 */
#include "counter_series.h"
#include "frame_parts.h"
#include "run_metrics.h"

#include "shm/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool run_frames_lost(const struct run_frames *frames)
{
	return frames->missing || frames->marks_lost || frames->lost_events;
}

bool run_frames_take(struct run_frames *frames, const struct frame_row *row)
{
	if (row->flags & FRAME_STARTUP) {
		frames->startup++;
	} else if (row->flags & FRAME_PAUSED) {
		frames->paused++;
	} else if (row->flags & FRAME_LOADING) {
		frames->loading++;
	} else if (row->flags & FRAME_CLOCK_STEP) {
		frames->clock_step++;
	} else {
		frames->counted++;
		frames->marks_lost += (row->flags & FRAME_MARKS_LOST) != 0;
		frames->lossy += row->lost_events > 0;
		frames->lost_events = count_add(frames->lost_events, row->lost_events);
		return true;
	}
	return false;
}

void run_series_deinit(struct run_series *series)
{
	VEC_FREE(&series->samples);
}

static void counters_deinit(counter_series_vec *counters)
{
	VEC_FREE(counters);
}

static double wait_of(const struct frame_row *row)
{
	if (row->wait_gpu_ns == NS_UNKNOWN && row->wait_present_ns == NS_UNKNOWN &&
	    row->wait_cap_ns == NS_UNKNOWN)
		return (double)NS_UNKNOWN;
	return (double)MAX(row->wait_gpu_ns, 0) + (double)MAX(row->wait_present_ns, 0) +
	       (double)MAX(row->wait_cap_ns, 0);
}

/* In ns; NS_UNKNOWN: it has none. */
static double of_frame(const struct history_frame *f, enum run_source source)
{
	switch (source) {
	case RUN_FRAME:
		return (double)(f->row.end_ns - f->row.begin_ns);
	case RUN_CPU:
		return (double)f->row.cpu_ns;
	case RUN_GPU:
		return (double)f->gpu_ns;
	case RUN_WAIT:
		return wait_of(&f->row);
	default:
		return (double)NS_UNKNOWN;
	}
}

struct open_zone {
	uint32_t marker;
	size_t frame; /* in which it begins */
};

/* What one metric makes of the zones of its name. */
struct zone_sums {
	const struct run_metric *metric; /* NULL: it is of no zones */
	bool *named;			 /* by marker */
	double *values;			 /* by frame, in ns */
	size_t open;			 /* of that name, on this track */
};

struct measure {
	const struct range *range;
	size_t count;
	struct zone_sums sums[RUN_METRICS_MAX];
	VEC(struct open_zone) stack;
};

static void measure_deinit(struct measure *m)
{
	size_t i;

	for (i = 0; i < m->count; i++) {
		free(m->sums[i].named);
		free(m->sums[i].values);
	}
	VEC_FREE(&m->stack);
}

static bool is_zone(const struct run_metric *metric)
{
	return metric->source == RUN_ZONE_TOTAL || metric->source == RUN_ZONE_SELF ||
	       metric->source == RUN_ZONE_CALLS;
}

static bool named(const struct measure *m, const struct zone_sums *s, uint32_t marker)
{
	return marker < m->range->markers.count && s->named[marker];
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct measure *m = userdata;
	size_t i;

	(void)index;
	(void)track;
	m->stack.count = 0;
	for (i = 0; i < m->count; i++)
		m->sums[i].open = 0;
	return 0;
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct measure *m = userdata;
	size_t hint = m->stack.count ? m->stack.at[m->stack.count - 1].frame : 0, i;
	size_t frame = range_frame_at(m->range, t, hint);
	struct open_zone zone = {marker, frame == SIZE_MAX ? hint : frame};

	(void)depth;
	for (i = 0; i < m->count; i++)
		if (m->sums[i].metric && named(m, &m->sums[i], marker))
			m->sums[i].open++;
	return VEC_PUSH(&m->stack, zone);
}

static void add_part(struct zone_sums *s, bool own, bool around, const struct frame_part *part)
{
	switch (s->metric->source) {
	case RUN_ZONE_TOTAL:
		if (own && s->open == 0)
			s->values[part->frame] += (double)part->ns;
		break;
	case RUN_ZONE_SELF:
		if (own)
			s->values[part->frame] += (double)part->ns;
		if (around)
			s->values[part->frame] -= (double)part->ns;
		break;
	default:
		break;
	}
}

static void add_zone(struct measure *m, struct zone_sums *s, const struct range_zone *zone,
		     const struct open_zone *open)
{
	const struct open_zone *outer = m->stack.count ? &m->stack.at[m->stack.count - 1] : NULL;
	struct frame_parts parts = {m->range, open->frame, zone->begin, zone->end};
	bool own = named(m, s, zone->marker), around = outer && named(m, s, outer->marker);
	struct frame_part part;

	if (!own && !around)
		return;
	if (own) {
		s->open--;
		if (s->metric->source == RUN_ZONE_CALLS && !(zone->flags & ZONE_CLIPPED_BEGIN))
			s->values[open->frame]++;
	}
	while (frame_parts_next(&parts, &part))
		add_part(s, own, around, &part);
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct measure *m = userdata;
	struct open_zone open;
	size_t i;

	if (m->stack.count == 0)
		return -EBADMSG;
	open = m->stack.at[--m->stack.count];
	for (i = 0; i < m->count; i++)
		if (m->sums[i].metric)
			add_zone(m, &m->sums[i], zone, &open);
	return 0;
}

/* A span is its frame's, whenever it ran. Spans of one name inside each other are not told apart
 * from others: drivers report none. */
static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct measure *m = userdata;
	const struct history_frames *frames = &m->range->frames;
	size_t low = 0, high = frames->frames.count, i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->frames.at[middle].row.frame < zone->span.frame)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == frames->frames.count || frames->frames.at[low].row.frame != zone->span.frame)
		return 0;
	for (i = 0; i < m->count; i++) {
		struct zone_sums *s = &m->sums[i];

		if (!s->metric || !named(m, s, zone->span.marker))
			continue;
		s->values[low] += s->metric->source == RUN_ZONE_CALLS
					  ? 1
					  : (double)(zone->span.end_ns - zone->span.begin_ns);
	}
	return 0;
}

static int prepare(struct measure *m, const struct run_metric *metric, struct zone_sums *s,
		   bool *found)
{
	size_t count = m->range->markers.count, i;

	s->named = calloc(count + 1, sizeof(*s->named));
	s->values = calloc(m->range->frames.frames.count + 1, sizeof(*s->values));
	if (!s->named || !s->values)
		return -ENOMEM;
	s->metric = metric;
	for (i = 0; i < count; i++) {
		const char *name = m->range->markers.at[i].name;

		s->named[i] = name && strcmp(name, metric->name) == 0;
		*found |= s->named[i];
	}
	return 0;
}

static int read_zones(struct history *h, struct measure *m, const struct run_metric *metrics,
		      struct run_series *series)
{
	struct range_visitor visitor = {.userdata = m,
					.no_texts = true,
					.track = on_track,
					.begin = on_begin,
					.end = on_end,
					.gpu = on_gpu};
	bool any = false;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->count; i++) {
		if (!is_zone(&metrics[i]))
			continue;
		any = true;
		r = prepare(m, &metrics[i], &m->sums[i], &series[i].found);
	}
	return r < 0 || !any ? r : range_visit(h, m->range, &visitor);
}

/* The values of one marker in the frames that count. */
static int add_counter(struct history *h, const struct range *range, uint32_t marker,
		       struct run_series *series)
{
	__attribute__((cleanup(counters_deinit))) counter_series_vec values = {0};
	const struct history_frames *frames = &range->frames;
	size_t at = 0, i;
	int r = counter_series_read(h, range->session, range->stream, marker, range->first,
				    range->last, &values);

	for (i = 0; r == 0 && i < values.count; i++) {
		struct run_frames ignored = {0};

		while (at < frames->frames.count &&
		       frames->frames.at[at].row.frame < values.at[i].frame)
			at++;
		if (at == frames->frames.count)
			break;
		if (frames->frames.at[at].row.frame == values.at[i].frame &&
		    run_frames_take(&ignored, &frames->frames.at[at].row))
			r = VEC_PUSH(&series->samples, values.at[i].value);
	}
	return r;
}

static int read_counter(struct history *h, const struct range *range,
			const struct run_metric *metric, struct run_series *series)
{
	size_t before = series->samples.count, i;
	int r = 0;

	for (i = 0; r == 0 && series->samples.count == before && i < range->markers.count; i++) {
		const struct marker_row *marker = &range->markers.at[i];

		if (!marker->name || marker->kind != FPROF_MARKER_COUNTER ||
		    strcmp(marker->name, metric->name) != 0)
			continue;
		series->found = true;
		r = add_counter(h, range, (uint32_t)i, series);
	}
	return r;
}

static int append(struct measure *m, const struct run_metric *metric, size_t at,
		  struct run_series *series, size_t frame)
{
	const struct range *range = m->range;
	double value;

	if (metric->source == RUN_COUNTER)
		return 0;
	if (is_zone(metric)) {
		if (frame < range->kept_from)
			return 0;
		value = m->sums[at].values[frame];
	} else {
		value = of_frame(&range->frames.frames.at[frame], metric->source);
		if (value == (double)NS_UNKNOWN)
			return 0;
		series->found = true;
	}
	return VEC_PUSH(&series->samples, value);
}

int run_measure(struct history *h, const struct range *range, const struct run_metric *metrics,
		size_t count, struct run_frames *frames, struct run_series *series)
{
	__attribute__((cleanup(measure_deinit))) struct measure m = {.range = range,
								     .count = count};
	size_t i, k;
	int r;

	if (count > RUN_METRICS_MAX)
		return -E2BIG;
	r = read_zones(h, &m, metrics, series);
	for (i = 0; r == 0 && i < count; i++)
		if (metrics[i].source == RUN_COUNTER)
			r = read_counter(h, range, &metrics[i], &series[i]);
	for (i = 0; r == 0 && i < range->frames.frames.count; i++) {
		if (!run_frames_take(frames, &range->frames.frames.at[i].row))
			continue;
		frames->evicted += i < range->kept_from;
		for (k = 0; r == 0 && k < count; k++)
			r = append(&m, &metrics[k], k, &series[k], i);
	}
	return r;
}
