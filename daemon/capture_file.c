/* SPDX-License-Identifier: MIT */
/*
 * A file that is being made: a temporary name, no journal and no sync while it is filled, since a
 * file that is not finished is removed. One transaction holds all of it. What makes it a capture is
 * the end: checksums, commit, close, fsync, rename, fsync of the directory; only then is there a
 * file of that name.
 *
 * Rows are written by the store's row writer, so a capture's rows are what the history's are; a row
 * that the schema refuses is an error here, since nothing in a file may be missing in silence.
 */
#include "capture_file.h"

#include "capture_sum.h"
#include "sql.h"
#include "store_db.h"
#include "store_write.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct capture_file {
	char directory[DB_PATH_MAX - 64], path[DB_PATH_MAX]; /* path "": there is no file */
	sqlite3 *db;
	struct row_writer *writer;
	struct stored_sessions sessions;
	struct write_totals totals;
};

static int make_temporary(struct capture_file *file)
{
	int fd;

	snprintf(file->path, sizeof(file->path), "%s/new-XXXXXX%s", file->directory,
		 CAPTURE_FILE_TEMPORARY);
	fd = mkostemps(file->path, (int)strlen(CAPTURE_FILE_TEMPORARY), O_CLOEXEC);
	if (fd < 0) {
		file->path[0] = '\0';
		return -errno;
	}
	close(fd);
	return 0;
}

static int open_database(struct capture_file *file)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	struct schema schema = schema_current();
	char pragmas[128];
	int r = sql_errno(sqlite3_open_v2(file->path, &file->db, flags, NULL));

	if (r < 0)
		return r;
	sqlite3_extended_result_codes(file->db, 1);
	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA main.page_size=%d; PRAGMA main.journal_mode=OFF;"
		 "PRAGMA main.synchronous=OFF; PRAGMA main.cache_size=-16384",
		 DB_PAGE_BYTES);
	r = sql_exec(file->db, pragmas);
	if (r == 0)
		r = schema_apply(file->db, &schema);
	return r;
}

int capture_file_new(const char *directory, struct capture_file **ret_file)
{
	struct capture_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return -ENOMEM;
	r = (size_t)snprintf(file->directory, sizeof(file->directory), "%s", directory) <
			    sizeof(file->directory)
		    ? 0
		    : -ENAMETOOLONG;
	if (r == 0)
		r = make_temporary(file);
	if (r == 0)
		r = open_database(file);
	if (r < 0) {
		capture_file_free(file);
		return r;
	}
	*ret_file = file;
	return 0;
}

static int begin(struct capture_file *file)
{
	return sqlite3_get_autocommit(file->db) ? sql_exec(file->db, "BEGIN") : 0;
}

int capture_file_write(struct capture_file *file, const struct batch *batch)
{
	int r = file->db ? begin(file) : -EBADF;

	if (r == 0 && !file->writer)
		r = row_writer_new(file->db, &file->sessions, &file->writer);
	if (r == 0)
		r = row_writer_batch(file->writer, batch, &file->totals);
	if (r == 0 && file->totals.rows_refused > 0)
		r = -EINVAL;
	return r;
}

sqlite3 *capture_file_db(struct capture_file *file)
{
	return file->db;
}

static int close_database(struct capture_file *file)
{
	int r;

	row_writer_free(file->writer);
	file->writer = NULL;
	r = sql_errno(sqlite3_close(file->db));
	file->db = NULL;
	return r;
}

/* What zones came to, of all that the file has. */
static int count_zones(const struct capture_file *file)
{
	size_t i;
	int r = 0;

	for (i = 0; i < file->sessions.all.count && r == 0; i++) {
		struct stored_session *s = file->sessions.all.at[i];

		struct zone_totals totals;

		r = zone_totals_open(file->db, s->id, &s->mark, INT64_MIN, &totals);
		if (r < 0)
			return r;
		r = zone_totals_write(file->db, s->id, &totals);
		s->mark.chunks = s->mark.spans = ZONE_TOTALS_ALL;
		s->mark.uncounted = totals.mark.uncounted;
		zone_totals_deinit(&totals);
	}
	return r;
}

/* The last rows, the sums. */
static int seal(struct capture_file *file)
{
	int r = file->db ? begin(file) : -EBADF;

	if (r == 0)
		r = count_zones(file);
	if (r == 0 && file->writer)
		r = row_writer_sessions(file->writer);
	if (r == 0)
		r = capture_sum_write(file->db);
	if (r == 0)
		r = sql_exec(file->db, "COMMIT");
	return r;
}

int capture_file_sync(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

int capture_file_finish(struct capture_file *file, const char *name)
{
	char path[DB_PATH_MAX];
	int r = seal(file);

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", file->directory, name) >= sizeof(path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = close_database(file);
	if (r == 0)
		r = capture_file_sync(file->path);
	if (r == 0 && rename(file->path, path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	file->path[0] = '\0';
	r = capture_file_sync(file->directory);
	if (r < 0)
		unlink(path);
	return r;
}

void capture_file_free(struct capture_file *file)
{
	if (!file)
		return;
	close_database(file);
	if (file->path[0])
		unlink(file->path);
	stored_sessions_deinit(&file->sessions);
	free(file);
}
