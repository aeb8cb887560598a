/* SPDX-License-Identifier: MIT */
/*
 * A thread's wakers are known only once it was read, so threads are read one after the other until
 * no new one turns up. Most threads of a game never wake one that a frame waits for, and are never
 * read.
 *
 * What is read is kept short, and who is named is kept once: there are hundreds of thousands of
 * intervals in ten seconds, and touching memory for the first time costs more than all the rest.
 */
#include "critical_threads.h"

#include "history_sched.h"
#include "slab.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define PEOPLE_FIRST   64u
#define INTERVAL_BYTES (CRITICAL_INTERVALS_MAX * sizeof(struct path_interval))
#define WAKER	       (PATH_NOBODY - 1) /* while reading: a person who is among the wakers */

struct reading {
	struct history *h;
	const struct range *range;
	struct path_threads *threads;
	size_t intervals;
	/* by the hash of who: 1 + an index into people; twice as many as there are, at least */
	uint32_t *index;
	size_t index_size;
	size_t reading;	      /* the thread */
	VEC(uint32_t) wakers; /* people who woke one of them */
};

void critical_threads_deinit(struct path_threads *threads)
{
	slab_release(threads->intervals, INTERVAL_BYTES);
	VEC_FREE(&threads->at);
	VEC_FREE(&threads->people);
}

/* --- people ------------------------------------------------------------------------------ */

static size_t place_of(const struct reading *x, const struct sched_who *who)
{
	size_t at = who->tid * UINT32_C(2654435761) & (x->index_size - 1);

	while (x->index[at] &&
	       memcmp(&x->threads->people.at[x->index[at] - 1].who, who, sizeof(*who)) != 0)
		at = (at + 1) & (x->index_size - 1);
	return at;
}

static int grow_index(struct reading *x)
{
	size_t size = x->index_size ? 2 * x->index_size : PEOPLE_FIRST, i;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(x->index);
	x->index = index;
	x->index_size = size;
	for (i = 0; i < x->threads->people.count; i++)
		x->index[place_of(x, &x->threads->people.at[i].who)] = (uint32_t)i + 1;
	return 0;
}

/* Nobody is the first of all. */
static int person_of(struct reading *x, const struct sched_who *who, uint32_t *ret_person)
{
	struct path_person person = {.who = *who, .thread = PATH_NOBODY};
	size_t at;

	if (2 * (x->threads->people.count + 1) > x->index_size && grow_index(x) < 0)
		return -ENOMEM;
	at = place_of(x, who);
	*ret_person = x->index[at] ? x->index[at] - 1 : 0;
	if (x->index[at] || x->threads->people.count == PATH_PEOPLE_MAX)
		return 0;
	if (VEC_PUSH(&x->threads->people, person) < 0)
		return -ENOMEM;
	x->index[at] = (uint32_t)x->threads->people.count;
	*ret_person = x->index[at] - 1;
	return 0;
}

/* --- threads ----------------------------------------------------------------------------- */

static uint32_t track_with(const struct range *range, int32_t tid)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].kind == TRACK_THREAD && range->tracks.at[i].tid == tid)
			return (uint32_t)i;
	return PATH_NOBODY;
}

/* One with a tid may be there already. */
static int add(struct reading *x, const struct path_thread *thread)
{
	size_t i;

	for (i = 0; i < x->threads->at.count && thread->tid > 0; i++)
		if (x->threads->at.at[i].tid == thread->tid)
			return 0;
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
		thread.tid = MAX(x->range->tracks.at[thread.track].tid, 0);
	return add(x, &thread);
}

static int note_waker(struct reading *x, uint32_t person)
{
	if (x->threads->people.at[person].thread == WAKER)
		return 0;
	x->threads->people.at[person].thread = WAKER;
	return VEC_PUSH(&x->wakers, person);
}

