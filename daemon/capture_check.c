/* SPDX-License-Identifier: MIT */
/*
 * What is done with a file before anything of it is believed.
 *
 * SQLite reads it without locks, without a WAL, and without executing what a schema may hold: no
 * triggers, no views, no functions but harmless ones. Its schema must be ours word for word; of an
 * older version, where the words are those of then and of the steps that led here, table by table
 * and column by column. Then the trees are checked, so that no later scan is endless, then each row
 * against the checksums. All of it within a budget of SQLite's own steps, since a file of some
 * pages can describe a tree of any size.
 */
#include "capture_check.h"

#include "capture_sum.h"
#include "sql.h"
#include "store_db.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROW_BYTES_MAX	(64 * 1024 * 1024)
#define STEPS_PER_CALL	100000
#define STEPS_PER_BYTE	100
#define STEPS_BASE	100000000
#define SCHEMA_ROWS_MAX 200
#define SCHEMA_TEXT_MAX 65536

/* All of a schema, one line an object, in one order. */
static const char schema_lines[] =
	"SELECT type || char(10) || name || char(10) || tbl_name || char(10) || "
	"ifnull(sql, '') FROM main.sqlite_schema ORDER BY type, name";

/* What the tables of a migrated database must have in common with a new one: their columns, which
 * may stand in another order, and the columns of their indexes. */
static const char *const structure[] = {
	"SELECT type || ' ' || name || ' ' || tbl_name FROM main.sqlite_schema ORDER BY 1",
	"SELECT t.name || ' ' || t.type || ' ' || t.wr || ' ' || t.strict "
	"FROM pragma_table_list AS t WHERE t.schema = 'main' ORDER BY 1",
	"SELECT t.name || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || "
	"ifnull(c.dflt_value, '-') || ' ' || c.pk || ' ' || c.hidden "
	"FROM main.sqlite_schema AS t, pragma_table_xinfo(t.name, 'main') AS c "
	"WHERE t.type = 'table' ORDER BY 1",
	"SELECT t.name || ' ' || i.name || ' ' || i.\"unique\" || ' ' || i.partial || ' ' || "
	"x.seqno || ' ' || ifnull(x.name, '') || ' ' || x.\"desc\" || ' ' || x.coll || ' ' || "
	"x.key "
	"FROM main.sqlite_schema AS t, pragma_index_list(t.name, 'main') AS i, "
	"pragma_index_xinfo(i.name, 'main') AS x WHERE t.type = 'table' AND x.key = 1 ORDER BY 1",
};

struct budget {
	uint64_t calls, limit;
};

static int on_progress(void *userdata)
{
	struct budget *budget = userdata;

	return ++budget->calls > budget->limit;
}

void capture_uri(const char *path, char *uri, size_t size)
{
	db_uri(path, "mode=ro&immutable=1", uri, size);
}

int capture_harden(sqlite3 *db)
{
	static const int off[] = {
		SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
		SQLITE_DBCONFIG_ENABLE_VIEW,	SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
		SQLITE_DBCONFIG_DQS_DDL,	SQLITE_DBCONFIG_DQS_DML};
	size_t i;
	int r = sql_errno(sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL));

	for (i = 0; i < ARRAY_SIZE(off) && r == 0; i++)
		r = sql_errno(sqlite3_db_config(db, off[i], 0, NULL));
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);
	sqlite3_extended_result_codes(db, 1);
	return r < 0 ? r : sql_exec(db, "PRAGMA cell_size_check=ON");
}

int capture_open_raw(const char *path, sqlite3 **ret_db)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	char uri[DB_URI_MAX];
	sqlite3 *db = NULL;
	int r;

	capture_uri(path, uri, sizeof(uri));
	r = sql_errno(sqlite3_open_v2(uri, &db, flags, NULL));
	if (r == 0)
		r = capture_harden(db);
	if (r == 0)
		r = sql_exec(db, "PRAGMA query_only=ON");
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

/* Of whose make, and which version? */
static int read_version(sqlite3 *db, int64_t *ret_version)
{
	int64_t version = 0, application = 0;
	int r = sql_int(db, "PRAGMA application_id", &application);

	if (r >= 0)
		r = sql_int(db, "PRAGMA user_version", &version);
	if (r < 0)
		return r;
	if (application != DB_APPLICATION_ID || version < 1)
		return -EBADMSG;
	if (version > schema_current().version)
		return -ENOTSUP;
	*ret_version = version;
	return 0;
}

