/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler did with the threads of a session over a range of frames, as it was told:
 * running, runnable, blocked, and by whom.
 */
#include "aggregate.h"
#include "api.h"
#include "api_range.h"
#include "api_sched.h"
#include "history_sched.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define INTERVALS_DEFAULT 20000
#define INTERVALS_MAX	  200000
#define PEOPLE_MAX	  1024u

static const char *const state_names[SCHED_STATES] = {[SCHED_STATE_UNKNOWN] = "unknown",
						      [SCHED_STATE_RUNNING] = "running",
						      [SCHED_STATE_RUNNABLE] = "runnable",
						      [SCHED_STATE_BLOCKED] = "blocked",
						      [SCHED_STATE_GONE] = "gone"};

/* Of one thread, within the range. */
struct sums {
	uint64_t state_ns[SCHED_STATES];
	uint64_t switches;   /* it stopped running */
	uint64_t migrations; /* it ran on, on another CPU than before */
};

struct schedule {
	struct json *j;
	const struct api_range *r;
	uint64_t left; /* intervals that there is room for */
	uint64_t left_out;
	VEC(struct sched_who) people; /* of the game, whom those before named */
};

static const char *kind_of(const struct sched_interval *i, int32_t pid)
{
	if (i->wake_flags & SCHED_BY_INTERRUPT)
		return "interrupt";
	if (i->wake_flags & SCHED_BY_KERNEL_THREAD)
		return "kernel";
	if (i->who.tid == 0)
		return "unknown";
	return i->who.tgid == (uint32_t)pid ? "thread" : "process";
}

static void json_id(struct json *j, const char *key, uint64_t id)
{
	json_key(j, key);
	if (id)
		json_uint(j, id);
	else
		json_null(j);
}

void api_json_sched_who(struct json *j, const struct sched_interval *i, int32_t pid,
			const struct track_row *track)
{
	char comm[sizeof(i->who.comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(i->who.comm), i->who.comm);
	json_member_string(j, "kind", kind_of(i, pid));
	json_id(j, "thread", track ? track->track : 0);
	json_id(j, "tid", i->who.tid);
	json_id(j, "process", i->who.tid ? i->who.tgid : 0);
	json_member_string(j, "name", track && track->name ? track->name : *comm ? comm : NULL);
}

void api_json_sched_by(struct json *j, const struct sched_interval *i, int32_t pid,
		       const struct track_row *track)
{
	json_key(j, "by");
	if (!i) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_string(j, "did",
			   i->state == SCHED_STATE_RUNNING ? "ran_before"
			   : i->preempted		   ? "preempted"
							   : "woke");
	api_json_sched_who(j, i, pid, track);
	json_object_end(j);
}

/* The session's thread that preempted or woke; NULL: it is none of them. */
static const struct track_row *track_of(const struct range *range, const struct sched_interval *i)
{
	size_t at;

	if (i->who.tid == 0 || i->who.tgid != (uint32_t)range->row.pid)
		return NULL;
	for (at = 0; at < range->tracks.count; at++)
		if (range->tracks.at[at].kind == TRACK_THREAD &&
		    (uint32_t)range->tracks.at[at].tid == i->who.tid)
			return &range->tracks.at[at];
	return NULL;
}

static void json_interval(const struct schedule *s, const struct sched_interval *i)
{
	const struct range *range = &s->r->range;
	int64_t begin = range_ns(range, MAX(i->t0, range->t0));
	bool waits = i->state == SCHED_STATE_BLOCKED;
	struct json *j = s->j;

	json_object_begin(j);
	json_member_string(j, "state", state_names[i->state]);
	json_member_int(j, "start_ns", begin);
	json_member_int(j, "duration_ns", range_ns(range, MIN(i->t1, range->t1)) - begin);
	json_key(j, "cpu");
	if (i->state == SCHED_STATE_RUNNING)
		json_uint(j, i->cpu);
	else
		json_null(j);
	json_member_string(j, "reason", waits ? wait_reason_names[i->reason] : NULL);
	json_key(j, "syscall");
	if (waits && i->syscall >= 0)
		json_int(j, i->syscall);
	else
		json_null(j);
	if (i->state == SCHED_STATE_RUNNABLE || (i->state == SCHED_STATE_RUNNING && i->who.tid > 0))
		api_json_sched_by(j, i, range->row.pid, track_of(range, i));
	else
		api_json_sched_by(j, NULL, range->row.pid, NULL);
	json_object_end(j);
}

/* The intervals touch and are clipped to the range where they are told, so the times add up to it.
 */
static struct sums sum_up(const struct range *range, const sched_intervals_vec *intervals)
{
	const struct sched_interval *i, *ran = NULL;
	struct sums sums = {0};
	int64_t begin, end;

	for (i = intervals->at; i < intervals->at + intervals->count; i++) {
		begin = range_ns(range, MAX(i->t0, range->t0));
		end = range_ns(range, MIN(i->t1, range->t1));
		sums.state_ns[i->state] += (uint64_t)MAX(end - begin, INT64_C(0));
		if (i->state != SCHED_STATE_RUNNING)
			continue;
		sums.switches += i->t1 < range->t1;
		sums.migrations += ran && ran->cpu != i->cpu;
		ran = i;
	}
	return sums;
}

static void json_sums(struct json *j, const struct sums *sums)
{
	json_member_uint(j, "running_ns", sums->state_ns[SCHED_STATE_RUNNING]);
	json_member_uint(j, "runnable_ns", sums->state_ns[SCHED_STATE_RUNNABLE]);
	json_member_uint(j, "blocked_ns", sums->state_ns[SCHED_STATE_BLOCKED]);
	json_member_uint(j, "unknown_ns", sums->state_ns[SCHED_STATE_UNKNOWN]);
	json_member_uint(j, "switches", sums->switches);
	json_member_uint(j, "migrations", sums->migrations);
}

/* Who of the game the thread's own intervals name: threads without a track have no other name. */
static int note_people(struct schedule *s, const sched_intervals_vec *intervals)
{
	uint32_t pid = (uint32_t)s->r->range.row.pid;
	size_t i, k;
	int rc = 0;

	for (i = 0; i < intervals->count && rc == 0; i++) {
		const struct sched_who *who = &intervals->at[i].who;

		if (who->tgid != pid || who->tid == 0 || s->people.count == PEOPLE_MAX)
			continue;
		for (k = 0; k < s->people.count && s->people.at[k].tid != who->tid; k++)
			;
		if (k == s->people.count)
			rc = VEC_PUSH(&s->people, *who);
	}
	return rc;
}

static void json_name(struct schedule *s, const struct track_row *track, int32_t tid)
{
	char comm[sizeof(s->people.at->comm) + 1] = "";
	size_t i;

	for (i = 0; i < s->people.count && !track; i++)
		if (s->people.at[i].tid == (uint32_t)tid)
			snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->people.at[i].comm),
				 s->people.at[i].comm);
	json_id(s->j, "thread", track ? track->track : 0);
	json_member_string(s->j, "thread_name", track ? track->name : *comm ? comm : NULL);
	json_member_int(s->j, "tid", tid);
}

