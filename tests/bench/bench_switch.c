// SPDX-License-Identifier: MIT
/*
 * What the scheduler source costs each switch of a thread. Two threads on one CPU hand a byte to
 * and fro through pipes; what they took is their own CPU time, so that what else runs beside them
 * counts only where it takes their caches.
 *
 *   bench_switch RUNS          in turn RUNS times: no kernel program, one that records another
 *                              process, one that records this one
 *   bench_switch --pace RATE S a game that is recorded like any other: RATE switches a second
 *
 * A switch between two recorded threads is the dearest: one goes, one comes, one woke the other.
 */
#include "daemon/probe_client.h"
#include "daemon/statistics.h"
#include "daemon/status.h"
#include "daemon/util.h"

#include <fprof.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define TRIPS	 1000u /* to and fro: of one play */
#define PLAYS	 40u   /* of one measurement, of which the lower quarter tells */
#define RUNS_MAX 1001u

enum mode { MODE_NONE, MODE_OTHER, MODE_OWN, MODES };

struct pair {
	int to[2], fro[2];
	unsigned trips;
	double echo_ns;	   /* CPU time of the thread that answers */
	uint64_t switches; /* of both */
};

static uint64_t switches_of_thread(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static void hand(int from, int to)
{
	char byte = 0;

	if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
		exit(1);
}

static void *echo(void *userdata)
{
	struct pair *p = userdata;
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), from = switches_of_thread();
	unsigned i;

	for (i = 0; i < p->trips; i++)
		hand(p->to[0], p->fro[1]);
	p->echo_ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
	p->switches = switches_of_thread() - from;
	return NULL;
}

static void pipes_of(struct pair *p)
{
	if (pipe(p->to) < 0 || pipe(p->fro) < 0) {
		perror("bench_switch: pipe");
		exit(1);
	}
}

/* CPU time of a switch in ns. */
static double play(struct pair *p)
{
	uint64_t before, from = switches_of_thread();
	pthread_t other;
	double own;
	unsigned i;
	char byte = 0;

	p->trips = TRIPS;
	pthread_create(&other, NULL, echo, p);
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < TRIPS; i++)
		if (write(p->to[1], &byte, 1) != 1 || read(p->fro[0], &byte, 1) != 1)
			exit(1);
	own = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
	pthread_join(other, NULL);
	return (own + p->echo_ns) / (double)(p->switches + switches_of_thread() - from);
}

/* ---- the kernel's program ---- */

struct reader {
	struct status *status;
	struct probe_client client;
	struct probe_ring ring;
};

/* Between two plays, none of which fills the buffer. */
static void read_all(struct reader *r)
{
	static struct probe_event events[1024];

	while (probe_ring_read(&r->ring, events, ARRAY_SIZE(events)) == ARRAY_SIZE(events))
		;
}

static int reader_start(struct reader *r, int32_t pid)
{
	int rc;

	*r = (struct reader){.status = status_new()};
	if (!r->status)
		return -ENOMEM;
	probe_client_init(&r->client, PROBE_SCHED, r->status, "scheduler");
	rc = probe_client_open(&r->client, &r->ring);
	return rc < 0 ? rc : probe_client_add(&r->client, pid);
}

static uint64_t reader_stop(struct reader *r)
{
	uint64_t lost = probe_ring_lost(&r->ring);

	probe_ring_unmap(&r->ring);
	probe_client_deinit(&r->client);
	status_free(r->status);
	return lost;
}

/* The pair alone on its CPU, this thread being one of it. */
static void pin(const cpu_set_t *all, cpu_set_t *ret_rest)
{
	cpu_set_t one;
	int cpu = 0;

	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	*ret_rest = *all;
	if (CPU_COUNT(all) > 1)
		CPU_CLR(cpu, ret_rest);
	sched_setaffinity(0, sizeof(one), &one);
}

