/* SPDX-License-Identifier: MIT */
/*
 * Events are the thread's own (perf_event_open(2) with a tid) and not inherited: what a thread
 * counted before it was first seen, within a round of its begin, is missing. One that has ended
 * keeps its last count until its descriptors are closed, so its end is not missed.
 *
 * User code alone, which needs no privilege at kernel.perf_event_paranoid 2; the kernel checks that
 * the thread is one that this process may look into.
 *
 * Top-down analysis, level 1: Ahmad Yasin, "A Top-Down Method for Performance Analysis and Counters
 * Architecture", ISPASS 2014. The kernel turns the hardware's shares into slots (its
 * Documentation/arch/x86: slots must lead the group).
 */
#include "pmu.h"

#include "log.h"
#include "procfs.h"
#include "shm/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 256u
#define SOURCE	    "perf_event_open(2), user code"

/* Two events of one group, as last read. */
static const struct ratio {
	const char *name, *part, *whole;
	double scale;
	uint8_t unit;
} ratios[] = {
	{"instructions_per_1000_cycles", "instructions", "cycles", 1e3, FPROF_UNIT_COUNT},
	{"cache_misses_per_million_instructions", "cache_misses", "instructions", 1e6,
	 FPROF_UNIT_COUNT},
	{"branch_misses_per_million_instructions", "branch_misses", "instructions", 1e6,
	 FPROF_UNIT_COUNT},
	{"topdown_retiring", "retiring", "slots", 100, FPROF_UNIT_PERCENT},
	{"topdown_bad_speculation", "bad_speculation", "slots", 100, FPROF_UNIT_PERCENT},
	{"topdown_frontend_bound", "frontend_bound", "slots", 100, FPROF_UNIT_PERCENT},
	{"topdown_backend_bound", "backend_bound", "slots", 100, FPROF_UNIT_PERCENT},
};

/* ---- what there is ---- */

