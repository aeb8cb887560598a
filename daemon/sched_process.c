/* SPDX-License-Identifier: MIT */
/*
 * Threads are known by their tid in the initial pid namespace; they are stored with the game's own,
 * which is how rings name them. A thread that is gone before it was looked up keeps the number that
 * the kernel gave it.
 */
#include "sched_process.h"

#include "process.h"
#include "procfs.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define THREADS_MAX 4096u
#define GONE_MAX    (THREADS_MAX / 4)
#define TASK_DEAD   0x80u    /* a state of the kernel: it was switched out for good */
#define TASK_HELD   0x800cu  /* stopped, by a tracer, by the freezer of the first version */
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
	struct process_thread thread;

	return process_thread(pid, (int32_t)tid, &thread) == 0 ? thread.ns_tid : (int32_t)tid;
}

static struct sched_thread *thread_with(const struct sched_process *p, uint32_t tid)
{
	size_t i;

	for (i = p->threads.count; i-- > 0;)
		if (p->threads.at[i]->tid == tid && !p->threads.at[i]->gone)
			return p->threads.at[i];
	return NULL;
}

static int thread_of(struct sched_process *p, uint32_t tid, struct sched_thread **ret)
{
	struct sched_thread *thread = thread_with(p, tid);

	*ret = thread;
	if (thread)
		return 0;
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

/* A thread of the game itself goes by its own number for it, as rings do. */
static struct sched_who who_of(const struct sched_process *p, const struct probe_event *e)
{
	const struct sched_thread *thread = NULL;
	struct sched_who who = {0};

	if (e->flags & PROBE_OTHER_IDLE)
		return who;
	if (e->other_tgid == (uint32_t)p->pid)
		thread = thread_with(p, e->other_tid);
	who.tid = thread ? (uint32_t)thread->game_tid : e->other_tid;
	who.tgid = e->other_tgid;
	memcpy(who.comm, e->other_comm, sizeof(who.comm));
	return who;
}

/* What it waits for by, as the kernel told where it is soon gone, else as it is now. */
static enum fd_class class_of(struct sched_process *p, const struct probe_event *e, int32_t syscall)
{
	bool polls = e->flags & PROBE_POLL_FD;

	if (polls && e->arg1)
		return fd_class_of_nameless(e->arg1);
	if ((polls || wait_wants_fd(syscall)) && e->arg0 <= INT32_MAX)
		return fd_class_now(p, (int32_t)e->arg0);
	return FD_UNKNOWN;
}

static enum wait_reason reason_of(struct sched_process *p, const struct sched_thread *thread,
				  const struct probe_event *e, int32_t syscall)
{
	bool io = e->flags & PROBE_IO_WAIT;

	if (e->state & TASK_HELD || e->flags & PROBE_FROZEN)
		return WAIT_STOPPED;
	if (e->flags & PROBE_IO_WORKER)
		return io ? WAIT_DISK : WAIT_OTHER;
	if (syscall < 0)
		return wait_reason_of_fault(io, e->flags & PROBE_MEMORY_STALL);
	if (wait_is_restart(syscall))
		return thread->last_block;
	if (!(e->flags & PROBE_POLL_FD) && wait_is_sleep(syscall, e->arg0, e->arg1))
		return WAIT_SLEEP;
	return wait_reason_of(syscall, class_of(p, e, syscall));
}

static void record_block(struct sched_process *p, struct sched_thread *thread,
			 const struct probe_event *e, struct sched_record *r)
{
	r->kind = SCHED_BLOCK;
	r->syscall = e->flags & PROBE_COMPAT ? wait_native_of(e->syscall) : e->syscall;
	r->uninterruptible = (e->state & 2) != 0;
	r->reason = reason_of(p, thread, e, r->syscall);
	if (r->reason != WAIT_STOPPED) /* what it waits for then goes on afterwards */
		thread->last_block = r->reason;
	if (r->syscall == INT32_MAX)
		r->syscall = -1;
}

static void record_out(struct sched_process *p, struct sched_thread *thread,
		       const struct probe_event *e, struct sched_record *r)
{
	if (e->flags & PROBE_PREEMPTED) {
		r->kind = SCHED_PREEMPT;
		r->who = who_of(p, e);
		return;
	}
	if (e->state & TASK_DEAD) {
		r->kind = SCHED_EXIT;
		thread->gone = true;
		p->gone++;
		return;
	}
	record_block(p, thread, e, r);
}

static bool is_off_cpu(const struct sched_thread *thread)
{
	return thread->log.now.state == SCHED_STATE_RUNNABLE ||
	       thread->log.now.state == SCHED_STATE_BLOCKED;
}

/* Who wakes another runs, though a switch in some ten thousand is never told of (nor to ftrace). */
static int note_waker(struct sched_process *p, const struct probe_event *e, int64_t t)
{
	const struct sched_record r = {.kind = SCHED_RUN, .t = t, .cpu = e->cpu};
	struct sched_thread *waker = NULL;

	if (e->other_tgid == (uint32_t)p->pid && !(e->flags & PROBE_INTERRUPT))
		waker = thread_with(p, e->other_tid);
	if (!waker || waker->log.now.state == SCHED_STATE_RUNNING)
		return 0;
	p->missed += is_off_cpu(waker);
	return sched_log_put(&waker->log, &r);
}

static void record_wake(const struct sched_process *p, const struct probe_event *e,
			struct sched_record *r)
{
	r->kind = SCHED_WAKE;
	if (e->flags & PROBE_INTERRUPT)
		r->flags |= SCHED_BY_INTERRUPT;
	else
		r->who = who_of(p, e);
	if (e->flags & PROBE_KERNEL_THREAD)
		r->flags |= SCHED_BY_KERNEL_THREAD;
}

/* What a thread that nothing is known of does as its process is added. */
static int take_found(struct sched_process *p, struct sched_thread *thread,
		      const struct probe_event *e, int64_t t)
{
	struct sched_record r = {.t = t, .cpu = e->cpu};

	if (thread->log.now.state != SCHED_STATE_UNKNOWN)
		return 0;
	if (e->kind == PROBE_IN)
		r.kind = SCHED_RUN;
	else if (e->kind == PROBE_WAKING)
		r.kind = SCHED_WAKE;
	else
		record_block(p, thread, e, &r);
	return sched_log_put(&thread->log, &r);
}

int sched_process_take(struct sched_process *process, const struct probe_event *event, int64_t t)
{
	struct sched_record r = {.t = t, .cpu = event->cpu};
	struct sched_thread *thread;
	int error = thread_of(process, event->tid, &thread);

	if (error < 0)
		return error;
	if (event->flags & PROBE_FOUND)
		return take_found(process, thread, event, t);
	if (event->kind == PROBE_IN) {
		r.kind = SCHED_RUN;
		process->missed += thread->log.now.state == SCHED_STATE_BLOCKED;
		if (thread->log.now.state == SCHED_STATE_RUNNABLE)
			r.who = who_of(process, event);
	} else if (event->kind == PROBE_OUT) {
		process->missed += is_off_cpu(thread);
		record_out(process, thread, event, &r);
	} else if (event->kind == PROBE_WAKING) {
		error = note_waker(process, event, t);
		record_wake(process, event, &r);
	} else {
		return 0;
	}
	return error < 0 ? error : sched_log_put(&thread->log, &r);
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
	process->gone = 0;
}

bool sched_process_is_full(const struct sched_process *process)
{
	return process->gone >= GONE_MAX;
}
