/* SPDX-License-Identifier: MIT */
/* What the zones of a table's names came to over the whole session. One thread at a time. */
#ifndef FPROF_DAEMON_ZONE_SESSION_H
#define FPROF_DAEMON_ZONE_SESSION_H

#include "zone_tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Of all calls that have ended, of the startup frame and of frames that do not count, too. */
struct zone_session_numbers {
	uint64_t calls;
	uint64_t total_ns; /* recursion counts once, as in total_ns of a row */
	uint64_t max_ns;
	uint64_t max_frame; /* 0: not known */
};

struct zone_session {
	bool known;	    /* else somebody evicted what nobody counted, or there are sums only */
	uint64_t uncounted; /* calls and events that are in no name's */
	/* Inside: by canonical marker, of threads and fibers, of GPU queues. */
	struct zone_session_numbers *names[2];
	size_t count;
	struct zone_session_numbers none;
};

/* Of the tracks that are not skipped (skip NULL: all); by the threads' names. 0 or -errno. */
int zone_session_read(struct history *h, const struct zone_tree *tree, const bool *skip,
		      struct zone_session *ret_session);
void zone_session_deinit(struct zone_session *session);
const struct zone_session_numbers *zone_session_of(const struct zone_session *session,
						   uint32_t marker, bool gpu);

#endif
