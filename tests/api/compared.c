/* SPDX-License-Identifier: MIT */
/* A game whose frames are known: how many, how many milliseconds "work" takes, how often "step" is
 * called, the name of a zone that only this run has, how many zones "deep" are in each other, and
 * before which frame it stops until it gets SIGCONT. It counts its steps, too. */
#include <fprof.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void pass(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	if (ms > 0)
		nanosleep(&t, NULL);
}

static void deep(long levels)
{
	if (levels > 0) {
		FPROF_ZONE("deep");
		deep(levels - 1);
	}
}

static void frame(long ms, long steps, int newer, long levels)
{
	long i;

	FPROF_ZONE("frame");
	{
		FPROF_ZONE("work");
		pass(ms);
	}
	for (i = 0; i < steps; i++) {
		FPROF_ZONE("step");
	}
	if (newer) {
		FPROF_ZONE("newer");
	} else {
		FPROF_ZONE("older");
	}
	deep(levels);
	FPROF_COUNTER_SET_I64("steps", FPROF_UNIT_COUNT, steps);
}

int main(int argc, char **argv)
{
	long frames = argc > 1 ? strtol(argv[1], NULL, 10) : 40;
	long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long steps = argc > 3 ? strtol(argv[3], NULL, 10) : 10;
	int newer = argc > 4 && strcmp(argv[4], "newer") == 0;
	long levels = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
	long stop = argc > 6 ? strtol(argv[6], NULL, 10) : -1;
	long i;

	for (i = 0; i < frames; i++) {
		if (i == stop)
			raise(SIGSTOP);
		frame(ms, steps, newer, levels);
		fprof_frame_mark();
	}
	return 0;
}
