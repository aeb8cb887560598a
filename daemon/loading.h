/* SPDX-License-Identifier: MIT */
/*
 * When a game was loading, as its fprof_loading() calls say. Calls of several threads are read in
 * any order; by time the last one counts. No locks: the drain thread's.
 */
#ifndef FPROF_DAEMON_LOADING_H
#define FPROF_DAEMON_LOADING_H

#include "util.h"

#include <stdbool.h>
#include <stdint.h>

#define LOADING_STEPS_MAX 4096u

struct loading_step {
	int64_t t;
	bool on;
};
struct loading {
	VEC(struct loading_step) steps; /* by time */
	bool before;			/* the first of them */
};

void loading_deinit(struct loading *l);
/* From t on it is loading, or not: 0 or -ENOMEM. */
int loading_put(struct loading *l, int64_t t, bool on);
/* Was it loading at any time in [t0, t1)? */
bool loading_within(const struct loading *l, int64_t t0, int64_t t1);
/* Nothing before t is asked for any more. */
void loading_prune(struct loading *l, int64_t t);

#endif
