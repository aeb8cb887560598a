/* SPDX-License-Identifier: MIT */
/*
 * How many threads answer slow requests, and whose. Any thread.
 */
#ifndef FPROF_DAEMON_WORKERS_H
#define FPROF_DAEMON_WORKERS_H

#include "places.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKERS_MAX 4u
#define WORKERS_UID (WORKERS_MAX - 1) /* of one user: others always have one left */

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned busy;	  /* answering */
	unsigned leaving; /* and those that gave back, but have to do with the server still */
	bool closed;
	struct places users;
};
void workers_init(struct workers *workers);
void workers_deinit(struct workers *workers);
/* One more for uid: false: all are busy, or its share is, or it is closed. */
bool workers_take(struct workers *workers, uint32_t uid);
/* Its place is free, before its answer is on its way: who has that may ask again at once. */
void workers_give_back(struct workers *workers, uint32_t uid);
/* After workers_give_back: it touches nothing any more. */
void workers_leave(struct workers *workers);
/* From here on there are none; waits until the last one has left. */
void workers_close(struct workers *workers);

#endif
