/* SPDX-License-Identifier: MIT */
/* The rows of a statement as JSON or CSV, as many as fit. One thread. */
#ifndef FPROF_DAEMON_QUERY_WRITE_H
#define FPROF_DAEMON_QUERY_WRITE_H

#include "query.h"

#include <sqlite3.h>

struct query_writer;

/* At most so many rows, of so many bytes together, into descriptor 1. NULL: no memory. */
struct query_writer *query_writer_new(enum query_format format, uint64_t rows_max,
				      uint64_t bytes_max);
/* The columns. */
void query_write_begin(struct query_writer *w, sqlite3_stmt *stmt);
/* The row at hand. 1: it is written; 0: it does not fit any more; -ENOMEM, -errno. */
int query_write_row(struct query_writer *w, sqlite3_stmt *stmt);
/* 0 or -errno. truncated: there were more rows. */
int query_write_end(struct query_writer *w, bool truncated, double elapsed_ms);

#endif
