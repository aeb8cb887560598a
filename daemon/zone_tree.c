/* SPDX-License-Identifier: MIT */
/*
 * One visit of the range; on each begin the child of the node in progress is looked up, on each end
 * its sample is kept. Zones come in much the same order frame after frame, so the child that was
 * entered last, or the one that came after it the time before, is nearly always the one; a hash
 * table finds the others.
 *
 * A sample is two 32-bit numbers: ns since the begin of the one before, and its duration. One that
 * does not fit has the duration WIDE and is followed by its begin and duration in full. So 1.2
 * million calls are 10 MB.
 */
#include "zone_tree.h"

#include <errno.h>
#include <string.h>

#define WIDE	     UINT32_MAX
#define WIDE_ENTRIES 3u /* the mark, begin and duration */
#define BLOCK_FIRST  16u
#define BLOCK_LAST   512u
#define SLAB_BYTES   (1024u * 1024u)
#define INDEX_FIRST  1024u

struct zone_entry {
	uint32_t after, duration;
};

struct zone_block {
	struct zone_block *next;
	uint32_t count, capacity;
	struct zone_entry entries[];
};

/* --- samples ----------------------------------------------------------------------------- */

/* Blocks come from slabs, which go all at once. */
struct zone_slab {
	struct zone_slab *next;
	size_t used;
	uint8_t bytes[];
};

static void *slab_take(struct zone_tree *tree, size_t bytes)
{
	struct zone_slab *slab = tree->slabs;

	if (!slab || slab->used + bytes > SLAB_BYTES) {
		slab = malloc(sizeof(*slab) + SLAB_BYTES);
		if (!slab)
			return NULL;
		slab->next = tree->slabs;
		slab->used = 0;
		tree->slabs = slab;
	}
	slab->used += bytes;
	return slab->bytes + slab->used - bytes;
}

static int grow_block(struct zone_tree *tree, struct zone_node *node)
{
	uint32_t capacity = node->last ? MIN(2 * node->last->capacity, BLOCK_LAST) : BLOCK_FIRST;
	struct zone_block *block =
		slab_take(tree, sizeof(*block) + capacity * sizeof(struct zone_entry));

	if (!block)
		return -ENOMEM;
	block->next = NULL;
	block->count = 0;
	block->capacity = capacity;
	if (node->last)
		node->last->next = block;
	else
		node->first = block;
	node->last = block;
	return 0;
}

static int put_wide(struct zone_node *node, int64_t begin, int64_t duration)
{
	struct zone_entry *e = &node->last->entries[node->last->count];

	e[0] = (struct zone_entry){0, WIDE};
	memcpy(&e[1], &begin, sizeof(begin));
	memcpy(&e[2], &duration, sizeof(duration));
	node->last->count += WIDE_ENTRIES;
	return 0;
}

static int put_sample(struct zone_tree *tree, struct zone_node *node, int64_t begin,
		      int64_t duration)
{
	uint64_t after = (uint64_t)(begin - node->last_begin);

	if ((!node->last || node->last->count + WIDE_ENTRIES > node->last->capacity) &&
	    grow_block(tree, node) < 0)
		return -ENOMEM;
	node->last_begin = begin;
	if (after > UINT32_MAX || (uint64_t)duration >= WIDE)
		return put_wide(node, begin, duration);
	node->last->entries[node->last->count++] =
		(struct zone_entry){(uint32_t)after, (uint32_t)duration};
	return 0;
}

struct zone_samples zone_samples(const struct zone_node *node)
{
	return (struct zone_samples){.block = node->first};
}

bool zone_samples_next(struct zone_samples *s, int64_t *ret_begin, int64_t *ret_duration)
{
	const struct zone_entry *e;

	while (s->block && s->at == s->block->count) {
		s->block = s->block->next;
		s->at = 0;
	}
	if (!s->block)
		return false;
	e = &s->block->entries[s->at];
	if (e->duration == WIDE) {
		memcpy(&s->begin, &e[1], sizeof(s->begin));
		memcpy(ret_duration, &e[2], sizeof(*ret_duration));
		s->at += WIDE_ENTRIES;
	} else {
		s->begin += e->after;
		*ret_duration = e->duration;
		s->at++;
	}
	*ret_begin = s->begin;
	return true;
}

/* --- names ------------------------------------------------------------------------------- */

static size_t hash_text(const char *s)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(1099511628211);
	return (size_t)(h ^ h >> 29);
}

