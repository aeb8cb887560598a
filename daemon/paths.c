/* SPDX-License-Identifier: MIT */
/* The table is open-addressed, at most half full, and has all nodes but the roots. */
#include "paths.h"

#include <errno.h>

#define SLOTS_FIRST 256u
#define SLOT_FREE   UINT64_MAX

void paths_deinit(struct paths *paths)
{
	VEC_FREE(&paths->all);
	free(paths->slots);
	*paths = (struct paths){0};
}

static void put(struct paths *paths, uint32_t node)
{
	uint64_t key = paths_key(paths->all.at[node].parent, paths->all.at[node].marker);
	size_t at = paths_slot(paths, key);

	while (paths->slots[at].key != SLOT_FREE)
		at = (at + 1) & paths->mask;
	paths->slots[at] = (struct path_slot){key, node};
	paths->used++;
}

/* Room for one more. */
static int reserve(struct paths *paths)
{
	size_t i, size = paths->slots ? 2 * (paths->mask + 1) : SLOTS_FIRST;
	struct path_slot *slots;

	if (paths->slots && 2 * (paths->used + 1) <= paths->mask + 1)
		return 0;
	slots = malloc(size * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		slots[i].key = SLOT_FREE;
	free(paths->slots);
	paths->slots = slots;
	paths->mask = size - 1;
	paths->used = 0;
	for (i = 0; i < paths->all.count; i++)
		if (paths->all.at[i].parent != PATH_NONE)
			put(paths, (uint32_t)i);
	return 0;
}

int paths_add_root(struct paths *paths, uint32_t *ret_node)
{
	int r = reserve(paths);

	*ret_node = (uint32_t)paths->all.count;
	return r < 0 ? r : VEC_PUSH(&paths->all, ((struct path){PATH_NONE, PATH_NONE}));
}

int paths_add(struct paths *paths, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	int r = reserve(paths);

	*ret_node = (uint32_t)paths->all.count;
	if (r == 0)
		r = VEC_PUSH(&paths->all, ((struct path){parent, marker}));
	if (r == 0)
		put(paths, *ret_node);
	return r;
}

bool paths_look_up(const struct paths *paths, uint64_t key, uint32_t *ret_node)
{
	size_t at = paths_slot(paths, key);

	while (paths->slots[at].key != SLOT_FREE && paths->slots[at].key != key)
		at = (at + 1) & paths->mask;
	*ret_node = paths->slots[at].node;
	return paths->slots[at].key == key;
}
