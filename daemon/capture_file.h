/* SPDX-License-Identifier: MIT */
/*
 * Making a .fprof file: a database of schema.sql, written under a temporary name beside its place,
 * then checksummed, synced and renamed. Used by what saves captures and by what imports other
 * tools' files. One thread at a time.
 */
#ifndef FPROF_DAEMON_CAPTURE_FILE_H
#define FPROF_DAEMON_CAPTURE_FILE_H

#include "batch.h"

#include <sqlite3.h>

/* How the names of files that are being made end. */
#define CAPTURE_FILE_TEMPORARY ".tmp"

struct capture_file;

/* In directory; 0 or -errno. */
int capture_file_new(const char *directory, struct capture_file **ret_file);
/* Rows of a batch (batch.h; the session's row first of all), compressed as the store does it. The
 * batch stays the caller's. -errno: the file is of no more use. */
int capture_file_write(struct capture_file *file, const struct batch *batch);
/* The open connection, for what batches have no rows for (meta: key and value, where keys do not
 * begin with "sum." or "capture."). */
sqlite3 *capture_file_db(struct capture_file *file);
/* Adds checksums, syncs, renames to directory/name. Nothing is left behind on failure. The file is
 * still to be freed. */
int capture_file_finish(struct capture_file *file, const char *name);
/* Removes what was not finished. NULL is fine. */
void capture_file_free(struct capture_file *file);

/* Syncs a closed file, or a directory. 0 or -errno. */
int capture_file_sync(const char *path);

#endif
