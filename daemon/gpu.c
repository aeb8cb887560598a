// SPDX-License-Identifier: MIT
/*
 * A frame's GPU work, collected by the identity that it carries, until nothing more can come.
 *
 * A frame is held from its first submission or span until GPU_FRAMES_PENDING frames after it were
 * closed; what comes later is dropped and counted by the caller. Within that time its rows may be
 * said again, each time with all that is known. Per frame and queue there are submissions (each
 * unanswered, answered or given up) and spans. A span's place on the session's axis is settled when
 * it is first written out (by then as many calibration pairs as possible are known) and never
 * changes.
 *
 * Without any pair a submission's earliest span is taken to begin when it was submitted. A span of
 * which no submission is known gets one made up, that ended when it arrived.
 *
 * Frame numbers, submissions and times are the game's words: everything held is bounded, and a
 * frame far ahead of those closed is refused, since its rows would stay for as long as it does not
 * come.
 */
#include "gpu.h"

#include "gpu_clock.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define QUEUES_MAX	64u
#define FRAMES_MAX	2048u  /* held at once: those ahead, and what closed since a flush */
#define SUBMISSIONS_MAX 1024u  /* of one frame and queue */
#define SPANS_MAX	16384u /* of one frame and queue */
#define HELD_SPANS_MAX	262144u
#define SPAN_NS_MAX	INT64_C(60000000000)
#define TIME_LIMIT_NS	(INT64_C(1) << 61) /* no sum of two times overflows */

struct queue {
	uint32_t queue, track, valid_bits;
	struct gpu_clock clock;
};

struct submission {
	uint64_t submission;
	uint32_t view;
	bool answered, given_up;
	bool anchored; /* without calibration: anchor, raw, lies at ns */
	bool has_anchor;
	uint64_t anchor;
	int64_t ns;
};

struct span {
	struct gpu_span said;
	size_t submission;	  /* index */
	int64_t begin_ns, end_ns; /* once written out */
};

struct frame_queue {
	struct queue *queue;
	VEC(struct submission) submissions;
	VEC(struct span) spans;
	uint64_t dropped; /* results that will never come and belong to no open submission */
	size_t written;	  /* spans[0, written) were written out */
	bool dirty, said_final;
};

struct frame {
	uint64_t frame;
	VEC(struct frame_queue) queues;
};

struct gpu {
	uint64_t session;
	VEC(struct queue *) queues;
	VEC(struct frame *) frames; /* in the order in which they were first heard of */
	size_t held_spans;
	bool any_closed;
	uint64_t last_closed;
	uint64_t missing;
};

static int64_t bound(int64_t ns)
{
	return MAX(-TIME_LIMIT_NS, MIN(ns, TIME_LIMIT_NS));
}

struct gpu *gpu_new(uint64_t session)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));

	if (gpu)
		gpu->session = session;
	return gpu;
}

static void frame_free(struct gpu *gpu, struct frame *frame)
{
	size_t i;

	for (i = 0; i < frame->queues.count; i++) {
		gpu->held_spans -= frame->queues.at[i].spans.count;
		VEC_FREE(&frame->queues.at[i].submissions);
		VEC_FREE(&frame->queues.at[i].spans);
	}
	VEC_FREE(&frame->queues);
	free(frame);
}

void gpu_free(struct gpu *gpu)
{
	size_t i;

	if (!gpu)
		return;
	for (i = 0; i < gpu->frames.count; i++)
		frame_free(gpu, gpu->frames.at[i]);
	for (i = 0; i < gpu->queues.count; i++)
		free(gpu->queues.at[i]);
	VEC_FREE(&gpu->frames);
	VEC_FREE(&gpu->queues);
	free(gpu);
}

static struct queue *queue_find(const struct gpu *gpu, uint32_t id)
{
	size_t i;

	for (i = 0; i < gpu->queues.count; i++)
		if (gpu->queues.at[i]->queue == id)
			return gpu->queues.at[i];
	return NULL;
}

int gpu_queue(struct gpu *gpu, uint32_t queue, uint32_t track, double ns_per_tick,
	      uint32_t valid_bits)
{
	struct queue *known = queue_find(gpu, queue), *q;
	struct gpu_clock clock;
	int r = gpu_clock_init(&clock, ns_per_tick, valid_bits);

	if (r < 0)
		return r;
	if (known) {
		known->track = track;
		if (known->clock.ns_per_tick < ns_per_tick ||
		    known->clock.ns_per_tick > ns_per_tick || known->valid_bits != valid_bits)
			known->clock = clock;
		known->valid_bits = valid_bits;
		return 0;
	}
	if (gpu->queues.count == QUEUES_MAX)
		return -ENOSPC;
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = (struct queue){
		.queue = queue, .track = track, .valid_bits = valid_bits, .clock = clock};
	r = VEC_PUSH(&gpu->queues, q);
	if (r < 0)
		free(q);
	return r;
}

