/* SPDX-License-Identifier: MIT */
/* A zone's time, frame by frame. Pure; one walk, one thread. */
#ifndef FPROF_DAEMON_FRAME_PARTS_H
#define FPROF_DAEMON_FRAME_PARTS_H

#include "range.h"

struct frame_parts {
	const struct range *range;
	size_t frame; /* index of one that does not begin after the zone */
	int64_t begin, end;
};
struct frame_part {
	size_t frame; /* an index into range->frames */
	int64_t ns;
};
/* The next part of [begin, end), in ticks: false when there is none left. */
bool frame_parts_next(struct frame_parts *parts, struct frame_part *ret_part);

#endif
