/* SPDX-License-Identifier: MIT */
/*
 * All databases of fprofd have the shape of schema.sql; user_version says which version of it, and
 * application_id that the file is ours. A page has 16 KiB: measured with chunks of 40 KiB and
 * eviction running, 4 KiB pages took 304 MB/s, 16 KiB 686, 64 KiB 548 and left 40% of each page
 * empty; small commits cost 159, 149 and 237 us.
 *
 * A connection to a file must never be joined by a plain open() and close() of the same file in
 * this process: POSIX would drop SQLite's locks. Only stat(), rename() and unlink() are used here.
 */
#include "store_db.h"

#include "assets.h"
#include "sql.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SCHEMA_VERSION 12
#define ASIDE_KEEP     2

#define FRAME_COLUMNS                                                                        \
	"session, stream, frame, engine_id, t0, t1, begin_ns, end_ns, cpu_ns, wait_gpu_ns, " \
	"wait_present_ns, wait_cap_ns, events, lost_events, flags, track"

/* Version 3: what is not known is NULL in every column. A column is made nullable by copying. */
static const char nullable[] =
	"ALTER TABLE session_totals ADD COLUMN gpu_missing INTEGER NOT NULL DEFAULT 0;"
	"DROP VIEW frame_times;"
	"ALTER TABLE frames RENAME TO frames_2;"
	"CREATE TABLE frames (session INTEGER NOT NULL, stream INTEGER NOT NULL, "
	"frame INTEGER NOT NULL, engine_id INTEGER, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, "
	"begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, cpu_ns INTEGER, wait_gpu_ns INTEGER, "
	"wait_present_ns INTEGER, wait_cap_ns INTEGER, events INTEGER NOT NULL, "
	"lost_events INTEGER NOT NULL, flags INTEGER NOT NULL, track INTEGER NOT NULL, "
	"wall_ns INTEGER NOT NULL AS (end_ns - begin_ns) VIRTUAL, "
	"PRIMARY KEY (session, stream, frame)) STRICT, WITHOUT ROWID;"
	"INSERT INTO frames (" FRAME_COLUMNS ") SELECT " FRAME_COLUMNS " FROM frames_2;"
	"DROP TABLE frames_2;"
	"UPDATE frames SET cpu_ns = NULL WHERE cpu_ns = -9223372036854775808;"
	"ALTER TABLE frame_gpus RENAME TO frame_gpus_2;"
	"CREATE TABLE frame_gpus (session INTEGER NOT NULL, frame INTEGER NOT NULL, "
	"track INTEGER NOT NULL, span_ns INTEGER, busy_ns INTEGER, spans INTEGER NOT NULL, "
	"missing INTEGER NOT NULL, final INTEGER NOT NULL, "
	"PRIMARY KEY (session, frame, track)) STRICT, WITHOUT ROWID;"
	"INSERT INTO frame_gpus SELECT session, frame, track, iif(spans > 0, span_ns, NULL), "
	"iif(spans > 0, busy_ns, NULL), spans, missing, final FROM frame_gpus_2;"
	"DROP TABLE frame_gpus_2;"
	"CREATE VIEW frame_times AS SELECT f.session, f.frame, f.begin_ns, f.wall_ns, f.cpu_ns, "
	"(SELECT CASE WHEN min(g.final) = 1 AND max(g.missing) = 0 THEN max(g.span_ns) END "
	"FROM frame_gpus g WHERE g.session = f.session AND g.frame = f.frame) AS gpu_ns, "
	"f.wait_gpu_ns, f.wait_present_ns, f.wait_cap_ns, f.events, f.lost_events, f.flags "
	"FROM frames f WHERE f.stream = 0";