void gpu_calibrate(struct gpu *gpu, uint32_t queue, uint64_t gpu_ticks, int64_t ns)
{
	struct queue *q = queue_find(gpu, queue);

	if (q)
		gpu_clock_add(&q->clock, gpu_ticks, ns);
}

static struct frame *frame_find(const struct gpu *gpu, uint64_t number)
{
	size_t i;

	for (i = gpu->frames.count; i > 0; i--)
		if (gpu->frames.at[i - 1]->frame == number)
			return gpu->frames.at[i - 1];
	return NULL;
}

static bool frame_is_over(const struct gpu *gpu, uint64_t number)
{
	return gpu->any_closed && gpu->last_closed >= GPU_FRAMES_PENDING &&
	       number <= gpu->last_closed - GPU_FRAMES_PENDING;
}

/* A number that the game may never reach. */
static bool frame_is_far(const struct gpu *gpu, uint64_t number)
{
	return number > gpu->last_closed && number - gpu->last_closed > GPU_FRAMES_AHEAD;
}

/* The frame, made when it is new. NULL: too late, too far ahead, or no room. */
static struct frame *frame_get(struct gpu *gpu, uint64_t number)
{
	struct frame *frame;

	if (frame_is_over(gpu, number) || frame_is_far(gpu, number))
		return NULL;
	frame = frame_find(gpu, number);
	if (frame || gpu->frames.count == FRAMES_MAX)
		return frame;
	frame = calloc(1, sizeof(*frame));
	if (!frame)
		return NULL;
	frame->frame = number;
	if (VEC_PUSH(&gpu->frames, frame) < 0) {
		free(frame);
		return NULL;
	}
	return frame;
}

static struct frame_queue *frame_queue_get(struct gpu *gpu, uint64_t number, uint32_t queue)
{
	struct queue *q = queue_find(gpu, queue);
	struct frame *frame = q ? frame_get(gpu, number) : NULL;
	struct frame_queue new = {.queue = q};
	size_t i;

	if (!frame)
		return NULL;
	for (i = 0; i < frame->queues.count; i++)
		if (frame->queues.at[i].queue == q)
			return &frame->queues.at[i];
	if (VEC_PUSH(&frame->queues, new) < 0)
		return NULL;
	return &frame->queues.at[frame->queues.count - 1];
}

#define NO_SUBMISSION SIZE_MAX

/* The submission that this view of it belongs to: by view, else an unanswered one, else any. */
static size_t submission_find(const struct frame_queue *fq, uint64_t submission, uint32_t view)
{
	size_t i, found = NO_SUBMISSION;

	for (i = 0; i < fq->submissions.count; i++) {
		const struct submission *s = &fq->submissions.at[i];

		if (s->submission != submission)
			continue;
		if (s->view == view)
			return i;
		if (found == NO_SUBMISSION || (fq->submissions.at[found].answered && !s->answered))
			found = i;
	}
	return found;
}

static size_t submission_add(struct frame_queue *fq, const struct submission *s)
{
	if (fq->submissions.count == SUBMISSIONS_MAX || VEC_PUSH(&fq->submissions, *s) < 0)
		return NO_SUBMISSION;
	return fq->submissions.count - 1;
}

void gpu_submit(struct gpu *gpu, uint32_t queue, uint32_t view, uint64_t submission, uint64_t frame,
		int64_t ns)
{
	struct frame_queue *fq = frame_queue_get(gpu, frame, queue);
	struct submission s = {.submission = submission, .view = view, .ns = ns};
	size_t known;

	if (!fq)
		return;
	fq->dirty = true;
	known = submission_find(fq, submission, view);
	if (known != NO_SUBMISSION && fq->submissions.at[known].view == view)
		return;
	if (submission_add(fq, &s) == NO_SUBMISSION)
		fq->dropped++;
}

/* How long a possible span is in ticks; UINT64_MAX: it is impossible. */
static uint64_t span_ticks(const struct gpu_clock *clock, const struct gpu_span *span)
{
	uint64_t ticks = gpu_clock_ticks_between(clock, span->begin, span->end);

	if ((span->end & clock->mask) == 0 || ticks == UINT64_MAX ||
	    gpu_clock_duration_ns(clock, (int64_t)ticks) > SPAN_NS_MAX)
		return UINT64_MAX;
	return ticks;
}

