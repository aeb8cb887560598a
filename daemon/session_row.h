/* SPDX-License-Identifier: MIT */
/* Making the row that describes a session. */
#ifndef FPROF_DAEMON_SESSION_ROW_H
#define FPROF_DAEMON_SESSION_ROW_H

#include "batch.h"
#include "drain.h"
#include "peer.h"
#include "shm/layout.h"
#include "store.h"

/* A live session's row, malloc'ed (session_row_deinit, then free); its id is still to be set. head:
 * a memory's checked header. NULL: no memory. The clock's rate is the drain's, or measured here (20
 * ms) when that has none yet. */
struct session_row *session_row_new(struct drain *drain, const struct config *config,
				    const char *boot_id, const struct peer *peer,
				    const struct fprof_msg_hello *hello,
				    const struct fprof_memory_header *head);
/* Makes it the row of a session that an earlier daemon began: its id, its place on the clock, and
 * what was known of the process, which is taken out of resume. */
void session_row_resume(struct session_row *row, struct store_resume *resume);

#endif
