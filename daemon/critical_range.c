/* SPDX-License-Identifier: MIT */
/*
 * First the walks, over what the scheduler did alone: slices of time, each a thread's. They are
 * put aside by thread, and then one visit of those threads' zones cuts them where the innermost
 * zone changes. So nothing is held of the zones themselves, and threads that no path comes to are
 * not read. The same visit says what each thread did on its own between its meetings with others,
 * for which the frames are played again.
 *
 * Points are converted, never durations, so pieces add up to the wall time.
 */
#include "critical_range.h"

#include "critical_meet.h"
#include "util.h"
#include "verdict_ran.h"

#include <errno.h>
#include <string.h>

const char *const path_state_names[PATH_STATES] = {"unknown", "running", "runnable", "blocked",
						   "gpu"};
const char *const path_evidence_names[PATH_EVIDENCES] = {"zone", "kernel", "both"};

/* An open zone, or a track outside of all. */
struct open_zone {
	uint32_t node;
	uint8_t wait; /* of the innermost wait zone */
};

/* A part of a frame's path that is one thread's. */
struct thread_slice {
	int64_t t0, t1;
	uint32_t frame; /* index into range->frames, from 1 */
	enum path_end end;
};

/* How far a thread's time has been gone through, up to since, and what it is there: nothing of it
 * changes before limit. */
struct thread_cursor {
	const struct path_thread *path;
	struct slab_list slices;  /* struct thread_slice: where it is on a path */
	struct slab_list meets;	  /* int64_t: when it meets others */
	struct slab_list entries; /* struct gain_entry */
	struct slab_cursor slice, meet;
	size_t interval, frame;
	int64_t since, limit;
	int64_t since_ns;
	struct thread_slice *last;	 /* of slices */
	const struct thread_slice *on;	 /* NULL: on no path */
	const struct path_interval *now; /* NULL: the kernel was not asked */
	enum path_state state;		 /* outside of wait zones */
	bool counted;			 /* in a frame that counts */
	bool plays;			 /* there is something to play */
};

struct reading {
	struct critical *c;
	const struct range *range;
	bool pieces;
	struct thread_cursor *threads;
	struct meetings meetings;
	struct slab *slabs; /* of the threads' lists */
	size_t entries;
	/* by node, and by thread for those without a track */
	VEC(struct path_row) sums;
	struct path_row *others;
	bool *uneven; /* by counted frame: no wait evens it and those around it out */
	bool *stood;  /* by counted frame, without the kernel: its thread waited unseen; NULL: none
		       */
	/* the track that is visited */
	struct thread_cursor *now; /* NULL: none */
	uint32_t track;
	VEC(struct open_zone) stack;
};

/* --- pieces ------------------------------------------------------------------------------ */

/* As range_ns, for the millions. */
static inline int64_t point_ns(const struct reading *x, int64_t t)
{
	const struct fprof_clock_rate *rate = &x->range->rate;

	return (int64_t)((counted_wide)t * (counted_wide)rate->mult >> rate->shift);
}

static enum path_state waiting_in(uint8_t wait)
{
	return wait == FPROF_MARKER_WAIT_GPU ? PATH_GPU : PATH_BLOCKED;
}

static bool is_known(const struct path_interval *i)
{
	return i && i->state != SCHED_STATE_UNKNOWN && i->state != SCHED_STATE_GONE;
}

/* What the thread did, as the kernel has it and the innermost wait zone. */
static enum path_state state_of(const struct path_interval *i, uint8_t wait,
				enum path_evidence *ret_evidence)
{
	*ret_evidence = is_known(i) ? PATH_BY_KERNEL : PATH_BY_ZONE;
	if (!is_known(i))
		return wait ? waiting_in(wait) : i ? PATH_UNKNOWN : PATH_RUNNING;
	if (i->state == SCHED_STATE_RUNNABLE)
		return PATH_RUNNABLE;
	if (wait)
		*ret_evidence = PATH_BY_BOTH;
	if (i->state == SCHED_STATE_RUNNING)
		return PATH_RUNNING;
	return i->reason == WAIT_GPU ? PATH_GPU : wait ? waiting_in(wait) : PATH_BLOCKED;
}

