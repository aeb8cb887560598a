/* SPDX-License-Identifier: MIT */
/*
 * A tree of paths that is looked up again and again: nodes with a number from 0 on, each below
 * another one, and called by a marker. Zones come in much the same order frame after frame, so the
 * child after the one that was entered last is nearly always the one, or that one again; a hash
 * table finds the others. One thread at a time.
 */
#ifndef FPROF_DAEMON_PATHS_H
#define FPROF_DAEMON_PATHS_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_NONE UINT32_MAX

/* The way down, kept together. Of its children: the one that was last entered, and the one that is
 * likely to be the next. */
struct path_step {
	uint32_t marker, next_sibling, cursor, expected;
};
struct path_place {
	uint32_t parent, first_child, last_child;
};

struct paths {
	VEC(struct path_step) steps;   /* by node */
	VEC(struct path_place) places; /* by node */
	uint32_t *index;	       /* hash of parent and marker to node */
	size_t index_size, indexed;
};

void paths_deinit(struct paths *paths);
/* A node below none. 0 or -ENOMEM. */
int paths_add_root(struct paths *paths, uint32_t *ret_node);
/* A node below parent that is not there yet; it is entered. 0 or -ENOMEM. */
int paths_add(struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node);
/* The child by the table. */
bool paths_look_up(const struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node);

static inline bool paths_is_called(const struct paths *paths, uint32_t node, uint32_t marker)
{
	return node != PATH_NONE && paths->steps.at[node].marker == marker;
}

static inline void paths_entered(struct paths *paths, uint32_t parent, uint32_t node)
{
	struct path_step *above = &paths->steps.at[parent];
	uint32_t next = paths->steps.at[node].next_sibling;

	above->cursor = node;
	above->expected = next != PATH_NONE ? next : paths->places.at[parent].first_child;
}

/* The child called marker: the one after the last one (after all of them the first), the last one
 * again, or any. */
static inline bool paths_enter(struct paths *paths, uint32_t parent, uint32_t marker,
			       uint32_t *ret_node)
{
	const struct path_step *above = &paths->steps.at[parent];

	*ret_node = above->expected;
	if (!paths_is_called(paths, *ret_node, marker)) {
		*ret_node = above->cursor;
		if (!paths_is_called(paths, *ret_node, marker) &&
		    !paths_look_up(paths, parent, marker, ret_node))
			return false;
	}
	paths_entered(paths, parent, *ret_node);
	return true;
}

#endif
