/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays that do not grow when they are told so: vec_reserve_ takes the place of the
 * daemon's own, which is not linked where this one is. One file of a program includes it.
 */
#ifndef FPROF_TESTS_FAILING_VEC_H
#define FPROF_TESTS_FAILING_VEC_H

#include "daemon/vec.h"

static long vec_grows_left = -1; /* the one after so many fails; < 0: all succeed */
static size_t vec_refused_bytes; /* those of elements of this size fail; any thread */

int vec_reserve_(void **at, size_t *capacity, size_t need, size_t element_bytes)
{
	void *grown;

	if (need <= *capacity)
		return 0;
	if (__atomic_load_n(&vec_refused_bytes, __ATOMIC_ACQUIRE) == element_bytes)
		return -ENOMEM;
	if (vec_grows_left >= 0 && vec_grows_left-- == 0)
		return -ENOMEM;
	grown = realloc(*at, need * 2 * element_bytes);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*capacity = need * 2;
	return 0;
}

#endif
