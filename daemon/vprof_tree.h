/* SPDX-License-Identifier: MIT */
/*
 * The tree that a .vprof recording is written from. A node is added when it is first heard of and
 * linked when its first frame is written; what was linked since the last frame is fresh. No state
 * beyond the struct; one thread at a time.
 */
#ifndef FPROF_DAEMON_VPROF_TREE_H
#define FPROF_DAEMON_VPROF_TREE_H

#include "util.h"
#include "vprof.h"

#include <stdbool.h>
#include <stdint.h>

struct vprof_tree_node {
	uint32_t parent;		    /* VPROF_NONE: the root */
	uint32_t first_child, next_sibling; /* of those linked, the newest first */
	uint32_t group;
	int32_t id;
	const char *name; /* not owned */
	bool linked, fresh;
};
struct vprof_tree {
	VEC(struct vprof_tree_node) nodes; /* the root first; parents before children */
	VEC(uint32_t) order; /* of those linked, as timings have them; vprof_tree_write makes it */
	VEC(uint32_t) stack;
	bool grown; /* something is fresh */
};

/* The root, then nodes: 0 or -ENOMEM. The new one is nodes.at[nodes.count - 1]. */
int vprof_tree_add(struct vprof_tree *t, uint32_t parent, const char *name, uint32_t group,
		   int32_t id);
void vprof_tree_deinit(struct vprof_tree *t);
/* Its parent is linked. Where it is linked already it is only fresh again (another id or group). */
void vprof_tree_link(struct vprof_tree *t, uint32_t node);
/* Writes what is fresh, depth first, the oldest of siblings first: so a reader, which puts each new
 * one before its siblings, has the order of this tree. 0 or -ENOMEM. */
int vprof_tree_write(struct vprof_tree *t, const struct vprof_out *out);

#endif
