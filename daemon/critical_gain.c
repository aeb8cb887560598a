/* SPDX-License-Identifier: MIT */
/*
 * Of each thread and key it is known how much earlier the thread has come to where it is now:
 * saved. Time of its own in the key's zones adds to it. Where a wake ends a wait, a thread cannot
 * go on before its waker has come there, nor before it began to wait: the smaller of what the waker
 * saved, and of what it saved itself and the wait. After a wait until a moment nothing is left of
 * it, but for a key to which the wait itself belongs.
 *
 * All keys are played at once, since the meetings cost more than the sums.
 */
#include "critical_gain.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int gain_add(struct slab_list *entries, struct slab **slabs, uint32_t what, int64_t ns)
{
	struct gain_entry *e;

	do {
		e = slab_append(slabs, entries, sizeof(*e));
		if (!e)
			return -ENOMEM;
		*e = (struct gain_entry){what, (uint32_t)MIN(ns, (int64_t)UINT32_MAX)};
		ns -= e->ns;
	} while (ns > 0);
	return 0;
}

/* Where a thread's entries have come to. */
struct player {
	struct slab_cursor next;
	int64_t saved[GAIN_KEYS_MAX];
};

static void wait_until(struct player *p, unsigned keys, uint64_t removed, uint32_t ns)
{
	unsigned k;

	for (k = 0; k < keys; k++)
		p->saved[k] = removed & UINT64_C(1) << k ? p->saved[k] + ns : 0;
}

static void spend(const struct gain_play *play, struct player *p, const struct gain_entry *e)
{
	uint32_t node = e->what & ~GAIN_UNTIL;
	uint64_t keys = node < play->node_count ? play->keys[node] : 0;

	if (e->what & GAIN_UNTIL) {
		wait_until(p, play->key_count, keys, e->ns);
		return;
	}
	for (; keys; keys &= keys - 1)
		p->saved[__builtin_ctzll(keys)] += e->ns;
}

/* Up to its next meeting. */
static void advance(const struct gain_play *play, struct player *p)
{
	const struct gain_entry *e;

	while ((e = slab_peek(&p->next))) {
		slab_step(&p->next, sizeof(*e));
		if (e->what == GAIN_MEETS)
			return;
		spend(play, p, e);
	}
}

static void wake(struct player *woken, const struct player *waker, int64_t waited_ns)
{
	unsigned k;

	for (k = 0; k < GAIN_KEYS_MAX; k++)
		woken->saved[k] = MIN(woken->saved[k] + waited_ns, waker->saved[k]);
}

static void begin(const struct gain_play *play, struct player *players)
{
	uint32_t thread;

	for (thread = 0; thread < play->thread_count; thread++) {
		advance(play, &players[thread]);
		memset(players[thread].saved, 0, sizeof(players[thread].saved));
	}
}

int gain_play(const struct gain_play *play, int64_t *ret_ns)
{
	_cleanup_free_ struct player *players = calloc(play->thread_count + 1, sizeof(*players));
	size_t i;
	unsigned k;

	if (!players)
		return -ENOMEM;
	for (i = 0; i < play->thread_count; i++)
		players[i].next.block = play->threads[i].first;
	for (i = 0; i < play->meeting_count; i++) {
		const struct gain_meeting *m = &play->meetings[i];

		if (m->kind == GAIN_BEGIN) {
			begin(play, players);
			continue;
		}
		advance(play, &players[m->thread]);
		if (m->kind == GAIN_WAKE) {
			advance(play, &players[m->waker]);
			wake(&players[m->thread], &players[m->waker], (int64_t)m->waited_ns);
			continue;
		}
		for (k = 0; k < play->key_count; k++)
			ret_ns[k] += players[m->thread].saved[k];
	}
	return 0;
}
