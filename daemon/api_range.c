/* SPDX-License-Identifier: MIT */
/* Parameters that zones, timeline and stats have in common, and the range that they mean. */
#include "api_range.h"

#include "aggregate.h"
#include "near.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int api_parse_choice(const struct api_request *q, struct api_answer *a, const char *parameter,
		     const char *const *names, int fallback)
{
	const char *value = route_value(&q->route, parameter);
	int i;

	if (!value)
		return fallback;
	for (i = 0; names[i]; i++)
		if (strcmp(names[i], value) == 0)
			return i;
	api_fail_parameter(a, parameter, value, names);
	return -1;
}

bool api_parse_number(const struct api_request *q, struct api_answer *a, const char *parameter,
		      uint64_t min, uint64_t max, uint64_t fallback, uint64_t *ret_number)
{
	const char *value = route_value(&q->route, parameter);
	char text[48];
	const char *const allowed[] = {text, NULL};

	*ret_number = fallback;
	if (!value || route_number(value, min, max, ret_number) == 0)
		return true;
	snprintf(text, sizeof(text), "%llu..%llu", (unsigned long long)min,
		 (unsigned long long)max);
	api_fail_parameter(a, parameter, value, allowed);
	return false;
}

bool api_parse_counted(const struct api_request *q, struct api_answer *a, unsigned *ret_flags)
{
	static const char *const names[] = {"counted", "all", NULL};
	int choice = api_parse_choice(q, a, "frames", names, 0);

	*ret_flags = choice == 1 ? COUNTED_ALL : 0;
	return choice >= 0;
}

static bool parse_edges(const struct api_request *q, struct api_answer *a, uint64_t max,
			struct range_query *query)
{
	static const char *const allowed[] = {"a frame's number, from 1", NULL};
	const char *from = route_value(&q->route, "from"), *to = route_value(&q->route, "to");

	if (from && route_number(from, 1, INT64_MAX, &query->from) < 0) {
		api_fail_parameter(a, "from", from, allowed);
		return false;
	}
	if (to && route_number(to, 1, INT64_MAX, &query->to) < 0) {
		api_fail_parameter(a, "to", to, allowed);
		return false;
	}
	if (!to)
		query->to = MIN(query->from, INT64_MAX - max) + max - 1;
	if (!from)
		query->from = query->to < max ? 1 : query->to - max + 1;
	if (query->to >= query->from && query->to - query->from < max)
		return true;
	api_fail_frames(a, query->from, query->to, max);
	return false;
}

bool api_parse_frames(const struct api_request *q, struct api_answer *a, uint64_t max,
		      struct range_query *ret_query)
{
	const char *last = route_value(&q->route, "last");
	bool edges = route_value(&q->route, "from") || route_value(&q->route, "to");
	char text[48];
	const char *const allowed[] = {text, "not together with from or to", NULL};

	*ret_query = (struct range_query){.stream = route_value(&q->route, "stream"),
					  .last = edges ? 0 : API_FRAMES_DEFAULT};
	if (last && (edges || route_number(last, 1, max, &ret_query->last) < 0)) {
		snprintf(text, sizeof(text), "1..%llu", (unsigned long long)max);
		api_fail_parameter(a, "last", last, allowed);
		return false;
	}
	return !edges || parse_edges(q, a, max, ret_query);
}

void api_fail_aggregate(struct api_answer *a)
{
	static const struct api_problem problem = {
		409, "aggregate-session", "The session holds sums, not single calls", NULL, NULL};

	api_fail(a, &problem, "%s", aggregate_reason);
}

void api_fail_range(struct api_answer *a, int error)
{
	static const struct api_problem problem = {
		413, "range-too-large", "There is too much in the range to answer at once", NULL,
		NULL};

	if (error == -E2BIG)
		api_fail(a, &problem,
			 "The range has more calls or paths than are held at once: ask for fewer "
			 "frames or threads");
	else
		api_fail_history(a, error, "range of frames");
}

/* --- threads ----------------------------------------------------------------------------- */

static bool is_named(const struct track_row *track, const char *text)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", track->track);
	return strcmp(id, text) == 0 || (track->name && strcmp(track->name, text) == 0);
}

/* And which of those that there are come nearest. */
static void fail_thread(struct api_answer *a, const struct range *range, const char *text)
{
	struct near near = {0};
	const struct api_problem problem = {404, "not-found", "There is no such thing", "thread",
					    near.names};
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		near_offer(&near, text, range->tracks.at[i].name);
	api_fail(a, &problem,
		 "The session has no thread %.64s; allowed has the nearest names (ids are in its "
		 "threads)",
		 text);
}

