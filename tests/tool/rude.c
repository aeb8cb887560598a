/* SPDX-License-Identifier: MIT */
/* A game whose names are escape sequences. With an argument it has a zone more. */
#include <fprof.h>

#include <time.h>

#define RUDE "\033]0;rude\a\302\233 "
#define C1   "\302\2332Jnew"

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 2000000};
	int frame;

	(void)argv;
	fprof_thread_name(RUDE "thread");
	for (frame = 0; frame < 40; frame++) {
		FPROF_ZONE(RUDE "zone");
		nanosleep(&pause, NULL);
		if (argc > 1) {
			FPROF_ZONE(C1);
			nanosleep(&pause, NULL);
		}
		fprof_frame_mark();
	}
	return 0;
}
