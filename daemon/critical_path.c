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

/* --- looking up -------------------------------------------------------------------------- */

uint32_t path_thread_of(const struct path_threads *threads, uint32_t tid)
{
	const struct path_thread *at = threads->at.at;
	size_t low = 0, high = threads->with_tid;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uint32_t)at[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < threads->with_tid && (uint32_t)at[low].tid == tid ? (uint32_t)low
								       : PATH_NOBODY;
}

/* The interval i with i.t0 < t <= the next one's t0: its index, SIZE_MAX: not known. It is near the
 * one that was asked for last: steps from there grow until they are past it. */
static size_t interval_before(struct path_thread *thread, int64_t t)
{
	const struct path_interval *at = thread->sched.at;
	size_t count = thread->sched.count, low = thread->hint, high = low, step = 1;

	if (count < 2 || t <= at[0].t0 || t > at[count - 1].t0)
		return SIZE_MAX;
	for (; at[low].t0 >= t; step *= 2) {
		high = low;
		low -= MIN(step, low);
	}
	for (; at[high].t0 < t; step *= 2) {
		low = high;
		high += MIN(step, count - 1 - high);
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (at[middle].t0 < t)
			low = middle;
		else
			high = middle;
	}
	thread->hint = low;
	return low;
}

/* --- who ended which wait ---------------------------------------------------------------- */

/* Did it run when it woke another at t? Of the two intervals that touch at t either may say so. */
static bool ran_at(struct path_thread *thread, int64_t t)
{
	const struct path_interval *at = thread->sched.at;
	size_t i = interval_before(thread, t);

	if (i == SIZE_MAX)
		return thread->sched.count > 1 && at[0].t0 == t &&
		       at[0].state == SCHED_STATE_RUNNING;
	return at[i].state == SCHED_STATE_RUNNING ||
	       (at[i + 1].t0 == t && i + 2 < thread->sched.count &&
		at[i + 1].state == SCHED_STATE_RUNNING);
}

/* Who ended it: a thread of the game, or PATH_NOBODY, then how. */
struct path_wait {
	uint32_t waker;
	enum path_end end;
};

static struct path_wait woken_by(struct path_threads *threads, const struct path_interval *wake)
{
	const struct path_person *person = &threads->people.at[wake->person];
	struct path_wait wait = {PATH_NOBODY, PATH_LOST};

	if (wake->wake_flags & SCHED_BY_INTERRUPT)
		wait.end = PATH_INTERRUPT;
	else if (wake->wake_flags & SCHED_BY_KERNEL_THREAD)
		wait.end = PATH_KERNEL;
	else if (person->who.tid != 0 && person->who.tgid != threads->tgid)
		wait.end = PATH_PROCESS;
	if (wait.end != PATH_LOST || person->thread == PATH_NOBODY ||
	    !ran_at(&threads->at.at[person->thread], wake->t0))
		return wait;
	return (struct path_wait){person->thread, PATH_GOES_ON};
}

/* What is unknown was a wait if a wake ended it: so a thread begins. */
static struct path_wait wait_of(struct path_threads *threads, uint32_t thread, size_t interval)
{
	const struct path_thread *t = &threads->at.at[thread];
	const struct path_interval *i = &t->sched.at[interval];
	bool last = interval + 2 >= t->sched.count;

	if (i[0].state != SCHED_STATE_BLOCKED && i[0].state != SCHED_STATE_UNKNOWN)
		return (struct path_wait){PATH_NOBODY, PATH_GOES_ON};
	if (!last && i[1].state == SCHED_STATE_RUNNABLE && !i[1].preempted)
		return woken_by(threads, &i[1]);
	if (i[0].state == SCHED_STATE_UNKNOWN)
		return (struct path_wait){PATH_NOBODY, PATH_GOES_ON};
	return (struct path_wait){PATH_NOBODY, last ? PATH_STILL : PATH_LOST};
}

static void find_people(struct path_threads *threads)
{
	size_t i;

	for (i = 0; i < threads->people.count; i++) {
		struct path_person *person = &threads->people.at[i];

		person->thread = PATH_NOBODY;
		if (person->who.tid != 0 && person->who.tgid == threads->tgid)
			person->thread = path_thread_of(threads, person->who.tid);
	}
}

void path_resolve(struct path_threads *threads)
{
	uint32_t thread;
	size_t i;

	find_people(threads);
	for (thread = 0; thread < threads->at.count; thread++) {
		struct path_thread *t = &threads->at.at[thread];

		for (i = 0; i + 1 < t->sched.count; i++) {
			struct path_interval *at = &t->sched.at[i];
			struct path_wait wait = wait_of(threads, thread, i);

			at->end = (uint8_t)wait.end;
			at->waker = wait.waker == PATH_NOBODY ? 0 : (uint16_t)(wait.waker + 1);
		}
	}
}

/* --- the walk ---------------------------------------------------------------------------- */

struct walk {
	struct path_threads *threads;
	path_slices_vec *slices;
	uint32_t thread;
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
				   .end = end};

	w->t = slice.t0;
	w->without = 0;
	return VEC_PUSH(w->slices, slice);
}

static int step(struct walk *w)
{
	struct path_thread *thread = &w->threads->at.at[w->thread];
	size_t i = interval_before(thread, w->t);
	const struct path_interval *at;
	enum path_end end = PATH_GOES_ON;
	uint32_t waker = 0;

	if (i == SIZE_MAX)
		return put(w, w->t0, SIZE_MAX, PATH_GOES_ON);
	at = &thread->sched.at[i];
	if (at[1].t0 == w->t) {
		end = (enum path_end)at->end;
		waker = at->waker;
	} else if (at->state == SCHED_STATE_BLOCKED) {
		end = PATH_STILL;
	}
	if (waker == 0)
		return put(w, at->t0, i, end);
	if (w->without++ == w->threads->at.count)
		return put(w, at->t0, i, PATH_LOOP);
	w->thread = waker - 1;
	return 0;
}

static void reverse(path_slices_vec *slices)
{
	size_t i, count = slices->count;

	for (i = 0; i < count / 2; i++) {
		struct path_slice moved = slices->at[i];

		slices->at[i] = slices->at[count - 1 - i];
		slices->at[count - 1 - i] = moved;
	}
}

int path_walk(struct path_threads *threads, uint32_t thread, int64_t t0, int64_t t1,
	      path_slices_vec *slices)
{
	struct walk w = {.threads = threads, .slices = slices, .thread = thread, .t0 = t0, .t = t1};
	int r = 0;

	slices->count = 0;
	while (w.t > t0 && r == 0)
		r = step(&w);
	reverse(slices);
	return r;
}
