/* SPDX-License-Identifier: MIT */
/*
 * The .vprof recording format of the Source engine's VProf, read from bytes and written to a file.
 * Nothing here knows of sessions. A reader or writer is used by one thread at a time.
 *
 * A recording is a tree that grows, and for each tick (a frame) how often and how long each of its
 * nodes ran in it. What nodes are counted under are budget groups. See vprof.c for the bytes.
 */
#ifndef FPROF_DAEMON_VPROF_H
#define FPROF_DAEMON_VPROF_H

#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VPROF_NONE	   UINT32_MAX
#define VPROF_UNIT_NS	   4000
#define VPROF_CALLS_MAX	   65535u
#define VPROF_NODES_MAX	   (1u << 18)
#define VPROF_ROWS_MAX	   (1u << 20) /* nodes, and nodes named again */
#define VPROF_GROUPS_MAX   (1u << 16)
#define VPROF_DEPTH_MAX	   1024
#define VPROF_NAME_MAX	   3072 /* bytes, in UTF-8 */
#define VPROF_GROUPS_KNOWN 31
#define VPROF_GROUP_OTHER  4 /* flags of a group that no side claims */
#define VPROF_SHORT_LONG   4 /* bytes of a long time as the format has them */
#define VPROF_LONG_LONG	   8 /* as some builds wrote them */

/* The groups that every reader starts with. */
extern const struct vprof_known_group {
	const char *name;
	uint32_t flags;
} vprof_known_groups[VPROF_GROUPS_KNOWN];

struct vprof_group {
	char *name;
	uint32_t flags;	 /* of all that were given for it */
	uint64_t frames; /* how many frames there were before it came */
};
struct vprof_node {
	uint32_t parent; /* VPROF_NONE: the root, node 0 */
	uint32_t depth;	 /* the root: 0 */
	uint32_t group;
	int32_t id;
	char *name; /* UTF-8; "" for the root */
};
/* A node as it was named: a new one, or one named again with another id or group. */
struct vprof_row {
	uint32_t node, group;
	int32_t id;
};

/* A whole frame. What points into the reader is valid until the next one is read. */
struct vprof_frame {
	int32_t tick;
	size_t groups, rows, nodes; /* that there are by now: those before came with earlier frames
				     */
	/* Of each node: parents before children, the newest of siblings first; as in the file, but
	 * long times always of VPROF_SHORT_LONG bytes. */
	const uint8_t *timings;
	size_t bytes;
	uint64_t root_units; /* the root's time */
};

/* Where and why reading ended early. */
struct vprof_fault {
	uint64_t offset; /* of the byte that cannot be */
	bool truncated;	 /* the file ends within a frame */
	char text[160];	 /* a sentence */
};

struct vprof_reader {
	const uint8_t *data;
	size_t bytes, at;
	unsigned long_bytes; /* VPROF_SHORT_LONG or VPROF_LONG_LONG */
	VEC(struct vprof_group) groups;
	VEC(struct vprof_node) nodes;
	VEC(struct vprof_row) rows;
	struct vprof_index {
		uint32_t *slots; /* node + 1, 0: free */
		size_t count, used;
	} by_id, by_name, by_group;
	uint64_t seed;
	uint64_t frames;     /* read so far */
	uint64_t long_times; /* times that took the long form */
	uint64_t recoded;    /* names that were no UTF-8: read as Windows-1252 */
	struct vprof_fault fault;
	bool faulty;
	uint8_t *narrowed; /* timings whose long times were wider */
	size_t narrowed_capacity;
};

/*
 * data must outlive the reader. 0; -ENOMEM; -EBADMSG: not a recording that can be read, fault says
 * why. deinit in any case.
 */
int vprof_reader_init(struct vprof_reader *r, const uint8_t *data, size_t bytes,
		      unsigned long_bytes);
void vprof_reader_deinit(struct vprof_reader *r);
/* 1: *ret_frame; 0: at the end, or at what cannot be read (faulty, fault); -ENOMEM. */
int vprof_reader_next(struct vprof_reader *r, struct vprof_frame *ret_frame);

/* What there is to know of a recording before it is read. */
struct vprof_survey {
	unsigned long_bytes; /* how wide its long times are */
	bool told; /* it is well-formed at this width only; else the format's is taken, unless the
		      other one reads more frames */
	bool ticks_rise; /* from 1 or more on: they can number the frames */
	uint64_t frames, long_times;
};
/* Is it well-formed at this width, to its end? 1, 0, -ENOMEM. */
int vprof_is_whole(const uint8_t *data, size_t bytes, unsigned long_bytes);
int vprof_survey(const uint8_t *data, size_t bytes, struct vprof_survey *ret_survey);

/* The end of the timings of so many nodes at p, NULL where they pass end. long_bytes: of long
 * times.
 */
const uint8_t *vprof_pass_timings(const uint8_t *p, const uint8_t *end, size_t nodes,
				  unsigned long_bytes, uint64_t *ret_long_times);
/* One node's calls and time from timings that a reader gave; advances *at. */
static inline uint32_t vprof_take_calls(const uint8_t **at)
{
	uint32_t calls = *(*at)++;

	if (calls == 255) {
		calls = (uint32_t)((*at)[0] | (*at)[1] << 8);
		*at += 2;
	}
	return calls;
}

static inline uint32_t vprof_take_units(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint32_t units = (uint32_t)(p[0] | p[1] << 8);

	*at += 2;
	if (units == 0xffff) {
		units = (uint32_t)p[2] | (uint32_t)p[3] << 8 | (uint32_t)p[4] << 16 |
			(uint32_t)p[5] << 24;
		*at += 4;
	}
	return units;
}

/* Where the writers below put their bytes. */
struct vprof_out {
	void (*put)(void *userdata, const void *bytes, size_t count);
	void *userdata;
};
/*
 * Writing, in the order of the format: header, then for each frame begin, groups, nodes, timings
 * (one for each node that there is by then), end.
 */
void vprof_write_header(const struct vprof_out *out, int32_t root_id);
void vprof_write_frame(const struct vprof_out *out, int32_t tick);
void vprof_write_group(const struct vprof_out *out, const char *name, uint32_t flags);
void vprof_write_node(const struct vprof_out *out, int32_t parent_id, const char *name,
		      uint32_t group, int32_t id);
void vprof_write_timings(const struct vprof_out *out);
void vprof_write_timing(const struct vprof_out *out, uint32_t calls, uint32_t units);
void vprof_write_frame_end(const struct vprof_out *out);

#endif
