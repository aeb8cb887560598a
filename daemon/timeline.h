/* SPDX-License-Identifier: MIT */
/*
 * The zones of a range as they lie in time, thin enough to be drawn. Nothing vanishes: what is
 * shorter than the resolution is merged with its neighbours of the same depth into slivers that say
 * how many zones and how much time they stand for. One thread at a time.
 */
#ifndef FPROF_DAEMON_TIMELINE_H
#define FPROF_DAEMON_TIMELINE_H

#include "range.h"
#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zone (count 1) or a sliver. */
struct timeline_item {
	int64_t begin_ns, end_ns;
	int64_t busy_ns;    /* the durations of its zones */
	int64_t longest_ns; /* of them */
	uint32_t marker;    /* the longest one's */
	uint32_t count;
	uint16_t depth, flags; /* flags: enum zone_flags of any of them */
};

enum timeline_event_kind { TIMELINE_NOTHING, TIMELINE_INSTANT, TIMELINE_MESSAGE, TIMELINE_MARK };

/* An instant, a message or a mark of a named stream, or, with a count above 1, several of them. */
struct timeline_event {
	int64_t ns;
	enum timeline_event_kind kind;
	uint32_t marker, colour, count; /* marker: of a mark its stream's id */
	char *text;			/* of the first; NULL: none */
};

struct timeline_track {
	uint32_t track;	     /* index into range->tracks */
	size_t first, count; /* of items */
	size_t first_event, events;
};

struct timeline {
	int64_t resolution_ns;		   /* as it came to be */
	VEC(struct timeline_track) tracks; /* those that are not skipped */
	VEC(struct timeline_item) items;   /* by begin, parents first */
	VEC(struct timeline_event) events;
	VEC(struct gap_row) gaps;
};

/*
 * resolution_ns 0: every zone on its own. Where there are more than most items or events the
 * resolution is made coarser until they fit. skip: by track, NULL: none. 0 or -errno.
 */
int timeline_read(struct history *h, const struct range *range, const bool *skip,
		  int64_t resolution_ns, size_t most, struct timeline *ret_timeline);
void timeline_deinit(struct timeline *timeline);

#endif
