/* SPDX-License-Identifier: MIT */
/*
 * A share is weighted by time: four stalls of half a second in 20 s are 10% of what a player lives
 * through, though 99% of the frames are fine. Percentiles are by frame and nearest-rank; what too
 * few frames reach is NaN.
 *
 * The 1% low is the mean of the worst 1% of the frames: as a rate, their number by the time they
 * took. Changes and runs go from a frame to the one with the next number: what was left out in
 * between breaks them.
 */
#include "frame_stats.h"

#include "statistics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const double frame_stats_percents[FRAME_STATS_PERCENTILES] = {50, 90, 95, 99, 99.9};

static void find_percentiles(const double *sorted, size_t count, struct frame_stats *s)
{
	size_t i;

	for (i = 0; i < FRAME_STATS_PERCENTILES; i++)
		s->percentiles[i] =
			count >= statistics_percentile_needs(frame_stats_percents[i])
				? statistics_percentile(sorted, count, frame_stats_percents[i])
				: NAN;
}

static void find_low(const double *sorted, size_t count, struct frame_stats *s)
{
	s->low = NAN;
	s->low_frames = 0;
	if (count < FRAME_STATS_LOW_NEEDS)
		return;
	s->low_frames = (count + 99) / 100;
	s->low = statistics_mean(sorted + count - s->low_frames, s->low_frames);
}

static void find_jitter(const frame_samples *samples, struct frame_stats *s)
{
	double sum = 0;
	size_t i;

	s->jitter = s->jitter_max = NAN;
	for (i = 1; i < samples->count; i++) {
		double change = fabs(samples->at[i].value - samples->at[i - 1].value);

		if (samples->at[i].frame != samples->at[i - 1].frame + 1)
			continue;
		s->jitter_max = s->steps++ ? MAX(s->jitter_max, change) : change;
		sum += change;
	}
	if (s->steps > 0)
		s->jitter = sum / (double)s->steps;
}

static void find_worst(const frame_samples *samples, struct frame_stats *s)
{
	size_t i;

	for (i = 0; i < samples->count; i++) {
		s->wall_ns += samples->at[i].wall_ns;
		if (i > 0 && samples->at[i].value <= s->worst)
			continue;
		s->worst = samples->at[i].value;
		s->worst_frame = samples->at[i].frame;
	}
}

