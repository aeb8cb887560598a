/* SPDX-License-Identifier: MIT */
/*
 * What a series of one value a frame comes to. Pure, but for those that read zones and allocations.
 * One thread at a time.
 */
#ifndef FPROF_DAEMON_FRAME_STATS_H
#define FPROF_DAEMON_FRAME_STATS_H

#include "counted.h"
#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_sample {
	uint64_t frame;
	double value;
	double wall_ns; /* of the frame */
};
typedef VEC(struct frame_sample) frame_samples; /* by frame */

#define FRAME_STATS_PERCENTILES 5
extern const double frame_stats_percents[FRAME_STATS_PERCENTILES];
#define FRAME_STATS_LOW_NEEDS 100 /* frames for a 1% low */

/* Frames above a bound. Frames are in a row when their numbers are. */
struct frame_stats_over {
	double bound;
	size_t frames;
	double time_ns;	   /* wall-clock spent in them */
	double share;	   /* of that of all; NaN: there is none */
	size_t run_frames; /* the longest run of them; 0: there is none */
	uint64_t run_from, run_to;
	double run_time_ns;
};

struct frame_stats {
	size_t count;
	double wall_ns; /* of all samples */
	/* NaN: too few */
	double mean, sd, least, worst;
	uint64_t worst_frame;
	double percentiles[FRAME_STATS_PERCENTILES];
	size_t steps;		   /* from a frame to the next */
	double jitter, jitter_max; /* mean and largest change over them */
	size_t low_frames;	   /* the worst 1%, rounded up */
	double low;		   /* their mean */
};

/* 0 or -ENOMEM. */
int frame_stats_make(const frame_samples *samples, struct frame_stats *ret_stats);
void frame_stats_over(const frame_samples *samples, double bound,
		      struct frame_stats_over *ret_over);

#define FRAME_STATS_ZONES_MAX 32
struct frame_stats_zone {
	const char *name;
	bool gpu;	       /* on GPU queues instead of threads */
	bool found;	       /* a zone of the range's session is called so */
	frame_samples samples; /* one a counted frame, owned by the caller; 0 without it */
	size_t frames;	       /* those that have it */
};
/*
 * How long each counted frame was in zones of each name, on the tracks that are not skipped;
 * recursion and nesting in its own name count once. One visit for all of them; count is at most
 * FRAME_STATS_ZONES_MAX, and all but name and gpu 0 before. 0 or -errno.
 */
int frame_stats_zones(struct history *h, struct counted *counted, const bool *skip,
		      struct frame_stats_zone *zones, size_t count);
/* A path of names, outermost first, as the tables of zones have them. */
struct frame_stats_path {
	const char *const *names;
	size_t count;
	bool gpu;
};
/*
 * How long each counted frame was in the zones of a path, on the tracks that are not skipped: what
 * zone_measure says of the nodes. The samples are the caller's; *ret_frames: those that have any.
 * -ENOENT: no zone of the session has one of the names; -errno.
 */
int frame_stats_path(struct history *h, const struct counted *counted, const bool *skip,
		     unsigned flags, const struct frame_stats_path *path, frame_samples *samples,
		     size_t *ret_frames);
/*
 * How many allocations were made in each counted frame on the tracks that are not skipped: a sample
 * for each frame, or none at all where none was told of. The samples are the caller's. 0 or -errno.
 */
int frame_stats_allocations(struct history *h, struct counted *counted, const bool *skip,
			    frame_samples *samples);

#endif
