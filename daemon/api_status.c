/* SPDX-License-Identifier: MIT */
/*
 * How the daemon is: what works, what does not and why, what was lost. Totals are over the sessions
 * that the caller may see; those of `fprof selftest`, which are lossy by intent, apart.
 */
#include "api.h"

#include "own.h"
#include "shm/clock_source.h"
#include "shm/layout.h"
#include "util.h"

#include <errno.h>
#include <string.h>

static void json_clock(struct json *j, const struct drain_health *health)
{
	bool invariant = health->clock_kind != FPROF_CLOCK_MONOTONIC;

	json_key(j, "clock");
	json_object_begin(j);
	json_member_string(j, "source", api_clock_name(health->clock_kind));
	json_member_double(j, "hz", health->clock_hz);
	json_member_bool(j, "invariant", invariant);
	json_member_string(j, "calibration",
			   !invariant		  ? "exact"
			   : health->clock_hz > 0 ? "measured"
						  : "none");
	json_member_uint(j, "steps", health->clock_steps);
	json_member_string(j, "error",
			   invariant ? NULL
				     : "the CPU's counter is not invariant, or was not chosen: "
				       "CLOCK_MONOTONIC is read instead, at a higher cost");
	json_object_end(j);
}

static void json_sources(struct json *j, const struct status_snapshot *snapshot)
{
	static const char *const states[] = {"on", "off", "degraded", "unavailable"};
	uint32_t i;

	json_key(j, "sources");
	json_array_begin(j);
	for (i = 0; i < snapshot->source_count; i++) {
		const struct status_source *s = &snapshot->sources[i];

		json_object_begin(j);
		json_member_string(j, "name", s->name);
		json_member_string(j, "state",
				   (unsigned)s->state < ARRAY_SIZE(states) ? states[s->state]
									   : "unavailable");
		json_member_string(j, "reason", *s->reason ? s->reason : NULL);
		json_member_string(j, "fix", *s->fix ? s->fix : NULL);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_refusals(struct json *j, const struct status_snapshot *snapshot)
{
	char theirs[16], ours[16];
	uint32_t i;

	snprintf(ours, sizeof(ours), "%d.%d", FPROF_ABI_MAJOR, FPROF_ABI_MINOR);
	json_key(j, "refusals");
	json_array_begin(j);
	for (i = 0; i < snapshot->refusal_count; i++) {
		const struct status_refusal *r = &snapshot->refusals[i];

		snprintf(theirs, sizeof(theirs), "%u.%u", r->abi_major, r->abi_minor);
		json_object_begin(j);
		json_member_int(j, "pid", r->pid);
		json_member_string(j, "client_abi", r->abi_major || r->abi_minor ? theirs : NULL);
		json_member_string(j, "daemon_abi", ours);
		json_member_string(j, "reason", r->reason);
		api_json_utc(j, "utc", (uint64_t)r->utc_ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_member_uint(j, "refusals_total", snapshot->refusals_total);
}

/* A refused client's user is not known: those who may not see everything see none. */
static void json_no_refusals(struct json *j)
{
	json_key(j, "refusals");
	json_array_begin(j);
	json_array_end(j);
	json_key(j, "refusals_total");
	json_null(j);
}

static void json_history(struct json *j, const struct config *config, const struct store_health *h)
{
	bool disk = h->history == STORE_ON_DISK;

	json_key(j, "history");
	json_object_begin(j);
	json_member_string(j, "place", disk ? "disk" : "memory");
	json_member_string(j, "reason", *h->history_reason ? h->history_reason : NULL);
	json_member_string(j, "directory", config->history_dir);
	json_member_string(j, "directory_reason", config->history_why);
	json_member_uint(j, "used_bytes", h->used_bytes);
	json_member_uint(j, "budget_bytes", h->budget_bytes);
	json_member_uint(j, "raw_bytes", h->raw_bytes);
	json_member_uint(j, "stored_bytes", h->stored_bytes);
	json_member_uint(j, "queued_bytes", h->queued_bytes);
	json_member_uint(j, "commits", h->commits);
	json_member_uint(j, "commit_ns", h->commit_ns_total);
	json_member_uint(j, "evicted_frames", h->evicted_frames);
	json_member_uint(j, "evicted_chunks", h->evicted_chunks);
	json_member_uint(j, "wal_rotations", h->wal_rotations);
	json_member_uint(j, "batches_failed", h->batches_failed);
	json_member_uint(j, "events_dropped", h->events_dropped);
	json_object_end(j);
	json_key(j, "state");
	json_object_begin(j);
	json_member_bool(j, "ok", h->state_ok);
	json_member_string(j, "reason", *h->state_reason ? h->state_reason : NULL);
	json_member_string(j, "directory", config->state_dir);
	json_object_end(j);
}

static void json_drain(struct json *j, const struct drain_health *h)
{
	json_key(j, "drain");
	json_object_begin(j);
	json_member_uint(j, "sessions", h->sessions);
	json_member_uint(j, "sweeps", h->sweeps);
	json_member_uint(j, "events", h->events);
	json_member_uint(j, "cpu_ns", h->busy_ns);
	json_member_uint(j, "pace_ns", h->pace_ns);
	json_object_end(j);
}

/* Of all users' games: told to who may see them. */
static void json_scheduler(struct json *j, const struct api *api, const struct api_request *q)
{
	struct sched_trace_health h;

	json_key(j, "scheduler");
	if (!api_sees_all(q)) {
		json_null(j);
		return;
	}
	sched_trace_health(api->context->sched_trace, &h);
	json_object_begin(j);
	json_member_uint(j, "sessions", h.sessions);
	json_member_uint(j, "events", h.events);
	json_member_uint(j, "lost", h.lost);
	json_member_uint(j, "dropped", h.dropped);
	json_member_uint(j, "missed", h.missed);
	json_member_uint(j, "interruptions", h.interruptions);
	json_member_uint(j, "cpu_ns", h.cost_ns);
	json_member_uint(j, "clock_error_ns", h.clock_error_ns);
	json_object_end(j);
}

/* The same. */
static void json_stacks(struct json *j, const struct api *api, const struct api_request *q)
{
	struct stack_trace_health h;

	json_key(j, "stacks");
	if (!api_sees_all(q)) {
		json_null(j);
		return;
	}
	stack_trace_health(api->context->stack_trace, &h);
	json_object_begin(j);
	json_member_uint(j, "sessions", h.sessions);
	json_member_uint(j, "finishing", h.finishing);
	json_member_uint(j, "samples", h.samples);
	json_member_uint(j, "lost", h.lost);
	json_member_uint(j, "dropped", h.dropped);
	json_member_uint(j, "interruptions", h.interruptions);
	json_member_uint(j, "cpu_ns", h.cost_ns);
	json_object_end(j);
}

static void json_daemon(struct json *j, uint64_t uptime_ns)
{
	struct own_usage usage;

	own_usage(&usage);
	json_key(j, "daemon");
	json_object_begin(j);
	json_member_int(j, "pid", getpid());
	json_member_uint(j, "cpu_ns", usage.cpu_ns);
	json_member_double(j, "cpu_percent",
			   uptime_ns ? 100.0 * (double)usage.cpu_ns / (double)uptime_ns : 0);
	json_member_uint(j, "rss_bytes", usage.rss_bytes);
	json_member_uint(j, "peak_rss_bytes", usage.peak_rss_bytes);
	json_member_uint(j, "private_bytes", usage.rss_private_bytes);
	json_member_uint(j, "threads", usage.threads);
	json_object_end(j);
}

static void json_config(struct json *j, const struct config *c)
{
	json_key(j, "config");
	json_object_begin(j);
	json_member_string(j, "file", c->config_file);
	json_member_string(j, "socket", c->socket_path);
	json_member_string(j, "runtime_dir", c->runtime_dir);
	json_member_uint(j, "history_frames", c->history_frames);
	json_member_uint(j, "history_mib", c->history_mib);
	json_member_uint(j, "history_session_mib", c->history_session_mib);
	json_member_uint(j, "ring_kib", c->ring_kib);
	json_member_uint(j, "memory_mib", c->memory_mib);
	json_member_uint(j, "max_counters", c->max_counters);
	json_member_uint(j, "max_sessions", c->max_sessions);
	json_member_uint(j, "sample_ms", c->sample_ms);
	json_object_end(j);
}

static uint64_t refused_sum(const struct session_update_row *u)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(u->refused); i++)
		n = count_add(n, u->refused[i]);
	return n;
}

static void totals_add(struct api_totals *t, const struct session_update_row *u)
{
	unsigned i;

	t->sessions++;
	t->live += u->state == SESSION_LIVE;
	t->recording += u->state == SESSION_LIVE && !u->fault &&
			u->record_in_force == FPROF_STATE_RECORDING;
	if (u->state == SESSION_LIVE)
		t->threads_active += u->threads_active;
	t->frames += u->frames_total;
	t->received += u->received;
	t->lost = count_add(t->lost, api_lost_events(u));
	t->overwritten += u->overwritten;
	t->reentrant = count_add(t->reentrant, u->dropped_reentrant);
	t->refused = count_add(t->refused, refused_sum(u));
	for (i = 0; i < DISCARD_REASONS; i++)
		t->discarded += u->discarded[i];
	t->not_recording += u->discarded[DISCARD_NOT_RECORDING];
	t->hook_marks += u->discarded[DISCARD_HOOK_MARK];
	t->truncated_zones += u->repaired[REPAIR_TRUNCATED_ZONE];
	t->gpu_dropped = count_add(t->gpu_dropped, u->repaired[REPAIR_GPU_DROPPED]);
	t->gpu_missing += u->repaired[REPAIR_GPU_MISSING];
	t->malformed_scopes += u->repaired[REPAIR_UNBALANCED_END] + u->repaired[REPAIR_STRAY_END] +
			       u->repaired[REPAIR_TRUNCATED_ZONE] + u->repaired[REPAIR_DEPTH];
}

static void json_losses(struct json *j, const struct api_totals *t)
{
	json_key(j, "losses");
	json_object_begin(j);
	json_member_uint(j, "lost_events", t->lost);
	json_member_uint(j, "overwritten", t->overwritten);
	json_member_uint(j, "reentrant", t->reentrant);
	json_member_uint(j, "discarded", t->discarded);
	json_member_uint(j, "not_recording", t->not_recording);
	json_member_uint(j, "hook_marks", t->hook_marks);
	json_member_uint(j, "refused", t->refused);
	json_member_uint(j, "gpu_dropped", t->gpu_dropped);
	json_member_uint(j, "gpu_missing", t->gpu_missing);
	json_member_uint(j, "malformed_scopes", t->malformed_scopes);
	json_member_uint(j, "truncated_zones", t->truncated_zones);
	json_object_end(j);
}

static void json_sessions(struct json *j, const struct api_totals *t, double event_cost_ns)
{
	const char *recording = t->recording ? "recording" : t->live ? "stopped" : "idle";

	json_member_string(j, "recording_state", recording);
	json_key(j, "sessions");
	json_object_begin(j);
	json_member_uint(j, "live", t->live);
	json_member_uint(j, "total", t->sessions);
	json_member_uint(j, "threads_active", t->threads_active);
	json_member_uint(j, "frames", t->frames);
	json_object_end(j);
	json_member_double(j, "event_cost_ns", event_cost_ns);
}

/* The session that `current` stands for: what of it is there, and what recording costs it. */
static void json_current(struct json *j, const struct api *api, uint32_t uid)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	json_key(j, "current");
	if (readers_take(api->readers, &reader.history) == 0)
		reader.readers = api->readers;
	if (!reader.readers || history_session(reader.history, 0, uid, &s) < 0) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_member_string(j, "state", api_state_name(s.update.state));
	api_json_retained(j, &s);
	json_member_uint(j, "lost_events", api_lost_events(&s.update));
	api_json_own_cost(j, api, &s.update);
	json_object_end(j);
}

static bool is_selftest(const struct session_row *r)
{
	return r->name && strncmp(r->name, FPROF_SELFTEST_NAME, strlen(FPROF_SELFTEST_NAME)) == 0;
}

int api_totals_read(const struct api *api, uint32_t uid, struct api_totals *ret_totals)
{
	__attribute__((cleanup(history_sessions_free))) history_sessions_vec sessions = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	size_t i;
	int rc = api_list_sessions(api, uid, &reader, &sessions);

	*ret_totals = (struct api_totals){0};
	for (i = 0; i < sessions.count; i++)
		if (!is_selftest(&sessions.at[i].row))
			totals_add(ret_totals, &sessions.at[i].update);
	return rc;
}

void api_status(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	const struct http_context *context = api->context;
	uint64_t uptime_ns = clock_ns(CLOCK_MONOTONIC) - api->started_ns;
	struct status_snapshot snapshot;
	struct drain_health drain;
	struct store_health store;
	struct api_totals totals;
	struct json *j = &a->body;
	int rc = api_totals_read(api, q->uid, &totals);

	status_snapshot(context->status, &snapshot);
	drain_health(context->drain, &drain);
	if (!api_sees_all(q)) {
		drain.events = totals.received;
		drain.sessions = (uint32_t)totals.live;
	}
	store_health(context->store, &store);
	json_object_begin(j);
	json_member_string(j, "version", FPROF_VERSION);
	json_member_string(j, "api", API_VERSION);
	json_member_uint(j, "uptime_ns", uptime_ns);
	json_clock(j, &drain);
	json_key(j, "loop");
	json_object_begin(j);
	json_member_string(j, "kind", context->loop_kind);
	json_member_string(j, "reason", context->loop_reason);
	json_object_end(j);
	json_key(j, "http");
	json_object_begin(j);
	json_member_string(j, "address", context->config->http_address);
	json_member_uint(j, "port", api->port);
	json_object_end(j);
	json_sources(j, &snapshot);
	json_sessions(j, &totals, api->event_cost_ns);
	json_current(j, api, q->uid);
	json_losses(j, &totals);
	json_history(j, context->config, &store);
	json_drain(j, &drain);
	json_scheduler(j, api, q);
	json_stacks(j, api, q);
	if (api_sees_all(q))
		json_refusals(j, &snapshot);
	else
		json_no_refusals(j);
	json_daemon(j, uptime_ns);
	json_member_uint(j, "stream_clients", stream_hub_clients(api->hub));
	json_config(j, context->config);
	json_member_string(j, "fault",
			   rc < 0 ? "the history cannot be read: totals are missing" : NULL);
	json_object_end(j);
}
