/* SPDX-License-Identifier: MIT */
/*
 * What held a frame back: the partition of its wall time on the marking thread, exact to the
 * nanosecond, and a word for what it was bound by, with the numbers that led to it. Pure.
 *
 * Where the kernel was asked, its state of the thread decides between running and waiting, and the
 * innermost wait zone says what a wait was for; without it a wait zone is a wait, and all else cpu
 * by elimination, as far as the thread has run at all (schedstat, which is read now and then).
 */
#ifndef FPROF_DAEMON_VERDICT_H
#define FPROF_DAEMON_VERDICT_H

#include "displays.h"
#include "history_sched.h"
#include "range.h"
#include "verdict_who.h"

#include <stdbool.h>
#include <stdint.h>

enum verdict_part {
	PART_CPU = 0,  /* running, outside of wait zones */
	PART_SPIN,     /* running inside a wait zone: it waits actively */
	PART_RUNNABLE, /* could run and did not */
	PART_GPU,      /* waits for the GPU */
	PART_PRESENT,  /* waits in the present, or for an image */
	PART_CAP,      /* sleeps, as a frame limiter does */
	PART_LOCK,
	PART_IO, /* reads, writes, disk, sockets */
	PART_MEMORY,
	PART_OTHER,	   /* waits for something else: poll, unknown calls */
	PART_UNATTRIBUTED, /* it waited, outside of wait zones: nobody can say for what */
	PART_UNKNOWN,	   /* nobody can say */
	PARTS
};
extern const char *const verdict_part_names[PARTS];

enum verdict_bound {
	BOUND_UNKNOWN = 0,
	BOUND_GPU,
	BOUND_DISPLAY,
	BOUND_CAP,
	BOUND_CPU,
	BOUND_SCHEDULER,
	BOUND_LOCK,
	BOUND_IO,
	BOUND_MEMORY,
	BOUNDS
};
extern const char *const verdict_bound_names[BOUNDS];

/* A stretch of the marking thread inside a wait zone; the innermost one counts. */
struct wait_segment {
	int64_t t0, t1;		     /* ticks */
	enum fprof_marker_kind kind; /* FPROF_MARKER_WAIT_* */
};
typedef VEC(struct wait_segment) wait_segments_vec;

/* Add up to the part's ns. denied: the zone waits for the part, and the kernel says that the thread
 * waited for something that is none of such a wait. */
struct verdict_evidence {
	int64_t zone_ns, kernel_ns, both_ns, denied_ns;
};

/* How much of a frame's events there is to judge by. In the last two time outside of wait zones is
 * not cpu by elimination, unless a row says so. */
enum verdict_events {
	EVENTS_COMPLETE = 0,
	EVENTS_LOST,	/* some of its time were lost, none that would tell of its thread's waits */
	EVENTS_PARTIAL, /* not all of its thread was recorded */
	EVENTS_GONE,	/* none is here any more; its row is */
	EVENTS_STATES
};
extern const char *const verdict_events_names[EVENTS_STATES];

/* What cpu by elimination is held against: how long the thread ran between two readings of its
 * schedstat that have the frame, and others, between them. */
struct verdict_ran {
	int64_t window_ns;  /* between the readings; 0: there are not two that tell anything */
	int64_t ran_ns;	    /* in it */
	int64_t cpu_ns;	    /* by elimination, of the frames in it, at least */
	int64_t slack_ns;   /* a reading may be so much behind */
	int64_t least_ns;   /* of this frame's it did not run, by the readings next to it alone */
	int64_t not_run_ns; /* by all of them */
	bool unread;	    /* the thread was read, but not around this frame */
};
/* How much the frames around vary: the range of their middle half. */
struct verdict_spread {
	unsigned frames; /* of which they are */
	int64_t wall_ns;
	int64_t work_ns; /* of their cpu by elimination, without what they waited in zones */
};

/* Are the frames even, whatever their work does? Sure: it varies by more. Likely: it is even, too.
 */
enum pace { PACE_NONE, PACE_LIKELY, PACE_SURE };
enum pace verdict_evens(const struct verdict_spread *spread, int64_t usual_ns);

