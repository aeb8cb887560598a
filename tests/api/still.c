/* SPDX-License-Identifier: MIT */
/*
 * A game whose other threads do the same all the time: "runs" computes, alone on a CPU where that
 * can be had, "waits" waits for a lock that nobody lets go of. Both begin before the game is known.
 *
 *   still FRAMES MS
 *
 * Says "runs switched N times in MS ms" of the first. 77: there is one CPU only.
 */
#include <fprof.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static sem_t nobody, begun;
static volatile int stop;
static int alone;

static void *waits(void *userdata)
{
	(void)userdata;
	prctl(PR_SET_NAME, "waits");
	fprof_thread_name("waits");
	{
		FPROF_ZONE("waits");
	}
	sem_post(&begun);
	while (sem_wait(&nobody) != 0)
		;
	return NULL;
}

static long switches(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw + use.ru_nivcsw;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Nobody else gets the CPU, if we may. */
static void *runs(void *userdata)
{
	struct sched_param first = {.sched_priority = 1};
	cpu_set_t one;
	double since;
	long before;

	(void)userdata;
	prctl(PR_SET_NAME, "runs");
	CPU_ZERO(&one);
	CPU_SET((size_t)alone, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	fprof_thread_name("runs");
	{
		FPROF_ZONE("runs");
	}
	sem_post(&begun);
	before = switches();
	since = now_ms();
	while (!stop)
		;
	printf("runs switched %ld times in %.0f ms\n", switches() - before, now_ms() - since);
	return NULL;
}

static int choose(void)
{
	cpu_set_t all;
	int cpu;

	sched_getaffinity(0, sizeof(all), &all);
	if (CPU_COUNT(&all) < 2)
		return 77;
	for (cpu = CPU_SETSIZE - 1; !CPU_ISSET((size_t)cpu, &all); cpu--)
		;
	alone = cpu;
	CPU_CLR((size_t)cpu, &all);
	return sched_setaffinity(0, sizeof(all), &all);
}

int main(int argc, char **argv)
{
	int frames = argc > 1 ? atoi(argv[1]) : 10, ms = argc > 2 ? atoi(argv[2]) : 10, i;
	pthread_t runner, waiter;
	int r = choose();

	if (r != 0)
		return r;
	sem_init(&nobody, 0, 0);
	sem_init(&begun, 0, 0);
	if (pthread_create(&waiter, NULL, waits, NULL) != 0 ||
	    pthread_create(&runner, NULL, runs, NULL) != 0)
		return 1;
	for (i = 0; i < 2; i++)
		while (sem_wait(&begun) != 0)
			;
	usleep(10000); /* each is where it stays */
	for (i = 0; i < frames; i++) {
		usleep((useconds_t)ms * 1000);
		fprof_frame_mark();
	}
	stop = 1;
	pthread_join(runner, NULL);
	return 0;
}
