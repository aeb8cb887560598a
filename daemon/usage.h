/* SPDX-License-Identifier: MIT */
/*
 * What the kernel counts for a process, read from outside: memory, faults, threads, switches, I/O,
 * CPU time and frequency, and what DRM drivers tell in fdinfo. One value a counter; cumulative ones
 * as the kernel has them. One thread at a time uses a struct usage.
 */
#ifndef FPROF_DAEMON_USAGE_H
#define FPROF_DAEMON_USAGE_H

#include "util.h"

#include <stdbool.h>
#include <stdint.h>

#define USAGE_NAME_MAX	  48
#define USAGE_MARKING_MAX 4u

/* A thread that marks frames. */
struct usage_marking {
	int32_t tid;	  /* the game's own */
	int32_t host_tid; /* 0: not found */
	int fd;		  /* its schedstat; 0: not open, -1: it has ended */
};

/* A thread's context switches, as last read. */
struct usage_thread {
	int32_t tid;
	bool seen;
	uint64_t voluntary, involuntary;
};

struct pmu;

struct usage {
	const char *proc; /* "/proc" */
	struct pmu *pmu;  /* owned by the caller; NULL: hardware counters are not read */
	int32_t pid;
	uint64_t start; /* field 22 of its stat: tells it from a later process; 0: not known */
	VEC(struct usage_thread) threads;
	uint64_t gone_voluntary, gone_involuntary; /* of threads that have ended */
	struct usage_marking marking[USAGE_MARKING_MAX];
	uint32_t marking_count;
};
void usage_init(struct usage *usage, int32_t pid, uint64_t start);
void usage_deinit(struct usage *usage);

/* Whose numbers outside usage_read looks for. */
void usage_set_marking(struct usage *usage, const int32_t *tids, uint32_t count);
/* The number outside of a thread of a process that has no numbers of its own; else 0. */
int32_t usage_host_tid(const char *proc, int32_t pid, int32_t tid);
/* How long a thread has run since it began: the first number of its schedstat, which the scheduler
 * brings up to date at each switch and tick. 0, -ESRCH, -EIO. */
int usage_ran(const char *proc, int32_t pid, struct usage_marking *thread, int64_t *ret_ns);
void usage_marking_close(struct usage_marking *thread);

struct usage_value {
	const char *name;   /* "resident_bytes"; at most USAGE_NAME_MAX - 1 bytes */
	const char *module; /* static: one of counter_modules */
	const char *source; /* static: "/proc/PID/statm" */
	uint8_t unit;	    /* enum fprof_unit */
	bool cumulative;    /* grows: only differences mean something */
	int64_t value;
};
typedef int (*usage_fn)(void *userdata, const struct usage_value *value);

/* The mean of all CPUs in MHz; 0: not known. sys: "/sys". One reading does for all processes. */
uint64_t usage_frequency(const char *sys);

/* Calls fn for each counter that can be read now, cpu_mhz (not 0) among them. 0, -ESRCH: the
 * process is gone, or what fn returned below 0. */
int usage_read(struct usage *usage, uint64_t cpu_mhz, usage_fn fn, void *userdata);

#endif
