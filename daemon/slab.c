/* SPDX-License-Identifier: MIT */
/* The newest slab is the first in the list: what does not fit into it goes to another one. */
#include "slab.h"

#include <stdlib.h>
#include <sys/mman.h>

#define FIRST (64u * 1024u)
#define LATER (2048u * 1024u)

struct slab {
	struct slab *next;
	size_t size, used;
};

static struct slab *slab_new(size_t size)
{
	struct slab *slab = aligned_alloc(size, size);

	if (!slab)
		return NULL;
	if (size == LATER)
		madvise(slab, size, MADV_HUGEPAGE);
	slab->size = size;
	slab->used = sizeof(*slab);
	return slab;
}

void *slab_take(struct slab **slabs, size_t bytes)
{
	struct slab *slab = *slabs;

	bytes = (bytes + 7) & ~(size_t)7;
	if (!slab || slab->used + bytes > slab->size) {
		slab = slab_new(slab || bytes > FIRST / 2 ? LATER : FIRST);
		if (!slab)
			return NULL;
		slab->next = *slabs;
		*slabs = slab;
	}
	slab->used += bytes;
	return (uint8_t *)slab + slab->used - bytes;
}

void slab_free(struct slab *slabs)
{
	struct slab *next;

	for (; slabs; slabs = next) {
		next = slabs->next;
		free(slabs);
	}
}

/* What is a good part of a huge page is a whole one. */
static size_t rounded(size_t bytes)
{
	return bytes < LATER / 8 ? bytes + 1 : (bytes + LATER - 1) & ~(size_t)(LATER - 1);
}

void *slab_reserve(size_t bytes)
{
	void *at = mmap(NULL, rounded(bytes), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (rounded(bytes) >= LATER)
		madvise(at, rounded(bytes), MADV_HUGEPAGE);
	return at;
}

void slab_release(void *at, size_t bytes)
{
	if (at)
		munmap(at, rounded(bytes));
}
