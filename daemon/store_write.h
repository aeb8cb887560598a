/* SPDX-License-Identifier: MIT */
/*
 * Writes a batch's rows into the open transaction of one connection, with statements that are
 * prepared once. Compresses chunks. The store thread's.
 */
#ifndef FPROF_DAEMON_STORE_WRITE_H
#define FPROF_DAEMON_STORE_WRITE_H

#include "batch.h"
#include "store_sessions.h"

#include <sqlite3.h>

struct row_writer;

int row_writer_new(sqlite3 *db, struct stored_sessions *sessions, struct row_writer **ret_writer);
void row_writer_free(struct row_writer *writer); /* NULL is fine */

/* What a batch came to; adds to what is there. */
struct write_totals {
	uint64_t raw_bytes, stored_bytes; /* of chunks */
	uint64_t rows_refused;	 /* the schema refused them, or nobody knows their session */
	uint64_t events_refused; /* lead words in those */
};

/* All rows in the batch's order. A row that cannot be is left out and counted; any other failure is
 * returned, and the caller rolls back. */
int row_writer_batch(struct row_writer *writer, const struct batch *batch,
		     struct write_totals *totals);
/* The store's own figures of every touched session. */
int row_writer_sessions(struct row_writer *writer);
/* A session's row from the copy kept in memory. */
int row_writer_restore(struct row_writer *writer, struct stored_session *session);

#endif
