/* SPDX-License-Identifier: MIT */
/* A GPU queue's clock: raw ticks of a few bits onto the session's ns, by calibration pairs. Pure.
 */
#ifndef FPROF_DAEMON_GPU_CLOCK_H
#define FPROF_DAEMON_GPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_CLOCK_PAIRS 64 /* the newest that are kept */

struct gpu_clock_pair {
	uint64_t ticks; /* unwrapped: equal to the raw ones in the valid bits */
	int64_t ns;
};

struct gpu_clock {
	double ns_per_tick;
	uint64_t mask;				      /* of the valid bits */
	struct gpu_clock_pair pairs[GPU_CLOCK_PAIRS]; /* ascending in both */
	size_t count;
};

/* -EINVAL: ns_per_tick is not finite and > 0, or valid_bits is not 1..64. */
int gpu_clock_init(struct gpu_clock *clock, double ns_per_tick, uint32_t valid_bits);

/* A pair. One that contradicts the newest (the later time has the smaller ticks) begins anew: the
 * device's counter was reset. */
void gpu_clock_add(struct gpu_clock *clock, uint64_t raw, int64_t ns);

/* Ticks from begin to end, wraps counted; UINT64_MAX: end lies before begin. */
uint64_t gpu_clock_ticks_between(const struct gpu_clock *clock, uint64_t begin, uint64_t end);
/* The same, signed: the nearest of the possible distances. */
int64_t gpu_clock_distance(const struct gpu_clock *clock, uint64_t from, uint64_t to);
int64_t gpu_clock_duration_ns(const struct gpu_clock *clock, int64_t ticks);

/* The ticks nearest to ns_near that look like raw. There must be a pair. */
uint64_t gpu_clock_unwrap(const struct gpu_clock *clock, uint64_t raw, int64_t ns_near);
/* A point in unwrapped ticks: interpolated between the pairs on both sides, by ns_per_tick from the
 * nearest pair outside. There must be a pair. */
int64_t gpu_clock_ns(const struct gpu_clock *clock, uint64_t ticks);

#endif
