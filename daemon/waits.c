/* SPDX-License-Identifier: MIT */
/*
 * Each part of the marking track has a list of the times at which its innermost wait zone changed.
 * Over several lanes the one that began last is the innermost. Time points are turned into ns, then
 * subtracted, so that cpu + waits is the wall time to the ns.
 */
#include "waits.h"

#include "live.h"

#include <string.h>

#define PARTS_MAX LIVE_LANES_MAX

/* Where the partition of a frame stands in one part's list of steps. */
struct wait_cursor {
	const struct wait_step *next, *end;
	int64_t since;
	uint32_t kind;
};

static uint32_t wait_cursors(const struct stream *st, int64_t t0, struct wait_cursor *cursors,
			     bool *ret_known)
{
	const struct part *part;
	uint32_t count = 0;

	*ret_known = !st->blind;
	for (part = st->track ? st->track->parts : NULL; part; part = part->sibling) {
		struct wait_cursor *c = &cursors[count];

		if (part->steps_from > t0)
			*ret_known = false;
		if (part->steps.count == 0 || count == PARTS_MAX)
			continue;
		*c = (struct wait_cursor){part->steps.at, part->steps.at + part->steps.count,
					  INT64_MIN, 0};
		count++;
	}
	return count;
}

/* The next step of all lists, before t1; NULL: there is none. */
static struct wait_cursor *next_step(struct wait_cursor *cursors, uint32_t count, int64_t t1)
{
	struct wait_cursor *best = NULL;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (cursors[i].next < cursors[i].end && cursors[i].next->t < t1 &&
		    (!best || cursors[i].next->t < best->next->t))
			best = &cursors[i];
	return best;
}

static uint32_t innermost(const struct wait_cursor *cursors, uint32_t count)
{
	int64_t since = INT64_MIN;
	uint32_t kind = 0, i;

	for (i = 0; i < count; i++)
		if (cursors[i].kind && cursors[i].since >= since) {
			since = cursors[i].since;
			kind = cursors[i].kind;
		}
	return kind;
}

bool waits_partition(const struct live *s, const struct stream *st, const struct frame *f,
		     int64_t ns[WAIT_KINDS])
{
	struct wait_cursor cursors[PARTS_MAX], *c;
	int64_t at = frames_ns(s, f->t0), t;
	uint32_t count, kind = 0;
	bool known;

	memset(ns, 0, WAIT_KINDS * sizeof(*ns));
	count = wait_cursors(st, f->t0, cursors, &known);
	while ((c = next_step(cursors, count, f->t1))) {
		if (c->next->t > f->t0) {
			t = frames_ns(s, c->next->t);
			ns[kind] += t - at;
			at = t;
		}
		c->kind = c->next->kind;
		c->since = c->next->since;
		c->next++;
		kind = innermost(cursors, count);
	}
	ns[kind] += frames_ns(s, f->t1) - at;
	return known;
}
