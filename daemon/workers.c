/* SPDX-License-Identifier: MIT */
/* The lock guards all but the users' places, which have their own. */
#include "workers.h"

void workers_init(struct workers *workers)
{
	*workers = (struct workers){0};
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->idle, NULL);
	places_init(&workers->users);
}

void workers_deinit(struct workers *workers)
{
	places_deinit(&workers->users);
	pthread_cond_destroy(&workers->idle);
	pthread_mutex_destroy(&workers->lock);
}

bool workers_take(struct workers *workers, uint32_t uid)
{
	bool taken;

	pthread_mutex_lock(&workers->lock);
	taken = !workers->closed && workers->busy < WORKERS_MAX &&
		places_take(&workers->users, uid, WORKERS_UID);
	workers->busy += taken;
	pthread_mutex_unlock(&workers->lock);
	return taken;
}

void workers_give_back(struct workers *workers, uint32_t uid)
{
	pthread_mutex_lock(&workers->lock);
	places_give_back(&workers->users, uid);
	workers->busy--;
	workers->leaving++;
	pthread_mutex_unlock(&workers->lock);
}

void workers_leave(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	if (--workers->leaving + workers->busy == 0)
		pthread_cond_broadcast(&workers->idle);
	pthread_mutex_unlock(&workers->lock);
}

void workers_close(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	workers->closed = true;
	while (workers->busy + workers->leaving > 0)
		pthread_cond_wait(&workers->idle, &workers->lock);
	pthread_mutex_unlock(&workers->lock);
}
