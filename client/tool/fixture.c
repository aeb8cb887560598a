// SPDX-License-Identifier: MIT
/*
 * The recordings. Each runs in a child process, on threads that wait for each other at barriers, so
 * that what lies in which frame follows from the code and not from the scheduler.
 */
#include "fixture.h"

#include "client/fprof.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define WORKERS	  4
#define LAP_ZONES 200000 /* 400,000 words through a ring of 2,048: no reader keeps up with that */

struct crew {
	pthread_t threads[WORKERS];
	pthread_barrier_t barrier;
};

static struct crew crew;

static void meet(void)
{
	pthread_barrier_wait(&crew.barrier);
}

static void crew_start(unsigned count, void *(*run)(void *))
{
	unsigned i;

	if (pthread_barrier_init(&crew.barrier, NULL, count + 1) != 0)
		abort();
	for (i = 0; i < count; i++) {
		if (pthread_create(&crew.threads[i], NULL, run, (void *)(uintptr_t)i) != 0)
			abort();
	}
}

static void crew_end(unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++)
		pthread_join(crew.threads[i], NULL);
	pthread_barrier_destroy(&crew.barrier);
}

static void name_worker(void *index)
{
	char name[] = "worker 0";

	name[sizeof(name) - 2] += (char)(uintptr_t)index;
	fprof_thread_name(name);
}

static void leaf(void)
{
	FPROF_ZONE("leaf");
}

/* ---- nested ---------------------------------------------------------------------------------- */

static void nest(void)
{
	FPROF_ZONE("outer");
	{
		FPROF_ZONE("middle");
		leaf();
		leaf();
	}
	leaf();
}

static void record_nested(void)
{
	fprof_thread_name("main");
	nest();
	FPROF_COUNTER_ADD_I64("added", FPROF_UNIT_COUNT, 2);
	FPROF_COUNTER_ADD_I64("added", FPROF_UNIT_COUNT, 3);
	fprof_frame_mark();
	{
		FPROF_ZONE_V(scope, "first");
		leaf();
		FPROF_NEXT(scope, "second");
		FPROF_NEXT(scope, "third");
		leaf();
	}
	FPROF_COUNTER_ADD_I64("added", FPROF_UNIT_COUNT, 7);
	FPROF_COUNTER_SET_F64("set", FPROF_UNIT_MS, 1.5);
	FPROF_COUNTER_SET_F64("set", FPROF_UNIT_MS, 2.5);
	fprof_frame_mark();
	fprof_frame_mark(); /* a frame without anything */
	nest();
	fprof_frame_mark();
}

/* ---- multithreaded -----------------------------------------------------------------------------
 */

static void *run_worker(void *index)
{
	name_worker(index);
	meet();
	{
		FPROF_ZONE("work");
		leaf();
	}
	meet();
	meet(); /* main marks frame 1 */
	if ((uintptr_t)index < 2)
		leaf(); /* the others are silent and must hide nobody */
	meet();
	return NULL;
}

static void record_multithreaded(void)
{
	fprof_thread_name("main");
	crew_start(WORKERS, run_worker);
	meet();
	leaf();
	meet();
	fprof_frame_mark();
	meet();
	meet();
	fprof_frame_mark();
	crew_end(WORKERS);
}

/* ---- across frames ------------------------------------------------------------------------------
 */

static void *run_crossing(void *index)
{
	name_worker(index);
	{
		FPROF_ZONE("crossing");
		leaf();
		meet();
		meet(); /* main marks frames 1 and 2 */
		leaf();
	}
	meet();
	return NULL;
}

static void record_crossing(void)
{
	fprof_thread_name("main");
	crew_start(1, run_crossing);
	{
		FPROF_ZONE("open at the mark");
		meet();
		fprof_frame_mark();
	}
	fprof_frame_mark();
	meet();
	meet();
	fprof_frame_mark();
	crew_end(1);
}

/* ---- lapped -------------------------------------------------------------------------------------
 */

