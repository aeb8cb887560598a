/* SPDX-License-Identifier: MIT */
/*
 * Events are kept in chunks that know nothing of frames. A reader asks of a track: the chunks that
 * overlap a frame; where there is none, what the next one carries in; where there is no next one,
 * what the last one left open. So that it is answered the same, a capture has the chunks that
 * overlap its range, for each track and lane the first one after it, and where nothing else is
 * there the last one before it. Of what the scheduler did the last chunk of each thread before the
 * range says in which state it enters; one that says when the kernel was listened to is there, as
 * long as it ever was.
 *
 * Columns are those that both databases have: a capture of an older version may be the source, and
 * what it lacks has the default. Ids are kept but for the session's, since the order of equal times
 * hangs on them.
 */
#include "capture_copy.h"

#include "history.h"
#include "sql.h"
#include "util.h"
#include "zone_totals.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define IN_RANGE "s.session = :source AND s.t1 >= :t0 AND s.t0 < :t1"
#define OF_FRAME "s.session = :source AND s.frame BETWEEN :first AND :until"
/* HISTORY_AROUND before the first and after the last of each stream. */
#define ENDS                                                                        \
	"(SELECT stream, min(frame) AS first, max(frame) AS last FROM main.frames " \
	"GROUP BY stream) AS e CROSS JOIN "
#define AROUND                                                                             \
	"s.session = :source AND s.stream = e.stream AND s.frame NOT BETWEEN e.first AND " \
	"e.last AND s.frame BETWEEN e.first - :around AND e.last + :around"

static const struct copied {
	const char *table, *from, *where; /* from: besides the table, before it; "": nothing */
} copied[] = {
	{"sessions", "", "s.id = :source"},
	{"session_totals", "", "s.session = :source"},
	{"memories", "", "s.session = :source"},
	{"markers", "", "s.session = :source"},
	{"tracks", "", "s.session = :source"},
	{"streams", "", "s.session = :source"},
	{"infos", "", "s.session = :source"},
	{"frames", "",
	 "s.session = :source AND ((s.stream = 0 AND s.frame BETWEEN :first AND :last) "
	 "OR (s.stream <> 0 AND s.t1 > :t0 AND s.t0 < :t1))"},
	{"frame_counters", "main.frames AS f CROSS JOIN ",
	 "f.session = :session AND s.session = :source AND s.stream = f.stream "
	 "AND s.frame = f.frame"},
	{"gpu_spans", "", OF_FRAME},
	{"frame_gpus", "", OF_FRAME},
	{"zone_totals", "", "s.session = :source"},
	{"gaps", "", IN_RANGE},
	{"chunks", "", IN_RANGE},
	{"sched_chunks", "",
	 "(" IN_RANGE ") OR s.id IN (SELECT max(id) FROM source.sched_chunks "
	 "WHERE session = :source AND t1 < :t0 GROUP BY tid) OR s.id = "
	 "(SELECT min(id) FROM source.sched_chunks WHERE session = :source AND tid = 0 "
	 "AND t0 >= :t1)"},
	{"stack_chunks", "", IN_RANGE},
	{"stack_modules", "", "s.session = :source"},
	{"stack_symbols", "", "s.session = :source"},
	{"sampled", "", "s.session = :source"},
	{"samples", "", "s.session = :source"},
	{"frames_around", ENDS, AROUND},
	{"thread_ran", "",
	 "s.session = :source AND s.ns BETWEEN "
	 "(SELECT min(begin_ns) - 2000000000 FROM main.frames) AND "
	 "(SELECT max(end_ns) + 2000000000 FROM main.frames)"},
	{"aggregate_groups", "", "s.session = :source"},
	{"aggregate_nodes", "", "s.session = :source AND s.frame <= :last"},
	{"aggregate_frames", "",
	 "s.session = :source AND s.first_frame <= :last AND s.last_frame >= :first"},
};

/* meta has what is said of the file; ledger is for who goes on recording; captures is fprofd.db's
 * list. */
