/* SPDX-License-Identifier: MIT */
/*
 * The events of one lane of a track over a range, one after the other, over all of its chunks: what
 * range_visit merges. Zones that a chunk carries in come as begins of their own. One thread.
 */
#ifndef FPROF_DAEMON_RANGE_LANE_H
#define FPROF_DAEMON_RANGE_LANE_H

#include "chunk.h"
#include "history_impl.h"
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
	bool later;	   /* there are events after the range */
	bool carried_only; /* the one loaded begins after the range */
	uint8_t *raw;
	enum range_lane_state state;
	struct chunk_event next;
	uint32_t carried; /* next of reader.carried to come */
	int64_t last;	  /* time of the last event */
	struct lane_open stack[CHUNK_DEPTH_MAX];
	uint32_t depth;
	struct chunk_reader reader;
};

/* Within a transaction: the lane's chunks that reach into [t0, t1], or the one that says what was
 * open throughout. 0 or -errno. */
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
		    const struct lane_chunk **ret_chunk, uint32_t *ret_same);

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
 * The begin (its code) or end (CHUNK_END) that comes next within the chunk, no later than until:
 * false when it is another event, or when it takes a closer look: then range_lane_next says what it
 * is. What most events are, at a fraction of the cost.
 */
static inline bool range_lane_zone(struct range_lane *lane, int64_t until, uint32_t *ret_code,
				   int64_t *ret_t)
{
	static const uint64_t masks[] = {0xff, 0xffff, 0xffffff, UINT64_MAX};
	struct chunk_reader *r = &lane->reader;
	uint32_t tag, code, code_bytes = 1;
	ptrdiff_t bytes;
	uint64_t delta;
	int64_t t;

	if (r->events_left == 0 || r->codes_end - r->codes < 2 || r->payload_end - r->times < 8)
		return false;
	code = r->codes[0];
	if (code >= 0x80) {
		code = (code & 0x7f) | (uint32_t)r->codes[1] << 7;
		code_bytes = 2;
	}
	if (code - 1 < CHUNK_BEGIN - 1 || (code_bytes == 2 && r->codes[1] >= 0x80))
		return false;
	tag = (uint32_t)r->tags[r->event / 4] >> (r->event % 4 * 2) & 3;
	bytes = tag == 3 ? 8 : (ptrdiff_t)tag + 1;
	if (r->times_end - r->times < bytes)
		return false;
	memcpy(&delta, r->times, sizeof(delta));
	t = (int64_t)((uint64_t)r->last + (delta & masks[tag]));
	if (t > until || t < r->last)
		return false;
	r->codes += code_bytes;
	r->times += bytes;
	r->event++;
	r->events_left--;
	r->last = t;
	*ret_code = code;
	*ret_t = t;
	return true;
}

#endif
