/* SPDX-License-Identifier: MIT */
/*
 * Points are made ns, never lengths, so that the parts of a zone add up to it. What lies between
 * two rows that do not follow each other is in no frame.
 */
#include "frame_parts.h"

#include "util.h"

bool frame_parts_next(struct frame_parts *parts, struct frame_part *ret_part)
{
	const struct history_frames *frames = &parts->range->frames;

	while (parts->begin < parts->end && parts->frame < frames->frames.count) {
		const struct frame_row *row = &frames->frames.at[parts->frame].row;
		int64_t from = MAX(parts->begin, row->t0), to = MIN(parts->end, row->t1);
		size_t frame = parts->frame;

		if (row->t1 <= parts->end)
			parts->frame++;
		parts->begin = MAX(parts->begin, to);
		if (from >= to) {
			if (row->t0 >= parts->end)
				break;
			continue;
		}
		ret_part->frame = frame;
		ret_part->ns = range_ns(parts->range, to) - range_ns(parts->range, from);
		return true;
	}
	return false;
}
