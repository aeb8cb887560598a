// SPDX-License-Identifier: MIT
/*
 * The hooked functions, in two forms. The exported ones stand in front of the real ones in the
 * global scope and serve games that link to them. Games that fetch a pointer (dlsym,
 * vkGetDeviceProcAddr, SDL_GL_GetProcAddress, ...) get a thunk that belongs to exactly the pointer
 * that the real lookup gave: two devices, two loaders, or a wrapper library that has the same name
 * as what it wraps each keep their own, and no call ever goes anywhere but where it would have gone
 * without us.
 *
 * A thunk, once bound, stays bound: the pointer may be kept for ever. The pool is claimed without
 * locks, so that a fork in the middle leaves nothing locked in the child.
 */
#include "hook.h"

#include "dlsym.h"
#include "elf.h"
#include "record.h"
#include "shm/atomic.h"

#include <dlfcn.h>
#include <stddef.h>

#define VK_FAILED      ((hook_word)-3) /* VK_ERROR_INITIALIZATION_FAILED */
#define GL_WAIT_FAILED 0x911d
#define INT_FAILED     ((hook_word)-1)

/* name, kind, success, which argument is a name, answer where there is no real one */
#define HOOKS(X)                                                                   \
	X(SDL_GL_SwapWindow, HOOK_PRESENT, HOOK_ALWAYS, 0, 0)                      \
	X(SDL_RenderPresent, HOOK_PRESENT, HOOK_ALWAYS, 0, 0)                      \
	X(SDL_UpdateWindowSurface, HOOK_PRESENT, HOOK_NOT_NEGATIVE, 0, INT_FAILED) \
	X(glXSwapBuffers, HOOK_PRESENT, HOOK_ALWAYS, 0, 0)                         \
	X(eglSwapBuffers, HOOK_PRESENT, HOOK_NOT_ZERO, 0, 0)                       \
	X(eglSwapBuffersWithDamageKHR, HOOK_PRESENT, HOOK_NOT_ZERO, 0, 0)          \
	X(eglSwapBuffersWithDamageEXT, HOOK_PRESENT, HOOK_NOT_ZERO, 0, 0)          \
	X(vkQueuePresentKHR, HOOK_PRESENT, HOOK_NOT_NEGATIVE, 0, VK_FAILED)        \
	X(vkAcquireNextImageKHR, HOOK_WAIT_PRESENT, HOOK_ALWAYS, 0, VK_FAILED)     \
	X(vkAcquireNextImage2KHR, HOOK_WAIT_PRESENT, HOOK_ALWAYS, 0, VK_FAILED)    \
	X(vkWaitForFences, HOOK_WAIT_GPU, HOOK_ALWAYS, 0, VK_FAILED)               \
	X(vkWaitSemaphores, HOOK_WAIT_GPU, HOOK_ALWAYS, 0, VK_FAILED)              \
	X(vkWaitSemaphoresKHR, HOOK_WAIT_GPU, HOOK_ALWAYS, 0, VK_FAILED)           \
	X(glClientWaitSync, HOOK_WAIT_GPU, HOOK_ALWAYS, 0, GL_WAIT_FAILED)         \
	X(glFinish, HOOK_WAIT_GPU, HOOK_ALWAYS, 0, 0)                              \
	X(SDL_Delay, HOOK_SLEEP, HOOK_ALWAYS, 0, 0)                                \
	X(nanosleep, HOOK_SLEEP, HOOK_ALWAYS, 0, INT_FAILED)                       \
	X(clock_nanosleep, HOOK_SLEEP, HOOK_ALWAYS, 0, INT_FAILED)                 \
	X(usleep, HOOK_SLEEP, HOOK_ALWAYS, 0, INT_FAILED)                          \
	X(SDL_GL_GetProcAddress, HOOK_LOOKUP, HOOK_ALWAYS, 0, 0)                   \
	X(glXGetProcAddress, HOOK_LOOKUP, HOOK_ALWAYS, 0, 0)                       \
	X(glXGetProcAddressARB, HOOK_LOOKUP, HOOK_ALWAYS, 0, 0)                    \
	X(eglGetProcAddress, HOOK_LOOKUP, HOOK_ALWAYS, 0, 0)                       \
	X(vkGetInstanceProcAddr, HOOK_LOOKUP, HOOK_ALWAYS, 1, 0)                   \
	X(vkGetDeviceProcAddr, HOOK_LOOKUP, HOOK_ALWAYS, 1, 0)

