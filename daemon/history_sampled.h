/* SPDX-License-Identifier: MIT */
/*
 * Counters as they are now: the game's, as of its newest frame, and those sampled from outside. Two
 * kinds of values that are never mixed: one a frame, one a second. Calls are as those of history.h.
 */
#ifndef FPROF_DAEMON_HISTORY_SAMPLED_H
#define FPROF_DAEMON_HISTORY_SAMPLED_H

#include "history.h"

struct history_published {
	struct marker_row marker; /* owned */
	struct frame_counter_row value;
};
typedef VEC(struct history_published) history_published_vec;
/* The game's, of the newest frame of the main stream that has any. */
int history_published(struct history *h, uint64_t session, history_published_vec *ret_counters);
void history_published_free(history_published_vec *counters);

struct history_sample {
	int64_t ns, value;
};
typedef VEC(struct history_sample) history_samples_vec;

struct history_sampled {
	uint32_t counter;
	char *name, *module, *source; /* owned */
	uint8_t unit;
	bool cumulative;
	unsigned count;			 /* of newest */
	struct history_sample newest[2]; /* newest first */
};
typedef VEC(struct history_sampled) history_sampled_vec;
int history_sampled(struct history *h, uint64_t session, history_sampled_vec *ret_sampled);
void history_sampled_free(history_sampled_vec *sampled);

/* All samples of one of them, oldest first. */
int history_samples(struct history *h, uint64_t session, uint32_t counter,
		    history_samples_vec *ret_samples);

#endif
