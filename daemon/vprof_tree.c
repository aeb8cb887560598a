// SPDX-License-Identifier: MIT
/* Walks through a tree of linked nodes without recursion: it may be a thousand levels deep. */
#include "vprof_tree.h"

#include <errno.h>

int vprof_tree_add(struct vprof_tree *t, uint32_t parent, const char *name, uint32_t group,
		   int32_t id)
{
	struct vprof_tree_node node = {.parent = parent,
				       .first_child = VPROF_NONE,
				       .next_sibling = VPROF_NONE,
				       .group = group,
				       .id = id,
				       .name = name,
				       .linked = parent == VPROF_NONE};

	t->grown = t->grown || node.linked;
	return VEC_PUSH(&t->nodes, node);
}

void vprof_tree_deinit(struct vprof_tree *t)
{
	VEC_FREE(&t->nodes);
	VEC_FREE(&t->order);
	VEC_FREE(&t->stack);
}

void vprof_tree_link(struct vprof_tree *t, uint32_t node)
{
	struct vprof_tree_node *n = &t->nodes.at[node], *parent = &t->nodes.at[n->parent];

	n->fresh = true;
	t->grown = true;
	if (n->linked)
		return;
	n->linked = true;
	n->next_sibling = parent->first_child;
	parent->first_child = node;
}

static uint32_t next_of(const struct vprof_tree *t, uint32_t node)
{
	if (t->nodes.at[node].first_child != VPROF_NONE)
		return t->nodes.at[node].first_child;
	while (node != VPROF_NONE && t->nodes.at[node].next_sibling == VPROF_NONE)
		node = t->nodes.at[node].parent;
	return node == VPROF_NONE ? node : t->nodes.at[node].next_sibling;
}

static void put_in_order(struct vprof_tree *t)
{
	uint32_t at;

	t->order.count = 0;
	for (at = 0; at != VPROF_NONE; at = next_of(t, at))
		t->order.at[t->order.count++] = at;
}

static void write_node(struct vprof_tree *t, uint32_t node, const struct vprof_out *out)
{
	struct vprof_tree_node *n = &t->nodes.at[node];

	if (!n->fresh)
		return;
	n->fresh = false;
	vprof_write_node(out, t->nodes.at[n->parent].id, n->name, n->group, n->id);
}

int vprof_tree_write(struct vprof_tree *t, const struct vprof_out *out)
{
	if (!t->grown)
		return 0;
	if (VEC_RESERVE(&t->order, t->nodes.count - t->order.count) < 0 ||
	    VEC_RESERVE(&t->stack, t->nodes.count) < 0)
		return -ENOMEM;
	t->stack.at[t->stack.count++] = 0;
	while (t->stack.count > 0) {
		uint32_t node = t->stack.at[--t->stack.count], child;

		write_node(t, node, out);
		/* The oldest comes last and is taken first. */
		for (child = t->nodes.at[node].first_child; child != VPROF_NONE;
		     child = t->nodes.at[child].next_sibling)
			t->stack.at[t->stack.count++] = child;
	}
	put_in_order(t);
	t->grown = false;
	return 0;
}
