// SPDX-License-Identifier: MIT
/*
 * The event loop: the list of sources, and the choice between io_uring and epoll.
 *
 * A source belongs to the loop from its add to its remove. A removed source may still be named by
 * an event that the kernel has already queued, so it is freed only when the backend says that
 * nothing refers to it any more: at once, or later through loop_release. loop_free frees what is
 * left.
 *
 * All of it runs on one thread.
 */
#include "loop.h"
#include "loop_backend.h"

#include "util.h"

#include <errno.h>
#include <string.h>

struct loop {
	const struct loop_ops *ops;
	struct loop_backend *backend;
	struct loop_source *sources;
	bool stop;
	char reason[160]; /* why it is not io_uring; "" when it is */
};

uint64_t loop_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void loop_timer_advance(struct loop_source *source)
{
	uint64_t now = loop_now_ns();

	source->due_ns += source->period_ns;
	if (source->due_ns <= now)
		source->due_ns +=
			((now - source->due_ns) / source->period_ns + 1) * source->period_ns;
}

int loop_new(struct loop **ret_loop)
{
	const char *forced = getenv("FPROF_LOOP");
	struct loop *loop = calloc(1, sizeof(*loop));
	int r = -ENOSYS;

	if (!loop)
		return -ENOMEM;
	loop->ops = &loop_uring_ops;
	if (forced && strcmp(forced, "epoll") == 0)
		snprintf(loop->reason, sizeof(loop->reason), "FPROF_LOOP=epoll asks for it");
	else
		r = loop->ops->open(loop, &loop->backend, loop->reason, sizeof(loop->reason));
	if (r < 0) {
		char why[64];

		loop->ops = &loop_epoll_ops;
		r = loop->ops->open(loop, &loop->backend, why, sizeof(why));
	}
	if (r < 0) {
		free(loop);
		return r;
	}
	*ret_loop = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	struct loop_source *source, *next;

	if (!loop)
		return;
	loop->ops->close(loop->backend);
	for (source = loop->sources; source; source = next) {
		next = source->next;
		free(source);
	}
	free(loop);
}

const char *loop_kind(const struct loop *loop, const char **ret_reason)
{
	if (ret_reason)
		*ret_reason = loop->reason[0] ? loop->reason : NULL;
	return loop->ops->name;
}

static int loop_add(struct loop *loop, const struct loop_source *template,
		    struct loop_source **ret_source)
{
	struct loop_source *source = malloc(sizeof(*source));
	int r;

	if (!source)
		return -ENOMEM;
	*source = *template;
	r = loop->ops->add(loop->backend, source);
	if (r < 0) {
		free(source);
		return r;
	}
	source->next = loop->sources;
	if (source->next)
		source->next->previous = source;
	loop->sources = source;
	*ret_source = source;
	return 0;
}

int loop_add_fd(struct loop *loop, int fd, loop_fd_fn fn, void *userdata,
		struct loop_source **ret_source)
{
	struct loop_source template = {.fd = fd, .fd_fn = fn, .userdata = userdata};

	return loop_add(loop, &template, ret_source);
}

int loop_add_timer(struct loop *loop, uint64_t period_ns, loop_timer_fn fn, void *userdata,
		   struct loop_source **ret_source)
{
	struct loop_source template = {
		.is_timer = true,
		.fd = -1,
		.period_ns = period_ns,
		.due_ns = loop_now_ns() + period_ns,
		.timer_fn = fn,
		.userdata = userdata,
	};

	if (period_ns == 0)
		return -EINVAL;
	return loop_add(loop, &template, ret_source);
}

void loop_release(struct loop *loop, struct loop_source *source)
{
	if (source->previous)
		source->previous->next = source->next;
	else
		loop->sources = source->next;
	if (source->next)
		source->next->previous = source->previous;
	free(source);
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	if (!source || source->removed)
		return;
	source->removed = true;
	if (loop->ops->remove(loop->backend, source))
		loop_release(loop, source);
}

struct loop_source *loop_sources(struct loop *loop)
{
	return loop->sources;
}

void loop_dispatch(struct loop_source *source, unsigned events)
{
	if (source->is_timer)
		source->timer_fn(source->userdata);
	else
		source->fd_fn(source->userdata, source->fd, events);
}

int loop_run(struct loop *loop)
{
	int r = 0;

	loop->stop = false;
	while (!loop->stop && r >= 0)
		r = loop->ops->wait(loop->backend);
	return r < 0 ? r : 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}
