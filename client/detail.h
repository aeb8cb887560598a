/* SPDX-License-Identifier: MIT */
/*
 * Levels of detail by path, and masked categories, as the control page has them.
 *
 * While there are none nothing of this is looked at. While there are, threads leave the inline
 * mode, each within a block of its ring, and keep the names of their open zones.
 */
#ifndef FPROF_CLIENT_DETAIL_H
#define FPROF_CLIENT_DETAIL_H

#include "fprof/layout.h"
#include "fprof/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

/* What is known of a marker's names, under generation. */
struct detail_marker {
	uint64_t hash; /* of its name; 0: not known yet */
	uint32_t generation;
	uint32_t flags;
};

/* An open zone of a thread. */
struct detail_zone {
	uint32_t id;	 /* its marker, 0: it was open before anybody looked */
	uint32_t closed; /* the writer's, around it */
};

struct detail_thread {
	uint64_t hash; /* of the thread's name, or of its fiber's */
	uint32_t generation;
	uint32_t gates; /* the session's `closed` when it began anew */
	struct detail_zone zones[FPROF_DETAIL_PATH_MAX]; /* by depth */
};

struct detail {
	uint32_t generation; /* from 1, with each change; copies[generation % 2] holds */
	uint32_t active;     /* are there rules or masks? */
	uint32_t seq;	     /* of the page, as last taken over */
	uint32_t pad;
	struct fprof_detail copies[2];
	struct detail_thread threads[FPROF_SLOTS_DEFAULT];
	struct detail_marker markers[FPROF_MARKERS_DEFAULT + 1]; /* by id */
};

/* Takes over what the page says (bytes of it are mapped). Caller holds link->busy. */
void detail_read(struct session *s, const struct fprof_control *page, uint32_t bytes);

/* The next page is another daemon's: whatever it says is new. Caller holds link->busy. */
void detail_forget(struct detail *d);

static inline bool detail_active(const struct detail *d)
{
	return FPROF_UNLIKELY(FPROF_LOAD_RELAXED(&d->active));
}

/*
 * A zone of marker id and level is about to begin on w's thread: is it wanted? If so it is noted as
 * open, and what it begins with holds for what is inside. Caller holds w.
 */
bool detail_begin(struct session *s, struct fprof_writer *w, uint32_t id, uint32_t level);
/* Zones have ended: w->depth are open. Caller holds w. */
void detail_end(struct session *s, struct fprof_writer *w);
/* Is the category of marker id masked? Caller holds w. */
bool detail_masked(struct session *s, struct fprof_writer *w, uint32_t id);
/* The thread has another name, or runs another fiber. Caller holds w. */
void detail_renamed(struct session *s, struct fprof_writer *w);
/* What a marker's top is while it is masked: the inline path needs no more then. Caller holds w. */
uint64_t detail_masked_top(struct session *s, struct fprof_writer *w, uint32_t id);

#endif
