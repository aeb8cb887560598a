/* SPDX-License-Identifier: MIT */
/*
 * The history lives in one SQLite file in WAL mode. Things can happen to it, and each ends with
 * readers being told to open it anew (generation):
 *
 * - No space, read-only, I/O error: its rows move into a database in memory; the disk is tried
 *   again later, and the rows move back into a new file that replaces the old one.
 * - Damage: the file is moved aside, a new one begins with the names that can still be read
 *   (sessions, markers, tracks), and live sessions are written again from the copies that are kept
 *   of them.
 * - A WAL held by a foreign reader's transaction, or a lock held by a foreign writer: the database
 *   is copied page by page and the copy renamed over it; the foreigner keeps the old file until it
 *   closes.
 * - Somebody removed or replaced the file or its WAL: the same, as our descriptors still have all
 *   of it.
 *
 * The order of that rename matters: first the copy over the file, then the old WAL is unlinked. A
 * crash between the two leaves the copy with the old WAL, and replaying that is harmless, since the
 * copy has the same pages with all of it applied. The foreigner's own close does not touch our WAL:
 * SQLite sees that the file under its name is another one.
 */
#include "store_history.h"

#include "log.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB		     (1024u * 1024u)
#define CHECKPOINT_BYTES_MAX (4u * MIB)
#define PINNED_BYTES_MAX     (16u * MIB)
#define MEMORY_SLACK	     (64 * (int64_t)MIB)

/* A WAL is written back at this size, ... */
static uint64_t checkpoint_bytes(const struct store_history *h)
{
	return MIN((uint64_t)CHECKPOINT_BYTES_MAX, h->budget_bytes / 16);
}

/* ... and given up when it could not be up to this one. */
static uint64_t pinned_bytes(const struct store_history *h)
{
	return MIN((uint64_t)PINNED_BYTES_MAX, h->budget_bytes / 4);
}

static int on_commit(void *userdata, sqlite3 *db, const char *name, int pages)
{
	struct store_history *h = userdata;

	(void)db;
	(void)name;
	h->wal_pages = pages;
	return SQLITE_OK;
}

static void close_database(struct store_history *h)
{
	row_writer_free(h->writer);
	evictor_free(h->evictor);
	sqlite3_close(h->db);
	h->writer = NULL;
	h->evictor = NULL;
	h->db = NULL;
	h->wal_pages = 0;
}

/* Uses db from here on. When that fails db is closed and all is as it was. */
static int use_database(struct store_history *h, sqlite3 *db)
{
	struct row_writer *writer = NULL;
	struct evictor *evictor = NULL;
	int r = row_writer_new(db, &h->sessions, &writer);

	if (r == 0)
		r = evictor_new(db, &h->sessions, &evictor);
	if (r == 0)
		r = stored_sessions_load(&h->sessions, db);
	if (r < 0) {
		row_writer_free(writer);
		evictor_free(evictor);
		sqlite3_close(db);
		return r;
	}
	close_database(h);
	h->db = db;
	h->writer = writer;
	h->evictor = evictor;
	sqlite3_wal_hook(db, on_commit, h);
	return 0;
}

/* Tells readers. */
static void set_place(struct store_history *h, enum store_place where, const char *path)
{
	pthread_mutex_lock(&h->lock);
	h->place.where = where;
	h->place.is_uri = where == STORE_IN_MEMORY;
	h->place.generation++;
	snprintf(h->place.path, sizeof(h->place.path), "%s", path);
	pthread_mutex_unlock(&h->lock);
}

