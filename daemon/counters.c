/* SPDX-License-Identifier: MIT */
/*
 * Events of several rings reach a frame ring by ring, not in order of time, and rings are read past
 * several frames at once. So each frame that is not closed yet has its own cells: for a set
 * counter the newest value by time, for an add counter the sum. Closing a frame folds its
 * cells into the counters.
 */
#include "counters.h"

#include "live.h"

#include <errno.h>
#include <string.h>

void counters_deinit(struct counters *c)
{
	VEC_FREE(&c->all);
}

static union counter_number decode(const struct counter_event *event, bool is_double)
{
	union counter_number v;

	if (event->type == FPROF_VALUE_F64)
		memcpy(&v.d, &event->bits, 8);
	else if (is_double)
		v.d = event->type == FPROF_VALUE_U64 ? (double)event->bits
						     : (double)(int64_t)event->bits;
	else
		v.i = (int64_t)event->bits;
	return v;
}

/* The first fraction: what was counted so far becomes a double, in open frames too. */
static void make_double(struct live *s, struct counter *c, uint32_t index)
{
	struct stream *st = s->frames.streams.at[0];
	uint32_t i;

	c->is_double = true;
	c->last.d = (double)c->last.i;
	for (i = 0; i < st->count; i++) {
		struct frame *f = stream_frame(st, i);

		if (index < f->cells.count)
			f->cells.at[index].value.d = (double)f->cells.at[index].value.i;
	}
}

/* The counter of a marker, made at its first use; NULL when there are too many. */
static int counter_of(struct live *s, const struct counter_event *event, struct counter **ret)
{
	struct marker *m = marker_table_at(&s->markers, event->marker);
	struct counter c = {
		.marker = event->marker,
		.is_set = event->op == FPROF_COUNTER_SET,
		.is_double = event->type == FPROF_VALUE_F64,
		.since = event->t,
		.t = INT64_MIN,
	};

	*ret = NULL;
	if (!m)
		return 0;
	if (m->counter == MARKER_NO_COUNTER) {
		if (s->counters.all.count >= s->counters.max)
			return 0;
		if (VEC_PUSH(&s->counters.all, c) < 0)
			return -ENOMEM;
		m->counter = (uint32_t)s->counters.all.count - 1;
	}
	*ret = &s->counters.all.at[m->counter];
	(*ret)->since = MIN((*ret)->since, event->t);
	return 0;
}

static int cell_of(struct live *s, struct frame *frame, uint32_t index, struct counter_cell **ret)
{
	size_t need = s->counters.all.count;

	if (index >= frame->cells.count) {
		if (VEC_RESERVE(&frame->cells, need - frame->cells.count) < 0)
			return -ENOMEM;
		memset(frame->cells.at + frame->cells.count, 0,
		       (need - frame->cells.count) * sizeof(*frame->cells.at));
		frame->cells.count = need;
	}
	*ret = &frame->cells.at[index];
	return 0;
}

/* Unsigned, because a sum may wrap. */
static void add(const struct counter *c, union counter_number *to, union counter_number v)
{
	if (c->is_double)
		to->d += v.d;
	else
		to->i = (int64_t)((uint64_t)to->i + (uint64_t)v.i);
}

static void apply(const struct counter *c, struct counter_cell *cell,
		  const struct counter_event *event)
{
	union counter_number v = decode(event, c->is_double);

	if (event->op == FPROF_COUNTER_ADD) {
		if (!cell->used && c->is_set && c->known) {
			cell->value = c->last;
			cell->t = event->t;
		}
		add(c, &cell->value, v);
	} else if (!cell->used || !c->is_set || event->t >= cell->t) {
		cell->value = v;
		cell->t = event->t;
	}
	cell->used = true;
}

int counters_put(struct live *s, struct frame *frame, const struct counter_event *event)
{
	struct counter_cell *cell;
	struct counter *c;
	int r;

	r = counter_of(s, event, &c);
	if (r < 0)
		return r;
	if (!c) {
		s->repaired[REPAIR_COUNTERS_REFUSED]++;
		return 0;
	}
	if (event->type == FPROF_VALUE_F64 && !c->is_double)
		make_double(s, c, (uint32_t)(c - s->counters.all.at));
	if (!frame) { /* late: its frame's row stands; a set value may still be the newest */
		if (event->op == FPROF_COUNTER_SET && c->is_set && event->t >= c->t) {
			c->last = decode(event, c->is_double);
			c->t = event->t;
			c->known = true;
		}
		return 0;
	}
	r = cell_of(s, frame, (uint32_t)(c - s->counters.all.at), &cell);
	if (r == 0)
		apply(c, cell, event);
	return r;
}

static void fold(struct counter *c, const struct counter_cell *cell)
{
	memset(&c->last, 0, sizeof(c->last));
	if (cell)
		c->last = cell->value;
	if (cell && c->is_set)
		c->t = cell->t;
	c->known = true;
}

int counters_close(struct live *s, struct frame *frame, const struct frame_row *row)
{
	size_t i;

	if (VEC_RESERVE(&s->batch->frame_counters, s->counters.all.count) < 0)
		return -ENOMEM;
	for (i = 0; i < s->counters.all.count; i++) {
		struct counter *c = &s->counters.all.at[i];
		const struct counter_cell *cell = NULL;
		struct frame_counter_row out = {
			.session = s->id,
			.frame = row->frame,
			.marker = c->marker,
			.is_double = c->is_double,
			.incomplete = row->flags & FRAME_COUNTERS_INCOMPLETE,
		};

		if (i < frame->cells.count && frame->cells.at[i].used)
			cell = &frame->cells.at[i];
		if (cell || !c->is_set)
			fold(c, cell);
		if (!c->known || c->since >= row->t1)
			continue;
		memcpy(&out.value, &c->last, sizeof(out.value));
		s->batch->frame_counters.at[s->batch->frame_counters.count++] = out;
	}
	return 0;
}
