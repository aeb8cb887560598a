/* SPDX-License-Identifier: MIT */
/* What a hooked call becomes: wait zones and frame marks. */
#ifndef FPROF_PRELOAD_RECORD_H
#define FPROF_PRELOAD_RECORD_H

#include "hook.h"

#include <stdbool.h>

struct record_scope {
	const struct hook *hook;
	const void *frame;
	bool outermost; /* no other hooked call of this thread is under way */
};

/*
 * Around a call of a hooked function, by the calling thread; frame is the address of the caller's
 * stack frame. Only the outermost of nested calls is recorded, so a present that calls another is
 * one frame. shown: the call was a present and a frame was shown. errno is kept.
 */
void record_enter(struct record_scope *ret_scope, const struct hook *hook, const void *frame);
void record_leave(const struct record_scope *scope, bool shown);

/* Says once in the session that calls of hook's function go by unseen. */
void record_unhooked(const struct hook *hook);

#endif
