/* SPDX-License-Identifier: MIT */
/*
 * The thread may be stopped between two clock reads, which looks like a step. So the narrowest of a
 * few readings counts, and a reading that is not narrow is no evidence at all: the next one is
 * compared with the last good one. NTP slews by at most 500 ppm; more than twice that is a step.
 */
#include "clock_watch.h"

#include "util.h"

#define READINGS      5
#define WINDOW_NS_MAX 200000.0
#define STEP_NS_MIN   1000000
#define STEP_PART     1000 /* of the time between */

static struct clock_reading read_once(enum fprof_clock_kind kind)
{
	struct clock_reading r;

	r.ticks = fprof_clock_read(kind);
	r.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	r.boottime_ns = clock_ns(CLOCK_BOOTTIME);
	r.window = fprof_clock_read(kind) - r.ticks;
	return r;
}

void clock_watch_init(struct clock_watch *w, enum fprof_clock_kind kind,
		      const struct fprof_clock_rate *rate)
{
	w->kind = kind;
	w->rate = *rate;
	w->last = (struct clock_reading){0};
	w->steps = 0;
}

static bool differ(int64_t a, int64_t b, int64_t between)
{
	int64_t difference = a > b ? a - b : b - a;

	return difference > STEP_NS_MIN + between / STEP_PART;
}

bool clock_watch_compare(struct clock_watch *w, const struct clock_reading *now, uint64_t *ret_from,
			 uint64_t *ret_to)
{
	struct clock_reading before = w->last;
	int64_t ticks_ns, monotonic, boottime;

	if ((double)now->window * 1e9 / w->rate.hz > WINDOW_NS_MAX)
		return false;
	w->last = *now;
	if (before.monotonic_ns == 0)
		return false;
	ticks_ns = fprof_clock_ns(&w->rate, before.ticks, now->ticks);
	monotonic = (int64_t)(now->monotonic_ns - before.monotonic_ns);
	boottime = (int64_t)(now->boottime_ns - before.boottime_ns);
	if (!differ(boottime, monotonic, monotonic) && !differ(ticks_ns, monotonic, monotonic))
		return false;
	w->steps++;
	*ret_from = before.ticks < now->ticks ? before.ticks : now->ticks;
	*ret_to = before.ticks < now->ticks ? now->ticks : before.ticks;
	return true;
}

bool clock_watch_check(struct clock_watch *w, uint64_t *ret_from, uint64_t *ret_to)
{
	struct clock_reading best = read_once(w->kind);
	int i;

	for (i = 1; i < READINGS && (double)best.window * 1e9 / w->rate.hz > WINDOW_NS_MAX; i++) {
		struct clock_reading r = read_once(w->kind);

		if (r.window < best.window)
			best = r;
	}
	return clock_watch_compare(w, &best, ret_from, ret_to);
}
