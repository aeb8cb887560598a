/* SPDX-License-Identifier: MIT */
/*
 * The calls kept are a heap with the one that would go first on top; a call that does not beat it
 * is only counted. A call's own time is its duration less that of the calls right inside it, which
 * have all ended before it does: sums[depth] adds up those of a depth since the call around them
 * began.
 */
#include "zone_calls.h"

#include "zone_table.h"

#include <errno.h>
#include <string.h>

struct search {
	const struct range *range;
	const struct zone_calls_query *query;
	struct counted *counted;
	struct zone_calls *result;
	bool *wanted; /* by marker */
	uint32_t track;
	size_t frame; /* hint */
	VEC(int64_t) sums;
	struct zone_kernel kernel;
	bool scheduled;			   /* the track's threads are told of */
	VEC(struct zone_kernel_ns) begins; /* of the calls in progress, by depth */
	VEC(struct zone_call) spans; /* of a GPU queue, around each other: more may come inside */
};

void zone_calls_deinit(struct zone_calls *calls)
{
	size_t i;

	for (i = 0; i < calls->calls.count; i++)
		free(calls->calls.at[i].text);
	VEC_FREE(&calls->calls);
}

/* --- which are wanted -------------------------------------------------------------------- */

static bool fits(const struct search *s, uint32_t marker)
{
	return zone_fits(s->range, marker, s->query->name, s->query->category);
}

static int find_wanted(struct search *s)
{
	size_t i;

	s->wanted = malloc(s->range->markers.count + 1);
	if (!s->wanted)
		return -ENOMEM;
	for (i = 0; i < s->range->markers.count; i++)
		s->wanted[i] = fits(s, (uint32_t)i);
	return 0;
}

static bool is_wanted(const struct search *s, uint32_t marker)
{
	return marker < s->range->markers.count ? s->wanted[marker] : fits(s, marker);
}

/* --- the heap ---------------------------------------------------------------------------- */

static int64_t value_of(const struct zone_call *call, enum zone_calls_sort sort)
{
	switch (sort) {
	case ZONE_CALLS_SELF:
		return call->self_ns;
	case ZONE_CALLS_START:
		return call->start_ns;
	default:
		return call->duration_ns;
	}
}

/* Does x come before y in the answer? What is equal goes by its start, then by its track. */
static bool is_before(const struct zone_calls_query *query, const struct zone_call *x,
		      const struct zone_call *y)
{
	int64_t u = value_of(x, query->sort), v = value_of(y, query->sort);

	if (u != v)
		return query->ascending ? u < v : u > v;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns;
	return x->track != y->track ? x->track < y->track : x->depth < y->depth;
}

static void swap(struct zone_call *x, struct zone_call *y)
{
	struct zone_call moved = *x;

	*x = *y;
	*y = moved;
}

/* The top is the last in the answer. */
static void sift_up(struct search *s, size_t at)
{
	struct zone_call *c = s->result->calls.at;

	while (at > 0 && is_before(s->query, &c[(at - 1) / 2], &c[at])) {
		swap(&c[(at - 1) / 2], &c[at]);
		at = (at - 1) / 2;
	}
}

static void sift_down(const struct zone_calls_query *query, struct zone_call *c, size_t count)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && is_before(query, &c[child], &c[child + 1]))
			child++;
		if (!is_before(query, &c[at], &c[child]))
			return;
		swap(&c[at], &c[child]);
		at = child;
	}
}

static int keep(struct search *s, struct zone_call *call, const char *text)
{
	struct zone_calls *result = s->result;

	result->count++;
	if (s->query->most == 0 || (result->calls.count == s->query->most &&
				    !is_before(s->query, call, &result->calls.at[0])))
		return 0;
	call->text = text ? strdup(text) : NULL;
	if (text && !call->text)
		return -ENOMEM;
	if (result->calls.count == s->query->most) {
		free(result->calls.at[0].text);
		result->calls.at[0] = *call;
		sift_down(s->query, result->calls.at, result->calls.count);
		return 0;
	}
	if (VEC_PUSH(&result->calls, *call) < 0) {
		free(call->text);
		return -ENOMEM;
	}
	sift_up(s, result->calls.count - 1);
	return 0;
}

/* Takes the last one off the top again and again. */
static void sort_calls(const struct search *s)
{
	struct zone_call *c = s->result->calls.at;
	size_t count = s->result->calls.count;

	while (count > 1) {
		swap(&c[0], &c[--count]);
		sift_down(s->query, c, count);
	}
}

/* --- the visit --------------------------------------------------------------------------- */

/* Nothing more comes inside the spans from depth on. */
static int keep_spans(struct search *s, size_t depth)
{
	int r = 0;

	while (s->spans.count > depth && r == 0) {
		struct zone_call *call = &s->spans.at[--s->spans.count];

		if (call->frame > 0 && is_wanted(s, call->marker))
			r = keep(s, call, NULL);
	}
	return r;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct search *s = userdata;
	int r = keep_spans(s, 0);

	(void)track;
	s->track = (uint32_t)index;
	s->sums.count = 0;
	s->begins.count = 0;
	s->scheduled = zone_kernel_track(&s->kernel, index);
	if (r < 0)
		return r;
	return s->query->skip && s->query->skip[index] ? 1 : 0;
}

