/* SPDX-License-Identifier: MIT */
/*
 * How long a thread that marks frames ran, as its schedstat was read from outside some 25 times a
 * second (sampler.h), held against what its frames have as cpu by elimination: what of that it
 * cannot have run, frame by frame.
 */
#ifndef FPROF_DAEMON_VERDICT_RAN_H
#define FPROF_DAEMON_VERDICT_RAN_H

#include "history.h"
#include "range.h"
#include "verdict.h"

#define VERDICT_AROUND 60u /* frames on both sides of one that say what is usual */

/* A thread, its readings, and what they say of each of the frames it marks: so much of its cpu by
 * elimination it did not run at least, by the readings next to it alone. */
struct ran_thread {
	uint32_t track;
	history_rans_vec rans; /* oldest first */
	VEC(int64_t) least_ns; /* one a frame */
};
/* Fills least_ns from rans. 0 or -ENOMEM. */
int ran_thread_bound(struct ran_thread *thread, const history_nears_vec *frames, int64_t slack_ns);
/* Of frame i; window_ns 0: there are no readings on both sides, or they tell nothing. Pure. */
struct verdict_ran ran_thread_frame(const struct ran_thread *thread,
				    const history_nears_vec *frames, int64_t slack_ns, size_t i);

/* The frames of a range and those around them, and the threads that mark them. */
struct verdict_rans {
	history_nears_vec near;
	VEC(struct ran_thread) threads;
	int64_t slack_ns; /* what a reading may be behind, on the machine that the session ran on */
};
/* 0 or -errno. */
int verdict_rans_read(struct history *h, const struct range *range, struct verdict_rans *ret_rans);
void verdict_rans_deinit(struct verdict_rans *rans);
/* Where a frame is in near: its count where it is not. */
size_t verdict_rans_find(const struct verdict_rans *rans, uint64_t frame);
/* Of the frame there: zero where nothing of it is known. */
struct verdict_ran verdict_ran_of(const struct verdict_rans *rans, size_t i);

/* What is usual of a frame, by its place in near, and those around it: the median wall time, and
 * how much they vary. */
void verdict_ran_usual(const struct verdict_rans *rans, size_t i, int64_t *ret_usual_ns,
		       struct verdict_spread *ret_spread);

#endif
