/* SPDX-License-Identifier: MIT */
/*
 * Each word that a verdict can say, of frames made of stretches: what the kernel says of the
 * thread, and the wait zone around it. Two unlike changes for each word (what loads a frame so, and
 * what holds a frame up that had slack), and what must not be it. tests/mutants takes each rule
 * away in turn and has to see one of these fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/verdict.h"

#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
/* What the kernel says: BLOCKED by a reason is 100 and more. */
#define RUN	 SCHED_STATE_RUNNING
#define QUEUED	 SCHED_STATE_RUNNABLE
#define NOBODY	 SCHED_STATE_UNKNOWN
#define BLOCK(r) (100 + (r))
/* The wait zone. */
#define NO	FPROF_MARKER_ZONE
#define GPU	FPROF_MARKER_WAIT_GPU
#define PRESENT FPROF_MARKER_WAIT_PRESENT
#define CAP	FPROF_MARKER_WAIT_CAP

struct stretch {
	double ms;
	int kernel;
	enum fprof_marker_kind zone;
};

struct made {
	const char *name;
	struct stretch stretches[4];
	double usual_ms, gpu_ms;	       /* 0: as the frame; 0: not known, below 0: idle */
	const char *displays;		       /* NULL: none is known */
	double ran_ms, cpu_ms;		       /* schedstat, of many such frames; 0, 0: not read */
	double not_run_ms;		       /* of this one's cpu, by it */
	double wall_varies_ms, work_varies_ms; /* of frames around; 0, 0: not known */
	bool no_kernel, unread;
	enum verdict_bound word;
	const char *says;     /* NULL: anything */
	const char *says_not; /* NULL: nothing */
};