#define HOOK_PARAMETERS hook_word a, hook_word b, hook_word c, hook_word d, hook_word e, hook_word f
#define HOOK_ARGUMENTS	a, b, c, d, e, f

#define HOOK_INDEX(name, kind, success, argument, failure) INDEX_##name,
enum { HOOKS(HOOK_INDEX) HOOK_COUNT };

#define HOOK_DECLARE(name, kind, success, argument, failure) \
	hook_word __attribute__((visibility("default"))) name(HOOK_PARAMETERS);
HOOKS(HOOK_DECLARE)

/* Which wait a call of each kind is; a look-up is none and never recorded. */
#define ZONE_HOOK_PRESENT      FPROF_MARKER_WAIT_PRESENT
#define ZONE_HOOK_WAIT_PRESENT FPROF_MARKER_WAIT_PRESENT
#define ZONE_HOOK_WAIT_GPU     FPROF_MARKER_WAIT_GPU
#define ZONE_HOOK_SLEEP	       FPROF_MARKER_WAIT_CAP
#define ZONE_HOOK_LOOKUP       FPROF_MARKER_ZONE

#define HOOK_MARKER(name, kind, success, argument, failure) \
	{0, #name, "fprof.hook", NULL, 0, 0, ZONE_##kind, FPROF_LEVEL_LANDMARK, 0, {0}},
static struct fprof_marker markers[HOOK_COUNT] = {HOOKS(HOOK_MARKER)};

#define HOOK_ROW(name, kind, success, argument, failure) \
	{#name, kind, success, argument, failure, name, &markers[INDEX_##name]},
static const struct hook hooks[HOOK_COUNT] = {HOOKS(HOOK_ROW)};

static hook_fn next_cached[HOOK_COUNT]; /* what each exported function calls, once found */

static bool hook_shown(const struct hook *hook, hook_word result)
{
	if (hook->success == HOOK_NOT_NEGATIVE)
		return (int32_t)result >= 0;
	if (hook->success == HOOK_NOT_ZERO)
		return (uint32_t)result != 0;
	return true;
}

static hook_word hook_lookup(const struct hook *hook, hook_fn real, HOOK_PARAMETERS)
{
	const char *name = (const char *)(hook->name_argument == 0 ? a : b);
	hook_word found = real(HOOK_ARGUMENTS);
	const struct hook *wanted = name && found ? hook_by_name(name) : NULL;

	if (!wanted || (hook_fn)found == wanted->exported)
		return found;
	return (hook_word)hook_wrap(wanted, (hook_fn)found);
}

/* Calls real and records what the call was. */
static hook_word hook_call(const struct hook *hook, hook_fn real, HOOK_PARAMETERS)
{
	struct record_scope scope;
	hook_word result;

	if (hook->kind == HOOK_LOOKUP)
		return hook_lookup(hook, real, HOOK_ARGUMENTS);
	record_enter(&scope, hook, __builtin_frame_address(0));
	result = real(HOOK_ARGUMENTS);
	record_leave(&scope, hook_shown(hook, result));
	return result;
}

static hook_word hook_call_exported(const struct hook *hook, HOOK_PARAMETERS)
{
	hook_fn real = hook_next(hook);

	return real ? hook_call(hook, real, HOOK_ARGUMENTS) : hook->failure;
}

#define HOOK_DEFINE(name, kind, success, argument, failure)                      \
	hook_word name(HOOK_PARAMETERS)                                          \
	{                                                                        \
		return hook_call_exported(&hooks[INDEX_##name], HOOK_ARGUMENTS); \
	}
HOOKS(HOOK_DEFINE)

/* The pool: thunks that differ only in which entry of it they call. */
#define POOL_ROWS 16
#define POOL_SIZE (POOL_ROWS * 8)

struct pool_entry {
	uint32_t claimed, ready;
	const struct hook *hook;
	hook_fn real;
};

static struct pool_entry pool[POOL_SIZE];

#define THUNK(row, column)                                                  \
	static hook_word thunk_##row##_##column(HOOK_PARAMETERS)            \
	{                                                                   \
		const struct pool_entry *entry = &pool[(row)*8 + (column)]; \
                                                                            \
		return hook_call(entry->hook, entry->real, HOOK_ARGUMENTS); \
	}
#define THUNK_ENTRY(row, column) thunk_##row##_##column,
/* clang-format off */
#define ROW(X, row) \
	X(row, 0) X(row, 1) X(row, 2) X(row, 3) X(row, 4) X(row, 5) X(row, 6) X(row, 7)
#define ROWS(X) \
	ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7) \
	ROW(X, 8) ROW(X, 9) ROW(X, 10) ROW(X, 11) ROW(X, 12) ROW(X, 13) ROW(X, 14) ROW(X, 15)
/* clang-format on */

ROWS(THUNK)
static const hook_fn thunks[POOL_SIZE] = {ROWS(THUNK_ENTRY)};

static bool pool_claim(struct pool_entry *entry)
{
	uint32_t unclaimed = 0;

	return __atomic_compare_exchange_n(&entry->claimed, &unclaimed, 1, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* Two threads that ask at once may get two thunks for one function: both are right. */
static hook_fn pool_wrap(const struct hook *hook, hook_fn real)
{
	unsigned i;

	for (i = 0; i < POOL_SIZE; i++) {
		struct pool_entry *entry = &pool[i];

		if (FPROF_LOAD_ACQUIRE(&entry->ready)) {
			if (entry->hook == hook && entry->real == real)
				return thunks[i];
		} else if (pool_claim(entry)) {
			entry->hook = hook;
			entry->real = real;
			FPROF_STORE_RELEASE(&entry->ready, 1u);
			return thunks[i];
		}
	}
	record_unhooked(hook);
	return real;
}

hook_fn hook_wrap(const struct hook *hook, hook_fn real)
{
	unsigned i;

	/* a pointer that was given out once may come back through another lookup */
	for (i = 0; i < POOL_SIZE; i++) {
		if (thunks[i] == real)
			return real;
	}
	return pool_wrap(hook, real);
}

hook_fn hook_next_global(const struct hook *hook)
{
	return (hook_fn)real_dlsym(RTLD_NEXT, hook->name);
}

hook_fn hook_next(const struct hook *hook)
{
	hook_fn *cached = &next_cached[hook - hooks];
	hook_fn found = FPROF_LOAD_RELAXED(cached);

	if (found)
		return found;
	found = hook_next_global(hook);
	if (!found) {
		real_forget_error();
		found = (hook_fn)elf_find(hook->name);
	}
	if (!found)
		return NULL;
	/* what we call from now on must not be unloaded */
	real_pin((uintptr_t)found);
	FPROF_STORE_RELAXED(cached, found);
	return found;
}

const struct hook *hook_by_name(const char *name)
{
	unsigned i;

	for (i = 0; i < HOOK_COUNT; i++) {
		if (elf_text_equal(hooks[i].name, name))
			return &hooks[i];
	}
	return NULL;
}

void hook_resolve_sleeps(void)
{
	hook_next(&hooks[INDEX_nanosleep]);
	hook_next(&hooks[INDEX_clock_nanosleep]);
	hook_next(&hooks[INDEX_usleep]);
}
