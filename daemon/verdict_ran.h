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

/* A thread, its readings, and what they say of each of the frames it marks: so much of its cpu by
 * elimination it did not run at least, by the readings next to it alone. */
struct ran_thread {
	uint32_t track;
	history_rans_vec rans; /* oldest first */
	VEC(int64_t) least_ns; /* one a frame */
};
typedef VEC(struct ran_thread) ran_threads_vec;
/* Of the threads that mark frames (history_near's); those without readings are left out. slack_ns:
 * what a reading may be behind. 0 or -errno. */
int ran_threads_read(struct history *h, const struct range *range, const history_nears_vec *frames,
		     int64_t slack_ns, ran_threads_vec *ret_threads);
void ran_threads_deinit(ran_threads_vec *threads);

/* Fills least_ns from rans. 0 or -ENOMEM. */
int ran_thread_bound(struct ran_thread *thread, const history_nears_vec *frames, int64_t slack_ns);
/* Of frame i; window_ns 0: there are no readings on both sides, or they tell nothing. Pure. */
struct verdict_ran ran_thread_frame(const struct ran_thread *thread,
				    const history_nears_vec *frames, int64_t slack_ns, size_t i);

/* The same of a frame by its number: 0 where nothing of it is known. */
struct verdict_ran verdict_ran_of(const ran_threads_vec *threads, const history_nears_vec *frames,
				  int64_t slack_ns, uint64_t frame);
/* What a reading may be behind on the machine that the session ran on. */
int64_t verdict_ran_slack(const struct range *range);

#endif
