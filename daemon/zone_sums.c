/* SPDX-License-Identifier: MIT */
/*
 * Nodes of the recording become nodes of the tree in the order in which they are linked, parents
 * first, so that a table of them is made like any other. Each gets a marker of its own that has its
 * name and, as category, its group; those of the same name are made one by the tree.
 */
#include "zone_sums.h"

#include "aggregate.h"

#include <errno.h>
#include <string.h>

static void drop_markers(struct range *range)
{
	size_t i;

	for (i = 0; i < range->markers.count; i++)
		marker_row_deinit(&range->markers.at[i]);
	range->markers.count = 0;
}

/* Marker i + 1 is node i's. */
static int name_nodes(const struct aggregate *a, struct range *range)
{
	size_t count = a->nodes.count, i;

	drop_markers(range);
	if (VEC_RESERVE(&range->markers, count + 1) < 0)
		return -ENOMEM;
	memset(range->markers.at, 0, (count + 1) * sizeof(*range->markers.at));
	range->markers.count = count + 1;
	for (i = 0; i < count; i++) {
		struct marker_row *marker = &range->markers.at[i + 1];

		marker->marker = (uint32_t)i + 1;
		marker->name = strdup(a->nodes.at[i].name);
		marker->category = strdup(aggregate_group_name(a, (uint32_t)i));
		if (!marker->name || !marker->category)
			return -ENOMEM;
	}
	return 0;
}

/* All is below one track, whether or not the recording names any. */
static int need_track(struct range *range)
{
	const struct track_row track = {.session = range->session, .end_ticks = INT64_MAX};

	return range->tracks.count > 0 ? 0 : VEC_PUSH(&range->tracks, track);
}

static int add_nodes(const struct aggregate *a, const struct aggregate_sums *sums,
		     struct zone_tree *tree)
{
	_cleanup_free_ uint32_t *ids = calloc(a->nodes.count, sizeof(*ids));
	size_t i;
	int r = 0;

	if (!ids)
		return -ENOMEM;
	for (i = 0; i < a->linked && r == 0; i++) {
		uint32_t node = a->order[i], parent = a->nodes.at[node].parent;
		const struct aggregate_sum *sum = &sums->by_node[node];
		struct zone_node *n;

		r = zone_tree_add(tree, parent == AGGREGATE_NONE ? 0 : ids[parent], node + 1,
				  &ids[node]);
		if (r < 0)
			break;
		n = &tree->nodes.at[ids[node]];
		n->calls = sum->calls;
		n->total_ns = sum->total_ns;
		n->self_ns = sum->self_ns;
		n->sum_frames = sum->frames;
		n->min_frame_ns = sum->min_frame_ns;
		n->max_frame_ns = sum->max_frame_ns;
		tree->calls += sum->calls;
	}
	tree->nodes.at[0].total_ns = sums->by_node[0].total_ns;
	return r;
}

int zone_sums_read(struct history *h, struct range *range, struct zone_tree *ret_tree)
{
	struct aggregate_sums sums = {0};
	struct aggregate *a = NULL;
	int r = aggregate_open(h, range->session, &a);

	memset(ret_tree, 0, sizeof(*ret_tree));
	if (r == 0)
		r = aggregate_add_up(h, a, range->first, range->last, &sums);
	if (r == 0)
		r = name_nodes(a, range);
	if (r == 0)
		r = need_track(range);
	if (r == 0)
		r = zone_tree_begin(range, 0, ret_tree);
	if (r == 0) {
		ret_tree->sums = true;
		r = add_nodes(a, &sums, ret_tree);
		if (r < 0)
			zone_tree_deinit(ret_tree);
	}
	free(sums.by_node);
	aggregate_free(a);
	return r == -EBADMSG ? -EIO : r;
}
