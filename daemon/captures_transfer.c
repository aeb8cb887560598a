/* SPDX-License-Identifier: MIT */
/*
 * Files that come in and go out.
 *
 * What comes in is copied to a temporary file and verified there; one of an older version is
 * brought forward in that copy. Then its rows are written anew into a file that we make, with our
 * schema and an id of ours, and looked at there: nothing of the stranger's file but its rows is
 * kept.
 */
#include "captures.h"

#include "capture_check.h"
#include "capture_copy.h"
#include "capture_file.h"
#include "capture_rows.h"
#include "capture_sum.h"
#include "captures_impl.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 256
#define COPY_BYTES     (1u << 20)

static int copy_bytes(int from, int to)
{
	_cleanup_free_ char *buffer = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n;
	int r = buffer ? 0 : -ENOMEM;

	while (r == 0) {
		n = pread(from, buffer, COPY_BYTES, at);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		r = write_all(to, buffer, (size_t)n);
		at += n;
	}
	return r;
}

/* A copy of an open file under a temporary name in the directory, which the caller removes. */
static int make_copy(const struct captures *c, int from, char *path, size_t size)
{
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(path, size, "%s/copy-XXXXXX%s", c->directory, CAPTURE_FILE_TEMPORARY);
	fd = mkostemps(path, (int)strlen(CAPTURE_FILE_TEMPORARY), O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_bytes(from, fd);
	if (r < 0)
		unlink(path);
	return r;
}

/* An upload in progress. */
struct upload {
	struct captures *captures;
	struct capture capture;
	char *own_name, *own_note, *own_reason; /* what the file says of itself */
	int64_t end_ticks;
	struct capture_file *file;
	char *why;
};

static int read_text(sqlite3 *db, const char *key, char **ret)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_prepare(db,
			    "SELECT value FROM source.meta WHERE key = ? "
			    "AND typeof(value) = 'text' AND length(value) BETWEEN 1 AND 65536 "
			    "AND is_text(value)",
			    &stmt);
	struct sql_row row;

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
	r = sql_step(stmt);
	if (r == 1) {
		row = sql_row(stmt);
		*ret = row_text(&row);
		r = row.error;
	}
	return r;
}

static int read_number(sqlite3 *db, const char *key, int64_t *ret)
{
	char sql[160];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT value FROM source.meta WHERE key = '%s' AND typeof(value) = 'integer'",
		 key);
	r = sql_int(db, sql, ret);
	return MIN(r, 0);
}

/* What the file says of itself, as far as it makes sense. */
static int read_meta(sqlite3 *db, struct upload *u)
{
	int64_t aggregate = 0, created = 0;
	int64_t valid = 0, sources = 1;
	int r = read_text(db, "capture.name", &u->own_name);

	if (r == 0)
		r = read_text(db, "capture.note", &u->own_note);
	if (r == 0)
		r = read_text(db, "capture.reason", &u->own_reason);
	if (r == 0)
		r = sql_int(db,
			    "SELECT json_valid(value) FROM source.meta "
			    "WHERE key = 'capture.reason' AND typeof(value) = 'text'",
			    &valid);
	if (r >= 0)
		r = sql_int(db,
			    "SELECT is_text(value) AND json_valid(value) AND json_type(value) = "
			    "'array' AND length(value) <= 65536 FROM source.meta "
			    "WHERE key = 'capture.sources'",
			    &sources);
	if (r >= 0)
		r = read_number(db, "capture.aggregate", &aggregate);
	if (r == 0)
		r = read_number(db, "capture.created_utc_ns", &created);
	if (r == 0)
		r = read_number(db, "capture.end_ticks", &u->end_ticks);
	if (r < 0)
		return r;
	if (!sources)
		return -EBADMSG;
	u->capture.note = u->own_note;
	u->capture.reason_json = valid ? u->own_reason : NULL;
	u->capture.aggregate = aggregate == 1;
	if (!u->capture.name && u->own_name && strlen(u->own_name) <= NAME_MAX_BYTES)
		u->capture.name = u->own_name;
	return 0;
}

