/* SPDX-License-Identifier: MIT */
/*
 * The markers of one session: the tables of its memories merged by content. Ids count from 1 and
 * stay. Drain thread only.
 */
#ifndef FPROF_DAEMON_MARKER_TABLE_H
#define FPROF_DAEMON_MARKER_TABLE_H

#include "batch.h"
#include "shm/reader.h"

#define MARKER_NO_COUNTER UINT32_MAX

#define MARKER_TABLE_BYTES \
	(6u * 1024 * 1024) /* of strings, in one session: less than the smallest history */

struct marker {
	uint8_t kind, level, unit, dynamic;
	bool reported;	  /* an unbalanced use of it was logged */
	uint32_t counter; /* index into the session's counters, or MARKER_NO_COUNTER */
	uint32_t line, colour;
	uint32_t hash;
	char *strings; /* name, category and file, each with its NUL */
	uint32_t name_bytes, category_bytes, file_bytes;
};

struct marker_table {
	VEC(struct marker) markers; /* of id i: at[i - 1] */
	uint32_t *slots;	    /* open addressing: ids, 0 is empty */
	uint32_t slot_count;	    /* a power of two, or 0 */
	size_t string_bytes;	    /* of all, without NULs */
	uint64_t seed;		    /* of the hashes: random, 0 until the first marker */
	uint32_t kinds_seen;	    /* bit per enum fprof_marker_kind */
};

void marker_table_deinit(struct marker_table *t);

/* The id of the marker with this content, made if there is none (*ret_new). -ENOMEM, -ENOSPC:
 * there are MARKER_ID_MAX, or its strings are more than MARKER_TABLE_BYTES allow. */
int marker_table_intern(struct marker_table *t, const struct marker_copy *copy, uint32_t *ret_id,
			bool *ret_new);

/* NULL when there is none of this id. */
static inline struct marker *marker_table_at(struct marker_table *t, uint32_t id)
{
	return id > 0 && id <= t->markers.count ? &t->markers.at[id - 1] : NULL;
}

static inline bool marker_is_wait(const struct marker *m)
{
	return m->kind >= FPROF_MARKER_WAIT_GPU && m->kind <= FPROF_MARKER_WAIT_CAP;
}

static inline bool marker_is_zone(const struct marker *m)
{
	return m->kind <= FPROF_MARKER_WAIT_CAP;
}

/* The row of a marker, with strings of its own. -ENOMEM. */
int marker_table_row(const struct marker_table *t, uint64_t session, uint32_t id,
		     struct marker_row *ret_row);

#endif
