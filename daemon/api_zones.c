/* SPDX-License-Identifier: MIT */
/*
 * Tables of the zones of a range: as a tree, by name, by caller, or call by call. What cannot be
 * told is null, and `reasons` says why.
 */
#include "aggregate.h"
#include "api.h"
#include "api_range.h"
#include "statistics.h"
#include "util.h"
#include "zone_calls.h"
#include "zone_session.h"
#include "zone_sums.h"
#include "zone_table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ROWS_DEFAULT 1000
#define ROWS_MAX     100000
#define PARTS_MAX    120
#define PART_MS_MAX  60000

struct zones_request {
	enum zone_view view;
	bool calls; /* view=calls: single ones */
	struct zone_table_query table;
	uint64_t limit, offset;
	unsigned flags;		    /* enum counted_flags */
	uint64_t part_ms;	    /* 0: rows have no parts */
	struct zone_measure *parts; /* what they are measured with */
};

static const char *const views[] = {"tree", "flat", "calls", "callers", NULL};
enum { VIEW_TREE, VIEW_FLAT, VIEW_CALLS, VIEW_CALLERS };

static const char *const sorts[] = {"total", "self", "calls", "avg",	"min",	"max",
				    "p50",   "p95",  "p99",   "frames", "name", NULL};
static const char *const call_sorts[] = {"duration", "self", "start", NULL};

/* --- a row ------------------------------------------------------------------------------- */

/* session NULL: it is not told of. */
static void json_reasons(struct json *j, const struct zone_tree *tree, const struct zone_numbers *n,
			 bool per_frame, const struct zone_session *session)
{
	static const char *const keys[] = {"p50_ns", "p95_ns", "p99_ns"};
	static const double percents[] = {50, 95, 99};
	const int64_t values[] = {n->p50_ns, n->p95_ns, n->p99_ns};
	size_t i;

	json_key(j, "reasons");
	json_object_begin(j);
	if (tree->sums)
		json_member_string(j, "percentiles", aggregate_reason);
	if (tree->kernel.too_much)
		json_member_string(j, "on_cpu_ns",
				   "there are too many switches to be held at once");
	for (i = 0; i < ARRAY_SIZE(values) && !tree->sums; i++)
		if (values[i] == NS_UNKNOWN)
			api_json_needs(j, keys[i], statistics_percentile_needs(percents[i]),
				       n->samples, per_frame ? "frames" : "calls");
	if (session && !session->known)
		json_member_string(j, "session_calls",
				   tree->sums ? aggregate_reason
					      : "events went before anything counted them");
	json_object_end(j);
}

/* Without a single event nobody knows whether there was none or none was tracked. */
static void json_allocations(struct json *j, const struct zone_tree *tree,
			     const struct zone_numbers *n)
{
	json_key(j, "alloc_bytes");
	tree->allocations ? json_int(j, n->alloc_bytes) : json_null(j);
	json_key(j, "alloc_count");
	tree->allocations ? json_int(j, n->alloc_count) : json_null(j);
	json_key(j, "self_alloc_bytes");
	tree->allocations ? json_int(j, n->own_alloc_bytes) : json_null(j);
	json_key(j, "self_alloc_count");
	tree->allocations ? json_int(j, n->own_alloc_count) : json_null(j);
}

static const char *const kernel_keys[] = {"on_cpu_ns", "runnable_ns", "blocked_ns"};
static const char *const own_kernel_keys[] = {"self_on_cpu_ns", "self_runnable_ns",
					      "self_blocked_ns"};

/* What the scheduler did meanwhile; null where it tells nothing of the thread. */
static void json_kernel(struct json *j, const char *const *keys, bool known,
			const struct zone_kernel_ns *times)
{
	int i;

	for (i = 0; i < ZONE_KERNEL_STATES; i++)
		api_json_ns(j, keys[i], known ? times->ns[i] : NS_UNKNOWN);
}

static void json_slow(struct json *j, const struct zone_numbers *n)
{
	json_key(j, "slow");
	json_object_begin(j);
	api_json_ns(j, "above_ns", n->slow_above_ns);
	json_member_uint(j, "calls", n->slow_calls);
	json_member_double(j, "gap_mean_ns", n->slow_gap_mean_ns);
	json_member_double(j, "gap_sd_ns", n->slow_gap_sd_ns);
	json_object_end(j);
}

