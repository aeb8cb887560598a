/* SPDX-License-Identifier: MIT */
/* A game that presents and marks its frames itself: how many, milliseconds each, and how long after
 * the present it marks. */
#include <fprof.h>
#include <stdlib.h>
#include <time.h>

void SDL_GL_SwapWindow(void *window);

static void pass(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	if (ms > 0)
		nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	long frames = argc > 1 ? strtol(argv[1], NULL, 10) : 4;
	long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long later = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	long i;

	for (i = 0; i < frames; i++) {
		FPROF_ZONE("tick");
		pass(ms - later);
		SDL_GL_SwapWindow(&i);
		pass(later);
		fprof_frame_mark();
	}
	return 0;
}
