/* SPDX-License-Identifier: MIT */
/* Between loop.c and the two ways of waiting. Included by loop*.c only. */
#ifndef FPROF_DAEMON_LOOP_BACKEND_H
#define FPROF_DAEMON_LOOP_BACKEND_H

#include "loop.h"

#include <linux/time_types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop_source {
	struct loop_source *previous, *next; /* in loop.c's list of all sources */
	bool is_timer, removed;
	bool pending;		    /* backend: the kernel still holds a reference to this source */
	bool in_callback;	    /* backend: it is the source being dispatched */
	int fd;			    /* the caller's, or the backend's own timer */
	uint64_t period_ns, due_ns; /* timers; CLOCK_MONOTONIC */
	struct __kernel_timespec due; /* backend: due_ns as the kernel reads it, while pending */
	loop_fd_fn fd_fn;
	loop_timer_fn timer_fn;
	void *userdata;
};

struct loop_backend;

/* A way of waiting. add: start to watch a source that loop.c filled in, 0 or -errno. remove: stop;
 * false when the kernel still holds the source, which the backend then releases later. wait: block
 * until something is ready, dispatch all that is. */
struct loop_ops {
	const char *name;
	int (*open)(struct loop *loop, struct loop_backend **ret_backend, char *why, size_t size);
	void (*close)(struct loop_backend *backend);
	int (*add)(struct loop_backend *backend, struct loop_source *source);
	bool (*remove)(struct loop_backend *backend, struct loop_source *source);
	int (*wait)(struct loop_backend *backend);
};

extern const struct loop_ops loop_uring_ops, loop_epoll_ops;

/* For the backends: the source is ready (events: POLL* bits; 0 for timers). May remove any source.
 */
void loop_dispatch(struct loop_source *source, unsigned events);
/* For the backends: a removed source whose remove returned false is no longer held by the kernel.
 */
void loop_release(struct loop *loop, struct loop_source *source);
/* The first of the list of all sources, removed ones included. */
struct loop_source *loop_sources(struct loop *loop);
/* When a timer that is due now fires next: whole periods that passed meanwhile are left out. */
void loop_timer_advance(struct loop_source *source);
uint64_t loop_now_ns(void);

#endif
