/* SPDX-License-Identifier: MIT */
/*
 * A game to be controlled: zones of all levels and categories, one with a slash in its name, and
 * zones that are open across frames: "game" around all frames, "forever" on a thread of its own.
 * Says its frame every 10 frames, until a signal ends it.
 */
#include <fprof.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void rest(void)
{
	struct timespec t = {0, 3000000};

	nanosleep(&t, NULL);
}

static void draw(void)
{
	FPROF_ZONE_EX("render", "graphics", 0, FPROF_LEVEL_PHASE);
	int i;

	for (i = 0; i < 3; i++) {
		FPROF_ZONE_EX("draw/call", "graphics", 0, FPROF_LEVEL_INNER);
	}
}

static void frame(void)
{
	FPROF_ZONE_L("frame", FPROF_LEVEL_LANDMARK);
	{
		FPROF_ZONE_EX("update", "physics", 0, FPROF_LEVEL_PHASE);
		FPROF_ZONE_EX("step", "physics", 0, FPROF_LEVEL_INNER);
	}
	draw();
	FPROF_COUNTER_ADD_I64("drawn", FPROF_UNIT_COUNT, 3);
}

static void *work(void *arg)
{
	FPROF_ZONE_MARKER(forever, "forever", NULL, 0, FPROF_LEVEL_LANDMARK);
	fprof_scope scope;

	fprof_thread_name("worker");
	scope = fprof_zone_begin(&forever);
	while (!stop) {
		FPROF_ZONE_L("part", FPROF_LEVEL_PHASE);
		rest();
	}
	fprof_zone_end(scope);
	return arg;
}

int main(void)
{
	FPROF_ZONE_MARKER(game, "game", NULL, 0, FPROF_LEVEL_LANDMARK);
	pthread_t thread;
	fprof_scope scope;
	uint64_t i;

	signal(SIGTERM, on_signal);
	fprof_thread_name("main");
	scope = fprof_zone_begin(&game);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	for (i = 1; !stop; i++) {
		frame();
		fprof_frame_mark_id(i);
		if (i % 10 == 0) {
			printf("frame %llu\n", (unsigned long long)i);
			fflush(stdout);
		}
		rest();
	}
	fprof_zone_end(scope);
	pthread_join(thread, NULL);
	return 0;
}