static int read_bounds(sqlite3 *db, struct capture *capture)
{
	int64_t first = 0, last = 0;
	int r = sql_int(db, "SELECT ifnull(min(frame), 0) FROM main.frames WHERE stream = 0",
			&first);

	if (r >= 0)
		r = sql_int(db, "SELECT ifnull(max(frame), 0) FROM main.frames WHERE stream = 0",
			    &last);
	capture->first_frame = (uint64_t)first;
	capture->last_frame = (uint64_t)last;
	return MIN(r, 0);
}

static int copy_rows(sqlite3 *db, struct upload *u)
{
	struct capture_copy copy = {
		.whole = true, .session = u->capture.session, .uid = u->capture.uid};
	int64_t id = 0;
	int r = sql_int(db, "SELECT id FROM source.sessions", &id);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	copy.source = (uint64_t)id;
	return capture_copy(db, &copy);
}

/* Rows of other sessions than the one would be left out in silence. */
static int check_strays(sqlite3 *db, struct upload *u)
{
	const char *table;
	int64_t stray = 0;
	char sql[160];
	unsigned i;
	int r = 0;

	for (i = 1; r >= 0 && !stray && (table = capture_copy_table(i)); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT EXISTS (SELECT 1 FROM source.%s WHERE session <> "
			 "(SELECT id FROM source.sessions))",
			 table);
		r = sql_int(db, sql, &stray);
	}
	if (r < 0 || !stray)
		return MIN(r, 0);
	snprintf(u->why, CAPTURE_WHY, "a row means nothing: it is of no session that is there");
	return -EBADMSG;
}

/* From the attached file into ours. What the schema refuses is the file's fault. */
static int take_rows(struct upload *u)
{
	sqlite3 *db = capture_file_db(u->file);
	int r = check_strays(db, u);

	if (r == 0)
		r = copy_rows(db, u);
	if (r == -EINVAL) {
		snprintf(u->why, CAPTURE_WHY, "rows of it mean nothing");
		return -EBADMSG;
	}
	if (r == 0)
		r = capture_rows_check(db, u->why);
	if (r == 0)
		r = read_meta(db, u);
	if (r == 0)
		r = read_bounds(db, &u->capture);
	return r;
}

static int attach_and_take(struct upload *u, const char *path)
{
	sqlite3 *db = capture_file_db(u->file);
	char uri[DB_URI_MAX];
	int r, end;

	capture_uri(path, uri, sizeof(uri));
	r = captures_attach(db, uri);
	if (r == 0)
		r = sql_exec(db, "BEGIN");
	if (r < 0)
		return r;
	r = take_rows(u);
	end = sql_exec(db, "COMMIT");
	if (r == 0)
		r = end;
	end = sql_exec(db, "DETACH source");
	return r < 0 ? r : end;
}

static int make_own(struct upload *u, const char *path)
{
	char name[48];
	sqlite3 *db;
	int r = capture_file_new(u->captures->directory, &u->file);

	if (r < 0)
		return r;
	db = capture_file_db(u->file);
	r = capture_harden(db);
	if (r == 0)
		r = attach_and_take(u, path);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "upload %" PRIu64, u->capture.session);
	if (!u->capture.name)
		u->capture.name = name;
	r = sql_exec(db, "BEGIN");
	if (r == 0)
		r = captures_write_meta(db, &u->capture, u->end_ticks);
	if (r == 0)
		r = captures_write_sources(u->captures, db, path);
	if (r == 0)
		r = capture_file_finish(u->file, u->capture.file);
	return r == 0 ? captures_enter_or_remove(u->captures, &u->capture) : r;
}

/* A file of an older version that is ours alone becomes one of this version. */
static int take_in(struct upload *u, const char *path)
{
	int r = capture_verify(path, u->why);

	if (r == 0)
		r = capture_bring_forward(path);
	return r == 0 ? make_own(u, path) : r;
}

