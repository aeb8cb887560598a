/* SPDX-License-Identifier: MIT */
/*
 * The list, and the readers of what is listed. fprofd.db has a row for each capture, its file is in
 * the directory beside it. A file is in its place before its row is written and goes after its row
 * was deleted, so that no row is without its file, but where the disk is too full for that.
 *
 * A file never changes once it is in its place. Before it is read for the first time all of it is
 * verified; what is known of it then holds as long as the file is the same one. Idle readers are
 * kept, since opening costs a millisecond or two.
 */
#include "captures.h"

#include "capture_check.h"
#include "capture_file.h"
#include "captures_impl.h"
#include "log.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MIB	(UINT64_C(1024) * 1024)
#define BUSY_MS 5000
#define COLUMNS                                                                          \
	"session, source_session, kind, uid, name, note, reason, file, created_utc_ns, " \
	"first_frame, last_frame, bytes, aggregate"

void capture_deinit(struct capture *capture)
{
	free(capture->name);
	free(capture->note);
	free(capture->reason_json);
	free(capture->file);
	memset(capture, 0, sizeof(*capture));
}

void captures_vec_free(captures_vec *captures)
{
	size_t i;

	for (i = 0; i < captures->count; i++)
		capture_deinit(&captures->at[i]);
	VEC_FREE(captures);
}

uint64_t captures_now_utc_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int captures_new(const struct config *config, struct store *store, struct captures **ret_captures)
{
	struct captures *c;

	if (strlen(config->state_dir) >= sizeof(c->state_dir))
		return -ENAMETOOLONG;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->store = store;
	c->limit_bytes = config->captures_mib * MIB;
	snprintf(c->state_dir, sizeof(c->state_dir), "%s", config->state_dir);
	snprintf(c->directory, sizeof(c->directory), "%s/captures", c->state_dir);
	snprintf(c->db_path, sizeof(c->db_path), "%s/fprofd.db", c->state_dir);
	pthread_mutex_init(&c->lock, NULL);
	captures_recover(c);
	*ret_captures = c;
	return 0;
}

void captures_set_status(struct captures *captures, struct status *status)
{
	captures->status = status;
}

void captures_free(struct captures *captures)
{
	if (!captures)
		return;
	while (captures->idle_count > 0)
		history_close(captures->idle[--captures->idle_count].history);
	sqlite3_close(captures->db);
	VEC_FREE(&captures->verified);
	pthread_mutex_destroy(&captures->lock);
	free(captures);
}

uint64_t captures_limit_bytes(const struct captures *captures)
{
	return captures->limit_bytes;
}

const char *captures_directory(const struct captures *captures)
{
	return captures->directory;
}

void captures_path(const struct captures *captures, const char *file, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", captures->directory, file);
}

int captures_prepare(struct captures *captures)
{
	if (mkdir(captures->directory, 0700) == 0)
		return capture_file_sync(captures->state_dir);
	return errno == EEXIST ? 0 : -errno;
}

/* Opens fprofd.db, and anew where the store moved a damaged one aside. The lock is held. */
static int open_list(struct captures *c)
{
	struct stat st;
	int r;

	if (c->db && stat(c->db_path, &st) == 0 && st.st_dev == c->db_dev && st.st_ino == c->db_ino)
		return 0;
	sqlite3_close(c->db);
	c->db = NULL;
	if (stat(c->state_dir, &st) < 0)
		return -errno;
	r = db_open(c->db_path, DB_STATE, false, &c->db);
	if (r < 0)
		return r;
	sqlite3_busy_timeout(c->db, BUSY_MS);
	if (stat(c->db_path, &st) < 0)
		return -errno;
	c->db_dev = st.st_dev;
	c->db_ino = st.st_ino;
	return 0;
}

/* Takes the lock and prepares a statement of the list. Ends with end_list, whatever it returned. */
static int begin_list(struct captures *c, const char *sql, sqlite3_stmt **ret_stmt)
{
	int r;

	pthread_mutex_lock(&c->lock);
	*ret_stmt = NULL;
	r = open_list(c);
	return r < 0 ? r : sql_prepare(c->db, sql, ret_stmt);
}

