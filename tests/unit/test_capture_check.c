/* SPDX-License-Identifier: MIT */
/* Files that strangers send: what is no sound capture is refused with a reason, and nothing in it
 * is ever run. */
#include "captures_fixture.h"

#include "daemon/capture_copy.h"
#include "daemon/capture_sum.h"
#include "daemon/log.h"
#include "daemon/range.h"
#include "daemon/store_db.h"
#include "daemon/verdict_range.h"

#define FRAMES 8

struct stranger {
	struct world *w;
	uint64_t id;
	const char *changed;	    /* how */
	char sound[256], path[256]; /* a capture, and what is made of it */
};

static void copy_file(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = must(fopen(from, "re")), *out = must(fopen(to, "we"));
	size_t n;

	while ((n = fread(buffer, 1, sizeof(buffer), in)) > 0)
		assert_int_equal(fwrite(buffer, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

static int setup(void **state)
{
	struct stranger *s = must(calloc(1, sizeof(*s)));

	log_set_level(LOG_LEVEL_ERROR);
	s->w = world_new();
	add_rich(s->w, FRAMES);
	s->id = save(s->w, 1, FRAMES);
	file_of(s->w, s->id, s->sound, sizeof(s->sound));
	snprintf(s->path, sizeof(s->path), "%s/strange.fprof", s->w->f.dir);
	copy_file(s->sound, s->path);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct stranger *s = *state;

	world_free(s->w);
	free(s);
	return 0;
}

/* Changes the file with SQL, as a stranger would, and seals it again if asked for. */
static void change(struct stranger *s, const char *sql, bool sealed)
{
	sqlite3 *db;
	int r;

	s->changed = sql;
	copy_file(s->sound, s->path);
	assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
	r = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (r != SQLITE_OK)
		print_message("%s: %s\n", sql, sqlite3_errmsg(db));
	assert_int_equal(r, SQLITE_OK);
	if (sealed)
		assert_int_equal(capture_sum_write(db), 0);
	sqlite3_close(db);
}

static void assert_refused(struct stranger *s, const char *because)
{
	char why[CAPTURE_WHY] = "";
	captures_vec list = {0};
	uint64_t id;
	int r = upload(s->w, s->path, &id, why);

	if ((r != -EBADMSG && r != -ENOTSUP) || !strstr(why, because))
		print_message("%s: %d: '%s' instead of '%s'\n", s->changed, r, why, because);
	assert_true(r == -EBADMSG || r == -ENOTSUP);
	assert_non_null(strstr(why, because));
	assert_int_equal(captures_list(s->w->captures, HISTORY_ANY_UID, &list), 0);
	assert_int_equal(list.count, 1);
	captures_vec_free(&list);
}

static void foreign_schemas_are_refused(void **state)
{
	static const char *const changes[] = {
		"CREATE VIEW extra AS SELECT 1",
		"CREATE TABLE extra (a)",
		"CREATE INDEX extra ON frames (flags)",
		"DROP TABLE gaps",
		"DROP VIEW session_list",
		"DROP VIEW session_list; CREATE VIEW session_list AS SELECT load_extension('x')",
		"ALTER TABLE markers ADD COLUMN extra INTEGER",
		"ALTER TABLE infos ADD COLUMN extra ANY AS (zeroblob(1000000000))",
		"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, "
		"'AS (end_ns - begin_ns)', 'AS (abs(begin_ns))') WHERE name = 'frames'",
	};
	struct stranger *s = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		change(s, changes[i], true);
		assert_refused(s, "tables, indexes or views");
	}
	change(s, "CREATE TRIGGER t AFTER INSERT ON frames BEGIN DELETE FROM chunks; END", true);
	assert_refused(s, "triggers");
	change(s,
	       "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema (type, name, tbl_name, "
	       "rootpage, sql) VALUES ('table', 'v', 'v', 0, "
	       "'CREATE VIRTUAL TABLE v USING fts5(a)')",
	       false);
	assert_refused(s, "virtual tables");
}

static void rows_that_mean_nothing_are_refused(void **state)
{
	static const char *const changes[] = {
		"UPDATE sessions SET clock_shift = 64",
		"UPDATE sessions SET clock_mult = 0",
		"UPDATE sessions SET facts = '{'",
		"UPDATE sessions SET name = CAST(x'ff41' AS TEXT)",
		"UPDATE frames SET t1 = t0 - 1",
		"UPDATE frames SET begin_ns = -4700000000000000000",
		"UPDATE frames SET end_ns = 2305843009213693953",
		"UPDATE frames SET frame = 0 WHERE frame = 3 AND stream = 0",
		"UPDATE frames SET session = 77 WHERE frame = 3 AND stream = 0",
		"UPDATE chunks SET depth_in = 100000 WHERE id = (SELECT min(id) FROM chunks)",
		"UPDATE chunks SET data = zeroblob(20000000) WHERE id = 1",
		"UPDATE tracks SET kind = 99",
		"UPDATE tracks SET ns_per_tick = 9e999",
		"UPDATE tracks SET ns_per_tick = -1",
		"UPDATE tracks SET tid = -9223372036854775808",
		"UPDATE tracks SET valid_bits = 65",
		"UPDATE sessions SET pid = 2147483648",
		"UPDATE sessions SET clock_hz = 9e999",
		"INSERT INTO sched_chunks (session, tid, t0, t1, records, data) SELECT id, "
		"-9223372036854775808, 0, 1, 1, x'00' FROM sessions",
		"UPDATE markers SET marker = 1048577 WHERE marker = 3",
		"UPDATE frame_counters SET value = 'many'",
		"INSERT INTO thread_ran SELECT id, 3000000000, 0, 0 FROM sessions",
		"INSERT INTO thread_ran SELECT id, 1, 0, -1 FROM sessions",
		"INSERT INTO thread_ran SELECT id, 1, 9223372036854775807, 1 FROM sessions",
		"INSERT INTO thread_ran SELECT id + 1, 1, 0, 0 FROM sessions",
		"INSERT INTO frames_around SELECT id, 0, 0, 0, 1, 1, 1 FROM sessions",
		"INSERT INTO frames_around SELECT id, 0, 9, 1, 0, 1, 1 FROM sessions",
		"INSERT INTO frames_around SELECT id, 0, 9, 0, 1, -1, 1 FROM sessions",
		"UPDATE gpu_spans SET end_ns = begin_ns - 1",
		"UPDATE zone_totals SET parent = node WHERE node = 2",
		"UPDATE zone_totals SET node = 60000 WHERE node = 2",
		"UPDATE zone_totals SET calls = -1 WHERE node = 2",
		"UPDATE zone_totals SET max_frame = 0 WHERE node = 2",
		"INSERT INTO aggregate_nodes SELECT id, 0, 0, 0, NULL, 0, 0, '' FROM sessions; "
		"INSERT INTO aggregate_nodes SELECT id, 1, 1, 0, 2, 0, 0, 'a' FROM sessions; "
		"INSERT INTO aggregate_nodes SELECT id, 2, 2, 0, 1, 0, 0, 'b' FROM sessions",
	};
	struct stranger *s = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		change(s, changes[i], true);
		assert_refused(s, "means nothing");
	}
	change(s, "INSERT INTO session_totals (session) VALUES (99)", true);
	assert_refused(s, "one session");
}

/* What is around a capture's frames may be any numbers: they are judged all the same. */
static void neighbours_that_cannot_be_are_no_trouble(void **state)
{
	static const char change_all[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
		"INSERT OR IGNORE INTO frames_around SELECT sessions.id, 0, i, "
		"CASE i % 4 WHEN 0 THEN -2305843009213693952 ELSE i * 1000 END, "
		"2305843009213693952, CASE i % 3 WHEN 0 THEN 2305843009213693952 END, 1 "
		"FROM sessions, n;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
		"INSERT OR IGNORE INTO thread_ran SELECT sessions.id, tracks.tid, "
		"i * 11529215046068469, (i % 7) * 100000000000000000 FROM sessions, tracks, n "
		"WHERE tracks.kind = 0;"
		"UPDATE sessions SET facts = '{\"tick_ns\": 9223372036854775807}'";
	const struct range_query all = {.last = FRAMES};
	struct stranger *s = *state;
	char why[CAPTURE_WHY] = "";
	struct displays displays;
	verdicts_vec verdicts;
	struct history *h;
	struct range range;
	uint64_t id = 0;
	size_t i, part;

	change(s, change_all, true);
	assert_int_equal(upload(s->w, s->path, &id, why), 0);
	assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_int_equal(range_open(h, id, &all, &range), 0);
	verdict_displays(&range, &displays);
	assert_int_equal(verdict_range(h, &range, &displays, &verdicts), 0);
	for (i = 0; i < verdicts.count; i++) {
		int64_t sum = 0;

		for (part = 0; part < PARTS; part++)
			sum += verdicts.at[i].ns[part];
		assert_int_equal(sum, verdicts.at[i].wall_ns);
	}
	VEC_FREE(&verdicts);
	range_close(&range);
	history_close(h);
}

static void the_greatest_id_of_a_marker_is_one(void **state)
{
	const struct range_query all = {.last = FRAMES};
	struct stranger *s = *state;
	char why[CAPTURE_WHY] = "";
	struct history *h;
	struct range range;
	uint64_t id = 0;

	assert_int_equal(MARKER_ID_MAX, 1048576);
	change(s, "UPDATE markers SET marker = 1048576 WHERE marker = 3", true);
	assert_int_equal(upload(s->w, s->path, &id, why), 0);
	assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_int_equal(range_open(h, id, &all, &range), 0);
	assert_string_equal(range_marker(&range, MARKER_ID_MAX)->name, "render");
	range_close(&range);
	history_close(h);
}

static void rows_without_their_checksum_are_refused(void **state)
{
	struct stranger *s = *state;

	change(s, "UPDATE frames SET flags = 2 WHERE frame = 4", false);
	assert_refused(s, "table frames");
	change(s, "DELETE FROM gpu_spans WHERE frame = 2", false);
	assert_refused(s, "table gpu_spans");
	change(s, "DELETE FROM meta WHERE key = 'sum.markers'", false);
	assert_refused(s, "table markers");
	change(s, "UPDATE meta SET value = 'other' WHERE key = 'capture.name'", false);
	assert_refused(s, "table meta");
}

static void others_files_are_refused(void **state)
{
	struct stranger *s = *state;
	FILE *f;

	change(s, "PRAGMA user_version = 1000", false);
	assert_refused(s, "newer");
	change(s, "PRAGMA application_id = 1", false);
	assert_refused(s, "no capture");
	change(s, "PRAGMA journal_mode = WAL", false);
	assert_refused(s, "WAL");
	f = must(fopen(s->path, "we"));
	fputs("{\"traceEvents\": []}", f);
	fclose(f);
	assert_refused(s, "no capture");
	assert_int_equal(truncate(s->path, 0), 0);
	assert_refused(s, "no capture");
}

static void truncated_files_are_refused(void **state)
{
	struct stranger *s = *state;
	struct stat st;
	off_t size;

	assert_int_equal(stat(s->sound, &st), 0);
	for (size = st.st_size - 1; size > 0; size -= st.st_size / 40 + 1) {
		copy_file(s->sound, s->path);
		assert_int_equal(truncate(s->path, size), 0);
		assert_refused(s, "");
	}
}

/* A bit somewhere else: refused, or nothing that is read has changed. */
static void flipped_bits_are_found(void **state)
{
	struct stranger *s = *state;
	uint32_t noise = 7;
	unsigned refused = 0, i;
	struct stat st;

	assert_int_equal(stat(s->sound, &st), 0);
	for (i = 0; i < 30; i++) {
		char why[CAPTURE_WHY] = "";
		struct history *h;
		uint64_t id;
		FILE *f;
		long at;
		int c;

		noise = noise * 1664525u + 1013904223u;
		at = (long)((uint64_t)noise * (uint64_t)st.st_size >> 32);
		copy_file(s->sound, s->path);
		f = must(fopen(s->path, "r+e"));
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		c = fgetc(f);
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		fputc(c ^ 1 << noise % 8, f);
		fclose(f);
		if (upload(s->w, s->path, &id, why) < 0) {
			assert_true(why[0] != '\0');
			refused++;
			continue;
		}
		assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), 0);
		assert_same_frames(s->w->f.history, 1, h, id, 1, FRAMES);
		history_close(h);
		assert_int_equal(captures_delete(s->w->captures, id), 0);
	}
	print_message("%u of %u refused, the others changed nothing\n", refused, i);
	assert_true(refused > 0);
}