/* Which submission a span answers; made up when none is known. */
static size_t answer(struct frame_queue *fq, const struct gpu_span *span, int64_t arrival_ns,
		     uint64_t ticks)
{
	size_t i = submission_find(fq, span->submission, span->view);
	struct submission s = {
		.submission = span->submission,
		.view = span->view,
		.ns = bound(arrival_ns) - gpu_clock_duration_ns(&fq->queue->clock, (int64_t)ticks),
	};

	if (i == NO_SUBMISSION)
		i = submission_add(fq, &s);
	if (i != NO_SUBMISSION) {
		fq->submissions.at[i].answered = true;
		fq->submissions.at[i].given_up = false;
	}
	return i;
}

bool gpu_span(struct gpu *gpu, const struct gpu_span *span, int64_t arrival_ns)
{
	struct queue *q = queue_find(gpu, span->queue);
	uint64_t ticks = q ? span_ticks(&q->clock, span) : UINT64_MAX;
	struct span held = {.said = *span};
	struct frame_queue *fq;

	if (ticks == UINT64_MAX || gpu->held_spans >= HELD_SPANS_MAX)
		return false;
	fq = frame_queue_get(gpu, span->frame, span->queue);
	if (!fq || fq->spans.count == SPANS_MAX || VEC_RESERVE(&fq->spans, 1) < 0)
		return false;
	held.submission = answer(fq, span, arrival_ns, ticks);
	if (held.submission == NO_SUBMISSION)
		return false;
	fq->spans.at[fq->spans.count++] = held;
	gpu->held_spans++;
	fq->dirty = true;
	return true;
}

void gpu_dropped(struct gpu *gpu, uint32_t queue, uint64_t frame, uint64_t count)
{
	struct frame_queue *fq = frame_queue_get(gpu, frame, queue);
	size_t i;

	if (!fq || count == 0)
		return;
	fq->dirty = true;
	for (i = 0; i < fq->submissions.count && count > 0; i++) {
		struct submission *s = &fq->submissions.at[i];

		if (s->answered || s->given_up)
			continue;
		s->given_up = true;
		count--;
	}
	fq->dropped += MIN(count, UINT32_MAX);
}

void gpu_frame_closed(struct gpu *gpu, uint64_t frame)
{
	if (!gpu->any_closed || frame > gpu->last_closed)
		gpu->last_closed = frame;
	gpu->any_closed = true;
}

static uint32_t submissions_waiting(const struct frame_queue *fq)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < fq->submissions.count; i++)
		n += !fq->submissions.at[i].answered && !fq->submissions.at[i].given_up;
	return n;
}

static uint32_t results_missing(const struct frame_queue *fq)
{
	uint64_t n = fq->dropped;
	size_t i;

	for (i = 0; i < fq->submissions.count; i++)
		n += !fq->submissions.at[i].answered;
	return (uint32_t)MIN(n, UINT32_MAX);
}

bool gpu_frame_pending(const struct gpu *gpu, uint64_t frame)
{
	const struct frame *f = frame_find(gpu, frame);
	size_t i;

	for (i = 0; f && i < f->queues.count; i++)
		if (submissions_waiting(&f->queues.at[i]) > 0)
			return true;
	return false;
}

/* Without calibration: what of a submission begins first, of what is known now. */
static void find_anchors(struct frame_queue *fq)
{
	const struct gpu_clock *clock = &fq->queue->clock;
	size_t i;

	for (i = fq->written; i < fq->spans.count; i++) {
		struct submission *s = &fq->submissions.at[fq->spans.at[i].submission];
		uint64_t begin = fq->spans.at[i].said.begin;

		if (s->anchored)
			continue;
		if (!s->has_anchor || gpu_clock_distance(clock, s->anchor, begin) < 0)
			s->anchor = begin;
		s->has_anchor = true;
	}
	for (i = 0; i < fq->submissions.count; i++)
		fq->submissions.at[i].anchored = fq->submissions.at[i].has_anchor;
}

static void place_by_submission(const struct gpu_clock *clock, const struct submission *s,
				struct span *span, int64_t ticks)
{
	int64_t after = gpu_clock_distance(clock, s->anchor, span->said.begin);

	span->begin_ns = s->ns + gpu_clock_duration_ns(clock, after);
	span->end_ns = span->begin_ns + gpu_clock_duration_ns(clock, ticks);
}

static void place_by_pairs(const struct gpu_clock *clock, const struct submission *s,
			   struct span *span, int64_t ticks)
{
	uint64_t begin = gpu_clock_unwrap(clock, span->said.begin, s->ns);