static void end_list(struct captures *c, sqlite3_stmt *stmt)
{
	sqlite3_finalize(stmt);
	pthread_mutex_unlock(&c->lock);
}

static int read_capture(sqlite3_stmt *stmt, struct capture *ret)
{
	struct sql_row row = sql_row(stmt);

	memset(ret, 0, sizeof(*ret));
	ret->session = row_uint(&row);
	ret->source_session = row_uint(&row);
	ret->kind = (enum capture_kind)row_int(&row);
	ret->uid = row_u32(&row);
	ret->name = row_text(&row);
	ret->note = row_text(&row);
	ret->reason_json = row_text(&row);
	ret->file = row_text(&row);
	ret->created_utc_ns = row_uint(&row);
	ret->first_frame = row_uint(&row);
	ret->last_frame = row_uint(&row);
	ret->bytes = row_uint(&row);
	ret->aggregate = row_int(&row) != 0;
	return row.error;
}

int captures_list(struct captures *captures, uint32_t uid, captures_vec *ret_captures)
{
	captures_vec list = {0};
	sqlite3_stmt *stmt;
	int r = begin_list(captures,
			   "SELECT " COLUMNS " FROM captures WHERE ?1 = 4294967295 OR uid = ?1 "
			   "ORDER BY session DESC",
			   &stmt);

	if (r == 0)
		sqlite3_bind_int64(stmt, 1, uid);
	while (r == 0 && (r = sql_step(stmt)) == 1) {
		r = VEC_RESERVE(&list, 1);
		if (r == 0)
			r = read_capture(stmt, &list.at[list.count++]);
	}
	end_list(captures, stmt);
	if (r < 0) {
		captures_vec_free(&list);
		return r;
	}
	*ret_captures = list;
	return 0;
}

int captures_find(struct captures *captures, uint64_t session, uint32_t uid,
		  struct capture *ret_capture)
{
	struct capture capture = {0};
	sqlite3_stmt *stmt;
	int r = begin_list(captures,
			   "SELECT " COLUMNS " FROM captures WHERE session = ?2 AND "
			   "(?1 = 4294967295 OR uid = ?1)",
			   &stmt);

	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, uid);
		sqlite3_bind_int64(stmt, 2, (int64_t)session);
		r = sql_step(stmt);
	}
	if (r == 1)
		r = read_capture(stmt, &capture);
	else if (r == 0)
		r = -ENOENT;
	end_list(captures, stmt);
	if (r < 0) {
		capture_deinit(&capture);
		return r;
	}
	*ret_capture = capture;
	return 0;
}

int captures_edit(struct captures *captures, uint64_t session, const char *name, const char *note)
{
	sqlite3_stmt *stmt;
	struct sql_binder b;
	int r = begin_list(captures,
			   "UPDATE captures SET name = ifnull(?, name), note = ifnull(?, note) "
			   "WHERE session = ?",
			   &stmt);

	if (r == 0) {
		b = sql_bind(stmt);
		bind_text(&b, name);
		bind_text(&b, note);
		bind_uint(&b, session);
		r = sql_run(&b);
	}
	if (r == 0 && sqlite3_changes(captures->db) == 0)
		r = -ENOENT;
	end_list(captures, stmt);
	return r;
}

/* The lock is held. */
static void forget(struct captures *c, uint64_t session)
{
	size_t i, kept = 0;

	for (i = 0; i < c->idle_count; i++) {
		if (c->idle[i].session == session)
			history_close(c->idle[i].history);
		else
			c->idle[kept++] = c->idle[i];
	}
	c->idle_count = kept;
	for (i = 0; i < c->verified.count; i++)
		if (c->verified.at[i].session == session)
			c->verified.at[i--] = c->verified.at[--c->verified.count];
}