static void record_lapped(void)
{
	unsigned i;

	fprof_thread_name("main");
	for (i = 0; i < LAP_ZONES; i++)
		leaf();
	fprof_frame_mark();
	nest(); /* the newest events survive */
	fprof_frame_mark();
}

/* ---- killed -------------------------------------------------------------------------------------
 */

static void *run_leaver(void *index)
{
	FPROF_ZONE_MARKER(left, "left open", NULL, 0, FPROF_LEVEL_PHASE);

	name_worker(index);
	fprof_zone_begin(&left);
	leaf();
	return NULL; /* and never ends it */
}

static void record_killed_thread(void)
{
	fprof_thread_name("main");
	crew_start(1, run_leaver);
	crew_end(1);
	leaf();
	fprof_frame_mark();
	leaf();
	fprof_frame_mark();
}

static void *run_victim(void *index)
{
	name_worker(index);
	FPROF_ZONE("load");
	leaf();
	FPROF_ZONE("read");
	FPROF_ZONE("decompress");
	meet();
	meet(); /* for ever */
	return NULL;
}

static void record_killed_process(void)
{
	fprof_thread_name("main");
	nest();
	fprof_frame_mark();
	leaf();
	fprof_frame_mark();
	FPROF_ZONE("open at death");
	crew_start(1, run_victim);
	leaf();
	FPROF_ZONE("inner");
	meet();
	raise(SIGKILL);
}

#define NEST "outer(middle(leaf leaf) leaf)"

const struct fixture fixtures[] = {
	{
		.name = "nested",
		.record = record_nested,
		.frames = 4,
		.state = "ended",
		.zones = {{1, "main", NEST},
			  {2, "main", "first(leaf) second third(leaf)"},
			  {3, "main", ""},
			  {4, "main", NEST}},
		.counters = {{1, "added", 5}, {2, "added", 7}, {2, "set", 2.5}},
	},
	{
		.name = "multithreaded",
		.record = record_multithreaded,
		.frames = 2,
		.state = "ended",
		.zones = {{1, "main", "leaf"},
			  {1, "worker 0", "work(leaf)"},
			  {1, "worker 1", "work(leaf)"},
			  {1, "worker 2", "work(leaf)"},
			  {1, "worker 3", "work(leaf)"},
			  {2, "main", ""},
			  {2, "worker 0", "leaf"},
			  {2, "worker 1", "leaf"},
			  {2, "worker 2", ""},
			  {2, "worker 3", ""}},
	},
	{
		.name = "across frames",
		.record = record_crossing,
		.frames = 3,
		.state = "ended",
		.zones = {{1, "main", "open at the mark>"},
			  {2, "main", "open at the mark<"},
			  {3, "main", ""},
			  {1, "worker 0", "crossing>(leaf)"},
			  {2, "worker 0", "crossing<>"},
			  {3, "worker 0", "crossing<(leaf)"}},
	},
	{
		.name = "lapped",
		.record = record_lapped,
		.ring_kib = 16,
		.frames = 2,
		.state = "ended",
		.lossy_frame = 1,
		.zones = {{2, "main", NEST}},
	},
	{
		.name = "killed thread",
		.record = record_killed_thread,
		.frames = 2,
		.state = "ended",
		.zones = {{1, "main", "leaf"},
			  {1, "worker 0", "left open!(leaf)"},
			  {2, "main", "leaf"},
			  {2, "worker 0", ""},
			  {FIXTURE_TAIL, "worker 0", ""}},
	},
	{
		.name = "killed process",
		.record = record_killed_process,
		.frames = 2,
		.state = "crashed",
		.zones = {{1, "main", NEST},
			  {2, "main", "leaf"},
			  {FIXTURE_TAIL, "main", "open at death>?(leaf inner>?)"},
			  {FIXTURE_TAIL, "worker 0", "load>?(leaf read>?(decompress>?))"}},
		.open = {{"main", "open at death > inner"},
			 {"worker 0", "load > read > decompress"}},
	},
};

const size_t fixture_count = sizeof(fixtures) / sizeof(fixtures[0]);
