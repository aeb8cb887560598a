/* SPDX-License-Identifier: MIT */
/* One counter over many frames. A call is one short read transaction, as those of history.h. */
#ifndef FPROF_DAEMON_COUNTER_SERIES_H
#define FPROF_DAEMON_COUNTER_SERIES_H

#include "history.h"

#include <stdbool.h>
#include <stdint.h>

struct counter_value {
	uint64_t frame;
	double value; /* at its end */
};
typedef VEC(struct counter_value) counter_series_vec;
/* Of frames from..to, by frame; frames before its first value, and those whose value is not sure
 * since events were lost, have none. 0 or -errno. */
int counter_series_read(struct history *h, uint64_t session, uint32_t stream, uint32_t marker,
			uint64_t from, uint64_t to, counter_series_vec *ret_counters);

#endif
