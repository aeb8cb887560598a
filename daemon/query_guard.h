/* SPDX-License-Identifier: MIT */
/* What a stranger's SQL may say on a connection: one statement that reads. One thread. */
#ifndef FPROF_DAEMON_QUERY_GUARD_H
#define FPROF_DAEMON_QUERY_GUARD_H

#include <sqlite3.h>
#include <stdint.h>

/* From here on the connection reads, and nothing else. All tables are registered. */
void query_guard(sqlite3 *db);
/*
 * Prepares SQL that is one statement which reads. SQLITE_OK with *ret_stmt NULL: it is not,
 * *ret_why and *ret_offset (-1: nowhere) say why. Another code: sqlite3_errmsg does.
 */
int query_guard_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt, const char **ret_why,
			int64_t *ret_offset);

#endif