/* The same of a cursor. Of a frame that has more cpu by elimination than its thread ran nobody can
 * say when it did. */
static enum path_state state_at(const struct reading *x, const struct thread_cursor *c,
				uint8_t wait, enum path_evidence *ret_evidence)
{
	enum path_state state = state_of(c->now, wait, ret_evidence);
	bool stood =
		!c->now && state == PATH_RUNNING && x->stood && c->counted && x->stood[c->frame];

	return stood ? PATH_UNKNOWN : state;
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

static int keep(struct reading *x, const struct thread_cursor *c, int64_t ns,
		const struct open_zone *zone)
{
	struct path_piece piece = {.t0 = c->since,
				   .begin_ns = c->since_ns,
				   .end_ns = ns,
				   .thread = (uint32_t)(c - x->threads),
				   .node = zone->node,
				   .interval = c->now ? (uint32_t)c->interval : PATH_NOBODY,
				   .end = c->on->end,
				   .wait = zone->wait};

	piece.state = state_at(x, c, zone->wait, &piece.evidence);
	if (x->c->pieces.count == CRITICAL_PIECES_MAX)
		return -E2BIG;
	return VEC_PUSH(&x->c->pieces, piece);
}

/* The cursor is on a path: its part up to t, which is at ns, belongs to the zone. */
static int take(struct reading *x, const struct thread_cursor *c, int64_t ns,
		const struct open_zone *zone)
{
	uint32_t thread = (uint32_t)(c - x->threads);
	struct path_row *row = row_of(x, thread, zone->node);
	enum path_evidence evidence;
	enum path_state state = zone->wait ? state_at(x, c, zone->wait, &evidence) : c->state;

	if (!row)
		return -ENOMEM;
	row->thread = thread;
	row->frames += row->seen != c->on->frame;
	row->seen = c->on->frame;
	row->ns[state] += ns - c->since_ns;
	if (c->on->end != PATH_GOES_ON)
		x->c->waits_ns[c->on->end] += ns - c->since_ns;
	return x->pieces ? keep(x, c, ns, zone) : 0;
}

/* Does what the thread does now end when it ended, however early the thread had come to it? So does
 * a wait for the GPU, and a sleep or a wait for the limiter or the display where frames are even:
 * else it takes as long as it took. */
static bool paces(const struct reading *x, const struct thread_cursor *c,
		  const struct open_zone *zone)
{
	const struct path_interval *i = c->now;
	bool blocked = !is_known(i) || i->state == SCHED_STATE_BLOCKED;
	enum wait_reason reason = is_known(i) ? i->reason : WAIT_OTHER;

	if (!blocked || (!zone->wait && reason != WAIT_SLEEP && reason != WAIT_GPU))
		return false;
	return zone->wait == FPROF_MARKER_WAIT_GPU || (!zone->wait && reason == WAIT_GPU) ||
	       !x->uneven[c->frame];
}

/* Threads without a track come first, as there are none more to come. */
static uint32_t played_as(const struct critical *c, uint32_t thread, uint32_t node)
{
	return node == PATH_NOBODY ? thread : (uint32_t)c->threads.at.count + node;
}

/* The same for what is played. */
static int play(struct reading *x, struct thread_cursor *c, int64_t ns,
		const struct open_zone *zone)
{
	uint32_t what = played_as(x->c, (uint32_t)(c - x->threads), zone->node);

	if (paces(x, c, zone))
		what |= GAIN_UNTIL;
	x->entries++;
	return gain_add(&c->entries, &x->slabs, what, ns - c->since_ns);
}

/* Finds out in which frame the thread is at since. */
static void look_for_frame(struct reading *x, struct thread_cursor *c)
{
	const struct counted *counted = &x->c->tree.counted;
	const struct frame_row *row;

	c->counted = false;
	for (; c->frame < counted->frames.count; c->frame++) {
		row = &x->range->frames.frames.at[counted->frames.at[c->frame].index].row;
		if (row->t1 <= c->since)
			continue;
		c->counted = row->t0 <= c->since;
		c->limit = MIN(c->limit, c->counted ? row->t1 : row->t0);
		return;
	}
}

static void look_for_slice(struct thread_cursor *c)
{
	while ((c->on = slab_peek(&c->slice)) && c->on->t1 <= c->since)
		slab_step(&c->slice, sizeof(*c->on));
	if (!c->on)
		return;
	c->limit = MIN(c->limit, c->on->t0 > c->since ? c->on->t0 : c->on->t1);
	if (c->on->t0 > c->since)
		c->on = NULL;
}

static void look_for_interval(const struct reading *x, struct thread_cursor *c)
{
	const struct path_interval *at = c->path->sched.at;
	size_t count = c->path->sched.count;
	enum path_evidence evidence;

	while (c->interval + 1 < count && at[c->interval + 1].t0 <= c->since)
		c->interval++;
	c->now = c->interval + 1 < count ? &at[c->interval] : NULL;
	if (c->now)
		c->limit = MIN(c->limit, c->now[1].t0);
	c->plays = !c->now || c->now->waker == 0;
	c->state = state_at(x, c, 0, &evidence);
}

/* Finds out what the thread does from since on, and until when. */
static int look(struct reading *x, struct thread_cursor *c)
{
	const int64_t *t;
	int r = 0;

	while ((t = slab_peek(&c->meet)) && *t <= c->since && r == 0) {
		r = gain_add(&c->entries, &x->slabs, GAIN_MEETS, 0);
		slab_step(&c->meet, sizeof(*t));
	}
	c->limit = t ? *t : INT64_MAX;
	look_for_frame(x, c);
	look_for_slice(c);
	look_for_interval(x, c);
	c->plays &= c->counted && x->entries < CRITICAL_ENTRIES_MAX;
	return r;
}

/* Up to t the thread was in zone. */
static int cut(struct reading *x, struct thread_cursor *c, int64_t t, const struct open_zone *zone)
{
	int r = 0;

	while (c->since < t && r == 0) {
		int64_t next, ns;

		if (c->since >= c->limit)
			r = look(x, c);
		next = MIN(t, c->limit);
		ns = point_ns(x, next);
		if (c->plays && r == 0)
			r = play(x, c, ns, zone);
		if (c->on && r == 0)
			r = take(x, c, ns, zone);
		c->since = next;
		c->since_ns = ns;
	}
	return r;
}

/* --- the visit --------------------------------------------------------------------------- */

static struct open_zone innermost(const struct reading *x)
{
	if (x->stack.count > 0)
		return x->stack.at[x->stack.count - 1];
	return (struct open_zone){.node = x->track};
}

/* What is left of the track's time; another one of this tid may follow it. */
static int finish_track(struct reading *x)
{
	struct open_zone outside;
	int r;

	if (!x->now)
		return 0;
	x->stack.count = 0;
	outside = innermost(x);
	r = cut(x, x->now, MIN(x->range->tracks.at[x->track].end_ticks, x->range->t1), &outside);
	x->now = NULL;
	return r;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *x = userdata;
	uint32_t thread;
	int r = finish_track(x);

	(void)track;
	if (r < 0)
		return r;
	x->track = (uint32_t)index;
	thread = critical_threads_track(&x->c->threads, x->range, x->track);
	if (thread == PATH_NOBODY || !x->threads[thread].slices.first ||
	    x->threads[thread].since >= x->range->t1)
		return 1;
	x->now = &x->threads[thread];
	return 0;
}

static uint8_t wait_of(const struct reading *x, uint32_t marker, uint8_t outer)
{
	uint8_t kind = marker < x->range->markers.count ? x->range->markers.at[marker].kind : 0;

	return kind >= FPROF_MARKER_WAIT_GPU && kind <= FPROF_MARKER_WAIT_CAP ? kind : outer;
}

static int on_begin(struct reading *x, uint32_t marker, int64_t t)
{
	struct open_zone zone = innermost(x);
	int r = cut(x, x->now, t, &zone);

	if (r < 0)
		return r;
	r = zone_tree_enter(&x->c->tree, zone.node, marker, &zone.node);
	zone.wait = wait_of(x, marker, zone.wait);
	return r < 0 ? r : VEC_PUSH(&x->stack, zone);
}

static int on_left(struct reading *x, int64_t t)
{
	int r = cut(x, x->now, t, &x->stack.at[x->stack.count - 1]);

	x->stack.count--;
	return r;
}

static int on_steps(void *userdata, const struct range_step *steps, size_t count)
{
	struct reading *x = userdata;
	size_t i;
	int r = 0;

	for (i = 0; i < count && r == 0; i++)
		r = steps[i].marker == RANGE_LEFT ? on_left(x, steps[i].t)
						  : on_begin(x, steps[i].marker, steps[i].t);
	return r;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct reading *x = userdata;

	x->c->gaps++;
	x->c->lost_events = count_add(x->c->lost_events, gap->events);
	return 0;
}

/* Threads without a track, after its end, or on no path; and the last meetings of all. */
static int take_rest(struct reading *x)
{
	size_t i;
	int r = 0;

	for (i = 0; i < x->c->threads.at.count && r == 0; i++) {
		const struct open_zone outside = {.node = x->c->threads.at.at[i].track};

		r = cut(x, &x->threads[i], x->range->t1, &outside);
		if (r == 0)
			r = look(x, &x->threads[i]);
	}
	return r;
}

/* --- the walks --------------------------------------------------------------------------- */

static const struct frame_row *counted_row(const struct reading *x, size_t i)
{
	return &x->range->frames.frames.at[x->c->tree.counted.frames.at[i].index].row;
}

/* Those that touch are one, unless they end in different ways. */
static int add_slice(struct reading *x, struct thread_cursor *c, const struct thread_slice *slice)
{
	struct thread_slice *last = c->last;

	if (last && last->t1 == slice->t0 && last->frame == slice->frame &&
	    last->end == PATH_GOES_ON && slice->end == PATH_GOES_ON) {
		last->t1 = slice->t1;
		return 0;
	}
	c->last = slab_append(&x->slabs, &c->slices, sizeof(*slice));
	if (!c->last)
		return -ENOMEM;
	*c->last = *slice;
	return 0;
}

/* Puts the slices of a frame to their threads'. */
static int put_aside(struct reading *x, const path_slices_vec *slices, uint32_t frame)
{
	size_t i;
	int r = 0;

	for (i = 0; i < slices->count && r == 0; i++) {
		const struct path_slice *s = &slices->at[i];

		x->c->kernel |= s->interval != PATH_NOBODY;
		r = add_slice(x, &x->threads[s->thread],
			      &(struct thread_slice){s->t0, s->t1, frame, s->end});
	}
	return r;
}

/* The thread that marks a frame: by its track, or, where that has no row, the one added for it. */
static uint32_t marking_thread(const struct reading *x, const struct frame_row *row)
{
	const struct path_threads *threads = &x->c->threads;
	size_t i;

	for (i = 0; i < x->range->tracks.count; i++)
		if (x->range->tracks.at[i].track == row->track)
			return critical_threads_track(threads, x->range, (uint32_t)i);
	for (i = 0; i + 1 < threads->at.count; i++)
		if (threads->at.at[i].track == PATH_NOBODY && threads->at.at[i].tid == 0)
			break;
	return (uint32_t)i;
}

static int walk_frames(struct reading *x, const uint32_t *marking)
{
	const struct counted *counted = &x->c->tree.counted;
	path_slices_vec slices = {0};
	size_t i;
	int r = 0;

	for (i = 0; i < counted->frames.count && r == 0; i++) {
		const struct frame_row *row = counted_row(x, i);

		r = path_walk(&x->c->threads, marking[i], row->t0, row->t1, &slices);
		if (r == 0)
			r = put_aside(x, &slices, (uint32_t)counted->frames.at[i].index + 1);
	}
	VEC_FREE(&slices);
	return r;
}

static int add_meet(struct reading *x, size_t thread, int64_t t)
{
	int64_t *place = slab_append(&x->slabs, &x->threads[thread].meets, sizeof(t));

	if (!place)
		return -ENOMEM;
	*place = t;
	return 0;
}

/* To each thread when it meets another. */
static int share_meetings(struct reading *x)
{
	size_t i, k;
	int r = 0;

	for (i = 0; i < x->meetings.count && r == 0; i++) {
		const struct gain_meeting *m = &x->meetings.at[i];

		for (k = 0; m->kind == GAIN_BEGIN && k < x->c->threads.at.count && r == 0; k++)
			r = add_meet(x, k, m->t);
		if (m->kind != GAIN_BEGIN)
			r = add_meet(x, m->thread, m->t);
		if (r == 0 && m->kind == GAIN_WAKE)
			r = add_meet(x, m->waker, m->t);
	}
	for (i = 0; i < x->c->threads.at.count; i++) {
		x->threads[i].slice.block = x->threads[i].slices.first;
		x->threads[i].meet.block = x->threads[i].meets.first;
	}
	return r;
}

static int find_paths(struct reading *x)
{
	const struct counted *counted = &x->c->tree.counted;
	_cleanup_free_ uint32_t *marking = calloc(counted->frames.count + 1, sizeof(*marking));
	size_t i;
	int r;

	if (!marking)
		return -ENOMEM;
	for (i = 0; i < counted->frames.count; i++)
		marking[i] = marking_thread(x, counted_row(x, i));
	r = walk_frames(x, marking);
	if (r == 0)
		r = meetings_find(counted, &x->c->threads, marking, &x->meetings);
	return r < 0 ? r : share_meetings(x);
}

/* What a frame has too much of cpu by elimination, in its part: less is within the readings' error.
 */
#define STOOD 0.1

/* Is it likely that the frame's thread did not run as long as it seems to have? */
static bool stood(const struct verdict_rans *rans, size_t near, const struct frame_row *row)
{
	struct verdict_ran ran = verdict_ran_of(rans, near);

	return row->cpu_ns == NS_UNKNOWN || ran.unread ||
	       (double)ran.not_run_ns > STOOD * (double)row->cpu_ns;
}

/* What the frames around say of each. */
static int look_around(struct history *h, struct reading *x)
{
	const struct counted *counted = &x->c->tree.counted;
	struct verdict_rans rans = {0};
	struct verdict_spread spread;
	int64_t usual_ns;
	size_t i;
	int r;

	x->uneven = calloc(counted->frames.count + 1, sizeof(*x->uneven));
	x->stood = x->c->kernel ? NULL : calloc(counted->frames.count + 1, sizeof(*x->stood));
	if (!x->uneven || (!x->c->kernel && !x->stood))
		return -ENOMEM;
	r = verdict_rans_read(h, x->range, &rans);
	for (i = 0; i < counted->frames.count && r == 0; i++) {
		const struct frame_row *row = counted_row(x, i);
		size_t near = verdict_rans_find(&rans, row->frame);

		verdict_ran_usual(&rans, near, &usual_ns, &spread);
		x->uneven[i] = verdict_evens(&spread, usual_ns) == PACE_NONE;
		if (x->stood)
			x->stood[i] = stood(&rans, near, row);
	}
	verdict_rans_deinit(&rans);
	return r;
}

/* --- rows -------------------------------------------------------------------------------- */

static int add_row(struct critical *c, const struct path_row *row)
{
	return row->total_ns > 0 ? VEC_PUSH(&c->rows, *row) : 0;
}

static void add_states(struct critical *c, struct path_row *row)
{
	int state;

	for (state = 0; state < PATH_STATES; state++) {
		row->self_ns += row->ns[state];
		c->ns[state] += row->ns[state];
	}
	row->total_ns += row->self_ns;
	row->gain_ns = row->self_gain_ns = NS_UNKNOWN;
}

/* Nodes come after those that they are in. */
static int add_up(struct reading *x)
{
	struct critical *c = x->c;
	size_t i;
	int r = 0;

	if (!row_of(x, 0, (uint32_t)c->tree.nodes.count - 1))
		return -ENOMEM;
	for (i = x->sums.count; i-- > 0;) {
		struct path_row *row = &x->sums.at[i];
		uint32_t parent = c->tree.nodes.at[i].parent;

		row->node = (uint32_t)i;
		add_states(c, row);
		if (parent == ZONE_NODE_NONE || row->total_ns == 0)
			continue;
		x->sums.at[parent].total_ns += row->total_ns;
		x->sums.at[parent].thread = row->thread;
	}
	for (i = 0; i < x->sums.count && r == 0; i++)
		r = add_row(c, &x->sums.at[i]);
	for (i = 0; i < c->threads.at.count && r == 0; i++) {
		add_states(c, &x->others[i]);
		r = add_row(c, &x->others[i]);
	}
	return r;
}

static int by_self(const void *a, const void *b, void *userdata)
{
	const struct path_row *rows = userdata;
	int64_t x = rows[*(const uint32_t *)a].self_ns, y = rows[*(const uint32_t *)b].self_ns;

	return (x < y) - (x > y);
}

static int by_total(const void *a, const void *b, void *userdata)
{
	const struct path_row *rows = userdata;
	int64_t x = rows[*(const uint32_t *)a].total_ns, y = rows[*(const uint32_t *)b].total_ns;

	return (x < y) - (x > y);
}

/* What is played: a row with all that is inside of it, or its own alone. */
struct key {
	uint32_t row;
	bool self;
};
typedef VEC(struct key) keys_vec;

/* Of one that nothing is inside of both are the same. */
static bool is_around(const struct critical *c, const struct path_row *row)
{
	return row->node != PATH_NOBODY &&
	       c->tree.nodes.at[row->node].first_child != ZONE_NODE_NONE;
}

/* Gives keys to the first of the rows in the order of compare. */
static int choose(struct critical *c, uint32_t *order,
		  int (*compare)(const void *, const void *, void *), keys_vec *keys, size_t most)
{
	size_t i;
	int r = 0;

	for (i = 0; i < c->rows.count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, c->rows.count, sizeof(*order), compare, c->rows.at);
	for (i = 0; i < c->rows.count && keys->count + 2 <= most && r == 0; i++) {
		struct path_row *row = &c->rows.at[order[i]];

		if (row->gain_ns != NS_UNKNOWN)
			continue;
		row->gain_ns = row->self_gain_ns = 0;
		r = VEC_PUSH(keys, ((struct key){order[i], false}));
		if (r == 0 && is_around(c, row))
			r = VEC_PUSH(keys, ((struct key){order[i], true}));
	}
	return r;
}

/* A node's keys are those of its own and of all around it, but for those of these alone. */
static uint64_t *keys_by_node(const struct critical *c, const struct key *keys, unsigned count)
{
	size_t threads = c->threads.at.count, i;
	uint64_t *of = calloc(threads + c->tree.nodes.count + 1, sizeof(*of));
	const struct path_row *row;
	unsigned k;

	for (k = 0; of && k < count; k++) {
		row = &c->rows.at[keys[k].row];
		if (!keys[k].self)
			of[played_as(c, row->thread, row->node)] |= UINT64_C(1) << k;
	}
	for (i = 0; of && i < c->tree.nodes.count; i++)
		if (c->tree.nodes.at[i].parent != ZONE_NODE_NONE)
			of[threads + i] |= of[threads + c->tree.nodes.at[i].parent];
	for (k = 0; of && k < count; k++) {
		row = &c->rows.at[keys[k].row];
		if (keys[k].self)
			of[played_as(c, row->thread, row->node)] |= UINT64_C(1) << k;
	}
	return of;
}

static void take_gain(struct critical *c, const struct key *key, int64_t ns)
{
	struct path_row *row = &c->rows.at[key->row];

	if (key->self) {
		row->self_gain_ns = ns;
		return;
	}
	row->gain_ns = ns;
	if (!is_around(c, row))
		row->self_gain_ns = ns;
}

/* One round: no more than GAIN_KEYS_MAX. */
static int play_keys(struct reading *x, const struct slab_list *entries, const struct key *keys,
		     unsigned count)
{
	struct critical *c = x->c;
	_cleanup_free_ uint64_t *of = keys_by_node(c, keys, count);
	int64_t gains[GAIN_KEYS_MAX] = {0};
	const struct gain_play all = {.threads = entries,
				      .thread_count = c->threads.at.count,
				      .meetings = x->meetings.at,
				      .meeting_count = x->meetings.count,
				      .keys = of,
				      .node_count = c->threads.at.count + c->tree.nodes.count,
				      .key_count = count};
	unsigned k;
	int r;

	if (!of)
		return -ENOMEM;
	r = gain_play(&all, gains);
	for (k = 0; k < count && r == 0; k++)
		take_gain(c, &keys[k], gains[k]);
	return r;
}

static int play_rounds(struct reading *x, const keys_vec *keys)
{
	size_t threads = x->c->threads.at.count, i;
	_cleanup_free_ struct slab_list *entries = calloc(threads + 1, sizeof(*entries));
	int r = entries ? 0 : -ENOMEM;

	for (i = 0; i < threads && r == 0; i++)
		entries[i] = x->threads[i].entries;
	for (i = 0; i < keys->count && r == 0; i += GAIN_KEYS_MAX)
		r = play_keys(x, entries, &keys->at[i],
			      (unsigned)MIN(keys->count - i, GAIN_KEYS_MAX));
	return r;
}

static int find_gains(struct reading *x)
{
	_cleanup_free_ uint32_t *order = calloc(x->c->rows.count + 1, sizeof(*order));
	size_t rounds = MIN(CRITICAL_PLAYED_MAX / (x->entries + 1), CRITICAL_ROUNDS_MAX);
	size_t most = MAX(rounds, 1) * GAIN_KEYS_MAX;
	keys_vec keys = {0};
	int r;

	if (!order)
		return -ENOMEM;
	if (x->entries >= CRITICAL_ENTRIES_MAX)
		return 0;
	r = choose(x->c, order, by_self, &keys, most / 2);
	if (r == 0)
		r = choose(x->c, order, by_total, &keys, most);
	if (r == 0)
		r = play_rounds(x, &keys);
	VEC_FREE(&keys);
	return r;
}

/* --- all of it --------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct path_piece *x = a, *y = b;

	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static int prepare(struct reading *x)
{
	size_t i, count = x->c->threads.at.count;

	x->threads = calloc(count + 1, sizeof(*x->threads));
	x->others = calloc(count + 1, sizeof(*x->others));
	if (!x->threads || !x->others)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		x->threads[i].path = &x->c->threads.at.at[i];
		x->threads[i].since = x->threads[i].limit = x->range->t0;
		x->threads[i].since_ns = range_ns(x->range, x->range->t0);
		x->others[i].thread = (uint32_t)i;
		x->others[i].node = PATH_NOBODY;
	}
	return 0;
}

static int read_paths(struct history *h, struct reading *x)
{
	const struct range_visitor visitor = {.userdata = x,
					      .no_texts = true,
					      .track = on_track,
					      .steps = on_steps,
					      .gap = on_gap};
	int r = prepare(x);

	if (r == 0)
		r = find_paths(x);
	if (r == 0)
		r = look_around(h, x);
	if (r == 0)
		r = range_visit(h, x->range, &visitor);
	if (r == 0)
		r = finish_track(x);
	if (r == 0)
		r = take_rest(x);
	if (r == 0)
		r = add_up(x);
	if (r == 0)
		r = find_gains(x);
	if (r == 0 && x->c->pieces.count > 1)
		qsort(x->c->pieces.at, x->c->pieces.count, sizeof(*x->c->pieces.at), by_time);
	return r;
}

static void reading_deinit(struct reading *x)
{
	free(x->threads);
	free(x->others);
	free(x->uneven);
	free(x->stood);
	VEC_FREE(&x->sums);
	VEC_FREE(&x->stack);
	meetings_deinit(&x->meetings);
	slab_free(x->slabs);
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
	struct reading x = {.c = &c, .range = range, .pieces = pieces};
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
