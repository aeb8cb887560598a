/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a thread follow one another, each beginning with the state that the one before ended
 * with; so the last interval of a chunk is left to the next one, or reaches to the end. A chunk is
 * missing where the store could not take it: then the next one still says since when its first
 * state had lasted, and what lies between is unknown.
 *
 * A state that goes on beyond the last chunk goes on as far as the kernel was listened to: rows of
 * thread 0 say when that was. Files from before there were such rows have none at all, and are
 * believed.
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

#define HEARD                                                             \
	"SELECT t0, t1 FROM sched_chunks WHERE session = ?1 AND tid = 0 " \
	"AND t1 > ?2 AND t0 < ?3 ORDER BY t1"
#define HEARD_EVER "SELECT 1 FROM sched_chunks WHERE session = ?1 AND tid = 0 LIMIT 1"

struct stretch {
	int64_t t0, t1;
};

struct sched_reading {
	int64_t t1;
	sched_intervals_vec *out;
	VEC(struct stretch) heard; /* when the kernel was listened to, in order */
	size_t hearing;		   /* index of the one at known_to, or after it */
	int64_t known_to;	   /* intervals reach up to here */
	bool past;
};

/* Up to t1 it was as i says; what is unknown twice over is so once. */
static int push_part(struct sched_reading *d, const struct sched_interval *i, int64_t t1)
{
	struct sched_interval part = *i;
	struct sched_interval *last = d->out->count > 0 ? &d->out->at[d->out->count - 1] : NULL;

	if (t1 <= d->known_to)
		return 0;
	part.t0 = d->known_to;
	part.t1 = d->known_to = t1;
	if (part.state != SCHED_STATE_UNKNOWN || !last || last->state != SCHED_STATE_UNKNOWN)
		return VEC_PUSH(d->out, part);
	last->t1 = t1;
	return 0;
}

/* What of i nobody listened to is unknown. */
static int push_heard(struct sched_reading *d, struct sched_interval i)
{
	static const struct sched_interval unknown;
	int r = 0;

	for (; r == 0 && d->hearing < d->heard.count; d->hearing++) {
		const struct stretch *heard = &d->heard.at[d->hearing];

		if (heard->t0 > d->known_to) {
			r = push_part(d, &unknown, MIN(heard->t0, i.t1));
			i.who = (struct sched_who){0}; /* whoever it was woke it before */
			i.wake_flags = 0;
		}
		if (r == 0)
			r = push_part(d, &i, MIN(heard->t1, i.t1));
		if (heard->t1 >= i.t1)
			return r;
	}
	return r < 0 ? r : push_part(d, &unknown, i.t1);
}

static int push(struct sched_reading *d, struct sched_interval i)
{
	struct sched_interval hole = {.t0 = d->known_to, .t1 = i.t0};

	if (i.t0 >= d->t1)
		return 0;
	if (push_part(d, &hole, hole.t1) < 0)
		return -ENOMEM;
	i.t1 = MIN(i.t1, d->t1);
	return i.t1 > d->known_to ? push_heard(d, i) : 0;
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

/* Stretches that touch are one. Files without any are of a time when there were none: all was
 * heard. */
static int read_heard(struct history *h, struct sched_reading *d, const int64_t *key)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	_cleanup_stmt_ sqlite3_stmt *ever = NULL;
	const int64_t range[] = {key[0], d->known_to, d->t1};
	const struct stretch always = {INT64_MIN, INT64_MAX};
	int r = sql_ask(h->db, HEARD, range, 3, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct stretch s = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
		struct stretch *last = d->heard.count ? &d->heard.at[d->heard.count - 1] : NULL;

		r = 0;
		if (last && s.t0 <= last->t1)
			last->t1 = MAX(last->t1, s.t1);
		else
			r = VEC_PUSH(&d->heard, s);
	}
	if (r < 0 || d->heard.count > 0)
		return r;
	r = sql_ask(h->db, HEARD_EVER, key, 1, &ever);
	if (r == 0)
		r = sql_step(ever);
	return r == 0 ? VEC_PUSH(&d->heard, always) : MIN(r, 0);
}

static int read_thread(struct history *h, const int64_t *key, struct sched_reading *d)
{
	int r = read_heard(h, d, key);

	return r < 0 || d->heard.count == 0 ? r : read_chunks(h, key, d);
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
	r = history_end(h, read_thread(h, key, &d));
	VEC_FREE(&d.heard);
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