	span->begin_ns = gpu_clock_ns(clock, begin);
	span->end_ns = gpu_clock_ns(clock, begin + (uint64_t)ticks);
}

static int write_span(const struct gpu *gpu, const struct frame_queue *fq, struct span *span,
		      struct batch *batch)
{
	const struct gpu_clock *clock = &fq->queue->clock;
	const struct submission *s = &fq->submissions.at[span->submission];
	int64_t ticks = (int64_t)gpu_clock_ticks_between(clock, span->said.begin, span->said.end);
	struct gpu_span_row row = {
		.session = gpu->session,
		.frame = span->said.frame,
		.track = fq->queue->track,
		.marker = span->said.marker,
		.submission = span->said.submission,
		.view = span->said.view,
		.fence = span->said.fence,
		.calibrated = clock->count > 0,
		.raw_begin = span->said.begin,
		.raw_end = span->said.end,
	};

	if (row.calibrated)
		place_by_pairs(clock, s, span, ticks);
	else
		place_by_submission(clock, s, span, ticks);
	row.begin_ns = span->begin_ns;
	row.end_ns = span->end_ns;
	return VEC_PUSH(&batch->gpu_spans, row);
}

struct interval {
	int64_t begin, end;
};

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Span and busy time of all spans that were placed. */
static int sum_up(const struct frame_queue *fq, int64_t *ret_span, int64_t *ret_busy)
{
	size_t i, n = fq->spans.count;
	_cleanup_free_ struct interval *at = malloc((n + 1) * sizeof(*at));
	int64_t end, busy = 0;

	if (!at)
		return -ENOMEM;
	*ret_span = *ret_busy = NS_UNKNOWN;
	if (n == 0)
		return 0;
	for (i = 0; i < n; i++)
		at[i] = (struct interval){fq->spans.at[i].begin_ns, fq->spans.at[i].end_ns};
	qsort(at, n, sizeof(*at), compare_intervals);
	for (i = 0, end = at[0].begin; i < n; i++) {
		if (at[i].end <= end)
			continue;
		busy += at[i].end - MAX(at[i].begin, end);
		end = at[i].end;
	}
	*ret_span = end - at[0].begin;
	*ret_busy = busy;
	return 0;
}

static int write_frame_queue(const struct gpu *gpu, uint64_t frame, struct frame_queue *fq,
			     bool final, struct batch *batch)
{
	struct frame_gpu_row row = {
		.session = gpu->session,
		.frame = frame,
		.track = fq->queue->track,
		.final = final,
		.missing = results_missing(fq),
		.spans = (uint32_t)fq->spans.count,
	};
	int r;

	if (fq->queue->clock.count == 0)
		find_anchors(fq);
	for (; fq->written < fq->spans.count; fq->written++) {
		r = write_span(gpu, fq, &fq->spans.at[fq->written], batch);
		if (r < 0)
			return r;
	}
	r = sum_up(fq, &row.span_ns, &row.busy_ns);
	if (r < 0)
		return r;
	r = VEC_PUSH(&batch->frame_gpus, row);
	if (r < 0)
		return r;
	fq->dirty = false;
	fq->said_final = final;
	return 0;
}

static int write_frame(struct gpu *gpu, struct frame *frame, bool over, struct batch *batch)
{
	bool closed = gpu->any_closed && frame->frame <= gpu->last_closed;
	size_t i;
	int r;

	for (i = 0; i < frame->queues.count; i++) {
		struct frame_queue *fq = &frame->queues.at[i];
		bool final = over || (closed && submissions_waiting(fq) == 0);

		if (over)
			gpu->missing += results_missing(fq);
		if (!fq->dirty && fq->said_final == final)
			continue;
		r = write_frame_queue(gpu, frame->frame, fq, final, batch);
		if (r < 0)
			return r;
	}
	return 0;
}

int gpu_flush(struct gpu *gpu, struct batch *batch, bool all)
{
	size_t i, kept = 0;
	int r = 0;

	for (i = 0; i < gpu->frames.count; i++) {
		struct frame *frame = gpu->frames.at[i];
		bool over = all || frame_is_over(gpu, frame->frame);

		if (r == 0)
			r = write_frame(gpu, frame, over, batch);
		if (r == 0 && over)
			frame_free(gpu, frame);
		else
			gpu->frames.at[kept++] = frame;
	}
	gpu->frames.count = kept;
	return r;
}

uint64_t gpu_take_missing(struct gpu *gpu)
{
	uint64_t missing = gpu->missing;

	gpu->missing = 0;
	return missing;
}
