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

void run_frames_lose(struct run_frames *frames, const struct frame_row *row, bool out)
{
	bool stands = (row->flags & (FRAME_MARKS_LOST | FRAME_PAUSED)) == FRAME_MARKS_LOST;

	if (out && !stands)
		return;
	frames->marks_lost += stands;
	frames->lossy += row->lost_events > 0;
	frames->lost_events = count_add(frames->lost_events, row->lost_events);
}

bool run_frames_take(struct run_frames *frames, const struct frame_row *row)
{
	bool out = left_out_take(&frames->left_out, row->flags);

	run_frames_lose(frames, row, out);
	if (out)
		return false;
	frames->counted++;
	frames->wall_ns += (double)(row->end_ns - row->begin_ns);
	frames->paced_ns += (double)MAX(row->wait_cap_ns, 0);
	frames->paced_ns += (double)MAX(row->wait_present_ns, 0);
	return true;
}

uint64_t run_frames_missing(const struct range *range, uint64_t from, uint64_t to)
{
	uint64_t missing = 0;
	size_t i;

	if (from)
		missing += range->first - from;
	if (to)
		missing += to - range->last;
	for (i = 1; i < range->frames.frames.count; i++) {
		const struct frame_row *row = &range->frames.frames.at[i].row;

		if (!(row->flags & FRAME_PAUSED))
			missing += row->frame - range->frames.frames.at[i - 1].row.frame - 1;
	}
	return missing;
}

void run_series_deinit(struct run_series *series)
{
	VEC_FREE(&series->samples);
}

static void counters_deinit(counter_series_vec *counters)
{
	VEC_FREE(counters);
}

/* In ns; NS_UNKNOWN: it has none. */
static int64_t of_frame(const struct history_frame *f, enum run_source source)
{
	switch (source) {
	case RUN_FRAME:
		return f->row.end_ns - f->row.begin_ns;
	case RUN_CPU:
		return f->row.cpu_ns;
	case RUN_GPU:
		return f->gpu_ns;
	case RUN_WAIT:
		return frame_row_wait_ns(&f->row);
	default:
		return NS_UNKNOWN;
	}
}

struct open_zone {
	uint32_t marker;
	size_t frame; /* in which it begins */
};

/* What one metric makes of the zones of its name. */
struct zone_sums {
	const struct run_metric *metric;
	double *values; /* by frame, in ns; NULL: it is of no zones */
	size_t open;	/* of that name, on this track */
};

struct measure {
	const struct range *range;
	size_t count;
	uint32_t *named; /* by marker: the metrics that are about it */
	struct zone_sums sums[RUN_METRICS_MAX];
	VEC(struct open_zone) stack;
};

static void measure_deinit(struct measure *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		free(m->sums[i].values);
	free(m->named);
	VEC_FREE(&m->stack);
}

static bool is_zone(const struct run_metric *metric)
{
	return metric->source == RUN_ZONE_TOTAL || metric->source == RUN_ZONE_SELF ||
	       metric->source == RUN_ZONE_CALLS;
}

