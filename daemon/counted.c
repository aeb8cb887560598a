/* SPDX-License-Identifier: MIT */
/*
 * Counted time is the session's time less what was left out before, so what spans a frame that is
 * left out is shorter by that frame, and what lies within one has no length. Points are converted,
 * never durations: intervals that touch still touch.
 */
#include "counted.h"

#include "util.h"

#include <errno.h>
#include <string.h>

void counted_deinit(struct counted *c)
{
	VEC_FREE(&c->frames);
	free(c->offsets);
	free(c->out);
	memset(c, 0, sizeof(*c));
}

static const struct frame_row *row_of(const struct counted *c, size_t i)
{
	return &c->range->frames.frames.at[i].row;
}

bool left_out_take(struct left_out *out, uint32_t flags)
{
	if (flags & FRAME_STARTUP)
		out->startup++;
	else if (flags & FRAME_PAUSED)
		out->paused++;
	else if (flags & FRAME_LOADING)
		out->loading++;
	else if (flags & FRAME_CLOCK_STEP)
		out->clock_step++;
	else
		return false;
	return true;
}

static bool is_out(struct counted *c, size_t i, unsigned flags)
{
	if (!(flags & COUNTED_EVENTS) || i >= c->range->kept_from)
		return !(flags & COUNTED_ALL) && left_out_take(&c->left_out, row_of(c, i)->flags);
	c->evicted++;
	return true;
}

/* Returns how many are left. */
static size_t leave_out(struct counted *c, unsigned flags)
{
	size_t count = c->range->frames.frames.count, left = 0, i;

	c->left_out = (struct left_out){0};
	c->evicted = 0;
	for (i = 0; i < count; i++) {
		c->out[i] = is_out(c, i, flags);
		left += !c->out[i];
	}
	return left;
}

static int add_frames(struct counted *c)
{
	size_t count = c->range->frames.frames.count, i;
	int64_t offset = 0, end = row_of(c, 0)->begin_ns;

	for (i = 0; i < count; i++) {
		const struct frame_row *row = row_of(c, i);
		struct counted_frame frame = {.index = i};

		offset += row->begin_ns - end; /* frames that are not there */
		c->offsets[i] = offset;
		end = row->end_ns;
		if (c->out[i]) {
			offset += row->end_ns - row->begin_ns;
			continue;
		}
		frame.begin_ns = row->begin_ns - offset;
		if (VEC_PUSH(&c->frames, frame) < 0)
			return -ENOMEM;
		c->wall_ns += row->end_ns - row->begin_ns;
		c->end_ns = row->end_ns - offset;
	}
	c->whole = offset == 0;
	return 0;
}

int counted_init(struct counted *c, const struct range *range, unsigned flags)
{
	size_t count = range->frames.frames.count;
	int r;

	memset(c, 0, sizeof(*c));
	c->range = range;
	c->offsets = calloc(count, sizeof(*c->offsets));
	c->out = calloc(count, sizeof(*c->out));
	if (!c->offsets || !c->out) {
		counted_deinit(c);
		return -ENOMEM;
	}
	if (leave_out(c, flags) == 0)
		leave_out(c, flags | COUNTED_ALL);
	r = add_frames(c);
	if (r < 0)
		counted_deinit(c);
	return r;
}

/* The last frame of the range that begins at or before t; the first where none does. */
static size_t frame_at(const struct counted *c, int64_t t)
{
	size_t low = 0, high = c->range->frames.frames.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (row_of(c, middle)->t0 <= t)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int64_t counted_ns_slow(struct counted *c, int64_t t, bool *ret_out)
{
	size_t count = c->range->frames.frames.count;
	const struct frame_row *row;

	if (t < row_of(c, c->at)->t0)
		c->at = frame_at(c, t);
	while (c->at + 1 < count && row_of(c, c->at + 1)->t0 <= t)
		c->at++;
	row = row_of(c, c->at);
	*ret_out = c->out[c->at] || t < row->t0 || t > row->t1;
	if (c->out[c->at])
		return row->begin_ns - c->offsets[c->at];
	return MIN(range_ns(c->range, t), row->end_ns) - c->offsets[c->at];
}

size_t counted_find_slow(const struct counted *c, int64_t ns)
{
	const struct counted_frame *f = c->frames.at;
	size_t low = 0, high = c->frames.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (f[middle].begin_ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool counted_begin_of(const struct counted *c, uint64_t frame, int64_t *ret_ns)
{
	size_t i = range_frame_numbered(c->range, frame);

	if (i == SIZE_MAX || c->out[i])
		return false;
	*ret_ns = row_of(c, i)->begin_ns - c->offsets[i];
	return true;
}