static int take_interval(void *userdata, const struct sched_interval *i)
{
	struct reading *x = userdata;
	struct path_thread *thread = &x->threads->at.at[x->reading];
	struct path_interval interval = {.t0 = i->t0,
					 .state = (uint32_t)i->state & 7,
					 .reason = (uint32_t)i->reason & 15,
					 .wake_flags = i->wake_flags & 3,
					 .preempted = i->preempted};
	uint32_t person = 0;
	int r = i->who.tid || *i->who.comm ? person_of(x, &i->who, &person) : 0;

	interval.person = person & (PATH_PEOPLE_MAX - 1);
	if (r == 0 && person && i->state == SCHED_STATE_RUNNABLE && !i->preempted)
		r = note_waker(x, person);
	if (r < 0 || x->intervals++ == CRITICAL_INTERVALS_MAX - CRITICAL_THREADS_MAX)
		return r < 0 ? r : -E2BIG;
	thread->sched.at[thread->sched.count++] = interval;
	return 0;
}

/* Threads come one after the other, so do their intervals. */
static int read_thread(struct reading *x)
{
	const struct range *range = x->range;
	struct path_thread *thread = &x->threads->at.at[x->reading];
	int32_t tid = thread->tid;
	int r;

	thread->sched.at = x->threads->intervals + x->intervals;
	r = tid > 0 ? history_sched_each(x->h, range->session, tid, range->t0, range->t1,
					 take_interval, x)
		    : 0;
	if (r < 0 || thread->sched.count == 0)
		return r;
	thread->sched.at[thread->sched.count++] = (struct path_interval){.t0 = range->t1};
	x->intervals++;
	return 0;
}

/* Those that are threads of the game. */
static int add_wakers(struct reading *x, size_t *from)
{
	int r = 0;

	for (; *from < x->wakers.count && r == 0; ++*from) {
		const struct sched_who *who = &x->threads->people.at[x->wakers.at[*from]].who;
		struct path_thread thread = {.tid = (int32_t)who->tid};

		if (who->tid == 0 || who->tid > INT32_MAX ||
		    who->tgid != (uint32_t)x->range->row.pid)
			continue;
		thread.track = track_with(x->range, thread.tid);
		memcpy(thread.comm, who->comm, sizeof(thread.comm));
		r = add(x, &thread);
	}
	return r;
}

/* By tid, those without one last. */
static int by_tid(const void *a, const void *b)
{
	const struct path_thread *x = a, *y = b;
	uint32_t u = (uint32_t)x->tid - 1, v = (uint32_t)y->tid - 1;

	return (u > v) - (u < v);
}

static void finish(struct path_threads *threads)
{
	size_t i;

	if (threads->at.count > 1)
		qsort(threads->at.at, threads->at.count, sizeof(*threads->at.at), by_tid);
	for (i = 0; i < threads->at.count; i++)
		threads->with_tid += threads->at.at[i].tid > 0;
	path_resolve(threads);
}

static int read_all(struct reading *x, const struct counted *counted)
{
	size_t i, wakers = 0;
	uint32_t nobody;
	int r = person_of(x, &(struct sched_who){0}, &nobody);

	x->threads->intervals = slab_reserve(INTERVAL_BYTES);
	if (!x->threads->intervals)
		r = -ENOMEM;

	for (i = 0; i < counted->frames.count && r == 0; i++)
		r = add_marking(x,
				x->range->frames.frames.at[counted->frames.at[i].index].row.track);
	for (; x->reading < x->threads->at.count && r == 0; x->reading++) {
		r = read_thread(x);
		if (r == 0)
			r = add_wakers(x, &wakers);
	}
	return r;
}

int critical_threads_read(struct history *h, const struct counted *counted,
			  struct path_threads *ret_threads)
{
	struct path_threads threads = {.tgid = (uint32_t)counted->range->row.pid};
	struct reading x = {.h = h, .range = counted->range, .threads = &threads};
	int r = read_all(&x, counted);

	free(x.index);
	VEC_FREE(&x.wakers);
	if (r < 0) {
		critical_threads_deinit(&threads);
		return r;
	}
	finish(&threads);
	*ret_threads = threads;
	return 0;
}

uint32_t critical_threads_track(const struct path_threads *threads, const struct range *range,
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
