/* SPDX-License-Identifier: MIT */
/* Telling of allocations. Included by fprof.h. */
#ifndef FPROF_ALLOC_H
#define FPROF_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of one thread, since it began; only that thread reads and writes them. */
struct fprof_alloc_counts {
	uint64_t bytes, count;
};

#define FPROF_ALLOC_API __attribute__((visibility("default")))

extern FPROF_ALLOC_API __thread struct fprof_alloc_counts fprof_alloc_tls
	__attribute__((tls_model("initial-exec")));

/*
 * The game's own allocator gave out bytes to the calling thread: two additions, recording or not.
 * They are shown with the innermost open zone while allocations are tracked (fprof run --alloc,
 * $FPROF_ALLOC=1, or asked for over HTTP). What malloc gives is counted by libfprof-alloc.so, which
 * fprof run --alloc preloads: do not tell of that, too. Any thread, also in signal handlers.
 */
static inline void fprof_alloc(size_t bytes)
{
	fprof_alloc_tls.bytes += bytes;
	fprof_alloc_tls.count++;
}

/* The calling thread's in libfprof-alloc.so, which libfprof finds by this name. */
FPROF_ALLOC_API const struct fprof_alloc_counts *fprof_alloc_hook_counts(void);

#ifdef __cplusplus
}
#endif

#endif
