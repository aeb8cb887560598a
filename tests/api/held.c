/* SPDX-License-Identifier: MIT */
/*
 * A game whose frames are held by what is asked for: held MODE FRAMES MS. Each frame computes for a
 * moment and then, for MS: cpu computes; sleep sleeps, unmarked; cap sleeps in a wait zone; lock
 * waits for a mutex that the thread "holder" has; disk syncs a file; starve computes beside a busy
 * loop of the same CPU; gpu has a GPU span of the whole frame; present waits in a wait zone; chain
 * waits for the thread "A", which waits for "B", which computes; beside has "B" compute while it
 * computes itself, half as long, and then waits for it; spawn makes a thread that
 * computes, after so many others that no table of threads holds them all.
 */
#include <fprof.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY_THREADS 5000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile unsigned sink;
static int ms;

static double seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of this thread's own time: being preempted makes it longer. */
static void compute(double wanted_ms)
{
	double end = seconds(CLOCK_THREAD_CPUTIME_ID) + wanted_ms / 1e3;

	while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		sink++;
}

static void sleep_ms(int n)
{
	struct timespec t = {n / 1000, n % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

/* Takes the mutex, lets the frame begin to wait, and gives it back after MS. */
static void *hold(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("holder");
	for (i = 0; i < n; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&held);
		sleep_ms(ms);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&held);
	}
	return NULL;
}

static void wait_for_lock(void)
{
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_barrier_wait(&held);
}

/* What chain is made of: who may go on, and who is done. */
static sem_t a_may, a_done, b_may, b_done;

static void *compute_b(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("B");
	for (i = 0; i < n; i++) {
		sem_wait(&b_may);
		{
			FPROF_ZONE("X");
			compute(ms);
		}
		sem_post(&b_done);
	}
	return NULL;
}

static void *wait_for_b(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("A");
	for (i = 0; i < n; i++) {
		sem_wait(&a_may);
		FPROF_ZONE("prepare");
		compute(ms / 10.0);
		sem_post(&b_may);
		{
			FPROF_ZONE("wait for B");
			sem_wait(&b_done);
		}
		{
			FPROF_ZONE("finish");
			compute(ms / 5.0);
		}
		sem_post(&a_done);
	}
	return NULL;
}

static void *compute_once(void *unused)
{
	(void)unused;
	fprof_thread_name("spawned");
	FPROF_ZONE("spawned");
	compute(ms);
	return NULL;
}

static void *nothing(void *unused)
{
	return unused;
}

static void spawn(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_join(thread, NULL);
}

static void wait_for_a(void)
{
	FPROF_ZONE("wait for A");
	sem_post(&a_may);
	sem_wait(&a_done);
}

static void work_beside_b(void)
{
	sem_post(&b_may);
	{
		FPROF_ZONE("own");
		compute(ms / 2.0);
	}
	FPROF_ZONE("wait for B");
	sem_wait(&b_done);
}

static void sync_disk(void)
{
	static char block[256 * 1024];
	int fd = open("held.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	double end = seconds(CLOCK_MONOTONIC) + ms / 1e3;

	do {
		if (write(fd, block, sizeof(block)) < 0)
			break;
		fsync(fd);
	} while (seconds(CLOCK_MONOTONIC) < end);
	close(fd);
	unlink("held.data");
}

static void pin(void)
{
	cpu_set_t set;
	int cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A process that computes beside us: as much CPU as we get, at least. */
static pid_t rival(void)
{
	pid_t pid;

	pin();
	pid = fork();
	if (pid == 0) {
		alarm(60);
		for (;;)
			sink++;
	}
	setpriority(PRIO_PROCESS, 0, 10);
	return pid;
}

static void hold_frame(const char *mode)
{
	if (!strcmp(mode, "cpu") || !strcmp(mode, "starve") || !strcmp(mode, "gpu")) {
		compute(ms);
	} else if (!strcmp(mode, "sleep")) {
		sleep_ms(ms);
	} else if (!strcmp(mode, "cap")) {
		FPROF_WAIT_CAP("cap");
		sleep_ms(ms);
	} else if (!strcmp(mode, "present")) {
		FPROF_WAIT_PRESENT("present");
		sleep_ms(ms);
	} else if (!strcmp(mode, "lock")) {
		wait_for_lock();
	} else if (!strcmp(mode, "chain")) {
		wait_for_a();
	} else if (!strcmp(mode, "beside")) {
		work_beside_b();
	} else if (!strcmp(mode, "spawn")) {
		spawn(compute_once);
	} else if (!strcmp(mode, "disk")) {
		sync_disk();
	}
}

int main(int argc, char **argv)
{
	int frames = argc > 2 ? atoi(argv[2]) : 0, i;
	bool lock, chain, beside;
	pthread_t holder, others[2];
	pid_t other = 0;

	if (argc != 4)
		return 2;
	ms = atoi(argv[3]);
	lock = !strcmp(argv[1], "lock");
	chain = !strcmp(argv[1], "chain");
	beside = !strcmp(argv[1], "beside");
	FPROF_INSTANT("begin");
	sleep_ms(1500); /* the daemon's helper is there by then */
	for (i = 0; i < MANY_THREADS && !strcmp(argv[1], "spawn"); i++)
		spawn(nothing);
	fprof_frame_mark();
	if (lock) {
		pthread_barrier_init(&held, NULL, 2);
		pthread_create(&holder, NULL, hold, &frames);
	}
	sem_init(&a_may, 0, 0);
	sem_init(&a_done, 0, 0);
	sem_init(&b_may, 0, 0);
	sem_init(&b_done, 0, 0);
	if (chain)
		pthread_create(&others[0], NULL, wait_for_b, &frames);
	if (chain || beside)
		pthread_create(&others[1], NULL, compute_b, &frames);
	if (!strcmp(argv[1], "starve"))
		other = rival();
	for (i = 0; i < frames; i++) {
		FPROF_ZONE("frame");
		compute(0.2);
		hold_frame(argv[1]);
		fprof_frame_mark();
	}
	if (lock)
		pthread_join(holder, NULL);
	if (chain)
		pthread_join(others[0], NULL);
	if (chain || beside)
		pthread_join(others[1], NULL);
	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	return 0;
}