static const struct pmu_group general = {
	.events = {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		   {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		   {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
		   {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
	.count = 4,
};

static const struct {
	const char *name, *file;
} topdown[] = {
	{"slots", "slots"},
	{"retiring", "topdown-retiring"},
	{"bad_speculation", "topdown-bad-spec"},
	{"frontend_bound", "topdown-fe-bound"},
	{"backend_bound", "topdown-be-bound"},
};

/* leader -1: it is one. The descriptor or -errno. */
static int event_open(const struct pmu_event *event, int32_t tid, int leader)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* "event=0x00,umask=0x80", as the kernel writes it. */
static int read_config(const char *sys, const char *file, uint64_t *ret_config)
{
	unsigned event, umask;
	char text[128];

	if (procfs_read(text, sizeof(text), "%s/bus/event_source/devices/cpu/events/%s", sys,
			file) < 0 ||
	    sscanf(text, "event=%x,umask=%x", &event, &umask) != 2 || event > 0xff || umask > 0xff)
		return -ENOENT;
	*ret_config = event | umask << 8;
	return 0;
}

bool pmu_find_topdown(const char *sys, struct pmu_group *ret_group)
{
	char text[32];
	uint32_t i;

	*ret_group = (struct pmu_group){0};
	if (procfs_read(text, sizeof(text), "%s/bus/event_source/devices/cpu/type", sys) < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(topdown); i++) {
		struct pmu_event *event = &ret_group->events[i];

		event->name = topdown[i].name;
		event->type = (uint32_t)strtoul(text, NULL, 10);
		if (read_config(sys, topdown[i].file, &event->config) < 0)
			return false;
	}
	ret_group->count = ARRAY_SIZE(topdown);
	return true;
}

/* Tries the group on this thread; leaves out of it what the kernel refuses. 0, or why its leader
 * cannot be. */
static int try_group(struct pmu_group *group)
{
	int fds[PMU_EVENTS_MAX];
	uint32_t i, kept = 0;
	int fd;

	for (i = 0; i < group->count; i++) {
		fd = event_open(&group->events[i], 0, kept > 0 ? fds[0] : -1);
		if (fd < 0 && i == 0)
			return fd;
		if (fd < 0)
			continue;
		fds[kept] = fd;
		group->events[kept++] = group->events[i];
	}
	group->count = kept;
	while (kept > 0)
		close(fds[--kept]);
	return 0;
}

int pmu_find(const char *sys, struct pmu_events *ret_events)
{
	struct pmu_group group = general;
	int r = try_group(&group);

	*ret_events = (struct pmu_events){0};
	if (r == -ENODEV || r == -EOPNOTSUPP)
		return -ENOENT;
	if (r < 0)
		return r;
	ret_events->groups[ret_events->count++] = group;
	if (pmu_find_topdown(sys, &group) && try_group(&group) == 0 &&
	    group.count == ARRAY_SIZE(topdown))
		ret_events->groups[ret_events->count++] = group;
	return 0;
}

void pmu_tell(struct status *status, int found, const char *turn_on)
{
	switch (found) {
	case 0:
		if (!turn_on)
			status_source(status, "pmu", SOURCE_ON, NULL, NULL);
		else
			status_source(status, "pmu", SOURCE_OFF,
				      "it was not asked for: the kernel changes the counters at "
				      "each switch of a game's threads",
				      turn_on);
		return;
	case -ENOENT:
		status_source(
			status, "pmu", SOURCE_UNAVAILABLE,
			"the kernel has no hardware counters here: a virtual machine has them if "
			"its host passes them on",
			NULL);
		return;
	case -EPERM: /* the kernel's own check says EACCES */
		status_source(status, "pmu", SOURCE_UNAVAILABLE,
			      "hardware counters are not permitted (a seccomp filter)",
			      "sudo mkdir -p /etc/systemd/system/fprofd.service.d && printf "
			      "'[Service]\\nSystemCallFilter=perf_event_open\\n' | sudo tee "
			      "/etc/systemd/system/fprofd.service.d/pmu.conf && sudo systemctl "
			      "daemon-reload && sudo systemctl restart fprofd");
		return;
	case -EACCES:
		status_source(status, "pmu", SOURCE_UNAVAILABLE,
			      "hardware counters are not permitted (kernel.perf_event_paranoid)",
			      "sudo sysctl kernel.perf_event_paranoid=2");
		return;
	default:
		status_source(status, "pmu", SOURCE_UNAVAILABLE,
			      "the kernel refuses hardware counters", NULL);
	}
}

/* ---- threads ---- */

void pmu_init(struct pmu *pmu, const struct pmu_events *events)
{
	*pmu = (struct pmu){.events = events};
}

static void thread_close(struct pmu_thread *t)
{
	uint32_t g, i;

	for (g = 0; g < PMU_GROUPS_MAX; g++)
		for (i = PMU_EVENTS_MAX; i-- > 0;)
			if (t->fds[g][i] >= 0)
				close(t->fds[g][i]);
}

void pmu_deinit(struct pmu *pmu)
{
	size_t i;

	for (i = 0; i < pmu->threads.count; i++)
		thread_close(&pmu->threads.at[i]);
	VEC_FREE(&pmu->threads);
}

static int thread_open(const struct pmu *pmu, int32_t tid, struct pmu_thread *ret_thread)
{
	struct pmu_thread t = {.tid = tid};
	uint32_t g, i;
	int r = 0;

	memset(t.fds, -1, sizeof(t.fds));
	for (g = 0; g < pmu->events->count && r >= 0; g++)
		for (i = 0; i < pmu->events->groups[g].count && r >= 0; i++)
			r = t.fds[g][i] = event_open(&pmu->events->groups[g].events[i], tid,
						     i > 0 ? t.fds[g][0] : -1);
	if (r < 0) {
		thread_close(&t);
		return r;
	}
	*ret_thread = t;
	return 0;
}

void pmu_see(struct pmu *pmu, int32_t tid)
{
	struct pmu_thread thread;
	size_t i;
	int r;

	for (i = 0; i < pmu->threads.count; i++) {
		if (pmu->threads.at[i].tid == tid) {
			pmu->threads.at[i].seen = true;
			return;
		}
	}
	r = pmu->threads.count == THREADS_MAX ? -EMFILE : thread_open(pmu, tid, &thread);
	if (r == 0) {
		thread.seen = true;
		r = VEC_PUSH(&pmu->threads, thread);
		if (r < 0)
			thread_close(&thread);
	}
	if (r < 0 && r != -ESRCH && !pmu->said) {
		log_warning("the hardware counters of thread %" PRId32 " cannot be read: %s", tid,
			    strerror(-r));
		pmu->said = true;
	}
}

/* ---- readings ---- */

static void read_group(struct pmu *pmu, struct pmu_thread *t, uint32_t g)
{
	const struct pmu_group *group = &pmu->events->groups[g];
	struct {
		uint64_t nr, enabled, running, values[PMU_EVENTS_MAX];
	} now;
	double enabled, running;
	uint32_t i;

	if (read(t->fds[g][0], &now, sizeof(now)) < (ssize_t)(3 * sizeof(uint64_t)) ||
	    now.nr != group->count)
		return;
	enabled = (double)(now.enabled - t->enabled[g]);
	running = (double)(now.running - t->running[g]);
	for (i = 0; i < group->count; i++) {
		if (running > 0)
			pmu->grown[g][i] += (double)(now.values[i] - t->values[g][i]) *
					    MAX(enabled / running, 1.0);
		t->values[g][i] = now.values[i];
	}
	t->enabled[g] = now.enabled;
	t->running[g] = now.running;
	pmu->enabled_ns += enabled;
	pmu->running_ns += running;
}

/* Every thread; those that are not there any more are closed. */
static void read_threads(struct pmu *pmu)
{
	size_t i, kept = 0;
	uint32_t g;

	memset(pmu->grown, 0, sizeof(pmu->grown));
	pmu->enabled_ns = pmu->running_ns = 0;
	for (i = 0; i < pmu->threads.count; i++) {
		struct pmu_thread *t = &pmu->threads.at[i];

		for (g = 0; g < pmu->events->count; g++)
			read_group(pmu, t, g);
		if (!t->seen) {
			thread_close(t);
			continue;
		}
		t->seen = false;
		pmu->threads.at[kept++] = *t;
	}
	pmu->threads.count = kept;
}

static int put(usage_fn fn, void *userdata, const char *name, uint8_t unit, double value)
{
	const struct usage_value v = {name, "cpu", SOURCE, unit, false, (int64_t)(value + 0.5)};

	return MIN(fn(userdata, &v), 0);
}

static int find_event(const struct pmu_group *group, const char *name)
{
	uint32_t i;

	for (i = 0; i < group->count; i++)
		if (!strcmp(group->events[i].name, name))
			return (int)i;
	return -1;
}

static int put_ratios(const struct pmu *pmu, uint32_t g, usage_fn fn, void *userdata)
{
	const struct pmu_group *group = &pmu->events->groups[g];
	const double *grown = pmu->grown[g];
	int part, whole, r = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ratios) && r == 0; i++) {
		part = find_event(group, ratios[i].part);
		whole = find_event(group, ratios[i].whole);
		if (part >= 0 && whole >= 0 && grown[whole] > 0)
			r = put(fn, userdata, ratios[i].name, ratios[i].unit,
				grown[part] / grown[whole] * ratios[i].scale);
	}
	return r;
}

int pmu_read(struct pmu *pmu, usage_fn fn, void *userdata)
{
	uint32_t g;
	int r;

	read_threads(pmu);
	r = put(fn, userdata, "pmu_threads", FPROF_UNIT_COUNT, (double)pmu->threads.count);
	for (g = 0; g < pmu->events->count && r == 0; g++)
		r = put_ratios(pmu, g, fn, userdata);
	if (r == 0 && pmu->enabled_ns > 0)
		r = put(fn, userdata, "pmu_coverage", FPROF_UNIT_PERCENT,
			pmu->running_ns / pmu->enabled_ns * 100);
	return r;
}
