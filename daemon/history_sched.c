/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a thread follow one another, each beginning with the state that the one before ended
 * with; so the last interval of a chunk is left to the next one, or reaches to the end. A chunk is
 * missing where the store could not take it: then the next one still says since when its first
 * state had lasted, and what lies between is unknown.
 */
#include "history_sched.h"

#include "chunk.h"
#include "history_impl.h"
#include "util.h"

#include <errno.h>

/* Chunks that end in the range or after it, and the last one before it. */
#define CHUNKS                                                                                \
	"SELECT t0, data FROM sched_chunks WHERE session = ?1 AND tid = ?2 AND t1 >= ifnull(" \
	"(SELECT t1 FROM sched_chunks WHERE session = ?1 AND tid = ?2 AND t1 < ?3 "           \
	"ORDER BY t1 DESC LIMIT 1), ?3) ORDER BY t1, id"

struct sched_reading {
	int64_t t1;
	sched_intervals_vec *out;
	int64_t known_to; /* intervals reach up to here */
	bool past;
};

static int push(struct sched_reading *d, struct sched_interval i)
{
	struct sched_interval hole = {.t0 = d->known_to, .t1 = i.t0};

	if (i.t0 >= d->t1)
		return 0;
	if (hole.t1 > hole.t0 && VEC_PUSH(d->out, hole) < 0)
		return -ENOMEM;
	i.t0 = MAX(i.t0, d->known_to);
	i.t1 = MIN(i.t1, d->t1);
	if (i.t1 <= i.t0)
		return 0;
	d->known_to = i.t1;
	return VEC_PUSH(d->out, i);
}

static int take_chunk(struct sched_reading *d, const void *data, size_t bytes, int64_t t0,
		      struct sched_interval *open)
{
	struct sched_reader reader;
	int r = sched_reader_init(&reader, data, bytes, t0);

	*open = (struct sched_interval){.t0 = INT64_MAX};
	while (r == 0 && (r = sched_reader_next(&reader, open)) == 1)
		if (open->t1 != INT64_MAX && (r = push(d, *open)) < 0)
			return r;
		else
			r = 0;
	return r;
}

static int take_row(struct sched_reading *d, sqlite3_stmt *stmt, struct sched_interval *open)
{
	int64_t t0 = sqlite3_column_int64(stmt, 0);
	_cleanup_free_ uint8_t *raw = NULL;
	size_t bytes;
	int r;

	d->past = t0 >= d->t1;
	r = chunk_unpack(sqlite3_column_blob(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1), &raw,
			 &bytes);
	return r < 0 ? r : take_chunk(d, raw, bytes, t0, open);
}

static int read_chunks(struct history *h, const int64_t *key, struct sched_reading *d)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sched_interval open = {.t0 = INT64_MAX};
	int r = sql_ask(h->db, CHUNKS, key, 3, &stmt);

	while (r == 0 && !d->past && (r = sql_step(stmt)) == 1)
		r = take_row(d, stmt, &open);
	if (r >= 0 && open.t0 < d->t1 && !d->past)
		r = push(d, open);
	return MIN(r, 0);
}

int history_sched(struct history *h, uint64_t session, int32_t tid, int64_t t0, int64_t t1,
		  sched_intervals_vec *ret_intervals)
{
	int64_t key[] = {(int64_t)session, tid, t0};
	sched_intervals_vec intervals = {0};
	struct sched_reading d = {.t1 = t1, .out = &intervals, .known_to = t0};
	struct sched_interval rest = {.t1 = t1};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_chunks(h, key, &d));
	rest.t0 = d.known_to;
	if (r == 0 && intervals.count > 0 && rest.t0 < t1)
		r = VEC_PUSH(&intervals, rest);
	if (r < 0) {
		VEC_FREE(&intervals);
		return r;
	}
	*ret_intervals = intervals;
	return 0;
}
