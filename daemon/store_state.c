/* SPDX-License-Identifier: MIT */
/*
 * Session ids are never used twice within a state directory. Each durable write reserves ID_BLOCK
 * of them, so that most sessions begin without a sync; a clean end gives the rest back.
 *
 * Without the database ids go on from the history's newest, and from the seconds since 1970 when
 * the counter was never seen, since sessions that the history has forgotten may have had any
 * smaller id.
 */
#include "store_state.h"

#include "log.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ID_BLOCK 16
#define ID_KEY	 "next_session_id"

static int read_counter(struct store_state *s, uint64_t *ret_next)
{
	int64_t next = 0;
	int r = sql_int(s->db, "SELECT value FROM meta WHERE key = '" ID_KEY "'", &next);

	if (r < 0)
		return r;
	*ret_next = r == 1 && next > 0 ? (uint64_t)next : 0;
	return 0;
}

static int write_counter(struct store_state *s, uint64_t next)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	int r = sql_prepare(s->db, "INSERT OR REPLACE INTO meta VALUES ('" ID_KEY "', ?)", &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_uint(&b, next);
	return sql_run(&b);
}

/* Makes dir and what is missing above it. */
static int make_dirs(const char *dir)
{
	char path[DB_PATH_MAX];
	char *slash = path;

	snprintf(path, sizeof(path), "%s", dir);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_or_begin(struct store_state *s, bool *ret_begun)
{
	int r = make_dirs(s->dir);

	*ret_begun = false;
	if (r < 0)
		return r;
	/* SQLite would only say that it cannot open the file. */
	if (access(s->dir, W_OK) < 0)
		return -errno;
	r = db_open(s->path, DB_STATE, true, &s->db);
	if (r != -EBADMSG)
		return r;
	r = db_move_aside(s->path, "corrupt", NULL, 0);
	if (r < 0)
		return r;
	*ret_begun = true;
	return db_open(s->path, DB_STATE, true, &s->db);
}

static const char *why(int error)
{
	switch (error) {
	case -ENOTSUP:
		return "made by a newer fprofd, which this one leaves alone";
	case -ENOSPC:
		return "no space left";
	case -EROFS:
		return "not writable";
	case -ENOENT:
		return "cannot be opened or made";
	default:
		return strerror(-error);
	}
}

static void fail(struct store_state *s, int error)
{
	if (s->ok || !s->reason[0])
		log_warning("state: %s: %s; going on without it", s->path, why(error));
	s->ok = false;
	snprintf(s->reason, sizeof(s->reason), "%.100s: %s", s->path, why(error));
	sqlite3_close(s->db);
	s->db = NULL;
}

/* Opens the database, takes its counter over, writes it. The lock is held. */
static int begin(struct store_state *s)
{
	uint64_t known = 0;
	bool begun;
	int r = open_or_begin(s, &begun);

	if (r == 0)
		r = read_counter(s, &known);
	if (r == 0) {
		if (begun)
			known = (uint64_t)time(NULL);
		s->next_id = MAX(MAX(s->next_id, known), 1u);
		r = write_counter(s, s->next_id);
	}
	if (r < 0)
		return r;
	s->reserved = s->next_id;
	s->ok = true;
	s->reason[0] = '\0';
	if (begun)
		snprintf(s->reason, sizeof(s->reason), "%.100s was damaged: begun anew", s->path);
	return 0;
}

int store_state_init(struct store_state *state, const char *dir, uint64_t newest_id)
{
	int r;

	memset(state, 0, sizeof(*state));
	if (strlen(dir) >= sizeof(state->dir))
		return -ENAMETOOLONG;
	pthread_mutex_init(&state->lock, NULL);
	snprintf(state->dir, sizeof(state->dir), "%s", dir);
	snprintf(state->path, sizeof(state->path), "%s/fprofd.db", dir);
	state->next_id = newest_id + 1;
	r = begin(state);
	if (r < 0) {
		fail(state, r);
		state->next_id = MAX(newest_id + 1, (uint64_t)time(NULL));
	}
	return 0;
}

void store_state_deinit(struct store_state *state)
{
	if (state->db && write_counter(state, state->next_id) < 0)
		log_warning("state: ignoring that %s could not be written", state->path);
	sqlite3_close(state->db);
	state->db = NULL;
	pthread_mutex_destroy(&state->lock);
}

uint64_t store_state_next_id(struct store_state *state)
{
	uint64_t id;
	int r;

	pthread_mutex_lock(&state->lock);
	if (state->ok && state->next_id >= state->reserved) {
		r = write_counter(state, state->next_id + ID_BLOCK);
		if (r < 0)
			fail(state, r);
		else
			state->reserved = state->next_id + ID_BLOCK;
	}
	id = state->next_id++;
	pthread_mutex_unlock(&state->lock);
	return id;
}

void store_state_retry(struct store_state *state)
{
	int r;

	pthread_mutex_lock(&state->lock);
	if (!state->ok) {
		r = begin(state);
		if (r < 0)
			fail(state, r);
		else
			log_info("state: %s is usable again", state->path);
	}
	pthread_mutex_unlock(&state->lock);
}

bool store_state_health(struct store_state *state, char *ret_reason, size_t size)
{
	bool ok;

	pthread_mutex_lock(&state->lock);
	ok = state->ok;
	snprintf(ret_reason, size, "%s", state->reason);
	pthread_mutex_unlock(&state->lock);
	return ok;
}