static void json_numbers(struct json *j, const struct zone_tree *tree, const struct zone_numbers *n,
			 bool per_frame, const struct zone_session *session)
{
	double frames = (double)tree->counted.frames.count;

	json_member_uint(j, "calls", n->calls);
	json_member_int(j, "total_ns", n->total_ns);
	json_member_int(j, "self_ns", n->self_ns);
	json_member_double(j, "avg_ns", n->avg_ns);
	api_json_ns(j, "min_ns", n->min_ns);
	api_json_ns(j, "max_ns", n->max_ns);
	json_key(j, "max_frame");
	if (n->max_frame)
		json_uint(j, n->max_frame);
	else
		json_null(j);
	api_json_ns(j, "p50_ns", n->p50_ns);
	api_json_ns(j, "p95_ns", n->p95_ns);
	api_json_ns(j, "p99_ns", n->p99_ns);
	json_member_uint(j, "frames", n->frames);
	json_member_double(j, "calls_per_frame", frames > 0 ? (double)n->calls / frames : NAN);
	json_allocations(j, tree, n);
	json_kernel(j, kernel_keys, n->scheduled, &n->kernel);
	json_kernel(j, own_kernel_keys, n->scheduled, &n->own_kernel);
	json_slow(j, n);
	json_reasons(j, tree, n, per_frame, session);
}

static void json_known(struct json *j, const char *key, bool known, uint64_t value)
{
	json_key(j, key);
	known ? json_uint(j, value) : json_null(j);
}

/* Of the whole session: what it recorded, not what it still has. */
static void json_session(struct json *j, const struct zone_session *session,
			 const struct zone_row *row)
{
	const struct zone_session_numbers *n = zone_session_of(session, row->marker, row->gpu);

	json_known(j, "session_calls", session->known, n->calls);
	json_known(j, "session_total_ns", session->known, n->total_ns);
	json_known(j, "session_max_ns", session->known && n->calls > 0, n->max_ns);
	json_known(j, "session_max_frame", session->known && n->max_frame > 0, n->max_frame);
}

static void json_marker(struct json *j, const struct range *range, uint32_t marker)
{
	const struct marker_row *row = range_marker(range, marker);
	char unknown[32];

	json_member_string(j, "name", range_name(range, marker, unknown, sizeof(unknown)));
	json_member_string(j, "category", row ? row->category : NULL);
	json_member_string(j, "wait", row ? api_wait_name(row->kind) : NULL);
	json_member_string(j, "file", row ? row->file : NULL);
	json_key(j, "line");
	if (row && row->line)
		json_uint(j, row->line);
	else
		json_null(j);
}

/* The track that something is on. Sums have none. */
static void json_thread(struct json *j, const struct range *range, uint32_t index, bool sums)
{
	const struct track_row *track = &range->tracks.at[index];

	json_key(j, "thread");
	if (sums)
		json_null(j);
	else
		json_uint(j, track->track);
	json_member_string(j, "thread_name", sums ? NULL : track->name);
	json_key(j, "tid");
	if (track->kind == TRACK_THREAD && !sums)
		json_int(j, track->tid);
	else
		json_null(j);
	json_member_bool(j, "gpu", track->kind == TRACK_GPU_QUEUE);
}

/* The root of sums has no name, and is in no path. */
static bool is_root(const struct zone_tree *tree, const struct zone_node *n)
{
	return tree->sums && tree->nodes.at[n->parent].parent == ZONE_NODE_NONE;
}

void api_json_zone_path(struct json *j, const struct zone_tree *tree, uint32_t node)
{
	const struct zone_node *n = &tree->nodes.at[node];
	VEC(uint32_t) names = {0};
	char unknown[32];
	size_t i;

	for (; n->parent != ZONE_NODE_NONE; n = &tree->nodes.at[n->parent])
		if (!is_root(tree, n) && VEC_PUSH(&names, n->marker) < 0)
			j->failed = true;
	json_key(j, "path");
	json_array_begin(j);
	for (i = names.count; i > 0; i--)
		json_string(j, range_name(tree->range, names.at[i - 1], unknown, sizeof(unknown)));
	json_array_end(j);
	VEC_FREE(&names);
}

