/* SPDX-License-Identifier: MIT */
/*
 * How long a thread that marks frames ran, as its schedstat was read from outside about once a
 * second, beside what its frames have as cpu by elimination. Coarse: one number for all frames
 * between two readings.
 */
#ifndef FPROF_DAEMON_VERDICT_RAN_H
#define FPROF_DAEMON_VERDICT_RAN_H

#include "history_sampled.h"
#include "range.h"
#include "verdict.h"

/* The readings of one thread. */
struct verdict_readings {
	history_samples_vec samples; /* ms; oldest first */
	history_cpu_vec frames;	     /* between the first and the last that matter */
};
/* Those that a range's frames lie between; none where the thread was not read. 0 or -errno. */
int verdict_readings_read(struct history *h, const struct range *range, int32_t tid,
			  struct verdict_readings *ret_readings);
void verdict_readings_deinit(struct verdict_readings *readings);
/* Of the readings around [begin_ns, end_ns); window_ns 0: there are none on both sides, or they
 * tell nothing. */
struct verdict_ran verdict_ran_between(const struct verdict_readings *readings, int64_t begin_ns,
				       int64_t end_ns);

#endif
