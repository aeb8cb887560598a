/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a thread follow one another, each beginning with the state that the one before ended
 * with; so the last interval of a chunk is left to the next one, or reaches to the end. A chunk is
 * missing where the store could not take it: then the next one still says since when its first
 * state had lasted, and what lies between is unknown.
 *
 * A state that goes on beyond the last chunk goes on as far as the kernel was listened to: rows of
 * thread 0 say when that was (one without length: not then, though it was asked). Files from before
 * there were such rows have none at all, and are believed. Where there are some, a time that none
 * covers is unknown, and so is what a damaged chunk would have told: never silent.
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
	"AND t1 > ?2 AND t0 < ?3 AND t1 > t0 ORDER BY t1"
#define HEARD_EVER "SELECT 1 FROM sched_chunks WHERE session = ?1 AND tid = 0 LIMIT 1"

#define ANY "SELECT 1 FROM sched_chunks WHERE session = ?1 AND t1 >= ?2 LIMIT 1"

#define TIDS "SELECT DISTINCT tid FROM sched_chunks WHERE session = ?1 AND tid > 0 AND t0 < ?2"

struct stretch {
	int64_t t0, t1;
};

struct sched_reading {
	int64_t t1;
	int (*take)(void *userdata, const struct sched_interval *interval);
	void *userdata;
	VEC(struct stretch) heard; /* when the kernel was listened to, in order */
	size_t hearing;		   /* index of the one at known_to, or after it */
	int64_t known_to;	   /* intervals reach up to here */
	int64_t unknown_from;	   /* INT64_MAX, or nothing is known from here to known_to */
	bool past;
	bool any; /* of it there is something to tell, if only that it is not known any more */
};

static int give(struct sched_reading *d, const struct sched_interval *i)
{
	const struct sched_interval unknown = {.t0 = d->unknown_from, .t1 = i->t0};
	int r = 0;

	if (unknown.t0 < i->t0)
		r = d->take(d->userdata, &unknown);
	d->unknown_from = INT64_MAX;
	d->any = true;
	return r < 0 ? r : d->take(d->userdata, i);
}

/* Up to t1 it was as i says; what is unknown twice over is so once. */
static int push_part(struct sched_reading *d, const struct sched_interval *i, int64_t t1)
{
	struct sched_interval part;

	if (t1 <= d->known_to)
		return 0;
	if (i->state == SCHED_STATE_UNKNOWN) {
		d->unknown_from = MIN(d->unknown_from, d->known_to);
		d->known_to = t1;
		return 0;
	}
	if (i->t0 == d->known_to && i->t1 == t1) {
		d->known_to = t1;
		return give(d, i);
	}
	part = *i;
	part.t0 = d->known_to;
	part.t1 = d->known_to = t1;
	return give(d, &part);
}

/* What of i nobody listened to is unknown. */
static int push_heard(struct sched_reading *d, const struct sched_interval *i)
{
	static const struct sched_interval unknown;
	struct sched_interval later;
	int64_t end = MIN(i->t1, d->t1);
	int r = 0;

	for (; r == 0 && d->hearing < d->heard.count; d->hearing++) {
		const struct stretch *heard = &d->heard.at[d->hearing];

		if (heard->t0 > d->known_to) {
			r = push_part(d, &unknown, MIN(heard->t0, end));
			later = *i;
			later.who = (struct sched_who){0}; /* whoever it was woke it before */
			later.wake_flags = 0;
			i = &later;
		}
		if (r == 0)
			r = push_part(d, i, MIN(heard->t1, end));
		if (heard->t1 >= end)
			return r;
	}
	return r < 0 ? r : push_part(d, &unknown, end);
}

static int push(struct sched_reading *d, const struct sched_interval *i)
{
	static const struct sched_interval unknown;
	int r;

	if (i->t0 >= d->t1)
		return 0;
	/* from tick 0 on it was unknown until the thread was heard of; else the word was lost */
	d->any |= i->state == SCHED_STATE_UNKNOWN && i->t0 > 0;
	r = push_part(d, &unknown, i->t0);
	return r < 0 || i->t1 <= d->known_to ? r : push_heard(d, i);
}

