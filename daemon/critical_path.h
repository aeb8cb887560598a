/* SPDX-License-Identifier: MIT */
/*
 * What a frame waited for at each moment: a walk over what the scheduler did with the threads of a
 * game, from the frame's end backwards. Pure; any thread.
 */
#ifndef FPROF_DAEMON_CRITICAL_PATH_H
#define FPROF_DAEMON_CRITICAL_PATH_H

#include "history_sched.h"

#include <stddef.h>
#include <stdint.h>

#define PATH_NOBODY UINT32_MAX

/* A thread, and what the kernel said of it over the whole range, as history_sched has it. count 0:
 * the kernel was not asked. */
struct path_thread {
	int32_t tid; /* the game's own; 0: it has none, it is a fiber */
	sched_intervals_vec sched;
	uint32_t track; /* the caller's */
	char comm[16];	/* as those say whom it woke; "": it woke nobody */
};

/* The threads of one game: those with a tid first, sorted by it. */
struct path_threads {
	const struct path_thread *at;
	size_t count, with_tid;
	uint32_t tgid; /* the game's process */
};

/* What ended a wait, where that is no thread of the game that the path goes on with. */
enum path_end {
	PATH_GOES_ON = 0, /* it is no wait */
	PATH_INTERRUPT,	  /* a timer or a device */
	PATH_PROCESS,	  /* a thread of another process */
	PATH_KERNEL,	  /* a thread of the kernel */
	PATH_LOST,	  /* nobody knows, or what the waker did is not known */
	PATH_LOOP,	  /* threads that woke each other at one moment */
	PATH_STILL,	  /* nothing yet: it still waited then */
	PATH_ENDS
};
extern const char *const path_end_names[PATH_ENDS];

/* The frame waited for this thread, which was in one state. */
struct path_slice {
	int64_t t0, t1;	   /* ticks */
	uint32_t thread;   /* index */
	uint32_t interval; /* index into its sched; PATH_NOBODY: the kernel was not asked */
	uint32_t frame;	   /* the caller's */
	enum path_end end;
};
typedef VEC(struct path_slice) path_slices_vec;

/*
 * Appends the slices of a frame [t0, t1) that thread marks, oldest first: they touch, and cover all
 * of it. 0; -ENOMEM; -E2BIG: more than PATH_SLICES_MAX in slices.
 */
#define PATH_SLICES_MAX (1u << 22)
int path_walk(const struct path_threads *threads, uint32_t thread, uint32_t frame, int64_t t0,
	      int64_t t1, path_slices_vec *slices);

/* Who woke the thread that had been blocked in this interval: an index, or PATH_NOBODY, then
 * *ret_end says what did. */
uint32_t path_waker(const struct path_threads *threads, uint32_t thread, size_t interval,
		    enum path_end *ret_end);
/* The index of the thread with this tid, or PATH_NOBODY. */
uint32_t path_thread_of(const struct path_threads *threads, uint32_t tid);
/* The interval in which the thread was right before t: its index, SIZE_MAX: not known. */
size_t path_interval_before(const struct path_thread *thread, int64_t t);

#endif
