/* SPDX-License-Identifier: MIT */
/* A game that gets stuck three zones deep on two threads, and says so; then it waits to be killed.
 * Its argument is how many frames it marks before. */
#include <fprof.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void leaf(void)
{
	FPROF_ZONE("leaf");
}

static void *load(void *unused)
{
	fprof_thread_name("loader");
	FPROF_ZONE("load level");
	leaf();
	FPROF_ZONE("read file");
	FPROF_ZONE("decompress");
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	int marks = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	fprof_thread_name("main");
	for (; marks > 0; marks--) {
		leaf();
		fprof_frame_mark();
	}
	if (pthread_barrier_init(&barrier, NULL, 2) != 0 ||
	    pthread_create(&thread, NULL, load, NULL) != 0)
		return 1;
	FPROF_ZONE("frame");
	leaf();
	FPROF_ZONE("render");
	leaf();
	FPROF_ZONE("wait for the loader");
	pthread_barrier_wait(&barrier);
	puts("stuck");
	fflush(stdout);
	for (;;)
		pause();
}