/* thread=text: takes its tracks into those that are wanted. */
static bool want_thread(const struct range *range, const char *text, bool *skip)
{
	bool found = false;
	size_t i;

	for (i = 0; i < range->tracks.count; i++) {
		if (!is_named(&range->tracks.at[i], text))
			continue;
		skip[i] = false;
		found = true;
	}
	return found;
}

bool api_range_threads(const struct api_request *q, struct api_answer *a, const struct range *range,
		       bool **ret_skip)
{
	_cleanup_free_ bool *skip = NULL;
	unsigned p;

	*ret_skip = NULL;
	if (!route_value(&q->route, "thread"))
		return true;
	skip = malloc(range->tracks.count + 1);
	if (!skip) {
		api_fail_history(a, -ENOMEM, "list of threads");
		return false;
	}
	memset(skip, true, range->tracks.count + 1);
	for (p = 0; p < q->route.count; p++) {
		const struct route_param *param = &q->route.params[p];

		if (strcmp(param->name, "thread") != 0 || want_thread(range, param->value, skip))
			continue;
		fail_thread(a, range, param->value);
		return false;
	}
	*ret_skip = skip;
	skip = NULL;
	return true;
}

/* --- the range --------------------------------------------------------------------------- */

void api_range_close(struct api_range *r)
{
	range_close(&r->range);
	history_session_deinit(&r->session);
	api_reader_release(&r->reader);
	free(r->skip);
}

bool api_range_open(const struct api *api, const struct api_request *q, struct api_answer *a,
		    struct api_range *ret_range)
{
	struct api_range *r = ret_range;
	int rc;

	if (!api_parse_frames(q, a, API_RANGE_MAX, &r->query) ||
	    !api_open_session(api, q, a, &r->reader, &r->session))
		return false;
	rc = aggregate_is(r->reader.history, r->session.row.id);
	r->aggregate = rc > 0;
	if (rc >= 0)
		rc = range_open(r->reader.history, r->session.row.id, &r->query, &r->range);
	if (rc < 0) {
		api_fail_history(a, rc, "stream or range of frames");
		return false;
	}
	return api_range_threads(q, a, &r->range, &r->skip);
}

void api_json_needs(struct json *j, const char *key, size_t needs, uint64_t count, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "needs %zu %s, there %s %llu", needs, what,
		 count == 1 ? "is" : "are", (unsigned long long)count);
	json_member_string(j, key, text);
}

void api_json_lost_members(struct json *j, const struct run_frames *f)
{
	json_member_uint(j, "events", f->lost_events);
	json_member_uint(j, "frames_with_lost_events", f->lossy);
	json_member_uint(j, "frames_that_stand_for_several", f->marks_lost);
	json_member_uint(j, "missing_frames", f->missing);
	json_member_uint(j, "frames_without_events", f->evicted);
}

void api_json_lost(struct json *j, const struct run_frames *frames)
{
	json_key(j, "lost");
	json_object_begin(j);
	api_json_lost_members(j, frames);
	json_object_end(j);
}

void api_count_lost(const struct api_request *q, const struct api_range *r,
		    const struct counted *counted, struct run_frames *lost)
{
	size_t i;

	lost->missing =
		run_frames_missing(&r->range, route_value(&q->route, "from") ? r->query.from : 0,
				   route_value(&q->route, "to") ? r->query.to : 0);
	for (i = 0; i < r->range.frames.frames.count; i++)
		run_frames_lose(lost, &r->range.frames.frames.at[i].row, counted->out[i]);
}

void api_json_left_out(struct json *j, const struct left_out *out)
{
	json_member_uint(j, "startup", out->startup);
	json_member_uint(j, "paused", out->paused);
	json_member_uint(j, "loading", out->loading);
	json_member_uint(j, "clock_step", out->clock_step);
}

void api_json_range_members(struct json *j, const struct range *range, const char *stream,
			    const struct counted *counted)
{
	json_member_uint(j, "session", range->session);
	json_member_string(j, "stream", stream ? stream : "main");
	json_key(j, "range");
	json_object_begin(j);
	json_member_uint(j, "from", range->first);
	json_member_uint(j, "to", range->last);
	api_json_range(j, "rows", range->frames.first_row, range->frames.last_row);
	json_member_uint(j, "frames", counted->frames.count);
	json_member_int(j, "begin_ns", range->begin_ns);
	json_member_int(j, "end_ns", range->end_ns);
	json_member_int(j, "wall_ns", counted->wall_ns);
	json_key(j, "left_out");
	json_object_begin(j);
	api_json_left_out(j, &counted->left_out);
	json_member_uint(j, "evicted", counted->evicted);
	json_object_end(j);
	json_object_end(j);
}
