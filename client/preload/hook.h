/* SPDX-License-Identifier: MIT */
/* The functions that the preload hook stands in front of, and how the real ones are reached. */
#ifndef FPROF_PRELOAD_HOOK_H
#define FPROF_PRELOAD_HOOK_H

#include "client/fprof.h"

#include <stdbool.h>
#include <stdint.h>

/* Every hooked function takes at most six arguments, all integers or pointers, and returns one or
 * nothing: on x86-64 and arm64 all of these travel in registers, and one C type can call any of
 * them. */
typedef uintptr_t hook_word;
typedef hook_word (*hook_fn)(hook_word, hook_word, hook_word, hook_word, hook_word, hook_word);

enum hook_kind {
	HOOK_PRESENT,	   /* shows a frame: a wait for the present, then a frame mark */
	HOOK_WAIT_PRESENT, /* waits for an image to draw to */
	HOOK_WAIT_GPU,
	HOOK_SLEEP,  /* the frame cap, where the thread has marked frames */
	HOOK_LOOKUP, /* gives out functions by name: what it gives out is wrapped */
};

/* Which results of a present say that a frame was shown. */
enum hook_success {
	HOOK_ALWAYS,
	HOOK_NOT_NEGATIVE, /* int: Vulkan's results, SDL's status */
	HOOK_NOT_ZERO,	   /* EGLBoolean */
};

struct hook {
	const char *name;
	enum hook_kind kind;
	enum hook_success success;
	unsigned name_argument;	   /* HOOK_LOOKUP: which argument is the name */
	hook_word failure;	   /* what to answer where there is no real function */
	hook_fn exported;	   /* our function of that name */
	struct fprof_marker *zone; /* of the wait that a call is */
};

/* The hook for name, NULL: that function is not hooked. Any thread. */
const struct hook *hook_by_name(const char *name);

/*
 * A function that does what real does, seen by the hook: a thunk of the pool bound to real; real
 * itself, unseen and said once, when the pool is used up. Any thread.
 */
hook_fn hook_wrap(const struct hook *hook, hook_fn real);

/* What the exported function calls: the next definition that this library can see, else the first
 * in any loaded object; NULL: none. Any thread. */
hook_fn hook_next(const struct hook *hook);
/* The same, of what is visible to everybody only. */
hook_fn hook_next_global(const struct hook *hook);

/* Finds the C library's sleeps, so that they are never looked up inside a signal handler. */
void hook_resolve_sleeps(void);

#endif
