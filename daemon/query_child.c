// SPDX-License-Identifier: MIT
/*
 * The child's side. Two connections: one to the database, read only, that no SQL of the asker ever
 * sees; and one to nothing, in memory, where it is run. What the second can reach are the virtual
 * tables that are registered with it, which read the first and show the asker's sessions only. So
 * nothing has to be kept from the asker's SQL but a few statements (query_guard.h).
 *
 * By the time the SQL is looked at, this process can open no file, and take only so much time and
 * memory (query_sandbox.h). It answers by exit status: 0, the answer is in descriptor 1; 1, what is
 * wrong is.
 */
#include "query.h"
#include "query_guard.h"
#include "query_sandbox.h"
#include "query_write.h"
#include "util.h"
#include "vtab.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define STEPS_BETWEEN_LOOKS 2000	  /* VM instructions, at the time */
#define OUTPUT_SLACK	    (1024 * 1024) /* column names, and what surrounds rows */

struct child {
	json_t *request, *params; /* params: NULL: none */
	const char *path, *sql;
	int64_t uid, session, rows, bytes;
	int format, memory, milliseconds;
	uint64_t begun_ns, deadline_ns;
	bool over; /* the time is */
	sqlite3 *source, *db;
	sqlite3_stmt *stmt;
	struct query_writer *writer;
};

/* Answers what is wrong instead; returns -1. */
static int fail(enum query_result result, const char *message, int64_t offset)
{
	json_t *failure = json_pack("{s:i, s:s, s:I}", "result", (int)result, "message", message,
				    "offset", (json_int_t)offset);

	if (!failure)
		failure = json_pack("{s:i, s:s, s:i}", "result", (int)result, "message", "?",
				    "offset", -1);
	if (ftruncate(1, 0) == 0 && lseek(1, 0, SEEK_SET) == 0 && failure)
		json_dumpfd(failure, 1, 0);
	json_decref(failure);
	return -1;
}

/* The same for a code of SQLite's. */
static int fail_sqlite(struct child *c, int rc, sqlite3 *db)
{
	enum query_result result = QUERY_BAD_SQL;

	if (c->over)
		result = QUERY_TIME;
	else if (rc == SQLITE_NOMEM)
		result = QUERY_MEMORY_FULL;
	else if (rc == SQLITE_AUTH)
		result = QUERY_REFUSED;
	else if (rc == SQLITE_CORRUPT || rc == SQLITE_IOERR || db == c->source)
		result = QUERY_FAILED;
	return fail(result, sqlite3_errmsg(db), sqlite3_error_offset(db));
}

static int read_request(struct child *c)
{
	const char *params = NULL;

	c->request = json_loadfd(0, 0, NULL);
	if (!c->request ||
	    json_unpack(c->request, "{s:s, s:s, s?:s, s:I, s:I, s:I, s:I, s:i, s:i, s:i}", "path",
			&c->path, "sql", &c->sql, "params", &params, "uid", &c->uid, "session",
			&c->session, "rows", &c->rows, "bytes", &c->bytes, "format", &c->format,
			"memory", &c->memory, "milliseconds", &c->milliseconds) < 0)
		return fail(QUERY_FAILED, "the request to the child is malformed", -1);
	c->params = params ? json_loads(params, 0, NULL) : NULL;
	if (params && !c->params)
		return fail(QUERY_BAD_PARAMS, "the parameters are neither an array nor an object",
			    -1);
	c->begun_ns = clock_ns(CLOCK_MONOTONIC);
	c->deadline_ns = c->begun_ns + c->milliseconds * INT64_C(1000000);
	return 0;
}

static int on_progress(void *userdata)
{
	struct child *c = userdata;

	c->over = c->over || clock_ns(CLOCK_MONOTONIC) > c->deadline_ns;
	return c->over;
}

