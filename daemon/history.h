/* SPDX-License-Identifier: MIT */
/*
 * The reading side of the history: rows, and zones decoded from chunks. A reader is one SQLite
 * read-only connection with its prepared statements; one thread uses it at a time. Every call is
 * one short read transaction and reopens the database by itself when the store moved it.
 *
 * Totals, trees and percentiles are made by callers from what this returns.
 */
#ifndef FPROF_DAEMON_HISTORY_H
#define FPROF_DAEMON_HISTORY_H

#include "batch.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>

struct history;

int history_open(struct store *store, struct history **ret_history);
/* Of a capture's file instead, opened now (captures.h checks it and knows where it is). It may be
 * renamed or removed meanwhile. 0, -ENOENT, -EBADMSG, -ENOTSUP, -errno. */
int history_open_file(const char *path, struct history **ret_history);
void history_close(struct history *history); /* NULL is fine */

struct history_session {
	struct session_row row; /* strings owned by this */
	struct session_update_row update;
	uint64_t frames_retained;	  /* rows of the main stream whose events are here */
	uint64_t first_retained;	  /* the first of them; 0: none */
	uint64_t first_frame, last_frame; /* of the main stream's rows; 0: none */
	uint32_t threads;		  /* thread tracks seen */
	uint64_t chunk_bytes;		  /* what its events use */
	int capture_kind;		  /* enum capture_kind (captures.h); -1: recorded */
	bool attached;			  /* by a daemon that attached to the game */
	bool hooked;			  /* by the preload hook, alone or beside the game */
	VEC(struct info_row) infos;
};
void history_session_deinit(struct history_session *session);
/* Newest first. uid: only of this owner; HISTORY_ANY_UID: all. */
#define HISTORY_ANY_UID UINT32_MAX
typedef VEC(struct history_session) history_sessions_vec;
int history_sessions(struct history *h, uint32_t uid, history_sessions_vec *ret_sessions);
void history_sessions_free(history_sessions_vec *sessions);
/* id 0: `current`: the newest live one, else the newest, of those that are no selftest's. 0,
 * -ENOENT, -EIO. A session of another uid is -ENOENT. */
int history_session(struct history *h, uint64_t id, uint32_t uid,
		    struct history_session *ret_session);

/* A frame as the API shows it. */
struct history_frame {
	struct frame_row row;
	int64_t gpu_ns; /* longest queue span; NS_UNKNOWN when unknown */
	uint32_t late_events;
	bool truncated;
};
struct history_frame_gpu {
	uint64_t frame;
	struct frame_gpu_row gpu;
};
struct history_frames {
	VEC(struct history_frame) frames; /* oldest first */
	VEC(struct history_frame_gpu) gpus;
	uint64_t first_row, last_row; /* of the stream; 0: none */
};
void history_frames_deinit(struct history_frames *frames);
/* The index of the first frame that ends after t; their count: there is none. */
size_t history_frames_after(const struct history_frames *frames, int64_t t);
/* stream NULL: main. from..to inclusive. -ENOENT: no such session or stream. */
int history_frames(struct history *h, uint64_t session, const char *stream, uint64_t from,
		   uint64_t to, struct history_frames *ret_frames);
int history_frames_last(struct history *h, uint64_t session, const char *stream, uint64_t count,
			struct history_frames *ret_frames);
/* The slowest frame that is neither startup nor paused nor loading, of those whose events are here;
 * without such of all: 0 or -ENOENT. */
int history_slowest(struct history *h, uint64_t session, const char *stream, uint64_t *ret_frame);

/* What of a frame its neighbours are judged by. Captures have it of some more than of whole frames.
 */
struct history_near {
	uint64_t frame;
	int64_t begin_ns, end_ns;
	int64_t cpu_ns; /* by elimination; NS_UNKNOWN: not known */
	uint32_t track; /* that ended it */
};
typedef VEC(struct history_near) history_nears_vec;
#define HISTORY_AROUND 120
/* Of the frames first..last of a stream and of HISTORY_AROUND on both sides, by frame. 0 or -errno.
 */
int history_near(struct history *h, uint64_t session, uint32_t stream, uint64_t first,
		 uint64_t last, history_nears_vec *ret_frames);

/* How long a thread had run at a moment, since it began. */
struct history_ran {
	int64_t ns, ran_ns;
};
typedef VEC(struct history_ran) history_rans_vec;
/* The readings of a thread from the last one before from_ns to the first one after to_ns, oldest
 * first. 0 or -errno. */
int history_ran(struct history *h, uint64_t session, int32_t tid, int64_t from_ns, int64_t to_ns,
		history_rans_vec *ret_rans);

