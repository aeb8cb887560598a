/* SPDX-License-Identifier: MIT */
/*
 * SQL of a stranger, run in a child of its own: bounded in time, memory, rows and bytes, with
 * nothing within reach but the rows of one database that its asker may see. Any thread; a call
 * takes as long as the query.
 */
#ifndef FPROF_DAEMON_QUERY_H
#define FPROF_DAEMON_QUERY_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#define QUERY_ROWS_DEFAULT 10000u
#define QUERY_ROWS_MAX	   1000000u
#define QUERY_BYTES_MAX	   (64u * 1024u * 1024u) /* of an answer */
#define QUERY_MEMORY	   (256u * 1024u * 1024u)
#define QUERY_CHILDREN_MAX 2

enum query_format { QUERY_JSON, QUERY_CSV };

struct query {
	const char *path; /* of the database; NULL: the rolling history */
	uint32_t uid;	  /* whose sessions; HISTORY_ANY_UID: all in it */
	uint32_t asker;	  /* one query at a time is run for each */
	uint64_t session; /* only this one; 0: all */
	const char *sql;
	const char *params; /* JSON, an array or object; NULL: none */
	enum query_format format;
	uint64_t rows; /* at most so many */
};

enum query_result {
	QUERY_DONE,
	QUERY_BAD_SQL,	   /* SQLite says so in message, and at which byte in offset */
	QUERY_BAD_PARAMS,  /* message */
	QUERY_REFUSED,	   /* the statement is not one that may be run: message, offset */
	QUERY_TIME,	   /* it took too long */
	QUERY_MEMORY_FULL, /* it needs too much memory */
	QUERY_TOO_LARGE,   /* the answer cannot be cut: CSV has no place to say so */
	QUERY_BUSY,	   /* others are run */
	QUERY_UNAVAILABLE, /* message: why the history cannot be asked */
	QUERY_FAILED,	   /* message */
};
struct query_answer {
	enum query_result result;
	int fd; /* QUERY_DONE: the answer, at its start; the caller's to close. Else -1 */
	char message[512];
	int64_t offset; /* into sql, -1: unknown */
};

struct queries;

/* program: what is run as the child, with QUERY_CHILD as its only argument; NULL: this program. */
int queries_new(struct store *store, unsigned milliseconds, const char *program,
		struct queries **ret_queries);
void queries_free(struct queries *queries); /* NULL is fine */
void queries_run(struct queries *queries, const struct query *query,
		 struct query_answer *ret_answer);

#define QUERY_CHILD "--query-child"
/* The child: reads a request from descriptor 0, answers into 1. Returns the exit status. */
int query_child_main(void);

#endif
