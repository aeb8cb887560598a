/* SPDX-License-Identifier: MIT */
/*
 * One mutex guards the hub and all clients: publishing copies a few hundred bytes into at most
 * STREAM_CLIENTS_MAX queues. Database reads never happen under it.
 *
 * A client is in one of two phases. While it catches up (it named the last event it had), its queue
 * is filled by reading the past as fast as it takes it, and new frames of that session pass it by:
 * they are committed before they are published, so the past will reach them. When the past holds
 * nothing more and nothing newer was published (`published` below says so under the lock), it
 * follows: frames come by stream_publish. Frame numbers only grow, so `last` keeps any frame from
 * being sent twice.
 *
 * A full queue drops what comes until it has been read empty; then one `dropped` event says how
 * many were missed.
 */
#include "stream.h"

#include "history.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct published {
	uint64_t session, frame;
};

struct stream_hub {
	stream_replay_fn replay;
	void *userdata;
	pthread_mutex_t lock;
	struct stream_client *first;
	unsigned clients; /* changed under the lock, read by anyone */
	bool closed;
	struct published
		published[64]; /* newest frame that was published, of the newest sessions */
	unsigned published_next;
};

struct stream_client {
	struct stream_hub *hub;
	struct stream_client *next;
	struct stream_filter filter;
	struct stream_sleeper sleeper;
	struct json queue;
	size_t read; /* bytes of queue that went out */
	bool asleep;
	bool gone; /* it hung up: its next read is the last */
	uint64_t missed;
	uint64_t last; /* newest frame of resume_session that it has */
};

int stream_hub_new(stream_replay_fn replay, void *userdata, struct stream_hub **ret_hub)
{
	struct stream_hub *hub = calloc(1, sizeof(*hub));

	if (!hub)
		return -ENOMEM;
	hub->replay = replay;
	hub->userdata = userdata;
	pthread_mutex_init(&hub->lock, NULL);
	*ret_hub = hub;
	return 0;
}

static void wake(struct stream_client *c)
{
	if (!c->asleep)
		return;
	c->asleep = false;
	c->sleeper.wake(c->sleeper.userdata);
}

void stream_hub_close(struct stream_hub *hub)
{
	struct stream_client *c;

	pthread_mutex_lock(&hub->lock);
	hub->closed = true;
	for (c = hub->first; c; c = c->next)
		wake(c);
	pthread_mutex_unlock(&hub->lock);
}

void stream_hub_free(struct stream_hub *hub)
{
	if (!hub)
		return;
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

unsigned stream_hub_clients(const struct stream_hub *hub)
{
	return __atomic_load_n(&hub->clients, __ATOMIC_RELAXED);
}

/* Has the user that the filter names a place left? The lock is held. */
static bool has_place(const struct stream_hub *hub, const struct stream_filter *filter)
{
	const struct stream_client *c;
	unsigned theirs = 0;

	for (c = hub->first; c; c = c->next)
		theirs += c->filter.uid == filter->uid;
	return hub->clients < STREAM_CLIENTS_MAX &&
	       (filter->uid == HISTORY_ANY_UID || theirs < STREAM_CLIENTS_UID);
}

int stream_client_new(struct stream_hub *hub, const struct stream_filter *filter,
		      const struct stream_sleeper *sleeper, struct stream_client **ret_client)
{
	struct stream_client *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return -ENOMEM;
	c->hub = hub;
	c->filter = *filter;
	c->sleeper = *sleeper;
	c->last = filter->resume_frame;
	/* The first bytes open the stream at once, and tell the client when to come back. */
	json_printf(&c->queue, "retry: 1000\n: fprof\n\n");
	pthread_mutex_lock(&hub->lock);
	if (hub->closed)
		rc = -ESHUTDOWN;
	else if (!has_place(hub, filter))
		rc = -EUSERS;
	else if (c->queue.failed)
		rc = -ENOMEM;
	if (!rc) {
		c->next = hub->first;
		hub->first = c;
		__atomic_store_n(&hub->clients, hub->clients + 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&hub->lock);
	if (rc < 0) {
		json_free(&c->queue);
		free(c);
		return rc;
	}
	*ret_client = c;
	return 0;
}

void stream_client_free(struct stream_client *client)
{
	struct stream_hub *hub;
	struct stream_client **p;

	if (!client)
		return;
	hub = client->hub;
	pthread_mutex_lock(&hub->lock);
	for (p = &hub->first; *p; p = &(*p)->next) {
		if (*p == client) {
			*p = client->next;
			__atomic_store_n(&hub->clients, hub->clients - 1, __ATOMIC_RELAXED);
			break;
		}
	}
	pthread_mutex_unlock(&hub->lock);
	json_free(&client->queue);
	free(client);
}

static size_t waiting(const struct stream_client *c)
{
	return c->queue.count - c->read;
}

static void queue_dropped(struct json *queue, uint64_t missed, const char *reason)
{
	stream_format_begin(queue, "dropped");
	stream_format_data(queue);
	json_object_begin(queue);
	json_member_uint(queue, "missed", missed);
	json_member_string(queue, "reason", reason);
	json_object_end(queue);
	stream_format_end(queue);
}

static void note_published(struct stream_hub *hub, uint64_t session, uint64_t frame)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(hub->published); i++) {
		if (hub->published[i].session == session) {
			hub->published[i].frame = MAX(hub->published[i].frame, frame);
			return;
		}
	}
	hub->published[hub->published_next] = (struct published){session, frame};
	hub->published_next = (hub->published_next + 1) % ARRAY_SIZE(hub->published);
}

