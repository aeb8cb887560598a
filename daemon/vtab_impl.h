/* SPDX-License-Identifier: MIT */
/* What the virtual tables share: which constraints they take, and one lane's chunks in order. */
#ifndef FPROF_DAEMON_VTAB_IMPL_H
#define FPROF_DAEMON_VTAB_IMPL_H

#include "chunk.h"
#include "vtab.h"
#include "vtab_session.h"

/* Columns whose constraints narrow what is read. */
enum vtab_key { VTAB_SESSION, VTAB_FRAME, VTAB_TRACK, VTAB_TIME, VTAB_THREAD, VTAB_KEYS };
#define VTAB_RANGES VTAB_THREAD /* those before it are integers, with ranges */

/* The column of each key in a table, -1: it has none. */
struct vtab_keys {
	int columns[VTAB_KEYS];
};

/* xBestIndex: takes what it can use; idxNum becomes which of the first 31 columns are used. */
int vtab_best_index(sqlite3_index_info *info, const struct vtab_keys *keys);

/* What a scan is to read, at least: SQLite looks at each row again. */
struct vtab_bounds {
	int64_t low[VTAB_RANGES], high[VTAB_RANGES];
	bool none; /* nothing can match */
};
static inline bool vtab_is_within(const struct vtab_bounds *b, enum vtab_key key, int64_t value)
{
	return value >= b->low[key] && value <= b->high[key];
}

/* A scan in progress; zero-initialised is none. */
struct vtab_scan {
	struct vtab_source source;
	struct vtab_bounds bounds;
	char *thread; /* only the tracks of this name; NULL: all */
	struct vtab_session session;
	int64_t after;	   /* the session at hand, or before the first */
	size_t part;	   /* the next one of the session */
	bool framed;	   /* not all segments are asked for */
	size_t first, end; /* segments that are */
};
/* xFilter: begins one anew with what vtab_best_index took. An SQLite code. */
int vtab_scan_begin(struct vtab_scan *scan, const struct vtab_source *source, const char *taken,
		    int argc, sqlite3_value **argv);
/* The next part whose track is asked for, with its session loaded; valid until the next call.
 * SQLITE_ROW, SQLITE_DONE, another code. */
int vtab_scan_next(struct vtab_scan *scan, const struct vtab_part **ret_part);
void vtab_scan_deinit(struct vtab_scan *scan);

/* A table of this module. */
struct vtab_table {
	sqlite3_vtab base;
	struct vtab_source source;
};
/* xConnect and xDisconnect; aux is the struct vtab_source. */
int vtab_connect(sqlite3 *db, const struct vtab_source *source, const char *declaration,
		 sqlite3_vtab **ret_table);
int vtab_disconnect(sqlite3_vtab *table);
/* Notes what went wrong in source->db, for the caller's message; returns rc. */
int vtab_fail(sqlite3_vtab *table, sqlite3 *db, int rc);

extern const sqlite3_module vtab_events_module, vtab_zones_module, vtab_rows_module;

/* What vtab_rows_module is registered with: a query whose rows are the table's. Owned by it. */
struct vtab_rows {
	struct vtab_source source;
	char *select; /* with ?1 the owner (VTAB_ANY_UID: all), ?2 the session (0: all) */
};

/* The chunks of one lane of a track, from a time on. */
struct vtab_lane {
	sqlite3_stmt *chunks;
	uint8_t *raw;
	int64_t t0, t1; /* of the chunk at hand */
	int64_t events; /* lead words in it, as its row says */
	struct chunk_reader reader;
};
/* Begins with the first chunk that ends at or after t, or the last one. An SQLite code. */
int vtab_lane_open(struct vtab_lane *lane, sqlite3 *db, int64_t session,
		   const struct vtab_part *part, int64_t t);
/* The next chunk, with reader at its begin. SQLITE_ROW, SQLITE_DONE; SQLITE_CORRUPT: it cannot be
 * decoded (t0, t1 and events are set, the next one may be). */
int vtab_lane_next(struct vtab_lane *lane);
void vtab_lane_close(struct vtab_lane *lane);

/* Results that may be missing. */
void vtab_result_text(sqlite3_context *context, const char *text); /* NULL: NULL */
/* Bytes of a stranger as valid UTF-8. */
void vtab_result_bytes(sqlite3_context *context, const void *bytes, size_t count);
void vtab_result_marker(sqlite3_context *context, const struct vtab_session *session,
			uint32_t marker);

#endif
