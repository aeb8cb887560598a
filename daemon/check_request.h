/* SPDX-License-Identifier: MIT */
/*
 * What a check is asked: the query's parameters as conditions. A condition begins at each `metric`;
 * what stands before the first is meant for all of them, and without any the metric is
 * frame.p99. Pure; any thread.
 */
#ifndef FPROF_DAEMON_CHECK_REQUEST_H
#define FPROF_DAEMON_CHECK_REQUEST_H

#include "route.h"
#include "run_metrics.h"

#include <stdbool.h>
#include <stdint.h>

#define CHECK_CONDITIONS_MAX 16u
#define CHECK_METRIC	     "frame.p99"
#define CHECK_FLOOR_MS	     0.2 /* of times; of other metrics 0 */

struct check_ask {
	const char *text; /* the metric as it was given */
	struct run_metric metric;
	const char *baseline; /* NULL: a bound */
	double max, floor;    /* ns, or as the metric is */
	double tolerance;     /* a share */
};

struct check_request {
	const char *runs; /* NULL: not given */
	const char *stream;
	uint64_t last, from, to; /* 0: not given */
	bool allow_loss;
	struct check_ask asks[CHECK_CONDITIONS_MAX];
	size_t count;
};

/* What is wrong with a request. */
struct check_wrong {
	const char *parameter, *value;
	const char *const *allowed;
};

/* 0; -EINVAL and *ret_wrong. The request points into route. */
int check_request_parse(const struct route_request *route, struct check_request *ret_request,
			struct check_wrong *ret_wrong);

#endif
