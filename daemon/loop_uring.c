// SPDX-License-Identifier: MIT
/*
 * Waiting by io_uring: one oneshot poll or timeout in flight per source.
 *
 * A poll is armed again after its callback: arming looks at the descriptor's state, so what is
 * still readable fires again, as with a level-triggered epoll. An armed operation names its source
 * in user_data and is the one reference that the kernel holds (source->pending); a removed source
 * lives until that operation's completion was seen. Cancels are submitted at once: a poll keeps its
 * file open, and the caller is about to close it.
 */
#include "loop_backend.h"

#include "util.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>

#define ENTRIES 128

struct loop_backend {
	struct loop *loop;
	struct io_uring ring;
	bool unarmed; /* the submission queue had no room: some source waits for its operation */
};

/* Why the kernel says no, with the sysctl's word where it is the sysctl. */
static void explain(int error, char *why, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int disabled = 0;

	if (f && fscanf(f, "%d", &disabled) == 1 && disabled > 0)
		snprintf(why, size, "io_uring is refused: %s (kernel.io_uring_disabled = %d)",
			 strerror(error), disabled);
	else
		snprintf(why, size, "io_uring is refused: %s%s", strerror(error),
			 error == EPERM || error == ENOSYS ? " (seccomp, or not in this kernel)"
							   : "");
}

/* Some filters allow the setup and refuse the rest: try one operation to its end. */
static int try_nop(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int r;

	if (!sqe)
		return -EAGAIN;
	io_uring_prep_nop(sqe);
	r = io_uring_submit(ring);
	if (r < 0)
		return r;
	r = io_uring_wait_cqe(ring, &cqe);
	if (r < 0)
		return r;
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

static int uring_open(struct loop *loop, struct loop_backend **ret_backend, char *why, size_t size)
{
	_cleanup_free_ struct loop_backend *backend = calloc(1, sizeof(*backend));
	int r;

	if (!backend)
		return -ENOMEM;
	backend->loop = loop;
	r = io_uring_queue_init(ENTRIES, &backend->ring, 0);
	if (r >= 0) {
		r = try_nop(&backend->ring);
		if (r < 0)
			io_uring_queue_exit(&backend->ring);
	}
	if (r < 0) {
		explain(-r, why, size);
		return r;
	}
	*ret_backend = backend;
	backend = NULL;
	return 0;
}

static void uring_close(struct loop_backend *backend)
{
	io_uring_queue_exit(&backend->ring);
	free(backend);
}

static struct io_uring_sqe *get_sqe(struct loop_backend *backend)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&backend->ring);

	if (!sqe && io_uring_submit(&backend->ring) >= 0)
		sqe = io_uring_get_sqe(&backend->ring);
	return sqe;
}

static int arm(struct loop_backend *backend, struct loop_source *source)
{
	struct io_uring_sqe *sqe = get_sqe(backend);

	if (!sqe) {
		backend->unarmed = true;
		return 0;
	}
	if (source->is_timer) {
		source->due.tv_sec = (long long)(source->due_ns / 1000000000u);
		source->due.tv_nsec = (long long)(source->due_ns % 1000000000u);
		io_uring_prep_timeout(sqe, &source->due, 0, IORING_TIMEOUT_ABS);
	} else {
		io_uring_prep_poll_add(sqe, source->fd, POLLIN);
	}
	io_uring_sqe_set_data(sqe, source);
	source->pending = true;
	return 0;
}

static bool uring_remove(struct loop_backend *backend, struct loop_source *source)
{
	struct io_uring_sqe *sqe;

	if (!source->pending)
		return !source->in_callback;
	sqe = get_sqe(backend);
	if (!sqe)
		return false; /* its next completion releases it */
	if (source->is_timer)
		io_uring_prep_timeout_remove(sqe, (uintptr_t)source, 0);
	else
		io_uring_prep_poll_remove(sqe, (uintptr_t)source);
	io_uring_sqe_set_data(sqe, NULL);
	io_uring_submit(&backend->ring);
	return false;
}

static void complete(struct loop_backend *backend, struct loop_source *source, int result)
{
	source->pending = false;
	if (!source->removed && !(source->is_timer && result != -ETIME)) {
		source->in_callback = true;
		loop_dispatch(source, result > 0 ? (unsigned)result : POLLERR);
		source->in_callback = false;
	}
	if (source->removed) {
		loop_release(backend->loop, source);
		return;
	}
	if (source->is_timer)
		loop_timer_advance(source);
	arm(backend, source);
}

static void arm_the_unarmed(struct loop_backend *backend)
{
	struct loop_source *source;

	backend->unarmed = false;
	for (source = loop_sources(backend->loop); source; source = source->next)
		if (!source->pending && !source->removed)
			arm(backend, source);
}

static int uring_wait(struct loop_backend *backend)
{
	struct io_uring_cqe *cqe;
	int r;

	if (backend->unarmed)
		arm_the_unarmed(backend);
	r = io_uring_submit_and_wait(&backend->ring, backend->unarmed ? 0 : 1);

	if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY)
		return r;
	while (io_uring_peek_cqe(&backend->ring, &cqe) == 0) {
		struct loop_source *source = io_uring_cqe_get_data(cqe);
		int result = cqe->res;

		io_uring_cqe_seen(&backend->ring, cqe);
		if (source)
			complete(backend, source, result);
	}
	return 0;
}

const struct loop_ops loop_uring_ops = {
	.name = "io_uring",
	.open = uring_open,
	.close = uring_close,
	.add = arm,
	.remove = uring_remove,
	.wait = uring_wait,
};
