/* SPDX-License-Identifier: MIT */
/* The table is open-addressed, at most half full, and has all nodes but the roots. */
#include "paths.h"

#include <errno.h>

#define INDEX_FIRST 1024u

void paths_deinit(struct paths *paths)
{
	VEC_FREE(&paths->steps);
	VEC_FREE(&paths->places);
	free(paths->index);
	*paths = (struct paths){0};
}

static size_t hash_child(const struct paths *paths, uint32_t parent, uint32_t marker)
{
	uint64_t key = ((uint64_t)parent << 32 | marker) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(key >> 32) & (paths->index_size - 1);
}

static void index_put(struct paths *paths, uint32_t node)
{
	size_t at = hash_child(paths, paths->places.at[node].parent, paths->steps.at[node].marker);

	while (paths->index[at] != PATH_NONE)
		at = (at + 1) & (paths->index_size - 1);
	paths->index[at] = node;
	paths->indexed++;
}

static int index_reserve(struct paths *paths)
{
	size_t size = paths->index_size ? 2 * paths->index_size : INDEX_FIRST, i;
	uint32_t *index;

	if (2 * (paths->indexed + 1) <= paths->index_size)
		return 0;
	index = malloc(size * sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		index[i] = PATH_NONE;
	free(paths->index);
	paths->index = index;
	paths->index_size = size;
	paths->indexed = 0;
	for (i = 0; i < paths->places.count; i++)
		if (paths->places.at[i].parent != PATH_NONE)
			index_put(paths, (uint32_t)i);
	return 0;
}

static int append(struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	if (VEC_RESERVE(&paths->steps, 1) < 0 || VEC_RESERVE(&paths->places, 1) < 0)
		return -ENOMEM;
	*ret_node = (uint32_t)paths->steps.count;
	paths->steps.at[paths->steps.count++] =
		(struct path_step){marker, PATH_NONE, PATH_NONE, PATH_NONE};
	paths->places.at[paths->places.count++] = (struct path_place){parent, PATH_NONE, PATH_NONE};
	return 0;
}

int paths_add_root(struct paths *paths, uint32_t *ret_node)
{
	return append(paths, PATH_NONE, PATH_NONE, ret_node);
}

int paths_add(struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	struct path_place *above;
	int r = index_reserve(paths);

	if (r == 0)
		r = append(paths, parent, marker, ret_node);
	if (r < 0)
		return r;
	above = &paths->places.at[parent];
	if (above->last_child == PATH_NONE)
		above->first_child = *ret_node;
	else
		paths->steps.at[above->last_child].next_sibling = *ret_node;
	above->last_child = *ret_node;
	index_put(paths, *ret_node);
	paths_entered(paths, parent, *ret_node);
	return 0;
}

bool paths_look_up(const struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	size_t at = paths->index_size ? hash_child(paths, parent, marker) : 0;

	for (; paths->index_size && paths->index[at] != PATH_NONE;
	     at = (at + 1) & (paths->index_size - 1)) {
		*ret_node = paths->index[at];
		if (paths->steps.at[*ret_node].marker == marker &&
		    paths->places.at[*ret_node].parent == parent)
			return true;
	}
	return false;
}