enum zone_flags {
	ZONE_CLIPPED_BEGIN = 1 << 0, /* began before the frame */
	ZONE_CLIPPED_END = 1 << 1,   /* ends after it, or is still open */
	ZONE_TRUNCATED = 1 << 2,     /* its end was lost or repaired */
	ZONE_OPEN = 1 << 3,	     /* open at the end of what is known */
	ZONE_UNBALANCED = 1 << 4,    /* its end had others open inside */
	ZONE_UNCLOSED = 1 << 5,	     /* imported: its file had no end of it */
	ZONE_OVERLAP = 1 << 6,	     /* imported: began inside another and outlasted it */
	ZONE_ALIGNED = 1 << 7,	     /* on a GPU: its time is only aligned to its submission */
};
/* What a file says of a zone; the others follow from its events. */
#define ZONE_IMPORTED                                                                     \
	((uint32_t)ZONE_TRUNCATED | (uint32_t)ZONE_UNBALANCED | (uint32_t)ZONE_UNCLOSED | \
	 (uint32_t)ZONE_OVERLAP)
struct history_zone {
	uint32_t track;		  /* index into tracks[] */
	uint32_t marker;	  /* session's marker id */
	int64_t begin_ns, end_ns; /* clipped to the frame */
	int64_t full_begin_ns;	  /* unclipped, where known (else equal) */
	uint32_t depth;
	int32_t parent; /* index into zones[], -1: none */
	uint32_t flags;
	char *text; /* NULL: none */
	bool has_value, value_is_double;
	union {
		int64_t i;
		double d;
	} value;
};
struct history_message {
	uint32_t track; /* index into tracks[] */
	uint32_t marker;
	int64_t ns;
	uint32_t colour;
	char *text; /* NULL for an instant: marker is its name */
};
/* A zone that is open at the end of what is known. */
struct history_open {
	uint32_t track; /* index into tracks[] */
	uint32_t marker;
	int64_t begin_ns;
};
struct history_marker {
	uint32_t marker;
	struct marker_row row;
};
struct history_frame_detail {
	struct history_frame frame;
	VEC(struct track_row) tracks;	      /* that have anything in the frame, main first */
	VEC(struct history_zone) zones;	      /* by track, then begin, parents before children */
	VEC(struct history_message) messages; /* by time; instants too */
	VEC(struct history_open) open;	      /* by track, outermost first; never cut */
	VEC(struct frame_counter_row) counters;
	VEC(uint32_t) counters_to_come; /* markers of those whose first value came later */
	VEC(struct gpu_span_row) gpu_spans;
	VEC(struct frame_gpu_row) gpus;
	VEC(struct gap_row) gaps;
	VEC(struct marker_row) markers; /* those used above, sorted by marker id */
	bool truncated;			/* zones beyond max_zones were cut, deepest first;
					   or the tail began earlier */
};
/*
 * All of one frame; at most max_zones zones (0: no limit). HISTORY_TAIL is the unfinished tail of a
 * stream: what follows its last frame, or the session's begin, up to the newest event, as a frame
 * with the number 0 and FRAME_UNFINISHED. Of a long one the newest HISTORY_TAIL_NS, or as many of
 * the newest chunks as HISTORY_TAIL_EVENTS fit into.
 */
#define HISTORY_TAIL	    0
#define HISTORY_TAIL_NS	    INT64_C(1000000000)
#define HISTORY_TAIL_EVENTS 1000000u
int history_frame_detail(struct history *h, uint64_t session, const char *stream, uint64_t frame,
			 size_t max_zones, struct history_frame_detail *ret_detail);
void history_frame_detail_deinit(struct history_frame_detail *detail);
/* The marker row of an id in a detail; NULL when unknown. */
const struct marker_row *history_marker_of(const struct history_frame_detail *detail,
					   uint32_t marker);

struct zone_totals;
/* What zones came to over the whole session (zone_totals_deinit). -ENODATA: nobody counted all of
 * it; -ENOENT: no such session. */
int history_zone_totals(struct history *h, uint64_t session, struct zone_totals *ret_totals);

typedef VEC(struct stream_row) history_streams_vec;
typedef VEC(struct track_row) history_tracks_vec;
int history_streams(struct history *h, uint64_t session, history_streams_vec *ret_streams);
int history_tracks(struct history *h, uint64_t session, history_tracks_vec *ret_tracks);

/* How full a thread's rings lately were when they were read: the fullest. */
struct history_fill {
	uint32_t track;
	uint32_t permille;
};
typedef VEC(struct history_fill) history_fills_vec;
/* Of the threads that have rings, by track. 0 or -errno. */
int history_fills(struct history *h, uint64_t session, history_fills_vec *ret_fills);

#endif
