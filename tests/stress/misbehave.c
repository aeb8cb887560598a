/* SPDX-License-Identifier: MIT */
/*
 * A game that does what games should not. misbehave WHAT [N] runs to its end and prints "events N":
 * how many zone begins, zone ends and frame marks it made, which is what the daemon must account
 *for (it adds thread words of its own).
 *
 *	threads N   N threads at once, each with a few zones
 *	names N     N distinct dynamic names
 *	tight N     N frame marks in a loop that does nothing else
 *	nomark N    zones for N ms and no frame mark
 *	churn N     8 writers of N zones a thread, their threads ending and beginning anew
 *	frames N    frames of 200 zones for N ms, beside 8 such writers; prints what a frame took
 *	closefds N  closes all descriptors in the middle of N frames
 *	steady N    N frames of 500 zones at 100 fps
 */
#include <fprof.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WRITERS	     8
#define ROUNDS	     20
#define FRAME_ZONES  200
#define FRAMES_MAX   100000
#define THREAD_ZONES 20000

static uint64_t events;

static void count(uint64_t n)
{
	__atomic_fetch_add(&events, n, __ATOMIC_RELAXED);
}

static void mark(void)
{
	fprof_frame_mark();
	count(1);
}

static void zones(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		FPROF_ZONE("work");
	}
	count(2 * (uint64_t)n);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static pthread_barrier_t all_there;

static void *few_zones(void *unused)
{
	(void)unused;
	zones(10);
	pthread_barrier_wait(&all_there);
	zones(10);
	return NULL;
}

static void many_threads(long n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	pthread_attr_t small;
	long i;

	if (!threads)
		abort();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	pthread_barrier_init(&all_there, NULL, (unsigned)n);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], &small, few_zones, NULL))
			abort();
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	mark();
}

static void many_names(long n)
{
	char name[32];
	long i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "name %ld", i);
		FPROF_ZONE_DYNAMIC(name);
	}
	mark();
}

static void tight_marks(long n)
{
	long i;

	for (i = 0; i < n; i++)
		mark();
}

static void no_mark(long ms)
{
	int64_t end = now_ms() + ms;

	while (now_ms() < end) {
		zones(100);
		pause_ms(1);
	}
}

static void *write_some(void *n)
{
	zones((long)(intptr_t)n);
	return NULL;
}

/* Each of the writers is ROUNDS threads, one after the other. */
static void *churning(void *n)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, write_some, n))
			abort();
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void churn(long n)
{
	pthread_t writers[WRITERS];
	int i;

	for (i = 0; i < WRITERS; i++)
		if (pthread_create(&writers[i], NULL, churning, (void *)(intptr_t)n))
			abort();
	for (i = 0; i < WRITERS; i++) {
		pthread_join(writers[i], NULL);
		mark();
	}
}

static int frames_over;

static void *churning_on(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&frames_over, __ATOMIC_RELAXED)) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, write_some, (void *)(intptr_t)THREAD_ZONES))
			abort();
		pthread_join(thread, NULL);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Frame times of this thread, its CPU time, and how often it waited for anything. */
static void measure_frames(double ms)
{
	static double took[FRAMES_MAX];
	struct rusage before, after;
	double begin, cpu, end;
	size_t n = 0;

	memset(took, 1, sizeof(took)); /* its pages are there */
	getrusage(RUSAGE_THREAD, &before);
	cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
	end = clock_us(CLOCK_MONOTONIC) + ms * 1e3;
	do {
		begin = clock_us(CLOCK_MONOTONIC);
		zones(FRAME_ZONES);
		mark();
		took[n++] = clock_us(CLOCK_MONOTONIC) - begin;
	} while (begin < end && n < FRAMES_MAX);
	cpu = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
	getrusage(RUSAGE_THREAD, &after);
	qsort(took, n, sizeof(took[0]), compare);
	printf("frames %zu waits %ld cpu_us %.2f p50_us %.1f p99_us %.1f\n", n,
	       after.ru_nvcsw - before.ru_nvcsw, cpu / (double)n, took[n / 2], took[n * 99 / 100]);
}

static void frames(long ms)
{
	pthread_t writers[WRITERS];
	int i;

	for (i = 0; i < WRITERS; i++)
		if (pthread_create(&writers[i], NULL, churning_on, NULL))
			abort();
	mark();
	puts("begun");
	fflush(stdout);
	measure_frames((double)ms);
	__atomic_store_n(&frames_over, 1, __ATOMIC_RELAXED);
	for (i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
}

static void close_descriptors(long n)
{
	long i;
	int fd;

	for (i = 0; i < n; i++) {
		if (i == n / 2)
			for (fd = 3; fd < 256; fd++)
				close(fd);
		zones(20);
		mark();
		pause_ms(1);
	}
}

static void steady(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		zones(500);
		mark();
		pause_ms(10);
	}
}

static const struct {
	const char *name;
	void (*run)(long n);
} behaviours[] = {
	{"threads", many_threads}, {"names", many_names}, {"tight", tight_marks},
	{"nomark", no_mark},	   {"churn", churn},	  {"closefds", close_descriptors},
	{"steady", steady},	   {"frames", frames},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc == 3 && i < sizeof(behaviours) / sizeof(behaviours[0]); i++) {
		if (strcmp(argv[1], behaviours[i].name))
			continue;
		/* The process is connected by its first event; what others do meanwhile is not
		 * recorded. */
		zones(1);
		behaviours[i].run(strtol(argv[2], NULL, 10));
		printf("events %" PRIu64 "\n", events);
		return 0;
	}
	fprintf(stderr, "usage: misbehave WHAT N\n");
	return 2;
}
