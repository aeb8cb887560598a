/* SPDX-License-Identifier: MIT */
/*
 * What a thread's zones come to, counted while its ring is read: of each chunk its calls and times
 * by path, for zone_totals, which else reads the whole chunk once more. Where there is no counter,
 * or not of all of a chunk, that is what it does, so one may be left out or given up at any time.
 *
 * A part's; the drain thread's alone. Depths are as in the part's stack, from 1 for the outermost.
 */
#ifndef FPROF_DAEMON_ZONE_COUNTER_H
#define FPROF_DAEMON_ZONE_COUNTER_H

#include "batch.h"
#include "chunk.h"
#include "paths.h"
#include "shm/atomic.h"

struct zone_counter {
	struct paths paths;	   /* 0: the thread itself */
	VEC(struct zone_sum) sums; /* by node, of the chunk that is built */
	VEC(uint32_t) places;	   /* by node, of its row among the chunk's, from 1; 0: none yet */
	VEC(uint32_t) called;	   /* nodes of which a call has ended in this chunk */
	uint32_t known;		   /* nodes that came in earlier chunks */
	uint32_t open[CHUNK_DEPTH_MAX + 1]; /* nodes by depth */
};

/* NULL: no memory. */
struct zone_counter *zone_counter_new(void);
void zone_counter_free(struct zone_counter *counter); /* NULL is fine */

/* A zone began at depth. -ENOMEM, -ENOSPC: it is to be given up. */
int zone_counter_begin(struct zone_counter *counter, uint32_t depth, uint32_t marker);
/* The same of a path that is known; false: it is not. */
static inline bool zone_counter_enter(struct zone_counter *c, uint32_t depth, uint32_t marker)
{
	return paths_enter(&c->paths, c->open[depth - 1], marker, &c->open[depth]);
}

static inline void zone_sum_add(struct zone_sum *sum, int64_t begin, int64_t end)
{
	uint64_t ticks = end > begin ? (uint64_t)end - (uint64_t)begin : 0;

	if (FPROF_UNLIKELY(ticks > sum->max_ticks || sum->calls == 0)) {
		sum->max_ticks = ticks;
		sum->max_begin = begin;
	}
	sum->calls++;
	sum->ticks += ticks;
}

/* The zone at depth ended. */
static inline void zone_counter_end(struct zone_counter *c, uint32_t depth, int64_t begin,
				    int64_t end)
{
	uint32_t node = c->open[depth];
	struct zone_sum *sum = &c->sums.at[node];

	if (FPROF_UNLIKELY(sum->calls == 0))
		c->called.at[c->called.count++] = node; /* room was made with the node */
	zone_sum_add(sum, begin, end);
}

/* It ended and one of marker began; false: that one's path is not known, and nothing was done. */
static inline bool zone_counter_next(struct zone_counter *c, uint32_t depth, uint32_t marker,
				     int64_t begin, int64_t t)
{
	uint32_t next;

	if (!paths_enter(&c->paths, c->open[depth - 1], marker, &next))
		return false;
	zone_counter_end(c, depth, begin, t);
	c->open[depth] = next;
	return true;
}

/* The chunk is over: row gets what it came to, in batch. */
void zone_counter_take(struct zone_counter *counter, struct batch *batch, struct chunk_row *row);

#endif
