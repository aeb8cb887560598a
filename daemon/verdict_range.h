/* SPDX-License-Identifier: MIT */
/* Verdicts over the frames of a range, and over all of them together. */
#ifndef FPROF_DAEMON_VERDICT_RANGE_H
#define FPROF_DAEMON_VERDICT_RANGE_H

#include "counted.h"
#include "verdict.h"

typedef VEC(struct verdict) verdicts_vec;
/* One a frame of range->frames, in order. Names are the range's. 0 or -errno. */
int verdict_range(struct history *h, const struct range *range, const struct displays *displays,
		  verdicts_vec *ret_verdicts);

/* As they were when the session began. */
void verdict_displays(const struct range *range, struct displays *ret_displays);

struct verdict_sum {
	uint64_t frames;
	int64_t wall_ns, ns[PARTS];
	struct verdict_evidence evidence[PARTS];
	uint64_t bound_frames[BOUNDS];
	int64_t bound_ns[BOUNDS]; /* wall time of those frames */
	enum verdict_bound bound; /* with the most wall time */
	double confidence;
	struct verdict_people let_go, had_cpu; /* of each frame the one with most of it */
	struct display_fit fit;		       /* of what is usual of them all */
	/* What the frames' words rest on: the middle of what each was compared with. */
	int64_t usual_ns;
	struct verdict_spread spread;
	int64_t gpu_busy_ns; /* of those that know it, together; NS_UNKNOWN: none does */
	uint64_t gpu_frames; /* so many */
	int64_t gpu_wall_ns; /* that took so long */
	char sentence[384];
};
/* Of the verdicts of a range, one a frame, those that count. 0 or -ENOMEM. */
int verdict_sum(const verdicts_vec *verdicts, const struct counted *counted,
		const struct displays *displays, struct verdict_sum *ret_sum);

#endif
