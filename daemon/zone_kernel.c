/* SPDX-License-Identifier: MIT */
/*
 * The intervals of all threads lie one after the other, each up to the begin of the next one; a
 * thread's last one only says where the one before ends. A thread whose name was reused for another
 * has them twice.
 */
#include "zone_kernel.h"

#include "history_sched.h"
#include "slab.h"

#include <errno.h>

struct zone_kernel_interval {
	int64_t t0;
	uint8_t state; /* enum zone_kernel_state, ZONE_KERNEL_STATES: unknown */
};
#define BYTES (ZONE_KERNEL_INTERVALS_MAX * sizeof(struct zone_kernel_interval))

static uint8_t state_of(enum sched_state state)
{
	return state == SCHED_STATE_RUNNING    ? ZONE_ON_CPU
	       : state == SCHED_STATE_RUNNABLE ? ZONE_RUNNABLE
	       : state == SCHED_STATE_BLOCKED  ? ZONE_BLOCKED
					       : ZONE_KERNEL_STATES;
}

static int take(void *userdata, const struct sched_interval *i)
{
	struct zone_kernel *k = userdata;

	if (k->count >= ZONE_KERNEL_INTERVALS_MAX - 1)
		return -E2BIG;
	k->intervals[k->count++] = (struct zone_kernel_interval){i->t0, state_of(i->state)};
	return 0;
}

static int read_track(struct history *h, const struct range *range, const struct track_row *track,
		      struct zone_kernel *k)
{
	size_t before = k->count, i = before;
	int r;

	if (track->kind != TRACK_THREAD || track->tid <= 0)
		return 0;
	r = history_sched_each(h, range->session, track->tid, range->events_t0, range->t1, take, k);
	while (i < k->count && k->intervals[i].state == ZONE_KERNEL_STATES)
		i++;
	if (r < 0 || i == k->count) {
		k->count = before; /* nothing is known of it */
		return r;
	}
	k->any = true;
	k->intervals[k->count++] = (struct zone_kernel_interval){range->t1, ZONE_KERNEL_STATES};
	return 0;
}

static int read_tracks(struct history *h, const struct range *range, const bool *skip,
		       struct zone_kernel *k)
{
	size_t i;
	int r = 0;

	for (i = 0; i < range->tracks.count && r == 0; i++) {
		r = VEC_PUSH(&k->tracks, k->count);
		if (r == 0 && !(skip && skip[i]))
			r = read_track(h, range, &range->tracks.at[i], k);
	}
	return r < 0 ? r : VEC_PUSH(&k->tracks, k->count);
}

int zone_kernel_read(struct history *h, struct counted *counted, const bool *skip,
		     struct zone_kernel *ret_kernel)
{
	struct zone_kernel k = {.counted = counted};
	int r = history_sched_any(h, counted->range->session, counted->range->events_t0);

	if (r > 0) {
		k.intervals = slab_reserve(BYTES);
		r = k.intervals ? read_tracks(h, counted->range, skip, &k) : -ENOMEM;
	}
	if (r == -E2BIG) {
		zone_kernel_deinit(&k);
		k.too_much = true;
		r = 0;
	}
	if (r < 0) {
		zone_kernel_deinit(&k);
		return r;
	}
	*ret_kernel = k;
	return 0;
}

void zone_kernel_deinit(struct zone_kernel *kernel)
{
	slab_release(kernel->intervals, BYTES);
	VEC_FREE(&kernel->tracks);
	kernel->intervals = NULL;
	kernel->any = false;
}

bool zone_kernel_track(struct zone_kernel *kernel, size_t track)
{
	bool out;

	if (!kernel->any || kernel->tracks.at[track] == kernel->tracks.at[track + 1])
		return false;
	kernel->at = kernel->tracks.at[track];
	kernel->end = kernel->tracks.at[track + 1];
	kernel->since = counted_ns(kernel->counted, kernel->intervals[kernel->at].t0, &out);
	return true;
}

void zone_kernel_at(struct zone_kernel *kernel, int64_t t, int64_t ns,
		    struct zone_kernel_ns *ret_ns)
{
	const struct zone_kernel_interval *at = &kernel->intervals[kernel->at];
	bool out;

	for (; kernel->at + 1 < kernel->end && at[1].t0 <= t; kernel->at++, at++) {
		int64_t until = counted_ns(kernel->counted, at[1].t0, &out);

		if (at->state < ZONE_KERNEL_STATES)
			kernel->sum.ns[at->state] += until - kernel->since;
		kernel->since = until;
	}
	*ret_ns = kernel->sum;
	if (at->state < ZONE_KERNEL_STATES && ns > kernel->since)
		ret_ns->ns[at->state] += ns - kernel->since;
}
