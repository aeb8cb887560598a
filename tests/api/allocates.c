/* SPDX-License-Identifier: MIT */
/*
 * A game that allocates known amounts: allocates FRAMES. In each frame "update" takes 3 x 100 bytes
 * of malloc and 1 x 1000 of its own allocator; "update/ai" inside it 2 x 50 bytes; "draw" nothing.
 */
#include <fprof.h>

#include <stdlib.h>
#include <time.h>

static void *volatile kept;

static void take(size_t bytes)
{
	kept = malloc(bytes);
	free(kept);
}

static void update(void)
{
	FPROF_ZONE("update");
	take(100);
	take(100);
	{
		FPROF_ZONE("ai");
		take(50);
		take(50);
	}
	take(100);
	fprof_alloc(1000);
}

static void draw(void)
{
	FPROF_ZONE("draw");
}

int main(int argc, char **argv)
{
	int i, frames = argc > 1 ? atoi(argv[1]) : 10;
	struct timespec pause = {0, 20000000};

	for (i = 0; i < frames; i++) {
		{
			FPROF_ZONE("frame");
			update();
			draw();
		}
		fprof_frame_mark();
		nanosleep(&pause, NULL);
	}
	return 0;
}