/* Version 4: sessions of sums. */
static const char aggregates[] =
	"CREATE TABLE aggregate_groups (session INTEGER NOT NULL, group_id INTEGER NOT NULL, "
	"frame INTEGER NOT NULL, flags INTEGER NOT NULL, name TEXT NOT NULL, "
	"PRIMARY KEY (session, group_id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE aggregate_nodes (session INTEGER NOT NULL, seq INTEGER NOT NULL, "
	"node INTEGER NOT NULL, frame INTEGER NOT NULL, parent INTEGER, tool_id INTEGER NOT NULL, "
	"group_id INTEGER NOT NULL, name TEXT NOT NULL, "
	"PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE aggregate_frames (session INTEGER NOT NULL, first_frame INTEGER NOT NULL, "
	"last_frame INTEGER NOT NULL, data BLOB NOT NULL, "
	"PRIMARY KEY (session, first_frame)) STRICT";

/* Version 5: captures are listed. */
static const char captures[] =
	"CREATE TABLE captures (session INTEGER PRIMARY KEY, source_session INTEGER NOT NULL, "
	"kind INTEGER NOT NULL, uid INTEGER NOT NULL, name TEXT NOT NULL, note TEXT, reason TEXT, "
	"file TEXT NOT NULL, created_utc_ns INTEGER NOT NULL, first_frame INTEGER NOT NULL, "
	"last_frame INTEGER NOT NULL, bytes INTEGER NOT NULL, aggregate INTEGER NOT NULL) STRICT";

/* Version 6: what is read from outside. */
static const char samples[] =
	"CREATE TABLE sampled (session INTEGER NOT NULL, counter INTEGER NOT NULL, "
	"name TEXT NOT NULL, module TEXT NOT NULL, source TEXT NOT NULL, unit INTEGER NOT NULL, "
	"cumulative INTEGER NOT NULL, PRIMARY KEY (session, counter)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE samples (session INTEGER NOT NULL, ns INTEGER NOT NULL, "
	"counter INTEGER NOT NULL, value INTEGER NOT NULL, "
	"PRIMARY KEY (session, ns, counter)) STRICT, WITHOUT ROWID";

/* Version 8: what the scheduler did. */
static const char scheds[] =
	"CREATE TABLE sched_chunks (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, "
	"tid INTEGER NOT NULL, t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, "
	"records INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
	"CREATE INDEX sched_chunks_by_time ON sched_chunks (session, t1)";

/* Version 10: what zones came to over a session. Of what is evicted nobody knows; neither of
 * captures, but for what came from other tools. */
static const char totals[] =
	"ALTER TABLE session_totals ADD COLUMN zones_counted_to INTEGER;"
	"ALTER TABLE session_totals ADD COLUMN spans_counted_to INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE session_totals ADD COLUMN zones_uncounted INTEGER NOT NULL DEFAULT 0;"
	"UPDATE session_totals SET zones_counted_to = 0 WHERE evicted_before_ticks IS NULL AND "
	"ifnull((SELECT value FROM meta WHERE key = 'capture.kind'), 4) = 4;"
	"CREATE TABLE zone_totals (session INTEGER NOT NULL, node INTEGER NOT NULL, "
	"parent INTEGER, marker INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT, "
	"calls INTEGER NOT NULL, total_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, "
	"max_begin_ns INTEGER NOT NULL, max_frame INTEGER, "
	"PRIMARY KEY (session, node)) STRICT, WITHOUT ROWID";

/* Version 11: stacks. */
static const char stacks[] =
	"CREATE TABLE stack_chunks (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, "
	"t0 INTEGER NOT NULL, t1 INTEGER NOT NULL, samples INTEGER NOT NULL, "
	"data BLOB NOT NULL) STRICT;"
	"CREATE INDEX stack_chunks_by_time ON stack_chunks (session, t1);"
	"CREATE TABLE stack_modules (session INTEGER NOT NULL, module INTEGER NOT NULL, "
	"path TEXT NOT NULL, build_id TEXT, symbols TEXT, reason TEXT, "
	"PRIMARY KEY (session, module)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE stack_symbols (session INTEGER NOT NULL, module INTEGER NOT NULL, "
	"lo INTEGER NOT NULL, hi INTEGER NOT NULL, name TEXT, "
	"PRIMARY KEY (session, module, lo)) STRICT, WITHOUT ROWID";

/* Version 12: what threads ran, of which there was a counter before, and what is around a capture.
 */
