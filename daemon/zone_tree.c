/* SPDX-License-Identifier: MIT */
/*
 * One visit of the range; on each begin the child of the node in progress is looked up, on each end
 * its sample is kept.
 *
 * A sample is two 32-bit numbers: ns since the begin of the one before, and its duration. One that
 * does not fit has the duration ZONE_ENTRY_WIDE and is followed by its begin and duration in full.
 * So 1.2 million calls are 10 MB. They are kept in short blocks, one after the other as they are
 * begun: what a frame writes to lies together, however many nodes there are. (Long ones had each
 * node write to a page of its own, and the misses took more than the rest.)
 */
#include "zone_tree.h"

#include <errno.h>
#include <string.h>

#define WIDE_ENTRIES 3u /* the mark, begin and duration */
#define BLOCK_FIRST  8u
#define BLOCK_LAST   64u

/* --- samples ----------------------------------------------------------------------------- */

/* So far its count is how many it has room for. */
static void close_block(struct zone_tree *tree, uint32_t node)
{
	if (tree->nodes.at[node].last)
		tree->nodes.at[node].last->count -= tree->sinks.at[node].room;
}

static int grow_block(struct zone_tree *tree, uint32_t node)
{
	struct zone_node *n = &tree->nodes.at[node];
	uint32_t capacity = n->last ? MIN(2 * n->last->count, BLOCK_LAST) : BLOCK_FIRST;
	struct zone_block *block =
		slab_take(&tree->slabs, sizeof(*block) + capacity * sizeof(struct zone_entry));

	if (!block)
		return -ENOMEM;
	close_block(tree, node);
	*block = (struct zone_block){.count = capacity};
	if (n->last)
		n->last->next = block;
	else
		n->first = block;
	n->last = block;
	tree->sinks.at[node].at = block->entries;
	tree->sinks.at[node].room = capacity;
	return 0;
}

static int put_wide(struct zone_sink *sink, int64_t begin, int64_t duration)
{
	sink->at[0] = (struct zone_entry){0, ZONE_ENTRY_WIDE};
	memcpy(&sink->at[1], &begin, sizeof(begin));
	memcpy(&sink->at[2], &duration, sizeof(duration));
	sink->at += WIDE_ENTRIES;
	sink->room -= WIDE_ENTRIES;
	return 0;
}

static inline int put_sample(struct zone_tree *tree, uint32_t node, int64_t begin, int64_t duration)
{
	struct zone_sink *sink = &tree->sinks.at[node];
	uint64_t after = (uint64_t)(begin - sink->begin);

	if (tree->calls++ == ZONE_TREE_CALLS_MAX)
		return -E2BIG;
	if (sink->room < WIDE_ENTRIES && grow_block(tree, node) < 0)
		return -ENOMEM;
	sink->begin = begin;
	sink->calls++;
	sink->total_ns += duration;
	if (after > UINT32_MAX || (uint64_t)duration >= ZONE_ENTRY_WIDE)
		return put_wide(sink, begin, duration);
	*sink->at++ = (struct zone_entry){(uint32_t)after, (uint32_t)duration};
	sink->room--;
	return 0;
}

struct zone_samples zone_samples(const struct zone_node *node)
{
	return (struct zone_samples){.block = node->first};
}

uint32_t zone_tree_canonical(const struct zone_tree *tree, uint32_t marker)
{
	return marker < tree->range->markers.count ? tree->canonical[marker] : marker;
}

/* --- nodes ------------------------------------------------------------------------------- */

static bool is_nested(const struct zone_tree *tree, uint32_t parent, uint32_t marker)
{
	while (tree->nodes.at[parent].parent != ZONE_NODE_NONE) {
		if (tree->nodes.at[parent].marker == marker)
			return true;
		parent = tree->nodes.at[parent].parent;
	}
	return false;
}

static int add_node(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	uint32_t id = (uint32_t)tree->nodes.count;
	struct zone_node *node, *above;

	if (id >= ZONE_TREE_NODES_MAX)
		return -E2BIG;
	if (VEC_RESERVE(&tree->nodes, 1) < 0 || VEC_RESERVE(&tree->sinks, 1) < 0 ||
	    paths_add(&tree->paths, parent, marker, ret_node) < 0)
		return -ENOMEM;
	tree->sinks.at[tree->sinks.count++] = (struct zone_sink){0};
	node = &tree->nodes.at[tree->nodes.count++];
	above = &tree->nodes.at[parent];
	*node = (struct zone_node){
		.parent = parent,
		.marker = marker,
		.track = above->track,
		.depth = above->parent == ZONE_NODE_NONE ? 0 : above->depth + 1,
		.first_child = ZONE_NODE_NONE,
		.last_child = ZONE_NODE_NONE,
		.next_sibling = ZONE_NODE_NONE,
		.gpu = above->gpu,
		.nested = is_nested(tree, parent, marker),
	};
	if (above->last_child == ZONE_NODE_NONE)
		above->first_child = id;
	else
		tree->nodes.at[above->last_child].next_sibling = id;
	above->last_child = id;
	return 0;
}

