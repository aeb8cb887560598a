/* SPDX-License-Identifier: MIT */
/* The threads of a session: slots, writers, and holding a writer for a slow write. */
#ifndef FPROF_CLIENT_THREAD_H
#define FPROF_CLIENT_THREAD_H

#include "session.h"

#include <stdbool.h>
#include <stdint.h>

/* The writer of threads that have none: always closed to the inline path by ready == 0. */
struct fprof_writer *thread_null_writer(void);

/*
 * The calling thread's writer, registering the thread where needed. NULL: there is no slot, it is
 * being registered right now (a signal handler's view), and then the event is counted.
 */
struct fprof_writer *thread_writer(struct session *s);

/*
 * Takes the calling thread's writer for a slow write; NULL when nothing can be recorded now. What
 * is lost is counted. Every non-NULL return is followed by thread_release.
 *
 * thread_hold_recording: NULL also when the session is not recording; looks for the daemon where
 * nobody else does. thread_hold: whenever the thread has a slot.
 */
struct fprof_writer *thread_hold(struct session *s);
struct fprof_writer *thread_hold_recording(struct session *s);
void thread_release(struct fprof_writer *w);

/* Who w's thread is for the ownership of streams: the fiber that it runs, else the thread. 0: none
 * (w may be NULL). */
uint64_t thread_who(const struct fprof_writer *w);

/* The calling thread may own this stream from here on. */
void thread_owns_stream(uint32_t stream);

/* What w is to be in, as the session stands. Caller holds w. */
void thread_mode(struct session *s, struct fprof_writer *w);

/*
 * Says in w's ring that the session begins or ceases to record, unless that was said. before_mark:
 * the caller writes a mark next, which is the boundary. True: it was said now. Caller holds w.
 */
bool thread_tell(struct session *s, struct fprof_writer *w, bool before_mark);

/* Writes an event with the time now; words[0] is its top. Caller holds w. */
void thread_put(struct session *s, struct fprof_writer *w, uint64_t *words, unsigned count);

/* Renames the calling thread, n bytes <= FPROF_THREAD_NAME_MAX. Caller holds w. */
void thread_rename(struct session *s, struct fprof_writer *w, const char *name, size_t n);

/* No thread's end is told to us from here on: our code may be unmapped. */
void thread_key_drop(void);

#endif
