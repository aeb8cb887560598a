/* SPDX-License-Identifier: MIT */
/*
 * From chunks to the zones of one frame: follows the open stack of one lane of a track, clips to
 * the frame, bounds what is kept. Pure; used by one history reader at a time.
 */
#ifndef FPROF_DAEMON_HISTORY_ZONES_H
#define FPROF_DAEMON_HISTORY_ZONES_H

#include "chunk.h"
#include "history.h"

#include <stdbool.h>
#include <stdint.h>

/* Zones here have ticks in begin_ns and end_ns (end INT64_MAX: not known), and parents within the
 * array. */
typedef VEC(struct history_zone) zone_vec;
typedef VEC(struct history_message) message_vec;

struct open_zone {
	struct chunk_open open;
	int32_t zone; /* index into zones, -1: not kept */
};

/* What one call may decode: events, where a chunk counts for ZONE_CHUNK_COST more. Under a second.
 */
#define ZONE_EVENTS_MAX 5000000u
#define ZONE_CHUNK_COST 500u

struct zone_decoder {
	int64_t t0, t1;	       /* the frame, in ticks */
	size_t max;	       /* zones and messages worth keeping; 0: all */
	zone_vec zones;	       /* of the lane so far, by begin, parents first */
	message_vec *messages; /* ticks in ns, track as given */
	uint32_t track;
	bool truncated; /* something was not kept */
	uint64_t left;	/* of ZONE_EVENTS_MAX; 0: nothing more is decoded */

	struct open_zone stack[CHUNK_DEPTH_MAX];
	uint32_t depth;
	uint32_t depth_limit; /* zones this deep or deeper are not kept */
	int64_t last;	      /* time of the last event */
	bool any;	      /* a chunk was decoded */
	bool past;	      /* an event after the frame was seen */
	struct chunk_reader reader;
};

void zone_decoder_init(struct zone_decoder *d, int64_t t0, int64_t t1, size_t max,
		       message_vec *messages);
void zone_decoder_deinit(struct zone_decoder *d);

/* Begins a lane of a track (an index for messages). */
void zone_decoder_lane(struct zone_decoder *d, uint32_t track);
/* The lane's next chunk, raw. carried_only: it begins after the frame, only the zones it carries in
 * count. 0, -ENOMEM, -EBADMSG (what was decoded before stays). */
int zone_decoder_chunk(struct zone_decoder *d, const void *raw, size_t bytes, int64_t chunk_t0,
		       bool carried_only);
/* What is still open reaches out of the frame; known_open: nothing later is known of this lane. */
void zone_decoder_end(struct zone_decoder *d, bool known_open);

/* Appends a track's lanes to out as one tree: by begin, parents first, depth and parent anew. Takes
 * the texts. 0 or -ENOMEM. */
int zones_merge(zone_vec *lanes, size_t lane_count, uint32_t track, zone_vec *out);

/* Cuts the deepest zones so that at most max are left. remap, zones->count elements, becomes old
 * index to new or -1. Returns the first depth that was cut (UINT32_MAX: none). */
uint32_t zones_cut(zone_vec *zones, size_t max, int32_t *remap);

#endif