/* The longest frame of each part of the range; the last one ends with it. */
static void json_parts(struct json *j, struct zone_measure *m, uint32_t node, int64_t part_ns)
{
	const struct range *range = m->tree->range;
	uint64_t count = (uint64_t)((range->end_ns - range->begin_ns + part_ns - 1) / part_ns);
	int64_t parts[PARTS_MAX];
	struct zone_numbers numbers;
	size_t i;

	memset(parts, -1, sizeof(parts));
	if (zone_measure_nodes(m, &node, 1, &numbers) < 0)
		j->failed = true;
	for (i = 0; i < m->frames.count; i++) {
		size_t frame = m->tree->counted.frames.at[m->frames.at[i]].index;
		int64_t back =
			(range->end_ns - range->frames.frames.at[frame].row.end_ns) / part_ns;

		if (back >= 0 && back < PARTS_MAX)
			parts[back] = MAX(parts[back], m->totals[m->frames.at[i]]);
	}
	json_key(j, "parts");
	json_array_begin(j);
	for (i = MIN(count, PARTS_MAX); i > 0; i--)
		parts[i - 1] < 0 ? json_null(j) : json_int(j, parts[i - 1]);
	json_array_end(j);
}

static void json_row(struct json *j, const struct zone_tree *tree, const struct zones_request *z,
		     const struct zone_session *session, const struct zone_row *row)
{
	json_object_begin(j);
	if (row->marker == ZONE_NODE_NONE) {
		json_key(j, "name");
		json_null(j);
	} else {
		json_marker(j, tree->range, row->marker);
	}
	if (z->view == ZONE_VIEW_TREE) {
		api_json_zone_path(j, tree, row->node);
		json_member_uint(j, "depth", tree->nodes.at[row->node].depth);
		json_thread(j, tree->range, tree->nodes.at[row->node].track, tree->sums);
		if (z->parts)
			json_parts(j, z->parts, row->node, (int64_t)(z->part_ms * NS_PER_MS));
	} else {
		json_member_uint(j, "threads", row->tracks);
		json_member_bool(j, "gpu", row->gpu);
	}
	json_numbers(j, tree, &row->n, z->table.per_frame,
		     z->view == ZONE_VIEW_FLAT ? session : NULL);
	if (z->view == ZONE_VIEW_FLAT)
		json_session(j, session, row);
	json_object_end(j);
}

/* --- tables ------------------------------------------------------------------------------ */

