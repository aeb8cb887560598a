/* SPDX-License-Identifier: MIT */
/*
 * Since when a session's clients record, as their rings say. Drain thread only.
 *
 * The ring with the main stream's marks decides, as it does for frames: it is read first, so what
 * other rings hold of the time in which nothing was to be recorded (ends of zones that were open
 * at the boundary; what slipped through while gates closed) is known for that, and discarded.
 */
#ifndef FPROF_DAEMON_RECORD_H
#define FPROF_DAEMON_RECORD_H

#include "shm/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct live;
struct part;
struct ring;
struct words_event;

struct record {
	enum fprof_record_state state; /* the clients' */
	int64_t off_from, off_to;      /* not recorded: [from, to); from INT64_MAX: never yet */
	uint32_t stops;		       /* so far: parts that have fewer have zones to be closed */
	uint32_t settled;	       /* ... that all parts have been brought up to */
	bool begun;		       /* ... again, and no mark has come since */
	struct ring *pending;	       /* its next mark is where recording ceases; NULL: none's */
	enum fprof_record_state pending_state;
};

void record_init(struct live *s);
/* A RECORD word was read. WORDS_STORED or WORDS_DISCARD + reason. */
int record_word(struct live *s, struct ring *ring, const struct words_event *e);
/* A mark of the main stream's owner comes next on ring, at t: is it where recording ceases? Closes
 * what is open there. 0 or -errno. */
int record_before_mark(struct live *s, struct ring *ring, int64_t t);
/* Such a mark was obeyed: so recording is on. */
void record_marked(struct live *s, int64_t t);
/* May an event at t go into part? Closes zones that were open when recording ceased. WORDS_STORED
 * (it may), WORDS_DISCARD + DISCARD_NOT_RECORDING or -errno. */
int record_check(struct live *s, struct part *part, int64_t t);
/* All rings have been read up to swept_to. 0 or -errno. */
int record_settle(struct live *s, int64_t swept_to);
/* Up to where there is nothing but what is to be cleared; INT64_MIN: nothing was recorded. */
int64_t record_clear_point(const struct live *s);

#endif
