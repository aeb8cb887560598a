/* SPDX-License-Identifier: MIT */
/* Growable arrays: they grow by doubling. One belongs to one thread at a time. */
#ifndef FPROF_DAEMON_VEC_H
#define FPROF_DAEMON_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* A growable array of T: { .at, .count, .capacity }; zero-initialised is empty. */
#define VEC(T)                          \
	struct {                        \
		T *at;                  \
		size_t count, capacity; \
	}

int vec_reserve_(void **at, size_t *capacity, size_t need, size_t element_bytes);

/* Makes room for one more element: 0 or -ENOMEM. */
#define VEC_RESERVE(v, n)                                                                    \
	((v)->count + (n) <= (v)->capacity ? 0                                               \
					   : vec_reserve_((void **)&(v)->at, &(v)->capacity, \
							  (v)->count + (n), sizeof(*(v)->at)))
/* Appends x: 0 or -ENOMEM. */
#define VEC_PUSH(v, x) (VEC_RESERVE((v), 1) < 0 ? -ENOMEM : ((v)->at[(v)->count++] = (x), 0))
#define VEC_FREE(v)    (free((v)->at), (v)->at = NULL, (v)->count = (v)->capacity = 0)

#endif
