/* SPDX-License-Identifier: MIT */
/*
 * At the frame's end it is the marking thread's turn. While a thread ran, or could have, the frame
 * waited for it. Where it was blocked until t, whoever woke it at t is what the frame waited for up
 * to then, and so the walk goes on there, from t backwards: the woken thread's own way to its wait
 * had slack. What an interrupt, another process or nobody known ended stays a wait of the thread
 * itself, which is then followed back to when it began to wait.
 *
 * A waker runs when it wakes. One of which the kernel says otherwise was not seen well: events were
 * lost. Two threads that woke each other at one moment would be walked for ever: after as many
 * steps without progress as there are threads it is a loop. Every other step goes back in time, so
 * a walk ends, and has no more steps than intervals and wakes.
 */
#include "critical_path.h"

#include <errno.h>

const char *const path_end_names[PATH_ENDS] = {"goes_on", "interrupt", "process", "kernel",
					       "lost",	  "loop",      "still"};

uint32_t path_thread_of(const struct path_threads *threads, uint32_t tid)
{
	size_t low = 0, high = threads->with_tid;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uint32_t)threads->at[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < threads->with_tid && (uint32_t)threads->at[low].tid == tid ? (uint32_t)low
										: PATH_NOBODY;
}

size_t path_interval_before(const struct path_thread *thread, int64_t t)
{
	const sched_intervals_vec *sched = &thread->sched;
	size_t low = 0, high = sched->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sched->at[middle].t1 < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sched->count && sched->at[low].t0 < t ? low : SIZE_MAX;
}

/* Did it run when it woke another at t? Of the two intervals that touch at t either may say so. */
static bool ran_at(const struct path_thread *thread, int64_t t)
{
	size_t i = path_interval_before(thread, t);
	const sched_intervals_vec *sched = &thread->sched;

	if (i == SIZE_MAX)
		return sched->count > 0 && sched->at[0].t0 == t &&
		       sched->at[0].state == SCHED_STATE_RUNNING;
	if (sched->at[i].state == SCHED_STATE_RUNNING)
		return true;
	return sched->at[i].t1 == t && i + 1 < sched->count &&
	       sched->at[i + 1].state == SCHED_STATE_RUNNING;
}

uint32_t path_waker(const struct path_threads *threads, uint32_t thread, size_t interval,
		    enum path_end *ret_end)
{
	const sched_intervals_vec *sched = &threads->at[thread].sched;
	const struct sched_interval *next = &sched->at[interval + 1];
	uint32_t waker;

	*ret_end = PATH_LOST;
	if (interval + 1 >= sched->count || next->state != SCHED_STATE_RUNNABLE || next->preempted)
		return PATH_NOBODY;
	if (next->wake_flags & SCHED_BY_INTERRUPT)
		*ret_end = PATH_INTERRUPT;
	else if (next->wake_flags & SCHED_BY_KERNEL_THREAD)
		*ret_end = PATH_KERNEL;
	else if (next->who.tid != 0 && next->who.tgid != threads->tgid)
		*ret_end = PATH_PROCESS;
	if (*ret_end != PATH_LOST || next->who.tid == 0)
		return PATH_NOBODY;
	waker = path_thread_of(threads, next->who.tid);
	if (waker == PATH_NOBODY || waker == thread || !ran_at(&threads->at[waker], next->t0))
		return PATH_NOBODY;
	*ret_end = PATH_GOES_ON;
	return waker;
}

struct walk {
	const struct path_threads *threads;
	path_slices_vec *slices;
	uint32_t frame, thread;
	int64_t t0, t;	/* the frame's begin; what is after t has been walked */
	size_t without; /* steps that did not go back */
};

static int put(struct walk *w, int64_t t0, size_t interval, enum path_end end)
{
	struct path_slice slice = {.t0 = MAX(t0, w->t0),
				   .t1 = w->t,
				   .thread = w->thread,
				   .interval =
					   interval == SIZE_MAX ? PATH_NOBODY : (uint32_t)interval,
				   .frame = w->frame,
				   .end = end};

	if (w->slices->count == PATH_SLICES_MAX)
		return -E2BIG;
	w->t = slice.t0;
	w->without = 0;
	return VEC_PUSH(w->slices, slice);
}

/* The thread was blocked right before w->t. True: its waker goes on. */
static bool go_to_waker(struct walk *w, size_t interval, enum path_end *ret_end)
{
	const struct sched_interval *i = &w->threads->at[w->thread].sched.at[interval];
	uint32_t waker;

	*ret_end = PATH_STILL;
	if (i->t1 > w->t)
		return false;
	waker = path_waker(w->threads, w->thread, interval, ret_end);
	if (waker == PATH_NOBODY)
		return false;
	if (++w->without > w->threads->count) {
		*ret_end = PATH_LOOP;
		return false;
	}
	w->thread = waker;
	return true;
}

/* What was woken had been waiting, known or not: so a thread begins. */
static bool waits(const sched_intervals_vec *sched, size_t i)
{
	if (sched->at[i].state != SCHED_STATE_UNKNOWN)
		return sched->at[i].state == SCHED_STATE_BLOCKED;
	return i + 1 < sched->count && sched->at[i + 1].state == SCHED_STATE_RUNNABLE &&
	       !sched->at[i + 1].preempted;
}

static int step(struct walk *w)
{
	const struct path_thread *thread = &w->threads->at[w->thread];
	size_t i = path_interval_before(thread, w->t);
	enum path_end end = PATH_GOES_ON;

	if (i == SIZE_MAX)
		return put(w, w->t0, SIZE_MAX, PATH_GOES_ON);
	if (waits(&thread->sched, i) && go_to_waker(w, i, &end))
		return 0;
	return put(w, thread->sched.at[i].t0, i, end);
}

static void reverse(struct path_slice *at, size_t count)
{
	size_t i;

	for (i = 0; i < count / 2; i++) {
		struct path_slice moved = at[i];

		at[i] = at[count - 1 - i];
		at[count - 1 - i] = moved;
	}
}

int path_walk(const struct path_threads *threads, uint32_t thread, uint32_t frame, int64_t t0,
	      int64_t t1, path_slices_vec *slices)
{
	struct walk w = {.threads = threads,
			 .slices = slices,
			 .frame = frame,
			 .thread = thread,
			 .t0 = t0,
			 .t = t1};
	size_t first = slices->count;
	int r = 0;

	while (w.t > t0 && r == 0)
		r = step(&w);
	reverse(slices->at + first, slices->count - first);
	return r;
}