/* The child called marker, which is made if need be. */
static inline int enter_child(struct zone_tree *tree, uint32_t parent, uint32_t marker,
			      uint32_t *ret_node)
{
	if (paths_enter(&tree->paths, parent, marker, ret_node))
		return 0;
	return add_node(tree, parent, marker, ret_node);
}

/* --- the visit --------------------------------------------------------------------------- */

struct reading {
	struct zone_tree *tree;
	const bool *skip;
	uint32_t track;
	bool scheduled; /* the scheduler tells of it */
};

static int enter(struct reading *x, uint32_t marker, int64_t begin, bool out)
{
	struct zone_tree *tree = x->tree;
	struct zone_frame *frame;
	uint32_t parent =
		tree->stack.count > 0 ? tree->stack.at[tree->stack.count - 1].node : x->track;
	uint32_t node;
	int r = enter_child(tree, parent, zone_tree_canonical(tree, marker), &node);

	if (r < 0 || VEC_RESERVE(&tree->stack, 1) < 0)
		return r < 0 ? r : -ENOMEM;
	frame = &tree->stack.at[tree->stack.count++];
	frame->node = node;
	frame->out = out;
	frame->begin = begin;
	return 0;
}

/* Nothing is counted of what lies in frames that are left out. */
static int leave(struct reading *x, int64_t end)
{
	struct zone_tree *tree = x->tree;
	const struct zone_frame *frame = &tree->stack.at[--tree->stack.count];

	if (frame->out && end <= frame->begin)
		return 0;
	return put_sample(tree, frame->node, frame->begin, end - frame->begin);
}

static int enter_kernel(struct zone_tree *tree, int64_t t, int64_t ns)
{
	struct zone_kernel_ns begin;

	zone_kernel_at(&tree->kernel, t, ns, &begin);
	return VEC_PUSH(&tree->kernel_stack, begin);
}

/* Before the zone is left. */
static void leave_kernel(struct zone_tree *tree, int64_t t, int64_t ns)
{
	struct zone_node *node = &tree->nodes.at[tree->stack.at[tree->stack.count - 1].node];
	struct zone_kernel_ns end;

	zone_kernel_at(&tree->kernel, t, ns, &end);
	zone_kernel_add(&node->kernel, &tree->kernel_stack.at[--tree->kernel_stack.count], &end);
	node->scheduled = true;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *x = userdata;

	(void)track;
	x->track = (uint32_t)index;
	x->scheduled = zone_kernel_track(&x->tree->kernel, index);
	x->tree->kernel_stack.count = 0;
	x->tree->stack.count = 0;
	return x->skip && x->skip[index] ? 1 : 0;
}

static int on_begin(struct reading *x, uint32_t marker, int64_t t)
{
	bool out;
	int64_t ns = counted_ns(&x->tree->counted, t, &out);

	if (x->scheduled && enter_kernel(x->tree, t, ns) < 0)
		return -ENOMEM;
	return enter(x, marker, ns, out);
}

static int on_left(struct reading *x, int64_t t)
{
	bool out;
	int64_t ns = counted_ns(&x->tree->counted, t, &out);

	if (x->scheduled)
		leave_kernel(x->tree, t, ns);
	return leave(x, ns);
}

static int on_steps(void *userdata, const struct range_step *steps, size_t count)
{
	struct reading *x = userdata;
	size_t i;
	int r = 0;

	for (i = 0; i < count && r == 0; i++)
		r = steps[i].marker == RANGE_LEFT ? on_left(x, steps[i].t)
						  : on_begin(x, steps[i].marker, steps[i].t);
	return r;
}

/* Allocations belong to the zone that is innermost; outside of all to the track. */
static int on_event(void *userdata, const struct range_event *event)
{
	struct reading *x = userdata;
	struct zone_tree *tree = x->tree;
	struct zone_node *node;

	if (event->kind != RANGE_ALLOC)
		return 0;
	tree->allocations = true;
	node = &tree->nodes.at[tree->stack.count > 0 ? tree->stack.at[tree->stack.count - 1].node
						     : x->track];
	node->own_alloc_bytes += event->value.i;
	node->own_alloc_count += event->count;
	return 0;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct reading *x = userdata;

	x->tree->gaps++;
	x->tree->lost_events = count_add(x->tree->lost_events, gap->events);
	return 0;
}

/* A GPU zone comes with its end: what is no longer around it is left, whatever its end. Spans of
 * another frame may come in between, and are in nobody. */
static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct reading *x = userdata;
	struct zone_tree *tree = x->tree;
	int64_t position, duration = MAX(zone->span.end_ns - zone->span.begin_ns, 0);
	uint32_t node, parent;
	size_t depth = MIN((size_t)zone->depth, tree->stack.count);
	int r;

	tree->stack.count = depth;
	parent = depth > 0 ? tree->stack.at[depth - 1].node : x->track;
	r = enter_child(tree, parent, zone_tree_canonical(tree, zone->span.marker), &node);
	if (r < 0)
		return r;
	r = VEC_PUSH(&tree->stack, ((struct zone_frame){.node = node}));
	if (r < 0 || !counted_begin_of(&tree->counted, zone->span.frame, &position))
		return r;
	return put_sample(tree, node, position, duration);
}