/* The lock is held. */
static int delete_row(struct captures *c, uint64_t session)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = open_list(c);

	if (r == 0)
		r = sql_prepare(c->db, "DELETE FROM captures WHERE session = ?", &stmt);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, (int64_t)session);
	return sql_step(stmt);
}

static void remove_file(const char *path)
{
	if (unlink(path) < 0 && errno != ENOENT)
		log_warning("captures: %s: cannot be removed: %s, ignoring it", path,
			    strerror(errno));
}

/* On a full disk the row cannot even be deleted before its file has made room. If the end comes
 * between the two, the row without a file goes with the next beginning. */
int captures_delete(struct captures *captures, uint64_t session)
{
	struct capture capture;
	char path[DB_PATH_MAX];
	int r = captures_find(captures, session, HISTORY_ANY_UID, &capture);

	if (r < 0)
		return r;
	captures_path(captures, capture.file, path, sizeof(path));
	capture_deinit(&capture);
	pthread_mutex_lock(&captures->lock);
	r = delete_row(captures, session);
	if (r == 0 || r == -ENOSPC) {
		forget(captures, session);
		remove_file(path);
	}
	if (r == -ENOSPC)
		r = delete_row(captures, session);
	pthread_mutex_unlock(&captures->lock);
	return r;
}

/* The lock is held. */
static int room_left(struct captures *c, uint64_t bytes)
{
	int64_t used = 0;
	int r = sql_int(c->db, "SELECT ifnull(sum(bytes), 0) FROM captures", &used);

	if (r < 0)
		return r;
	return count_add((uint64_t)used, bytes) > c->limit_bytes ? -EDQUOT : 0;
}

int captures_check_room(struct captures *captures, uint64_t bytes)
{
	int r;

	pthread_mutex_lock(&captures->lock);
	r = open_list(captures);
	if (r == 0)
		r = room_left(captures, bytes);
	pthread_mutex_unlock(&captures->lock);
	return r;
}

static int insert(sqlite3_stmt *stmt, const struct capture *capture)
{
	struct sql_binder b = sql_bind(stmt);

	bind_uint(&b, capture->session);
	bind_uint(&b, capture->source_session);
	bind_int(&b, capture->kind);
	bind_uint(&b, capture->uid);
	bind_text(&b, capture->name);
	bind_text(&b, capture->note);
	bind_text(&b, capture->reason_json);
	bind_text(&b, capture->file);
	bind_uint(&b, capture->created_utc_ns);
	bind_uint(&b, capture->first_frame);
	bind_uint(&b, capture->last_frame);
	bind_uint(&b, capture->bytes);
	bind_int(&b, capture->aggregate);
	return sql_run(&b);
}

static int enter(struct captures *captures, const struct capture *capture, bool checks_room)
{
	sqlite3_stmt *stmt;
	int r = begin_list(captures,
			   "INSERT INTO captures (" COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
			   &stmt);

	if (r == 0 && checks_room)
		r = room_left(captures, capture->bytes);
	if (r == 0)
		r = insert(stmt, capture);
	end_list(captures, stmt);
	return r;
}

int captures_list_again(struct captures *captures, const struct capture *capture)
{
	return enter(captures, capture, false);
}

int captures_enter_or_remove(struct captures *captures, struct capture *capture)
{
	char path[DB_PATH_MAX];
	struct stat st;
	int r;

	captures_path(captures, capture->file, path, sizeof(path));
	r = stat(path, &st) < 0 ? -errno : 0;
	if (r == 0) {
		capture->bytes = (uint64_t)st.st_size;
		r = enter(captures, capture, true);
	}
	if (r < 0)
		unlink(path);
	return r;
}

static struct captures_verified note_of(uint64_t session, const struct stat *st)
{
	return (struct captures_verified){session, st->st_dev, st->st_ino, st->st_size,
					  st->st_ctim.tv_sec * INT64_C(1000000000) +
						  st->st_ctim.tv_nsec};
}

