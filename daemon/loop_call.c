/* SPDX-License-Identifier: MIT */
/*
 * A list of calls under a mutex, each on its caller's stack, and an eventfd that the loop waits
 * for. A call is in the list until it has run: who waits is woken by its `done`.
 */
#include "loop_call.h"

#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>

struct call {
	struct call *next;
	loop_call_fn fn;
	void *userdata;
	int result;
	bool done;
};

struct loop_calls {
	struct loop *loop;
	struct loop_source *source;
	int wake;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t done;
	struct call *first, **end;
	bool stopped;
};

static struct call *take(struct loop_calls *c)
{
	struct call *call;

	pthread_mutex_lock(&c->lock);
	call = c->first;
	if (call)
		c->first = call->next;
	if (!c->first)
		c->end = &c->first;
	pthread_mutex_unlock(&c->lock);
	return call;
}

static void finish(struct loop_calls *c, struct call *call, int result)
{
	pthread_mutex_lock(&c->lock);
	call->result = result;
	call->done = true;
	pthread_cond_broadcast(&c->done);
	pthread_mutex_unlock(&c->lock);
}

static void on_wake(void *userdata, int fd, unsigned events)
{
	struct loop_calls *c = userdata;
	struct call *call;
	eventfd_t count;

	(void)events;
	eventfd_read(fd, &count);
	while ((call = take(c)))
		finish(c, call, call->fn(call->userdata));
}

int loop_calls_new(struct loop *loop, struct loop_calls **ret_calls)
{
	struct loop_calls *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->loop = loop;
	c->end = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->done, NULL);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = c->wake < 0 ? -errno : loop_add_fd(loop, c->wake, on_wake, c, &c->source);
	if (r < 0) {
		loop_calls_free(c);
		return r;
	}
	*ret_calls = c;
	return 0;
}

void loop_calls_stop(struct loop_calls *calls)
{
	struct call *call;

	if (!calls)
		return;
	loop_remove(calls->loop, calls->source);
	calls->source = NULL;
	pthread_mutex_lock(&calls->lock);
	calls->stopped = true;
	pthread_mutex_unlock(&calls->lock);
	while ((call = take(calls)))
		finish(calls, call, -ESHUTDOWN);
}

void loop_calls_free(struct loop_calls *calls)
{
	if (!calls)
		return;
	loop_calls_stop(calls);
	if (calls->wake >= 0)
		close(calls->wake);
	pthread_cond_destroy(&calls->done);
	pthread_mutex_destroy(&calls->lock);
	free(calls);
}

int loop_call(struct loop_calls *calls, loop_call_fn fn, void *userdata)
{
	struct call call = {.fn = fn, .userdata = userdata};

	pthread_mutex_lock(&calls->lock);
	if (calls->stopped) {
		pthread_mutex_unlock(&calls->lock);
		return -ESHUTDOWN;
	}
	*calls->end = &call;
	calls->end = &call.next;
	eventfd_write(calls->wake, 1);
	while (!call.done)
		pthread_cond_wait(&calls->done, &calls->lock);
	pthread_mutex_unlock(&calls->lock);
	return call.result;
}