/* The time of the calls right inside one of this depth, which begin anew for the next one; adds
 * this one to those of its depth. */
static int take_children(struct search *s, uint32_t depth, int64_t duration, int64_t *ret_children)
{
	if (VEC_RESERVE(&s->sums, depth + 2 > s->sums.count ? depth + 2 - s->sums.count : 0) < 0)
		return -ENOMEM;
	while (s->sums.count < depth + 2)
		s->sums.at[s->sums.count++] = 0;
	*ret_children = s->sums.at[depth + 1];
	s->sums.at[depth + 1] = 0;
	s->sums.at[depth] += duration;
	return 0;
}

static uint64_t frame_number(struct search *s, int64_t t)
{
	s->frame = range_frame_at(s->range, t, s->frame);
	return s->frame == SIZE_MAX ? 0 : s->range->frames.frames.at[s->frame].row.frame;
}

/* Only where the scheduler tells of some thread. */
static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct search *s = userdata;
	struct zone_kernel_ns begin;
	bool out;

	(void)marker;
	(void)depth;
	if (!s->scheduled)
		return 0;
	zone_kernel_at(&s->kernel, t, counted_ns(s->counted, t, &out), &begin);
	return VEC_PUSH(&s->begins, begin);
}

static void take_kernel(struct search *s, int64_t t, int64_t ns, struct zone_call *call)
{
	struct zone_kernel_ns end;

	call->scheduled = s->scheduled;
	if (!s->scheduled)
		return;
	zone_kernel_at(&s->kernel, t, ns, &end);
	zone_kernel_add(&call->kernel, &s->begins.at[--s->begins.count], &end);
}

static int on_end(void *userdata, const struct range_zone *z)
{
	struct search *s = userdata;
	struct zone_call call = {.track = s->track,
				 .marker = z->marker,
				 .depth = z->depth,
				 .flags = z->flags,
				 .has_value = z->has_value,
				 .value_is_double = z->value_is_double};
	bool out_begin, out_end;
	int64_t begin = counted_ns(s->counted, z->begin, &out_begin), children;
	int r;

	call.duration_ns = counted_ns(s->counted, z->end, &out_end) - begin;
	take_kernel(s, z->end, begin + call.duration_ns, &call);
	r = take_children(s, z->depth, call.duration_ns, &children);
	if (r < 0 || (out_begin && call.duration_ns == 0) || !is_wanted(s, z->marker))
		return r;
	call.self_ns = call.duration_ns - children;
	call.start_ns = range_ns(s->range, z->begin);
	call.full_start_ns = range_ns(s->range, z->full_begin);
	call.full_duration_ns = z->full_end == INT64_MAX
					? NS_UNKNOWN
					: range_ns(s->range, z->full_end) - call.full_start_ns;
	call.frame = frame_number(s, z->begin);
	call.value.i = z->value.i;
	return keep(s, &call, z->text);
}

/* A span of a frame that is left out is none, but may be around others. */
static int on_gpu(void *userdata, const struct range_gpu_zone *z)
{
	struct search *s = userdata;
	struct zone_call call = {.track = s->track,
				 .marker = z->span.marker,
				 .depth = z->depth,
				 .start_ns = z->span.begin_ns,
				 .full_start_ns = z->span.begin_ns,
				 .duration_ns = MAX(z->span.end_ns - z->span.begin_ns, 0),
				 .frame = z->span.frame};
	int64_t ignored;
	int r = keep_spans(s, z->depth);

	call.self_ns = call.full_duration_ns = call.duration_ns;
	if (!counted_begin_of(s->counted, z->span.frame, &ignored))
		call.frame = 0;
	else if (s->spans.count > 0)
		s->spans.at[s->spans.count - 1].self_ns -= call.duration_ns;
	return r < 0 ? r : VEC_PUSH(&s->spans, call);
}

int zone_calls_read(struct history *h, const struct range *range,
		    const struct zone_calls_query *query, struct counted *counted,
		    struct zone_calls *ret_calls)
{
	struct zone_calls calls = {0};
	struct search s = {.range = range, .query = query, .counted = counted, .result = &calls};
	struct range_visitor visitor = {
		.userdata = &s, .track = on_track, .end = on_end, .gpu = on_gpu};
	int r = find_wanted(&s);

	if (r == 0)
		r = zone_kernel_read(h, counted, query->skip, &s.kernel);
	if (s.kernel.any)
		visitor.begin = on_begin;
	if (r == 0)
		r = range_visit(h, range, &visitor);
	if (r == 0)
		r = keep_spans(&s, 0);
	free(s.wanted);
	VEC_FREE(&s.sums);
	VEC_FREE(&s.begins);
	zone_kernel_deinit(&s.kernel);
	VEC_FREE(&s.spans);
	if (r < 0) {
		zone_calls_deinit(&calls);
		return r;
	}
	sort_calls(&s);
	*ret_calls = calls;
	return 0;
}