static uint32_t metrics_of(const struct measure *m, uint32_t marker)
{
	return marker < m->range->markers.count ? m->named[marker] : 0;
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
	size_t hint = m->stack.count ? m->stack.at[m->stack.count - 1].frame : 0;
	size_t frame = range_frame_at(m->range, t, hint);
	struct open_zone zone = {marker, frame == SIZE_MAX ? hint : frame};
	uint32_t left;

	(void)depth;
	for (left = metrics_of(m, marker); left; left &= left - 1)
		m->sums[__builtin_ctz(left)].open++;
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

/* own: it is of the metric's name; around: the zone around it is. */
static void add_zone(struct measure *m, struct zone_sums *s, const struct range_zone *zone,
		     const struct open_zone *open, bool own, bool around)
{
	struct frame_parts parts = {m->range, open->frame, zone->begin, zone->end};
	struct frame_part part;

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
	uint32_t own = metrics_of(m, zone->marker), around = 0, left;
	struct open_zone open;

	if (m->stack.count == 0)
		return -EBADMSG;
	open = m->stack.at[--m->stack.count];
	if (m->stack.count > 0)
		around = metrics_of(m, m->stack.at[m->stack.count - 1].marker);
	for (left = own | around; left; left &= left - 1) {
		uint32_t bit = left & -left;

		add_zone(m, &m->sums[__builtin_ctz(left)], zone, &open, own & bit, around & bit);
	}
	return 0;
}

/* A span is its frame's, whenever it ran. Spans of one name inside each other are not told apart
 * from others: drivers report none. */
static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct measure *m = userdata;
	size_t frame = range_frame_numbered(m->range, zone->span.frame);
	uint32_t left = frame == SIZE_MAX ? 0 : metrics_of(m, zone->span.marker);

	for (; left; left &= left - 1) {
		struct zone_sums *s = &m->sums[__builtin_ctz(left)];

		s->values[frame] += s->metric->source == RUN_ZONE_CALLS
					    ? 1
					    : (double)(zone->span.end_ns - zone->span.begin_ns);
	}
	return 0;
}

/* Returns whether any metric is about zones, or -ENOMEM. */
static int prepare(struct measure *m, const struct run_metric *metrics, struct run_series *series)
{
	const char *names[RUN_METRICS_MAX] = {NULL};
	size_t frames = m->range->frames.frames.count, i;
	uint32_t found;
	bool any = false;

	for (i = 0; i < m->count; i++) {
		struct zone_sums *s = &m->sums[i];

		if (!is_zone(&metrics[i]))
			continue;
		any = true;
		names[i] = metrics[i].name;
		s->metric = &metrics[i];
		s->values = calloc(frames + 1, sizeof(*s->values));
		if (!s->values)
			return -ENOMEM;
	}
	m->named = any ? range_named(m->range, names, m->count, &found) : NULL;
	for (i = 0; m->named && i < m->count; i++)
		series[i].found |= found >> i & 1;
	return any && !m->named ? -ENOMEM : any;
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
	int r = prepare(m, metrics, series);
	bool self = false;
	size_t i;

	for (i = 0; i < m->count; i++)
		self |= metrics[i].source == RUN_ZONE_SELF;
	if (!self) /* else what is inside a zone is taken off its time */
		visitor.only = m->named;
	return r == 1 ? range_visit(h, m->range, &visitor) : r;
}

/* The values of one marker in the frames that count. */
static int add_counter(struct history *h, const struct range *range, uint32_t marker,
		       const struct run_metric *metric, struct run_series *series)
{
	__attribute__((cleanup(counters_deinit))) counter_series_vec values = {0};
	size_t i;
	int r = counter_series_read(h, range->session, range->stream, marker, range->first,
				    range->last, &values);

	for (i = 0; r == 0 && i < values.count; i++) {
		size_t at = range_frame_numbered(range, values.at[i].frame);
		struct left_out ignored = {0};

		if (at != SIZE_MAX &&
		    !left_out_take(&ignored, range->frames.frames.at[at].row.flags))
			r = run_series_add(series, metric, values.at[i].frame, values.at[i].value);
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
		r = add_counter(h, range, (uint32_t)i, metric, series);
	}
	return r;
}

static int append(struct measure *m, const struct run_metric *metric, size_t at,
		  struct run_series *series, size_t frame)
{
	const struct history_frame *f = &m->range->frames.frames.at[frame];
	double value;

	if (metric->source == RUN_COUNTER)
		return 0;
	if (is_zone(metric)) {
		if (frame < m->range->kept_from)
			return 0;
		value = m->sums[at].values[frame];
	} else {
		if (of_frame(f, metric->source) == NS_UNKNOWN)
			return 0;
		value = (double)of_frame(f, metric->source);
		series->found = true;
	}
	return run_series_add(series, metric, f->row.frame, value);
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
