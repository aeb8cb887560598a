/* SPDX-License-Identifier: MIT */
/*
 * Frames: streams, their boundaries, and the rows of frames that every ring has been read past.
 *
 * A mark ends a frame at its time: a frame is [t0, t1). The main stream (id 0) belongs to the
 * thread that marked it first; the other streams are named by a marker and belong to the
 * thread or fiber that marks them. Drain thread only.
 */
#ifndef FPROF_DAEMON_FRAMES_H
#define FPROF_DAEMON_FRAMES_H

#include "batch.h"
#include "counters.h"
#include "loading.h"
#include "track.h"

struct live;

struct frame {
	uint64_t number;
	int64_t t0, t1; /* t1 TIME_OPEN: it goes on */
	int64_t engine_id;
	uint64_t events;
	uint32_t flags;
	counter_cells cells; /* main stream only */
};

/* Events that were overwritten, shared out over the frames of their time. */
struct frames_gap {
	int64_t t0, t1;
	uint64_t events, shared;
};

struct stream {
	uint32_t id;
	uint32_t marker;     /* session's id of its name; 0: main */
	struct track *track; /* its owner, NULL: nobody has marked yet */
	struct ring *ring;   /* that its last mark was read from */
	bool game;	     /* the game's own marks were seen */
	bool game_ahead;     /* ... are about to be: the hook's before them are void */
	uint64_t sequence;   /* of the last mark obeyed */
	uint32_t origin;     /* ... its origin; 0: not known (resumed) */
	uint32_t lane;	     /* ... and its lane */
	bool blind;	     /* the open frame's waits are not known from its start (resumed) */
	/* frames not closed yet, oldest first, in a ring of a power of two; the last one is open */
	struct frame *frames;
	uint32_t capacity, first, count;
	uint64_t closed_total;
	VEC(struct frames_gap) gaps;
};

struct frames {
	VEC(struct stream *) streams; /* [0] is main */
	int64_t step_from, step_to;   /* a clock step lies in here; from > to: none */
	struct loading loading;
};

int frames_init(struct live *s);
void frames_deinit(struct frames *f);

static inline struct frame *stream_frame(const struct stream *st, uint32_t i)
{
	return &st->frames[(st->first + i) & (st->capacity - 1)];
}

/* Events before this are late: their frame was closed. */
static inline int64_t stream_closed(const struct stream *st)
{
	return stream_frame(st, 0)->t0;
}

/* The frame that t falls into, or NULL when that was closed. */
struct frame *stream_find(const struct stream *st, int64_t t);

/* MARK_NO_ROOM: it would begin a stream, and there are too many. */
enum mark_verdict { MARK_OBEYED, MARK_HOOK, MARK_FOREIGN, MARK_NO_ROOM };

struct mark {
	struct track *track;
	struct ring *ring;
	uint32_t marker; /* session's id of the stream, 0: main */
	uint32_t origin, lane;
	uint64_t sequence;
	uint64_t flags;	   /* enum fprof_mark_flag */
	int64_t engine_id; /* -1: none */
	int64_t t;
};
/* A mark was read. *ret_stream, where it is obeyed, is where it belongs. */
int frames_mark(struct live *s, const struct mark *mark, struct stream **ret_stream,
		enum mark_verdict *ret_verdict);

/* The first boundary after t that matters to track: where a chunk that begins at t must end. */
int64_t frames_cut(const struct live *s, const struct track *track, int64_t t);
/* A chunk of track with so many lead words begins at t. */
void frames_count(struct live *s, const struct track *track, int64_t t, uint32_t leads);
/* events of track were overwritten in [t0, t1]. */
int frames_gap(struct live *s, const struct track *track, int64_t t0, int64_t t1, uint64_t events);
/* Every ring has been read up to until: closes what ended before. */
int frames_close(struct live *s, int64_t until);
/* A stream as an earlier daemon left it: row is its newest frame (NULL: none). */
int frames_resume(struct live *s, const struct stream_row *stream, uint32_t marker,
		  const struct frame_row *row);
int64_t frames_ns(const struct live *s, int64_t t);

#endif
