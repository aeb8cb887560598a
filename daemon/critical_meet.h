/* SPDX-License-Identifier: MIT */
/* When the threads of a game met each other in the frames of a range, for critical_gain.h. */
#ifndef FPROF_DAEMON_CRITICAL_MEET_H
#define FPROF_DAEMON_CRITICAL_MEET_H

#include "counted.h"
#include "critical_gain.h"
#include "critical_path.h"

/* In the order of time. */
struct meetings {
	struct gain_meeting *at;
	size_t count;
	size_t room; /* inside */
};
/* Those in counted frames. marking: by counted frame, the thread that marks it. 0 or -ENOMEM. */
int meetings_find(const struct counted *counted, const struct path_threads *threads,
		  const uint32_t *marking, struct meetings *ret_meetings);
void meetings_deinit(struct meetings *meetings);

#endif
