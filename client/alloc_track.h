/* SPDX-License-Identifier: MIT */
/*
 * Allocations, told where zones begin and end: what a thread allocated since the last such place is
 * one event there, in front of the zone's word, and so belongs to the zone that was innermost. Off
 * unless the daemon or $FPROF_ALLOC asks for it; while it is on, threads leave the inline mode.
 */
#ifndef FPROF_CLIENT_ALLOC_TRACK_H
#define FPROF_CLIENT_ALLOC_TRACK_H

#include "fprof/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

/* What the game and the daemon want: bit 0 the one, bit 1 the other. In struct session. */
struct alloc_track {
	uint32_t wanted;
	uint32_t generation; /* changes with each beginning: when it is switched on, or recording */
};
#define ALLOC_BY_GAME	(1u << 0)
#define ALLOC_BY_DAEMON (1u << 1)

/* A new session: does $FPROF_ALLOC ask for it? */
void alloc_track_init(struct alloc_track *t);
/* One of them (bit) has its say. */
void alloc_track_want(struct alloc_track *t, uint32_t bit, bool wanted);
/* What is allocated up to now is nobody's. */
void alloc_track_anew(struct alloc_track *t);

static inline bool alloc_track_active(const struct alloc_track *t)
{
	return FPROF_UNLIKELY(FPROF_LOAD_RELAXED(&t->wanted) != 0);
}

/* The calling thread, which holds w, is about to write a zone's word. */
void alloc_track_put(struct session *s, struct fprof_writer *w);

#endif