/* A reading may miss what the thread ran since the scheduler last looked at it: two ticks, at most
 * so much. */
#define VERDICT_RAN_SLACK_NS (10 * (int64_t)NS_PER_MS)

struct verdict {
	uint64_t frame;
	enum verdict_events events;
	int64_t wall_ns;
	int64_t ns[PARTS]; /* add up to wall_ns */
	struct verdict_evidence evidence[PARTS];
	bool kernel;	     /* the kernel was asked about (nearly) all of it */
	int64_t gpu_busy_ns; /* NS_UNKNOWN: not known */
	int64_t usual_ns;    /* the median wall time of the frames around */
	struct verdict_spread spread;
	enum wait_reason denied_by; /* for what it waited most where the kernel denies the zone */
	int64_t spun_ns[PARTS];	    /* of PART_SPIN, by what the zone waits for */
	int64_t unheard_ns; /* of PART_UNKNOWN, where the kernel was asked and its word is lost */
	int64_t stopped_ns; /* of PART_OTHER */
	int64_t slept_ns;   /* of what it waited in the present, by the kernel: a limiter's way */
	struct verdict_who let_go;  /* of what it waited for locks, who let go of most */
	struct verdict_who had_cpu; /* of what it was runnable, who had a CPU for most */
	struct verdict_ran ran;
	struct display_fit fit; /* of the usual frames' pace to the displays */
	const char *zone; /* with the most self time outside of waits, the range's; NULL: none */
	int64_t zone_ns;  /* that time */
	enum verdict_bound bound;
	double confidence; /* 0..1 */
	char sentence[512];
};

/* GPU busy for so much of the frame: it is the ceiling, whatever the CPU waited for. */
#define VERDICT_GPU_SATURATED 0.90
/* So much of the frame, spent waiting for a limiter or the display, is slack: nothing held it. */
#define VERDICT_SLACK 0.03
/* A wait for a limiter or the display evens frames out, or it is just time spent: their wall time
 * varies by so much of what their work does at most. Of fewer frames nobody can tell. */
#define VERDICT_EVENS	    0.5
#define VERDICT_EVENS_LEAST 8u
/* Wall times that vary by less than this of the usual are even, whatever the work does; if it is
 * even, too, such a slack is taken for a limiter's. */
#define VERDICT_STEADY	    0.01
#define VERDICT_SLACK_LARGE 0.25
/* What the kernel denies of zones is told beyond this share of the frame. */
#define VERDICT_DENIED 0.05
/* A frame that is so much longer than usual was held by something, slack or not. */
#define VERDICT_HITCH 1.5

/* As long as usual: at most so much off. */
#define VERDICT_USUAL 0.10
/* What is left of the confidence where something else is likely, not sure. */
#define VERDICT_LIKELY 0.8
/* More of the frame than this that the kernel was not heard of is told. */
#define VERDICT_UNHEARD 0.05
/* What is left of the confidence where events are missing. */
#define VERDICT_DOUBT 0.5
/* ... where the kernel did not say what is cpu, and where that could not be checked either. */
#define VERDICT_ELIMINATION 0.6
#define VERDICT_UNCHECKED   0.3

/* Where the frames of one thread have come to in its lists, which are sorted. */
struct verdict_cursor {
	const sched_intervals_vec *sched;
	const wait_segments_vec *waits;
	size_t next_sched, next_wait;
};
/* Sums the parts of the frame [t0, t1): v has events. Frames come with rising t0. */
void verdict_partition(struct verdict *v, const struct range *range, int64_t t0, int64_t t1,
		       struct verdict_cursor *cursor);
/* The same of a frame whose events are gone: what its row has of waits, and cpu by elimination. */
void verdict_partition_row(struct verdict *v, const struct frame_row *row);
/* Takes what cannot have been cpu out of it: v has ran. */
void verdict_check_cpu(struct verdict *v);
/* Chooses the word: v has wall_ns, parts, gpu_busy_ns, usual_ns, spread, spun_ns, slept_ns, fit,
 * zone and events. */
void verdict_judge(struct verdict *v);

#endif
