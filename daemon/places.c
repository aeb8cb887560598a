/* SPDX-License-Identifier: MIT */
/* A list of who has any: there are few places, so there are few users. */
#include "places.h"

#include <errno.h>
#include <stdlib.h>

void places_init(struct places *places)
{
	*places = (struct places){0};
	pthread_mutex_init(&places->lock, NULL);
}

void places_deinit(struct places *places)
{
	VEC_FREE(&places->users);
	pthread_mutex_destroy(&places->lock);
}

/* The lock is held. */
static struct places_user *user_of(struct places *p, uint32_t uid)
{
	size_t i;

	for (i = 0; i < p->users.count; i++)
		if (p->users.at[i].uid == uid)
			return &p->users.at[i];
	return NULL;
}

bool places_take(struct places *places, uint32_t uid, unsigned max)
{
	struct places_user *user;
	bool taken;

	pthread_mutex_lock(&places->lock);
	user = user_of(places, uid);
	if (!user && VEC_PUSH(&places->users, ((struct places_user){uid, 0})) == 0)
		user = &places->users.at[places->users.count - 1];
	taken = user && user->taken < max;
	if (taken)
		user->taken++;
	pthread_mutex_unlock(&places->lock);
	return taken;
}

void places_give_back(struct places *places, uint32_t uid)
{
	struct places_user *user;

	pthread_mutex_lock(&places->lock);
	user = user_of(places, uid);
	if (user && --user->taken == 0)
		*user = places->users.at[--places->users.count];
	pthread_mutex_unlock(&places->lock);
}