static const char ran[] =
	"CREATE TABLE thread_ran (session INTEGER NOT NULL, tid INTEGER NOT NULL, "
	"ns INTEGER NOT NULL, ran_ns INTEGER NOT NULL, "
	"PRIMARY KEY (session, tid, ns)) STRICT, WITHOUT ROWID;"
	"INSERT OR IGNORE INTO thread_ran SELECT a.session, CAST(substr(b.name, 18) AS INTEGER), "
	"a.ns, "
	"a.value * 1000000 FROM samples AS a JOIN sampled AS b USING (session, counter) "
	"WHERE b.name GLOB 'frame_thread_ran_*' AND a.value BETWEEN 0 AND 9000000000000;"
	"DELETE FROM samples WHERE (session, counter) IN (SELECT session, counter FROM sampled "
	"WHERE name GLOB 'frame_thread_ran_*');"
	"DELETE FROM sampled WHERE name GLOB 'frame_thread_ran_*';"
	"CREATE TABLE frames_around (session INTEGER NOT NULL, stream INTEGER NOT NULL, "
	"frame INTEGER NOT NULL, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, "
	"cpu_ns INTEGER, track INTEGER NOT NULL, "
	"PRIMARY KEY (session, stream, frame)) STRICT, WITHOUT ROWID;"
	"ALTER TABLE ledger ADD COLUMN fill_permille INTEGER NOT NULL DEFAULT 0";

static const struct schema_step schema_steps[] = {
	{2,
	 "ALTER TABLE session_totals ADD COLUMN end_unknown INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE session_totals ADD COLUMN discarded_foreign_mark INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE ledger ADD COLUMN discarded_foreign_mark INTEGER NOT NULL DEFAULT 0"},
	{3, nullable},
	{4, aggregates},
	{5, captures},
	{6, samples},
	{7, "ALTER TABLE session_totals ADD COLUMN recording INTEGER NOT NULL DEFAULT 1;"
	    "ALTER TABLE session_totals ADD COLUMN recording_in_force INTEGER NOT NULL DEFAULT 1;"
	    "ALTER TABLE session_totals ADD COLUMN detail TEXT"},
	{8, scheds},
	{9, "CREATE INDEX sched_chunks_by_thread ON sched_chunks (session, tid, t1)"},
	{10, totals},
	{11, stacks},
	{12, ran},
};

struct schema schema_current(void)
{
	return (struct schema){.sql = assets_text("schema.sql"),
			       .version = SCHEMA_VERSION,
			       .steps = schema_steps,
			       .step_count = ARRAY_SIZE(schema_steps)};
}

static int apply_step(sqlite3 *db, const char *sql, int version)
{
	char mark[96];
	int r;

	snprintf(mark, sizeof(mark), "PRAGMA user_version=%d; PRAGMA application_id=%d", version,
		 DB_APPLICATION_ID);
	r = sql_exec(db, "BEGIN IMMEDIATE");
	if (r < 0)
		return r;
	r = sql_exec(db, sql);
	if (r == 0)
		r = sql_exec(db, mark);
	if (r == 0)
		r = sql_exec(db, "COMMIT");
	if (r < 0)
		sql_exec(db, "ROLLBACK");
	return r;
}

static int migrate(sqlite3 *db, const struct schema *schema, int version)
{
	size_t i;
	int r = 0;

	for (i = 0; i < schema->step_count && r == 0; i++)
		if (schema->steps[i].version > version)
			r = apply_step(db, schema->steps[i].sql, schema->steps[i].version);
	return r;
}