/* Holds the database as it is now. */
static int open_source(struct child *c)
{
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(c->path, &c->source, flags, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(c->source, 1000);
		sqlite3_db_config(c->source, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		rc = sqlite3_exec(c->source,
				  "PRAGMA trusted_schema=OFF; PRAGMA query_only=ON;"
				  "PRAGMA temp_store=MEMORY; BEGIN; SELECT 1 FROM sqlite_schema",
				  NULL, NULL, NULL);
	}
	sqlite3_progress_handler(c->source, STEPS_BETWEEN_LOOKS, on_progress, c);
	return rc == SQLITE_OK ? 0 : fail_sqlite(c, rc, c->source);
}

static int open_tables(struct child *c)
{
	struct vtab_source source = {
		.db = c->source, .uid = (uint32_t)c->uid, .session = c->session};
	int rc = sqlite3_open_v2(":memory:", &c->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(c->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = vtab_register_tables(c->db, &source);
	if (rc == SQLITE_OK)
		rc = vtab_register(c->db, &source);
	if (rc != SQLITE_OK)
		return fail_sqlite(c, rc, sqlite3_errcode(c->source) ? c->source : c->db);
	query_guard(c->db);
	sqlite3_progress_handler(c->db, STEPS_BETWEEN_LOOKS, on_progress, c);
	return 0;
}

static int prepare(struct child *c)
{
	const char *why;
	int64_t offset;
	int rc = query_guard_prepare(c->db, c->sql, &c->stmt, &why, &offset);

	if (rc != SQLITE_OK)
		return fail_sqlite(c, rc, c->db);
	if (!c->stmt)
		return fail(QUERY_REFUSED, why, offset);
	return 0;
}

static int bind(sqlite3_stmt *stmt, int at, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
		return sqlite3_bind_null(stmt, at);
	case JSON_TRUE:
	case JSON_FALSE:
		return sqlite3_bind_int(stmt, at, json_is_true(value));
	case JSON_INTEGER:
		return sqlite3_bind_int64(stmt, at, json_integer_value(value));
	case JSON_REAL:
		return sqlite3_bind_double(stmt, at, json_real_value(value));
	case JSON_STRING:
		return sqlite3_bind_text(stmt, at, json_string_value(value),
					 (int)json_string_length(value), SQLITE_STATIC);
	default:
		return SQLITE_MISMATCH;
	}
}

/* The parameter's value: by its name without the sign before it, or by its number from 1. */
static const json_t *value_of(const json_t *params, sqlite3_stmt *stmt, int at)
{
	const char *name = sqlite3_bind_parameter_name(stmt, at);

	if (json_is_array(params))
		return json_array_get(params, (size_t)at - 1);
	if (json_is_object(params) && name)
		return json_object_get(params, name + 1);
	return NULL;
}

static int bind_all(struct child *c)
{
	int at, count = sqlite3_bind_parameter_count(c->stmt);
	char message[160];

	if (json_is_array(c->params) && json_array_size(c->params) != (size_t)count) {
		snprintf(message, sizeof(message), "the statement has %d parameters, not %zu",
			 count, json_array_size(c->params));
		return fail(QUERY_BAD_PARAMS, message, -1);
	}
	for (at = 1; at <= count; at++) {
		const json_t *value = value_of(c->params, c->stmt, at);
		const char *name = sqlite3_bind_parameter_name(c->stmt, at);

		if (value && bind(c->stmt, at, value) == SQLITE_OK)
			continue;
		snprintf(message, sizeof(message),
			 "parameter %d (%.64s) has no value; null, true, false, a number or a "
			 "text is one",
			 at, name ? name : "?");
		return fail(QUERY_BAD_PARAMS, message, -1);
	}
	return 0;
}

static int fail_write(int error)
{
	if (error == -ENOMEM)
		return fail(QUERY_MEMORY_FULL, "", -1);
	return fail(QUERY_FAILED, strerror(-error), -1);
}

/* How far the statement runs: 1: more rows than fit; 0: to its end; -1: answered why not. */
static int step_all(struct child *c)
{
	int rc, r = 1;

	query_write_begin(c->writer, c->stmt);
	while (r == 1 && (rc = sqlite3_step(c->stmt)) == SQLITE_ROW)
		r = query_write_row(c->writer, c->stmt);
	if (r < 0)
		return fail_write(r);
	if (r == 0)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail_sqlite(c, rc, c->db);
}

static int answer(struct child *c)
{
	int r, truncated;

	c->writer = query_writer_new((enum query_format)c->format, (uint64_t)c->rows,
				     (uint64_t)c->bytes);
	if (!c->writer)
		return fail_write(-ENOMEM);
	truncated = step_all(c);
	if (truncated < 0)
		return -1;
	if (truncated && c->format == QUERY_CSV)
		return fail(QUERY_TOO_LARGE, "", -1);
	r = query_write_end(c->writer, truncated,
			    (double)(clock_ns(CLOCK_MONOTONIC) - c->begun_ns) / 1e6);
	return r < 0 ? fail_write(r) : 0;
}

static int close_up(struct child *c)
{
	unsigned seconds = (unsigned)c->milliseconds / 1000 + 2;
	int r = query_sandbox_close((uint64_t)c->memory, seconds, (uint64_t)c->bytes + OUTPUT_SLACK,
				    0);

	if (r < 0)
		return fail(QUERY_FAILED, "the child that runs queries cannot shut itself in", -1);
	sqlite3_hard_heap_limit64((sqlite3_int64)c->memory * 3 / 4);
	return 0;
}

static int run(struct child *c)
{
	int r = read_request(c);

	if (r == 0)
		r = open_source(c);
	close(3); /* tells that the files are open */
	if (r == 0)
		r = open_tables(c);
	if (r == 0)
		r = close_up(c);
	if (r == 0)
		r = prepare(c);
	if (r == 0)
		r = bind_all(c);
	return r < 0 ? r : answer(c);
}

int query_child_main(void)
{
	struct child c = {0};
	int r = query_sandbox_begin();

	if (close_range(4, ~0u, 0) < 0)
		r = -errno;
	if (r == 0)
		r = run(&c);
	fflush(NULL);
	_exit(r < 0 ? 1 : 0);
}