/* Maps each marker to the first one of its name, by way of a table of those. */
static int find_canonical(struct zone_tree *tree)
{
	size_t count = tree->range->markers.count, size = 64, id, at;
	_cleanup_free_ uint32_t *table = NULL;

	while (size < 2 * count)
		size *= 2;
	table = calloc(size, sizeof(*table));
	tree->canonical = calloc(count + 1, sizeof(*tree->canonical));
	if (!table || !tree->canonical)
		return -ENOMEM;
	for (id = 1; id < count; id++) {
		const char *name = tree->range->markers.at[id].name;

		tree->canonical[id] = (uint32_t)id;
		if (!name)
			continue;
		at = hash_text(name) & (size - 1);
		while (table[at] && strcmp(tree->range->markers.at[table[at]].name, name) != 0)
			at = (at + 1) & (size - 1);
		if (!table[at])
			table[at] = (uint32_t)id;
		tree->canonical[id] = table[at];
	}
	return 0;
}

uint32_t zone_tree_canonical(const struct zone_tree *tree, uint32_t marker)
{
	return marker < tree->range->markers.count ? tree->canonical[marker] : marker;
}

/* --- nodes ------------------------------------------------------------------------------- */

static size_t hash_child(const struct zone_tree *tree, uint32_t parent, uint32_t marker)
{
	uint64_t key = ((uint64_t)parent << 32 | marker) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(key >> 32) & (tree->index_size - 1);
}

static void index_put(struct zone_tree *tree, uint32_t node)
{
	const struct zone_node *n = &tree->nodes.at[node];
	size_t at = hash_child(tree, n->parent, n->marker);

	while (tree->index[at] != ZONE_NODE_NONE)
		at = (at + 1) & (tree->index_size - 1);
	tree->index[at] = node;
	tree->indexed++;
}

/* Keeps the table at most half full. */
static int index_reserve(struct zone_tree *tree)
{
	size_t size = tree->index_size ? 2 * tree->index_size : INDEX_FIRST, i;
	uint32_t *index;

	if (2 * (tree->indexed + 1) <= tree->index_size)
		return 0;
	index = malloc(size * sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		index[i] = ZONE_NODE_NONE;
	free(tree->index);
	tree->index = index;
	tree->index_size = size;
	tree->indexed = 0;
	for (i = tree->range->tracks.count; i < tree->nodes.count; i++)
		index_put(tree, (uint32_t)i);
	return 0;
}

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
	if (VEC_RESERVE(&tree->nodes, 1) < 0 || index_reserve(tree) < 0)
		return -ENOMEM;
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
		.cursor = ZONE_NODE_NONE,
		.gpu = above->gpu,
		.nested = is_nested(tree, parent, marker),
	};
	if (above->last_child == ZONE_NODE_NONE)
		above->first_child = id;
	else
		tree->nodes.at[above->last_child].next_sibling = id;
	above->last_child = id;
	index_put(tree, id);
	*ret_node = id;
	return 0;
}

static bool is_child(const struct zone_tree *tree, uint32_t node, uint32_t marker)
{
	return node != ZONE_NODE_NONE && tree->nodes.at[node].marker == marker;
}

/* The child called marker, which is made if need be. */
static int enter_child(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	struct zone_node *above = &tree->nodes.at[parent];
	uint32_t next = above->cursor == ZONE_NODE_NONE
				? above->first_child
				: tree->nodes.at[above->cursor].next_sibling;
	uint32_t node = ZONE_NODE_NONE;
	size_t at;
	int r = 0;

	if (is_child(tree, above->cursor, marker)) {
		*ret_node = above->cursor;
		return 0;
	}
	if (is_child(tree, next, marker))
		node = next;
	else if (is_child(tree, above->first_child, marker))
		node = above->first_child;
	for (at = tree->index_size ? hash_child(tree, parent, marker) : 0;
	     node == ZONE_NODE_NONE && tree->index_size && tree->index[at] != ZONE_NODE_NONE;
	     at = (at + 1) & (tree->index_size - 1))
		if (is_child(tree, tree->index[at], marker) &&
		    tree->nodes.at[tree->index[at]].parent == parent)
			node = tree->index[at];
	if (node == ZONE_NODE_NONE)
		r = add_node(tree, parent, marker, &node);
	if (r < 0)
		return r;
	tree->nodes.at[parent].cursor = node;
	*ret_node = node;
	return 0;
}

/* --- the visit --------------------------------------------------------------------------- */

struct reading {
	struct zone_tree *tree;
	const bool *skip;
	uint32_t track;
};