static const struct made made[] = {
	/* gpu */
	{.name = "gpu: it is busy all the time while the thread computes",
	 .stretches = {{14, RUN, NO}, {2, BLOCK(WAIT_LOCK), NO}},
	 .gpu_ms = 15.5,
	 .word = BOUND_GPU,
	 .says = "busy for 15.50 of 16.00 ms (97%, saturated from 90%"},
	{.name = "gpu: it is busy all the time while the present blocks at a display's pace",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_POLL), PRESENT}},
	 .gpu_ms = 15.5,
	 .displays = "62.5",
	 .word = BOUND_GPU},
	{.name = "gpu: the thread waits in a zone for it, whose time is not known",
	 .stretches = {{4, RUN, NO}, {12, BLOCK(WAIT_LOCK), GPU}},
	 .word = BOUND_GPU,
	 .says = "waited for the GPU",
	 .says_not = "denies"},
	{.name = "gpu: the thread blocks in the driver, unmarked",
	 .stretches = {{4, RUN, NO}, {12, BLOCK(WAIT_GPU), NO}},
	 .word = BOUND_GPU},
	{.name = "not gpu: it was idle for a fifth",
	 .stretches = {{14, RUN, NO}, {2, BLOCK(WAIT_LOCK), NO}},
	 .gpu_ms = 12.8,
	 .word = BOUND_CPU},
	/* display */
	{.name = "display: the present blocks at its pace",
	 .stretches = {{6, RUN, NO}, {10.67, BLOCK(WAIT_POLL), PRESENT}},
	 .displays = "60",
	 .gpu_ms = 8,
	 .word = BOUND_DISPLAY,
	 .says = "waited 10.67 ms for the display; the frame took 16.67 ms, as usual (16.67 ms). A "
		 "display shows 60 Hz."},
	{.name = "display: a frame of two refreshes, its time not known to the kernel",
	 .stretches = {{20, RUN, NO}, {13.33, RUN, PRESENT}},
	 .displays = "60",
	 .no_kernel = true,
	 .word = BOUND_DISPLAY,
	 .says = "each frame 2 times"},
	{.name = "display: it blocks so long that the frame is a hitch",
	 .stretches = {{6, RUN, NO}, {44, BLOCK(WAIT_POLL), PRESENT}},
	 .usual_ms = 16.67,
	 .displays = "60",
	 .word = BOUND_DISPLAY,
	 .says = "For 44.00 of 50.00 ms (88%) the frame's thread waited for the present"},
	{.name = "not display: the present blocks at a pace that fits none",
	 .stretches = {{6, RUN, NO}, {4.31, BLOCK(WAIT_POLL), PRESENT}},
	 .displays = "60",
	 .word = BOUND_UNKNOWN,
	 .says = "paced at 96.99 Hz on a 60 Hz display"},
	{.name = "not display: a hitch at a pace that fits none",
	 .stretches = {{6, RUN, NO}, {44, BLOCK(WAIT_POLL), PRESENT}},
	 .usual_ms = 10.31,
	 .displays = "60",
	 .word = BOUND_UNKNOWN},
	{.name = "not display: no rate is known",
	 .stretches = {{6, RUN, NO}, {10.67, BLOCK(WAIT_POLL), PRESENT}},
	 .word = BOUND_UNKNOWN,
	 .says = "No display's refresh rate is known."},
	/* cap */
	{.name = "cap: it waits in the limiter's zone",
	 .stretches = {{6, RUN, NO}, {10.67, BLOCK(WAIT_SLEEP), CAP}},
	 .word = BOUND_CAP,
	 .says = "waited 10.67 ms for the frame limiter"},
	{.name = "cap: it sleeps, unmarked",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_SLEEP), NO}},
	 .word = BOUND_CAP},
	{.name = "cap: faster than the display, of which it is told",
	 .stretches = {{2, RUN, NO}, {2.1667, BLOCK(WAIT_SLEEP), CAP}},
	 .displays = "144",
	 .word = BOUND_CAP,
	 .says = "paced at 240 Hz on a 144 Hz display: 2 of 5 frames are never shown"},
	{.name = "cap: it sleeps in the present at a pace that fits no display",
	 .stretches = {{6, RUN, NO}, {4.31, BLOCK(WAIT_SLEEP), PRESENT}},
	 .displays = "60",
	 .word = BOUND_CAP,
	 .says = "in the present for a limiter"},
	{.name = "cap: it blocks in the present at a pace that fits none, and the GPU is idle",
	 .stretches = {{6, RUN, NO}, {4.31, BLOCK(WAIT_POLL), PRESENT}},
	 .displays = "60",
	 .gpu_ms = 3,
	 .word = BOUND_CAP},
	{.name = "cap: the limiter spins",
	 .stretches = {{6, RUN, NO}, {10, RUN, CAP}},
	 .word = BOUND_CAP},
	{.name = "not cap: the slack is a moment",
	 .stretches = {{15.8, RUN, NO}, {0.2, BLOCK(WAIT_SLEEP), CAP}},
	 .word = BOUND_CPU},
	{.name = "cap: a small slack that evens frames out",
	 .stretches = {{14, RUN, NO}, {2.67, BLOCK(WAIT_SLEEP), CAP}},
	 .wall_varies_ms = 0.3,
	 .work_varies_ms = 0.9,
	 .word = BOUND_CAP},
	{.name = "not cap: it sleeps for as long whatever its work does",
	 .stretches = {{14, RUN, NO}, {2.67, BLOCK(WAIT_SLEEP), CAP}},
	 .wall_varies_ms = 0.9,
	 .work_varies_ms = 0.9,
	 .word = BOUND_CPU,
	 .says = "The 2.67 ms that it waited as for a limiter or the display even nothing out."},
	{.name = "not cap: a lock, and a sleep in the present of a moment",
	 .stretches = {{2, RUN, NO}, {5, BLOCK(WAIT_LOCK), NO}, {1, BLOCK(WAIT_SLEEP), PRESENT}},
	 .wall_varies_ms = 0.5,
	 .work_varies_ms = 0.5,
	 .word = BOUND_LOCK},
	{.name = "cap: it sleeps, unmarked, and frames are even",
	 .stretches = {{13, RUN, NO}, {3, BLOCK(WAIT_SLEEP), NO}},
	 .wall_varies_ms = 0.1,
	 .work_varies_ms = 0.1,
	 .word = BOUND_CAP},
	{.name = "not cap: it sleeps, unmarked, and frames are as long as they come",
	 .stretches = {{13, RUN, NO}, {3, BLOCK(WAIT_SLEEP), NO}},
	 .wall_varies_ms = 0.5,
	 .work_varies_ms = 0.5,
	 .word = BOUND_CPU},
	{.name = "cap: the work is as even as the frames, and the slack is large",
	 .stretches = {{9, RUN, NO}, {7, BLOCK(WAIT_SLEEP), CAP}},
	 .wall_varies_ms = 0.1,
	 .work_varies_ms = 0.1,
	 .word = BOUND_CAP},
	{.name = "not cap: the work is as even as the frames, and the slack is small",
	 .stretches = {{15, RUN, NO}, {1, BLOCK(WAIT_SLEEP), CAP}},
	 .wall_varies_ms = 0.1,
	 .work_varies_ms = 0.1,
	 .word = BOUND_CPU},
	{.name = "cap: most of the frame is slack, however frames vary",
	 .stretches = {{4, RUN, NO}, {12, BLOCK(WAIT_SLEEP), CAP}},
	 .wall_varies_ms = 0.9,
	 .work_varies_ms = 0.9,
	 .word = BOUND_CAP,
	 .says = "It was done after 4.00 ms"},
	{.name = "display: a small slack at its pace, however frames vary",
	 .stretches = {{15, RUN, NO}, {1.67, BLOCK(WAIT_POLL), PRESENT}},
	 .displays = "60",
	 .wall_varies_ms = 0.9,
	 .work_varies_ms = 0.9,
	 .word = BOUND_DISPLAY},
	/* cpu */
	{.name = "cpu: it computes",
	 .stretches = {{14, RUN, NO}, {2, BLOCK(WAIT_LOCK), NO}},
	 .word = BOUND_CPU},
	{.name = "cpu: a hitch that computes has no excuse in its slack",
	 .stretches = {{40, RUN, NO}, {2, BLOCK(WAIT_SLEEP), CAP}},
	 .usual_ms = 16,
	 .word = BOUND_CPU},
	{.name = "cpu: by elimination, and so it ran",
	 .stretches = {{15, RUN, NO}, {1, RUN, GPU}},
	 .no_kernel = true,
	 .ran_ms = 950,
	 .cpu_ms = 900,
	 .word = BOUND_CPU,
	 .says = "computing, by elimination."},
	{.name = "cpu: by elimination, unchecked",
	 .stretches = {{15, RUN, NO}, {1, RUN, GPU}},
	 .no_kernel = true,
	 .word = BOUND_CPU,
	 .says = "computing, by elimination, unchecked."},
	{.name = "not cpu: by elimination, of which it ran little",
	 .stretches = {{16, RUN, NO}},
	 .no_kernel = true,
	 .ran_ms = 40,
	 .cpu_ms = 900,
	 .not_run_ms = 15,
	 .word = BOUND_UNKNOWN,
	 .says = "of 900 ms that it may have run it ran 40 ms (schedstat)"},
	{.name = "not cpu: by elimination, while nobody read whether it ran",
	 .stretches = {{15, RUN, NO}, {1, RUN, GPU}},
	 .no_kernel = true,
	 .unread = true,
	 .word = BOUND_UNKNOWN,
	 .says = "waited for, or whether it ran: that was not read."},
	/* scheduler */
	{.name = "scheduler: it could have run",
	 .stretches = {{6, RUN, NO}, {10, QUEUED, NO}},
	 .word = BOUND_SCHEDULER},
	{.name = "scheduler: in a hitch, with slack, within a wait zone",
	 .stretches = {{6, RUN, NO}, {40, QUEUED, CAP}, {2, BLOCK(WAIT_SLEEP), CAP}},
	 .usual_ms = 16,
	 .word = BOUND_SCHEDULER},
	/* lock */
	{.name = "lock: it waits for one",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_LOCK), NO}},
	 .word = BOUND_LOCK},
	{.name = "lock: in a hitch, with slack",
	 .stretches = {{6, RUN, NO}, {40, BLOCK(WAIT_LOCK), NO}, {2, BLOCK(WAIT_SLEEP), CAP}},
	 .usual_ms = 16,
	 .word = BOUND_LOCK},
	{.name = "cap: it was stopped in the limiter's zone, which is said",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_STOPPED), CAP}},
	 .word = BOUND_CAP,
	 .says = "The kernel denies 10.00 ms of its wait zones: most of that it waited for "
		 "whoever had stopped it."},
	{.name = "unknown: it was stopped",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_STOPPED), NO}},
	 .word = BOUND_UNKNOWN,
	 .says = "the frame's thread was stopped",
	 .says_not = "nobody can say"},
	{.name = "not lock: the limiter's zone waits by one",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_LOCK), CAP}},
	 .word = BOUND_CAP,
	 .says = "The kernel denies 10.00 ms of its wait zones: most of that it waited for a "
		 "lock."},
	{.name = "not io: the present's zone waits for a disk",
	 .stretches = {{6, RUN, NO},
		       {10, BLOCK(WAIT_DISK), PRESENT},
		       {1, BLOCK(WAIT_MEMORY), PRESENT}},
	 .word = BOUND_UNKNOWN,
	 .says = "denies 11.00 ms of its wait zones: most of that it waited for input or output."},
	/* io */
	{.name = "io: it syncs",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_DISK), NO}},
	 .word = BOUND_IO},
	{.name = "io: it reads",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_READ), NO}},
	 .word = BOUND_IO},
	{.name = "io: it writes",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_WRITE), NO}},
	 .word = BOUND_IO},
	{.name = "io: a socket, in a hitch, with slack",
	 .stretches = {{6, RUN, NO}, {40, BLOCK(WAIT_SOCKET), NO}, {2, BLOCK(WAIT_SLEEP), CAP}},
	 .usual_ms = 16,
	 .word = BOUND_IO},
	/* memory */
	{.name = "memory: it faults",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_MEMORY), NO}},
	 .word = BOUND_MEMORY},
	{.name = "memory: in a hitch, with slack",
	 .stretches = {{6, RUN, NO}, {40, BLOCK(WAIT_MEMORY), NO}, {2, BLOCK(WAIT_SLEEP), CAP}},
	 .usual_ms = 16,
	 .word = BOUND_MEMORY},
	/* unknown */
	{.name = "unknown: it polls for what nobody knows",
	 .stretches = {{6, RUN, NO}, {10, BLOCK(WAIT_POLL), NO}},
	 .word = BOUND_UNKNOWN},
	{.name = "unknown: most of it nobody heard of, slack or not",
	 .stretches = {{1, RUN, NO}, {12, NOBODY, NO}, {3, BLOCK(WAIT_SLEEP), CAP}},
	 .word = BOUND_UNKNOWN,
	 .says = "The evidence is incomplete: 12.00 ms of the kernel's were not heard."},
	{.name = "cpu: though a tenth of it nobody heard of, which is said",
	 .stretches = {{14, RUN, NO}, {1.6, NOBODY, NO}, {0.4, QUEUED, NO}},
	 .word = BOUND_CPU,
	 .says = "computing. The evidence is incomplete: 1.60 ms"},
};

