/* SPDX-License-Identifier: MIT */
/* In a file of its own: a test takes its place, and fails the Nth growth. */
#include "vec.h"

#include <stdint.h>

#define VEC_FIRST 16u

int vec_reserve_(void **at, size_t *capacity, size_t need, size_t element_bytes)
{
	size_t want = *capacity ? *capacity : VEC_FIRST;
	void *grown;

	if (need <= *capacity)
		return 0;
	while (want < need) {
		if (want > SIZE_MAX / 2)
			return -ENOMEM;
		want *= 2;
	}
	if (want > SIZE_MAX / element_bytes)
		return -ENOMEM;
	grown = realloc(*at, want * element_bytes);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*capacity = want;
	return 0;
}
