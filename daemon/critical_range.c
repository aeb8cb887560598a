/* SPDX-License-Identifier: MIT */
/*
 * First the walks, over what the scheduler did alone: slices of time, each a thread's. They are
 * put aside by thread, and then one visit of those threads' zones cuts them where the innermost
 * zone changes. So nothing is held of the zones themselves, and threads that no path comes to are
 * not read.
 *
 * Points are converted, never durations, so pieces add up to the wall time.
 */
#include "critical_range.h"

#include "util.h"

#include <errno.h>
#include <string.h>

const char *const path_state_names[PATH_STATES] = {"unknown", "running", "runnable", "blocked",
						   "gpu"};
const char *const path_evidence_names[PATH_EVIDENCES] = {"zone", "kernel", "both"};

/* An open zone. */
struct open_zone {
	uint32_t node;
	uint8_t wait; /* of the innermost wait zone */
};

/* The slices of one thread, in order, and how far they were cut: up to since, within slice at. */
struct thread_slices {
	path_slices_vec slices;
	size_t at;
	int64_t since;
};

struct reading {
	struct critical *c;
	const struct range *range;
	bool pieces;
	struct thread_slices *threads;
	/* by node, and by thread for those without a track */
	VEC(struct path_row) sums;
	struct path_row *others;
	/* the track that is visited */
	struct thread_slices *now; /* NULL: none */
	uint32_t thread, track;
	VEC(struct open_zone) stack;
	int64_t at, at_ns; /* the point that was converted last */
};

/* --- pieces ------------------------------------------------------------------------------ */

static int64_t point_ns(struct reading *x, int64_t t)
{
	if (x->at != t) {
		x->at_ns = range_ns(x->range, t);
		x->at = t;
	}
	return x->at_ns;
}

static enum path_state waiting_in(uint8_t wait)
{
	return wait == FPROF_MARKER_WAIT_GPU ? PATH_GPU : PATH_BLOCKED;
}

/* What the thread did, as the kernel has it and the innermost wait zone. */
static enum path_state state_of(const struct sched_interval *i, uint8_t wait,
				enum path_evidence *ret_evidence)
{
	bool known = i && i->state != SCHED_STATE_UNKNOWN && i->state != SCHED_STATE_GONE;

	*ret_evidence = known ? PATH_BY_KERNEL : PATH_BY_ZONE;
	if (!known)
		return wait ? waiting_in(wait) : i ? PATH_UNKNOWN : PATH_RUNNING;
	if (i->state == SCHED_STATE_RUNNABLE)
		return PATH_RUNNABLE;
	if (wait)
		*ret_evidence = PATH_BY_BOTH;
	if (i->state == SCHED_STATE_RUNNING)
		return PATH_RUNNING;
	return i->reason == WAIT_GPU ? PATH_GPU : wait ? waiting_in(wait) : PATH_BLOCKED;
}

static struct path_row *row_of(struct reading *x, uint32_t thread, uint32_t node)
{
	if (node == PATH_NOBODY)
		return &x->others[thread];
	if (node >= x->sums.count) {
		size_t more = x->c->tree.nodes.count - x->sums.count;

		if (VEC_RESERVE(&x->sums, more) < 0)
			return NULL;
		memset(x->sums.at + x->sums.count, 0, more * sizeof(*x->sums.at));
		x->sums.count += more;
	}
	return &x->sums.at[node];
}

static int keep(struct reading *x, const struct path_piece *piece)
{
	if (x->c->pieces.count == CRITICAL_PIECES_MAX)
		return -E2BIG;
	return VEC_PUSH(&x->c->pieces, *piece);
}

/* A part [t0, t1) of a slice in which the innermost zone does not change. */
static int take(struct reading *x, const struct path_slice *slice, int64_t t0, int64_t t1,
		const struct open_zone *zone)
{
	const sched_intervals_vec *sched = &x->c->threads.at.at[slice->thread].sched;
	struct path_piece piece = {.t0 = t0,
				   .t1 = t1,
				   .thread = slice->thread,
				   .node = zone->node,
				   .interval = slice->interval,
				   .end = slice->end,
				   .wait = zone->wait};
	struct path_row *row = row_of(x, slice->thread, zone->node);
	int64_t ns;

	if (!row)
		return -ENOMEM;
	piece.state = state_of(slice->interval == PATH_NOBODY ? NULL : &sched->at[slice->interval],
			       zone->wait, &piece.evidence);
	piece.begin_ns = point_ns(x, t0);
	piece.end_ns = point_ns(x, t1);
	ns = piece.end_ns - piece.begin_ns;
	row->thread = slice->thread;
	row->node = zone->node;
	row->frames += row->seen != slice->frame + 1;
	row->seen = slice->frame + 1;
	row->ns[piece.state] += ns;
	x->c->ns[piece.state] += ns;
	if (piece.end != PATH_GOES_ON)
		x->c->waits_ns[piece.end] += ns;
	return x->pieces ? keep(x, &piece) : 0;
}

