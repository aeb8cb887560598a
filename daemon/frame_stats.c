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
#include "zone_measure.h"
#include "zone_tree.h"

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

/* What one series is made of. */
struct adding {
	double *totals; /* by counted frame */
	bool *has;
	uint32_t inside; /* zones of the name that are open on this track */
	int64_t begin;	 /* of the outermost */
	bool out;
	int64_t covered; /* GPU: up to where the queue's time is counted, of this frame */
	uint64_t gpu_frame;
};

struct adding_all {
	struct counted *counted;
	const bool *skip;
	uint32_t *named;   /* by marker: which series are about it */
	uint32_t kinds[2]; /* those of threads, and of GPU queues */
	struct adding of[FRAME_STATS_ZONES_MAX];
	size_t count;
	size_t frame; /* hint */
};

static void adding_all_deinit(struct adding_all *x)
{
	size_t i;

	for (i = 0; i < x->count; i++) {
		free(x->of[i].totals);
		free(x->of[i].has);
	}
	free(x->named);
}

static int prepare(struct adding_all *x, struct frame_stats_zone *zones)
{
	const char *names[FRAME_STATS_ZONES_MAX];
	size_t frames = x->counted->frames.count, i;
	uint32_t found;

	for (i = 0; i < x->count; i++) {
		struct adding *of = &x->of[i];

		names[i] = zones[i].name;
		x->kinds[zones[i].gpu] |= UINT32_C(1) << i;
		of->totals = calloc(frames + 1, sizeof(*of->totals));
		of->has = calloc(frames + 1, sizeof(*of->has));
		if (!of->totals || !of->has)
			return -ENOMEM;
	}
	x->named = range_named(x->counted->range, names, x->count, &found);
	for (i = 0; x->named && i < x->count; i++)
		zones[i].found = found >> i & 1;
	return x->named ? 0 : -ENOMEM;
}

static uint32_t asked_for(const struct adding_all *x, uint32_t marker, bool gpu)
{
	return marker < x->counted->range->markers.count ? x->named[marker] & x->kinds[gpu] : 0;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct adding_all *x = userdata;
	size_t i;

	for (i = 0; i < x->count; i++) {
		x->of[i].inside = 0;
		x->of[i].gpu_frame = 0;
	}
	return (x->skip && x->skip[index]) || !x->kinds[track->kind == TRACK_GPU_QUEUE];
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct adding_all *x = userdata;
	uint32_t left = asked_for(x, marker, false);

	(void)depth;
	for (; left; left &= left - 1) {
		struct adding *of = &x->of[__builtin_ctz(left)];

		if (of->inside++ == 0)
			of->begin = counted_ns(x->counted, t, &of->out);
	}
	return 0;
}

static void add_time(struct adding_all *x, struct adding *of, int64_t end)
{
	struct counted_parts parts = {x->counted, of->begin, end, x->frame, false};
	int64_t ns;

	while (counted_part_next(&parts, &ns)) {
		of->totals[parts.frame] += (double)ns;
		of->has[parts.frame] = true;
	}
	x->frame = parts.frame;
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct adding_all *x = userdata;
	uint32_t left = asked_for(x, zone->marker, false);
	int64_t end;
	bool out;

	if (!left)
		return 0;
	end = counted_ns(x->counted, zone->end, &out);
	for (; left; left &= left - 1) {
		struct adding *of = &x->of[__builtin_ctz(left)];

		if (--of->inside == 0 && (!of->out || end > of->begin))
			add_time(x, of, end);
	}
	return 0;
}

/* Spans come by their begin: what reaches no further than those before adds nothing. */
static void add_span(struct adding *of, const struct gpu_span_row *span, size_t frame)
{
	int64_t begin = span->begin_ns;

	if (span->frame == of->gpu_frame)
		begin = MAX(begin, of->covered);
	if (span->frame != of->gpu_frame || span->end_ns > of->covered)
		of->covered = span->end_ns;
	of->gpu_frame = span->frame;
	of->totals[frame] += (double)MAX(span->end_ns - begin, 0);
	of->has[frame] = true;
}

static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct adding_all *x = userdata;
	uint32_t left = asked_for(x, zone->span.marker, true);
	int64_t position;

	if (!left || !counted_begin_of(x->counted, zone->span.frame, &position))
		return 0;
	x->frame = counted_find(x->counted, position, x->frame);
	for (; left; left &= left - 1)
		add_span(&x->of[__builtin_ctz(left)], &zone->span, x->frame);
	return 0;
}

/* A sample for each counted frame. */
static int take_totals(const struct counted *c, const double *totals, frame_samples *samples)
{
	size_t i;

	if (VEC_RESERVE(samples, c->frames.count) < 0)
		return -ENOMEM;
	for (i = 0; i < c->frames.count; i++) {
		const struct frame_row *row =
			&c->range->frames.frames.at[c->frames.at[i].index].row;

		samples->at[samples->count++] = (struct frame_sample){
			.frame = row->frame,
			.value = totals[i],
			.wall_ns = (double)(row->end_ns - row->begin_ns),
		};
	}
	return 0;
}

static size_t count_true(const bool *list, size_t count)
{
	size_t found = 0, i;

	for (i = 0; i < count; i++)
		found += list[i];
	return found;
}

