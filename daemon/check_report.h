/* SPDX-License-Identifier: MIT */
/* What a check answers: JSON, or JUnit XML for what shows tests. Pure; any thread. */
#ifndef FPROF_DAEMON_CHECK_REPORT_H
#define FPROF_DAEMON_CHECK_REPORT_H

#include "check.h"
#include "check_request.h"
#include "json.h"
#include "run_metrics.h"

#include <stdbool.h>
#include <stdint.h>

/* A run that was looked at. */
struct check_run {
	char *label; /* as it was asked for; owned */
	uint64_t session, first, last;
	/* Of the first of its parts that lacks events: the frames that have theirs (0: none has),
	 * and whether they are the newest. */
	uint64_t kept_first, kept_last;
	bool kept_newest;
	struct run_frames frames;
	struct run_series series[CHECK_CONDITIONS_MAX]; /* by condition; owned */
};
typedef VEC(struct check_run) check_runs_vec;
void check_runs_free(check_runs_vec *runs);

/* One condition with the numbers of each run. */
struct check_result {
	const struct check_ask *ask;
	size_t index;			       /* of the condition: of its series */
	struct check_condition condition;      /* in ns where the metric is a time */
	const check_runs_vec *runs, *baseline; /* baseline NULL: it is a bound */
	double *run_values, *baseline_values;  /* a number a run, NaN: it has none */
	bool mixed;			       /* a run is on both sides */
};

/* A run that was looked at, as an object. */
void check_report_run(struct json *j, const char *label, uint64_t session, uint64_t first,
		      uint64_t last, const struct run_frames *frames);

void check_report_json(struct json *j, const struct check_result *results, size_t count,
		       const struct check_request *request, enum check_verdict verdict);
/* One testsuite; an inconclusive condition is an error, so that nobody takes it for a pass. */
void check_report_junit(struct json *j, const struct check_result *results, size_t count);

#endif
