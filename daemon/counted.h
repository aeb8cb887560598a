/* SPDX-License-Identifier: MIT */
/*
 * The frames of a range that statistics are made of, and time that passes only in them. Left out
 * are the startup frame, those in which recording was paused, the game was loading or the clock
 * stepped and, where events are needed, those whose events are gone. A range that has no others is
 * taken as it is: whoever asks for one startup frame gets it. One thread at a time.
 */
#ifndef FPROF_DAEMON_COUNTED_H
#define FPROF_DAEMON_COUNTED_H

#include "range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frames that are none of play, by why. */
struct left_out {
	uint64_t startup, paused, loading, clock_step;
};
/* Is a frame with these flags (enum frame_flags) one of them? Then it is counted as what it is. */
bool left_out_take(struct left_out *out, uint32_t flags);

struct counted_frame {
	size_t index;	  /* into range->frames.frames */
	int64_t begin_ns; /* counted time at its begin */
};

struct counted {
	const struct range *range;
	VEC(struct counted_frame) frames;
	int64_t end_ns;	 /* counted time at the end of the last */
	int64_t wall_ns; /* of them all */
	struct left_out left_out;
	uint64_t evicted; /* left out as their events are gone */
	bool whole;	  /* nothing is left out: counted time is the session's */
	/* By frame of the range: what was left out before it, and whether it is itself. */
	int64_t *offsets;
	bool *out;
	size_t at; /* the frame of the last question */
};

enum counted_flags {
	COUNTED_ALL = 1 << 0,	 /* leave out nothing but frames without events */
	COUNTED_EVENTS = 1 << 1, /* leave out frames whose events are gone */
};
/* 0 or -ENOMEM. The range stays the caller's and must outlive it. */
int counted_init(struct counted *c, const struct range *range, unsigned flags);
void counted_deinit(struct counted *c);

__extension__ typedef __int128 counted_wide;

/* Ticks within the range as counted ns; *ret_out: that time is left out. Cheap with rising t. */
int64_t counted_ns_slow(struct counted *c, int64_t t, bool *ret_out);
static inline int64_t counted_ns(struct counted *c, int64_t t, bool *ret_out)
{
	const struct fprof_clock_rate *rate = &c->range->rate;

	if (!c->whole)
		return counted_ns_slow(c, t, ret_out);
	*ret_out = false;
	return (int64_t)((counted_wide)t * (counted_wide)rate->mult >> rate->shift);
}
size_t counted_find_slow(const struct counted *c, int64_t ns);
/* Counted time at the begin of the frame with this number; false: it is left out. */
bool counted_begin_of(const struct counted *c, uint64_t frame, int64_t *ret_ns);
/* Counted time at the end of frame i of c->frames. */
static inline int64_t counted_end(const struct counted *c, size_t i)
{
	return i + 1 < c->frames.count ? c->frames.at[i + 1].begin_ns : c->end_ns;
}

/* The index into c->frames of the one in which counted time ns lies; those outside belong to the
 * nearest. Cheap with rising ns and the last answer as hint. */
static inline size_t counted_find(const struct counted *c, int64_t ns, size_t hint)
{
	size_t i;

	for (i = hint; i < c->frames.count && i < hint + 2; i++)
		if (c->frames.at[i].begin_ns <= ns && ns < counted_end(c, i))
			return i;
	return counted_find_slow(c, ns);
}

/* A stretch of counted time, cut where frames of c->frames end. */
struct counted_parts {
	const struct counted *counted;
	int64_t begin, end;
	size_t frame; /* a hint; then the frame of the part */
	bool begun;
};
/* The next part, at least one: false when there is none left. */
static inline bool counted_part_next(struct counted_parts *p, int64_t *ret_ns)
{
	int64_t end;

	if (p->begun && p->begin >= p->end)
		return false;
	p->frame = p->begun ? p->frame + 1 : counted_find(p->counted, p->begin, p->frame);
	p->begun = true;
	end = counted_end(p->counted, p->frame);
	if (end > p->end || p->frame + 1 >= p->counted->frames.count)
		end = p->end;
	*ret_ns = end - p->begin;
	p->begin = end;
	return true;
}

#endif
