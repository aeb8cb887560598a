/* SPDX-License-Identifier: MIT */
/*
 * A range is read once for its zones and once, a marking thread, for what the scheduler did; then
 * each frame is judged by itself. Of the zones of a marking thread the stretches of waiting are
 * kept, and for each frame the one that was innermost longest while it did not wait. What is usual
 * is the median of the wall times of a frame and those around it. The displays are those of when
 * the session began: its facts have them.
 */
#include "verdict_range.h"

#include "body.h"
#include "statistics.h"
#include "util.h"
#include "verdict_let_go.h"
#include "verdict_ran.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64 /* of wait zones in each other; deeper ones are the outer one's */

/* A thread that marks frames of the range. */
struct marking {
	uint32_t track;
	bool is_thread;
	int32_t tid;
	wait_segments_vec waits;
	sched_intervals_vec sched;
	struct verdict_cursor cursor;
};

/* The zone with the most self time of a frame. */
struct lead {
	uint32_t marker;
	int64_t ticks; /* 0: there is none */
};

struct reading {
	const struct range *range;
	VEC(struct marking) threads;
	struct marking *now; /* whose track is visited */
	enum fprof_marker_kind stack[DEPTH_MAX];
	unsigned depth;
	int64_t since;
	struct lead *leads;    /* by frame */
	int64_t *self;	       /* ticks by marker, of the frame in progress: */
	VEC(uint32_t) touched; /* those that have any */
	VEC(uint32_t) open;    /* markers of all open zones */
	size_t frame;
	struct verdict_rans rans;
};

static void reading_deinit(struct reading *r)
{
	size_t i;

	for (i = 0; i < r->threads.count; i++) {
		VEC_FREE(&r->threads.at[i].waits);
		VEC_FREE(&r->threads.at[i].sched);
	}
	VEC_FREE(&r->threads);
	verdict_rans_deinit(&r->rans);
	VEC_FREE(&r->touched);
	VEC_FREE(&r->open);
	free(r->leads);
	free(r->self);
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

/* ---- zones ---- */

static bool is_wait(const struct range *range, uint32_t marker, enum fprof_marker_kind *ret_kind)
{
	uint8_t kind = marker < range->markers.count ? range->markers.at[marker].kind : 0;

	*ret_kind = (enum fprof_marker_kind)kind;
	return kind >= FPROF_MARKER_WAIT_GPU && kind <= FPROF_MARKER_WAIT_CAP;
}

/* Time that passed in the innermost zone. */
static int add_self(struct reading *r, int64_t ticks)
{
	uint32_t marker = r->open.count > 0 ? r->open.at[r->open.count - 1] : UINT32_MAX;

	if (r->depth > 0 || marker >= r->range->markers.count || ticks <= 0)
		return 0;
	r->self[marker] += ticks;
	return r->self[marker] == ticks ? VEC_PUSH(&r->touched, marker) : 0;
}

static void end_frame(struct reading *r)
{
	struct lead *lead = &r->leads[r->frame];
	bool own = r->range->frames.frames.at[r->frame].row.track == r->now->track;
	size_t i;

	for (i = 0; i < r->touched.count; i++) {
		uint32_t marker = r->touched.at[i];

		if (own && r->self[marker] > lead->ticks)
			*lead = (struct lead){marker, r->self[marker]};
		r->self[marker] = 0;
	}
	r->touched.count = 0;
}

/* The thread has come to t: a stretch of waiting, or self time of frames. */
static int pass(struct reading *r, int64_t t)
{
	const struct history_frames *frames = &r->range->frames;
	struct wait_segment segment = {r->since, t, FPROF_MARKER_ZONE};
	unsigned depth = MIN(r->depth, (unsigned)DEPTH_MAX);
	int64_t since = r->since;
	int rc = 0;

	for (; r->frame < frames->frames.count && frames->frames.at[r->frame].row.t1 <= t;
	     r->frame++) {
		int64_t end = frames->frames.at[r->frame].row.t1;

		if (rc == 0)
			rc = add_self(r, end - since);
		since = MAX(since, end);
		end_frame(r);
	}
	if (rc == 0)
		rc = add_self(r, t - since);
	r->since = t;
	if (rc < 0 || depth == 0 || t <= segment.t0)
		return rc;
	segment.kind = r->stack[depth - 1];
	return VEC_PUSH(&r->now->waits, segment);
}

static int visit_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *r = userdata;
	int rc = r->now ? pass(r, r->range->t1) : 0;

	(void)index;
	r->now = marking_of(r, track->track);
	r->depth = 0;
	r->open.count = 0;
	r->since = r->range->t0;
	r->frame = 0;
	return rc < 0 ? rc : !r->now;
}