static enum sched_state state_of(int kernel)
{
	return kernel >= BLOCK(0) ? SCHED_STATE_BLOCKED : (enum sched_state)kernel;
}

/* The frame as lists of stretches, and as long as they are. */
static int64_t lay_out(const struct made *m, sched_intervals_vec *sched, wait_segments_vec *waits)
{
	int64_t t = 0, end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(m->stretches) && m->stretches[i].ms > 0; i++) {
		const struct stretch *s = &m->stretches[i];

		end = t + (int64_t)(s->ms * 1e6);
		if (!m->no_kernel)
			assert_int_equal(
				VEC_PUSH(sched,
					 ((struct sched_interval){
						 .t0 = t,
						 .t1 = end,
						 .state = state_of(s->kernel),
						 .reason = (enum wait_reason)(s->kernel % 100)})),
				0);
		if (s->zone != NO)
			assert_int_equal(VEC_PUSH(waits, ((struct wait_segment){t, end, s->zone})),
					 0);
		t = end;
	}
	return t;
}

static void the_word_is_right(void **state)
{
	const struct made *m = *state;
	struct range range = {.rate = {.hz = 1e9, .mult = 1}};
	sched_intervals_vec sched = {0};
	wait_segments_vec waits = {0};
	struct verdict_cursor cursor = {.sched = &sched, .waits = &waits};
	struct displays displays = {0};
	struct verdict v = {0};
	int64_t wall = lay_out(m, &sched, &waits), sum = 0;
	size_t part;

	if (m->displays)
		assert_int_equal(displays_parse(m->displays, &displays), 0);
	v.usual_ns = m->usual_ms > 0 ? (int64_t)(m->usual_ms * 1e6) : wall;
	if (m->wall_varies_ms > 0)
		v.spread = (struct verdict_spread){.frames = 121,
						   .wall_ns = (int64_t)(m->wall_varies_ms * 1e6),
						   .work_ns = (int64_t)(m->work_varies_ms * 1e6)};
	v.gpu_busy_ns = m->gpu_ms > 0 ? (int64_t)(m->gpu_ms * 1e6) : NS_UNKNOWN;
	v.fit = displays_fit(&displays, v.usual_ns);
	if (m->cpu_ms > 0)
		v.ran = (struct verdict_ran){.window_ns = 1000 * MS,
					     .ran_ns = (int64_t)(m->ran_ms * 1e6),
					     .cpu_ns = (int64_t)(m->cpu_ms * 1e6),
					     .not_run_ns = (int64_t)(m->not_run_ms * 1e6)};
	v.ran.unread = m->unread;
	verdict_partition(&v, &range, 0, wall, &cursor);
	verdict_check_cpu(&v);
	verdict_judge(&v);
	for (part = 0; part < PARTS; part++) {
		const struct verdict_evidence *e = &v.evidence[part];

		assert_true(v.ns[part] >= 0);
		assert_int_equal(e->zone_ns + e->kernel_ns + e->both_ns + e->denied_ns, v.ns[part]);
		sum += v.ns[part];
	}
	assert_int_equal(sum, wall);
	if (v.bound != m->word || (m->says && !strstr(v.sentence, m->says)))
		print_error("%s: %s\n", verdict_bound_names[v.bound], v.sentence);
	assert_int_equal(v.bound, m->word);
	assert_true(!m->says || strstr(v.sentence, m->says));
	assert_true(!m->says_not || !strstr(v.sentence, m->says_not));
	assert_true(v.confidence >= 0 && v.confidence <= 1);
	VEC_FREE(&sched);
	VEC_FREE(&waits);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(made)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(made); i++)
		tests[i] = (struct CMUnitTest){.name = made[i].name,
					       .test_func = the_word_is_right,
					       .initial_state = (void *)(uintptr_t)&made[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