static uint64_t newest_published(const struct stream_hub *hub, uint64_t session)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(hub->published); i++)
		if (hub->published[i].session == session)
			return hub->published[i].frame;
	return 0;
}

/* Events of which there are few, and which matter most. */
static bool is_rare(enum stream_kind kind)
{
	return kind != STREAM_FRAME && kind != STREAM_GPU;
}

static bool wants(const struct stream_client *c, const struct stream_event *event)
{
	const struct stream_filter *f = &c->filter;

	if (f->uid != HISTORY_ANY_UID && f->uid != event->uid)
		return false;
	if (f->session && f->session != event->session)
		return false;
	if (is_rare(event->kind) || event->session != f->resume_session)
		return true;
	if (f->resume)
		return false;
	return event->kind != STREAM_FRAME || event->frame > c->last;
}

/* A flood of frames does not push out what matters more. */
static bool has_room(const struct stream_client *c, const struct stream_event *event)
{
	if (is_rare(event->kind))
		return waiting(c) + event->bytes <= 2 * STREAM_QUEUE_BYTES;
	return !c->missed && waiting(c) + event->bytes <= STREAM_QUEUE_BYTES;
}

static void queue_event(struct stream_client *c, const struct stream_event *event)
{
	if (!has_room(c, event)) {
		c->missed++;
		return;
	}
	json_bytes(&c->queue, event->text, event->bytes);
	if (event->kind == STREAM_FRAME && event->session == c->filter.resume_session)
		c->last = event->frame;
}

void stream_publish(struct stream_hub *hub, const struct stream_event *event)
{
	struct stream_client *c;

	pthread_mutex_lock(&hub->lock);
	if (event->kind == STREAM_FRAME)
		note_published(hub, event->session, event->frame);
	for (c = hub->first; c; c = c->next) {
		if (!wants(c, event))
			continue;
		queue_event(c, event);
		wake(c);
	}
	pthread_mutex_unlock(&hub->lock);
}

void stream_miss(struct stream_hub *hub, uint64_t session, uint32_t uid, uint64_t count)
{
	const struct stream_event event = {.kind = STREAM_GPU, .session = session, .uid = uid};
	struct stream_client *c;

	pthread_mutex_lock(&hub->lock);
	for (c = hub->first; c; c = c->next) {
		if (!wants(c, &event))
			continue;
		if (has_room(c, &event))
			queue_dropped(&c->queue, count, "evicted");
		else
			c->missed += count;
		wake(c);
	}
	pthread_mutex_unlock(&hub->lock);
}

void stream_look(struct stream_hub *hub, bool keepalive)
{
	static const char comment[] = ":\n\n";
	struct stream_client *c;

	pthread_mutex_lock(&hub->lock);
	for (c = hub->first; c; c = c->next) {
		c->gone = c->gone || (c->asleep && c->sleeper.gone(c->sleeper.userdata));
		if (!keepalive && !c->gone)
			continue;
		if (!waiting(c))
			json_bytes(&c->queue, comment, sizeof(comment) - 1);
		wake(c);
	}
	pthread_mutex_unlock(&hub->lock);
}

/* One step of catching up, with the lock held on entry and exit. */
static void catch_up(struct stream_client *c)
{
	struct stream_hub *hub = c->hub;
	uint64_t session = c->filter.resume_session, last = c->last, missed = 0;
	uint64_t before = newest_published(hub, session);
	struct json past = {0};
	int rc;

	pthread_mutex_unlock(&hub->lock);
	rc = hub->replay(hub->userdata, session, c->last, &past, &last, &missed);
	pthread_mutex_lock(&hub->lock);
	if (rc < 0 || (last == c->last && newest_published(hub, session) == before))
		c->filter.resume = false;
	if (missed)
		queue_dropped(&c->queue, missed, "evicted");
	json_bytes(&c->queue, past.at, past.count);
	c->last = last;
	json_free(&past);
}

static size_t take(struct stream_client *c, char *buf, size_t max)
{
	size_t n = MIN(max, waiting(c));

	memcpy(buf, c->queue.at + c->read, n);
	c->read += n;
	if (!waiting(c)) {
		c->queue.count = c->read = 0;
	} else if (c->read > STREAM_QUEUE_BYTES / 2) {
		memmove(c->queue.at, c->queue.at + c->read, waiting(c));
		c->queue.count -= c->read;
		c->read = 0;
	}
	return n;
}

ssize_t stream_client_read(struct stream_client *client, char *buf, size_t max)
{
	struct stream_hub *hub = client->hub;
	ssize_t n;

	pthread_mutex_lock(&hub->lock);
	if (!waiting(client) && client->missed) {
		queue_dropped(&client->queue, client->missed, "slow");
		client->missed = 0;
	}
	while (!hub->closed && client->filter.resume && !waiting(client))
		catch_up(client);
	if (hub->closed || client->gone || client->queue.failed) {
		n = -ESHUTDOWN;
	} else {
		n = (ssize_t)take(client, buf, max);
		if (!n) {
			client->asleep = true;
			client->sleeper.sleep(client->sleeper.userdata);
		}
	}
	pthread_mutex_unlock(&hub->lock);
	return n;
}

void stream_format_begin(struct json *out, const char *name)
{
	json_printf(out, "event: %s\n", name);
}

void stream_format_id(struct json *out, uint64_t session, uint64_t frame)
{
	json_printf(out, "id: %llu:%llu\n", (unsigned long long)session, (unsigned long long)frame);
}

void stream_format_data(struct json *out)
{
	json_bytes(out, "data: ", 6);
	out->comma = false;
}

void stream_format_end(struct json *out)
{
	json_bytes(out, "\n\n", 2);
	out->comma = false;
}