static int add_tracks(struct zone_tree *tree)
{
	uint32_t node;
	size_t i;

	if (VEC_RESERVE(&tree->nodes, tree->range->tracks.count) < 0 ||
	    VEC_RESERVE(&tree->sinks, tree->range->tracks.count) < 0)
		return -ENOMEM;
	for (i = 0; i < tree->range->tracks.count; i++) {
		tree->nodes.at[tree->nodes.count++] = (struct zone_node){
			.parent = ZONE_NODE_NONE,
			.track = (uint32_t)i,
			.first_child = ZONE_NODE_NONE,
			.last_child = ZONE_NODE_NONE,
			.next_sibling = ZONE_NODE_NONE,
			.gpu = tree->range->tracks.at[i].kind == TRACK_GPU_QUEUE,
		};
		tree->sinks.at[tree->sinks.count++] = (struct zone_sink){0};
		if (paths_add_root(&tree->paths, &node) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void add_up_kernel(struct zone_tree *tree, struct zone_node *node)
{
	static const struct zone_kernel_ns none;

	zone_kernel_add(&node->own_kernel, &none, &node->kernel);
	if (node->depth > 0)
		zone_kernel_add(&tree->nodes.at[node->parent].own_kernel, &node->kernel, &none);
}

/* A zone's children are the calls right inside its own, so its own time is what they leave of it.
 */
static void add_up(struct zone_tree *tree)
{
	size_t i;

	for (i = tree->range->tracks.count; i < tree->nodes.count; i++) {
		struct zone_node *node = &tree->nodes.at[i];

		close_block(tree, (uint32_t)i);
		node->calls = tree->sinks.at[i].calls;
		node->total_ns = tree->sinks.at[i].total_ns;
		node->self_ns += node->total_ns;
		if (node->scheduled)
			add_up_kernel(tree, node);
		if (node->depth > 0)
			tree->nodes.at[node->parent].self_ns -= node->total_ns;
		else
			tree->nodes.at[node->parent].total_ns += node->total_ns;
	}
}

/* Nodes come after those that they are in. */
static void add_up_allocations(struct zone_tree *tree)
{
	struct zone_node *node, *parent;
	size_t i;

	for (i = tree->nodes.count; i-- > 0;) {
		node = &tree->nodes.at[i];
		node->alloc_bytes += node->own_alloc_bytes;
		node->alloc_count += node->own_alloc_count;
		if (node->parent == ZONE_NODE_NONE)
			continue;
		parent = &tree->nodes.at[node->parent];
		parent->alloc_bytes += node->alloc_bytes;
		parent->alloc_count += node->alloc_count;
	}
}

int zone_tree_begin(const struct range *range, unsigned flags, struct zone_tree *ret_tree)
{
	struct zone_tree *tree = ret_tree;
	int r;

	memset(tree, 0, sizeof(*tree));
	tree->range = range;
	r = counted_init(&tree->counted, range, flags);
	if (r == 0)
		r = range_first_named(range, &tree->canonical);
	if (r == 0)
		r = add_tracks(tree);
	if (r < 0)
		zone_tree_deinit(tree);
	return r;
}

int zone_tree_add(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	return add_node(tree, parent, zone_tree_canonical(tree, marker), ret_node);
}

int zone_tree_enter(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	return enter_child(tree, parent, zone_tree_canonical(tree, marker), ret_node);
}

int zone_tree_read(struct history *h, const struct range *range, const bool *skip, unsigned flags,
		   struct zone_tree *ret_tree)
{
	struct reading x = {.tree = ret_tree, .skip = skip};
	const struct range_visitor visitor = {.userdata = &x,
					      .no_texts = true,
					      .track = on_track,
					      .steps = on_steps,
					      .event = on_event,
					      .gap = on_gap,
					      .gpu = on_gpu};
	int r = zone_tree_begin(range, flags | COUNTED_EVENTS, ret_tree);

	if (r < 0)
		return r;
	r = zone_kernel_read(h, &ret_tree->counted, skip, &ret_tree->kernel);
	if (r == 0)
		r = range_visit(h, range, &visitor);
	zone_kernel_deinit(&ret_tree->kernel);
	if (r < 0)
		zone_tree_deinit(ret_tree);
	else
		add_up(ret_tree);
	if (r == 0 && ret_tree->allocations)
		add_up_allocations(ret_tree);
	return r;
}

void zone_tree_deinit(struct zone_tree *tree)
{
	slab_free(tree->slabs);
	VEC_FREE(&tree->nodes);
	paths_deinit(&tree->paths);
	VEC_FREE(&tree->sinks);
	VEC_FREE(&tree->stack);
	VEC_FREE(&tree->kernel_stack);
	free(tree->canonical);
	counted_deinit(&tree->counted);
	memset(tree, 0, sizeof(*tree));
}