static void json_threads(struct json *j, const struct zone_tree *tree, const bool *skip)
{
	size_t i;

	json_key(j, "threads");
	json_array_begin(j);
	for (i = 0; i < tree->range->tracks.count; i++) {
		if (skip && skip[i])
			continue;
		json_object_begin(j);
		json_thread(j, tree->range, (uint32_t)i, tree->sums);
		json_member_int(j, "total_ns", tree->nodes.at[i].total_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_rows(struct json *j, const char *key, const struct zone_tree *tree,
		      const struct zones_request *z, const struct zone_session *session,
		      const zone_rows *rows)
{
	size_t first = MIN((size_t)z->offset, rows->count);
	size_t last = first + MIN((size_t)z->limit, rows->count - first), i;

	json_key(j, key);
	json_array_begin(j);
	for (i = first; i < last; i++)
		json_row(j, tree, z, session, &rows->at[i]);
	json_array_end(j);
}

static void json_page(struct json *j, const struct zones_request *z, uint64_t count)
{
	json_member_uint(j, "count", count);
	json_member_uint(j, "offset", z->offset);
	json_member_uint(j, "limit", z->limit);
}

static void json_table(struct json *j, const struct zone_tree *tree, const struct api_range *r,
		       const struct zones_request *z, const struct zone_session *session,
		       const zone_rows *rows, const zone_rows *callees)
{
	json_object_begin(j);
	api_json_range_members(j, tree->range, r->query.stream, &tree->counted);
	json_member_string(j, "view",
			   views[z->view == ZONE_VIEW_CALLERS ? (int)VIEW_CALLERS : (int)z->view]);
	json_member_string(j, "per", z->table.per_frame ? "frame" : "call");
	json_member_bool(j, "aggregate", tree->sums);
	json_member_uint(j, "gaps", tree->gaps);
	json_member_uint(j, "lost_events", tree->lost_events);
	json_threads(j, tree, r->skip);
	if (z->view == ZONE_VIEW_FLAT)
		json_known(j, "session_uncounted", session->known, session->uncounted);
	json_page(j, z, rows->count);
	json_rows(j, "zones", tree, z, session, rows);
	if (z->view == ZONE_VIEW_CALLERS)
		json_rows(j, "callees", tree, z, session, callees);
	json_object_end(j);
}

static void fail_name(struct api_answer *a, const char *name)
{
	static const struct api_problem problem = {404, "not-found", "There is no such thing",
						   "name", NULL};

	api_fail(a, &problem, "The session has no zone called %.128s", name);
}

static void answer_table(struct api_range *r, struct zones_request *z, struct api_answer *a)
{
	__attribute__((cleanup(zone_measure_deinit))) struct zone_measure parts = {0};
	__attribute__((cleanup(zone_tree_deinit))) struct zone_tree tree = {0};
	__attribute__((cleanup(zone_session_deinit))) struct zone_session session = {0};
	struct zone_table_query query = z->table;
	zone_rows rows = {0}, callees = {0};
	int rc = r->aggregate
			 ? zone_sums_read(r->reader.history, &r->range, &tree)
			 : zone_tree_read(r->reader.history, &r->range, r->skip, z->flags, &tree);

	if (rc < 0) {
		api_fail_range(a, rc);
		return;
	}
	query.view = z->view;
	rc = zone_table_make(&tree, &query, &rows);
	if (rc == 0 && z->view == ZONE_VIEW_CALLERS) {
		query.view = ZONE_VIEW_CALLEES;
		rc = zone_table_make(&tree, &query, &callees);
	}
	if (rc == 0 && z->view == ZONE_VIEW_FLAT)
		rc = zone_session_read(r->reader.history, &tree, r->skip, &session);
	if (rc == 0 && z->part_ms > 0) {
		rc = zone_measure_init(&parts, &tree, true);
		z->parts = &parts;
	}
	if (rc == -ENOENT)
		fail_name(a, query.name);
	else if (rc < 0)
		api_fail_range(a, rc);
	else
		json_table(&a->body, &tree, r, z, &session, &rows, &callees);
	VEC_FREE(&rows);
	VEC_FREE(&callees);
}

/* --- calls ------------------------------------------------------------------------------- */

static void json_call(struct json *j, const struct range *range, const struct zone_call *call)
{
	json_object_begin(j);
	json_marker(j, range, call->marker);
	json_thread(j, range, call->track, false);
	json_key(j, "frame");
	if (call->frame)
		json_uint(j, call->frame);
	else
		json_null(j);
	json_member_int(j, "start_ns", call->start_ns);
	json_member_int(j, "duration_ns", call->duration_ns);
	json_member_int(j, "self_ns", call->self_ns);
	json_kernel(j, kernel_keys, call->scheduled, &call->kernel);
	json_member_int(j, "full_start_ns", call->full_start_ns);
	api_json_ns(j, "full_duration_ns", call->full_duration_ns);
	json_member_uint(j, "depth", call->depth);
	api_json_zone_flags(j, call->flags);
	if (call->text)
		json_member_string(j, "text", call->text);
	if (call->has_value && call->value_is_double)
		json_member_double(j, "value", call->value.d);
	else if (call->has_value)
		json_member_int(j, "value", call->value.i);
	json_object_end(j);
}

static void json_calls(struct json *j, const struct api_range *r, const struct zones_request *z,
		       const struct counted *counted, const struct zone_calls *calls)
{
	size_t i;

	json_object_begin(j);
	api_json_range_members(j, &r->range, r->query.stream, counted);
	json_member_string(j, "view", "calls");
	json_member_bool(j, "aggregate", false);
	json_page(j, z, calls->count);
	json_key(j, "zones");
	json_array_begin(j);
	for (i = (size_t)z->offset; i < calls->calls.count; i++)
		json_call(j, &r->range, &calls->calls.at[i]);
	json_array_end(j);
	json_object_end(j);
}

static void answer_calls(struct api_range *r, const struct zones_request *z,
			 enum zone_calls_sort sort, struct api_answer *a)
{
	__attribute__((cleanup(counted_deinit))) struct counted counted = {0};
	__attribute__((cleanup(zone_calls_deinit))) struct zone_calls calls = {0};
	const struct zone_calls_query query = {.skip = r->skip,
					       .name = z->table.name,
					       .category = z->table.category,
					       .sort = sort,
					       .ascending = z->table.ascending,
					       .most = (size_t)(z->offset + z->limit)};
	int rc = counted_init(&counted, &r->range, z->flags | COUNTED_EVENTS);

	if (rc == 0)
		rc = zone_calls_read(r->reader.history, &r->range, &query, &counted, &calls);
	if (rc < 0)
		api_fail_range(a, rc);
	else
		json_calls(&a->body, r, z, &counted, &calls);
}

/* --- the request ------------------------------------------------------------------------- */

static bool parse_order(const struct api_request *q, struct api_answer *a, struct zones_request *z,
			int *sort)
{
	static const char *const orders[] = {"desc", "asc", NULL};
	int order;

	*sort = api_parse_choice(q, a, "sort", z->calls ? call_sorts : sorts, 0);
	if (*sort < 0)
		return false;
	z->table.sort = z->calls ? ZONE_SORT_TOTAL : (enum zone_sort) * sort;
	order = api_parse_choice(q, a, "order", orders,
				 z->calls ? *sort == ZONE_CALLS_START
					  : z->table.sort == ZONE_SORT_NAME);
	z->table.ascending = order == 1;
	return order >= 0 &&
	       api_parse_number(q, a, "limit", 1, ROWS_MAX, ROWS_DEFAULT, &z->limit) &&
	       api_parse_number(q, a, "offset", 0, ROWS_MAX, 0, &z->offset);
}

static bool parse_request(const struct api_request *q, struct api_answer *a,
			  struct zones_request *z, int *sort)
{
	static const char *const pers[] = {"call", "frame", NULL};
	static const char *const names[] = {"a zone's name", NULL};
	static const char *const trees[] = {"with view=tree", NULL};
	static const enum zone_view kinds[] = {ZONE_VIEW_TREE, ZONE_VIEW_FLAT, ZONE_VIEW_FLAT,
					       ZONE_VIEW_CALLERS};
	int view = api_parse_choice(q, a, "view", views, VIEW_TREE), per;

	if (view < 0)
		return false;
	z->view = kinds[view];
	z->calls = view == VIEW_CALLS;
	z->table.name = route_value(&q->route, "name");
	z->table.category = route_value(&q->route, "category");
	per = api_parse_choice(q, a, "per", pers, 0);
	if (per < 0 || !api_parse_counted(q, a, &z->flags))
		return false;
	z->table.per_frame = per == 1;
	if (view == VIEW_CALLERS && !z->table.name) {
		api_fail_parameter(a, "name", "", names);
		return false;
	}
	if (!api_parse_number(q, a, "part_ms", 1, PART_MS_MAX, 0, &z->part_ms))
		return false;
	if (z->part_ms > 0 && view != VIEW_TREE) {
		api_fail_parameter(a, "part_ms", route_value(&q->route, "part_ms"), trees);
		return false;
	}
	return parse_order(q, a, z, sort);
}

/* begin_ns and end_ns: only that part of the range. False after filling the answer. */
static bool clip(const struct api_request *q, struct api_answer *a, struct api_range *r)
{
	const char *begin = route_value(&q->route, "begin_ns");
	const char *end = route_value(&q->route, "end_ns");
	uint64_t begin_ns, end_ns;
	char text[96];
	const char *const allowed[] = {text, NULL};

	if (!begin && !end)
		return true;
	if (r->aggregate) {
		api_fail_aggregate(a);
		return false;
	}
	if (!api_parse_number(q, a, "begin_ns", 0, INT64_MAX, (uint64_t)r->range.begin_ns,
			      &begin_ns) ||
	    !api_parse_number(q, a, "end_ns", 1, INT64_MAX, (uint64_t)r->range.end_ns, &end_ns))
		return false;
	if (range_clip(&r->range, (int64_t)begin_ns, (int64_t)end_ns) == 0)
		return true;
	snprintf(text, sizeof(text),
		 "begin_ns in frame %llu and a later end_ns in frame %llu, within %lld..%lld",
		 (unsigned long long)r->range.first, (unsigned long long)r->range.last,
		 (long long)r->range.begin_ns, (long long)r->range.end_ns);
	api_fail_parameter(a, begin ? "begin_ns" : "end_ns", begin ? begin : end, allowed);
	return false;
}

void api_zones(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_range_ struct api_range r = {0};
	struct zones_request z = {0};
	int sort;

	if (!parse_request(q, a, &z, &sort) || !api_range_open(api, q, a, &r) || !clip(q, a, &r))
		return;
	a->keeps = r.session.update.state != SESSION_LIVE;
	if (r.aggregate && z.calls)
		api_fail_aggregate(a);
	else if (z.calls)
		answer_calls(&r, &z, (enum zone_calls_sort)sort, a);
	else
		answer_table(&r, &z, a);
}