static void set_reason(struct store_history *h, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void set_reason(struct store_history *h, const char *format, ...)
{
	va_list ap;

	pthread_mutex_lock(&h->lock);
	va_start(ap, format);
	vsnprintf(h->place.reason, sizeof(h->place.reason), format, ap);
	va_end(ap);
	pthread_mutex_unlock(&h->lock);
}

static const char *why(int error)
{
	switch (error) {
	case -ENOSPC:
		return "no space left";
	case -EROFS:
		return "not writable";
	case -ENOENT:
		return "cannot be opened or made";
	case -ENOTSUP:
		return "made by a newer fprofd";
	case -EBADMSG:
		return "damaged";
	default:
		return strerror(-error);
	}
}

/* Sessions that the database lost are written again; what they had recorded before is gone. */
static int restore_sessions(struct store_history *h)
{
	size_t i;
	int r = sql_exec(h->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	for (i = 0; i < h->sessions.all.count && r == 0; i++) {
		struct stored_session *s = h->sessions.all.at[i];

		s->evicted_before = MAX(s->evicted_before, s->newest_t1);
		s->chunk_bytes = 0;
		s->mark.chunks = ZONE_TOTALS_UNKNOWN;
		s->touched = true;
		if (!s->stored && s->has_row)
			r = row_writer_restore(h->writer, s);
	}
	if (r == 0)
		r = row_writer_sessions(h->writer);
	r = r < 0 ? r : sql_exec(h->db, "COMMIT");
	if (r < 0)
		sql_exec(h->db, "ROLLBACK");
	else
		stored_sessions_settle(&h->sessions);
	return r;
}

static int open_memory(struct store_history *h, char *uri, size_t size, sqlite3 **ret_db)
{
	sqlite3_int64 limit = (sqlite3_int64)h->budget_bytes + MEMORY_SLACK;
	int r;

	snprintf(uri, size, "file:/fprof-history-%ld-%u?vfs=memdb", (long)getpid(), ++h->memories);
	r = db_open(uri, DB_MEMORY, false, ret_db);
	if (r == 0)
		sqlite3_file_control(*ret_db, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit);
	return r;
}

/* Replaces the database by db, under the lock that keeps readers out. */
static int switch_to(struct store_history *h, sqlite3 *db, enum store_place where, const char *path)
{
	int r;

	pthread_rwlock_wrlock(&h->use);
	r = use_database(h, db);
	if (r == 0)
		set_place(h, where, path);
	pthread_rwlock_unlock(&h->use);
	return r;
}

static int move_to_memory(struct store_history *h, int error)
{
	char uri[96];
	sqlite3 *db;
	int r = open_memory(h, uri, sizeof(uri), &db), copied = -ENOENT;

	if (r < 0)
		return r;
	if (h->db)
		copied = db_copy_rows(h->db, uri, DB_COPY_ALL);
	if (copied < 0 && h->db)
		db_copy_rows(h->db, uri, DB_COPY_NAMES);
	r = switch_to(h, db, STORE_IN_MEMORY, uri);
	if (r == 0 && copied < 0)
		r = restore_sessions(h);
	if (r < 0)
		return r;
	set_reason(h, "%s: %s; history goes on in memory", h->path, why(error));
	log_warning("history: %s: %s; it goes on in memory until that changes", h->path,
		    why(error));
	return 0;
}

/* A directory that nobody made yet. */
static int make_dir(const char *dir)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Moves what cannot be used out of the way and begins anew. */
static int begin_anew(struct store_history *h, int error, sqlite3 **ret_db)
{
	char aside[DB_PATH_MAX];
	int r = db_move_aside(h->path, error == -ENOTSUP ? "newer" : "corrupt", aside,
			      sizeof(aside));

	if (r < 0)
		return r;
	set_reason(h, "%s was %s: begun anew, the old one is %s", h->path, why(error), aside);
	log_warning("history: %s was %s: begun anew, the old one is %s", h->path, why(error),
		    aside);
	return db_open(h->path, DB_HISTORY, false, ret_db);
}

static int open_disk(struct store_history *h)
{
	char left_over[DB_PATH_MAX];
	sqlite3 *db;
	int r = make_dir(h->dir);

	if (r < 0)
		return r;
	snprintf(left_over, sizeof(left_over), "%s.new", h->path);
	db_remove(left_over);
	r = db_open(h->path, DB_HISTORY, true, &db);
	if (r == -EBADMSG || r == -ENOTSUP)
		r = begin_anew(h, r, &db);
	return r < 0 ? r : switch_to(h, db, STORE_ON_DISK, h->path);
}

int store_history_init(struct store_history *h, const struct config *config)
{
	pthread_rwlockattr_t attr;
	int r;

	memset(h, 0, sizeof(*h));
	h->budget_bytes = (uint64_t)config->history_mib * MIB;
	h->session_bytes = (uint64_t)config->history_session_mib * MIB;
	h->frames = config->history_frames;
	if (strlen(config->history_dir) >= sizeof(h->dir))
		return -ENAMETOOLONG;
	snprintf(h->dir, sizeof(h->dir), "%s", config->history_dir);
	snprintf(h->path, sizeof(h->path), "%s/history.db", config->history_dir);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&h->use, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&h->lock, NULL);
	r = open_disk(h);
	if (r < 0)
		r = move_to_memory(h, r);
	if (r < 0)
		store_history_deinit(h);
	return r;
}

void store_history_deinit(struct store_history *h)
{
	close_database(h);
	stored_sessions_deinit(&h->sessions);
	pthread_rwlock_destroy(&h->use);
	pthread_mutex_destroy(&h->lock);
}

static struct evict_limits limits_of(const struct store_history *h)
{
	uint64_t wal = h->place.where == STORE_ON_DISK ? MAX(h->wal_bytes, checkpoint_bytes(h)) : 0;

	return (struct evict_limits){
		.frames = h->frames,
		.pages_bytes = h->budget_bytes - MIN(wal, h->budget_bytes / 2),
		.session_bytes = h->session_bytes,
	};
}

/* What the chunks of batches will take, by how they compressed so far. */
static uint64_t expected_bytes(const struct store_history *h, const struct batch *first,
			       const struct batch *end)
{
	uint64_t raw = 0, rows = 0;
	const struct batch *b;

	for (b = first; b != end; b = b->next) {
		raw += b->bytes;
		rows += b->chunks.count;
	}
	if (h->written.raw_bytes > MIB)
		raw = (uint64_t)((double)raw * (double)h->written.stored_bytes /
				 (double)h->written.raw_bytes);
	return raw + raw / 8 + rows * 128;
}

/* Frames come in order: the last of a session's is its newest. */
static int make_way(struct store_history *h, const struct evict_limits *limits,
		    const struct batch *b, struct evict_totals *evicted)
{
	uint64_t seen = 0;
	size_t i;
	int r = 0;

	for (i = b->frames.count; i > 0 && r == 0; i--) {
		const struct frame_row *row = &b->frames.at[i - 1];

		if (row->stream != 0 || row->session == seen)
			continue;
		seen = row->session;
		r = evictor_make_way(h->evictor, limits, seen, row->frame, evicted);
	}
	return r;
}

static int write_group(struct store_history *h, const struct batch *first, const struct batch *end,
		       struct write_totals *written, struct evict_totals *evicted)
{
	struct evict_limits limits = limits_of(h);
	const struct batch *b;
	size_t i;
	int r = evictor_make_room(h->evictor, &limits, expected_bytes(h, first, end), evicted);

	for (b = first; b != end && r == 0; b = b->next)
		r = make_way(h, &limits, b, evicted);
	for (b = first; b != end && r == 0; b = b->next) {
		r = row_writer_batch(h->writer, b, written);
		for (i = 0; i < b->clears.count && r == 0; i++)
			r = evictor_clear(h->evictor, b->clears.at[i].session,
					  b->clears.at[i].before, evicted);
	}
	if (r == 0)
		r = evictor_trim(h->evictor, &limits, evicted);
	if (r == 0)
		r = row_writer_sessions(h->writer);
	return r;
}

static int commit(struct store_history *h, const struct batch *first, const struct batch *end)
{
	struct write_totals written = h->written;
	struct evict_totals evicted = h->evicted;
	int r = sql_exec(h->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = write_group(h, first, end, &written, &evicted);
	if (r == 0)
		r = sql_exec(h->db, "COMMIT");
	if (r < 0) {
		sql_exec(h->db, "ROLLBACK");
		return r;
	}
	h->written = written;
	h->evicted = evicted;
	stored_sessions_settle(&h->sessions);
	return 0;
}

int store_history_commit(struct store_history *h, const struct batch *first,
			 const struct batch *end)
{
	bool exclusive = h->place.where == STORE_IN_MEMORY;
	int r, again;

	if (exclusive)
		pthread_rwlock_wrlock(&h->use);
	r = commit(h, first, end);
	if (r < 0) {
		again = stored_sessions_load(&h->sessions, h->db);
		if (again < 0)
			log_debug("history: ignoring that sessions could not be read: %s",
				  why(again));
	}
	if (exclusive)
		pthread_rwlock_unlock(&h->use);
	return r;
}

/* Puts the file new_path in place of the one on disk and uses it. Readers are kept out. */
static int replace_file(struct store_history *h, const char *new_path)
{
	char name[DB_PATH_MAX + 8];
	sqlite3 *db;
	int r;

	if (rename(new_path, h->path) < 0)
		return -errno;
	snprintf(name, sizeof(name), "%s-wal", h->path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", h->path);
	unlink(name);
	r = db_open(h->path, DB_HISTORY, false, &db);
	if (r == 0)
		r = use_database(h, db);
	if (r == 0)
		set_place(h, STORE_ON_DISK, h->path);
	return r;
}

/* what: happened to the file. */
static int rotate(struct store_history *h, const char *what)
{
	char copy[DB_PATH_MAX];
	int r = make_dir(h->dir);

	snprintf(copy, sizeof(copy), "%s.new", h->path);
	if (r == 0)
		r = db_copy_pages(h->db, copy);
	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&h->use);
	r = replace_file(h, copy);
	pthread_rwlock_unlock(&h->use);
	if (r < 0)
		return r;
	h->rotations++;
	set_reason(h, "%s: %s; it was replaced by a copy", h->path, what);
	log_warning("history: %s: %s; replaced it by a copy", h->path, what);
	return 0;
}

static const char held[] = "another program held a transaction open";

/* Has somebody removed or replaced what our descriptors are open on? */
static bool is_gone(struct store_history *h)
{
	char wal[DB_PATH_MAX + 8];
	int moved = 0;

	sqlite3_file_control(h->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	return moved || (h->wal_pages > 0 && access(wal, F_OK) < 0);
}

/* For a database that must not stay as it is. */
static void replace_or_leave(struct store_history *h, const char *what)
{
	int r = rotate(h, what);

	if (r < 0)
		r = move_to_memory(h, r);
	if (r < 0)
		log_warning("history: cannot replace %s: %s", h->path, why(r));
}

static void measure(struct store_history *h)
{
	char wal[DB_PATH_MAX];
	struct stat st;
	uint64_t pages = h->used_bytes - MIN(h->used_bytes, h->wal_bytes);

	h->wal_bytes = 0;
	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	if (h->place.where == STORE_ON_DISK && stat(wal, &st) == 0)
		h->wal_bytes = (uint64_t)st.st_size;
	evictor_used(h->evictor, &pages);
	h->used_bytes = pages + h->wal_bytes;
}

/* Our own readers are kept out, so whoever is in the way is a stranger. */
static bool wal_is_pinned(struct store_history *h)
{
	int rc;

	pthread_rwlock_wrlock(&h->use);
	sqlite3_busy_timeout(h->db, 0);
	rc = sqlite3_wal_checkpoint_v2(h->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(h->db, 250);
	pthread_rwlock_unlock(&h->use);
	if (rc == SQLITE_OK)
		h->wal_pages = 0;
	return (rc & 0xff) == SQLITE_BUSY;
}

void store_history_maintain(struct store_history *h)
{
	uint64_t pages_bytes = (uint64_t)h->wal_pages * DB_PAGE_BYTES;

	if (h->place.where == STORE_ON_DISK && h->db) {
		if (is_gone(h))
			replace_or_leave(h, "somebody removed or replaced it");
		else if (pages_bytes > pinned_bytes(h) && wal_is_pinned(h))
			replace_or_leave(h, held);
		else if (pages_bytes > checkpoint_bytes(h))
			sqlite3_wal_checkpoint_v2(h->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
						  NULL);
	}
	if (h->db)
		measure(h);
}

/* The old file's names, as far as they can be read, and the live sessions. */
static int renew(struct store_history *h, int error)
{
	char aside[DB_PATH_MAX];
	sqlite3 *db, *old;
	int r;

	pthread_rwlock_wrlock(&h->use);
	close_database(h);
	r = db_move_aside(h->path, "corrupt", aside, sizeof(aside));
	if (r == 0)
		r = db_open(h->path, DB_HISTORY, false, &db);
	if (r == 0) {
		if (db_open_reader(aside, &old) == 0) {
			/* writable_schema: a table of which the schema makes no sense does not
			 * hide the others. */
			sql_exec(old, "PRAGMA query_only=OFF; PRAGMA writable_schema=ON");
			db_copy_rows(old, h->path, DB_COPY_NAMES);
			sqlite3_close(old);
		}
		r = use_database(h, db);
	}
	if (r == 0)
		set_place(h, STORE_ON_DISK, h->path);
	pthread_rwlock_unlock(&h->use);
	if (r < 0)
		return r;
	set_reason(h, "%s was %s: begun anew, the old one is %s", h->path, why(error), aside);
	log_warning("history: %s was %s: begun anew, the old one is %s", h->path, why(error),
		    aside);
	return restore_sessions(h);
}

int store_history_recover(struct store_history *h, int error)
{
	int r;

	if (error == -ENOMEM)
		return 0;
	if (h->place.where == STORE_IN_MEMORY)
		return error;
	r = error == -EBUSY ? rotate(h, held) : error;
	if (error == -EBADMSG || error == -EINVAL)
		r = renew(h, -EBADMSG);
	return r < 0 ? move_to_memory(h, r) : 0;
}

/* A fresh file with all rows, closed and without a WAL of its own. */
static int write_copy(struct store_history *h, const char *path)
{
	char wal[DB_PATH_MAX + 8];
	sqlite3 *db = NULL;
	int r = make_dir(h->dir);

	db_remove(path);
	if (r == 0)
		r = db_open(path, DB_HISTORY, false, &db);
	if (r < 0)
		return r;
	sqlite3_close(db);
	r = db_copy_rows(h->db, path, DB_COPY_ALL);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	if (r == 0 && access(wal, F_OK) == 0)
		r = -ENOSPC;
	return r;
}

int store_history_return(struct store_history *h)
{
	char copy[DB_PATH_MAX];
	int r;

	if (h->place.where == STORE_ON_DISK)
		return 0;
	snprintf(copy, sizeof(copy), "%s.new", h->path);
	r = write_copy(h, copy);
	if (r < 0) {
		db_remove(copy);
		/* All of the old file is in memory: without it there may be room. */
		if (r == -ENOSPC)
			db_remove(h->path);
		return r;
	}
	pthread_rwlock_wrlock(&h->use);
	r = replace_file(h, copy);
	pthread_rwlock_unlock(&h->use);
	if (r < 0)
		return r;
	set_reason(h, "%s", "");
	log_info("history: back in %s", h->path);
	return 0;
}
