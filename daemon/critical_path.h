/* SPDX-License-Identifier: MIT */
/*
 * What a frame waited for at each moment: a walk over what the scheduler did with the threads of a
 * game, from the frame's end backwards. Pure; one thread at a time.
 */
#ifndef FPROF_DAEMON_CRITICAL_PATH_H
#define FPROF_DAEMON_CRITICAL_PATH_H

#include "sched_log.h"
#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_NOBODY UINT32_MAX

/* What ended a wait, where that is no thread of the game that the path goes on with. */
enum path_end {
	PATH_GOES_ON = 0, /* it is no wait, or a thread of the game ended it */
	PATH_INTERRUPT,	  /* a timer or a device */
	PATH_PROCESS,	  /* a thread of another process */
	PATH_KERNEL,	  /* a thread of the kernel */
	PATH_LOST,	  /* nobody knows, or what the waker did is not known */
	PATH_LOOP,	  /* threads that woke each other at one moment */
	PATH_STILL,	  /* nothing yet: it still waited then */
	PATH_ENDS
};
extern const char *const path_end_names[PATH_ENDS];

/* Somebody whom the intervals name. */
struct path_person {
	struct sched_who who; /* tid 0: nobody is known; the first one is that */
	uint32_t thread;      /* index; PATH_NOBODY: none of the game's */
};

/* A stretch of a thread in one state, up to the begin of the next one. Millions may be held. */
struct path_interval {
	int64_t t0;	      /* ticks */
	uint32_t person : 20; /* RUNNABLE, RUNNING: as sched_log.h has it */
	uint32_t state : 3, reason : 4, wake_flags : 2, preempted : 1;
	/* of path_resolve: what ended it, if it was a wait */
	uint16_t waker; /* 1 + the index of a thread; 0: none of the game's, then */
	uint8_t end;	/* enum path_end */
};
#define PATH_PEOPLE_MAX (1u << 20)

/* A thread, and what the kernel said of it over the whole range. count 0: the kernel was not asked.
 * Else the last interval only says where the one before ends. */
struct path_thread {
	int32_t tid; /* the game's own; 0: it has none, it is a fiber */
	struct {
		struct path_interval *at;
		size_t count;
	} sched;
	uint32_t track; /* the caller's */
	char comm[16];	/* as those say whom it woke; "": it woke nobody */
	size_t hint;	/* inside: the interval that was last looked for */
};

/* The threads of one game: those with a tid first, sorted by it. */
struct path_threads {
	VEC(struct path_thread) at;
	size_t with_tid;
	uint32_t tgid; /* the game's process */
	VEC(struct path_person) people;
	struct path_interval *intervals; /* the caller's: of all threads */
};
/* The index of the thread with this tid, or PATH_NOBODY. */
uint32_t path_thread_of(const struct path_threads *threads, uint32_t tid);
/* Finds out which of the people are threads, and who ended which wait: before any walk. */
void path_resolve(struct path_threads *threads);

/* The frame waited for this thread, which was in one state. */
struct path_slice {
	int64_t t0, t1;	   /* ticks */
	uint32_t thread;   /* index */
	uint32_t interval; /* of its; PATH_NOBODY: the kernel was not asked */
	enum path_end end;
};
typedef VEC(struct path_slice) path_slices_vec;

/*
 * The slices of a frame [t0, t1) that thread marks, oldest first: they touch, and cover all of it.
 * 0 or -ENOMEM.
 */
int path_walk(struct path_threads *threads, uint32_t thread, int64_t t0, int64_t t1,
	      path_slices_vec *slices);

#endif
