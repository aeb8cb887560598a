/* SPDX-License-Identifier: MIT */
/* A game whose frames do nothing but ask what time it is, until a signal ends it. */
#include <fprof.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(void)
{
	signal(SIGTERM, on_signal);
	while (!stop) {
		uint64_t begin = now_ns();

		while (now_ns() - begin < 4000000)
			;
		fprof_frame_mark();
	}
	return 0;
}