static int take_chunk(struct sched_reading *d, const void *data, size_t bytes, int64_t t0,
		      struct sched_interval *open)
{
	struct sched_reader reader;
	int r = sched_reader_init(&reader, data, bytes, t0);

	*open = (struct sched_interval){.t0 = INT64_MAX};
	while (r == 0 && (r = sched_reader_next(&reader, open)) == 1)
		if (open->t1 != INT64_MAX && (r = push(d, open)) < 0)
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
	if (r == 0)
		r = take_chunk(d, raw, bytes, t0, open);
	if (r != -EBADMSG)
		return r;
	open->t0 = INT64_MAX; /* damaged: what it told before that stays */
	d->any |= !d->past;
	return 0;
}

static int read_chunks(struct history *h, const int64_t *key, struct sched_reading *d)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sched_interval open = {.t0 = INT64_MAX};
	int r = sql_ask(h->db, CHUNKS, key, 3, &stmt);

	while (r == 0 && !d->past && (r = sql_step(stmt)) == 1)
		r = take_row(d, stmt, &open);
	if (r >= 0 && open.t0 < d->t1 && !d->past)
		r = push(d, &open);
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
	d->any = r == 1;
	return r == 0 ? VEC_PUSH(&d->heard, always) : MIN(r, 0);
}

static int read_thread(struct history *h, const int64_t *key, struct sched_reading *d)
{
	int r = read_heard(h, d, key);

	return r < 0 || d->heard.count == 0 ? r : read_chunks(h, key, d);
}

static int ask_any(struct history *h, uint64_t session, int64_t t0)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	const int64_t key[] = {(int64_t)session, t0};
	int r = sql_ask(h->db, ANY, key, 2, &stmt);

	return r < 0 ? r : sql_step(stmt);
}

int history_sched_any(struct history *h, uint64_t session, int64_t t0)
{
	int r = history_begin(h);

	return r < 0 ? r : history_end(h, ask_any(h, session, t0));
}

int history_sched_each(struct history *h, uint64_t session, int32_t tid, int64_t t0, int64_t t1,
		       int (*take)(void *userdata, const struct sched_interval *interval),
		       void *userdata)
{
	const int64_t key[] = {(int64_t)session, tid, t0};
	struct sched_reading d = {.t1 = t1,
				  .take = take,
				  .userdata = userdata,
				  .known_to = t0,
				  .unknown_from = INT64_MAX};
	struct sched_interval rest = {.t1 = t1};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_thread(h, key, &d));
	rest.t0 = MIN(d.known_to, d.unknown_from);
	if (r == 0 && d.any && rest.t0 < t1)
		r = take(userdata, &rest);
	VEC_FREE(&d.heard);
	return r;
}

static int keep(void *userdata, const struct sched_interval *interval)
{
	sched_intervals_vec *intervals = userdata;

	return VEC_PUSH(intervals, *interval);
}

int history_sched(struct history *h, uint64_t session, int32_t tid, int64_t t0, int64_t t1,
		  sched_intervals_vec *ret_intervals)
{
	sched_intervals_vec intervals = {0};
	int r = history_sched_each(h, session, tid, t0, t1, keep, &intervals);

	if (r < 0) {
		VEC_FREE(&intervals);
		return r;
	}
	*ret_intervals = intervals;
	return 0;
}

static int read_tids(struct history *h, const int64_t *key, sched_tids_vec *tids)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, TIDS, key, 2, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1)
		r = VEC_PUSH(tids, sqlite3_column_int(stmt, 0));
	return r;
}

int history_sched_tids(struct history *h, uint64_t session, int64_t t1, sched_tids_vec *ret_tids)
{
	const int64_t key[] = {(int64_t)session, t1};
	sched_tids_vec tids = {0};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_tids(h, key, &tids));
	if (r < 0) {
		VEC_FREE(&tids);
		return r;
	}
	*ret_tids = tids;
	return 0;
}