static double measure(struct pair *pair, enum mode mode, pid_t other, const cpu_set_t *all,
		      uint64_t *lost)
{
	struct reader reader;
	double ns[PLAYS];
	cpu_set_t rest;
	unsigned i;
	int rc;

	pin(all, &rest);
	sched_setaffinity(0, sizeof(rest), &rest); /* what we start goes beside */
	if (mode != MODE_NONE) {
		rc = reader_start(&reader, mode == MODE_OWN ? getpid() : other);
		if (rc < 0) {
			printf("the scheduler cannot be traced here: %s\n", reader.client.reason);
			exit(0);
		}
	}
	pin(all, &rest);
	for (i = 0; i < PLAYS; i++) {
		ns[i] = play(pair);
		if (mode != MODE_NONE)
			read_all(&reader);
	}
	sched_setaffinity(0, sizeof(*all), all);
	if (mode != MODE_NONE)
		*lost += reader_stop(&reader);
	statistics_sort(ns, PLAYS);
	return statistics_percentile(ns, PLAYS, 25);
}

static double median(double *values, unsigned count)
{
	statistics_sort(values, count);
	return statistics_percentile(values, count, 50);
}

static void row(const char *name, double *more, double *ratio, unsigned runs, unsigned bar)
{
	double m = median(more, runs);

	printf("%s: +%.0f ns (%.0f to %.0f), bar %u; %.2f times the plain one\n", name, m, more[0],
	       more[runs - 1], bar, median(ratio, runs));
}

static void run(unsigned runs, pid_t other)
{
	static double more[MODES][RUNS_MAX], ratio[MODES][RUNS_MAX];
	struct pair pair = {0};
	uint64_t lost = 0;
	double ns[MODES];
	cpu_set_t all;
	unsigned i, m;

	sched_getaffinity(0, sizeof(all), &all);
	pipes_of(&pair);
	for (i = 0; i < runs; i++) {
		for (m = 0; m < MODES; m++)
			ns[m] = measure(&pair, (enum mode)m, other, &all, &lost);
		for (m = 0; m < MODES; m++) {
			more[m][i] = m == MODE_NONE ? ns[m] : ns[m] - ns[MODE_NONE];
			ratio[m][i] = ns[m] / ns[MODE_NONE];
		}
	}
	median(more[MODE_NONE], runs);
	printf("a switch with no kernel program: %.0f ns (%.0f to %.0f) of CPU time\n",
	       more[MODE_NONE][runs / 2], more[MODE_NONE][0], more[MODE_NONE][runs - 1]);
	row("with one that records another process", more[MODE_OTHER], ratio[MODE_OTHER], runs,
	    150);
	row("between two recorded threads", more[MODE_OWN], ratio[MODE_OWN], runs, 1500);
	printf("events that found no room in the buffer: %llu\n", (unsigned long long)lost);
}

/* ---- a game ---- */

static void pace(unsigned rate, unsigned seconds)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), end = begin + seconds * NS_PER_S, marked = 0,
		 n = 0;
	const struct timespec pause = {.tv_nsec = 1000000};
	struct pair pair = {.trips = rate / 2 * seconds};
	pthread_t other;
	cpu_set_t all, rest;
	char byte = 0;

	sched_getaffinity(0, sizeof(all), &all);
	pipes_of(&pair);
	pin(&all, &rest);
	pthread_create(&other, NULL, echo, &pair);
	while (n < pair.trips) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now > end + NS_PER_S * 60)
			exit(1);
		for (; n < pair.trips && n * NS_PER_S < (now - begin) * (rate / 2); n++)
			if (write(pair.to[1], &byte, 1) != 1 || read(pair.fro[0], &byte, 1) != 1)
				exit(1);
		if (now - marked >= NS_PER_S / 60) {
			fprof_frame_mark();
			marked = now;
		}
		nanosleep(&pause, NULL);
	}
	pthread_join(other, NULL);
	printf("%.0f\n",
	       2.0 * (double)n / ((double)(clock_ns(CLOCK_MONOTONIC) - begin) / (double)NS_PER_S));
}

int main(int argc, char **argv)
{
	unsigned a = argc > 1 ? (unsigned)strtoul(argv[argc == 4 ? 2 : 1], NULL, 10) : 0;
	pid_t other;

	if (argc == 4 && strcmp(argv[1], "--pace") == 0 && a > 0) {
		pace(a, (unsigned)strtoul(argv[3], NULL, 10));
		return 0;
	}
	if (argc != 2 || a == 0 || a > RUNS_MAX) {
		fprintf(stderr, "usage: bench_switch RUNS | --pace RATE SECONDS\n");
		return 2;
	}
	other = fork();
	if (other == 0) {
		pause();
		_exit(0);
	}
	run(a, other);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return 0;
}
