/* SPDX-License-Identifier: MIT */
/*
 * What a frame waited for at each moment, as a list, and what the zones of a range had of such
 * paths.
 */
#include "aggregate.h"
#include "api.h"
#include "api_range.h"
#include "api_sched.h"
#include "critical_range.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define ROWS_DEFAULT 1000
#define ROWS_MAX     100000

static const char *const sorts[] = {"self", "total", "gain", NULL};
enum { SORT_SELF, SORT_TOTAL, SORT_GAIN };

/* --- threads and zones ------------------------------------------------------------------- */

static void json_uint_or_null(struct json *j, const char *key, uint64_t v, bool known)
{
	json_key(j, key);
	if (known)
		json_uint(j, v);
	else
		json_null(j);
}

/* A thread of the game: by its track, or by what others say of it. */
static void json_thread(struct json *j, const struct critical *c, uint32_t thread)
{
	const struct path_thread *t = &c->threads.at.at[thread];
	const struct track_row *track =
		t->track == PATH_NOBODY ? NULL : &c->range->tracks.at[t->track];
	char comm[sizeof(t->comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(t->comm), t->comm);
	json_uint_or_null(j, "thread", track ? track->track : 0, track);
	json_member_string(j, "thread_name",
			   track && track->name ? track->name
			   : *comm		? comm
						: NULL);
	json_uint_or_null(j, "tid", (uint64_t)t->tid, t->tid > 0);
}

static void json_zone(struct json *j, const struct critical *c, uint32_t node)
{
	bool in_zone = node != PATH_NOBODY && c->tree.nodes.at[node].parent != ZONE_NODE_NONE;
	char unknown[32];

	json_member_string(j, "name",
			   in_zone ? range_name(c->range, c->tree.nodes.at[node].marker, unknown,
						sizeof(unknown))
				   : NULL);
	if (in_zone) {
		api_json_zone_path(j, &c->tree, node);
		return;
	}
	json_key(j, "path");
	json_array_begin(j);
	json_array_end(j);
}

static void json_states(struct json *j, const int64_t ns[PATH_STATES])
{
	json_member_int(j, "running_ns", ns[PATH_RUNNING]);
	json_member_int(j, "runnable_ns", ns[PATH_RUNNABLE]);
	json_member_int(j, "blocked_ns", ns[PATH_BLOCKED]);
	json_member_int(j, "gpu_ns", ns[PATH_GPU]);
	json_member_int(j, "unknown_ns", ns[PATH_UNKNOWN]);
}

/* What all answers say of how much was known. */
static void json_coverage(struct json *j, const struct critical *c)
{
	static const char *const names[] = {"interrupt", "process", "kernel",
					    "lost",	 "loop",    "still"};
	size_t i;

	json_key(j, "sources");
	json_array_begin(j);
	if (c->kernel)
		json_string(j, "scheduler");
	json_string(j, "zones");
	json_array_end(j);
	json_states(j, c->ns);
	json_key(j, "waits_ended_by_ns");
	json_object_begin(j);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		json_member_int(j, names[i], c->waits_ns[PATH_INTERRUPT + i]);
	json_object_end(j);
	json_member_uint(j, "gaps", c->gaps);
	json_member_uint(j, "lost_events", c->lost_events);
}

/* --- one frame --------------------------------------------------------------------------- */

static const char *reason_of(const struct path_piece *piece, const struct path_interval *i)
{
	static const char *const waits[] = {[FPROF_MARKER_WAIT_GPU] = "gpu",
					    [FPROF_MARKER_WAIT_PRESENT] = "present",
					    [FPROF_MARKER_WAIT_CAP] = "cap"};

	if (piece->state != PATH_BLOCKED && piece->state != PATH_GPU)
		return NULL;
	if (piece->wait)
		return waits[piece->wait];
	return i ? wait_reason_names[i->reason] : NULL;
}

/* An interval of the piece's thread, so many after its own; NULL: there is none. */
static const struct path_interval *interval_of(const struct critical *c,
					       const struct path_piece *piece, size_t after)
{
	const struct path_thread *thread = &c->threads.at.at[piece->thread];
	size_t i = (size_t)piece->interval + after;

	return i + 1 < thread->sched.count ? &thread->sched.at[i] : NULL;
}

/* The track of whomever an interval names, if it is the game's own; *ret_as: as the scheduler's log
 * has it. */
static const struct track_row *named_by(const struct critical *c, const struct path_interval *i,
					struct sched_interval *ret_as)
{
	const struct path_person *person = &c->threads.people.at[i->person];
	uint32_t track = person->thread == PATH_NOBODY ? PATH_NOBODY
						       : c->threads.at.at[person->thread].track;

	*ret_as = (struct sched_interval){
		.who = person->who, .wake_flags = i->wake_flags, .preempted = i->preempted};
	return track == PATH_NOBODY ? NULL : &c->range->tracks.at[track];
}

/* Who preempted the thread, or woke it in the end. */
static void json_by(struct json *j, const struct critical *c, const struct path_piece *piece)
{
	bool waited = piece->end != PATH_GOES_ON && piece->end != PATH_STILL;
	const struct path_interval *i = interval_of(c, piece, waited);
	const struct track_row *track = NULL;
	struct sched_interval as;

	if (i && i->state != SCHED_STATE_RUNNABLE)
		i = NULL;
	if (i)
		track = named_by(c, i, &as);
	api_json_sched_by(j, i ? &as : NULL, c->range->row.pid, track);
}

/* Of what waits for a CPU: who had it last. */
static void json_cpu_had(struct json *j, const struct critical *c, const struct path_piece *piece)
{
	const struct path_interval *next = interval_of(c, piece, 1);
	const struct track_row *track = NULL;
	struct sched_interval as;

	json_key(j, "cpu_had");
	if (piece->state != PATH_RUNNABLE || !next || next->state != SCHED_STATE_RUNNING ||
	    next->person == 0) {
		json_null(j);
		return;
	}
	track = named_by(c, next, &as);
	json_object_begin(j);
	api_json_sched_who(j, &as, c->range->row.pid, track);
	json_object_end(j);
}

static void json_piece(struct json *j, const struct critical *c, const struct path_piece *piece)
{
	json_object_begin(j);
	json_thread(j, c, piece->thread);
	json_zone(j, c, piece->node);
	json_member_string(j, "state", path_state_names[piece->state]);
	json_member_string(j, "reason", reason_of(piece, interval_of(c, piece, 0)));
	json_member_string(j, "evidence", path_evidence_names[piece->evidence]);
	json_member_int(j, "start_ns", piece->begin_ns);
	json_member_int(j, "duration_ns", piece->end_ns - piece->begin_ns);
	json_by(j, c, piece);
	json_cpu_had(j, c, piece);
	json_object_end(j);
}

/* Of frames without events there is no path, and no zero either. */
static bool has_events(struct api_answer *a, const struct critical *c)
{
	static const struct api_problem problem = {
		409, "events-gone", "The events of these frames have left the history", NULL, NULL};

	if (c->tree.counted.frames.count > 0 || c->tree.counted.evicted == 0)
		return true;
	api_fail(a, &problem,
		 "What a frame waited for is told by its events, and those of none of these %llu "
		 "are kept any more; the verdict judges frames by their rows",
		 (unsigned long long)c->tree.counted.evicted);
	return false;
}

static void json_frame(struct json *j, const struct api_range *r, const struct critical *c)
{
	size_t i;

	json_object_begin(j);
	json_member_uint(j, "session", r->range.session);
	json_member_string(j, "stream", r->query.stream ? r->query.stream : "main");
	json_member_uint(j, "frame", r->range.first);
	json_member_int(j, "start_ns", r->range.begin_ns);
	json_member_int(j, "wall_ns", c->wall_ns);
	json_coverage(j, c);
	json_key(j, "intervals");
	json_array_begin(j);
	for (i = 0; i < c->pieces.count; i++)
		json_piece(j, c, &c->pieces.at[i]);
	json_array_end(j);
	json_object_end(j);
}

static bool open_frame(const struct api *api, const struct api_request *q, struct api_answer *a,
		       struct api_range *r)
{
	static const char *const allowed[] = {"a frame's number, from 1", "slowest", "latest",
					      NULL};
	enum route_frame_kind kind;
	uint64_t frame = 0;
	int rc;

	r->query.stream = route_value(&q->route, "stream");
	if (route_frame(q->route.frame, &kind, &frame) < 0 || kind == ROUTE_FRAME_TAIL) {
		api_fail_parameter(a, "frame", q->route.frame, allowed);
		return false;
	}
	if (!api_open_session(api, q, a, &r->reader, &r->session))
		return false;
	rc = aggregate_is(r->reader.history, r->session.row.id);
	r->aggregate = rc > 0;
	if (rc >= 0)
		rc = api_find_frame(r->reader.history, r->session.row.id, r->query.stream, kind,
				    &frame);
	r->query.from = r->query.to = frame;
	if (rc >= 0)
		rc = range_open(r->reader.history, r->session.row.id, &r->query, &r->range);
	if (rc < 0)
		api_fail_history(a, rc, "stream or frame");
	return rc >= 0;
}

void api_critical_path(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(critical_deinit))) struct critical c = {0};
	_cleanup_range_ struct api_range r = {0};
	int rc;

	if (!open_frame(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	rc = critical_read(r.reader.history, &r.range, COUNTED_ALL, true, &c);
	if (rc < 0) {
		api_fail_range(a, rc);
		return;
	}
	if (!has_events(a, &c))
		return;
	json_frame(&a->body, &r, &c);
	a->keeps = r.session.update.state != SESSION_LIVE;
}

/* --- a range ----------------------------------------------------------------------------- */

struct paths_request {
	int sort;
	uint64_t limit, offset;
	unsigned flags; /* enum counted_flags */
};

static bool parse_request(const struct api_request *q, struct api_answer *a,
			  struct paths_request *ret_request)
{
	if (!api_parse_counted(q, a, &ret_request->flags))
		return false;
	ret_request->sort = api_parse_choice(q, a, "sort", sorts, SORT_SELF);
	return ret_request->sort >= 0 &&
	       api_parse_number(q, a, "limit", 1, ROWS_MAX, ROWS_DEFAULT, &ret_request->limit) &&
	       api_parse_number(q, a, "offset", 0, ROWS_MAX, 0, &ret_request->offset);
}

static int64_t value_of(const struct path_row *row, int sort)
{
	return sort == SORT_SELF ? row->self_ns : sort == SORT_TOTAL ? row->total_ns : row->gain_ns;
}

static int by_value(const void *a, const void *b, void *userdata)
{
	const struct path_row *x = a, *y = b;
	int sort = *(const int *)userdata;
	int64_t u = value_of(x, sort), v = value_of(y, sort);

	if (u != v)
		return u < v ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

static void json_row(struct json *j, const struct critical *c, const struct path_row *row)
{
	json_object_begin(j);
	json_thread(j, c, row->thread);
	json_zone(j, c, row->node);
	json_member_uint(j, "frames", row->frames);
	json_member_int(j, "self_ns", row->self_ns);
	json_member_int(j, "total_ns", row->total_ns);
	json_member_double(j, "share",
			   c->wall_ns > 0 ? (double)row->self_ns / (double)c->wall_ns : 0.0);
	json_states(j, row->ns);
	/* without the scheduler nobody knows which waits would have been longer */
	api_json_ns(j, "gain_ns", c->kernel ? row->gain_ns : NS_UNKNOWN);
	api_json_ns(j, "self_gain_ns", c->kernel ? row->self_gain_ns : NS_UNKNOWN);
	json_member_int(j, "gain_at_most_ns",
			row->gain_ns == NS_UNKNOWN ? row->total_ns : row->gain_ns);
	json_object_end(j);
}

static void json_rows(struct json *j, const struct critical *c, const struct paths_request *p)
{
	size_t first = MIN((size_t)p->offset, c->rows.count);
	size_t last = first + MIN((size_t)p->limit, c->rows.count - first), i;

	json_member_uint(j, "count", c->rows.count);
	json_member_uint(j, "offset", p->offset);
	json_member_uint(j, "limit", p->limit);
	json_key(j, "zones");
	json_array_begin(j);
	for (i = first; i < last; i++)
		json_row(j, c, &c->rows.at[i]);
	json_array_end(j);
}

void api_critical_paths(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(critical_deinit))) struct critical c = {0};
	_cleanup_range_ struct api_range r = {0};
	struct paths_request p = {0};
	struct json *j = &a->body;
	int rc;

	if (!parse_request(q, a, &p) || !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	rc = critical_read(r.reader.history, &r.range, p.flags, false, &c);
	if (rc < 0) {
		api_fail_range(a, rc);
		return;
	}
	if (!has_events(a, &c))
		return;
	if (c.rows.count > 1)
		qsort_r(c.rows.at, c.rows.count, sizeof(*c.rows.at), by_value, &p.sort);
	json_object_begin(j);
	api_json_range_members(j, &r.range, r.query.stream, &c.tree.counted);
	json_coverage(j, &c);
	json_rows(j, &c, &p);
	json_object_end(j);
	a->keeps = r.session.update.state != SESSION_LIVE;
}
