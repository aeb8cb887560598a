// SPDX-License-Identifier: MIT
/*
 * A short list, searched from its end: a game begins and ends loading now and then. One that calls
 * without end loses its oldest steps; what they came to is kept.
 */
#include "loading.h"

#include <errno.h>
#include <string.h>

void loading_deinit(struct loading *l)
{
	VEC_FREE(&l->steps);
}

/* Removes the first count steps. */
static void drop(struct loading *l, size_t count)
{
	if (count == 0)
		return;
	l->before = l->steps.at[count - 1].on;
	l->steps.count -= count;
	memmove(l->steps.at, l->steps.at + count, l->steps.count * sizeof(*l->steps.at));
}

int loading_put(struct loading *l, int64_t t, bool on)
{
	size_t i;

	if (l->steps.count >= LOADING_STEPS_MAX)
		drop(l, LOADING_STEPS_MAX / 2);
	if (VEC_RESERVE(&l->steps, 1) < 0)
		return -ENOMEM;
	for (i = l->steps.count++; i > 0 && l->steps.at[i - 1].t > t; i--)
		l->steps.at[i] = l->steps.at[i - 1];
	l->steps.at[i] = (struct loading_step){t, on};
	return 0;
}

bool loading_within(const struct loading *l, int64_t t0, int64_t t1)
{
	bool on = l->before;
	size_t i;

	for (i = 0; i < l->steps.count && l->steps.at[i].t <= t0; i++)
		on = l->steps.at[i].on;
	for (; i < l->steps.count && l->steps.at[i].t < t1 && !on; i++)
		on = l->steps.at[i].on;
	return on;
}

void loading_prune(struct loading *l, int64_t t)
{
	size_t count = 0;

	while (count < l->steps.count && l->steps.at[count].t < t)
		count++;
	drop(l, count);
}
