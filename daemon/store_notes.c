/* SPDX-License-Identifier: MIT */
/*
 * Notes use the connection of store_state under its lock. A database that fails here is not closed:
 * the counter of session ids finds out by itself and tries it again.
 */
#include "store_notes.h"

#include "sql.h"
#include "store_impl.h"

#include <errno.h>
#include <string.h>

static int put(sqlite3 *db, const char *key, const char *text)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	int r = sql_prepare(db,
			    text ? "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
				 : "DELETE FROM meta WHERE key = ?",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_text(&b, key);
	if (text)
		bind_text(&b, text);
	return sql_run(&b);
}

int store_note_put(struct store *store, const char *key, const char *text)
{
	struct store_state *state = &store->state;
	int r;

	pthread_mutex_lock(&state->lock);
	r = state->ok ? put(state->db, key, text) : -EROFS;
	pthread_mutex_unlock(&state->lock);
	return r;
}

/* prefix is a plain name: it has nothing that LIKE or GLOB would take for more. */
static int read_all(sqlite3 *db, const char *prefix, store_note_fn fn, void *userdata)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct sql_binder b;
	int r = sql_prepare(db,
			    "SELECT key, value FROM meta WHERE substr(key, 1, length(?1)) = ?1 "
			    "AND typeof(value) = 'text' ORDER BY key",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_text(&b, prefix);
	if (b.rc < 0)
		return b.rc;
	while ((r = sql_step(stmt)) == 1) {
		r = fn(userdata, (const char *)sqlite3_column_text(stmt, 0),
		       (const char *)sqlite3_column_text(stmt, 1));
		if (r < 0)
			return r;
	}
	return r;
}

int store_notes_read(struct store *store, const char *prefix, store_note_fn fn, void *userdata)
{
	struct store_state *state = &store->state;
	int r;

	pthread_mutex_lock(&state->lock);
	r = state->ok ? read_all(state->db, prefix, fn, userdata) : -EROFS;
	pthread_mutex_unlock(&state->lock);
	return r;
}
