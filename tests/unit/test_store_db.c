/* SPDX-License-Identifier: MIT */
/* Database files: schema and migrations, copies by row and by page, moving aside. */
#include "store_fixture.h"

#include "daemon/store_db.h"

static const struct schema_step steps[] = {
	{2, "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7"},
	{3, "CREATE TABLE b (z); INSERT INTO b SELECT sum(y) FROM a"},
};

static struct schema schema_of(int version)
{
	return (struct schema){.sql = version == 1 ? "CREATE TABLE a (x)"
						   : "CREATE TABLE a (x, y); CREATE TABLE b (z)",
			       .version = version,
			       .steps = steps,
			       .step_count = ARRAY_SIZE(steps)};
}

static sqlite3 *open_empty(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	return db;
}

static int64_t answer(sqlite3 *db, const char *sql)
{
	int64_t value = INT64_MIN;

	assert_int_equal(sql_int(db, sql, &value), 1);
	return value;
}

static void an_old_database_is_brought_up(void **state)
{
	struct schema one = schema_of(1), three = schema_of(3);
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &one), 0);
	assert_int_equal(sql_exec(db, "INSERT INTO a VALUES (1), (2)"), 0);
	assert_int_equal(schema_apply(db, &three), 0);
	assert_int_equal(answer(db, "PRAGMA user_version"), 3);
	assert_int_equal(answer(db, "SELECT sum(x) FROM a"), 3);
	assert_int_equal(answer(db, "SELECT z FROM b"), 14);
	assert_int_equal(schema_apply(db, &three), 0);
	assert_int_equal(answer(db, "SELECT count(*) FROM b"), 1);
	sqlite3_close(db);
}

static void a_step_that_fails_leaves_the_version_before(void **state)
{
	const struct schema_step bad[] = {steps[0], {3, "CREATE TABLE b (z); SELECT nonsense"}};
	struct schema one = schema_of(1), three = schema_of(3);
	sqlite3 *db = open_empty();

	(void)state;
	three.steps = bad;
	assert_int_equal(schema_apply(db, &one), 0);
	assert_true(schema_apply(db, &three) < 0);
	assert_int_equal(answer(db, "PRAGMA user_version"), 2);
	assert_int_equal(answer(db, "SELECT count(*) FROM sqlite_schema WHERE name='b'"), 0);
	sqlite3_close(db);
}

static void newer_and_foreign_databases_are_refused(void **state)
{
	struct schema one = schema_of(1), three = schema_of(3);
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &three), 0);
	assert_int_equal(schema_apply(db, &one), -ENOTSUP);
	assert_int_equal(sql_exec(db, "PRAGMA application_id=1"), 0);
	assert_int_equal(schema_apply(db, &three), -EBADMSG);
	sqlite3_close(db);
}

/* What version 12 brought. */
#define DROP_RAN                    \
	"DROP TABLE thread_ran;"    \
	"DROP TABLE frames_around;" \
	"ALTER TABLE ledger DROP COLUMN fill_permille;"
/* What versions from 10 on brought. */
#define DROP_TOTALS                                                         \
	DROP_RAN "DROP TABLE stack_chunks;"                                 \
		 "DROP TABLE stack_modules;"                                \
		 "DROP TABLE stack_symbols;"                                \
		 "DROP TABLE zone_totals;"                                  \
		 "ALTER TABLE session_totals DROP COLUMN zones_counted_to;" \
		 "ALTER TABLE session_totals DROP COLUMN spans_counted_to;" \
		 "ALTER TABLE session_totals DROP COLUMN zones_uncounted;"
/* What versions from 4 on brought. */
#define DROP_NEWER                                                                                 \
	"DROP TABLE aggregate_groups;"                                                             \
	"DROP TABLE aggregate_nodes;"                                                              \
	"DROP TABLE aggregate_frames;"                                                             \
	"DROP TABLE captures;"                                                                     \
	"DROP TABLE sampled;"                                                                      \
	"DROP TABLE samples;"                                                                      \
	"DROP TABLE sched_chunks;" DROP_TOTALS "ALTER TABLE session_totals DROP COLUMN recording;" \
	"ALTER TABLE session_totals DROP COLUMN recording_in_force;"                               \
	"ALTER TABLE session_totals DROP COLUMN detail;"

