/* SPDX-License-Identifier: MIT */
/* What the routes over a range of frames share: which frames, which threads. */
#ifndef FPROF_DAEMON_API_RANGE_H
#define FPROF_DAEMON_API_RANGE_H

#include "api.h"
#include "counted.h"
#include "range.h"
#include "run_metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_RANGE_MAX 100000 /* frames: as many as a history may keep */

/* `last`, or `from` and `to` (one of them is enough), of at most max frames; without any of them
 * the last 600. False after filling the answer. */
bool api_parse_frames(const struct api_request *q, struct api_answer *a, uint64_t max,
		      struct range_query *ret_query);

/* A session, its range, and which tracks are wanted. */
struct api_range {
	struct history_session session;
	struct api_reader reader;
	struct range range;
	bool *skip;	/* by range.tracks; NULL: all are wanted */
	bool aggregate; /* it holds sums, no events */
	struct range_query query;
};
void api_range_close(struct api_range *r);
#define _cleanup_range_ __attribute__((cleanup(api_range_close)))

/* Opens what the path and the parameters from, to, last, stream and thread (a track's id or its
 * name, any number of times) say. False after filling the answer. */
bool api_range_open(const struct api *api, const struct api_request *q, struct api_answer *a,
		    struct api_range *ret_range);
/* Which of the range's tracks thread=... leaves out: *ret_skip is NULL for none. */
bool api_range_threads(const struct api_request *q, struct api_answer *a, const struct range *range,
		       bool **ret_skip);
/* 409: a session of sums has no such thing. */
void api_fail_aggregate(struct api_answer *a);
/* 413, -EIO ... for what range_visit and zone_tree_read return. */
void api_fail_range(struct api_answer *a, int error);

/* The members session, stream and range: which frames there are and which were left out. */
void api_json_range_members(struct json *j, const struct range *range, const char *stream,
			    const struct counted *counted);
/* The value of a parameter as one of names: its index, fallback where it is not given, -1 after
 * filling the answer. names is NULL-terminated. */
int api_parse_choice(const struct api_request *q, struct api_answer *a, const char *parameter,
		     const char *const *names, int fallback);
/* The same for a number in min..max. */
bool api_parse_number(const struct api_request *q, struct api_answer *a, const char *parameter,
		      uint64_t min, uint64_t max, uint64_t fallback, uint64_t *ret_number);

/* frames=counted (the default) or all, as enum counted_flags. */
bool api_parse_counted(const struct api_request *q, struct api_answer *a, unsigned *ret_flags);
/* Why a number is not told: "needs 20 frames, there are 3". */
void api_json_needs(struct json *j, const char *key, size_t needs, uint64_t count,
		    const char *what);
/* The members of what is not in the numbers of a run. */
void api_json_lost_members(struct json *j, const struct run_frames *frames);
/* The same as an object, `lost`. */
void api_json_lost(struct json *j, const struct run_frames *frames);
/* What is not in the numbers over a range, but for frames whose events are gone. */
void api_count_lost(const struct api_request *q, const struct api_range *r,
		    const struct counted *counted, struct run_frames *lost);
/* The members of what left out counts. */
void api_json_left_out(struct json *j, const struct left_out *out);

#endif