int frame_stats_make(const frame_samples *samples, struct frame_stats *ret_stats)
{
	struct frame_stats s = {
		.count = samples->count, .mean = NAN, .sd = NAN, .least = NAN, .worst = NAN};
	size_t count = samples->count, i;
	_cleanup_free_ double *values = malloc((count + 1) * sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		values[i] = samples->at[i].value;
	if (count > 0)
		s.mean = statistics_mean(values, count);
	if (count > 1)
		s.sd = statistics_sd(values, count);
	statistics_sort(values, count);
	if (count > 0)
		s.least = values[0];
	find_percentiles(values, count, &s);
	find_low(values, count, &s);
	find_jitter(samples, &s);
	find_worst(samples, &s);
	*ret_stats = s;
	return 0;
}

/* The run of slow frames that ends with sample i, which is one. */
struct run {
	size_t frames;
	uint64_t from, to;
	double time_ns;
};

static void extend(struct run *run, const struct frame_sample *sample)
{
	if (run->frames == 0 || run->to + 1 != sample->frame)
		*run = (struct run){.from = sample->frame};
	run->frames++;
	run->to = sample->frame;
	run->time_ns += sample->wall_ns;
}

void frame_stats_over(const frame_samples *samples, double bound, struct frame_stats_over *ret_over)
{
	struct frame_stats_over over = {.bound = bound, .share = NAN};
	struct run run = {0};
	double wall = 0;
	size_t i;

	for (i = 0; i < samples->count; i++) {
		const struct frame_sample *sample = &samples->at[i];

		wall += sample->wall_ns;
		if (!(sample->value > bound)) {
			run.frames = 0;
			continue;
		}
		over.frames++;
		over.time_ns += sample->wall_ns;
		extend(&run, sample);
		if (run.frames <= over.run_frames)
			continue;
		over.run_frames = run.frames;
		over.run_from = run.from;
		over.run_to = run.to;
		over.run_time_ns = run.time_ns;
	}
	if (wall > 0)
		over.share = over.time_ns / wall;
	*ret_over = over;
}

/* --- zones ------------------------------------------------------------------------------- */

struct adding {
	struct counted *counted;
	const bool *skip;
	bool gpu;
	bool *named; /* by marker */
	double *totals;
	bool *has;
	size_t frame;	 /* hint */
	uint32_t inside; /* zones of the name that are open on this track */
	int64_t begin;	 /* of the outermost */
	bool out;
	int64_t covered; /* GPU: up to where the queue's time is counted, of this frame */
	uint64_t gpu_frame;
};

static bool is_named(const struct adding *x, uint32_t marker)
{
	return marker < x->counted->range->markers.count && x->named[marker];
}

static int find_named(struct adding *x, const char *name)
{
	const struct range *range = x->counted->range;
	bool any = false;
	size_t i;

	x->named = calloc(range->markers.count + 1, sizeof(*x->named));
	x->totals = calloc(x->counted->frames.count + 1, sizeof(*x->totals));
	x->has = calloc(x->counted->frames.count + 1, sizeof(*x->has));
	if (!x->named || !x->totals || !x->has)
		return -ENOMEM;
	for (i = 0; i < range->markers.count; i++) {
		const char *other = range->markers.at[i].name;

		x->named[i] = other && strcmp(other, name) == 0;
		any = any || x->named[i];
	}
	return any ? 0 : -ENOENT;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct adding *x = userdata;

	x->inside = 0;
	x->gpu_frame = 0;
	return (x->skip && x->skip[index]) || (track->kind == TRACK_GPU_QUEUE) != x->gpu;
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct adding *x = userdata;

	(void)depth;
	if (is_named(x, marker) && x->inside++ == 0)
		x->begin = counted_ns(x->counted, t, &x->out);
	return 0;
}

/* Shares out what lies between two points of counted time. */
static void add_time(struct adding *x, int64_t begin, int64_t end)
{
	const struct counted *c = x->counted;

	x->frame = counted_find(c, begin, x->frame);
	while (end > counted_end(c, x->frame) && x->frame + 1 < c->frames.count) {
		x->totals[x->frame] += (double)(counted_end(c, x->frame) - begin);
		x->has[x->frame] = true;
		begin = counted_end(c, x->frame++);
	}
	x->totals[x->frame] += (double)(end - begin);
	x->has[x->frame] = true;
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct adding *x = userdata;
	bool out;
	int64_t end;

	if (!is_named(x, zone->marker) || --x->inside > 0)
		return 0;
	end = counted_ns(x->counted, zone->end, &out);
	if (!x->out || end > x->begin)
		add_time(x, x->begin, end);
	return 0;
}

/* Spans come by their begin: what reaches no further than those before adds nothing. */
static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct adding *x = userdata;
	int64_t begin = zone->span.begin_ns, end = zone->span.end_ns, position;

	if (!is_named(x, zone->span.marker) ||
	    !counted_begin_of(x->counted, zone->span.frame, &position))
		return 0;
	if (zone->span.frame == x->gpu_frame)
		begin = MAX(begin, x->covered);
	if (zone->span.frame != x->gpu_frame || end > x->covered)
		x->covered = end;
	x->gpu_frame = zone->span.frame;
	x->frame = counted_find(x->counted, position, x->frame);
	x->totals[x->frame] += (double)MAX(end - begin, 0);
	x->has[x->frame] = true;
	return 0;
}

static int take_totals(const struct adding *x, frame_samples *ret_samples, size_t *ret_frames)
{
	const struct counted *c = x->counted;
	size_t i;

	*ret_frames = 0;
	if (VEC_RESERVE(ret_samples, c->frames.count) < 0)
		return -ENOMEM;
	for (i = 0; i < c->frames.count; i++) {
		const struct frame_row *row =
			&c->range->frames.frames.at[c->frames.at[i].index].row;

		ret_samples->at[ret_samples->count++] = (struct frame_sample){
			.frame = row->frame,
			.value = x->totals[i],
			.wall_ns = (double)(row->end_ns - row->begin_ns),
		};
		*ret_frames += x->has[i];
	}
	return 0;
}

int frame_stats_zone(struct history *h, struct counted *counted, const bool *skip, const char *name,
		     bool gpu, frame_samples *ret_samples, size_t *ret_frames)
{
	struct adding x = {.counted = counted, .skip = skip, .gpu = gpu};
	const struct range_visitor visitor = {.userdata = &x,
					      .no_texts = true,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end,
					      .gpu = on_gpu};
	int r = find_named(&x, name);

	if (r == 0 && counted->frames.count > 0)
		r = range_visit(h, counted->range, &visitor);
	if (r == 0)
		r = take_totals(&x, ret_samples, ret_frames);
	free(x.named);
	free(x.totals);
	free(x.has);
	return r;
}