int frame_stats_zones(struct history *h, struct counted *counted, const bool *skip,
		      struct frame_stats_zone *zones, size_t count)
{
	__attribute__((cleanup(adding_all_deinit))) struct adding_all x = {
		.counted = counted, .skip = skip, .count = count};
	struct range_visitor visitor = {.userdata = &x,
					.no_texts = true,
					.track = on_track,
					.begin = on_begin,
					.end = on_end,
					.gpu = on_gpu};
	size_t i;
	int r = prepare(&x, zones);

	visitor.only = x.named;
	if (r == 0 && counted->frames.count > 0)
		r = range_visit(h, counted->range, &visitor);
	for (i = 0; r == 0 && i < count; i++) {
		zones[i].frames = count_true(x.of[i].has, counted->frames.count);
		r = take_totals(counted, x.of[i].totals, &zones[i].samples);
	}
	return r;
}

/* --- a path ------------------------------------------------------------------------------ */

static bool is_known(const struct range *range, const char *name)
{
	uint32_t found = 0, *named = range_named(range, &name, 1, &found);

	free(named);
	return found != 0;
}

static bool is_at(const struct zone_tree *tree, uint32_t node, const struct frame_stats_path *path)
{
	const struct zone_node *n = &tree->nodes.at[node];
	char unknown[32];
	size_t left = path->count;

	if (n->parent == ZONE_NODE_NONE || n->depth + 1 != left || n->gpu != path->gpu)
		return false;
	for (; left > 0; n = &tree->nodes.at[n->parent])
		if (strcmp(range_name(tree->range, n->marker, unknown, sizeof(unknown)),
			   path->names[--left]) != 0)
			return false;
	return true;
}

static int measure_path(const struct zone_tree *tree, struct zone_measure *m,
			const struct frame_stats_path *path, struct zone_numbers *ret_numbers)
{
	VEC(uint32_t) nodes = {0};
	uint32_t i;
	int r = 0;

	for (i = 0; i < tree->nodes.count && r == 0; i++)
		if (is_at(tree, i, path))
			r = VEC_PUSH(&nodes, i);
	if (r == 0)
		r = zone_measure_nodes(m, nodes.at, nodes.count, ret_numbers);
	VEC_FREE(&nodes);
	return r;
}

int frame_stats_path(struct history *h, const struct counted *counted, const bool *skip,
		     unsigned flags, const struct frame_stats_path *path, frame_samples *samples,
		     size_t *ret_frames)
{
	__attribute__((cleanup(zone_tree_deinit))) struct zone_tree tree = {0};
	__attribute__((cleanup(zone_measure_deinit))) struct zone_measure m = {0};
	struct zone_numbers numbers = {0};
	double *totals;
	size_t i;
	int r;

	for (i = 0; i < path->count; i++)
		if (!is_known(counted->range, path->names[i]))
			return -ENOENT;
	r = zone_tree_read(h, counted->range, skip, flags, &tree);
	if (r == 0)
		r = zone_measure_init(&m, &tree, true);
	if (r == 0)
		r = measure_path(&tree, &m, path, &numbers);
	totals = r == 0 ? calloc(counted->frames.count + 1, sizeof(*totals)) : NULL;
	if (r == 0 && !totals)
		r = -ENOMEM;
	for (i = 0; r == 0 && i < m.frames.count; i++)
		totals[m.frames.at[i]] = (double)m.totals[m.frames.at[i]];
	if (r == 0)
		r = take_totals(counted, totals, samples);
	*ret_frames = numbers.frames;
	free(totals);
	return r;
}

/* --- allocations ------------------------------------------------------------------------- */

struct allocating {
	struct counted *counted;
	const bool *skip;
	double *counts; /* by counted frame */
	bool told;
	size_t frame; /* hint */
};

static int on_thread(void *userdata, size_t index, const struct track_row *track)
{
	const struct allocating *x = userdata;

	return (x->skip && x->skip[index]) || track->kind == TRACK_GPU_QUEUE;
}

static int on_event(void *userdata, const struct range_event *event)
{
	struct allocating *x = userdata;
	int64_t ns;
	bool out;

	if (event->kind != RANGE_ALLOC)
		return 0;
	x->told = true;
	ns = counted_ns(x->counted, event->t, &out);
	if (out)
		return 0;
	x->frame = counted_find(x->counted, ns, x->frame);
	x->counts[x->frame] += (double)event->count;
	return 0;
}

int frame_stats_allocations(struct history *h, struct counted *counted, const bool *skip,
			    frame_samples *samples)
{
	_cleanup_free_ double *counts = calloc(counted->frames.count + 1, sizeof(*counts));
	_cleanup_free_ uint32_t *no_zone =
		calloc(counted->range->markers.count + 1, sizeof(*no_zone));
	struct allocating x = {.counted = counted, .skip = skip, .counts = counts};
	const struct range_visitor visitor = {.userdata = &x,
					      .no_texts = true,
					      .only = no_zone,
					      .track = on_thread,
					      .event = on_event};
	int r;

	if (!counts || !no_zone)
		return -ENOMEM;
	r = counted->frames.count > 0 ? range_visit(h, counted->range, &visitor) : 0;
	return r == 0 && x.told ? take_totals(counted, counts, samples) : r;
}
