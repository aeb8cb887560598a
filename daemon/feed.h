/* SPDX-License-Identifier: MIT */
/*
 * From commits to events: a thread that reads what was committed and tells the stream's clients. It
 * sleeps while there are none.
 */
#ifndef FPROF_DAEMON_FEED_H
#define FPROF_DAEMON_FEED_H

#include "api.h"
#include "batch.h"

struct feed;

int feed_new(const struct api *api, struct feed **ret_feed);
void feed_free(struct feed *feed); /* stops the thread; NULL is fine */
/* Notes what a committed batch brought. Any thread; takes a mutex that is held for moments. */
void feed_committed(struct feed *feed, const struct batch *batch);
/* Tells of a spike at once. Any thread. */
void feed_spike(struct feed *feed, const struct spike *spike);
/* A client came: keep-alives are needed from now on. */
void feed_wake(struct feed *feed);

/* The stream's stream_replay_fn; userdata is the struct api. */
int feed_replay(void *userdata, uint64_t session, uint64_t after, struct json *out,
		uint64_t *ret_last, uint64_t *ret_missed);

#endif
