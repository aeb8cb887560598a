/* SPDX-License-Identifier: MIT */
/*
 * Do the rows of a capture mean something? For what strangers send: the schema sees to the types,
 * this to the values. No state.
 */
#ifndef FPROF_DAEMON_CAPTURE_ROWS_H
#define FPROF_DAEMON_CAPTURE_ROWS_H

#include <sqlite3.h>

/* Looks at all rows of main but the insides of blobs, which their readers check. 0, -EBADMSG with a
 * sentence in why (CAPTURE_WHY bytes), -errno. */
int capture_rows_check(sqlite3 *db, char *why);

#endif