int captures_upload(struct captures *captures, int fd, const char *name, uint32_t uid,
		    uint64_t *ret_session, char *why)
{
	char path[DB_PATH_MAX], file[48];
	struct upload u = {
		.captures = captures,
		.capture = {.kind = CAPTURE_UPLOADED,
			    .uid = uid,
			    .name = (char *)name,
			    .file = file,
			    .created_utc_ns = captures_now_utc_ns()},
		.end_ticks = INT64_MAX,
		.why = why,
	};
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : captures_prepare(captures);

	why[0] = '\0';
	if (r == 0)
		r = captures_check_room(captures, (uint64_t)st.st_size);
	if (r == 0)
		r = make_copy(captures, fd, path, sizeof(path));
	if (r < 0)
		return r;
	u.capture.session = captures_next_id(captures);
	captures_file_name(u.capture.session, file, sizeof(file));
	r = take_in(&u, path);
	unlink(path);
	capture_file_free(u.file);
	free(u.own_name);
	free(u.own_note);
	free(u.own_reason);
	if (r == -EBADMSG && !why[0])
		snprintf(why, CAPTURE_WHY, "it is damaged");
	if (r == 0)
		*ret_session = u.capture.session;
	return r;
}

/* Has it the name and the note that its file has? 1, 0, -errno. */
static int is_as_filed(const char *path, const struct capture *capture)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t same = 0;
	int r = capture_open_raw(path, &db);

	if (r == 0)
		r = sql_prepare(db,
				"SELECT (SELECT value FROM meta WHERE key = 'capture.name') IS ?1 "
				"AND (SELECT value FROM meta WHERE key = 'capture.note') IS ?2",
				&stmt);
	if (r == 0) {
		sqlite3_bind_text(stmt, 1, capture->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, capture->note, -1, SQLITE_STATIC);
		r = sql_int_of(stmt, &same);
	}
	sqlite3_finalize(stmt);
	stmt = NULL;
	sqlite3_close(db);
	return r < 0 ? r : same != 0;
}

static int write_names(sqlite3 *db, const struct capture *capture)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	int r = sql_prepare(db,
			    "INSERT OR REPLACE INTO meta (key, value) SELECT * FROM "
			    "(VALUES ('capture.name', ?), ('capture.note', ?)) "
			    "WHERE column2 IS NOT NULL",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_text(&b, capture->name);
	bind_text(&b, capture->note);
	return sql_run(&b);
}

/* Of a file that is ours alone. */
static int rename_copy(const char *path, const struct capture *capture)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	sqlite3 *db = NULL;
	int r = sql_errno(sqlite3_open_v2(path, &db, flags, NULL)), end;

	if (r == 0)
		r = sql_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
	if (r == 0)
		r = write_names(db, capture);
	if (r == 0)
		r = capture_sum_write_meta(db);
	if (r == 0)
		r = sql_exec(db, "COMMIT");
	end = sql_errno(sqlite3_close(db));
	return r < 0 ? r : end;
}

/* A copy with the name and note of now, open and without a name. */
static int open_renamed(struct captures *c, int fd, const struct capture *capture)
{
	char path[DB_PATH_MAX];
	int r = make_copy(c, fd, path, sizeof(path)), copy;

	if (r < 0)
		return r;
	r = rename_copy(path, capture);
	copy = r == 0 ? open(path, O_RDONLY | O_CLOEXEC) : r;
	if (r == 0 && copy < 0)
		copy = -errno;
	unlink(path);
	return copy;
}

int captures_open_file(struct captures *captures, const struct capture *capture)
{
	_cleanup_close_ int fd = -1;
	char path[DB_PATH_MAX];
	int r;

	captures_path(captures, capture->file, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = is_as_filed(path, capture);
	if (r == 0)
		return open_renamed(captures, fd, capture);
	return r < 0 ? r : util_take_fd(&fd);
}