const char *const capture_copy_left_out[] = {"meta", "ledger", "captures", NULL};

const char *capture_copy_table(unsigned i)
{
	return i < ARRAY_SIZE(copied) ? copied[i].table : NULL;
}

struct job {
	sqlite3 *db;
	struct capture_copy *copy;
	int64_t t0, t1; /* [t0, t1); t1 INT64_MAX: all that follows */
	bool complete;	/* nothing before it is missing */
};

static void bind_named(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at > 0)
		sqlite3_bind_int64(stmt, at, value);
}

static int prepare(const struct job *job, const char *sql, sqlite3_stmt **ret_stmt)
{
	const struct capture_copy *c = job->copy;
	int r = sql_prepare(job->db, sql, ret_stmt);

	if (r < 0)
		return r;
	bind_named(*ret_stmt, ":source", (int64_t)c->source);
	bind_named(*ret_stmt, ":session", (int64_t)c->session);
	bind_named(*ret_stmt, ":uid", c->uid);
	bind_named(*ret_stmt, ":first", (int64_t)c->first);
	bind_named(*ret_stmt, ":last", (int64_t)c->last);
	bind_named(*ret_stmt, ":until", c->tail ? INT64_MAX : (int64_t)c->last);
	bind_named(*ret_stmt, ":around", HISTORY_AROUND);
	bind_named(*ret_stmt, ":t0", job->t0);
	bind_named(*ret_stmt, ":t1", job->t1);
	return 0;
}

static int run(const struct job *job, const char *sql)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(job, sql, &stmt);

	return r < 0 ? r : sql_step(stmt);
}

/* The first column of the first row: 1, 0 (no row, or NULL), -errno. */
static int ask(const struct job *job, const char *sql, int64_t *ret_value)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(job, sql, &stmt);

	if (r == 0)
		r = sql_step(stmt);
	if (r == 1 && sqlite3_column_type(stmt, 0) == SQLITE_NULL)
		return 0;
	if (r == 1)
		*ret_value = sqlite3_column_int64(stmt, 0);
	return r;
}

/* The statement that inserts rows of a table, sqlite3_free it: of columns that both sides have,
 * with the session's own values in place of the source's. */
static int insert_text(const struct job *job, const struct copied *what, char **ret_sql)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(
		job->db,
		"SELECT group_concat(a.name), group_concat(CASE "
		"WHEN a.name = 'session' OR ?1 || a.name = 'sessionsid' THEN ':session' "
		"WHEN ?1 || a.name = 'sessionsuid' THEN ':uid' "
		"ELSE 's.' || a.name END) FROM pragma_table_info(?1, 'main') AS a "
		"JOIN pragma_table_info(?1, 'source') AS b ON a.name = b.name",
		&stmt);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, what->table, -1, SQLITE_STATIC);
	r = sql_step(stmt);
	if (r < 0)
		return r;
	if (r == 0 || sqlite3_column_type(stmt, 0) == SQLITE_NULL) {
		*ret_sql = NULL; /* the source has no such table */
		return 0;
	}
	*ret_sql =
		sqlite3_mprintf("INSERT INTO main.%s (%s) SELECT %s FROM %s source.%s AS s "
				"WHERE %s",
				what->table, sqlite3_column_text(stmt, 0),
				sqlite3_column_text(stmt, 1), what->from, what->table, what->where);
	return *ret_sql ? 0 : -ENOMEM;
}

static int copy_table(const struct job *job, const struct copied *what)
{
	const struct copied all = {what->table, "", "s.session = :source"};
	bool whole = job->copy->whole && strcmp(what->table, "sessions") != 0;
	char *sql = NULL;
	int r = insert_text(job, whole ? &all : what, &sql);

	if (r == 0 && sql)
		r = run(job, sql);
	sqlite3_free(sql);
	return r;
}

