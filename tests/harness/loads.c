/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
/* Marks frames until it is ended; loads in frames 2 to 11 and 22 to 43. */
#include <fprof.h>

#include <time.h>

int main(void)
{
	const struct timespec pause = {0, 2000000};
	int frame;

	for (frame = 1; frame < 100000; frame++) {
		if (frame == 2 || frame == 22)
			fprof_loading(true);
		FPROF_ZONE("work");
		nanosleep(&pause, NULL);
		if (frame == 11 || frame == 43)
			fprof_loading(false);
		fprof_frame_mark();
	}
	return 0;
}
