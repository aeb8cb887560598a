/* SPDX-License-Identifier: MIT */
/*
 * What of a session goes into a capture: rows from one database into another, by SQL alone. No
 * state; the connection's thread.
 */
#ifndef FPROF_DAEMON_CAPTURE_COPY_H
#define FPROF_DAEMON_CAPTURE_COPY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_copy {
	uint64_t source;      /* the session's id there */
	uint64_t first, last; /* frames of its main stream; 0: none */
	bool tail;	      /* and what follows the last */
	bool whole;	      /* all there is, whatever first, last and tail are */
	uint64_t session;     /* its id here */
	uint32_t uid;	      /* its owner here */
};

/*
 * Copies from the database that db has attached as `source` into its main one, which has the schema
 * and no rows. Within a transaction of the caller. first and last become what there is. 0; -ENOENT:
 * no such session or no such frames; -errno.
 */
int capture_copy(sqlite3 *db, struct capture_copy *copy);

/* The tables of schema.sql that a capture has rows of, and those that it never has; both
 * NULL-terminated. A table in neither is a mistake. */
extern const char *const capture_copy_left_out[];
const char *capture_copy_table(unsigned i); /* NULL: no more */

#endif