/* Where the range begins and ends. Frames that are not there are left out. */
static int find_range(struct job *job)
{
	struct capture_copy *c = job->copy;
	int64_t first = 0, last = 0;
	int r;

	if (c->first == 0) { /* what follows the last frame there is */
		job->t0 = INT64_MIN;
		r = ask(job,
			"SELECT max(t1) FROM source.frames WHERE session = :source AND stream = 0",
			&job->t0);
		job->t1 = c->tail ? INT64_MAX : job->t0;
		return MIN(r, 0);
	}
	r = ask(job,
		"SELECT min(frame) FROM source.frames WHERE session = :source AND stream = 0 "
		"AND frame BETWEEN :first AND :last",
		&first);
	if (r == 1)
		r = ask(job,
			"SELECT max(frame) FROM source.frames WHERE session = :source "
			"AND stream = 0 AND frame BETWEEN :first AND :last",
			&last);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	c->first = (uint64_t)first;
	c->last = (uint64_t)last;
	r = ask(job,
		"SELECT t0 FROM source.frames WHERE session = :source AND stream = 0 "
		"AND frame = :first",
		&job->t0);
	if (r == 1)
		r = ask(job,
			"SELECT t1 FROM source.frames WHERE session = :source AND stream = 0 "
			"AND frame = :last",
			&job->t1);
	if (c->tail)
		job->t1 = INT64_MAX;
	return r == 0 ? -ENOENT : MIN(r, 0);
}

/* A chunk by its id, unless it is there. */
static int copy_chunk(const struct job *job, int64_t id)
{
	char where[64];

	snprintf(where, sizeof(where), "s.id = %lld AND s.session = :source", (long long)id);
	return copy_table(job, &(struct copied){"chunks", "", where});
}

struct lane {
	int64_t track, lane;
};

/* The first column of a statement with the lane's numbers: 1, 0, -errno. */
static int ask_lane(const struct job *job, const struct lane *lane, const char *sql,
		    int64_t *ret_value)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = prepare(job, sql, &stmt);

	if (r < 0)
		return r;
	bind_named(stmt, ":track", lane->track);
	bind_named(stmt, ":lane", lane->lane);
	r = sql_step(stmt);
	if (r == 1)
		*ret_value = sqlite3_column_int64(stmt, 0);
	return r;
}

static int copy_lane(const struct job *job, const struct lane *lane)
{
	int64_t id = 0;
	int r = 0;

	if (!job->copy->tail) {
		r = ask_lane(job, lane,
			     "SELECT id FROM source.chunks WHERE session = :source AND track = "
			     ":track AND lane = :lane AND t1 >= :t1 AND t0 >= :t1 "
			     "ORDER BY t1, id LIMIT 1",
			     &id);
		if (r == 1)
			r = copy_chunk(job, id);
	}
	if (r < 0)
		return r;
	r = ask_lane(job, lane,
		     "SELECT id FROM main.chunks WHERE session = :session AND track = :track "
		     "AND lane = :lane LIMIT 1",
		     &id);
	if (r == 0) {
		r = ask_lane(job, lane,
			     "SELECT id FROM source.chunks WHERE session = :source AND track = "
			     ":track AND lane = :lane AND t1 < :t0 ORDER BY t1 DESC, id DESC "
			     "LIMIT 1",
			     &id);
		if (r == 1)
			r = copy_chunk(job, id);
	}
	return MIN(r, 0);
}

/* What the chunks around the range say of it. */
static int copy_neighbours(const struct job *job)
{
	struct lane at = {0, -1};
	int r = 1;

	while (r == 1) {
		r = ask_lane(job, &at,
			     "SELECT lane FROM source.chunks WHERE session = :source AND track = "
			     ":track AND lane > :lane ORDER BY lane LIMIT 1",
			     &at.lane);
		if (r == 1) {
			r = copy_lane(job, &at);
			r = r < 0 ? r : 1;
			continue;
		}
		if (r == 0)
			r = ask_lane(job, &at,
				     "SELECT track FROM source.chunks WHERE session = :source "
				     "AND track > :track ORDER BY track LIMIT 1",
				     &at.track);
		at.lane = -1;
	}
	return r;
}

