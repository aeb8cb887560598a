/* SPDX-License-Identifier: MIT */
/*
 * What zones came to over a whole session: calls, time and the longest call of each path, of all
 * that was ever recorded, however little of it is still there.
 *
 * The rows of zone_totals hold what was counted up to a mark: all chunks and GPU spans whose ids
 * are not above it. What is above is counted when it is asked for, and is in the rows before it
 * goes. So nothing is counted while a session is short; of one that is longer the store counts what
 * it stores, where the drain has not (zone_counter.h), and writes rows once in many frames. A chunk
 * says itself what was open at its start, so chunks may be counted in any order. A call is counted
 * where it ends.
 *
 * A root is a thread, fiber or GPU queue by its name: those of one name are one. A queue's spans
 * are all right below it, since their results come one by one.
 *
 * No state; the connection's thread.
 */
#ifndef FPROF_DAEMON_ZONE_TOTALS_H
#define FPROF_DAEMON_ZONE_TOTALS_H

#include "batch.h"
#include "paths.h"
#include "shm/clock_source.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define ZONE_TOTALS_MAX	  65536u /* paths of a session; calls of others are not in them */
#define ZONE_TOTALS_ROOTS 1024u	 /* threads; others are as if they had no name */

/* How far a session is counted; in session_totals. */
#define ZONE_TOTALS_UNKNOWN (-1)      /* chunks: something went that nobody counted */
#define ZONE_TOTALS_ALL	    INT64_MAX /* chunks, spans: rows hold all there is, as in a capture */
struct zone_totals_mark {
	int64_t chunks, spans; /* ids */
	uint64_t uncounted;    /* calls of paths that are too many, lead words of bad chunks */
};

struct zone_total {
	uint32_t parent;      /* PATH_NONE: a root */
	uint32_t marker;      /* of a root 0 */
	enum track_kind kind; /* its root's */
	char *name;	      /* of a root; NULL: it has none */
	uint64_t calls;
	uint64_t total_ns, max_ns; /* self and nested zones of the same name alike */
	int64_t max_begin_ns;
	uint64_t max_frame; /* of the main stream, in which the longest call began; 0: not known */
	bool changed;	    /* it is not what its row says */
};

struct zone_totals_track {
	uint32_t track;
	enum track_kind kind;
	char *name;
	uint32_t root;	/* 0: not asked yet */
	uint32_t ended; /* 1: since the rows were written, 2: before that */
};

struct zone_totals {
	VEC(struct zone_total) nodes; /* parents first; 0 stands for all that has no place */
	struct zone_totals_mark mark;
	/* Inside. */
	struct paths paths;
	VEC(struct zone_sum) sums; /* by node: what was counted since its row was read */
	VEC(uint32_t) counted;	   /* nodes of the rows of a chunk */
	VEC(uint32_t) roots;
	VEC(struct zone_totals_track) tracks; /* by track */
	struct fprof_clock_rate rate;
};

/*
 * All there is of a session in the database called schema (main or one that is attached), rows and
 * what is above the mark: within a transaction. -ENODATA: not known; -ENOENT: no such session;
 * -EBADMSG: rows that make no sense; -errno.
 */
int zone_totals_read(sqlite3 *db, const char *schema, uint64_t session,
		     struct zone_totals *ret_totals);
void zone_totals_deinit(struct zone_totals *totals);

/*
 * For who writes: the rows in main as far as mark, and what is above it, of chunks those that end
 * at from or later. Then it is told of each chunk and span that is stored, and of the tracks that
 * they are on, until zone_totals_write: the rows are then as far as totals->mark. All within
 * transactions; after one that failed it is opened anew.
 */
int zone_totals_open(sqlite3 *db, uint64_t session, const struct zone_totals_mark *mark,
		     int64_t from, struct zone_totals *ret_totals);
int zone_totals_track(struct zone_totals *totals, const struct track_row *row);
struct zone_totals_chunk {
	int64_t id, t0;
	uint32_t track;
	uint64_t events;
	const void *raw; /* NULL: it is damaged */
	size_t bytes;
	const struct zone_count_row *counts; /* what it came to; NULL: that is to be counted */
	size_t count;
};
int zone_totals_chunk(struct zone_totals *totals, const struct zone_totals_chunk *chunk);
struct zone_totals_span {
	int64_t id, begin_ns, end_ns;
	uint32_t track, marker;
	uint64_t frame;
};
int zone_totals_span(struct zone_totals *totals, const struct zone_totals_span *span);
int zone_totals_write(sqlite3 *db, uint64_t session, struct zone_totals *totals);
/* The rows of a session go: it begins anew. */
int zone_totals_clear(sqlite3 *db, uint64_t session);

#endif
