/* SPDX-License-Identifier: MIT */
/* What libfprof-alloc.so tells libfprof, which finds it by name. */
#ifndef FPROF_CLIENT_ALLOC_H
#define FPROF_CLIENT_ALLOC_H

#include <stdint.h>

/* Of one thread, since it began; only that thread reads and writes them. */
struct fprof_alloc_counts {
	uint64_t bytes, count;
};

/* The calling thread's. Valid as long as the thread. */
const struct fprof_alloc_counts *fprof_alloc_hook_counts(void);

#endif
