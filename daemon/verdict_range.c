/* SPDX-License-Identifier: MIT */
/*
 * A range is read once for its wait zones and once, a marking thread, for what the scheduler did;
 * then each frame is judged by itself. What is usual is the median of the frames' wall times.
 */
#include "verdict_range.h"

#include "statistics.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AROUND	  60 /* frames on both sides tell what is usual */
#define DEPTH_MAX 64 /* of wait zones in each other; deeper ones are the outer one's */

/* A thread that marks frames of the range. */
struct marking {
	uint32_t track;
	bool is_thread;
	int32_t tid;
	wait_segments_vec waits;
	sched_intervals_vec sched;
};

struct reading {
	const struct range *range;
	VEC(struct marking) threads;
	struct marking *now; /* whose track is visited */
	enum fprof_marker_kind stack[DEPTH_MAX];
	unsigned depth;
	int64_t since;
};

static void reading_deinit(struct reading *r)
{
	size_t i;

	for (i = 0; i < r->threads.count; i++) {
		VEC_FREE(&r->threads.at[i].waits);
		VEC_FREE(&r->threads.at[i].sched);
	}
	VEC_FREE(&r->threads);
}

static struct marking *marking_of(struct reading *r, uint32_t track)
{
	size_t i;

	for (i = 0; i < r->threads.count; i++)
		if (r->threads.at[i].track == track)
			return &r->threads.at[i];
	return NULL;
}

static int add_marking(struct reading *r, uint32_t track)
{
	struct marking m = {.track = track};
	size_t i;

	for (i = 0; i < r->range->tracks.count; i++) {
		const struct track_row *row = &r->range->tracks.at[i];

		if (row->track != track)
			continue;
		m.is_thread = row->kind == TRACK_THREAD;
		m.tid = row->tid;
	}
	return VEC_PUSH(&r->threads, m);
}

/* ---- wait zones ---- */

static bool is_wait(const struct range *range, uint32_t marker, enum fprof_marker_kind *ret_kind)
{
	uint8_t kind = marker < range->markers.count ? range->markers.at[marker].kind : 0;

	*ret_kind = (enum fprof_marker_kind)kind;
	return kind >= FPROF_MARKER_WAIT_GPU && kind <= FPROF_MARKER_WAIT_CAP;
}

static int visit_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *r = userdata;

	(void)index;
	r->now = marking_of(r, track->track);
	r->depth = 0;
	return r->now ? 0 : 1;
}

static int cut(struct reading *r, int64_t t)
{
	struct wait_segment segment = {r->since, t, FPROF_MARKER_ZONE};
	unsigned depth = MIN(r->depth, (unsigned)DEPTH_MAX);

	r->since = t;
	if (depth == 0 || t <= segment.t0)
		return 0;
	segment.kind = r->stack[depth - 1];
	return VEC_PUSH(&r->now->waits, segment);
}

static int visit_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct reading *r = userdata;
	enum fprof_marker_kind kind;
	int rc;

	(void)depth;
	if (!is_wait(r->range, marker, &kind))
		return 0;
	rc = cut(r, t);
	if (r->depth < DEPTH_MAX)
		r->stack[r->depth] = kind;
	r->depth++;
	return rc;
}

static int visit_end(void *userdata, const struct range_zone *zone)
{
	struct reading *r = userdata;
	enum fprof_marker_kind kind;
	int rc;

	if (!is_wait(r->range, zone->marker, &kind) || r->depth == 0)
		return 0;
	rc = cut(r, zone->end);
	r->depth--;
	return rc;
}

/* ---- a range ---- */

static int read_sched(struct history *h, struct reading *r)
{
	const struct range *range = r->range;
	size_t i;
	int rc = 0;

	for (i = 0; i < r->threads.count && rc == 0; i++)
		if (r->threads.at[i].is_thread)
			rc = history_sched(h, range->session, r->threads.at[i].tid, range->t0,
					   range->t1, &r->threads.at[i].sched);
	return rc;
}

static int read_all(struct history *h, struct reading *r)
{
	const struct range_visitor visitor = {
		.userdata = r, .track = visit_track, .begin = visit_begin, .end = visit_end};
	size_t i;
	int rc = 0;

	for (i = 0; i < r->range->frames.frames.count && rc == 0; i++) {
		uint32_t track = r->range->frames.frames.at[i].row.track;

		if (!marking_of(r, track))
			rc = add_marking(r, track);
	}
	if (rc == 0)
		rc = range_visit(h, r->range, &visitor);
	return rc < 0 ? rc : read_sched(h, r);
}

