/* SPDX-License-Identifier: MIT */
/*
 * Whom a frame's thread waited for, with how much of it: who let go of the locks (the thread that
 * woke it), or who had the CPU that it got in the end, or that it was taken for. Pure.
 */
#ifndef FPROF_DAEMON_VERDICT_WHO_H
#define FPROF_DAEMON_VERDICT_WHO_H

#include "sched_log.h"

#include <stddef.h>
#include <stdint.h>

struct range;
struct track_row;

struct verdict_who {
	struct sched_interval as;      /* whose `who` and wake_flags they are: of the longest */
	int64_t ns;		       /* 0: nobody is known */
	int64_t longest_ns;	       /* of it, at once */
	const char *zone;	       /* of who let go: the innermost one open then; NULL: none */
	const struct track_row *track; /* the range's, once verdict_who_name was called; NULL: none
					  of the session's threads */
	int32_t pid;		       /* the session's process */
};

/* The first so many; what others add is nobody's. */
#define VERDICT_PEOPLE_MAX 16u
struct verdict_people {
	struct verdict_who at[VERDICT_PEOPLE_MAX];
	uint32_t count;
};
void verdict_people_add(struct verdict_people *people, const struct verdict_who *who);
/* With the most ns. */
struct verdict_who verdict_people_most(const struct verdict_people *people);

/* Who ended a wait for a lock, or had the CPU while `i`, RUNNABLE, lasted: the interval that says
 * it, of those of its thread. NULL: nobody is known. */
const struct sched_interval *verdict_who_of(const struct sched_interval *i,
					    const struct sched_interval *end);

/* Looks up the session's thread. */
void verdict_who_name(struct verdict_who *who, const struct range *range);
/* "holder", "stress (process 7)", "the kernel (kworker)". */
void verdict_who_words(const struct verdict_who *who, char *buf, size_t size);

#endif
