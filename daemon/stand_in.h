/* SPDX-License-Identifier: MIT */
/*
 * The memory that a game would have if it recorded itself, written by the daemon from what the
 * kernel says of it: threads, waits in presents, frame marks. The drain reads it like any other.
 * Times are ticks of its clock, and rise on each thread. One thread at a time.
 */
#ifndef FPROF_DAEMON_STAND_IN_H
#define FPROF_DAEMON_STAND_IN_H

#include "shm/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct stand_in;

/* 0 or -errno. */
int stand_in_new(enum fprof_clock_kind clock, struct stand_in **ret_stand_in);
void stand_in_free(struct stand_in *s); /* NULL is fine; who mapped the memory keeps it */

/* Its memfd, and the hello that goes with it. */
int stand_in_fd(const struct stand_in *s);
void stand_in_hello(const struct stand_in *s, struct fprof_msg_hello *ret_hello);

/* A thread, by the game's own tid, is there; one that is known is renamed, if that is new. 0;
 * -ENOSPC: there is no slot for it, which is counted where `count` says so. */
int stand_in_thread(struct stand_in *s, int32_t tid, const char *name, uint64_t ticks, bool count);
void stand_in_thread_end(struct stand_in *s, int32_t tid, uint64_t ticks);
/* A known thread enters present function `function` (functions.h), or leaves what it entered;
 * shown: that was a frame. Of other threads the event is counted as refused. */
void stand_in_enter(struct stand_in *s, int32_t tid, unsigned function, uint64_t ticks);
void stand_in_leave(struct stand_in *s, int32_t tid, bool shown, uint64_t ticks);
/* The session is to be recorded, stopped or frozen, from its next frame on. */
void stand_in_order(struct stand_in *s, enum fprof_record_state state, uint64_t ticks);
/* So many events never came. */
void stand_in_lost(struct stand_in *s, uint64_t events);

/* Frames that were marked. */
uint64_t stand_in_frames(const struct stand_in *s);

#endif
