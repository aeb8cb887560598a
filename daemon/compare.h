/* SPDX-License-Identifier: MIT */
/*
 * Two sides of runs, path by path: where a frame's time went on one and on the other. A path is a
 * thread's name and the names of zones below it; names, not numbers, are what two sessions have in
 * common, so threads of one name are one. One thread at a time.
 *
 * Every number is a mean per frame, of the frames of play (run_metrics.h) whose events are here,
 * and of a side the mean over its runs. What moved is told by an interval of the difference that
 * leaves out 0: over runs where there are several, else over blocks of the frames (bootstrap.h).
 */
#ifndef FPROF_DAEMON_COMPARE_H
#define FPROF_DAEMON_COMPARE_H

#include "bootstrap.h"
#include "history.h"
#include "range.h"
#include "run_metrics.h"
#include "util.h"

#include <stdbool.h>
#include <stdint.h>

#define COMPARE_PATHS_MAX  20000u
#define COMPARE_CONFIDENCE 0.99 /* there are many paths: at 95 % one of 20 would seem to move */
#define COMPARE_TRIED_MAX  500u /* paths that an interval is made for, largest differences first */

enum compare_part {
	COMPARE_WALL,
	COMPARE_CPU,
	COMPARE_WAIT_GPU,
	COMPARE_WAIT_PRESENT,
	COMPARE_WAIT_CAP,
	COMPARE_GPU,
	COMPARE_PARTS
};
extern const char *const compare_part_names[COMPARE_PARTS];

/* A frame's share of a path. */
struct compare_cell {
	uint32_t frame; /* index among those counted */
	uint32_t calls;
	double total_ns, self_ns;
};
typedef VEC(struct compare_cell) compare_cells_vec;

struct compare_run {
	struct run_frames frames;
	struct run_series parts[COMPARE_PARTS];
	VEC(compare_cells_vec) cells; /* by path */
	uint32_t counted;	      /* frames */
};

struct compare_path {
	uint32_t parent; /* an index; UINT32_MAX: it is a thread */
	char *name;
};

struct compare {
	VEC(struct compare_path) paths;
	uint32_t *slots; /* paths by parent and name */
	size_t slot_count;
	VEC(struct compare_run) sides[2];
	uint64_t left_out; /* zones of paths beyond COMPARE_PATHS_MAX */
};

int compare_new(struct compare **ret_compare);
void compare_free(struct compare *compare); /* NULL is fine */

/* A new run of a side (0 or 1): its index, or -ENOMEM. */
int compare_add_run(struct compare *compare, unsigned side);
/* Adds the frames of a range to a run. 0 or -errno of range.h. */
int compare_read(struct compare *compare, unsigned side, size_t run, struct history *h,
		 const struct range *range);

/* One number on both sides. */
struct compare_number {
	double a, b; /* ns, or calls */
	bool has_interval;
	struct interval interval; /* of b - a */
};
/* Frames' time in a part; false: a run does not know it. */
bool compare_part_of(const struct compare *compare, enum compare_part part,
		     struct compare_number *ret_number, int *ret_error);

enum compare_change { COMPARE_MOVED, COMPARE_APPEARED, COMPARE_VANISHED };
struct compare_row {
	uint32_t path;
	enum compare_change change;
	struct compare_number total, self;
	double calls_a, calls_b; /* a frame */
};
struct compare_options {
	bool by_total;	 /* else by self time */
	double floor_ns; /* smaller differences are the same */
	size_t limit;	 /* rows of each kind */
};
struct compare_rows {
	VEC(struct compare_row) moved, appeared, vanished; /* largest first, cut at the limit */
	size_t moved_all, appeared_all, vanished_all;
	size_t same; /* the interval holds 0 */
	size_t below_floor;
	size_t not_tried; /* beyond COMPARE_TRIED_MAX, or beyond the limit */
	bool intervals;	  /* there are enough frames for any */
};
int compare_rows(const struct compare *compare, const struct compare_options *options,
		 struct compare_rows *ret_rows);
void compare_rows_deinit(struct compare_rows *rows);

#endif