/* Up to t the track was in zone. */
static int cut(struct reading *x, int64_t t, const struct open_zone *zone)
{
	struct thread_slices *s = x->now;
	int r = 0;

	for (; r == 0 && s->at < s->slices.count && s->slices.at[s->at].t0 < t; s->at++) {
		const struct path_slice *slice = &s->slices.at[s->at];
		int64_t t0 = MAX(slice->t0, s->since), t1 = MIN(slice->t1, t);

		if (t0 < t1)
			r = take(x, slice, t0, t1, zone);
		if (slice->t1 > t)
			break;
	}
	s->since = MAX(s->since, t);
	return r;
}

/* --- the visit --------------------------------------------------------------------------- */

static const struct open_zone *innermost(const struct reading *x, struct open_zone *root)
{
	if (x->stack.count > 0)
		return &x->stack.at[x->stack.count - 1];
	*root = (struct open_zone){.node = x->track};
	return root;
}

static int cut_here(struct reading *x, int64_t t)
{
	struct open_zone root;

	return x->now ? cut(x, t, innermost(x, &root)) : 0;
}

/* What is left of the track's time; another one of this tid may follow it. */
static int finish_track(struct reading *x)
{
	int64_t end = x->now ? x->range->tracks.at[x->track].end_ticks : 0;
	int r;

	x->stack.count = 0;
	r = cut_here(x, MIN(end, x->range->t1));
	x->now = NULL;
	return r;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *x = userdata;
	int r = finish_track(x);

	(void)track;
	if (r < 0)
		return r;
	x->track = (uint32_t)index;
	x->thread = critical_threads_track(&x->c->threads, x->range, x->track);
	if (x->thread == PATH_NOBODY)
		return 1;
	x->now = &x->threads[x->thread];
	if (x->now->at < x->now->slices.count)
		return 0;
	x->now = NULL;
	return 1;
}

static uint8_t wait_of(const struct reading *x, uint32_t marker, uint8_t outer)
{
	uint8_t kind = marker < x->range->markers.count ? x->range->markers.at[marker].kind : 0;

	return kind >= FPROF_MARKER_WAIT_GPU && kind <= FPROF_MARKER_WAIT_CAP ? kind : outer;
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct reading *x = userdata;
	struct open_zone root, inner = *innermost(x, &root);
	int r = cut(x, t, &inner);

	(void)depth;
	if (r < 0)
		return r;
	r = zone_tree_enter(&x->c->tree, inner.node, marker, &inner.node);
	inner.wait = wait_of(x, marker, inner.wait);
	return r < 0 ? r : VEC_PUSH(&x->stack, inner);
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct reading *x = userdata;
	int r = cut(x, zone->end, &x->stack.at[x->stack.count - 1]);

	x->stack.count--;
	return r;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct reading *x = userdata;

	x->c->gaps++;
	x->c->lost_events = count_add(x->c->lost_events, gap->events);
	return 0;
}

/* Slices of threads without a track, or after its end. */
static int take_rest(struct reading *x)
{
	size_t i;
	int r = 0;

	for (i = 0; i < x->c->threads.at.count && r == 0; i++) {
		const struct open_zone outside = {.node = x->c->threads.at.at[i].track};

		x->now = &x->threads[i];
		if (x->now->at == x->now->slices.count)
			continue;
		r = cut(x, INT64_MAX, &outside);
	}
	x->now = NULL;
	return r;
}

/* --- all of it --------------------------------------------------------------------------- */

/* Puts the slices of a frame to their threads'. */
static int put_aside(struct reading *x, const path_slices_vec *slices)
{
	size_t i;
	int r = 0;

	for (i = 0; i < slices->count && r == 0; i++) {
		x->c->kernel |= slices->at[i].interval != PATH_NOBODY;
		r = VEC_PUSH(&x->threads[slices->at[i].thread].slices, slices->at[i]);
	}
	return r;
}

static uint32_t marking_thread(const struct reading *x, const struct frame_row *row)
{
	size_t i;

	for (i = 0; i < x->range->tracks.count; i++)
		if (x->range->tracks.at[i].track == row->track)
			return critical_threads_track(&x->c->threads, x->range, (uint32_t)i);
	for (i = 0; i < x->c->threads.at.count; i++)
		if (x->c->threads.at.at[i].track == PATH_NOBODY && x->c->threads.at.at[i].tid == 0)
			return (uint32_t)i;
	return PATH_NOBODY;
}

