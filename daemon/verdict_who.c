/* SPDX-License-Identifier: MIT */
#include "verdict_who.h"

#include "range.h"

#include <stdio.h>
#include <string.h>

static bool is_same(const struct sched_interval *a, const struct sched_interval *b)
{
	return a->who.tid == b->who.tid && a->wake_flags == b->wake_flags;
}

static void merge(struct verdict_who *into, const struct verdict_who *who)
{
	if (who->longest_ns > into->longest_ns) {
		into->as = who->as;
		into->zone = who->zone;
		into->longest_ns = who->longest_ns;
	}
	into->ns += who->ns;
}

void verdict_people_add(struct verdict_people *people, const struct verdict_who *who)
{
	uint32_t i;

	if (who->ns <= 0)
		return;
	for (i = 0; i < people->count; i++) {
		if (!is_same(&people->at[i].as, &who->as))
			continue;
		merge(&people->at[i], who);
		return;
	}
	if (people->count < VERDICT_PEOPLE_MAX)
		people->at[people->count++] = *who;
}

struct verdict_who verdict_people_most(const struct verdict_people *people)
{
	struct verdict_who most = {0};
	uint32_t i;

	for (i = 0; i < people->count; i++)
		if (people->at[i].ns > most.ns)
			most = people->at[i];
	return most;
}

const struct sched_interval *verdict_who_of(const struct sched_interval *i,
					    const struct sched_interval *end)
{
	const struct sched_interval *next = i + 1 < end ? i + 1 : NULL;

	if (i->state == SCHED_STATE_BLOCKED)
		return next && next->state == SCHED_STATE_RUNNABLE && !next->preempted &&
				       next->who.tid > 0 && !(next->wake_flags & SCHED_BY_INTERRUPT)
			       ? next
			       : NULL;
	if (i->preempted && i->who.tid > 0)
		return i;
	return next && next->state == SCHED_STATE_RUNNING && next->who.tid > 0 ? next : NULL;
}

void verdict_who_name(struct verdict_who *who, const struct range *range)
{
	size_t i;

	who->pid = range->row.pid;
	if (who->ns == 0 || who->as.who.tgid != (uint32_t)who->pid)
		return;
	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].kind == TRACK_THREAD &&
		    (uint32_t)range->tracks.at[i].tid == who->as.who.tid)
			who->track = &range->tracks.at[i];
}

void verdict_who_words(const struct verdict_who *who, char *buf, size_t size)
{
	const struct sched_who *w = &who->as.who;
	const char *name = who->track ? who->track->name : NULL;
	int most = name ? 80 : (int)sizeof(w->comm);

	if (!name)
		name = w->comm;
	if (who->as.wake_flags & SCHED_BY_KERNEL_THREAD)
		snprintf(buf, size, "the kernel (%.*s)", most, name);
	else if (w->tgid == (uint32_t)who->pid)
		snprintf(buf, size, "%.*s", most, *name ? name : "a thread of the game");
	else
		snprintf(buf, size, "%.*s (process %u)", most, name, w->tgid);
}
