/* SPDX-License-Identifier: MIT */
/*
 * The source "pmu": what the machine's hardware counters say of a process's threads in user code.
 * Each thread has a few groups of events of its own, opened when it is first seen and read about
 * once a second; a group is counted as a whole or not at all, so ratios within one hold even where
 * the kernel had to take turns (perf_event_open(2)). One thread at a time uses a struct pmu.
 */
#ifndef FPROF_DAEMON_PMU_H
#define FPROF_DAEMON_PMU_H

#include "status.h"
#include "usage.h"
#include "util.h"

#include <stdbool.h>
#include <stdint.h>

#define PMU_GROUPS_MAX 2u
#define PMU_EVENTS_MAX 5u

struct pmu_event {
	const char *name; /* static */
	uint32_t type;	  /* perf_event_attr's */
	uint64_t config;
};

/* The first event leads the group. */
struct pmu_group {
	struct pmu_event events[PMU_EVENTS_MAX];
	uint32_t count;
};

struct pmu_events {
	struct pmu_group groups[PMU_GROUPS_MAX];
	uint32_t count;
};

/*
 * The events of this machine's hardware: cycles, instructions, cache and branch misses, and where
 * the kernel names them (sys, "/sys": Intel from Ice Lake on) the slots of top-down analysis. Each
 * is tried; those that the kernel refuses are left out. 0, or why there is none: -ENOENT: no
 * counters here, -EACCES, -EPERM: not permitted, another -errno.
 */
int pmu_find(const char *sys, struct pmu_events *ret_events);
/* The group of top-down analysis as the kernel names it, not tried: all of its events or none, as
 * their shares add up to the whole. */
bool pmu_find_topdown(const char *sys, struct pmu_group *ret_group);
/* Says of the source what pmu_find answered. turn_on: what would ask for it; NULL: it was asked
 * for. */
void pmu_tell(struct status *status, int found, const char *turn_on);

struct pmu_thread {
	int32_t tid;
	bool seen;
	int fds[PMU_GROUPS_MAX][PMU_EVENTS_MAX];		   /* -1: not open */
	uint64_t enabled[PMU_GROUPS_MAX], running[PMU_GROUPS_MAX]; /* ns, as last read */
	uint64_t values[PMU_GROUPS_MAX][PMU_EVENTS_MAX];
};

struct pmu {
	const struct pmu_events *events; /* not owned */
	VEC(struct pmu_thread) threads;
	/* since the last reading, of all threads; where turns were taken, in proportion */
	double grown[PMU_GROUPS_MAX][PMU_EVENTS_MAX];
	double enabled_ns, running_ns; /* that threads ran, that their events were counted */
	bool said;		       /* that a thread could not be opened */
};
void pmu_init(struct pmu *pmu, const struct pmu_events *events);
void pmu_deinit(struct pmu *pmu);

/* tid, by the number that this process has for it, is a thread of the process now. */
void pmu_see(struct pmu *pmu, int32_t tid);
/* Once all threads were seen: ratios since the last reading (docs/guide/counters.md), and of how
 * many threads and how much of their time they are. What was not counted is left out. 0 or what fn
 * returned below 0. */
int pmu_read(struct pmu *pmu, usage_fn fn, void *userdata);

#endif
