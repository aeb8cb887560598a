/* SPDX-License-Identifier: MIT */
/*
 * Sessions of sums: recordings of tools that keep, for each frame, only how often and how long each
 * node of a tree ran (VProf). There are frames as in any session, but no events: a timeline and
 * calls cannot be made of them, tables can.
 *
 * Stored (schema.sql: aggregate_*): the groups, the tree as it grew, and the values of frames,
 * packed as chunks are (chunk_pack). Raw, all little-endian, frame by frame:
 *   u32 frame, i32 tick, u32 nodes, then for each node that there was by then
 *   u8 calls (255: a u16 with the count follows), u16 time in units of 4 us (0xFFFF: a u32 follows)
 * in the order of the tree: parents before children, the newest of siblings first.
 */
#ifndef FPROF_DAEMON_AGGREGATE_H
#define FPROF_DAEMON_AGGREGATE_H

#include "history.h"
#include "vprof.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGGREGATE_NONE	       VPROF_NONE
#define AGGREGATE_DEPTH_MAX    VPROF_DEPTH_MAX
#define AGGREGATE_TEXT_MAX     4096	      /* bytes of a name */
#define AGGREGATE_BLOCK_BYTES  (512u * 1024u) /* raw, of frames packed together */
#define AGGREGATE_FRAME_HEADER 12

/* Why it has no timeline and no calls, for whoever has to refuse (409): a sentence. */
extern const char aggregate_reason[];

/* Does the session hold sums only? 1, 0, -EIO, -ENOMEM. */
int aggregate_is(struct history *h, uint64_t session);

struct aggregate_group {
	char *name;
	uint32_t flags; /* the tool's */
	uint64_t frame; /* that it came with; 0: the tool's own */
};
struct aggregate_node {
	uint32_t parent; /* AGGREGATE_NONE: the root, which is node 0 */
	uint32_t depth;	 /* the root: 0 */
	uint32_t first_child, next_sibling;
	uint32_t group;
	int32_t tool_id;
	char *name; /* "" for the root */
};
/* A row of aggregate_nodes: node has this group and id from frame on. */
struct aggregate_row {
	uint64_t frame;
	uint32_t node, group;
	int32_t tool_id;
};

/*
 * A session's tree. At first only the root is linked; a visit links what came up to each frame. One
 * thread at a time, one visit after another.
 */
struct aggregate {
	uint64_t session;
	VEC(struct aggregate_group) groups;
	VEC(struct aggregate_node) nodes; /* all, the root first */
	VEC(struct aggregate_row) rows;
	size_t applied;	 /* rows */
	uint32_t *order; /* of the nodes linked: parents first, the newest sibling first */
	size_t linked;
};
/* 0; -ENOENT: the session is none of sums, or there is none; -EBADMSG: damaged; -EIO. */
int aggregate_open(struct history *h, uint64_t session, struct aggregate **ret_aggregate);
void aggregate_free(struct aggregate *a); /* NULL is fine */

struct aggregate_value {
	uint32_t calls;
	int64_t total_ns; /* with its children */
	int64_t self_ns;  /* without; below 0 where the tool measured the children longer */
};
struct aggregate_frame {
	uint64_t frame;
	int32_t tick;
	size_t nodes;			      /* linked by then */
	const struct aggregate_value *values; /* by node, not by order */
	size_t rows;			      /* of a->rows that came by then */
	const uint8_t *timings;		      /* as stored, behind the frame's header */
	size_t bytes;
};
/* Frames from..to, in order. A negative return of the function ends the visit and is its result. */
typedef int (*aggregate_frame_fn)(void *userdata, const struct aggregate *a,
				  const struct aggregate_frame *frame);
int aggregate_visit(struct history *h, struct aggregate *a, uint64_t from, uint64_t to,
		    aggregate_frame_fn fn, void *userdata);

/* A node over some frames. */
struct aggregate_sum {
	uint64_t calls;
	int64_t total_ns, self_ns;
	uint64_t frames;		    /* in which it has calls or time */
	int64_t min_frame_ns, max_frame_ns; /* totals, of those frames */
};
struct aggregate_sums {
	struct aggregate_sum *by_node; /* of a->nodes; a->order says which there are */
	uint64_t first, last, frames;  /* that were there; frames 0: none */
};
/* Adds up frames from..to: 0, -EBADMSG, -EIO, -ENOMEM. free(by_node). */
int aggregate_add_up(struct history *h, struct aggregate *a, uint64_t from, uint64_t to,
		     struct aggregate_sums *ret_sums);
/* The names from below the root down to the node (the root: none), outermost first, into path
 * (AGGREGATE_DEPTH_MAX of them). Returns how many. */
size_t aggregate_path(const struct aggregate *a, uint32_t node, const char **path);
/* The name of the node's group. */
const char *aggregate_group_name(const struct aggregate *a, uint32_t node);

#endif