/* A bit flipped where rows are is found when a kept file is opened, too. */
static void damage_of_a_kept_file_is_found(void **state)
{
	struct stranger *s = *state;
	struct history *h;
	uint64_t id = save(s->w, 1, FRAMES);
	sqlite3 *db;
	char path[256];

	file_of(s->w, id, path, sizeof(path));
	assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), 0);
	history_close(h);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sql_exec(db, "UPDATE frames SET cpu_ns = 1 WHERE frame = 2"), 0);
	sqlite3_close(db);
	assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), -EBADMSG);
}

/* What version 3 had: it will never have anything else. */
static const char version_3[] =
	"'meta', 'sessions', 'session_totals', 'memories', 'markers', 'tracks', 'streams', "
	"'infos', 'chunks', 'gaps', 'frames', 'frame_counters', 'gpu_spans', 'frame_gpus', "
	"'ledger'";
static const char totals_of_version_3[] =
	"'session', 'state', 'end_reason', 'end_ns', 'end_unknown', 'threads_active', "
	"'frames_total', 'produced', 'received', 'stored', 'overwritten', 'dropped_reentrant', "
	"'discarded_malformed', 'discarded_time', 'discarded_quota', 'discarded_hook_mark', "
	"'discarded_not_recording', 'discarded_foreign_mark', 'unbalanced_ends', 'stray_ends', "
	"'truncated_zones', 'too_deep_zones', 'foreign_marks', 'times_backwards', 'late_events', "
	"'gpu_dropped', 'counters_refused', 'clock_steps', 'heads_backwards', 'gpu_missing', "
	"'refused_threads', 'refused_markers', 'refused_names', 'refused_truncated', "
	"'refused_events', 'refused_arguments', 'refused_6', 'refused_7', 'ring_fill_permille', "
	"'fault', 'threads_seen', 'next_track', 'chunk_bytes', 'evicted_before_ticks'";

