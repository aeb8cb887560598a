// SPDX-License-Identifier: MIT
/*
 * One small array under a mutex: there are a handful of consumers. What ran out is taken out
 * whenever anybody looks, so a lease ends by time alone, whoever is asked first.
 *
 * A token is random: it is the right to renew and release, of the user who took it.
 */
#include "consumers.h"

#include "history.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct held {
	struct consumer consumer;
	uint64_t stream; /* 0: a token */
};

struct consumers {
	pthread_mutex_t lock;
	VEC(struct held) all;
	uint64_t streams; /* so far */
};

int consumers_new(struct consumers **ret_consumers)
{
	struct consumers *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	*ret_consumers = c;
	return 0;
}

void consumers_free(struct consumers *consumers)
{
	if (!consumers)
		return;
	pthread_mutex_destroy(&consumers->lock);
	VEC_FREE(&consumers->all);
	free(consumers);
}

/* The lock is held, in all that follows but the public ones. */
static void forget(struct consumers *c, size_t i)
{
	c->all.at[i] = c->all.at[--c->all.count];
}

static void expire(struct consumers *c, uint64_t now_ns)
{
	size_t i = c->all.count;

	while (i-- > 0)
		if (c->all.at[i].consumer.until_ns <= now_ns)
			forget(c, i);
}

static bool has_place(const struct consumers *c, uint32_t uid)
{
	size_t i, tokens = 0, theirs = 0;

	for (i = 0; i < c->all.count; i++) {
		const struct held *held = &c->all.at[i];

		tokens += held->stream == 0;
		theirs += held->stream == 0 && held->consumer.uid == uid;
	}
	return tokens < CONSUMERS_MAX && (uid == HISTORY_ANY_UID || theirs < CONSUMERS_UID);
}

static uint64_t lease_end(uint64_t now_ns, unsigned lease_s)
{
	return now_ns + (uint64_t)lease_s * 1000000000u;
}

int consumers_take(struct consumers *consumers, uint64_t session, uint32_t uid, unsigned lease_s,
		   uint64_t now_ns, struct consumer *ret_consumer)
{
	struct held held = {
		.consumer = {.session = session,
			     .uid = uid,
			     .until_ns = lease_end(now_ns, lease_s)},
	};
	int r = util_random_hex(held.consumer.token, CONSUMER_TOKEN_CHARS);

	if (r < 0)
		return r;
	pthread_mutex_lock(&consumers->lock);
	expire(consumers, now_ns);
	if (!has_place(consumers, uid))
		r = -EUSERS;
	else
		r = VEC_PUSH(&consumers->all, held);
	pthread_mutex_unlock(&consumers->lock);
	if (r == 0)
		*ret_consumer = held.consumer;
	return r;
}

/* A token of this user; whoever sees everything may use all. */
static struct held *find(struct consumers *c, const char *token, uint32_t uid)
{
	size_t i;

	for (i = 0; i < c->all.count; i++) {
		struct held *held = &c->all.at[i];

		if (held->stream == 0 && !strcmp(held->consumer.token, token) &&
		    (uid == HISTORY_ANY_UID || uid == held->consumer.uid))
			return held;
	}
	return NULL;
}

int consumers_renew(struct consumers *consumers, const char *token, uint32_t uid, unsigned lease_s,
		    uint64_t now_ns, struct consumer *ret_consumer)
{
	struct held *held;

	pthread_mutex_lock(&consumers->lock);
	expire(consumers, now_ns);
	held = find(consumers, token, uid);
	if (held) {
		held->consumer.until_ns = lease_end(now_ns, lease_s);
		*ret_consumer = held->consumer;
	}
	pthread_mutex_unlock(&consumers->lock);
	return held ? 0 : -ENOENT;
}

int consumers_release(struct consumers *consumers, const char *token, uint32_t uid, uint64_t now_ns)
{
	struct held *held;

	pthread_mutex_lock(&consumers->lock);
	expire(consumers, now_ns);
	held = find(consumers, token, uid);
	if (held)
		forget(consumers, (size_t)(held - consumers->all.at));
	pthread_mutex_unlock(&consumers->lock);
	return held ? 0 : -ENOENT;
}

uint64_t consumers_stream_begin(struct consumers *consumers, uint64_t session, uint32_t uid)
{
	struct held held = {.consumer = {.session = session, .uid = uid, .until_ns = UINT64_MAX}};

	pthread_mutex_lock(&consumers->lock);
	held.stream = ++consumers->streams;
	if (VEC_PUSH(&consumers->all, held) < 0)
		held.stream = 0;
	pthread_mutex_unlock(&consumers->lock);
	return held.stream;
}

void consumers_stream_end(struct consumers *consumers, uint64_t stream)
{
	size_t i;

	if (stream == 0)
		return;
	pthread_mutex_lock(&consumers->lock);
	for (i = 0; i < consumers->all.count; i++)
		if (consumers->all.at[i].stream == stream) {
			forget(consumers, i);
			break;
		}
	pthread_mutex_unlock(&consumers->lock);
}

unsigned consumers_of(struct consumers *consumers, uint64_t session, uint32_t owner,
		      uint64_t now_ns)
{
	unsigned count = 0;
	size_t i;

	pthread_mutex_lock(&consumers->lock);
	expire(consumers, now_ns);
	for (i = 0; i < consumers->all.count; i++) {
		const struct consumer *one = &consumers->all.at[i].consumer;

		count += (one->session == 0 || one->session == session) &&
			 (one->uid == HISTORY_ANY_UID || one->uid == owner);
	}
	pthread_mutex_unlock(&consumers->lock);
	return count;
}
