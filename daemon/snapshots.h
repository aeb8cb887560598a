/* SPDX-License-Identifier: MIT */
/*
 * A snapshot is a capture with a name, taken to be compared with: the last seconds of a session, or
 * some of its frames. A name may have several, each a run of its side. Any thread.
 */
#ifndef FPROF_DAEMON_SNAPSHOTS_H
#define FPROF_DAEMON_SNAPSHOTS_H

#include "captures.h"
#include "history.h"

#include <stdbool.h>
#include <stdint.h>

#define SNAPSHOT_NAME_MAX    128u /* bytes */
#define SNAPSHOT_SECONDS     5.0
#define SNAPSHOT_SECONDS_MAX 3600.0

/* Can it be told from a session's number and from a list of names? No number, not `current`, no
 * comma, no colon; 1..128 bytes. */
bool snapshot_name_ok(const char *name);

/* The frames that the last so many seconds of the main stream touch, of those whose events are
 * here. 0; -ENOENT: there is none; -errno. */
int snapshot_last(struct history *h, const struct history_session *session, double seconds,
		  uint64_t *ret_first, uint64_t *ret_last);

/* Saves frames first..last under name. As captures_save. */
int snapshot_save(struct captures *captures, const char *name, uint64_t session, uint64_t first,
		  uint64_t last, uint32_t uid, uint64_t *ret_capture);

#endif
