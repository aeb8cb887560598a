/* SPDX-License-Identifier: MIT */
/*
 * A lane: one memory of a session with its rings, and the map from the memory's marker ids to the
 * session's. Drain thread only.
 */
#ifndef FPROF_DAEMON_LANE_H
#define FPROF_DAEMON_LANE_H

#include "batch.h"
#include "memory.h"
#include "track.h"

struct live;

/* An entry of the map: 0: not looked at; LANE_BAD: no such marker; LANE_FULL: the session has
 * no room for its name; else the session's id, with LANE_SLOW where a zone's begin and end need
 * more than the stack (waits, what is no zone). */
#define LANE_BAD     UINT32_MAX
#define LANE_FULL    (UINT32_MAX - 1)
#define LANE_SLOW    (1u << 31)
#define LANE_ID_MASK (LANE_SLOW - 1)

#define LANE_START_MAX (INT64_C(1) << 56) /* ticks: no memory began longer before the session */

struct ring {
	struct lane *lane;
	uint32_t slot;
	struct ring_reader reader;

	/* time: ticks since session start */
	int64_t base;  /* of the last event */
	int64_t floor; /* nothing older than this can come, but for late events */
	int64_t block; /* of the block's header: nothing in the block is older */

	/* whose events follow */
	struct track *own;   /* the thread's track, NULL: not known yet */
	struct track *fiber; /* the fiber that it runs, or NULL */
	uint64_t fiber_seq;
	struct part *part; /* where events go now; NULL: to be looked up */
	uint32_t serial;

	/* the ledger; number: of the next event as the writer counts */
	uint64_t number, received, stored, overwritten;
	uint64_t discarded[DISCARD_REASONS];

	uint32_t fill_permille; /* the fullest it was since its row was last written */

	bool dirty;			 /* its ledger row has to be written */
	bool resync;			 /* skipping to the next block header */
	bool lapped;			 /* the next header tells what was lost */
	bool abandoned;			 /* its head ran backwards */
	bool left;			 /* waits for a fiber's earlier segment; has left its own */
	uint64_t lost_from, resync_from; /* positions */
	uint32_t stuck; /* how long it has waited for a fiber's earlier segment: WORDS_WAIT_MAX */
};

struct lane {
	uint32_t index;
	struct memory *memory; /* owned */
	uint32_t *map;	       /* FPROF_ID_MASK + 1 entries, resident where used */
	VEC(struct ring *) rings;
};

/* Takes memory over on success. */
int lane_new(struct memory *memory, uint32_t index, struct lane **ret_lane);
void lane_free(struct lane *lane); /* NULL is fine */
/* Adds rings for slots that have come into use. */
int lane_update(struct live *s, struct lane *lane);
/* The map's entry of a marker, looked up when it is new. */
int lane_marker(struct live *s, struct lane *lane, uint32_t id, uint32_t *ret_entry);

static inline uint64_t ring_discarded(const struct ring *ring)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < DISCARD_REASONS; i++)
		sum += ring->discarded[i];
	return sum;
}

#endif