/* The lock is held. */
static bool is_verified(const struct captures *c, const struct captures_verified *note)
{
	size_t i;

	for (i = 0; i < c->verified.count; i++) {
		const struct captures_verified *v = &c->verified.at[i];

		if (v->session == note->session)
			return v->dev == note->dev && v->ino == note->ino &&
			       v->bytes == note->bytes && v->changed_ns == note->changed_ns;
	}
	return false;
}

/* The lock is held. What cannot be noted is verified again next time. */
static void note_verified(struct captures *c, const struct captures_verified *note)
{
	size_t i;

	for (i = 0; i < c->verified.count; i++) {
		if (c->verified.at[i].session == note->session) {
			c->verified.at[i] = *note;
			return;
		}
	}
	if (c->verified.count < CAPTURES_VERIFIED_MAX)
		(void)VEC_PUSH(&c->verified, *note);
}

static int verify(struct captures *c, uint64_t session, const char *path)
{
	struct captures_verified note;
	char why[CAPTURE_WHY];
	struct stat st;
	bool known;
	int r;

	if (stat(path, &st) < 0)
		return -errno;
	note = note_of(session, &st);
	pthread_mutex_lock(&c->lock);
	known = is_verified(c, &note);
	pthread_mutex_unlock(&c->lock);
	if (known)
		return 0;
	r = capture_verify(path, why);
	if (r < 0) {
		log_warning("captures: %s: %s", path, why);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	pthread_mutex_lock(&c->lock);
	note_verified(c, &note);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

int captures_open(struct captures *captures, uint64_t session, uint32_t uid,
		  struct history **ret_history)
{
	struct capture capture;
	char path[DB_PATH_MAX];
	int r = captures_find(captures, session, uid, &capture);

	if (r < 0)
		return r;
	captures_path(captures, capture.file, path, sizeof(path));
	capture_deinit(&capture);
	r = verify(captures, session, path);
	if (r == 0)
		r = history_open_file(path, ret_history);
	return r == -ENOENT ? -EIO : r; /* listed, and yet not there */
}

int captures_peek(struct captures *captures, const struct capture *capture,
		  struct history **ret_history)
{
	char path[DB_PATH_MAX];

	captures_path(captures, capture->file, path, sizeof(path));
	return history_open_file(path, ret_history);
}

int captures_take(struct captures *captures, uint64_t session, uint32_t uid,
		  struct history **ret_history)
{
	struct capture capture;
	size_t i;
	int r = captures_find(captures, session, uid, &capture);

	if (r < 0)
		return r;
	capture_deinit(&capture);
	pthread_mutex_lock(&captures->lock);
	for (i = captures->idle_count; i-- > 0;) {
		if (captures->idle[i].session != session)
			continue;
		*ret_history = captures->idle[i].history;
		captures->idle_count--;
		memmove(captures->idle + i, captures->idle + i + 1,
			(captures->idle_count - i) * sizeof(captures->idle[0]));
		pthread_mutex_unlock(&captures->lock);
		return 0;
	}
	pthread_mutex_unlock(&captures->lock);
	return captures_open(captures, session, uid, ret_history);
}

/* The oldest, which has to make room, or NULL. The lock is held. */
static struct history *keep_idle(struct captures *c, uint64_t session, struct history *history)
{
	struct history *oldest = NULL;

	if (c->idle_count == CAPTURES_IDLE_MAX) {
		oldest = c->idle[0].history;
		c->idle_count--;
		memmove(c->idle, c->idle + 1, c->idle_count * sizeof(c->idle[0]));
	}
	c->idle[c->idle_count++] = (struct captures_reader){session, history};
	return oldest;
}

void captures_put(struct captures *captures, uint64_t session, struct history *history)
{
	sqlite3_stmt *stmt;
	int r;

	if (!history)
		return;
	/* what was deleted meanwhile would keep its file's room */
	r = begin_list(captures, "SELECT 1 FROM captures WHERE session = ?", &stmt);
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, (int64_t)session);
		r = sql_step(stmt);
	}
	if (r == 1)
		history = keep_idle(captures, session, history);
	end_list(captures, stmt);
	history_close(history);
}
