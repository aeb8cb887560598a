/* SPDX-License-Identifier: MIT */
/* Known recordings for `fprof selftest`, and what must come back of them. */
#ifndef FPROF_TOOL_FIXTURE_H
#define FPROF_TOOL_FIXTURE_H

#include <limits.h>
#include <stddef.h>

/*
 * The zones of a thread in a frame, as text: siblings are separated by blanks, children stand in
 * parentheses, and flags follow a name: < clipped at its begin, > at its end, ! truncated, ? open,
 * ~ unbalanced.
 * "" : the thread has no zones in the frame.
 */
#define FIXTURE_TAIL UINT_MAX /* instead of a frame: what follows the last one */
struct fixture_zones {
	unsigned frame;
	const char *thread, *zones;
};

/* The zones that a thread has open at the end, outermost first, separated by " > ". */
struct fixture_open {
	const char *thread, *names;
};

struct fixture_counter {
	unsigned frame;
	const char *name;
	double value;
};

struct fixture {
	const char *name;
	void (*record)(void);		/* in a process of its own; returns, or is killed */
	unsigned ring_kib;		/* 0: the default */
	unsigned frames;		/* of the main stream that must be there */
	const char *state;		/* of its session afterwards */
	unsigned lossy_frame;		/* must have lost events, and say so; 0: none may have */
	struct fixture_zones zones[12]; /* up to the one with frame 0 */
	struct fixture_open open[4];	/* all threads that have any, up to the one without */
	struct fixture_counter counters[4]; /* the same */
};

extern const struct fixture fixtures[];
extern const size_t fixture_count;

#endif
