/* SPDX-License-Identifier: MIT */
/* A program without frames of a main stream: five ticks of a stream of its own. */
#include <fprof.h>

int main(void)
{
	int tick;

	for (tick = 0; tick < 5; tick++) {
		FPROF_ZONE("work");
		fprof_frame_mark_named("tick");
	}
	return 0;
}
