/* SPDX-License-Identifier: MIT */
/*
 * The history in SQL: eponymous-only virtual tables over a database of schema.sql. `zones` and
 * `events` are decoded from its chunks; the others are its own tables as one user may see them.
 * Used by the daemon's query child and by the loadable extension; a connection belongs to one
 * thread.
 */
#ifndef FPROF_DAEMON_VTAB_H
#define FPROF_DAEMON_VTAB_H

#include "vtab_sqlite.h"

#include <stdbool.h>
#include <stdint.h>

#define VTAB_ANY_UID UINT32_MAX

/* Where rows come from, and whose. */
struct vtab_source {
	sqlite3 *db;	 /* may be the connection that asks */
	uint32_t uid;	 /* only sessions of this owner; VTAB_ANY_UID: all */
	int64_t session; /* only this one; 0: all */
};

/* Registers zones, events, counters and gpu_zones with a connection. source is copied, its db must
 * outlive the connection. Returns an SQLite code. */
int vtab_register(sqlite3 *db, const struct vtab_source *source);
/* Registers each table and view of source->db whose rows belong to a session, under its own name:
 * for a connection that has no tables itself. */
int vtab_register_tables(sqlite3 *db, const struct vtab_source *source);

#endif