static int walk_frames(struct reading *x)
{
	const struct counted *counted = &x->c->tree.counted;
	const struct path_threads threads = {.at = x->c->threads.at.at,
					     .count = x->c->threads.at.count,
					     .with_tid = x->c->threads.with_tid,
					     .tgid = (uint32_t)x->range->row.pid};
	path_slices_vec slices = {0};
	size_t i;
	int r = 0;

	for (i = 0; i < counted->frames.count && r == 0; i++) {
		size_t index = counted->frames.at[i].index;
		const struct frame_row *row = &x->range->frames.frames.at[index].row;

		slices.count = 0;
		r = path_walk(&threads, marking_thread(x, row), (uint32_t)index, row->t0, row->t1,
			      &slices);
		if (r == 0)
			r = put_aside(x, &slices);
	}
	VEC_FREE(&slices);
	return r;
}

static int add_row(struct critical *c, const struct path_row *row)
{
	return row->total_ns > 0 ? VEC_PUSH(&c->rows, *row) : 0;
}

/* Nodes come after those that they are in. */
static int add_up(struct reading *x)
{
	struct critical *c = x->c;
	size_t i;
	int r = 0, state;

	if (!row_of(x, 0, (uint32_t)c->tree.nodes.count - 1))
		return -ENOMEM;
	for (i = x->sums.count; i-- > 0;) {
		struct path_row *row = &x->sums.at[i];
		uint32_t parent = c->tree.nodes.at[i].parent;

		row->node = (uint32_t)i;
		for (state = 0; state < PATH_STATES; state++)
			row->self_ns += row->ns[state];
		row->total_ns += row->self_ns;
		if (parent == ZONE_NODE_NONE || row->total_ns == 0)
			continue;
		x->sums.at[parent].total_ns += row->total_ns;
		x->sums.at[parent].thread = row->thread;
	}
	for (i = 0; i < x->sums.count && r == 0; i++)
		r = add_row(c, &x->sums.at[i]);
	for (i = 0; i < c->threads.at.count && r == 0; i++) {
		struct path_row *row = &x->others[i];

		for (state = 0; state < PATH_STATES; state++)
			row->self_ns += row->ns[state];
		row->total_ns = row->self_ns;
		r = add_row(c, row);
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct path_piece *x = a, *y = b;

	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static int read_paths(struct history *h, struct reading *x)
{
	const struct range_visitor visitor = {.userdata = x,
					      .no_texts = true,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end,
					      .gap = on_gap};
	struct critical *c = x->c;
	size_t i, count = c->threads.at.count;
	int r;

	x->threads = calloc(count + 1, sizeof(*x->threads));
	x->others = calloc(count + 1, sizeof(*x->others));
	if (!x->threads || !x->others)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		x->threads[i].since = INT64_MIN;
	r = walk_frames(x);
	if (r == 0)
		r = range_visit(h, x->range, &visitor);
	if (r == 0)
		r = finish_track(x);
	if (r == 0)
		r = take_rest(x);
	if (r == 0)
		r = add_up(x);
	if (r == 0 && c->pieces.count > 1)
		qsort(c->pieces.at, c->pieces.count, sizeof(*c->pieces.at), by_time);
	return r;
}

static void reading_deinit(struct reading *x)
{
	size_t i;

	for (i = 0; x->threads && i < x->c->threads.at.count; i++)
		VEC_FREE(&x->threads[i].slices);
	free(x->threads);
	free(x->others);
	VEC_FREE(&x->sums);
	VEC_FREE(&x->stack);
}

void critical_deinit(struct critical *critical)
{
	critical_threads_deinit(&critical->threads);
	zone_tree_deinit(&critical->tree);
	VEC_FREE(&critical->pieces);
	VEC_FREE(&critical->rows);
}

int critical_read(struct history *h, const struct range *range, unsigned flags, bool pieces,
		  struct critical *ret_critical)
{
	struct critical c = {.range = range};
	struct reading x = {.c = &c, .range = range, .pieces = pieces, .at = INT64_MIN};
	int r = zone_tree_begin(range, flags | COUNTED_EVENTS, &c.tree);

	if (r < 0)
		return r;
	c.wall_ns = c.tree.counted.wall_ns;
	r = critical_threads_read(h, &c.tree.counted, &c.threads);
	if (r == 0)
		r = read_paths(h, &x);
	reading_deinit(&x);
	if (r < 0) {
		critical_deinit(&c);
		return r == -EBADMSG ? -EIO : r;
	}
	*ret_critical = c;
	return 0;
}
