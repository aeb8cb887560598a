// SPDX-License-Identifier: MIT
/*
 * libfprof-alloc.so: counts what each thread of a game allocates. A library of its own, so that
 * only who asks for it has a wrapper around malloc.
 *
 * It counts and does nothing else: bytes asked for and successful calls, in two words of the
 * calling thread. libfprof looks for fprof_alloc_hook_counts when it makes its session, and reads
 * the words at the ends of zones. The allocator stays the one that the game would have had: the
 * next one after us, whoever it is. A realloc counts as an allocation of its new size.
 *
 * Finding the next one may allocate, on some systems: that thread gets memory from a small arena
 * meanwhile, which is never given back.
 */
#include "client/fprof_alloc.h"

#include "client/preload/elf.h"
#include "shm/atomic.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES 8192u
#define HERE	    __thread __attribute__((tls_model("initial-exec")))

#define EXPORT __attribute__((visibility("default")))

static HERE struct fprof_alloc_counts counts;
static HERE int finding;

typedef void *(*dlsym_fn)(void *handle, const char *name);

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *);
	uint32_t ready;
} next;

static _Alignas(64) uint8_t arena[ARENA_BYTES];
static uint32_t arena_used;

EXPORT const struct fprof_alloc_counts *fprof_alloc_hook_counts(void)
{
	return &counts;
}

static int in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < ARENA_BYTES;
}

static void *arena_take(size_t bytes)
{
	uint32_t need, at;

	if (bytes >= ARENA_BYTES)
		return NULL;
	need = ((uint32_t)bytes + 63) & ~63u;
	at = FPROF_ADD_RELAXED(&arena_used, need);
	return at + need <= ARENA_BYTES ? arena + at : NULL;
}

/* Several threads may do this at once: they find the same. */
static void find(void)
{
	dlsym_fn lookup = (dlsym_fn)elf_find_early("dlsym", "libc.so");

	finding = 1;
	if (!lookup) /* before glibc 2.34 */
		lookup = (dlsym_fn)elf_find_early("dlsym", "libdl.so");
	if (lookup) {
		*(void **)&next.calloc = lookup(RTLD_NEXT, "calloc");
		*(void **)&next.realloc = lookup(RTLD_NEXT, "realloc");
		*(void **)&next.memalign = lookup(RTLD_NEXT, "memalign");
		*(void **)&next.aligned_alloc = lookup(RTLD_NEXT, "aligned_alloc");
		*(void **)&next.posix_memalign = lookup(RTLD_NEXT, "posix_memalign");
		*(void **)&next.free = lookup(RTLD_NEXT, "free");
		*(void **)&next.malloc = lookup(RTLD_NEXT, "malloc");
		FPROF_STORE_RELEASE(&next.ready, 1u);
	}
	finding = 0;
}

/* Is there a next allocator to ask? */
static int ready(void)
{
	if (FPROF_LOAD_ACQUIRE(&next.ready))
		return 1;
	if (!finding)
		find();
	return next.ready != 0;
}

static void *counted(void *p, size_t bytes)
{
	if (p) {
		counts.bytes += bytes;
		counts.count++;
	}
	return p;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

EXPORT void *malloc(size_t bytes)
{
	if (!ready())
		return arena_take(bytes);
	return counted(next.malloc(bytes), bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all))
		return no_memory();
	if (!ready())
		return arena_take(all);
	return counted(next.calloc(count, bytes), all);
}

static void *from_arena(void *p, size_t bytes)
{
	size_t had = (size_t)(arena + ARENA_BYTES - (uint8_t *)p);
	void *moved = malloc(bytes);

	if (moved)
		memcpy(moved, p, bytes < had ? bytes : had);
	return moved;
}

EXPORT void *realloc(void *p, size_t bytes)
{
	if (p && in_arena(p))
		return from_arena(p, bytes);
	if (!ready())
		return arena_take(bytes);
	return counted(next.realloc(p, bytes), bytes);
}

EXPORT void *reallocarray(void *p, size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all))
		return no_memory();
	return realloc(p, all);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
	if (!ready() || !next.memalign)
		return no_memory();
	return counted(next.memalign(alignment, bytes), bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (!ready() || !next.aligned_alloc)
		return no_memory();
	return counted(next.aligned_alloc(alignment, bytes), bytes);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	int r;

	if (!ready() || !next.posix_memalign)
		return ENOMEM;
	r = next.posix_memalign(ret, alignment, bytes);
	if (r == 0)
		counted(*ret, bytes);
	return r;
}

EXPORT void free(void *p)
{
	if (!in_arena(p) && ready())
		next.free(p);
}