static int visit_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct reading *r = userdata;
	enum fprof_marker_kind kind;
	int rc;

	(void)depth;
	rc = pass(r, t);
	if (rc < 0 || VEC_PUSH(&r->open, marker) < 0)
		return rc < 0 ? rc : -ENOMEM;
	if (!is_wait(r->range, marker, &kind))
		return 0;
	if (r->depth < DEPTH_MAX)
		r->stack[r->depth] = kind;
	r->depth++;
	return 0;
}

static int visit_end(void *userdata, const struct range_zone *zone)
{
	struct reading *r = userdata;
	enum fprof_marker_kind kind;
	int rc = pass(r, zone->end);

	if (r->open.count > 0)
		r->open.count--;
	if (is_wait(r->range, zone->marker, &kind) && r->depth > 0)
		r->depth--;
	return rc;
}

/* ---- a range ---- */

static int read_sched(struct history *h, struct reading *r)
{
	const struct range *range = r->range;
	size_t i;
	int rc = 0;

	for (i = 0; i < r->threads.count && rc == 0; i++) {
		struct marking *m = &r->threads.at[i];

		if (!m->is_thread)
			continue;
		rc = history_sched(h, range->session, m->tid, range->t0, range->t1, &m->sched);
	}
	return rc;
}

static int read_all(struct history *h, struct reading *r)
{
	const struct range_visitor visitor = {.userdata = r,
					      .no_texts = true,
					      .track = visit_track,
					      .begin = visit_begin,
					      .end = visit_end};
	size_t i;
	int rc = 0;

	r->leads = calloc(r->range->frames.frames.count + 1, sizeof(*r->leads));
	r->self = calloc(r->range->markers.count + 1, sizeof(*r->self));
	if (!r->leads || !r->self)
		return -ENOMEM;
	for (i = 0; i < r->range->frames.frames.count && rc == 0; i++) {
		uint32_t track = r->range->frames.frames.at[i].row.track;

		if (!marking_of(r, track))
			rc = add_marking(r, track);
	}
	if (rc == 0)
		rc = range_visit(h, r->range, &visitor);
	if (rc == 0 && r->now)
		rc = pass(r, r->range->t1);
	return rc < 0 ? rc : read_sched(h, r);
}

/* Rows of GPUs come by frame: *next is the first that may be of this one. */
static int64_t gpu_busy(const struct range *range, uint64_t frame, size_t *next)
{
	int64_t busy = NS_UNKNOWN;

	for (; *next < range->frames.gpus.count; ++*next) {
		const struct history_frame_gpu *g = &range->frames.gpus.at[*next];

		if (g->frame > frame)
			break;
		if (g->frame == frame && g->gpu.final && g->gpu.missing == 0)
			busy = MAX(busy, g->gpu.busy_ns);
	}
	return busy;
}

static enum verdict_events events_of(const struct range *range, size_t frame)
{
	const struct frame_row *row = &range->frames.frames.at[frame].row;

	if (frame < range->kept_from)
		return EVENTS_GONE;
	if (row->cpu_ns == NS_UNKNOWN)
		return EVENTS_PARTIAL;
	return row->flags & FRAME_LOST_EVENTS ? EVENTS_LOST : EVENTS_COMPLETE;
}

static void set_zone(const struct reading *r, size_t frame, struct verdict *v)
{
	const struct lead *lead = &r->leads[frame];
	const struct marker_row *marker = range_marker(r->range, lead->marker);

	if (lead->ticks == 0 || !marker)
		return;
	v->zone = marker->name;
	v->zone_ns = range_ns(r->range, lead->ticks);
}

