/* SPDX-License-Identifier: MIT */
/* A stack of idle readers under a mutex. The newest comes first: its cache is the warmest. */
#include "readers.h"

#include "util.h"

#include <errno.h>
#include <pthread.h>

#define READERS_IDLE_MAX 8

struct readers {
	struct store *store;
	pthread_mutex_t lock;
	struct history *idle[READERS_IDLE_MAX];
	unsigned count;
};

int readers_new(struct store *store, struct readers **ret_readers)
{
	struct readers *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->store = store;
	pthread_mutex_init(&r->lock, NULL);
	*ret_readers = r;
	return 0;
}

void readers_free(struct readers *readers)
{
	if (!readers)
		return;
	while (readers->count)
		history_close(readers->idle[--readers->count]);
	pthread_mutex_destroy(&readers->lock);
	free(readers);
}

int readers_take(struct readers *readers, struct history **ret_history)
{
	struct history *h = NULL;

	pthread_mutex_lock(&readers->lock);
	if (readers->count)
		h = readers->idle[--readers->count];
	pthread_mutex_unlock(&readers->lock);
	if (!h)
		return history_open(readers->store, ret_history);
	*ret_history = h;
	return 0;
}

void readers_put(struct readers *readers, struct history *history)
{
	pthread_mutex_lock(&readers->lock);
	if (history && readers->count < READERS_IDLE_MAX) {
		readers->idle[readers->count++] = history;
		history = NULL;
	}
	pthread_mutex_unlock(&readers->lock);
	history_close(history);
}
