/* SPDX-License-Identifier: MIT */
/*
 * Threads are known by their tid in the initial pid namespace; they are stored with the game's own,
 * which is how rings name them. A thread that is gone before it was looked up keeps the number that
 * the kernel gave it.
 */
#include "sched_process.h"

#include "procfs.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define THREADS_MAX 4096u
#define FD_KNOWN_NS NS_PER_S /* what a descriptor is, is asked again after it */

static void thread_free(struct sched_thread *thread)
{
	sched_log_deinit(&thread->log);
	free(thread);
}

void sched_process_deinit(struct sched_process *process)
{
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		thread_free(process->threads.at[i]);
	VEC_FREE(&process->threads);
}

/* The number that the game itself has for a thread. */
static int32_t game_tid(int32_t pid, uint32_t tid)
{
	char text[4096], value[64], *last;

	if (procfs_read(text, sizeof(text), "/proc/%d/task/%u/status", pid, tid) < 0 ||
	    procfs_field(text, "NSpid", value, sizeof(value)) < 0)
		return (int32_t)tid;
	last = strrchr(value, '\t');
	return atoi(last ? last + 1 : value);
}

static int thread_of(struct sched_process *p, uint32_t tid, struct sched_thread **ret)
{
	struct sched_thread *thread;
	size_t i;

	for (i = p->threads.count; i-- > 0;)
		if (p->threads.at[i]->tid == tid && !p->threads.at[i]->gone) {
			*ret = p->threads.at[i];
			return 0;
		}
	if (p->threads.count == THREADS_MAX)
		return -ENOSPC;
	thread = calloc(1, sizeof(*thread));
	if (!thread || VEC_PUSH(&p->threads, thread) < 0) {
		free(thread);
		return -ENOMEM;
	}
	thread->tid = tid;
	thread->game_tid = game_tid(p->pid, tid);
	sched_log_init(&thread->log);
	*ret = thread;
	return 0;
}

static enum fd_class fd_class_now(struct sched_process *p, int32_t fd)
{
	struct sched_fd *known = &p->fds[(uint32_t)fd % SCHED_FDS_MAX];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char target[64];

	if (known->fd == fd && known->at && now - known->at < FD_KNOWN_NS)
		return known->class;
	known->fd = fd;
	known->at = now;
	known->class = FD_UNKNOWN;
	if (procfs_link(target, sizeof(target), "/proc/%d/fd/%d", p->pid, fd) > 0)
		known->class = fd_class_of(target);
	return known->class;
}

/* ---- events ---- */

static struct sched_who who_of(const struct probe_event *e)
{
	struct sched_who who = {0};

	if (e->flags & PROBE_OTHER_IDLE)
		return who;
	who.tid = e->other_tid;
	who.tgid = e->other_tgid;
	memcpy(who.comm, e->other_comm, sizeof(who.comm));
	return who;
}

static enum wait_reason reason_of(struct sched_process *p, const struct sched_thread *thread,
				  const struct probe_event *e)
{
	enum fd_class class = FD_UNKNOWN;

	if (e->flags & PROBE_COMPAT)
		return WAIT_OTHER;
	if (wait_is_restart(e->syscall))
		return thread->last_block;
	if (wait_wants_fd(e->syscall) && e->arg0 <= INT32_MAX)
		class = fd_class_now(p, (int32_t)e->arg0);
	return wait_reason_of(e->syscall, class);
}

static void record_out(struct sched_process *p, struct sched_thread *thread,
		       const struct probe_event *e, struct sched_record *r)
{
	if (e->flags & PROBE_PREEMPTED) {
		r->kind = SCHED_PREEMPT;
		r->who = who_of(e);
		return;
	}
	r->kind = SCHED_BLOCK;
	r->syscall = e->syscall;
	r->uninterruptible = (e->state & 2) != 0;
	r->reason = thread->last_block = reason_of(p, thread, e);
}

static void record_wake(const struct probe_event *e, struct sched_record *r)
{
	r->kind = SCHED_WAKE;
	if (e->flags & PROBE_INTERRUPT)
		r->flags |= SCHED_BY_INTERRUPT;
	else
		r->who = who_of(e);
	if (e->flags & PROBE_KERNEL_THREAD)
		r->flags |= SCHED_BY_KERNEL_THREAD;
}

int sched_process_take(struct sched_process *process, const struct probe_event *event, int64_t t)
{
	struct sched_record r = {.t = t, .cpu = event->cpu};
	struct sched_thread *thread;
	int error = thread_of(process, event->tid, &thread);

	if (error < 0)
		return error;
	if (event->kind == PROBE_IN) {
		r.kind = SCHED_RUN;
	} else if (event->kind == PROBE_OUT) {
		record_out(process, thread, event, &r);
	} else if (event->kind == PROBE_WAKING) {
		record_wake(event, &r);
	} else {
		r.kind = SCHED_EXIT;
		thread->gone = true;
	}
	return sched_log_put(&thread->log, &r);
}

void sched_process_lost(struct sched_process *process)
{
	struct sched_record r = {.kind = SCHED_LOST};
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		r.t = process->threads.at[i]->log.last;
		sched_log_put(&process->threads.at[i]->log, &r);
	}
}

/* ---- to the store ---- */

static int flush_thread(struct sched_thread *thread, uint64_t session, struct batch *batch)
{
	struct sched_chunk chunk;
	struct sched_row row;

	if (thread->log.records == 0)
		return 0;
	if (VEC_RESERVE(&batch->scheds, 1) < 0)
		return -ENOMEM;
	sched_log_take(&thread->log, &chunk);
	row = (struct sched_row){.session = session,
				 .tid = thread->game_tid,
				 .t0 = chunk.t0,
				 .t1 = chunk.t1,
				 .records = chunk.records,
				 .data = chunk.data,
				 .bytes = (uint32_t)chunk.bytes};
	batch->scheds.at[batch->scheds.count++] = row;
	batch->bytes += row.bytes;
	return 0;
}

void sched_process_flush(struct sched_process *process, uint64_t session, struct batch *batch)
{
	size_t i, kept = 0;

	for (i = 0; i < process->threads.count; i++) {
		struct sched_thread *thread = process->threads.at[i];

		if (flush_thread(thread, session, batch) == 0 && thread->gone)
			thread_free(thread);
		else
			process->threads.at[kept++] = thread;
	}
	process->threads.count = kept;
}
