/* SPDX-License-Identifier: MIT */
/*
 * From the samples of some nodes of a zone tree to the numbers of a table's row. One thread at a
 * time; its scratch memory is used again from row to row.
 */
#ifndef FPROF_DAEMON_ZONE_MEASURE_H
#define FPROF_DAEMON_ZONE_MEASURE_H

#include "zone_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call is slow when it takes more than this many medians. */
#define ZONE_SLOW_MEDIANS 2
#define ZONE_SLOW_LEAST	  3 /* slow calls for a mean and a spread of the gaps between them */

struct zone_numbers {
	uint64_t calls;
	uint64_t frames;  /* counted ones that it touches */
	int64_t total_ns; /* what is nested in its own name left out */
	int64_t self_ns;
	int64_t alloc_bytes, alloc_count; /* as total_ns */
	int64_t own_alloc_bytes, own_alloc_count;
	bool scheduled; /* what the scheduler did is known, of some at least: as total_ns, self_ns
			 */
	struct zone_kernel_ns kernel, own_kernel;
	/* Of calls, or of frame totals over those frames. NS_UNKNOWN: too few samples, or none. */
	uint64_t samples;
	double avg_ns;
	int64_t min_ns, max_ns;
	uint64_t max_frame; /* in which the longest began; 0: not known */
	int64_t p50_ns, p95_ns, p99_ns;
	/* Of calls. */
	uint64_t slow_calls;
	int64_t slow_above_ns;			 /* NS_UNKNOWN: too few */
	double slow_gap_mean_ns, slow_gap_sd_ns; /* begin to begin; NaN: too few */
};

struct zone_measure {
	const struct zone_tree *tree;
	bool per_frame;
	uint32_t row; /* counts up */
	uint32_t *stamps;
	int64_t *totals;    /* by counted frame */
	VEC(size_t) frames; /* those touched by this row */
	VEC(uint64_t) values;
	VEC(uint64_t) scratch;
	VEC(int64_t) slow;
};
int zone_measure_init(struct zone_measure *m, const struct zone_tree *tree, bool per_frame);
void zone_measure_deinit(struct zone_measure *m);
/* nodes: ids. 0 or -ENOMEM. */
int zone_measure_nodes(struct zone_measure *m, const uint32_t *nodes, size_t count,
		       struct zone_numbers *ret_numbers);

/* Nearest ranks (1..count, rising) of values, which are not sorted and stay so: *ret[i] is the
 * value of ranks[i]. scratch: as many. */
void zone_select(const uint64_t *values, size_t count, uint64_t *scratch, const size_t *ranks,
		 size_t rank_count, uint64_t *ret);

#endif
