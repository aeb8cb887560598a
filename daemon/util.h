/* SPDX-License-Identifier: MIT */
/* Small helpers of the daemon and the tools: cleanup attributes, growable arrays, sizes. */
#ifndef FPROF_DAEMON_UTIL_H
#define FPROF_DAEMON_UTIL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

/* Adds to a count. What a client says may be anything; a database's integers end at INT64_MAX. */
static inline uint64_t count_add(uint64_t a, uint64_t b)
{
	return a >= INT64_MAX || b >= INT64_MAX - a ? INT64_MAX : a + b;
}

static inline void util_freep(void *p)
{
	free(*(void **)p);
}

static inline void util_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Moves a descriptor out of a variable that would close it. */
static inline int util_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void util_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_	 __attribute__((cleanup(util_freep)))
#define _cleanup_close_	 __attribute__((cleanup(util_closep)))
#define _cleanup_fclose_ __attribute__((cleanup(util_fclosep)))

/* A growable array of T: { .at, .count, .capacity }; zero-initialised is empty. */
#define VEC(T)                          \
	struct {                        \
		T *at;                  \
		size_t count, capacity; \
	}

int vec_reserve_(void **at, size_t *capacity, size_t need, size_t element_bytes);

/* Makes room for one more element: 0 or -ENOMEM. */
#define VEC_RESERVE(v, n)                                                                    \
	((v)->count + (n) <= (v)->capacity ? 0                                               \
					   : vec_reserve_((void **)&(v)->at, &(v)->capacity, \
							  (v)->count + (n), sizeof(*(v)->at)))
/* Appends x: 0 or -ENOMEM. */
#define VEC_PUSH(v, x) (VEC_RESERVE((v), 1) < 0 ? -ENOMEM : ((v)->at[(v)->count++] = (x), 0))
#define VEC_FREE(v)    (free((v)->at), (v)->at = NULL, (v)->count = (v)->capacity = 0)

#endif
