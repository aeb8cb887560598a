// SPDX-License-Identifier: MIT
/*
 * 300 frames of 500 zones on two threads with 32 counters, after a warm-up. Counts allocations
 * (it defines malloc), and makes a system call of its own, getppid, where the measured part
 * begins and ends, so that a trace can tell what lies between. Arguments: whether there is a
 * daemon, and how many milliseconds a frame takes.
 */
#include <fprof.h>

#include "tests/unit/fake_daemon.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 300, ZONES = 500, COUNTERS = 32, WARM_UP = 30 };

static uint64_t allocations;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	FPROF_ADD_RELAXED(&allocations, UINT64_C(1));
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	FPROF_ADD_RELAXED(&allocations, UINT64_C(1));
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	FPROF_ADD_RELAXED(&allocations, UINT64_C(1));
	return __libc_realloc(p, n);
}

/* A barrier that spins: it makes no system call of its own. */
static uint32_t frame_of[2];

static void meet(unsigned me, uint32_t frame)
{
	FPROF_STORE_RELEASE(&frame_of[me], frame);
	while (FPROF_LOAD_ACQUIRE(&frame_of[!me]) < frame)
		;
}

static struct fprof_marker counters[COUNTERS];
static char names[COUNTERS][3];

static void counters_init(void)
{
	int i;

	for (i = 0; i < COUNTERS; i++) {
		snprintf(names[i], sizeof(names[i]), "%02d", i);
		counters[i].kind = FPROF_MARKER_COUNTER;
		counters[i].name = names[i];
	}
}

static void zones(void)
{
	int i;

	for (i = 0; i < ZONES; i++) {
		FPROF_ZONE("zone");
		if (i < COUNTERS)
			fprof_counter_add_i64(&counters[i], i);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A daemon that welcomes one game and lives until it is killed. */
static pid_t daemon_start(struct fake_daemon *d)
{
	pid_t pid;

	fake_init(d);
	fake_listen(d);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(fake_accept(d, 10000));
	fake_welcome(d);
	for (;;) {
		FPROF_ADD_RELAXED(&d->control->heartbeat, UINT64_C(1));
		usleep(100000);
	}
}

static void *second_thread(void *unused)
{
	uint32_t frame;

	syscall(SYS_getppid); /* for the trace: this thread counts */
	for (frame = 1; frame <= WARM_UP + FRAMES; frame++) {
		zones();
		meet(1, frame);
	}
	meet(1, frame); /* ends after the measured part */
	return unused;
}

int main(int argc, char **argv)
{
	struct fake_daemon d;
	uint64_t before = 0, after, due, frame_ns;
	pid_t daemon = -1;
	pthread_t thread;
	uint32_t frame;

	if (argc < 3)
		return 2;
	frame_ns = strtoull(argv[2], NULL, 10) * 1000000;
	if (!strcmp(argv[1], "daemon"))
		daemon = daemon_start(&d);
	counters_init();
	if (pthread_create(&thread, NULL, second_thread, NULL))
		return 1;
	for (frame = 1; frame <= WARM_UP + FRAMES; frame++) {
		if (frame == WARM_UP + 1) {
			before = FPROF_LOAD_RELAXED(&allocations);
			syscall(SYS_getppid);
		}
		zones();
		meet(0, frame);
		fprof_frame_mark();
		/* spins: sleeping is a system call */
		for (due = now_ns() + frame_ns; now_ns() < due;)
			;
	}
	syscall(SYS_getppid);
	after = FPROF_LOAD_RELAXED(&allocations);
	meet(0, frame);
	pthread_join(thread, NULL);
	printf("allocations %llu\n", (unsigned long long)(after - before));
	if (daemon > 0) {
		kill(daemon, SIGKILL);
		fake_deinit(&d);
	}
	return 0;
}
