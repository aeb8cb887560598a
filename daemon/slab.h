/* SPDX-License-Identifier: MIT */
/*
 * Memory that is taken bit by bit and goes all at once. Large slabs are huge pages where there are
 * such: one fault after the other for small ones costs more than what is done with them.
 */
#ifndef FPROF_DAEMON_SLAB_H
#define FPROF_DAEMON_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_TAKE_MAX (1024u * 1024u)

struct slab;
/* *slabs: NULL at first. NULL: no memory. */
void *slab_take(struct slab **slabs, size_t bytes);
void slab_free(struct slab *slabs); /* all of them; NULL is fine */

/* A list of elements of one size, which are only ever appended and gone through: in blocks, so that
 * nothing is copied as it grows. Zeros are an empty one; it goes with its slabs. */
struct slab_block {
	struct slab_block *next;
	uint32_t used; /* bytes */
	_Alignas(8) uint8_t data[4080];
};
struct slab_list {
	struct slab_block *first, *last;
};
/* The place of a new element; NULL: no memory. */
static inline void *slab_append(struct slab **slabs, struct slab_list *list, uint32_t bytes)
{
	struct slab_block *block = list->last;

	if (!block || block->used + bytes > sizeof(block->data)) {
		block = slab_take(slabs, sizeof(*block));
		if (!block)
			return NULL;
		block->next = NULL;
		block->used = 0;
		*(list->last ? &list->last->next : &list->first) = block;
		list->last = block;
	}
	block->used += bytes;
	return &block->data[block->used - bytes];
}

struct slab_cursor {
	const struct slab_block *block; /* a list's first */
	uint32_t at;
};
/* The element that comes next, NULL: none; slab_step goes beyond it. */
static inline const void *slab_peek(struct slab_cursor *c)
{
	while (c->block && c->at == c->block->used) {
		c->block = c->block->next;
		c->at = 0;
	}
	return c->block ? &c->block->data[c->at] : NULL;
}
static inline void slab_step(struct slab_cursor *c, uint32_t bytes)
{
	c->at += bytes;
}

/* Room for so many bytes, zeros, of which only those that are touched cost anything. NULL: none. */
void *slab_reserve(size_t bytes);
void slab_release(void *at, size_t bytes); /* NULL is fine */

#endif
