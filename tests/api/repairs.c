/* SPDX-License-Identifier: MIT */
/*
 * A game with faults: a thread that ends its zones in the wrong order ROUNDS times, and a counter
 * that has no value before frame 3.
 */
#include <fprof.h>
#include <pthread.h>
#include <stddef.h>

#define ROUNDS 5
#define FRAMES 4

static void *work(void *arg)
{
	FPROF_ZONE_MARKER(outer, "outer", NULL, 0, FPROF_LEVEL_PHASE);
	FPROF_ZONE_MARKER(inner, "inner", NULL, 0, FPROF_LEVEL_PHASE);
	int i;

	fprof_thread_name("crooked");
	for (i = 0; i < ROUNDS; i++) {
		fprof_scope a = fprof_zone_begin(&outer);
		fprof_scope b = fprof_zone_begin(&inner);

		fprof_zone_end(a);
		fprof_zone_end(b);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	for (i = 1; i <= FRAMES; i++) {
		FPROF_COUNTER_SET_I64("early", FPROF_UNIT_COUNT, i);
		if (i >= 3)
			FPROF_COUNTER_SET_I64("late", FPROF_UNIT_COUNT, 10 * i);
		fprof_frame_mark();
	}
	return 0;
}