/* What is left of the frames before and after the range. */
static int copy_around(const struct job *job)
{
	return run(job, "INSERT INTO main.frames_around "
			"(session, stream, frame, begin_ns, end_ns, cpu_ns, track) "
			"SELECT :session, s.stream, s.frame, s.begin_ns, s.end_ns, s.cpu_ns, "
			"s.track FROM " ENDS "source.frames AS s WHERE " AROUND);
}

/* The session as it was, but that it does not go on. */
static int end_session(const struct job *job)
{
	return run(job, "UPDATE main.session_totals SET threads_active = 0, "
			"chunk_bytes = (SELECT ifnull(sum(length(data)), 0) FROM main.chunks), "
			"end_reason = iif(state = 0, 'it was running when this was saved', "
			"end_reason), end_ns = iif(state = 0, NULL, end_ns), "
			"state = iif(state = 0, 1, state)");
}

/* What is before the range is gone. */
static int cut_session(const struct job *job)
{
	int r = 0;

	if (!job->complete)
		r = run(job, "UPDATE main.session_totals SET evicted_before_ticks = "
			     "max(ifnull(evicted_before_ticks, :t0), :t0)");
	if (r == 0)
		r = run(job, "UPDATE main.streams SET events_from = max(events_from, ifnull("
			     "(SELECT min(frame) FROM main.frames AS f WHERE f.session = :session "
			     "AND f.stream = streams.stream AND f.t0 >= :t0), events_from))");
	return r;
}

/* What zones came to up to now: all of it, however much of it the capture has. Where rows hold all
 * of it, or it is not known (as in all of an older version), the copy of what there is will do. */
static int count_zones(const struct job *job)
{
	const struct capture_copy *c = job->copy;
	struct zone_totals totals;
	int64_t partly = 0;
	int r = ask(job, "SELECT zones_counted_to < 9223372036854775807 FROM main.session_totals",
		    &partly);

	if (r < 0 || !partly)
		return MIN(r, 0);
	r = zone_totals_read(job->db, "source", c->source, &totals);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	r = zone_totals_write(job->db, c->session, &totals);
	if (r == 0)
		r = run(job, "UPDATE main.session_totals SET "
			     "zones_counted_to = 9223372036854775807, "
			     "spans_counted_to = 9223372036854775807");
	zone_totals_deinit(&totals);
	return r;
}

/* Is there nothing before the range? */
static int find_complete(struct job *job)
{
	int64_t before = 0;
	int r = ask(job,
		    "SELECT (SELECT evicted_before_ticks IS NOT NULL FROM source.session_totals "
		    "WHERE session = :source) + EXISTS (SELECT 1 FROM source.frames "
		    "WHERE session = :source AND stream = 0 AND t0 < :t0) "
		    "+ EXISTS (SELECT 1 FROM source.chunks WHERE session = :source AND t1 < :t0)",
		    &before);

	job->complete = before == 0;
	return MIN(r, 0);
}

int capture_copy(sqlite3 *db, struct capture_copy *copy)
{
	struct job job = {.db = db, .copy = copy};
	int64_t id;
	size_t i;
	int r = ask(&job, "SELECT id FROM source.sessions WHERE id = :source", &id);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = copy->whole ? 0 : find_range(&job);
	if (r == 0 && !copy->whole)
		r = find_complete(&job);
	for (i = 0; i < ARRAY_SIZE(copied) && r == 0; i++)
		r = copy_table(&job, &copied[i]);
	if (r == 0 && !copy->whole)
		r = copy_neighbours(&job);
	if (r == 0 && !copy->whole)
		r = copy_around(&job);
	if (r == 0 && !copy->whole)
		r = cut_session(&job);
	if (r == 0)
		r = count_zones(&job);
	return r == 0 ? end_session(&job) : r;
}