void verdict_displays(const struct range *range, struct displays *ret_displays)
{
	const char *facts = range->row.facts_json, *source;
	struct body *body = NULL;
	int line, column;

	*ret_displays = (struct displays){0};
	if (!facts || body_parse(facts, strlen(facts), &body, &line, &column) < 0)
		return;
	if (body_kind(body, "display_hz") == BODY_TEXT &&
	    displays_parse(body_text(body, "display_hz"), ret_displays) == 0) {
		source = body_text(body, "display_source");
		ret_displays->configured = source && strcmp(source, "configured") == 0;
	}
	body_free(body);
}

/* near: where the frame is among those around. */
static void partition(const struct reading *r, size_t near, struct marking *m,
		      const struct frame_row *row, struct verdict *v)
{
	verdict_partition(v, r->range, row->t0, row->t1, &m->cursor);
	if (v->events == EVENTS_GONE && v->ns[PART_UNKNOWN] == v->wall_ns) {
		memset(v->ns, 0, sizeof(v->ns));
		memset(v->evidence, 0, sizeof(v->evidence));
		verdict_partition_row(v, row);
	}
	if (v->evidence[PART_CPU].zone_ns == 0)
		return;
	v->ran = verdict_ran_of(&r->rans, near);
	verdict_check_cpu(v);
}

static void read_frames(struct reading *r, const struct displays *displays, verdicts_vec *verdicts)
{
	size_t i, gpu = 0;

	for (i = 0; i < r->threads.count; i++) {
		struct marking *m = &r->threads.at[i];

		m->cursor = (struct verdict_cursor){.sched = &m->sched, .waits = &m->waits};
	}
	for (i = 0; i < r->range->frames.frames.count; i++) {
		const struct frame_row *row = &r->range->frames.frames.at[i].row;
		struct verdict *v = &verdicts->at[verdicts->count++];
		size_t near = verdict_rans_find(&r->rans, row->frame);

		memset(v, 0, sizeof(*v));
		v->frame = row->frame;
		v->events = events_of(r->range, i);
		verdict_ran_usual(&r->rans, near, &v->usual_ns, &v->spread);
		v->gpu_busy_ns = gpu_busy(r->range, row->frame, &gpu);
		set_zone(r, i, v);
		v->fit = displays_fit(displays, v->usual_ns);
		partition(r, near, marking_of(r, row->track), row, v);
		verdict_who_name(&v->let_go, r->range);
		verdict_who_name(&v->had_cpu, r->range);
	}
}

int verdict_range(struct history *h, const struct range *range, const struct displays *displays,
		  verdicts_vec *ret_verdicts)
{
	__attribute__((cleanup(reading_deinit))) struct reading r = {.range = range};
	verdicts_vec verdicts = {0};
	size_t i;
	int rc = read_all(h, &r);

	if (rc == 0)
		rc = verdict_rans_read(h, range, &r.rans);
	if (rc == 0)
		rc = VEC_RESERVE(&verdicts, range->frames.frames.count + 1);
	if (rc < 0)
		return rc;
	read_frames(&r, displays, &verdicts);
	rc = verdict_let_go_zones(h, range, &verdicts);
	if (rc < 0) {
		VEC_FREE(&verdicts);
		return rc;
	}
	for (i = 0; i < verdicts.count; i++)
		verdict_judge(&verdicts.at[i]);
	*ret_verdicts = verdicts;
	return 0;
}

/* ---- all together ---- */

static void add_evidence(struct verdict_evidence *sum, const struct verdict_evidence *e)
{
	sum->zone_ns += e->zone_ns;
	sum->kernel_ns += e->kernel_ns;
	sum->both_ns += e->both_ns;
	sum->denied_ns += e->denied_ns;
}

enum usual { USUAL_FRAME, USUAL_WALL, USUAL_WORK, USUAL_FRAMES, USUALS };

static double usual_of(const struct verdict *v, int what)
{
	const double of[USUALS] = {
		[USUAL_FRAME] = (double)v->usual_ns,
		[USUAL_WALL] = (double)v->spread.wall_ns,
		[USUAL_WORK] = (double)v->spread.work_ns,
		[USUAL_FRAMES] = v->spread.frames,
	};

	return of[what];
}

/* What is usual of them all, and its fit to the displays. */
static int usual_fit(const verdicts_vec *verdicts, const struct displays *displays,
		     struct verdict_sum *s)
{
	_cleanup_free_ double *usual = calloc(verdicts->count + 1, sizeof(*usual));
	double median[USUALS];
	size_t i;
	int what;