/* A copy of this program's version in a temporary database that ends with the connection. */
static int open_migrated(sqlite3 *from, sqlite3 **ret_db)
{
	struct schema schema = schema_current();
	sqlite3 *db = NULL;
	sqlite3_backup *backup;
	int r = sql_errno(
		sqlite3_open_v2("", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));

	if (r == 0) {
		backup = sqlite3_backup_init(db, "main", from, "main");
		r = backup ? sql_errno(sqlite3_backup_step(backup, -1)) : -ENOMEM;
		sqlite3_backup_finish(backup);
	}
	if (r == 0)
		r = capture_harden(db);
	if (r == 0)
		r = schema_apply(db, &schema);
	if (r == 0)
		r = sql_exec(db, "PRAGMA query_only=ON");
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

int capture_open(const char *path, sqlite3 **ret_db)
{
	sqlite3 *db, *migrated;
	int64_t version;
	int r = capture_open_raw(path, &db);

	if (r < 0)
		return r;
	r = read_version(db, &version);
	if (r == 0 && version < schema_current().version) {
		r = open_migrated(db, &migrated);
		sqlite3_close(db);
		db = r == 0 ? migrated : NULL;
	}
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

int capture_bring_forward(const char *path)
{
	struct schema schema = schema_current();
	sqlite3 *db = NULL;
	int64_t version;
	int r = sql_errno(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));

	if (r == 0)
		r = capture_harden(db);
	if (r == 0)
		r = read_version(db, &version);
	if (r == 0 && version < schema.version)
		r = schema_apply(db, &schema);
	sqlite3_close(db);
	return r;
}

static int refuse(char *why, const char *reason, int error)
{
	snprintf(why, CAPTURE_WHY, "%s", reason);
	return error;
}

/* The rows of one column of both are the same: 1, 0, -errno. */
static int same_rows(sqlite3 *a, sqlite3 *b, const char *sql)
{
	_cleanup_stmt_ sqlite3_stmt *sa = NULL, *sb = NULL;
	const char *ta, *tb;
	int r = sql_prepare(a, sql, &sa), rb;

	if (r == 0)
		r = sql_prepare(b, sql, &sb);
	while (r == 0) {
		r = sql_step(sa);
		rb = sql_step(sb);
		if (r < 0 || rb < 0)
			return MIN(r, rb);
		if (r != rb)
			return 0;
		if (r == 0)
			return 1;
		ta = (const char *)sqlite3_column_text(sa, 0);
		tb = (const char *)sqlite3_column_text(sb, 0);
		r = ta && tb && strcmp(ta, tb) == 0 ? 0 : 1;
	}
	return r < 0 ? r : 0;
}

/* Before anything of the schema is used: how much there is of it, and that it is tables, indexes
 * and views, all with a place in the file. */
static int check_objects(sqlite3 *db, char *why)
{
	static const struct {
		const char *count, *reason;
		int64_t limit;
	} rules[] = {
		{"SELECT count(*) FROM main.sqlite_schema WHERE type = 'trigger'",
		 "it has triggers", 0},
		{"SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' "
		 "AND (rootpage IS NULL OR rootpage < 1)",
		 "it has virtual tables", 0},
		{"SELECT count(*) + ifnull(max(length(sql)), 0) / 65536 * 1000 "
		 "FROM main.sqlite_schema",
		 "its schema is absurdly large", SCHEMA_ROWS_MAX},
	};
	int64_t count = 0;
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		r = sql_int(db, rules[i].count, &count);
		if (r < 0)
			return r;
		if (count > rules[i].limit)
			return refuse(why, rules[i].reason, -EBADMSG);
	}
	return 0;
}

static int open_model(sqlite3 **ret_db)
{
	struct schema schema = schema_current();
	sqlite3 *db = NULL;
	int r = sql_errno(sqlite3_open_v2(":memory:", &db,
					  SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));

	if (r == 0)
		r = schema_apply(db, &schema);
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

/* The text without comments, with single spaces, in lower case: bytes enough are there. */
static void simplify(const char *sql, char *out)
{
	char last = ' ';

	while (*sql) {
		if (sql[0] == '-' && sql[1] == '-') {
			sql += strcspn(sql, "\n");
			continue;
		}
		char c = (char)(isspace((unsigned char)*sql) ? ' ' : tolower((unsigned char)*sql));

		if (c != ' ' || last != ' ')
			*out++ = c;
		last = c;
		sql++;
	}
	*out = '\0';
}

/* Has a table of ours what the lists of its columns do not tell: rules, computed columns? */
static bool is_plain(const char *name, char *sql)
{
	static const char wall[] = " as (end_ns - begin_ns) virtual";
	static const char *const words[] = {" check", "references ", "generated ", "collate ",
					    " as (",  " as(",	     "default (",  "'",
					    "\"",     "/*"};
	char *found = strcmp(name, "frames") == 0 ? strstr(sql, wall) : NULL;
	size_t i;

	if (found)
		memset(found, ' ', strlen(wall));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(sql, words[i]))
			return false;
	return true;
}

/* 1: all tables and indexes are plain; 0: one is not; -errno. */
static int are_plain(sqlite3 *db)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db,
			    "SELECT name, sql FROM main.sqlite_schema "
			    "WHERE type <> 'view' AND sql IS NOT NULL",
			    &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *sql = (const char *)sqlite3_column_text(stmt, 1);
		_cleanup_free_ char *simple = sql ? malloc(strlen(sql) + 1) : NULL;

		if (!name || !simple)
			return -ENOMEM;
		simplify(sql, simple);
		if (!is_plain(name, simple))
			return 0;
		r = 0;
	}
	return r < 0 ? r : 1;
}

