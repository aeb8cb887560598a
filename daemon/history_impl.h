/* SPDX-License-Identifier: MIT */
/* The inside of history readers, shared by history*.c only. */
#ifndef FPROF_DAEMON_HISTORY_IMPL_H
#define FPROF_DAEMON_HISTORY_IMPL_H

#include "history.h"
#include "shm/clock_source.h"
#include "sql.h"

enum history_statement {
	HISTORY_SESSIONS,
	HISTORY_SESSION,
	HISTORY_CURRENT,
	HISTORY_INFOS,
	HISTORY_EVICTED,
	HISTORY_STREAM,
	HISTORY_STREAMS,
	HISTORY_TRACKS,
	HISTORY_TRACK,
	HISTORY_FIRST,
	HISTORY_LAST,
	HISTORY_FRAMES,
	HISTORY_GPUS,
	HISTORY_LATE,
	HISTORY_SLOWEST,
	HISTORY_CLOCK,
	HISTORY_NEXT_TRACK,
	HISTORY_NEXT_LANE,
	HISTORY_CHUNKS,
	HISTORY_LAST_CHUNK,
	HISTORY_COUNTERS,
	HISTORY_COUNTERS_TO_COME,
	HISTORY_SPANS,
	HISTORY_GAPS,
	HISTORY_MARKER,
	HISTORY_NEWEST,
	HISTORY_SINCE,
	HISTORY_LOST,
	HISTORY_MARKING,
	HISTORY_LANE_CHUNKS,
	HISTORY_LANE_LAST,
	HISTORY_LANE_DATA,
	HISTORY_MARKERS,
	HISTORY_QUEUE_SPANS,
	HISTORY_STATEMENTS
};

struct history_clock {
	struct fprof_clock_rate rate;
	uint64_t base;
};

/* What follows the last frame of a stream. */
struct history_tail {
	struct history_frame frame;
	uint64_t number; /* that it would have */
	bool cut;	 /* it began earlier */
};

struct history {
	struct store *store;
	char *file;  /* a capture's, instead of the store's */
	sqlite3 *db; /* NULL: to be opened */
	uint64_t generation;
	sqlite3_stmt *statements[HISTORY_STATEMENTS]; /* NULL: not asked yet */
};

/* Opens the database anew where it moved and begins a read transaction. Each begin that returned 0
 * is followed by one history_end with the result so far, which it returns in the terms of
 * history.h. */
int history_begin(struct history *h);
int history_end(struct history *h, int r);

/* The statement with its first parameters bound to integers, prepared when it is first asked. NULL:
 * it cannot be; sqlite3's functions take that, and stepping it fails. */
sqlite3_stmt *history_ask(struct history *h, enum history_statement which, const int64_t *values,
			  size_t count);
/* Runs it for one integer: 1, 0 (no row, or NULL), -errno. */
int history_ask_int(struct history *h, enum history_statement which, const int64_t *values,
		    size_t count, int64_t *ret_value);

/* Within a transaction: the stream called name (NULL: main), and up to where the session's events
 * were evicted (INT64_MIN: not at all). 0, -ENOENT, -errno. */
int history_find_stream(struct history *h, uint64_t session, const char *name, uint32_t *ret_stream,
			int64_t *ret_evicted_before);
/* Within a transaction: frames from..to with their GPU rows and flags. */
int history_read_frames(struct history *h, uint64_t session, uint32_t stream, uint64_t from,
			uint64_t to, int64_t evicted_before, struct history_frames *ret_frames);

/* Within a transaction: 0, -ENOENT (no such session), -errno. */
int history_read_clock(struct history *h, uint64_t session, struct history_clock *ret_clock);
/* Ticks since the session's start as ns. */
int64_t history_ns(const struct history_clock *clock, int64_t ticks);
/* Within a transaction: 0, -ENOENT (no such session or stream), -errno. */
int history_read_tail(struct history *h, uint64_t session, const char *stream,
		      const struct history_clock *clock, struct history_tail *ret_tail);

#endif
