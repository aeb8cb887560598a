/* SPDX-License-Identifier: MIT */
/*
 * Tracks: what a row of a timeline stands for (a thread, a fiber, a GPU queue), and their parts:
 * what one memory (lane) says about one track. A part has the open zones, the chunk that is being
 * built, and for the partition of frames the times at which the innermost wait zone changed. Drain
 * thread only.
 *
 * Times are ticks since the session's start. On a part they never run backwards.
 */
#ifndef FPROF_DAEMON_TRACK_H
#define FPROF_DAEMON_TRACK_H

#include "batch.h"
#include "chunk_build.h"

#include <stdbool.h>
#include <stdint.h>

struct live;
struct ring;

#define TIME_OPEN INT64_MAX /* an end that is not known yet */

/* From t on the innermost open wait zone is of kind (0: none); it began at since. */
struct wait_step {
	int64_t t, since;
	uint32_t kind;
};

struct part {
	struct part *next;    /* of the session */
	struct part *sibling; /* of the track */
	struct track *track;
	uint32_t lane;
	bool ended; /* nothing more comes from this lane */
	bool held;  /* by a ring: see tracks_collect */

	/* open zones */
	uint32_t depth, capacity;
	uint32_t over;	  /* zones open beyond CHUNK_DEPTH_MAX */
	uint32_t unknown; /* zones open that a loss hides: their ends are no mistakes */
	uint32_t waits;	  /* wait zones among the open ones */
	uint32_t
		stops; /* how often recording had ceased when it was last looked at; 0: never was */

	/* the chunk that is being built */
	bool open;	/* it has begun */
	bool late;	/* its frame was closed before */
	uint32_t leads; /* lead words in it */
	int64_t cut;	/* the first time that belongs to another one */

	int64_t steps_from; /* steps before were forgotten */
	VEC(struct wait_step) steps;

	struct zone_counter *counter; /* NULL: its zones are not counted */
	bool uncounted;		      /* they came to too many paths */

	void *watch;		  /* trigger_events.c's, malloc'ed; NULL: nothing */
	struct chunk_open *stack; /* capacity of them */
	struct chunk_builder b;	  /* the last one: see part_of */
};

struct track {
	uint32_t id;
	enum track_kind kind;
	int32_t tid;
	char *name;	    /* NULL: none */
	int64_t begin, end; /* end TIME_OPEN: it lives */
	struct part *parts;
	uint32_t streams;	/* frame streams that it owns */
	bool held;		/* by a ring: see tracks_collect */
	uint64_t leads;		/* lead words in its finished chunks */
	struct ring *last_ring; /* that ran this fiber, or registered this queue, last */
	/* fibers */
	struct track *hash_next;
	uint64_t fiber;
	uint32_t fiber_lane;
	uint64_t segments; /* how many of its segments are over */
	/* GPU queues */
	uint32_t queue, valid_bits;
	double ns_per_tick;
};

#define FIBER_HASH 1024u
#define TRACKS_MAX 8192u /* of one session that are alive or not yet collected */

struct tracks {
	VEC(struct track *) all;
	struct part *parts;
	uint32_t part_count;
	uint32_t counters; /* of parts */
	uint32_t next_id;
	struct track *fibers[FIBER_HASH];
	uint32_t fiber_count;
};

void tracks_init(struct tracks *tracks);
void tracks_deinit(struct tracks *tracks);

/* A new track; the caller fills in what it knows and calls track_put_row. name (may be NULL) is
 * copied. */
int track_new(struct live *s, enum track_kind kind, const char *name, int64_t begin,
	      struct track **ret_track);
/* The thread tid that was alive at t and has nothing from lane yet, or NULL. */
struct track *track_find_thread(struct live *s, int32_t tid, uint32_t lane, int64_t t);
struct track *track_find_fiber(struct live *s, uint32_t lane, uint64_t fiber);
/* A new fiber; -ENOSPC: there are too many. */
int track_new_fiber(struct live *s, uint32_t lane, uint64_t fiber, const char *name, int64_t begin,
		    struct track **ret_track);
/* Makes a fiber of an earlier daemon findable again. */
void track_resume_fiber(struct live *s, struct track *track, uint32_t lane, uint64_t fiber,
			uint64_t segments);
struct track *track_find_queue(struct live *s, uint32_t queue);
struct track *track_find_id(struct live *s, uint32_t id);
int track_rename(struct live *s, struct track *track, const char *name);
/* Queues its row, with what it is now. */
int track_put_row(struct live *s, const struct track *track);

/* The part of track in lane, made if need be. */
int part_of(struct live *s, struct track *track, uint32_t lane, struct part **ret_part);

/*
 * Makes the part ready for one more event at t (not before its last) with payload bytes of
 * arguments: ends the chunk that t does not belong to, begins one.
 */
int part_ready(struct live *s, struct part *part, int64_t t, size_t payload);
/* Hands over the chunk that is being built, if any. */
int part_finish(struct live *s, struct part *part);
/* Anew, where its chunk must end: boundaries may have become known since. */
void part_recut(struct live *s, struct part *part);
/* Closes all open zones at t: their ends will not come. */
int part_truncate(struct live *s, struct part *part, int64_t t);
/* Its thread or fiber says no more: zones are closed, its track ends with its last part. */
int part_end(struct live *s, struct part *part, int64_t t);

/* Makes room for one more open zone, CHUNK_DEPTH_MAX at most: 0 or -ENOMEM. */
int part_deepen(struct part *part);
/* The stack, one zone up or down, wait steps kept. The caller checked the depth. */
int part_push(struct live *s, struct part *part, uint32_t marker, int64_t t);
int part_pop_to(struct live *s, struct part *part, uint32_t depth, int64_t t);

/* Forgets wait steps before t, but for the state at t. */
void part_prune_steps(struct part *part, int64_t t);
/* Frees parts that ended, and tracks without any, when nothing can ask for them any more. */
void tracks_collect(struct live *s);

#endif
