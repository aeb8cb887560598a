/* SPDX-License-Identifier: MIT */
/*
 * Opening .fprof files that somebody else may have made or damaged. Nothing in such a file is run,
 * and nothing is ever written to it. No state; any thread.
 */
#ifndef FPROF_DAEMON_CAPTURE_CHECK_H
#define FPROF_DAEMON_CAPTURE_CHECK_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_WHY 256 /* bytes of a reason */

/*
 * Opens one for reading, as this program's schema version: one of an older version is copied into a
 * temporary database and brought forward there. The rows are not looked at. 0; -ENOENT; -EBADMSG:
 * no database of ours; -ENOTSUP: made by a newer one; -errno.
 */
int capture_open(const char *path, sqlite3 **ret_db);

/* The same of a file as it is, whatever version it has: for what all versions have, as meta. */
int capture_open_raw(const char *path, sqlite3 **ret_db);

/*
 * Is all of the file as we would have made it? Header, the text of the schema, every index, every
 * row's checksum, that there is one session. 0; -EBADMSG or -ENOTSUP with a sentence in why
 * (CAPTURE_WHY bytes); -errno, with one too.
 */
int capture_verify(const char *path, char *why);

/* Makes a file, which is the caller's own, one of this program's version. 0 or -errno. */
int capture_bring_forward(const char *path);

/* Has a connection run nothing that a schema may hold. 0 or -errno. */
int capture_harden(sqlite3 *db);

/* A URI that opens path as it is: read-only, without locks; for ATTACH too. */
void capture_uri(const char *path, char *uri, size_t size);

#endif
