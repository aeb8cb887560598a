/* SPDX-License-Identifier: MIT */
/*
 * Single calls of a range: those that took longest, or the first or last of them. Only as many are
 * kept as are wanted, so a range of any length costs no memory. One thread at a time.
 */
#ifndef FPROF_DAEMON_ZONE_CALLS_H
#define FPROF_DAEMON_ZONE_CALLS_H

#include "counted.h"
#include "range.h"
#include "util.h"
#include "zone_kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zone_calls_sort { ZONE_CALLS_DURATION, ZONE_CALLS_SELF, ZONE_CALLS_START };

struct zone_call {
	uint32_t track; /* index into range->tracks */
	uint32_t marker, depth, flags;
	int64_t start_ns, duration_ns; /* clipped to the range */
	int64_t self_ns;
	bool scheduled; /* what the scheduler did meanwhile is known */
	struct zone_kernel_ns kernel;
	int64_t full_start_ns;	  /* as recorded */
	int64_t full_duration_ns; /* NS_UNKNOWN: it has no end yet */
	uint64_t frame;		  /* in which it begins; 0: in none */
	char *text;
	bool has_value, value_is_double;
	union {
		int64_t i;
		double d;
	} value;
};

struct zone_calls_query {
	const bool *skip;	     /* by track; NULL: none */
	const char *name, *category; /* as in zone_table.h */
	enum zone_calls_sort sort;
	bool ascending;
	size_t most; /* kept */
};

struct zone_calls {
	VEC(struct zone_call) calls; /* sorted */
	uint64_t count;		     /* of all that fit */
};
/* counted: of the range; what lies in frames that it leaves out is no call. */
int zone_calls_read(struct history *h, const struct range *range,
		    const struct zone_calls_query *query, struct counted *counted,
		    struct zone_calls *ret_calls);
void zone_calls_deinit(struct zone_calls *calls);

#endif