static int enter(struct reading *x, uint32_t marker, int64_t begin, bool out)
{
	struct zone_tree *tree = x->tree;
	struct zone_frame frame = {.begin = begin, .out = out};
	uint32_t parent =
		tree->stack.count > 0 ? tree->stack.at[tree->stack.count - 1].node : x->track;
	int r = enter_child(tree, parent, zone_tree_canonical(tree, marker), &frame.node);

	return r < 0 ? r : VEC_PUSH(&tree->stack, frame);
}

/* position: where the sample stands in time. Nothing is counted of what lies in frames that are
 * left out. */
static int leave(struct reading *x, int64_t end, int64_t position)
{
	struct zone_tree *tree = x->tree;
	struct zone_frame frame = tree->stack.at[--tree->stack.count];
	struct zone_node *node = &tree->nodes.at[frame.node];
	int64_t duration = end - frame.begin;

	if (frame.out && duration <= 0)
		return 0;
	node->calls++;
	node->total_ns += duration;
	node->self_ns += duration - frame.children;
	if (tree->stack.count > 0)
		tree->stack.at[tree->stack.count - 1].children += duration;
	else
		tree->nodes.at[x->track].total_ns += duration;
	if (tree->calls++ == ZONE_TREE_CALLS_MAX)
		return -E2BIG;
	return put_sample(tree, node, position, duration);
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *x = userdata;

	(void)track;
	x->track = (uint32_t)index;
	x->tree->stack.count = 0;
	return x->skip && x->skip[index] ? 1 : 0;
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct reading *x = userdata;
	bool out;
	int64_t ns = counted_ns(&x->tree->counted, t, &out);

	(void)depth;
	return enter(x, marker, ns, out);
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct reading *x = userdata;
	const struct zone_frame *frame = &x->tree->stack.at[x->tree->stack.count - 1];
	bool out;

	return leave(x, counted_ns(&x->tree->counted, zone->end, &out), frame->begin);
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
	tree->nodes.at[node].calls++;
	tree->nodes.at[node].total_ns += duration;
	tree->nodes.at[node].self_ns += duration;
	if (depth > 0)
		tree->nodes.at[parent].self_ns -= duration;
	else
		tree->nodes.at[x->track].total_ns += duration;
	if (tree->calls++ == ZONE_TREE_CALLS_MAX)
		return -E2BIG;
	return put_sample(tree, &tree->nodes.at[node], position, duration);
}

static int add_tracks(struct zone_tree *tree)
{
	size_t i;

	if (VEC_RESERVE(&tree->nodes, tree->range->tracks.count) < 0)
		return -ENOMEM;
	for (i = 0; i < tree->range->tracks.count; i++)
		tree->nodes.at[tree->nodes.count++] = (struct zone_node){
			.parent = ZONE_NODE_NONE,
			.track = (uint32_t)i,
			.first_child = ZONE_NODE_NONE,
			.last_child = ZONE_NODE_NONE,
			.next_sibling = ZONE_NODE_NONE,
			.cursor = ZONE_NODE_NONE,
			.gpu = tree->range->tracks.at[i].kind == TRACK_GPU_QUEUE,
		};
	return 0;
}

int zone_tree_begin(const struct range *range, unsigned flags, struct zone_tree *ret_tree)
{
	struct zone_tree *tree = ret_tree;
	int r;

	memset(tree, 0, sizeof(*tree));
	tree->range = range;
	r = counted_init(&tree->counted, range, flags);
	if (r == 0)
		r = find_canonical(tree);
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

int zone_tree_read(struct history *h, const struct range *range, const bool *skip, unsigned flags,
		   struct zone_tree *ret_tree)
{
	struct reading x = {.tree = ret_tree, .skip = skip};
	const struct range_visitor visitor = {.userdata = &x,
					      .no_texts = true,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end,
					      .gap = on_gap,
					      .gpu = on_gpu};
	int r = zone_tree_begin(range, flags | COUNTED_EVENTS, ret_tree);

	if (r < 0)
		return r;
	r = range_visit(h, range, &visitor);
	if (r < 0)
		zone_tree_deinit(ret_tree);
	return r;
}

void zone_tree_deinit(struct zone_tree *tree)
{
	struct zone_slab *next;

	for (; tree->slabs; tree->slabs = next) {
		next = tree->slabs->next;
		free(tree->slabs);
	}
	VEC_FREE(&tree->nodes);
	VEC_FREE(&tree->stack);
	free(tree->canonical);
	free(tree->index);
	counted_deinit(&tree->counted);
	memset(tree, 0, sizeof(*tree));
}
