/* SPDX-License-Identifier: MIT */
/*
 * A game whose calls can be counted: in each frame "work", in it three "step", one of them in
 * another, and one "job" on a thread of its own. Frame 7 takes a second in "step". Ends with a
 * signal and says how many frames there were.
 */
#include <fprof.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define SLOW_FRAME 7

static volatile sig_atomic_t stop;
static bool over; /* there are no more frames; published by go */
static sem_t go, done;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void rest(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	nanosleep(&t, NULL);
}

static void *work(void *unused)
{
	fprof_thread_name("jobs");
	for (;;) {
		sem_wait(&go);
		if (over)
			return unused;
		{
			FPROF_ZONE("job");
		}
		sem_post(&done);
	}
}

static void frame(unsigned long number)
{
	FPROF_ZONE("work");
	{
		FPROF_ZONE("step");
		if (number == SLOW_FRAME)
			rest(1000000000);
		{
			FPROF_ZONE("step");
		}
	}
	{
		FPROF_ZONE("step");
	}
	sem_post(&go);
	sem_wait(&done);
	rest(1000000);
}

int main(void)
{
	unsigned long frames = 0;
	pthread_t thread;

	signal(SIGTERM, on_signal);
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	fprof_thread_name("main");
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	while (!stop) {
		frame(++frames);
		fprof_frame_mark();
	}
	over = true;
	sem_post(&go);
	pthread_join(thread, NULL);
	printf("frames=%lu\n", frames);
	return 0;
}