static int compare_structure(sqlite3 *db, sqlite3 *model)
{
	size_t i;
	int r = are_plain(db);

	for (i = 0; i < ARRAY_SIZE(structure) && r == 1; i++)
		r = same_rows(db, model, structure[i]);
	return r;
}

/* Is the schema what schema.sql makes? */
static int check_schema(sqlite3 *db, bool migrated, char *why)
{
	sqlite3 *model;
	int r = open_model(&model);

	if (r == 0) {
		r = migrated ? compare_structure(db, model) : same_rows(db, model, schema_lines);
		sqlite3_close(model);
	}
	if (r == 0)
		return refuse(why, "its tables, indexes or views are not those of a capture",
			      -EBADMSG);
	return MIN(r, 0);
}

static int check_trees(sqlite3 *db, char *why)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	const char *text;
	int r = sql_prepare(db, "PRAGMA main.integrity_check(1)", &stmt);

	if (r == 0)
		r = sql_step(stmt);
	if (r < 0)
		return r;
	text = r == 1 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (text && strcmp(text, "ok") == 0)
		return 0;
	snprintf(why, CAPTURE_WHY, "it is damaged: %.160s", text ? text : "it cannot be read");
	return -EBADMSG;
}

static int check_sessions(sqlite3 *db, char *why)
{
	int64_t count = 0;
	int r = sql_int(db,
			"SELECT (SELECT count(*) FROM main.sessions) = 1 AND "
			"(SELECT count(*) FROM main.session_totals) = 1 AND "
			"(SELECT max(id) FROM main.sessions) = "
			"(SELECT max(session) FROM main.session_totals)",
			&count);

	if (r >= 0 && count != 1)
		return refuse(why, "a capture has one session", -EBADMSG);
	return MIN(r, 0);
}

static int verify_raw(sqlite3 *db, bool old, char *why)
{
	int r = check_objects(db, why);

	if (r == 0 && !old)
		r = check_schema(db, false, why);
	if (r == 0)
		r = check_trees(db, why);
	if (r == 0)
		r = capture_sum_verify(db, why, CAPTURE_WHY);
	return r == 0 ? check_sessions(db, why) : r;
}

static int verify_migrated(sqlite3 *raw, char *why)
{
	sqlite3 *db;
	int r = open_migrated(raw, &db);

	if (r == 0) {
		r = check_schema(db, true, why);
		sqlite3_close(db);
	}
	return r;
}

static int verify_open(sqlite3 *db, char *why)
{
	int64_t version;
	bool old;
	int r = read_version(db, &version);

	if (r == -ENOTSUP)
		return refuse(why, "it was made by a newer version of fprofd", r);
	if (r == -EBADMSG)
		return refuse(why, "it is no capture of fprof", r);
	if (r < 0)
		return r;
	old = version < schema_current().version;
	r = verify_raw(db, old, why);
	return r == 0 && old ? verify_migrated(db, why) : r;
}

/* A big-endian number of the header. */
static uint64_t header_number(const unsigned char *p, size_t bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* Does the file have as many pages as it says? SQLite would take a part of a page for a whole one.
 */
static bool is_whole(const unsigned char *head, uint64_t bytes)
{
	uint64_t page = header_number(head + 16, 2), pages = header_number(head + 28, 4);

	return bytes == (page == 1 ? 65536 : page) * pages;
}

/* The file's header, before SQLite sees it: its magic, its size, no WAL beside it. */
static int check_header(const char *path, char *why, uint64_t *ret_bytes)
{
	static const char magic[16] = "SQLite format 3";
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned char head[100];
	struct stat st;

	if (!f || fstat(fileno(f), &st) < 0)
		return -errno;
	if (fread(head, 1, sizeof(head), f) != sizeof(head) || memcmp(head, magic, 16) != 0)
		return refuse(why, "it is no capture of fprof", -EBADMSG);
	if (head[18] != 1 || head[19] != 1)
		return refuse(why, "part of it is in another file: a WAL", -EBADMSG);
	if (!is_whole(head, (uint64_t)st.st_size))
		return refuse(why, "it is cut short", -EBADMSG);
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

int capture_verify(const char *path, char *why)
{
	struct budget budget = {0};
	uint64_t bytes = 0;
	sqlite3 *db;
	int r;

	why[0] = '\0';
	r = check_header(path, why, &bytes);
	if (r == 0)
		r = capture_open_raw(path, &db);
	if (r == 0) {
		budget.limit = (STEPS_BASE + bytes * STEPS_PER_BYTE) / STEPS_PER_CALL;
		sqlite3_progress_handler(db, STEPS_PER_CALL, on_progress, &budget);
		r = verify_open(db, why);
		sqlite3_close(db);
	}
	if (r == -EBADMSG && !why[0])
		return refuse(why, "it is damaged", r);
	if (r < 0 && !why[0])
		snprintf(why, CAPTURE_WHY, "it cannot be read: %.100s", strerror(-r));
	return r;
}
