/* SPDX-License-Identifier: MIT */
/*
 * The zones of a range as a tree: a node for each path of names below a track, with the samples of
 * its calls. Tables, diffs and statistics are made from it. Names decide: markers of the same name
 * are one. Times are counted (counted.h), clipped to the range.
 *
 * One thread at a time; the range must outlive it.
 */
#ifndef FPROF_DAEMON_ZONE_TREE_H
#define FPROF_DAEMON_ZONE_TREE_H

#include "counted.h"
#include "paths.h"
#include "range.h"
#include "slab.h"
#include "util.h"
#include "zone_kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ZONE_NODE_NONE	    PATH_NONE
#define ZONE_TREE_NODES_MAX (1u << 18)
#define ZONE_TREE_CALLS_MAX (1u << 24)

/* Samples, as zone_tree.c says. */
#define ZONE_ENTRY_WIDE UINT32_MAX
struct zone_entry {
	uint32_t after, duration;
};
struct zone_block {
	struct zone_block *next;
	uint32_t count;
	struct zone_entry entries[];
};

struct zone_node {
	uint32_t parent;				/* NONE: it stands for a track */
	uint32_t marker;				/* the first one of its name */
	uint32_t track;					/* index into range->tracks */
	uint32_t depth;					/* below the track: 0 */
	uint32_t first_child, last_child, next_sibling; /* in the order in which they came */
	bool gpu;
	bool nested; /* within another of its name: its time is counted there */
	uint64_t calls;
	int64_t total_ns; /* of a track: of the outermost zones */
	int64_t self_ns;
	/* Allocations in it; own: not in zones inside. */
	int64_t alloc_bytes, alloc_count, own_alloc_bytes, own_alloc_count;
	/* What the scheduler did meanwhile; own: not in zones inside. */
	bool scheduled; /* it is known */
	struct zone_kernel_ns kernel, own_kernel;
	struct zone_block *first, *last; /* of its samples */
	/* Of sums, which have no samples: frames with calls or time, and totals of those. */
	uint64_t sum_frames;
	int64_t min_frame_ns, max_frame_ns;
};

struct zone_tree {
	const struct range *range;
	struct counted counted;
	VEC(struct zone_node)
	nodes; /* nodes[i] is track i, for all tracks; then zones, parents first */
	uint64_t calls;
	uint64_t gaps, lost_events; /* of the tracks that were read */
	bool sums;		    /* nodes have no samples (zone_sums.h) */
	bool allocations;	    /* some were told of */
	struct zone_kernel kernel;  /* what was read of it, until all was summed up */
	/* Inside; what a visit touches again and again is kept together, by node. */
	struct paths paths;
	VEC(struct zone_sink) sinks;
	uint32_t *canonical; /* by marker: the first of its name */
	struct slab *slabs;  /* of samples */
	VEC(struct zone_frame) stack;
	VEC(struct zone_kernel_ns) kernel_stack; /* of a track that the scheduler tells of */
};
struct zone_frame {
	uint32_t node;
	bool out;
	int64_t begin; /* counted ns */
};
/* Where the next sample goes. */
struct zone_sink {
	struct zone_entry *at;
	uint32_t room; /* for so many entries */
	uint32_t calls;
	int64_t begin; /* of the last sample */
	int64_t total_ns;
};

/* Which tracks: skip[i] is true for those of range->tracks that are not wanted; NULL: all are.
 * flags: enum counted_flags. 0; -E2BIG: more calls or paths than can be held; -errno of
 * range_visit.
 */
int zone_tree_read(struct history *h, const struct range *range, const bool *skip, unsigned flags,
		   struct zone_tree *ret_tree);
void zone_tree_deinit(struct zone_tree *tree);
/* For what makes one by hand: an empty tree with a node for each track, and a node below another,
 * which is not there yet. */
int zone_tree_begin(const struct range *range, unsigned flags, struct zone_tree *ret_tree);
int zone_tree_add(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node);
/* The node below another that all zones of the marker's name are; made if it is not there. */
int zone_tree_enter(struct zone_tree *tree, uint32_t parent, uint32_t marker, uint32_t *ret_node);

/* The marker that stands for all of its name. */
uint32_t zone_tree_canonical(const struct zone_tree *tree, uint32_t marker);

/* The calls of a node by time. Of GPU queues begin is that of the frame, not of the zone, since
 * they belong to frames by identity. */
struct zone_samples {
	const struct zone_block *block;
	size_t at;
	int64_t begin;
};
struct zone_samples zone_samples(const struct zone_node *node);
static inline bool zone_samples_next(struct zone_samples *s, int64_t *ret_begin,
				     int64_t *ret_duration)
{
	const struct zone_entry *e;

	while (s->block && s->at == s->block->count) {
		s->block = s->block->next;
		s->at = 0;
	}
	if (!s->block)
		return false;
	e = &s->block->entries[s->at];
	if (e->duration == ZONE_ENTRY_WIDE) {
		memcpy(&s->begin, &e[1], sizeof(s->begin));
		memcpy(ret_duration, &e[2], sizeof(*ret_duration));
		s->at += 3;
	} else {
		s->begin += e->after;
		*ret_duration = e->duration;
		s->at++;
	}
	*ret_begin = s->begin;
	return true;
}

#endif
