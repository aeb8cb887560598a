// SPDX-License-Identifier: MIT
/*
 * What is recorded of a hooked call. Each thread knows the outermost hooked call that it is in;
 * calls inside that one are its own business (SDL_RenderPresent calls SDL_GL_SwapWindow, which
 * calls glXSwapBuffers).
 *
 * A call may be left by longjmp. So a thread remembers the stack frame of its outermost call, and a
 * later call from that frame or further out ends what was left. A present or a GPU wait is never
 * inside a sleep.
 *
 * Programs that are no games must not notice us: nothing is recorded, and so no memory made, before
 * the first present; sleeps are recorded on threads that have marked a frame only.
 */
#include "record.h"

#include "client/origin.h"
#include "shm/atomic.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

struct record_thread {
	const struct hook *hook; /* of the outermost call under way, NULL: none */
	const void *frame;
	fprof_scope zone;
};

static __thread struct record_thread record_thread __attribute__((tls_model("initial-exec")));

static uint32_t unhooked_said;

/* Before anything can be recorded: this memory, if there is to be one, is the hook's. */
static void __attribute__((constructor)) record_start(void)
{
	client_origin_set(FPROF_ORIGIN_HOOK);
	hook_resolve_sleeps();
}

/* Was the call that thread remembers left without returning? The stack grows down. */
static bool record_stale(const struct record_thread *thread, const struct hook *hook,
			 const void *frame)
{
	if ((uintptr_t)frame >= (uintptr_t)thread->frame)
		return true;
	return thread->hook->kind == HOOK_SLEEP && hook->kind != HOOK_SLEEP;
}

static bool record_wanted(enum hook_kind kind)
{
	if (kind == HOOK_PRESENT)
		return true;
	if (kind == HOOK_SLEEP)
		return client_marks_here();
	return client_has_marked();
}

void record_enter(struct record_scope *ret_scope, const struct hook *hook, const void *frame)
{
	struct record_thread *thread = &record_thread;
	int saved = errno;

	ret_scope->hook = hook;
	ret_scope->frame = frame;
	if (thread->hook && record_stale(thread, hook, frame)) {
		fprof_zone_end(thread->zone);
		thread->hook = NULL;
	}
	ret_scope->outermost = !thread->hook;
	if (ret_scope->outermost) {
		thread->zone = record_wanted(hook->kind) ? fprof_zone_begin(hook->zone) : 0;
		thread->frame = frame;
		thread->hook = hook;
	}
	errno = saved;
}

void record_leave(const struct record_scope *scope, bool shown)
{
	struct record_thread *thread = &record_thread;
	int saved = errno;

	if (!scope->outermost)
		return;
	if (thread->frame == scope->frame && thread->hook == scope->hook) {
		fprof_zone_end(thread->zone);
		thread->hook = NULL;
	}
	if (scope->hook->kind == HOOK_PRESENT && shown)
		client_mark(FPROF_ORIGIN_HOOK);
	errno = saved;
}

void record_unhooked(const struct hook *hook)
{
	char text[128];

	if (FPROF_LOAD_RELAXED(&unhooked_said))
		return;
	FPROF_STORE_RELAXED(&unhooked_said, 1u);
	snprintf(text, sizeof(text), "%s was fetched too often: some calls go by unseen",
		 hook->name);
	fprof_session_info("hook", text);
}
