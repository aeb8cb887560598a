/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a run that checks and comparisons are about: series of one value a frame, and what
 * is said of them. A run is one start of a game; its samples may come from several ranges of its
 * frames, or captures of them.
 *
 *   frame.STAT            the frames' wall time, ms
 *   cpu.STAT, gpu.STAT    the same of their CPU and GPU time
 *   wait.STAT             what the marking thread waited: gpu, present and cap together
 *   zone:NAME.total.STAT  a frame's time in the zones of that name on all threads, ms; one inside
 *                         another of its name counts once; .self: without their direct children;
 *                         .calls: how often they began. zone:NAME.STAT is total.
 *   counter:NAME.STAT     its value at the end of each frame
 *
 * STAT is pN (a percentile by frame, nearest rank: p50, p99, p99.9), mean, sd, max, jitter (mean
 * change from a frame to the next, where both count) or, of frame, slow_share: the share of the
 * wall clock that was spent in frames longer than slow_ms. Larger is worse in all of them.
 *
 * Frames are left out, and counted, that are no frames of play: the first one, those in which
 * recording was stopped or the game said that it loads, or the clock stepped. A frame without the
 * number (GPU results that never came) is left out of that series. Zones and counters rest on
 * events, which leave the history before the frames' rows: a frame without them is in the other
 * series only, and is counted (evicted).
 *
 * Any thread.
 */
#ifndef FPROF_DAEMON_RUN_METRICS_H
#define FPROF_DAEMON_RUN_METRICS_H

#include "counted.h"
#include "history.h"
#include "range.h"
#include "util.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_NAME_MAX	256u
#define RUN_LEAST	20u  /* frames that any metric needs */
#define RUN_SLOW_MS	16.7 /* as statistics have it: a 60th of a second, and what a timer is off */
#define RUN_METRICS_MAX 32u

enum run_source {
	RUN_FRAME,
	RUN_CPU,
	RUN_GPU,
	RUN_WAIT,
	RUN_ZONE_TOTAL,
	RUN_ZONE_SELF,
	RUN_ZONE_CALLS,
	RUN_COUNTER,
};
enum run_statistic { RUN_PERCENTILE, RUN_MEAN, RUN_SD, RUN_MAX, RUN_JITTER, RUN_SLOW_SHARE };

struct run_metric {
	enum run_source source;
	char name[RUN_NAME_MAX]; /* of the zone or counter */
	enum run_statistic statistic;
	double percentile;
	double slow_ns;
};
/* 0 or -EINVAL. slow_ms: of slow_share. */
int run_metric_parse(const char *text, double slow_ms, struct run_metric *ret_metric);
/* What parse takes, for an error; NULL-terminated. */
extern const char *const run_metric_forms[];
/* Is it a time: ns in samples, ms in answers? Else it is what it is. */
bool run_metric_is_time(const struct run_metric *metric);
/* Does it rest on events? Else the frames' rows are enough. */
bool run_metric_of_events(const struct run_metric *metric);
/* Samples that it needs. */
size_t run_metric_needs(const struct run_metric *metric);
/* What the metric says of samples (in time order; count > 0), in ns where it is a time: a statistic
 * of bootstrap.h, userdata the metric. It sorts them. */
double run_metric_of(double *samples, size_t count, const void *metric);

struct run_series {
	/* Of the frames that have one, in time order; of a jitter the changes between them. */
	VEC(double) samples;
	bool found;	/* the zone or counter is known there */
	uint64_t frame; /* of the last value, 0: there is none: */
	double value;
};
/* Adds a frame's value. 0 or -ENOMEM. */
int run_series_add(struct run_series *series, const struct run_metric *metric, uint64_t frame,
		   double value);

struct run_frames {
	uint64_t counted;
	struct left_out left_out;
	uint64_t missing;     /* asked for by number, and not there (any more) */
	uint64_t marks_lost;  /* frames that stand for several */
	uint64_t lost_events; /* in frames that are counted, and the frames that lost them: */
	uint64_t lossy;
	uint64_t evicted; /* frames whose events are gone */
	/* Of the frames that count; paced: their waits for the cap and the display. */
	double wall_ns, paced_ns;
};
/* Were frames or events lost? */
bool run_frames_lost(const struct run_frames *frames);
/* Is the frame one of play? If not it is counted as what it is. */
bool run_frames_take(struct run_frames *frames, const struct frame_row *row);
/* Counts what the frame lost, or of one that is left out (out) the frames that it stands for:
 * except those of a pause they would have counted. */
void run_frames_lose(struct run_frames *frames, const struct frame_row *row, bool out);
/* Of the frames `from` to `to` (0: as far as there are any) those that are not there: but for those
 * of a pause, which nobody recorded as that was ordered. */
uint64_t run_frames_missing(const struct range *range, uint64_t from, uint64_t to);

/*
 * Reads the frames of a range and appends to series[i] what metrics[i] is made of. Zones are read
 * only where a metric asks for them. 0 or -errno of range.h.
 */
int run_measure(struct history *h, const struct range *range, const struct run_metric *metrics,
		size_t count, struct run_frames *frames, struct run_series *series);
void run_series_deinit(struct run_series *series);

#endif
