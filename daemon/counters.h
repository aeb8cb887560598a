/* SPDX-License-Identifier: MIT */
/*
 * The game's counters. A set counter holds the last value by time; an add counter starts at 0 in
 * each frame and sums over threads; a counter that was never used has no value. A counter is what
 * its first use says. Drain thread only.
 */
#ifndef FPROF_DAEMON_COUNTERS_H
#define FPROF_DAEMON_COUNTERS_H

#include "batch.h"

#include <stdbool.h>
#include <stdint.h>

struct live;
struct frame;

union counter_number {
	int64_t i;
	double d;
};

/* What one frame did to one counter. */
struct counter_cell {
	bool used;
	int64_t t; /* of the newest set */
	union counter_number value;
};
typedef VEC(struct counter_cell) counter_cells;

struct counter {
	uint32_t marker;
	bool is_set, is_double;
	bool known; /* last is a value (set counters) */
	int64_t t;  /* of last */
	int64_t since;
	union counter_number last;
};

struct counters {
	VEC(struct counter) all;
	uint32_t max;
};

struct counter_event {
	int64_t t;
	uint32_t marker; /* session's id */
	uint32_t op, type;
	uint64_t bits;
};

void counters_deinit(struct counters *c);
/* Counts an event into the frame that it falls into; frame NULL: that one was closed. */
int counters_put(struct live *s, struct frame *frame, const struct counter_event *event);
/* Appends the rows of a frame that closes. */
int counters_close(struct live *s, struct frame *frame, const struct frame_row *row);

#endif
