/* SPDX-License-Identifier: MIT */
/*
 * What triggers want to know of events: the times of the zones that they watch, in each frame, and
 * in which frame a message or a marker came that they wait for. Read from chunks as these are
 * finished; made only for lists that watch events. Drain thread only.
 */
#ifndef FPROF_DAEMON_TRIGGER_EVENTS_H
#define FPROF_DAEMON_TRIGGER_EVENTS_H

#include "batch.h"
#include "track.h"
#include "trigger.h"

struct live;
struct trigger_events;

/* What one zone name came to in a frame, in ticks; threads are added up. */
struct trigger_sums {
	int64_t total, self;
	int64_t call; /* the longest that ended in it */
};

struct trigger_frame {
	uint64_t number;
	uint64_t hits;		   /* a bit each trigger that fires by what came */
	char *text;		   /* of the first message, or the marker's name; NULL: none */
	uint32_t text_of;	   /* the trigger that text is of */
	struct trigger_sums *sums; /* by zone */
};

/* *ret_events NULL: the list watches none. 0 or -ENOMEM. */
int trigger_events_new(struct live *s, const struct trigger_list *list,
		       struct trigger_events **ret_events);
void trigger_events_free(struct trigger_events *events); /* NULL is fine */
/* The zone that trigger i watches: an index into sums. */
uint32_t trigger_events_zone(const struct trigger_events *events, size_t i);

/* A chunk of part is finished; row has its raw form. */
int trigger_events_chunk(struct trigger_events *events, struct live *s, struct part *part,
			 const struct chunk_row *row);
/* The oldest frame of the main stream is about to close: what came of it, valid until the next
 * call, NULL: nothing. */
int trigger_events_close(struct trigger_events *events, struct live *s, uint64_t frame, int64_t t1,
			 const struct trigger_frame **ret_frame);

#endif
