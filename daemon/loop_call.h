/* SPDX-License-Identifier: MIT */
/*
 * Calls on the loop's thread, for other threads: they wait until the call is done. What runs on the
 * loop owns the games; an answer to an HTTP request may have to make one.
 */
#ifndef FPROF_DAEMON_LOOP_CALL_H
#define FPROF_DAEMON_LOOP_CALL_H

#include "loop.h"

struct loop_calls;

typedef int (*loop_call_fn)(void *userdata);

/* On the loop's thread, as the next two. 0 or -errno. */
int loop_calls_new(struct loop *loop, struct loop_calls **ret_calls);
/* The loop has ended: who waits, or comes later, gets -ESHUTDOWN. NULL is fine. */
void loop_calls_stop(struct loop_calls *calls);
void loop_calls_free(struct loop_calls *calls); /* NULL is fine */

/* Runs fn on the loop's thread: what it returns, or -ESHUTDOWN. Any other thread. */
int loop_call(struct loop_calls *calls, loop_call_fn fn, void *userdata);

#endif
