// SPDX-License-Identifier: MIT
/* Two short lists. Nodes stand in the order in which they were made. */
#include "detail_set.h"

#include "shm/atomic.h"

#include <errno.h>
#include <string.h>

static void node_deinit(struct detail_node *node)
{
	size_t i;

	for (i = 0; i < node->count; i++)
		free(node->names[i]);
	free(node->names);
}

void detail_set_deinit(struct detail_set *set)
{
	size_t i;

	for (i = 0; i < set->nodes.count; i++)
		node_deinit(&set->nodes.at[i]);
	for (i = 0; i < set->masks.count; i++)
		free(set->masks.at[i]);
	VEC_FREE(&set->nodes);
	VEC_FREE(&set->masks);
}

static int node_init(struct detail_node *node, const struct detail_path *path, int level)
{
	*node = (struct detail_node){.level = level};
	node->names = calloc(path->count + 1, sizeof(*node->names));
	if (!node->names)
		return -ENOMEM;
	for (; node->count < path->count; node->count++) {
		node->names[node->count] = strdup(path->names[node->count]);
		if (!node->names[node->count]) {
			node_deinit(node);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Is node the one at the first count names of path? */
static bool is_at(const struct detail_node *node, const struct detail_path *path, size_t count)
{
	size_t i;

	if (node->count != count)
		return false;
	for (i = 0; i < count; i++)
		if (strcmp(node->names[i], path->names[i]) != 0)
			return false;
	return true;
}

static struct detail_node *find(const struct detail_set *set, const struct detail_path *path,
				size_t count)
{
	size_t i;

	for (i = 0; i < set->nodes.count; i++)
		if (is_at(&set->nodes.at[i], path, count))
			return &set->nodes.at[i];
	return NULL;
}

static void remove_node(struct detail_set *set, struct detail_node *node)
{
	size_t at = (size_t)(node - set->nodes.at);

	node_deinit(node);
	set->nodes.count--;
	memmove(node, node + 1, (set->nodes.count - at) * sizeof(*node));
}

int detail_set_level(struct detail_set *set, const struct detail_path *path, int level)
{
	struct detail_node *node = find(set, path, path->count), made;
	int r;

	if (level == DETAIL_CLEAR) {
		if (node)
			remove_node(set, node);
		return 0;
	}
	if (node) {
		node->level = level;
		return 0;
	}
	if (set->nodes.count == DETAIL_NODES_MAX)
		return -ENOSPC;
	r = node_init(&made, path, level);
	if (r == 0 && VEC_PUSH(&set->nodes, made) < 0) {
		node_deinit(&made);
		r = -ENOMEM;
	}
	return r;
}

static size_t find_mask(const struct detail_set *set, const char *category)
{
	size_t i = 0;

	while (i < set->masks.count && strcmp(set->masks.at[i], category) != 0)
		i++;
	return i;
}

int detail_set_mask(struct detail_set *set, const char *category, bool masked)
{
	size_t i = find_mask(set, category);

	if (masked == (i < set->masks.count))
		return 0;
	if (!masked) {
		free(set->masks.at[i]);
		set->masks.at[i] = set->masks.at[--set->masks.count];
		return 0;
	}
	if (set->masks.count == DETAIL_MASKS_MAX)
		return -ENOSPC;
	/* Pointers are what it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	if (VEC_RESERVE(&set->masks, 1) < 0)
		return -ENOMEM;
	set->masks.at[set->masks.count] = strdup(category);
	if (!set->masks.at[set->masks.count])
		return -ENOMEM;
	set->masks.count++;
	return 0;
}

bool detail_set_is_masked(const struct detail_set *set, const char *category)
{
	return find_mask(set, category) < set->masks.count;
}

int detail_set_copy(const struct detail_set *from, struct detail_set *ret_copy)
{
	struct detail_path path;
	size_t i;
	int r = 0;

	*ret_copy = (struct detail_set){.allocations = from->allocations,
					.has_sampling = from->has_sampling,
					.sampling_hz = from->sampling_hz};
	for (i = 0; i < from->nodes.count && r == 0; i++) {
		const struct detail_node *node = &from->nodes.at[i];

		path.count = node->count;
		memcpy(path.names, node->names, node->count * sizeof(*path.names));
		r = detail_set_level(ret_copy, &path, node->level);
	}
	for (i = 0; i < from->masks.count && r == 0; i++)
		r = detail_set_mask(ret_copy, from->masks.at[i], true);
	if (r < 0)
		detail_set_deinit(ret_copy);
	return r;
}

void detail_set_read(const struct detail_set *set, const struct detail_path *path,
		     struct detail_reading *ret_reading)
{
	const struct detail_node *node = find(set, path, path->count);
	size_t count = path->count;

	ret_reading->own = node ? node->level : DETAIL_CLEAR;
	while (!node && count > 0)
		node = find(set, path, --count);
	ret_reading->from = node;
	ret_reading->in_force = node ? node->level : FPROF_LEVEL_INNER;
}

static void fill_rule(struct fprof_detail_rule *rule, const struct detail_node *node)
{
	size_t i;

	for (i = 0; i < node->count; i++)
		FPROF_STORE_RELAXED(&rule->names[i],
				    fprof_name_hash(node->names[i], strlen(node->names[i])));
	FPROF_STORE_RELAXED(&rule->count, (uint32_t)node->count);
	FPROF_STORE_RELAXED(&rule->gate, (uint32_t)node->level + 1);
}

void detail_set_publish(const struct detail_set *set, struct fprof_detail *page, uint32_t *ret_gate)
{
	uint32_t rules = 0;
	size_t i;

	*ret_gate = FPROF_LEVELS;
	FPROF_STORE_RELAXED(&page->seq, page->seq + 1);
	FPROF_FENCE_RELEASE();
	for (i = 0; i < set->nodes.count; i++) {
		const struct detail_node *node = &set->nodes.at[i];

		if (node->count == 0)
			*ret_gate = (uint32_t)node->level + 1;
		else
			fill_rule(&page->rules[rules++], node);
	}
	for (i = 0; i < set->masks.count; i++)
		FPROF_STORE_RELAXED(&page->masks[i],
				    fprof_name_hash(set->masks.at[i], strlen(set->masks.at[i])));
	FPROF_STORE_RELAXED(&page->rule_count, rules);
	FPROF_STORE_RELAXED(&page->mask_count, (uint32_t)set->masks.count);
	FPROF_STORE_RELEASE(&page->seq, page->seq + 1);
}