int schema_apply(sqlite3 *db, const struct schema *schema)
{
	int64_t version = 0, application = 0, tables = 0;
	int r = sql_int(db, "PRAGMA user_version", &version);

	if (r >= 0)
		r = sql_int(db, "PRAGMA application_id", &application);
	if (r >= 0)
		r = sql_int(db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (r < 0)
		return r;
	if (tables == 0)
		return apply_step(db, schema->sql, schema->version);
	if (application != DB_APPLICATION_ID || version < 1)
		return -EBADMSG;
	if (version > schema->version)
		return -ENOTSUP;
	return migrate(db, schema, (int)version);
}

static const char *pragmas_of(enum db_kind kind)
{
	switch (kind) {
	case DB_HISTORY:
		return "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
		       "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=4194304";
	case DB_MEMORY:
		return "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF";
	default:
		return "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL";
	}
}

/* quick_check answers "ok", or up to one line that says what is wrong. */
static int check_integrity(sqlite3 *db)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db, "PRAGMA quick_check(1)", &stmt);

	if (r == 0)
		r = sql_step(stmt);
	if (r < 0)
		return r;
	if (r == 0 || strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
		return -EBADMSG;
	return 0;
}

static int prepare_file(sqlite3 *db, enum db_kind kind, bool check)
{
	struct schema schema = schema_current();
	char page[64];
	int r;

	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, 250);
	snprintf(page, sizeof(page), "PRAGMA page_size=%d; PRAGMA secure_delete=OFF",
		 kind == DB_STATE ? 4096 : DB_PAGE_BYTES);
	r = sql_exec(db, page);
	if (r == 0)
		r = sql_exec(db, pragmas_of(kind));
	if (r == 0 && check)
		r = check_integrity(db);
	if (r == 0)
		r = schema_apply(db, &schema);
	return r;
}

int db_open(const char *path, enum db_kind kind, bool check, sqlite3 **ret_db)
{
	int flags =
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	sqlite3 *db = NULL;
	int r;

	check = check && kind != DB_MEMORY && access(path, F_OK) == 0;
	r = sql_errno(sqlite3_open_v2(path, &db, flags, NULL));
	if (r == 0)
		r = prepare_file(db, kind, check);
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

int db_open_reader(const char *path, sqlite3 **ret_db)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	sqlite3 *db = NULL;
	int r = sql_errno(sqlite3_open_v2(path, &db, flags, NULL));

	if (r == 0) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, 1000);
		r = sql_exec(db, "PRAGMA query_only=ON; PRAGMA wal_autocheckpoint=0");
	}
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

void db_remove(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char name[DB_PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

/* The oldest file of a directory whose name starts with prefix (names end in UTC, so the least),
 * and how many there are. WALs go with their files. */
static size_t find_oldest(DIR *dir, const char *prefix, char *ret_oldest, size_t size)
{
	struct dirent *entry;
	size_t count = 0;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		if (length > 4 && (!strcmp(entry->d_name + length - 4, "-wal") ||
				   !strcmp(entry->d_name + length - 4, "-shm")))
			continue;
		if (count++ == 0 || strcmp(entry->d_name, ret_oldest) < 0)
			snprintf(ret_oldest, size, "%s", entry->d_name);
	}
	return count;
}

static void remove_old_asides(const char *path, const char *why)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_free_ char *copy2 = strdup(path);
	char prefix[DB_PATH_MAX], oldest[DB_PATH_MAX], full[2 * DB_PATH_MAX];
	const char *directory;
	DIR *dir;

	if (!copy || !copy2)
		return;
	directory = dirname(copy);
	snprintf(prefix, sizeof(prefix), "%s.%s-", basename(copy2), why);
	dir = opendir(directory);
	if (!dir)
		return;
	while (find_oldest(dir, prefix, oldest, sizeof(oldest)) > ASIDE_KEEP) {
		snprintf(full, sizeof(full), "%s/%s", directory, oldest);
		if (unlink(full) < 0)
			break;
		snprintf(full, sizeof(full), "%s/%s-wal", directory, oldest);
		unlink(full);
	}
	closedir(dir);
}

