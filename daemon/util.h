/* SPDX-License-Identifier: MIT */
/* Small helpers of the daemon and the tools: cleanup attributes, times, writing. */
#ifndef FPROF_DAEMON_UTIL_H
#define FPROF_DAEMON_UTIL_H

#include "vec.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/* Adds to a count. What a client says may be anything; a database's integers end at INT64_MAX. */
static inline uint64_t count_add(uint64_t a, uint64_t b)
{
	return a >= INT64_MAX || b >= INT64_MAX - a ? INT64_MAX : a + b;
}

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

/* The moment of CLOCK_MONOTONIC so long from now: what a cond_init_monotonic() waits until. */
static inline struct timespec clock_after(uint64_t ns)
{
	return clock_timespec(clock_ns(CLOCK_MONOTONIC) + ns);
}

/* A condition whose timed waits are on CLOCK_MONOTONIC: 0 or a negative errno. */
int cond_init_monotonic(pthread_cond_t *ret_cond);

/* chars (even) random digits, and a NUL. 0 or -EIO. */
int util_random_hex(char *text, size_t chars);

/* Writes all of it, at the file's place: 0 or a negative errno, after which a part may be there. */
int write_all(int fd, const void *data, size_t bytes);
/* A file in directory that has no name: a descriptor or a negative errno. */
int util_temporary(const char *directory);

/* A number that nobody else knows: with it in their hashes, nobody can make keys that meet. */
uint64_t util_seed(void);

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

#endif
