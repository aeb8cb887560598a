// SPDX-License-Identifier: MIT
/*
 * Waiting by epoll, timers by timerfd: the way without io_uring.
 *
 * One epoll_wait returns several events, and a callback may remove a source whose event comes later
 * in the same answer: sources removed while events are dispatched are released after them.
 */
#include "loop_backend.h"

#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define EVENTS 64

struct loop_backend {
	struct loop *loop;
	int epoll;
	bool dispatching;
	VEC(struct loop_source *) removed;
};

static int epoll_backend_open(struct loop *loop, struct loop_backend **ret_backend, char *why,
			      size_t size)
{
	_cleanup_free_ struct loop_backend *backend = calloc(1, sizeof(*backend));

	if (!backend)
		return -ENOMEM;
	backend->loop = loop;
	backend->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (backend->epoll < 0) {
		snprintf(why, size, "epoll is refused: %s", strerror(errno));
		return -errno;
	}
	*ret_backend = backend;
	backend = NULL;
	return 0;
}

static void epoll_backend_close(struct loop_backend *backend)
{
	close(backend->epoll);
	VEC_FREE(&backend->removed);
	free(backend);
}

static int timer_open(struct loop_source *source)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(source->due_ns / 1000000000u),
			     .tv_nsec = (long)(source->due_ns % 1000000000u)},
		.it_interval = {.tv_sec = (time_t)(source->period_ns / 1000000000u),
				.tv_nsec = (long)(source->period_ns % 1000000000u)},
	};

	source->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->fd < 0)
		return -errno;
	timerfd_settime(source->fd, TFD_TIMER_ABSTIME, &when, NULL);
	return 0;
}

static int epoll_backend_add(struct loop_backend *backend, struct loop_source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
	int r;

	if (source->is_timer) {
		r = timer_open(source);
		if (r < 0)
			return r;
	}
	if (epoll_ctl(backend->epoll, EPOLL_CTL_ADD, source->fd, &event) < 0) {
		r = -errno;
		if (source->is_timer)
			close(source->fd);
		return r;
	}
	return 0;
}

static bool epoll_backend_remove(struct loop_backend *backend, struct loop_source *source)
{
	epoll_ctl(backend->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	if (source->is_timer)
		close(source->fd);
	if (!backend->dispatching)
		return true;
	/* Without memory for the list the source stays with the loop until loop_free. */
	(void)VEC_PUSH(&backend->removed, source);
	return false;
}

static void epoll_backend_dispatch(struct loop_source *source, unsigned events)
{
	uint64_t expirations;

	if (source->removed)
		return;
	if (source->is_timer && read(source->fd, &expirations, sizeof(expirations)) < 0)
		return;
	loop_dispatch(source, events);
}

static int epoll_backend_wait(struct loop_backend *backend)
{
	struct epoll_event events[EVENTS];
	int i, n = epoll_wait(backend->epoll, events, EVENTS, -1);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	backend->dispatching = true;
	for (i = 0; i < n; i++)
		epoll_backend_dispatch(events[i].data.ptr, events[i].events);
	backend->dispatching = false;
	for (size_t k = 0; k < backend->removed.count; k++)
		loop_release(backend->loop, backend->removed.at[k]);
	backend->removed.count = 0;
	return 0;
}

const struct loop_ops loop_epoll_ops = {
	.name = "epoll",
	.open = epoll_backend_open,
	.close = epoll_backend_close,
	.add = epoll_backend_add,
	.remove = epoll_backend_remove,
	.wait = epoll_backend_wait,
};
