/* SPDX-License-Identifier: MIT */
/*
 * When something that failed, or ended, is tried again: soon at first, then ever later, up to
 * RETRY_MAX_NS; soon again once it has served that long. All zeros: at once. Times are of one clock
 * that runs on. No locks: whoever has one sees to it.
 */
#ifndef FPROF_DAEMON_RETRY_H
#define FPROF_DAEMON_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_MIN_NS UINT64_C(250000000)
#define RETRY_MAX_NS UINT64_C(30000000000)

struct retry {
	uint64_t at;	  /* not before */
	uint64_t wait_ns; /* the last one; 0: nothing has failed lately */
	uint64_t served;  /* since when; 0: it does not */
};

bool retry_is_due(const struct retry *retry, uint64_t now);
/* It serves from now on. */
void retry_serves(struct retry *retry, uint64_t now);
/* It could not be had, or has ended. */
void retry_later(struct retry *retry, uint64_t now);

#endif