/* path.why-20261130T002511.123456Z: sorts by time, and two in one second differ. */
static void aside_name(const char *path, const char *why, char *name, size_t size)
{
	struct timespec now;
	struct tm tm;
	char utc[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(utc, sizeof(utc), "%Y%m%dT%H%M%S", &tm);
	snprintf(name, size, "%s.%s-%s.%06ldZ", path, why, utc, now.tv_nsec / 1000);
}

int db_move_aside(const char *path, const char *why, char *ret_name, size_t size)
{
	char name[DB_PATH_MAX], from[DB_PATH_MAX + 8], to[DB_PATH_MAX + 8];

	aside_name(path, why, name, sizeof(name));
	if (rename(path, name) < 0)
		return -errno;
	snprintf(from, sizeof(from), "%s-wal", path);
	snprintf(to, sizeof(to), "%s-wal", name);
	rename(from, to);
	snprintf(from, sizeof(from), "%s-shm", path);
	unlink(from);
	remove_old_asides(path, why);
	if (ret_name)
		snprintf(ret_name, size, "%s", name);
	return 0;
}

static const char names_tables[] = "'meta','sessions','session_totals','memories','markers',"
				   "'tracks','streams','infos','ledger'";

/* table_info leaves generated columns out, as it should. */
static int copy_table(sqlite3 *db, const char *table)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char *sql;
	int r;

	r = sql_prepare(db, "SELECT group_concat(name) FROM pragma_table_info(?1, 'main')", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	r = sql_step(stmt);
	if (r <= 0)
		return r;
	sql = sqlite3_mprintf("INSERT OR REPLACE INTO other.%Q(%s) SELECT %s FROM main.%Q", table,
			      sqlite3_column_text(stmt, 0), sqlite3_column_text(stmt, 0), table);
	if (!sql)
		return -ENOMEM;
	r = sql_exec(db, sql);
	sqlite3_free(sql);
	return r;
}

static int copy_tables(sqlite3 *db, enum db_copy what)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	char sql[256];
	int r;

	snprintf(sql, sizeof(sql), "SELECT name FROM other.sqlite_schema WHERE type='table'%s%s%s",
		 what == DB_COPY_NAMES ? " AND name IN (" : "",
		 what == DB_COPY_NAMES ? names_tables : "", what == DB_COPY_NAMES ? ")" : "");
	r = sql_prepare(db, sql, &stmt);
	while (r == 0 && (r = sql_step(stmt)) == 1) {
		r = copy_table(db, (const char *)sqlite3_column_text(stmt, 0));
		if (r == -EBADMSG && what == DB_COPY_NAMES)
			r = 0;
	}
	return r;
}

void db_uri(const char *path, const char *query, char *uri, size_t size)
{
	size_t n = (size_t)snprintf(uri, size, "file:");

	for (; *path && n + 4 < size; path++) {
		bool plain = strchr("%?#", *path) == NULL;

		n += (size_t)snprintf(uri + n, size - n, plain ? "%c" : "%%%02X", *path);
	}
	snprintf(uri + n, size - n, "?%s", query);
}

int db_copy_rows(sqlite3 *from, const char *to, enum db_copy what)
{
	char uri[DB_URI_MAX], *attach;
	int r;

	if (strncmp(to, "file:", 5) == 0)
		snprintf(uri, sizeof(uri), "%s", to);
	else
		db_uri(to, "vfs=unix", uri, sizeof(uri)); /* main's may be memory */
	attach = sqlite3_mprintf("ATTACH %Q AS other", uri);
	if (!attach)
		return -ENOMEM;
	r = sql_exec(from, attach);
	sqlite3_free(attach);
	if (r < 0)
		return r;
	r = sql_exec(from, "BEGIN");
	if (r == 0)
		r = copy_tables(from, what);
	if (r == 0)
		r = sql_exec(from, "COMMIT");
	if (r < 0)
		sql_exec(from, "ROLLBACK");
	sql_exec(from, "DETACH other");
	return r;
}

int db_copy_pages(sqlite3 *from, const char *path)
{
	sqlite3_backup *backup;
	sqlite3 *to = NULL;
	int r;

	db_remove(path);
	r = sql_errno(sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
	if (r == 0)
		r = sql_exec(to, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF");
	if (r == 0) {
		backup = sqlite3_backup_init(to, "main", from, "main");
		r = backup ? 0 : sql_errno(sqlite3_errcode(to));
		if (backup) {
			r = sql_errno(sqlite3_backup_step(backup, -1));
			sqlite3_backup_finish(backup);
		}
	}
	sqlite3_close(to);
	if (r < 0)
		db_remove(path);
	return r;
}
