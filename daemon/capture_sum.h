/* SPDX-License-Identifier: MIT */
/*
 * The checksums of a .fprof file: one a table, over all of its rows in the order of their keys,
 * kept in meta as `sum.TABLE` with the number of rows. They find damage, not forgery. No state.
 */
#ifndef FPROF_DAEMON_CAPTURE_SUM_H
#define FPROF_DAEMON_CAPTURE_SUM_H

#include <sqlite3.h>
#include <stddef.h>

/* Writes the sums of all tables. Within or without a transaction. 0 or -errno. */
int capture_sum_write(sqlite3 *db);
/* The same where nothing but rows of meta changed. */
int capture_sum_write_meta(sqlite3 *db);
/* Holds all rows against the sums: 0, -EBADMSG with a sentence in why, -errno. */
int capture_sum_verify(sqlite3 *db, char *why, size_t size);

#endif
