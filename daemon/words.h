/* SPDX-License-Identifier: MIT */
/*
 * The words of one ring, in order, into chunks, marks, counters and rows. Drain thread only.
 *
 * words.c reads and places in time; words_owner.c knows whose events follow (headers, threads,
 * fibers); words_event.c takes the other extended events apart.
 */
#ifndef FPROF_DAEMON_WORDS_H
#define FPROF_DAEMON_WORDS_H

#include "lane.h"
#include "live.h"

#include <stdbool.h>
#include <stdint.h>

enum words_state {
	WORDS_DRAINED, /* all events up to the horizon are read */
	WORDS_BEHIND,  /* its share was used up */
	WORDS_WAITING, /* for an earlier segment of a fiber */
};

struct words_limits {
	int64_t now;	 /* no event can be newer (but for the slack) */
	int64_t horizon; /* newer events stay in the ring */
	uint64_t share;	 /* words that may still be read in this sweep; counted down */
	uint64_t until;	 /* CLOCK_MONOTONIC, ns: what is left then waits; 0: no limit */
	uint64_t copies; /* made in this sweep: one is, however late it is */
	bool last;	 /* nothing more will come */
};

/* Reads ring up to the horizon. 0 or -errno. */
int words_read(struct live *s, struct ring *ring, struct words_limits *limits,
	       enum words_state *ret_state);

/*
 * Looks ahead, consuming nothing: does the ring have a mark of the main stream up to the horizon,
 * when, and by whom? A mark of the game's counts before one of the hook's, which ends the same
 * frame, where it comes before the hook's next one.
 */
struct words_mark {
	int64_t t;
	uint32_t origin;
	bool again; /* the hook's: it has marked once more, and the game has not */
};
bool words_find_mark(struct live *s, struct ring *ring, const struct words_limits *limits,
		     struct words_mark *ret_mark);

/* ---- between the words_*.c files ---- */

/* One event: its words (lead first), their number, its time. */
struct words_event {
	const uint64_t *words;
	uint32_t count;
	int64_t t;
};

/* A ring waits for a fiber's earlier segment no longer than for this; a sweep that read all counts
 * WORDS_WAIT_STEP, one that did not (the segment may lie in what is left) 1. */
#define WORDS_WAIT_MAX	  64u
#define WORDS_WAIT_STEP	  32u
#define WORDS_SLACK_TICKS 4096 /* times may be off by this much between CPUs */

/* What became of a lead word. */
enum words_verdict { WORDS_STORED = 0, WORDS_WAIT, WORDS_DISCARD }; /* + enum discard_reason */

/* Where the ring's events go now. */
int words_part(struct live *s, struct ring *ring, struct part **ret_part);
/* Makes part ready for an event at t, which becomes no earlier than the part's last. */
int words_ready(struct live *s, struct part *part, int64_t *t, size_t payload);
/* A lead word goes into part's chunk with this code. words_ready came before. */
void words_put(struct part *part, int64_t t, uint32_t code);

/* Finds out whose ring it is, for events that come before any word that says so. WORDS_STORED,
 * WORDS_DISCARD + reason (there is no room for its track) or -errno. */
int words_owner(struct live *s, struct ring *ring, int64_t t);

/* All return enum words_verdict or -errno. */
int words_header(struct live *s, struct ring *ring, const uint64_t *words, uint64_t pos,
		 const struct words_limits *limits);
int words_thread(struct live *s, struct ring *ring, const struct words_event *e);
int words_thread_end(struct live *s, struct ring *ring, const struct words_event *e);
int words_fiber(struct live *s, struct ring *ring, const struct words_event *e);
int words_event(struct live *s, struct ring *ring, const struct words_event *e);
/* The ring's owner is gone for good (its head ran backwards, the memory is nonsense). */
int words_abandon(struct live *s, struct ring *ring);
/* The name that an end without its begin has in the log, once per marker. */
void words_report(struct live *s, const struct part *part, uint32_t marker, const char *what);

#endif
