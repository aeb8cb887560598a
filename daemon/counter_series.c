/* SPDX-License-Identifier: MIT */
/* The statement is made for each call: it is asked for now and then, and reads hundreds of rows. */
#include "counter_series.h"

#include "history_impl.h"
#include "util.h"

#include <errno.h>

static int read_rows(sqlite3_stmt *stmt, counter_series_vec *counters)
{
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct counter_value c = {.frame = row_uint(&row)};

		c.value = row_real(&row);
		if (VEC_PUSH(counters, c) < 0)
			return -ENOMEM;
	}
	return r;
}

static int read_series(struct history *h, const int64_t *key, size_t count,
		       counter_series_vec *counters)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db,
			"SELECT frame, value FROM frame_counters WHERE session = ? AND stream = ? "
			"AND marker = ? AND frame BETWEEN ? AND ? AND incomplete = 0 "
			"AND typeof(value) IN ('integer', 'real') ORDER BY frame",
			key, count, &stmt);

	return r < 0 ? r : read_rows(stmt, counters);
}

int counter_series_read(struct history *h, uint64_t session, uint32_t stream, uint32_t marker,
			uint64_t from, uint64_t to, counter_series_vec *ret_counters)
{
	int64_t key[] = {(int64_t)session, stream, marker, (int64_t)MIN(from, (uint64_t)INT64_MAX),
			 (int64_t)MIN(to, (uint64_t)INT64_MAX)};
	int r = history_begin(h);

	if (r < 0)
		return r;
	return history_end(h, read_series(h, key, ARRAY_SIZE(key), ret_counters));
}
