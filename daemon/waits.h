/* SPDX-License-Identifier: MIT */
/* What a frame's wall time went to on its marking thread. Drain thread only. */
#ifndef FPROF_DAEMON_WAITS_H
#define FPROF_DAEMON_WAITS_H

#include "frames.h"
#include "shm/layout.h"

/* Index: enum fprof_marker_kind of the waits; 0: no wait. */
#define WAIT_KINDS (FPROF_MARKER_WAIT_CAP + 1)

/* Fills ns of each kind; their sum is the frame's wall time. False: parts of it are not known. */
bool waits_partition(const struct live *s, const struct stream *st, const struct frame *f,
		     int64_t ns[WAIT_KINDS]);

#endif
