// SPDX-License-Identifier: MIT
/*
 * bench_rate ZONES PERIOD_US MS: one thread that records ZONES zones as fast as it can, each
 * PERIOD_US anew, for MS milliseconds, with a frame mark each 1/60 s. Prints how many zones a
 * second it made: fewer than asked for where a burst takes longer than the period. What was lost
 * the daemon says.
 */
#include <fprof.h>

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define FRAME_NS (NS_PER_S / 60)

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void burst(long zones)
{
	long i;

	for (i = 0; i < zones; i++) {
		FPROF_ZONE("bench.zone");
	}
}

int main(int argc, char **argv)
{
	long zones = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	int64_t period = argc > 2 ? strtol(argv[2], NULL, 10) * INT64_C(1000) : 0;
	int64_t length = argc > 3 ? strtol(argv[3], NULL, 10) * INT64_C(1000000) : 0;
	int64_t from, next, frame;
	uint64_t made = 0;

	if (zones <= 0 || period <= 0 || length <= 0) {
		fprintf(stderr, "usage: bench_rate ZONES PERIOD_US MS\n");
		return 2;
	}
	fprof_frame_mark(); /* connects */
	from = next = frame = now_ns();
	while (next - from < length) {
		burst(zones);
		made += (uint64_t)zones;
		if (now_ns() - frame >= FRAME_NS) {
			fprof_frame_mark();
			frame = now_ns();
		}
		/* What was late is not made up for: that would be another burst. */
		next = next + period > now_ns() ? next + period : now_ns();
		sleep_until(next);
	}
	printf("%.0f\n", (double)made / (double)(now_ns() - from) * 1e9);
	return 0;
}
