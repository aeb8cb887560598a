/* SPDX-License-Identifier: MIT */
/*
 * A tree of paths that is looked up again and again: nodes with a number from 0 on, each below
 * another one, and called by a marker. One thread at a time.
 *
 * A child is found by a hash of who is above it and what it is called. Guessing it from the order
 * in which zones came before was no faster where it guessed right, and slower where it did not.
 */
#ifndef FPROF_DAEMON_PATHS_H
#define FPROF_DAEMON_PATHS_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_NONE UINT32_MAX

struct path {
	uint32_t parent, marker; /* PATH_NONE: of a root */
};

struct path_slot {
	uint64_t key; /* of parent and marker; UINT64_MAX: free */
	uint32_t node;
};

struct paths {
	VEC(struct path) all;	 /* by node */
	struct path_slot *slots; /* a power of two of them, from the first node on */
	size_t mask;		 /* one less than there are */
	size_t used;
};

void paths_deinit(struct paths *paths);
/* A node below none. 0 or -ENOMEM. */
int paths_add_root(struct paths *paths, uint32_t *ret_node);
/* A node below parent that is not there yet. 0 or -ENOMEM. */
int paths_add(struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node);
/* The child where it is not in its first slot. */
bool paths_look_up(const struct paths *paths, uint64_t key, uint32_t *ret_node);

static inline uint64_t paths_key(uint32_t parent, uint32_t marker)
{
	return (uint64_t)parent << 32 | marker;
}

static inline size_t paths_slot(const struct paths *paths, uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & paths->mask;
}

/* The child of parent, which is a node, called marker; false: there is none. */
static inline bool paths_enter(const struct paths *paths, uint32_t parent, uint32_t marker,
			       uint32_t *ret_node)
{
	uint64_t key = paths_key(parent, marker);
	const struct path_slot *slot = &paths->slots[paths_slot(paths, key)];

	*ret_node = slot->node;
	return slot->key == key || paths_look_up(paths, key, ret_node);
}

#endif
