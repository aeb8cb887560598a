/* SPDX-License-Identifier: MIT */
/*
 * How many places each user has taken, so that one cannot take all of them. Any thread.
 */
#ifndef FPROF_DAEMON_PLACES_H
#define FPROF_DAEMON_PLACES_H

#include "util.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct places_user {
	uint32_t uid;
	unsigned taken;
};

struct places {
	pthread_mutex_t lock;
	VEC(struct places_user) users; /* who has any */
};

void places_init(struct places *places);
void places_deinit(struct places *places);
/* Takes one for uid unless it has max already (or memory is short): then false. */
bool places_take(struct places *places, uint32_t uid, unsigned max);
void places_give_back(struct places *places, uint32_t uid);

#endif
