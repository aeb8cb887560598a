/* SPDX-License-Identifier: MIT */
/*
 * What an earlier daemon left: files that were being made, which go; rows whose file somebody
 * removed, which go too; and sound captures without a row, which are listed again: their rows were
 * lost with a damaged fprofd.db, or the end came between the file's name and its row. They take
 * their room whether they are listed or not, so it is not asked for. What is not ours or not sound
 * is left where it is, and said.
 */
#include "captures.h"

#include "capture_check.h"
#include "capture_file.h"
#include "captures_impl.h"
#include "log.h"
#include "sql.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* What a file says of itself. */
static int read_capture(sqlite3 *db, struct capture *c)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_row row;
	int r = sql_prepare(db,
			    "SELECT s.id, s.uid, "
			    "(SELECT value FROM meta WHERE key = 'capture.source_session'), "
			    "(SELECT value FROM meta WHERE key = 'capture.kind'), "
			    "(SELECT value FROM meta WHERE key = 'capture.created_utc_ns'), "
			    "(SELECT value FROM meta WHERE key = 'capture.first_frame'), "
			    "(SELECT value FROM meta WHERE key = 'capture.last_frame'), "
			    "(SELECT value FROM meta WHERE key = 'capture.aggregate'), "
			    "(SELECT value FROM meta WHERE key = 'capture.name'), "
			    "(SELECT value FROM meta WHERE key = 'capture.note'), "
			    "(SELECT value FROM meta WHERE key = 'capture.reason') "
			    "FROM sessions AS s",
			    &stmt);

	if (r == 0)
		r = sql_step(stmt);
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	row = sql_row(stmt);
	c->session = row_uint(&row);
	c->uid = row_u32(&row);
	c->source_session = row_uint(&row);
	c->kind = (enum capture_kind)row_int(&row);
	c->created_utc_ns = row_uint(&row);
	c->first_frame = row_uint(&row);
	c->last_frame = row_uint(&row);
	c->aggregate = row_int(&row) != 0;
	c->name = row_text(&row);
	c->note = row_text(&row);
	c->reason_json = row_text(&row);
	return row.error < 0 ? row.error : c->name ? 0 : -EBADMSG;
}

/* Lists a file again under the id in its name. */
static int list_again(struct captures *captures, const char *file, const char *path, char *why)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	char expected[48];
	struct stat st;
	sqlite3 *db;
	int r = capture_verify(path, why);

	if (r == 0)
		r = capture_open_raw(path, &db);
	if (r < 0)
		return r;
	r = read_capture(db, &c);
	sqlite3_close(db);
	if (r < 0)
		return r;
	captures_file_name(c.session, expected, sizeof(expected));
	if (strcmp(expected, file) != 0 || stat(path, &st) < 0)
		return -EBADMSG;
	c.bytes = (uint64_t)st.st_size;
	c.file = strdup(file);
	return c.file ? captures_list_again(captures, &c) : -ENOMEM;
}

static void look_at(struct captures *captures, const captures_vec *list, const char *file)
{
	char path[DB_PATH_MAX + NAME_MAX], why[CAPTURE_WHY] = "";
	size_t i;
	int r;

	snprintf(path, sizeof(path), "%s/%s", captures->directory, file);
	if (ends_with(file, CAPTURE_FILE_TEMPORARY)) {
		unlink(path);
		return;
	}
	for (i = 0; i < list->count; i++)
		if (strcmp(list->at[i].file, file) == 0)
			return;
	if (!ends_with(file, ".fprof"))
		return;
	r = list_again(captures, file, path, why);
	if (r == 0)
		log_info("captures: %s is listed again", path);
	else
		log_warning("captures: %s is in no list and is left as it is: %s", path,
			    why[0] ? why : strerror(-r));
}

static void drop_lost(struct captures *captures, const captures_vec *list)
{
	char path[DB_PATH_MAX];
	size_t i;

	for (i = 0; i < list->count; i++) {
		captures_path(captures, list->at[i].file, path, sizeof(path));
		if (access(path, F_OK) == 0 || errno != ENOENT)
			continue;
		log_warning("captures: %s was removed by somebody: it is not listed any more",
			    path);
		captures_delete(captures, list->at[i].session);
	}
}

void captures_recover(struct captures *captures)
{
	__attribute__((cleanup(captures_vec_free))) captures_vec list = {0};
	DIR *dir = opendir(captures->directory);
	struct dirent *entry;

	if (!dir)
		return;
	if (captures_list(captures, HISTORY_ANY_UID, &list) == 0) {
		drop_lost(captures, &list);
		while ((entry = readdir(dir)))
			if (entry->d_type == DT_REG)
				look_at(captures, &list, entry->d_name);
	}
	closedir(dir);
}
