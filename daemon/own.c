/* SPDX-License-Identifier: MIT */
/*
 * Usage comes from getrusage and /proc/self/status, read when someone asks. The cost of an event is
 * measured with the same steps as the recording path (shm/writer.h), in a ring of its own: what a
 * game pays differs only by its caches.
 */
#include "own.h"

#include "shm/atomic.h"
#include "shm/clock.h"
#include "shm/clock_source.h"
#include "util.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define ROUNDS 11
#define EVENTS 1000

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

void own_usage(struct own_usage *ret_usage)
{
	struct rusage usage;
	char line[256];
	unsigned long long kib;
	_cleanup_fclose_ FILE *f = NULL;

	*ret_usage = (struct own_usage){0};
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		ret_usage->cpu_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %llu", &kib) == 1)
			ret_usage->rss_bytes = kib * 1024;
		else if (sscanf(line, "VmHWM: %llu", &kib) == 1)
			ret_usage->peak_rss_bytes = kib * 1024;
		else if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			ret_usage->rss_private_bytes = kib * 1024;
		else if (sscanf(line, "Threads: %llu", &kib) == 1)
			ret_usage->threads = (uint32_t)kib;
	}
}

static double one_round(enum fprof_clock_kind kind)
{
	static const uint64_t mask = 511;
	uint64_t ring[512], head = 0, begin;
	uint32_t ready = 1, i;

	memset(ring, 0, sizeof(ring));
	begin = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < EVENTS; i++) {
		FPROF_STORE_RELAXED(&ready, 0u);
		FPROF_STORE_RELAXED(&ring[head & mask], kind == FPROF_CLOCK_MONOTONIC
								? fprof_clock_read(kind)
								: fprof_counter());
		FPROF_STORE_RELEASE(&head, head + 1);
		FPROF_STORE_RELAXED(&ready, 1u);
	}
	return (double)(clock_ns(CLOCK_MONOTONIC) - begin) / EVENTS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double own_event_cost_ns(void)
{
	enum fprof_clock_kind kind = fprof_clock_choose();
	double cost[ROUNDS];
	unsigned i;

	for (i = 0; i < ROUNDS; i++)
		cost[i] = one_round(kind);
	qsort(cost, ROUNDS, sizeof(cost[0]), compare);
	return cost[ROUNDS / 2];
}
