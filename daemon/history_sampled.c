/* SPDX-License-Identifier: MIT */
/* Statements are made for each call: it is asked for now and then. */
#include "history_sampled.h"

#include "history_impl.h"
#include "rows.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* ---- the game's own ---- */

void history_published_free(history_published_vec *counters)
{
	size_t i;

	for (i = 0; i < counters->count; i++)
		marker_row_deinit(&counters->at[i].marker);
	VEC_FREE(counters);
}

static int read_values(struct history *h, uint64_t session, history_published_vec *counters)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int64_t id = (int64_t)session;
	int r = sql_ask(h->db,
			"SELECT " ROWS_COUNTER " FROM frame_counters WHERE session = ?1 "
			"AND stream = 0 AND frame = (SELECT max(frame) FROM frame_counters "
			"WHERE session = ?1 AND stream = 0) ORDER BY marker",
			&id, 1, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_published c = {0};

		rows_counter(&row, &c.value);
		r = VEC_PUSH(counters, c);
	}
	return r;
}

static int read_marker(struct history *h, uint64_t session, struct history_published *c)
{
	int64_t values[] = {(int64_t)session, c->value.marker};
	sqlite3_stmt *stmt = history_ask(h, HISTORY_MARKER, values, 2);
	int r = sql_step(stmt);

	if (r == 1) {
		struct sql_row row = sql_row(stmt);

		rows_marker(&row, &c->marker);
		r = row.error;
	}
	return MIN(r, 0);
}

int history_published(struct history *h, uint64_t session, history_published_vec *ret_counters)
{
	history_published_vec counters = {0};
	size_t i;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = read_values(h, session, &counters);
	for (i = 0; i < counters.count && r >= 0; i++)
		r = read_marker(h, session, &counters.at[i]);
	r = history_end(h, r);
	if (r < 0) {
		history_published_free(&counters);
		return r;
	}
	*ret_counters = counters;
	return 0;
}

/* ---- those sampled from outside ---- */

void history_sampled_free(history_sampled_vec *sampled)
{
	size_t i;

	for (i = 0; i < sampled->count; i++) {
		free(sampled->at[i].name);
		free(sampled->at[i].module);
		free(sampled->at[i].source);
	}
	VEC_FREE(sampled);
}

static int push_sampled(history_sampled_vec *sampled, struct sql_row *row)
{
	struct history_sampled s = {0};

	if (VEC_RESERVE(sampled, 1) < 0)
		return -ENOMEM;
	s.counter = row_u32(row);
	s.name = row_text(row);
	s.module = row_text(row);
	s.source = row_text(row);
	s.unit = (uint8_t)row_u32(row);
	s.cumulative = row_int(row) != 0;
	sampled->at[sampled->count++] = s;
	return row->error;
}

static int read_sampled(struct history *h, uint64_t session, history_sampled_vec *sampled)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int64_t id = (int64_t)session;
	int r = sql_ask(h->db,
			"SELECT counter, name, module, source, unit, cumulative FROM sampled "
			"WHERE session = ? ORDER BY counter",
			&id, 1, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		r = push_sampled(sampled, &row);
	}
	return r;
}

static int read_samples(struct history *h, uint64_t session, uint32_t counter, const char *order,
			history_samples_vec *samples)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int64_t values[] = {(int64_t)session, counter};
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT ns, value FROM samples WHERE session = ? "
		 "AND counter = ? ORDER BY ns %s",
		 order);
	r = sql_ask(h->db, sql, values, 2, &stmt);
	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_sample s = {.ns = row_int(&row)};

		s.value = row_int(&row);
		r = VEC_PUSH(samples, s);
	}
	return r;
}

static int read_newest(struct history *h, uint64_t session, struct history_sampled *s)
{
	history_samples_vec samples = {0};
	int r = read_samples(h, session, s->counter, "DESC LIMIT 2", &samples);

	s->count = (unsigned)MIN(samples.count, ARRAY_SIZE(s->newest));
	if (s->count > 0)
		memcpy(s->newest, samples.at, s->count * sizeof(*samples.at));
	VEC_FREE(&samples);
	return r;
}

int history_sampled(struct history *h, uint64_t session, history_sampled_vec *ret_sampled)
{
	history_sampled_vec sampled = {0};
	size_t i;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = read_sampled(h, session, &sampled);
	for (i = 0; i < sampled.count && r >= 0; i++)
		r = read_newest(h, session, &sampled.at[i]);
	r = history_end(h, r);
	if (r < 0) {
		history_sampled_free(&sampled);
		return r;
	}
	*ret_sampled = sampled;
	return 0;
}

int history_samples(struct history *h, uint64_t session, uint32_t counter,
		    history_samples_vec *ret_samples)
{
	history_samples_vec samples = {0};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_samples(h, session, counter, "", &samples));
	if (r < 0) {
		VEC_FREE(&samples);
		return r;
	}
	*ret_samples = samples;
	return 0;
}
