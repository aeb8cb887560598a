/* SPDX-License-Identifier: MIT */
/*
 * A lane's marker map has an entry for every id that a word can hold, so that the hot loop needs no
 * bound; the table is 4 MiB of zero pages of which only those that are used become resident.
 * An id that was not ready when it was first used stays bad: a client publishes a marker before its
 * use.
 */
#include "lane.h"

#include "live.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MAP_BYTES (((size_t)FPROF_ID_MASK + 1) * sizeof(uint32_t))

int lane_new(struct memory *memory, uint32_t index, struct lane **ret_lane)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return -ENOMEM;
	lane->map =
		mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lane->map == MAP_FAILED) {
		free(lane);
		return -ENOMEM;
	}
	lane->index = memory->lane = index;
	lane->memory = memory;
	*ret_lane = lane;
	return 0;
}

void lane_free(struct lane *lane)
{
	size_t i;

	if (!lane)
		return;
	for (i = 0; i < lane->rings.count; i++)
		free(lane->rings.at[i]);
	VEC_FREE(&lane->rings);
	munmap(lane->map, MAP_BYTES);
	memory_free(lane->memory);
	free(lane);
}

/* The memory's word for when it began, unless that is absurd. */
static int64_t start_of(const struct live *s, const struct lane *lane)
{
	int64_t t = live_ticks(s, lane->memory->view.head.start_ticks);

	return MIN(MAX(t, -LANE_START_MAX), MAX(s->now, 0));
}

int lane_update(struct live *s, struct lane *lane)
{
	uint32_t used = memory_slots_used(&lane->memory->view);

	while (lane->rings.count < used) {
		struct ring *ring;

		if (VEC_RESERVE(&lane->rings, 1) < 0)
			return -ENOMEM;
		ring = calloc(1, sizeof(*ring));
		if (!ring)
			return -ENOMEM;
		ring->lane = lane;
		ring->slot = (uint32_t)lane->rings.count;
		ring->base = ring->floor = ring->block = start_of(s, lane);
		ring_reader_init(&ring->reader, &lane->memory->view, ring->slot, 0);
		lane->rings.at[lane->rings.count++] = ring;
	}
	return 0;
}

static int intern(struct live *s, const struct marker_copy *copy, uint32_t *ret_id)
{
	struct marker_row row;
	bool is_new;
	int r;

	r = marker_table_intern(&s->markers, copy, ret_id, &is_new);
	if (r < 0 || !is_new)
		return r;
	r = VEC_RESERVE(&s->batch->markers, 1);
	if (r == 0)
		r = marker_table_row(&s->markers, s->id, *ret_id, &row);
	if (r < 0)
		return r;
	s->batch->markers.at[s->batch->markers.count++] = row;
	return 0;
}

int lane_marker(struct live *s, struct lane *lane, uint32_t id, uint32_t *ret_entry)
{
	struct marker_copy copy;
	uint32_t session_id;
	int r;

	id &= FPROF_ID_MASK;
	*ret_entry = lane->map[id];
	if (*ret_entry != 0)
		return 0;
	*ret_entry = LANE_BAD;
	r = memory_marker(&lane->memory->view, id, &copy);
	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		r = intern(s, &copy, &session_id);
		if (r < 0 && r != -ENOSPC)
			return r;
		*ret_entry = r < 0 ? LANE_FULL
				   : session_id | (copy.kind != FPROF_MARKER_ZONE ? LANE_SLOW : 0);
	}
	lane->map[id] = *ret_entry;
	return 0;
}