static void json_intervals(struct schedule *s, const sched_intervals_vec *intervals)
{
	struct sums sums = sum_up(&s->r->range, intervals);
	size_t i;

	json_sums(s->j, &sums);
	json_key(s->j, "intervals");
	json_array_begin(s->j);
	for (i = 0; i < intervals->count && s->left > 0; i++, s->left--)
		json_interval(s, &intervals->at[i]);
	s->left_out += intervals->count - i;
	json_array_end(s->j);
}

/* Nothing is known of it, or, without a track, it had nothing to do. */
static bool is_idle(const sched_intervals_vec *intervals, const struct track_row *track)
{
	return intervals->count == 0 ||
	       (!track && intervals->count == 1 && intervals->at[0].state != SCHED_STATE_RUNNING &&
		intervals->at[0].state != SCHED_STATE_RUNNABLE);
}

/* track NULL: the kernel alone knows the thread. */
static int json_thread(struct schedule *s, const struct track_row *track, int32_t tid)
{
	const struct range *range = &s->r->range;
	sched_intervals_vec intervals = {0};
	int rc = history_sched(s->r->reader.history, range->session, tid, range->t0, range->t1,
			       &intervals);

	if (rc == 0)
		rc = note_people(s, &intervals);
	if (rc == 0 && !is_idle(&intervals, track)) {
		json_object_begin(s->j);
		json_name(s, track, tid);
		json_intervals(s, &intervals);
		json_object_end(s->j);
	}
	VEC_FREE(&intervals);
	return rc;
}

static bool has_track(const struct range *range, int32_t tid)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].kind == TRACK_THREAD && range->tracks.at[i].tid == tid)
			return true;
	return false;
}

/* Threads that recorded nothing. */
static int json_others(struct schedule *s)
{
	const struct range *range = &s->r->range;
	sched_tids_vec tids = {0};
	size_t i;
	int rc = history_sched_tids(s->r->reader.history, range->session, range->t1, &tids);

	for (i = 0; i < tids.count && rc == 0; i++)
		if (!has_track(range, tids.at[i]))
			rc = json_thread(s, NULL, tids.at[i]);
	VEC_FREE(&tids);
	return rc;
}

static int json_threads(struct schedule *s)
{
	const struct range *range = &s->r->range;
	size_t i;
	int rc = 0;

	json_key(s->j, "threads");
	json_array_begin(s->j);
	for (i = 0; i < range->tracks.count && rc == 0; i++) {
		const struct track_row *track = &range->tracks.at[i];

		if (track->kind == TRACK_THREAD && track->tid > 0 && !(s->r->skip && s->r->skip[i]))
			rc = json_thread(s, track, track->tid);
	}
	if (rc == 0 && !s->r->skip)
		rc = json_others(s);
	json_array_end(s->j);
	json_member_uint(s->j, "left_out", s->left_out);
	VEC_FREE(&s->people);
	return rc;
}

void api_schedule(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_range_ struct api_range r = {0};
	struct schedule s = {.j = &a->body, .r = &r};
	int rc;

	if (!api_parse_number(q, a, "max_intervals", 1, INTERVALS_MAX, INTERVALS_DEFAULT,
			      &s.left) ||
	    !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	json_object_begin(s.j);
	json_member_uint(s.j, "session", r.range.session);
	json_member_string(s.j, "stream", r.query.stream ? r.query.stream : "main");
	json_member_uint(s.j, "from", r.range.first);
	json_member_uint(s.j, "to", r.range.last);
	json_member_int(s.j, "begin_ns", r.range.begin_ns);
	json_member_int(s.j, "end_ns", r.range.end_ns);
	rc = json_threads(&s);
	json_object_end(s.j);
	if (rc < 0)
		api_fail_range(a, rc);
	a->keeps = r.session.update.state != SESSION_LIVE;
}