/* The median over the range and what is around it. */
static int usual_wall(struct history *h, const struct range *range, const char *stream,
		      int64_t *ret_ns)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames around = {0};
	uint64_t from = range->first > AROUND ? range->first - AROUND : 1;
	int rc = history_frames(h, range->session, stream, from, range->last + AROUND, &around);
	size_t i, n = around.frames.count;
	_cleanup_free_ double *walls = malloc((n + 1) * sizeof(*walls));

	*ret_ns = 0;
	if (rc < 0 || !walls)
		return rc < 0 ? rc : -ENOMEM;
	for (i = 0; i < n; i++)
		walls[i] =
			(double)(around.frames.at[i].row.end_ns - around.frames.at[i].row.begin_ns);
	statistics_sort(walls, n);
	if (n > 0)
		*ret_ns = (int64_t)statistics_percentile(walls, n, 50);
	return 0;
}

static int64_t gpu_busy(const struct range *range, uint64_t frame)
{
	int64_t busy = NS_UNKNOWN;
	size_t i;

	for (i = 0; i < range->frames.gpus.count; i++) {
		const struct history_frame_gpu *g = &range->frames.gpus.at[i];

		if (g->frame == frame && g->gpu.final && g->gpu.missing == 0)
			busy = MAX(busy, g->gpu.busy_ns);
	}
	return busy;
}

/* Lists advance with the frames: nothing before the last one's end is looked at again. */
static void judge_frames(struct reading *r, int64_t usual, verdicts_vec *verdicts)
{
	static const sched_intervals_vec none_known;
	static const wait_segments_vec no_waits;
	size_t i;

	for (i = 0; i < r->range->frames.frames.count; i++) {
		const struct frame_row *row = &r->range->frames.frames.at[i].row;
		const struct marking *m = marking_of(r, row->track);
		struct verdict *v = &verdicts->at[verdicts->count++];

		memset(v, 0, sizeof(*v));
		v->frame = row->frame;
		v->usual_ns = usual;
		v->gpu_busy_ns = row->stream == 0 ? gpu_busy(r->range, row->frame) : NS_UNKNOWN;
		verdict_partition(v, r->range, row->t0, row->t1, m ? &m->sched : &none_known,
				  m ? &m->waits : &no_waits);
		verdict_judge(v);
	}
}

int verdict_range(struct history *h, const struct range *range, const char *stream,
		  verdicts_vec *ret_verdicts)
{
	__attribute__((cleanup(reading_deinit))) struct reading r = {.range = range};
	verdicts_vec verdicts = {0};
	int64_t usual = 0;
	int rc = read_all(h, &r);

	if (rc == 0)
		rc = usual_wall(h, range, stream, &usual);
	if (rc == 0)
		rc = VEC_RESERVE(&verdicts, range->frames.frames.count + 1);
	if (rc < 0)
		return rc;
	judge_frames(&r, usual, &verdicts);
	*ret_verdicts = verdicts;
	return 0;
}

/* ---- all together ---- */

static void add_evidence(struct verdict_evidence *sum, const struct verdict_evidence *e)
{
	sum->zone_ns += e->zone_ns;
	sum->kernel_ns += e->kernel_ns;
	sum->both_ns += e->both_ns;
}

void verdict_sum(const verdicts_vec *verdicts, struct verdict_sum *ret_sum)
{
	struct verdict_sum s = {0};
	int part;
	size_t i;
	enum verdict_bound b;

	for (i = 0; i < verdicts->count; i++) {
		const struct verdict *v = &verdicts->at[i];

		s.frames++;
		s.wall_ns += v->wall_ns;
		for (part = 0; part < PARTS; part++) {
			s.ns[part] += v->ns[part];
			add_evidence(&s.evidence[part], &v->evidence[part]);
		}
		s.bound_frames[v->bound]++;
		s.bound_ns[v->bound] += v->wall_ns;
		s.confidence += v->confidence * (double)v->wall_ns;
	}
	for (b = 0; b < BOUNDS; b++)
		if (s.bound_ns[b] > s.bound_ns[s.bound])
			s.bound = b;
	s.confidence = s.wall_ns > 0 ? s.confidence / (double)s.wall_ns : 0.0;
	snprintf(s.sentence, sizeof(s.sentence),
		 "%llu of %llu frames, %.0f%% of the time, were bound by %s.",
		 (unsigned long long)s.bound_frames[s.bound], (unsigned long long)s.frames,
		 s.wall_ns > 0 ? 100.0 * (double)s.bound_ns[s.bound] / (double)s.wall_ns : 0.0,
		 verdict_bound_names[s.bound]);
	*ret_sum = s;
}
