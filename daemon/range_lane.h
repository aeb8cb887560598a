/* SPDX-License-Identifier: MIT */
/*
 * The events of one lane of a track over a range, one after the other, over all of its chunks: what
 * range_visit merges. Zones that a chunk carries in come as begins of their own. One thread.
 */
#ifndef FPROF_DAEMON_RANGE_LANE_H
#define FPROF_DAEMON_RANGE_LANE_H

#include "chunk.h"
#include "history_impl.h"
#include "range.h"
#include "util.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A chunk of a lane by its row. */
struct lane_chunk {
	int64_t id, t0, t1;
	uint64_t events;
	uint32_t depth_in;
};

/* A zone that is open on the lane. at: where the visit keeps it, UINT32_MAX: nowhere. */
struct lane_open {
	struct chunk_open open;
	uint32_t at;
};

enum range_lane_state {
	LANE_EVENT,  /* next is the lane's next event */
	LANE_LOAD,   /* the next chunk is to be loaded */
	LANE_AT_END, /* nothing follows */
};

struct range_lane {
	uint32_t lane;
	VEC(struct lane_chunk) chunks;
	size_t chunk;	   /* next to be loaded */
	bool listed;	   /* chunks has all of them; else one after the next, too */
	bool later;	   /* there are events after the range */
	bool carried_only; /* the one loaded begins after the range */
	uint8_t *raw;
	enum range_lane_state state;
	struct chunk_event next;
	uint32_t carried; /* next of reader.carried to come */
	struct lane_open stack[CHUNK_DEPTH_MAX];
	uint32_t depth;
	struct chunk_reader reader;
};

/* Within a transaction: the lane's chunks that reach into [t0, t1], as far as it needs to know them
 * now, or the one that says what was open throughout. 0 or -errno. */
int range_lane_open(struct history *h, uint64_t session, uint32_t track, uint32_t lane, int64_t t0,
		    int64_t t1, struct range_lane **ret_lane);
void range_lane_free(struct range_lane *lane);

/*
 * Loads the next chunk; call it when state is LANE_LOAD and within a transaction. *ret_same is how
 * many zones of the stack the chunk says to be still open: the caller closes the others, then calls
 * range_lane_next. 0; -EBADMSG: the chunk, *ret_chunk, is damaged; -ENOENT: it is not there any
 * more; -errno.
 */
int range_lane_load(struct history *h, uint64_t session, uint32_t track, struct range_lane *lane,
		    int64_t t1, const struct lane_chunk **ret_chunk, uint32_t *ret_same);

/* Steps to the next event of the chunk: sets state. -EBADMSG: the rest of the chunk is damaged;
 * state is as after its end. */
int range_lane_next(struct range_lane *lane);

/* Are the events of the chunk next, after what it carries in? */
static inline bool range_lane_in_chunk(const struct range_lane *lane)
{
	return lane->state == LANE_EVENT && lane->carried >= lane->reader.depth_in &&
	       !lane->carried_only;
}

/*
 * The begins and ends that come next within the chunk, no later than until, at most so many: 0 when
 * it is another event, or one that takes a closer look: then range_lane_next says what it is. What
 * most events are, at a fraction of the cost.
 */
uint32_t range_lane_zones(struct range_lane *lane, int64_t until, struct range_step *steps,
			  uint32_t most);
/* Steps over those of zones that are not wanted (range_visitor.only, of count markers): they are on
 * the lane's stack and nowhere else. */
void range_lane_skip(struct range_lane *lane, int64_t until, const uint32_t *only, size_t count);

#endif
