// SPDX-License-Identifier: MIT
/* A game that is instrumented, runs under the hook, and has a library of its own in front of SDL.
 */
#include "check.h"
#include "fake.h"

#include <fprof.h>
#include <time.h>

extern unsigned shim_calls;
extern struct fake_log fake_sdl_log;
void SDL_GL_SwapWindow(void *window);

int main(void)
{
	struct timespec t = {0, 1000};
	unsigned i;

	for (i = 0; i < 4; i++) {
		FPROF_ZONE("tick");
		SDL_GL_SwapWindow(&i);
		fprof_frame_mark();
		CHECK(nanosleep(&t, NULL) == 0);
	}
	CHECK(shim_calls == 4);
	CHECK(fake_sdl_log.swaps == 4);
	return 0;
}
