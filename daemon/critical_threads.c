/* SPDX-License-Identifier: MIT */
/*
 * A thread's wakers are known only once it was read, so threads are read one after the other until
 * no new one turns up. Most threads of a game never wake one that a frame waits for, and are never
 * read.
 */
#include "critical_threads.h"

#include "util.h"

#include <errno.h>
#include <string.h>

#define SEEN_SIZE (4 * CRITICAL_THREADS_MAX)

struct reading {
	struct history *h;
	const struct range *range;
	struct critical_threads *threads;
	size_t intervals;
	uint32_t seen[SEEN_SIZE]; /* tids, by their hash; 0: free */
};

void critical_threads_deinit(struct critical_threads *threads)
{
	size_t i;

	for (i = 0; i < threads->at.count; i++)
		VEC_FREE(&threads->at.at[i].sched);
	VEC_FREE(&threads->at);
}

/* Is it new? It is not any more. */
static bool is_new(struct reading *x, uint32_t tid)
{
	size_t at = tid * UINT32_C(2654435761) % SEEN_SIZE;

	while (x->seen[at] && x->seen[at] != tid)
		at = (at + 1) % SEEN_SIZE;
	if (x->seen[at])
		return false;
	x->seen[at] = tid;
	return true;
}

static uint32_t track_with(const struct range *range, int32_t tid)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].kind == TRACK_THREAD && range->tracks.at[i].tid == tid)
			return (uint32_t)i;
	return PATH_NOBODY;
}

static int add(struct reading *x, const struct path_thread *thread)
{
	if (x->threads->at.count == CRITICAL_THREADS_MAX)
		return -E2BIG;
	return VEC_PUSH(&x->threads->at, *thread);
}

static int add_marking(struct reading *x, uint32_t track)
{
	struct path_thread thread = {.track = PATH_NOBODY};
	size_t i;

	for (i = 0; i < x->range->tracks.count; i++)
		if (x->range->tracks.at[i].track == track)
			thread.track = (uint32_t)i;
	for (i = 0; i < x->threads->at.count; i++)
		if (x->threads->at.at[i].track == thread.track)
			return 0;
	if (thread.track != PATH_NOBODY && x->range->tracks.at[thread.track].kind == TRACK_THREAD)
		thread.tid = x->range->tracks.at[thread.track].tid;
	return thread.tid <= 0 || is_new(x, (uint32_t)thread.tid) ? add(x, &thread) : 0;
}

/* Threads of the game that woke thread i. */
static int add_wakers(struct reading *x, size_t i)
{
	const sched_intervals_vec sched = x->threads->at.at[i].sched;
	uint32_t last = 0;
	size_t k;
	int r = 0;

	for (k = 0; k < sched.count && r == 0; k++) {
		const struct sched_who *who = &sched.at[k].who;
		struct path_thread thread = {.tid = (int32_t)who->tid};

		if (sched.at[k].state != SCHED_STATE_RUNNABLE || sched.at[k].preempted ||
		    who->tid == last || who->tid == 0 || who->tid > INT32_MAX ||
		    who->tgid != (uint32_t)x->range->row.pid)
			continue;
		last = who->tid;
		if (!is_new(x, who->tid))
			continue;
		thread.track = track_with(x->range, thread.tid);
		memcpy(thread.comm, who->comm, sizeof(thread.comm));
		r = add(x, &thread);
	}
	return r;
}

static int read_thread(struct reading *x, size_t i)
{
	struct path_thread *thread = &x->threads->at.at[i];
	int r;

	if (thread->tid <= 0)
		return 0;
	r = history_sched(x->h, x->range->session, thread->tid, x->range->t0, x->range->t1,
			  &thread->sched);
	if (r < 0)
		return r;
	x->intervals += thread->sched.count;
	return x->intervals > CRITICAL_INTERVALS_MAX ? -E2BIG : add_wakers(x, i);
}

/* By tid, those without one last. */
static int by_tid(const void *a, const void *b)
{
	const struct path_thread *x = a, *y = b;
	uint32_t u = (uint32_t)x->tid - 1, v = (uint32_t)y->tid - 1;

	return (u > v) - (u < v);
}

int critical_threads_read(struct history *h, const struct counted *counted,
			  struct critical_threads *ret_threads)
{
	struct critical_threads threads = {0};
	struct reading x = {.h = h, .range = counted->range, .threads = &threads};
	size_t i;
	int r = 0;

	for (i = 0; i < counted->frames.count && r == 0; i++)
		r = add_marking(
			&x,
			counted->range->frames.frames.at[counted->frames.at[i].index].row.track);
	for (i = 0; i < threads.at.count && r == 0; i++)
		r = read_thread(&x, i);
	if (r < 0) {
		critical_threads_deinit(&threads);
		return r;
	}
	if (threads.at.count > 1)
		qsort(threads.at.at, threads.at.count, sizeof(*threads.at.at), by_tid);
	for (i = 0; i < threads.at.count; i++)
		threads.with_tid += threads.at.at[i].tid > 0;
	*ret_threads = threads;
	return 0;
}

uint32_t critical_threads_tid(const struct critical_threads *threads, uint32_t tid)
{
	const struct path_threads paths = {
		.at = threads->at.at, .count = threads->at.count, .with_tid = threads->with_tid};

	return path_thread_of(&paths, tid);
}

uint32_t critical_threads_track(const struct critical_threads *threads, const struct range *range,
				uint32_t track)
{
	const struct track_row *row = &range->tracks.at[track];
	size_t i;

	for (i = 0; i < threads->at.count; i++)
		if (threads->at.at[i].track == track ||
		    (row->kind == TRACK_THREAD && row->tid > 0 &&
		     threads->at.at[i].tid == row->tid))
			return (uint32_t)i;
	return PATH_NOBODY;
}
