/* SPDX-License-Identifier: MIT */
/*
 * The event loop that owns the daemon's descriptors. io_uring where the kernel lets us, else
 * epoll; the same interface over both. One thread makes it, runs it and calls everything here.
 */
#ifndef FPROF_DAEMON_LOOP_H
#define FPROF_DAEMON_LOOP_H

#include <stdint.h>

struct loop;
struct loop_source;

/* Ready: events are POLL* bits as of poll(2). */
typedef void (*loop_fd_fn)(void *userdata, int fd, unsigned events);
typedef void (*loop_timer_fn)(void *userdata);

/* ret_loop: free with loop_free. $FPROF_LOOP=epoll forces epoll. -errno when neither works. */
int loop_new(struct loop **ret_loop);
void loop_free(struct loop *loop);
/* "io_uring" or "epoll"; *ret_reason: NULL, or why it is not io_uring. */
const char *loop_kind(const struct loop *loop, const char **ret_reason);

/* Calls fn whenever fd is readable (level-triggered). fd stays the caller's. */
int loop_add_fd(struct loop *loop, int fd, loop_fd_fn fn, void *userdata,
		struct loop_source **ret_source);
/* Calls fn every period_ns from now on (monotonic); missed periods are not made up. */
int loop_add_timer(struct loop *loop, uint64_t period_ns, loop_timer_fn fn, void *userdata,
		   struct loop_source **ret_source);
/* Stops and frees a source; may be called in its own callback. NULL is fine. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Runs until loop_stop. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