/* Runs the statements that a query answers, one a row. */
static void run_answers(sqlite3 *db, const char *query)
{
	char *statements = must(calloc(1, 65536));
	sqlite3_stmt *stmt;
	size_t n = 0;

	assert_int_equal(sql_prepare(db, query, &stmt), 0);
	while (sql_step(stmt) == 1)
		n += (size_t)snprintf(statements + n, 65536 - n, "%s;",
				      sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	assert_int_equal(sql_exec(db, statements), 0);
	free(statements);
}

/* Makes the stranger's file one of version 3. */
static void make_old(struct stranger *s)
{
	char query[4096];
	sqlite3 *db;

	copy_file(s->sound, s->path);
	assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
	snprintf(query, sizeof(query),
		 "SELECT 'DROP TABLE ' || name FROM sqlite_schema WHERE type = 'table' AND name "
		 "NOT GLOB 'sqlite_*' AND name NOT IN (%s)",
		 version_3);
	run_answers(db, query);
	snprintf(query, sizeof(query),
		 "SELECT 'ALTER TABLE session_totals DROP COLUMN ' || name FROM "
		 "pragma_table_info('session_totals') WHERE name NOT IN (%s)",
		 totals_of_version_3);
	run_answers(db, query);
	assert_int_equal(sql_exec(db, "DELETE FROM meta WHERE key GLOB 'sum.*'; "
				      "ALTER TABLE ledger DROP COLUMN fill_permille; "
				      "PRAGMA user_version = 3"),
			 0);
	assert_int_equal(capture_sum_write(db), 0);
	sqlite3_close(db);
}

static void a_file_of_an_older_version_reads_the_same(void **state)
{
	struct stranger *s = *state;
	char why[CAPTURE_WHY] = "";
	struct stat before, after;
	struct history *h;
	uint64_t id = 0;

	make_old(s);
	assert_int_equal(stat(s->path, &before), 0);
	assert_int_equal(history_open_file(s->path, &h), 0);
	assert_same_frames(s->w->f.history, 1, h, s->id, 1, FRAMES);
	history_close(h);
	if (upload(s->w, s->path, &id, why) < 0)
		print_message("%s\n", why);
	assert_true(id > 0);
	assert_int_equal(captures_open(s->w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(s->w->f.history, 1, h, id, 1, FRAMES);
	history_close(h);
	assert_int_equal(stat(s->path, &after), 0);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_int_equal(before.st_size, after.st_size);
}

/* It is kept as it came, and given out under the name of now. */
static void a_file_of_an_older_version_takes_a_new_name(void **state)
{
	struct stranger *s = *state;
	char why[CAPTURE_WHY] = "";
	struct capture c;
	uint64_t id = 0;
	int fd;

	make_old(s);
	copy_file(s->path, s->sound);
	assert_int_equal(captures_edit(s->w->captures, s->id, "another", NULL), 0);
	assert_int_equal(captures_find(s->w->captures, s->id, HISTORY_ANY_UID, &c), 0);
	fd = captures_open_file(s->w->captures, &c);
	capture_deinit(&c);
	assert_true(fd > 0);
	assert_int_equal(captures_upload(s->w->captures, fd, NULL, 1001, &id, why), 0);
	close(fd);
	assert_int_equal(captures_find(s->w->captures, id, HISTORY_ANY_UID, &c), 0);
	assert_string_equal(c.name, "another");
	capture_deinit(&c);
}

static void an_older_version_with_more_in_it_is_refused(void **state)
{
	static const char *const changes[] = {
		"ALTER TABLE markers ADD COLUMN extra INTEGER",
		"CREATE TABLE extra (a)",
		"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, "
		"'AS (end_ns - begin_ns)', 'AS (abs(begin_ns))') WHERE name = 'frames'",
		"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, "
		"'pid             INTEGER NOT NULL', 'pid INTEGER NOT NULL CHECK (abs(pid) > 0)') "
		"WHERE name = 'sessions'",
	};
	struct stranger *s = *state;
	sqlite3 *db;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		make_old(s);
		assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
		assert_int_equal(capture_sum_write(db), 0);
		sqlite3_close(db);
		assert_refused(s, "");
	}
}

/* Somebody who adds a table says whether captures have it. */
static void every_table_is_copied_or_left_out(void **state)
{
	struct stranger *s = *state;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(s->sound, &db), SQLITE_OK);
	assert_int_equal(sql_prepare(db,
				     "SELECT name FROM sqlite_schema WHERE type = 'table' "
				     "AND name NOT GLOB 'sqlite_*'",
				     &stmt),
			 0);
	while (sql_step(stmt) == 1) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0), *table;
		const char *const *out;
		bool known = false;
		unsigned i;

		for (i = 0; (table = capture_copy_table(i)); i++)
			known = known || !strcmp(table, name);
		for (out = capture_copy_left_out; *out; out++)
			known = known || !strcmp(*out, name);
		if (!known)
			print_message("capture_copy.c does not know the table %s\n", name);
		assert_true(known);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(foreign_schemas_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_that_mean_nothing_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(neighbours_that_cannot_be_are_no_trouble, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_greatest_id_of_a_marker_is_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rows_without_their_checksum_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(others_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(truncated_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(flipped_bits_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_of_a_kept_file_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_of_an_older_version_reads_the_same, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_of_an_older_version_takes_a_new_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_older_version_with_more_in_it_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(every_table_is_copied_or_left_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
