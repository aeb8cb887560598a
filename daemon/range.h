/* SPDX-License-Identifier: MIT */
/*
 * The events of a range of frames, read once, front to back: what trees, tables, timelines and
 * exports are made from. Nothing is kept but the open stacks, so a range of any length costs no
 * memory. A visit that takes long is several read transactions, so that it never holds up the
 * store; what was evicted meanwhile is a gap.
 *
 * Times are ticks of the session's clock since its start (range_ns converts points, never
 * durations).
 */
#ifndef FPROF_DAEMON_RANGE_H
#define FPROF_DAEMON_RANGE_H

#include "history.h"
#include "shm/clock_source.h"

#include <stdbool.h>
#include <stdint.h>

/* Which frames: from..to inclusive, or the last so many (last > 0), of a stream (NULL: main). */
struct range_query {
	const char *stream;
	uint64_t from, to, last;
};

struct range {
	uint64_t session;
	struct session_row row;		/* owned */
	uint32_t stream;		/* its id */
	uint64_t first, last;		/* frames, both there */
	int64_t t0, t1;			/* [t0, t1) in ticks */
	int64_t begin_ns, end_ns;	/* the same in ns */
	struct history_frames frames;	/* rows of first..last, oldest first */
	history_tracks_vec tracks;	/* all of the session's, main thread first */
	VEC(struct marker_row) markers; /* by id: markers.at[id]; name NULL: there is none */
	struct fprof_clock_rate rate;
	bool evicted;	   /* events of some of these frames are gone */
	size_t kept_from;  /* index of the first frame whose events are all here */
	int64_t events_t0; /* its begin, t1 without one: a visit begins here */
	bool clipped;	   /* to a part of its frames: GPU zones are, too */
};
/* 0; -ENOENT: no such session, stream or frame; -EIO. Frames that are not there any more are left
 * out of first..last. */
int range_open(struct history *h, uint64_t session, const struct range_query *query,
	       struct range *ret_range);
void range_close(struct range *range);
/* Narrows a range to [begin_ns, end_ns): the first must lie in its first frame, the last in its
 * last one. Rows of these frames say so, and no visit sees what is outside. 0 or -ERANGE. */
int range_clip(struct range *range, int64_t begin_ns, int64_t end_ns);
/* The row of a marker, NULL: not known. */
const struct marker_row *range_marker(const struct range *range, uint32_t marker);
/* Its name; of one that is not known a text in buf. */
const char *range_name(const struct range *range, uint32_t marker, char *buf, size_t size);
/* By marker: the first one of the same name, to be freed; those without a name are themselves. 0 or
 * -ENOMEM. */
int range_first_named(const struct range *range, uint32_t **ret_first);
/* Ticks as ns from the session's start. */
int64_t range_ns(const struct range *range, int64_t ticks);
/* The index into range->frames of the frame in which t lies; SIZE_MAX: none. Cheap when called with
 * rising t and the last answer as hint. */
size_t range_frame_at(const struct range *range, int64_t t, size_t hint);
/* The same of the frame with this number. */
size_t range_frame_numbered(const struct range *range, uint64_t frame);
/* Which markers of zones have one of the names, at most 32 (NULL: nobody's): by marker, up to
 * markers.count, a mask of them, to be freed. *ret_found: the names that there are. NULL: no
 * memory. */
uint32_t *range_named(const struct range *range, const char *const *names, size_t count,
		      uint32_t *ret_found);

struct range_zone {
	uint32_t marker;
	int64_t begin, end;	      /* clipped to the range */
	int64_t full_begin, full_end; /* as recorded; full_end INT64_MAX: not known */
	int64_t children;	      /* ticks (clipped) of its direct children */
	uint32_t depth;		      /* 0: outermost */
	uint32_t flags;		      /* enum zone_flags */
	const char *text;	      /* NULL: none; valid during the call */
	bool has_value, value_is_double;
	union {
		int64_t i;
		double d;
	} value;
};
/* A zone of marker begins, or the innermost one ends. */
#define RANGE_LEFT UINT32_MAX
struct range_step {
	int64_t t;
	uint32_t marker; /* RANGE_LEFT: an end */
};
struct range_event {
	/* FIBER: from here on the thread runs the fiber of track value.i; 0: itself again */
	/* ALLOC: the thread allocated value.i bytes in count allocations since the last zone began
	 * or ended, in the zone that is innermost now */
	enum {
		RANGE_INSTANT,
		RANGE_MESSAGE,
		RANGE_COUNTER,
		RANGE_MARK,
		RANGE_FIBER,
		RANGE_ALLOC
	} kind;
	uint32_t marker; /* MARK: the id of its stream, 0: main */
	int64_t t;
	uint32_t colour;      /* MESSAGE */
	const char *text;     /* MESSAGE; valid during the call, NUL-terminated UTF-8 */
	bool adds, is_double; /* COUNTER */
	union {
		int64_t i;
		double d;
	} value;       /* COUNTER; MARK: i is the engine's number or -1 */
	int64_t count; /* ALLOC */
};
struct range_gpu_zone {
	struct gpu_span_row span; /* ns, as stored */
	uint32_t depth;
};

/*
 * What a visit calls, each may be NULL. Track by track, in the order of range->tracks; within a
 * track in time order, all of its memories merged; begins and ends nest properly: where zones of
 * two memories cross, the inner one is truncated. What lies outside the range is not shown, what
 * reaches in is, clipped. GPU zones are those of the range's frames (of the main stream), whenever
 * they ran, and of a clipped range what of them lies in it. A negative return ends the visit and is
 * its result.
 */
struct range_visitor {
	void *userdata;
	bool no_texts; /* texts of zones are not wanted */
	/* By marker, up to the range's markers.count: not 0 for those whose zones are wanted.
	 * Others may be left out, and are no depth and no children then. NULL: all are wanted. */
	const uint32_t *only;
	/* Once per track, before its events. 1: skip this track. */
	int (*track)(void *userdata, size_t index, const struct track_row *track);
	int (*begin)(void *userdata, uint32_t marker, int64_t t, uint32_t depth);
	int (*end)(void *userdata, const struct range_zone *zone);
	/* Instead of begin and end, for who wants nothing but when zones began and ended, or the
	 * range did: many at once, at a fraction of the cost. */
	int (*steps)(void *userdata, const struct range_step *steps, size_t count);
	int (*event)(void *userdata, const struct range_event *event);
	/* Events of the track were overwritten in here, could not be read, or were evicted (events
	   0: nobody knows how many). First of all, but for those that turn up on the way. */
	int (*gap)(void *userdata, const struct gap_row *gap);
	/* GPU queues: by begin, parents first, instead of begin and end. */
	int (*gpu)(void *userdata, const struct range_gpu_zone *zone);
};
int range_visit(struct history *h, const struct range *range, const struct range_visitor *visitor);

#endif
