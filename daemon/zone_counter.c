/* SPDX-License-Identifier: MIT */
/*
 * Rows of a chunk are what was called in it, the ways down there, and first of all the paths that
 * are new, in the order in which they began: so zone_totals numbers paths as if it had read the
 * chunk.
 */
#include "zone_counter.h"

#include <errno.h>

#define PATHS_MAX 4096u

static int add_node(struct zone_counter *c, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	size_t nodes = c->sums.count + 1;

	if (nodes > PATHS_MAX)
		return -ENOSPC;
	if (VEC_RESERVE(&c->sums, 1) < 0 || VEC_RESERVE(&c->places, 1) < 0 ||
	    VEC_RESERVE(&c->called, nodes - c->called.count) < 0)
		return -ENOMEM;
	if ((parent == PATH_NONE ? paths_add_root(&c->paths, ret_node)
				 : paths_add(&c->paths, parent, marker, ret_node)) < 0)
		return -ENOMEM;
	c->sums.at[c->sums.count++] = (struct zone_sum){0};
	c->places.at[c->places.count++] = 0;
	return 0;
}

struct zone_counter *zone_counter_new(void)
{
	struct zone_counter *c = malloc(sizeof(*c)); /* open stays untouched until it is used */

	if (!c)
		return NULL;
	memset(c, 0, offsetof(struct zone_counter, open));
	if (add_node(c, PATH_NONE, 0, &c->open[0]) < 0) {
		zone_counter_free(c);
		return NULL;
	}
	c->known = 1;
	return c;
}

void zone_counter_free(struct zone_counter *counter)
{
	if (!counter)
		return;
	paths_deinit(&counter->paths);
	VEC_FREE(&counter->sums);
	VEC_FREE(&counter->places);
	VEC_FREE(&counter->called);
	free(counter);
}

int zone_counter_begin(struct zone_counter *counter, uint32_t depth, uint32_t marker)
{
	struct zone_counter *c = counter;

	return zone_counter_enter(c, depth, marker)
		       ? 0
		       : add_node(c, c->open[depth - 1], marker, &c->open[depth]);
}

/* The row of node, made if need be, after those of the nodes above it. There is room. */
static uint32_t put_row(struct zone_counter *c, struct batch *b, uint32_t from, uint32_t node)
{
	uint32_t above;

	if (node == 0 || c->places.at[node] > 0)
		return c->places.at[node];
	above = put_row(c, b, from, c->paths.all.at[node].parent);
	b->zone_counts.at[b->zone_counts.count++] =
		(struct zone_count_row){above, c->paths.all.at[node].marker, c->sums.at[node]};
	c->places.at[node] = (uint32_t)b->zone_counts.count - from;
	return c->places.at[node];
}

/* Nodes on the way down to what was put have no place any more, and so on for those above. */
static void forget_places(struct zone_counter *c, uint32_t node)
{
	for (; node != PATH_NONE && c->places.at[node] > 0; node = c->paths.all.at[node].parent)
		c->places.at[node] = 0;
}

void zone_counter_take(struct zone_counter *counter, struct batch *batch, struct chunk_row *row)
{
	struct zone_counter *c = counter;
	uint32_t from = (uint32_t)batch->zone_counts.count, nodes = (uint32_t)c->sums.count, node;
	size_t i;

	row->counts_from = from;
	row->counted = VEC_RESERVE(&batch->zone_counts, nodes) == 0;
	for (node = c->known; node < nodes && row->counted; node++)
		put_row(c, batch, from, node);
	for (i = 0; i < c->called.count && row->counted; i++)
		put_row(c, batch, from, c->called.at[i]);
	row->counts = (uint32_t)batch->zone_counts.count - from;
	for (node = c->known; node < nodes; node++)
		forget_places(c, node);
	for (i = 0; i < c->called.count; i++) {
		forget_places(c, c->called.at[i]);
		c->sums.at[c->called.at[i]] = (struct zone_sum){0};
	}
	c->called.count = 0;
	c->known = nodes;
}