	if (!usual)
		return -ENOMEM;
	for (what = 0; what < USUALS; what++) {
		for (i = 0; i < verdicts->count; i++)
			usual[i] = usual_of(&verdicts->at[i], what);
		median[what] = statistics_median(usual, verdicts->count);
	}
	s->usual_ns = (int64_t)median[USUAL_FRAME];
	s->spread =
		(struct verdict_spread){(unsigned)median[USUAL_FRAMES], (int64_t)median[USUAL_WALL],
					(int64_t)median[USUAL_WORK]};
	s->fit = displays_fit(displays, s->usual_ns);
	return 0;
}

static void add_gpu(struct verdict_sum *s, const struct verdict *v)
{
	if (v->gpu_busy_ns == NS_UNKNOWN)
		return;
	s->gpu_busy_ns = MAX(s->gpu_busy_ns, 0) + v->gpu_busy_ns;
	s->gpu_wall_ns += v->wall_ns;
	s->gpu_frames++;
}

static void add_verdict(struct verdict_sum *s, const struct verdict *v)
{
	int part;

	s->frames++;
	s->wall_ns += v->wall_ns;
	for (part = 0; part < PARTS; part++) {
		s->ns[part] += v->ns[part];
		add_evidence(&s->evidence[part], &v->evidence[part]);
	}
	verdict_people_add(&s->let_go, &v->let_go);
	verdict_people_add(&s->had_cpu, &v->had_cpu);
	add_gpu(s, v);
	s->bound_frames[v->bound]++;
	s->bound_ns[v->bound] += v->wall_ns;
	s->confidence += v->confidence * (double)v->wall_ns;
}

/* Adds to the sentence. */
static void sum_more(struct verdict_sum *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void sum_more(struct verdict_sum *s, const char *format, ...)
{
	size_t at = strlen(s->sentence);
	va_list args;

	va_start(args, format);
	vsnprintf(s->sentence + at, sizeof(s->sentence) - at, format, args);
	va_end(args);
}

static void sum_who(struct verdict_sum *s)
{
	struct verdict_who who = {0};
	char name[128];

	if (s->bound == BOUND_LOCK)
		who = verdict_people_most(&s->let_go);
	else if (s->bound == BOUND_SCHEDULER)
		who = verdict_people_most(&s->had_cpu);
	if (who.ns == 0)
		return;
	verdict_who_words(&who, name, sizeof(name));
	if (s->bound == BOUND_LOCK)
		sum_more(s, " %s let go of locks after %.2f ms of waiting%s%.80s.", name,
			 (double)who.ns / 1e6, who.zone ? ", of the longest in " : "",
			 who.zone ? who.zone : "");
	else
		sum_more(s, " %s had the CPU for %.2f ms meanwhile.", name, (double)who.ns / 1e6);
}

int verdict_sum(const verdicts_vec *verdicts, const struct counted *counted,
		const struct displays *displays, struct verdict_sum *ret_sum)
{
	struct verdict_sum s = {.gpu_busy_ns = NS_UNKNOWN};
	size_t i;
	enum verdict_bound b;
	int r = usual_fit(verdicts, displays, &s);

	if (r < 0)
		return r;
	for (i = 0; i < verdicts->count; i++)
		if (!counted->out[i])
			add_verdict(&s, &verdicts->at[i]);
	for (b = 0; b < BOUNDS; b++)
		if (s.bound_ns[b] > s.bound_ns[s.bound])
			s.bound = b;
	s.confidence = s.wall_ns > 0 ? s.confidence / (double)s.wall_ns : 0.0;
	snprintf(s.sentence, sizeof(s.sentence),
		 "%llu of %llu frames, %.0f%% of the time, were bound by %s.",
		 (unsigned long long)s.bound_frames[s.bound], (unsigned long long)s.frames,
		 s.wall_ns > 0 ? 100.0 * (double)s.bound_ns[s.bound] / (double)s.wall_ns : 0.0,
		 verdict_bound_names[s.bound]);
	sum_who(&s);
	if (s.fit.unseen > 0)
		sum_more(&s, " At %.4g Hz on a %.4g Hz display %u of %u frames are never shown.",
			 s.fit.cadence_hz, s.fit.display_hz, s.fit.unseen, s.fit.of);
	*ret_sum = s;
	return 0;
}