/* What version 1 lacked is added, so that an fprofd.db and a history of it go on. */
static void a_database_of_version_1_goes_on(void **state)
{
	struct schema now = schema_current();
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(sql_exec(db, DROP_NEWER), 0);
	assert_int_equal(sql_exec(db,
				  "ALTER TABLE session_totals DROP COLUMN gpu_missing;"
				  "ALTER TABLE session_totals DROP COLUMN end_unknown;"
				  "ALTER TABLE session_totals DROP COLUMN discarded_foreign_mark;"
				  "ALTER TABLE ledger DROP COLUMN discarded_foreign_mark;"
				  "INSERT INTO session_totals (session) VALUES (7);"
				  "PRAGMA user_version=1"),
			 0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(answer(db, "PRAGMA user_version"), now.version);
	assert_int_equal(answer(db, "SELECT end_unknown + discarded_foreign_mark "
				    "FROM session_totals WHERE session = 7"),
			 0);
	assert_int_equal(answer(db, "SELECT count(discarded_foreign_mark) FROM ledger"), 0);
	assert_int_equal(answer(db, "SELECT count(*) FROM sqlite_schema "
				    "WHERE name = 'sched_chunks_by_thread'"),
			 1);
	sqlite3_close(db);
}

/* Version 3 had no sessions of sums. */
static void a_database_of_version_3_has_the_tables_of_sums(void **state)
{
	struct schema now = schema_current();
	sqlite3 *db = open_empty(), *made = open_empty();
	char info[] = "SELECT count(*) FROM pragma_table_xinfo('aggregate_nodes')";

	(void)state;
	assert_int_equal(schema_apply(made, &now), 0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(sql_exec(db, DROP_NEWER "PRAGMA user_version=3"), 0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(answer(db, "PRAGMA user_version"), now.version);
	assert_int_equal(answer(db, info), answer(made, info));
	sqlite3_close(made);
	sqlite3_close(db);
}

/* Of what went before version 10 nobody counted the zones; where nothing went they can be counted.
 */
static void a_database_of_version_9_knows_what_it_does_not(void **state)
{
	struct schema now = schema_current();
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(
		sql_exec(db, DROP_TOTALS
			 "INSERT INTO session_totals (session, evicted_before_ticks) VALUES "
			 "(1, NULL), (2, 5);"
			 "PRAGMA user_version=9"),
		0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(
		answer(db, "SELECT zones_counted_to FROM session_totals WHERE session = 1"), 0);
	assert_int_equal(
		answer(db, "SELECT zones_counted_to IS NULL FROM session_totals WHERE session = 2"),
		1);
	assert_int_equal(answer(db, "SELECT count(*) FROM zone_totals"), 0);
	sqlite3_close(db);
}

/* Version 11 had a counter of what threads ran, in whole ms. */
static void a_database_of_version_11_keeps_what_threads_ran(void **state)
{
	struct schema now = schema_current();
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(sql_exec(db, DROP_RAN "INSERT INTO sampled VALUES (1, 5, "
					       "'frame_thread_ran_42', 'cpu', 'x', 2, 1), "
					       "(1, 6, 'threads', 'cpu', 'x', 0, 0);"
					       "INSERT INTO samples VALUES (1, 1000, 5, 7), (1, "
					       "2000, 5, 9), (1, 1000, 6, 3);"
					       "PRAGMA user_version=11"),
			 0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(answer(db, "SELECT group_concat(ns || ran_ns, ' ') = "
				    "'10007000000 20009000000' FROM thread_ran WHERE session = 1 "
				    "AND tid = 42"),
			 1);
	assert_int_equal(answer(db, "SELECT group_concat(name) = 'threads' FROM sampled"), 1);
	assert_int_equal(answer(db, "SELECT sum(value) FROM samples"), 3);
	sqlite3_close(db);
}

/* Where version 2 had numbers for what is not known. */
static void a_database_of_version_2_gets_its_nulls(void **state)
{
	struct schema now = schema_current();
	sqlite3 *db = open_empty();

	(void)state;
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(sql_exec(db, DROP_NEWER), 0);
	assert_int_equal(
		sql_exec(db, "ALTER TABLE session_totals DROP COLUMN gpu_missing;"
			     "INSERT INTO frames VALUES (1,0,1,NULL,0,9,0,9,-9223372036854775808,"
			     "NULL,NULL,NULL,0,0,0,1), (1,0,2,5,9,20,9,20,8,1,2,3,4,5,6,7);"
			     "INSERT INTO frame_gpus VALUES (1,1,1,0,0,0,1,1), (1,2,1,7,6,2,0,1);"
			     "PRAGMA user_version=2"),
		0);
	assert_int_equal(schema_apply(db, &now), 0);
	assert_int_equal(answer(db, "PRAGMA user_version"), now.version);
	assert_int_equal(answer(db, "SELECT cpu_ns IS NULL AND gpu_ns IS NULL AND wall_ns = 9 "
				    "FROM frame_times WHERE frame = 1"),
			 1);
	assert_int_equal(answer(db, "SELECT cpu_ns = 8 AND gpu_ns = 7 AND wait_cap_ns = 3 AND "
				    "flags = 6 FROM frame_times WHERE frame = 2"),
			 1);
	assert_int_equal(answer(db, "SELECT span_ns IS NULL AND missing = 1 FROM frame_gpus "
				    "WHERE frame = 1"),
			 1);
	assert_int_equal(sql_exec(db,
				  "INSERT INTO frames (session, stream, frame, t0, t1, begin_ns,"
				  "end_ns, events, lost_events, flags, track) "
				  "VALUES (1,0,3,0,0,0,0,0,0,0,0)"),
			 0);
	sqlite3_close(db);
}

static void open_history(struct fixture *f, sqlite3 **db)
{
	fixture_init(f);
	assert_int_equal(mkdir(f->history_dir, 0700), 0);
	assert_int_equal(db_open(f->history_db, DB_HISTORY, true, db), 0);
	assert_int_equal(sql_exec(*db, "INSERT INTO meta VALUES ('k', 'v');"
				       "INSERT INTO frames VALUES (1,0,1,NULL,0,9,0,9,9,NULL,NULL,"
				       "NULL,0,0,0,1);"
				       "INSERT INTO gaps VALUES (1,2,3,4,5,6)"),
			 0);
}

static void rows_are_copied_with_generated_columns(void **state)
{
	struct fixture f;
	sqlite3 *db, *copy;
	char path[160];

	(void)state;
	open_history(&f, &db);
	/* A name that a URI would read otherwise. */
	snprintf(path, sizeof(path), "%s/a%%20b?c#d.db", f.history_dir);
	assert_int_equal(db_open(path, DB_HISTORY, false, &copy), 0);
	assert_int_equal(db_copy_rows(db, path, DB_COPY_ALL), 0);
	assert_int_equal(answer(copy, "SELECT wall_ns FROM frames"), 9);
	assert_int_equal(answer(copy, "SELECT events FROM gaps"), 6);
	assert_int_equal(answer(copy, "SELECT value = 'v' FROM meta"), 1);
	sqlite3_close(copy);
	db_remove(path);
	assert_int_equal(access(path, F_OK), -1);

	assert_int_equal(db_open(path, DB_HISTORY, false, &copy), 0);
	assert_int_equal(db_copy_rows(db, path, DB_COPY_NAMES), 0);
	assert_int_equal(answer(copy, "SELECT count(*) FROM meta"), 1);
	assert_int_equal(answer(copy, "SELECT count(*) FROM frames"), 0);
	sqlite3_close(copy);
	sqlite3_close(db);
	fixture_deinit(&f);
}

static void pages_are_copied_with_what_is_in_the_wal(void **state)
{
	struct fixture f;
	sqlite3 *db;
	char path[160];

	(void)state;
	open_history(&f, &db);
	snprintf(path, sizeof(path), "%s/copy.db", f.history_dir);
	assert_int_equal(db_copy_pages(db, path), 0);
	assert_int_equal(ask(path, "SELECT wall_ns FROM frames"), 9);
	assert_int_equal(ask(path, "PRAGMA page_size"), DB_PAGE_BYTES);
	assert_sound(path);
	sqlite3_close(db);
	fixture_deinit(&f);
}

static void readers_cannot_write(void **state)
{
	struct fixture f;
	sqlite3 *db, *reader;

	(void)state;
	open_history(&f, &db);
	assert_int_equal(db_open_reader(f.history_db, &reader), 0);
	assert_int_equal(answer(reader, "SELECT count(*) FROM frames"), 1);
	assert_int_equal(sql_exec(reader, "DELETE FROM frames"), -EROFS);
	sqlite3_close(reader);
	sqlite3_close(db);
	assert_int_equal(db_open_reader("/nonexistent/history.db", &reader), -ENOENT);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_old_database_is_brought_up),
		cmocka_unit_test(a_step_that_fails_leaves_the_version_before),
		cmocka_unit_test(newer_and_foreign_databases_are_refused),
		cmocka_unit_test(a_database_of_version_1_goes_on),
		cmocka_unit_test(a_database_of_version_2_gets_its_nulls),
		cmocka_unit_test(a_database_of_version_3_has_the_tables_of_sums),
		cmocka_unit_test(a_database_of_version_9_knows_what_it_does_not),
		cmocka_unit_test(a_database_of_version_11_keeps_what_threads_ran),
		cmocka_unit_test(rows_are_copied_with_generated_columns),
		cmocka_unit_test(pages_are_copied_with_what_is_in_the_wal),
		cmocka_unit_test(readers_cannot_write),
	};

	return cmocka_run_group_tests_name("store_db", tests, NULL, NULL);
}
