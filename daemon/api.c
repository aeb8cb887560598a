/* SPDX-License-Identifier: MIT */
/*
 * What the handlers have in common: problems, the session that a path names, names of numbers. A
 * caller that may not see a session gets the same answer as for one that does not exist.
 */
#include "api.h"

#include "process.h"
#include "util.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_NS (10 * NS_PER_MS) /* between two looks */

const char *const api_discard_names[DISCARD_REASONS] = {
	"malformed", "time", "quota", "hook_mark", "not_recording", "foreign_mark"};
const char *const api_repair_names[REPAIR_KINDS] = {
	"unbalanced_end",   "stray_end",      "truncated_zone", "depth_limit",
	"foreign_mark",	    "time_backwards", "late_event",	"gpu_dropped",
	"counters_refused", "clock_step",     "head_backwards", "gpu_missing"};
const char *const api_refused_names[8] = {"threads", "markers",	  "names", "truncated",
					  "events",  "arguments", NULL,	   NULL};

void api_answer_deinit(struct api_answer *a)
{
	json_free(&a->body);
	if (a->fd > 0)
		close(a->fd);
	a->fd = 0;
}

api_handler api_handler_of(enum route_id id)
{
	static const api_handler handlers[] = {
		[ROUTE_CAPTURES] = api_captures,
		[ROUTE_CAPTURE_SAVE] = api_capture_save,
		[ROUTE_CAPTURE_UPLOAD] = api_capture_upload,
		[ROUTE_EXPORT] = api_export,
		[ROUTE_IMPORT] = api_import,
		[ROUTE_CAPTURE] = api_capture,
		[ROUTE_CAPTURE_EDIT] = api_capture_edit,
		[ROUTE_CAPTURE_DELETE] = api_capture_delete,
		[ROUTE_CAPTURE_FILE] = api_capture_file,
		[ROUTE_STATUS] = api_status,
		[ROUTE_SESSIONS] = api_sessions,
		[ROUTE_SESSION] = api_session,
		[ROUTE_FRAMES] = api_frames,
		[ROUTE_ZONES] = api_zones,
		[ROUTE_STATS] = api_stats,
		[ROUTE_TIMELINE] = api_timeline,
		[ROUTE_FRAME] = api_frame,
		[ROUTE_THREADS] = api_threads,
		[ROUTE_STREAMS] = api_streams,
		[ROUTE_OPENAPI] = api_asset,
		[ROUTE_QUERY] = api_query,
		[ROUTE_QUERY_POST] = api_query,
		[ROUTE_HEALTHZ] = api_health,
		[ROUTE_READYZ] = api_ready,
		[ROUTE_METRICS] = api_metrics,
		[ROUTE_VERDICT] = api_verdicts,
		[ROUTE_CRITICAL_PATH] = api_critical_path,
		[ROUTE_CRITICAL_PATHS] = api_critical_paths,
		[ROUTE_SCHEDULE] = api_schedule,
		[ROUTE_COUNTERS] = api_counters,
		[ROUTE_RECORDING] = api_recording,
		[ROUTE_RECORDING_SET] = api_recording_set,
		[ROUTE_SAMPLES] = api_samples,
		[ROUTE_SAMPLING] = api_sampling,
		[ROUTE_SAMPLING_SET] = api_sampling_set,
		[ROUTE_CLEAR] = api_clear,
		[ROUTE_DETAIL] = api_detail,
		[ROUTE_DETAIL_SET] = api_detail_set,
		[ROUTE_ATTACHMENTS] = api_attachments,
		[ROUTE_ATTACH] = api_attach,
		[ROUTE_DETACH] = api_detach,
		[ROUTE_CONSUMER_TAKE] = api_consumer_take,
		[ROUTE_CONSUMER_RENEW] = api_consumer_renew,
		[ROUTE_CONSUMER_RELEASE] = api_consumer_release,
		[ROUTE_COUNTER] = api_counter,
		[ROUTE_ASSET] = api_asset,
		[ROUTE_CHECK] = api_check,
		[ROUTE_SESSION_CHECK] = api_check,
		[ROUTE_SNAPSHOT] = api_snapshot,
		[ROUTE_DIFF] = api_diff,
		[ROUTE_TRIGGERS] = api_triggers,
		[ROUTE_TRIGGERS_PUT] = api_triggers_put,
		[ROUTE_SPIKES] = api_spikes,
		[ROUTE_SESSION_SPIKES] = api_session_spikes,
	};

	return handlers[id];
}

void api_fail(struct api_answer *a, const struct api_problem *problem, const char *format, ...)
{
	char type[64], detail[512];
	const char *const *p;
	struct json *j = &a->body;
	va_list args;

	api_answer_deinit(a);
	a->asset = NULL;
	a->filename[0] = '\0';
	a->keeps = false;
	a->status = problem->status;
	a->type = "application/problem+json";
	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	snprintf(type, sizeof(type), "/problems/%s", problem->type);
	json_object_begin(j);
	json_member_string(j, "type", type);
	json_member_string(j, "title", problem->title);
	json_member_uint(j, "status", problem->status);
	json_member_string(j, "detail", detail);
	if (problem->parameter)
		json_member_string(j, "parameter", problem->parameter);
	if (problem->allowed) {
		json_key(j, "allowed");
		json_array_begin(j);
		for (p = problem->allowed; *p; p++)
			json_string(j, *p);
		json_array_end(j);
	}
	json_object_end(j);
}

void api_fail_parameter(struct api_answer *a, const char *parameter, const char *value,
			const char *const *allowed)
{
	const struct api_problem problem = {400, "bad-parameter",
					    "A parameter has a value that is not allowed",
					    parameter, allowed};

	api_fail(a, &problem, "%s=%.64s is not allowed", parameter, value);
}

void api_fail_frames(struct api_answer *a, uint64_t from, uint64_t to, uint64_t most)
{
	char text[48] = "from or more";
	const char *const allowed[] = {text, NULL};
	const struct api_problem problem = {
		400, "bad-parameter", "A parameter has a value that is not allowed", "to", allowed};
	unsigned long long frames = to - from + 1;

	if (most)
		snprintf(text, sizeof(text), "from..from+%llu", (unsigned long long)most - 1);
	if (to < from)
		api_fail(a, &problem, "to=%llu is below from=%llu", (unsigned long long)to,
			 (unsigned long long)from);
	else
		api_fail(a, &problem, "from=%llu to=%llu are %llu frames: %llu at most",
			 (unsigned long long)from, (unsigned long long)to, frames,
			 (unsigned long long)most);
}

static void fail_unknown(struct api_answer *a, const struct route_request *route)
{
	const struct api_problem problem = {
		400, "unknown-parameter", "The query has a parameter that this path does not know",
		route->bad, route->route->params};

	api_fail(a, &problem, "%s does not know the parameter %.64s", route->path, route->bad);
}

static void fail_method(struct api_answer *a, const struct route_request *route)
{
	static const struct api_problem wrong = {405, "method-not-allowed",
						 "The method is not allowed", NULL, NULL};
	char allow[sizeof(a->allow)] = "";
	size_t n = 0;
	int i;

	for (i = 0; i < ROUTE_METHODS; i++)
		if (route->methods & 1u << i)
			n += (size_t)snprintf(allow + n, sizeof(allow) - n, "%s%s%s", n ? ", " : "",
					      i == ROUTE_GET ? "GET, HEAD" : "",
					      i == ROUTE_GET ? "" : route_method_name(i));
	api_fail(a, &wrong, "%s takes %s", route->path, allow);
	memcpy(a->allow, allow, sizeof(allow));
}

void api_fail_route(struct api_answer *a, const struct route_request *route, int error)
{
	static const struct api_problem too_long = {414, "too-long", "The address is too long",
						    NULL, NULL};
	static const struct api_problem malformed = {400, "bad-request", "The request is malformed",
						     NULL, NULL};
	struct api_problem repeated = {400, "repeated-parameter", "A parameter is given twice",
				       route->bad, NULL};

	switch (error) {
	case -EOPNOTSUPP:
		fail_method(a, route);
		break;
	case -ENAMETOOLONG:
		api_fail(a, &too_long, "Path and query may have %d bytes", ROUTE_URI_MAX);
		break;
	case -ENOKEY:
		fail_unknown(a, route);
		break;
	case -EEXIST:
		api_fail(a, &repeated, "The parameter %.64s is given twice", route->bad);
		break;
	case -E2BIG:
		api_fail(a, &malformed, "A query may have %d parameters", ROUTE_PARAMS_MAX);
		break;
	default:
		api_fail(a, &malformed,
			 "The address is no path of UTF-8 with %%XX escapes of printable "
			 "characters");
	}
}

void api_fail_history(struct api_answer *a, int error, const char *what)
{
	const struct api_problem missing = {404, "not-found", "There is no such thing", NULL, NULL};
	const struct api_problem broken = {503, "history-unavailable", "The history cannot be read",
					   NULL, NULL};

	if (error == -ENOENT)
		api_fail(a, &missing, "There is no such %s, or it is gone from the history", what);
	else
		api_fail(a, &broken, "Reading the %s failed: %s", what, strerror(-error));
}

void api_fail_memory(struct api_answer *a, const char *what)
{
	static const struct api_problem memory = {503, "no-memory", "Out of memory", NULL, NULL};

	api_fail(a, &memory, "%s", what);
}

void api_reader_release(struct api_reader *reader)
{
	if (reader->readers)
		readers_put(reader->readers, reader->history);
	if (reader->captures)
		captures_put(reader->captures, reader->capture, reader->history);
	*reader = (struct api_reader){0};
}

int api_look_again(struct history *h, uint64_t id, struct history_session *s)
{
	const struct timespec moment = clock_timespec(MOMENT_NS);

	nanosleep(&moment, NULL);
	history_session_deinit(s);
	memset(s, 0, sizeof(*s));
	return history_session(h, id, HISTORY_ANY_UID, s);
}

/* Has its process been waited for, though it is live still? One without a start was never watched.
 */
static bool is_ending(const struct history_session *s)
{
	struct process_stat stat;
	int r;

	if (s->update.state != SESSION_LIVE || s->row.process_start == 0)
		return false;
	r = process_stat(s->row.pid, &stat);
	return r == -ESRCH || (r == 0 && stat.start != s->row.process_start);
}

/* Whoever waited for a game and asks then sees all of it: that is stored in a moment. */
static int await_end(struct history *h, struct history_session *s, uint64_t until)
{
	int r = 0;

	while (r == 0 && is_ending(s) && clock_ns(CLOCK_MONOTONIC) < until)
		r = api_look_again(h, s->row.id, s);
	return r;
}

int api_list_sessions(const struct api *api, uint32_t uid, struct api_reader *ret_reader,
		      history_sessions_vec *ret_sessions)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + API_WAIT_NS;
	size_t i;
	int r;

	/* A game may have had no more time than to say hello. */
	store_await_sessions(api->context->store, until);
	r = readers_take(api->readers, &ret_reader->history);
	if (r < 0)
		return r;
	ret_reader->readers = api->readers;
	r = history_sessions(ret_reader->history, uid, ret_sessions);
	for (i = 0; r == 0 && i < ret_sessions->count; i++)
		r = await_end(ret_reader->history, &ret_sessions->at[i], until);
	if (r < 0)
		history_sessions_free(ret_sessions);
	return r;
}

static int open_recorded(const struct api *api, const struct api_request *q, uint64_t id,
			 struct api_reader *ret_reader, struct history_session *ret_session)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + API_WAIT_NS;
	int rc;

	if (id == 0) /* the newest */
		store_await_sessions(api->context->store, until);
	rc = readers_take(api->readers, &ret_reader->history);
	if (rc < 0)
		return rc;
	ret_reader->readers = api->readers;
	rc = history_session(ret_reader->history, id, q->uid, ret_session);
	if (rc == 0)
		rc = await_end(ret_reader->history, ret_session, until);
	if (rc < 0)
		api_reader_release(ret_reader);
	return rc;
}

static int open_capture(const struct api *api, const struct api_request *q, uint64_t id,
			struct api_reader *ret_reader, struct history_session *ret_session)
{
	struct captures *captures = api->context->captures;
	int rc = captures_take(captures, id, q->uid, &ret_reader->history);

	if (rc < 0)
		return rc;
	ret_reader->captures = captures;
	ret_reader->capture = id;
	rc = history_session(ret_reader->history, id, HISTORY_ANY_UID, ret_session);
	if (rc < 0)
		api_reader_release(ret_reader);
	return rc == -ENOENT ? -EBADMSG : rc;
}

bool api_open_session_text(const struct api *api, const struct api_request *q, const char *text,
			   const char *parameter, struct api_answer *a,
			   struct api_reader *ret_reader, struct history_session *ret_session)
{
	static const char *const allowed[] = {"current", "a session's number, from 1", NULL};
	static const struct api_problem damaged = {503, "capture-damaged", "A capture is damaged",
						   NULL, NULL};
	uint64_t id;
	int rc;

	if (route_session(text, &id) < 0) {
		api_fail_parameter(a, parameter, text, allowed);
		return false;
	}
	rc = open_recorded(api, q, id, ret_reader, ret_session);
	if (rc == -ENOENT && id)
		rc = open_capture(api, q, id, ret_reader, ret_session);
	if (rc == -EBADMSG)
		api_fail(a, &damaged, "The file of capture %s is damaged: see the log", text);
	else if (rc < 0)
		api_fail_history(a, rc, "session");
	return !rc;
}

bool api_open_session(const struct api *api, const struct api_request *q, struct api_answer *a,
		      struct api_reader *ret_reader, struct history_session *ret_session)
{
	return api_open_session_text(api, q, q->route.id, "id", a, ret_reader, ret_session);
}

void api_json_ns(struct json *j, const char *key, int64_t ns)
{
	json_key(j, key);
	if (ns == NS_UNKNOWN)
		json_null(j);
	else
		json_int(j, ns);
}

void api_json_utc(struct json *j, const char *key, uint64_t utc_ns)
{
	time_t seconds = (time_t)(utc_ns / 1000000000u);
	char day[32], text[48];
	struct tm tm;

	json_key(j, key);
	if (!utc_ns || !gmtime_r(&seconds, &tm) ||
	    !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm)) {
		json_null(j);
		return;
	}
	snprintf(text, sizeof(text), "%s.%09uZ", day, (unsigned)(utc_ns % 1000000000u));
	json_string(j, text);
}

const char *api_unit_name(uint8_t unit)
{
	static const char *const names[FPROF_UNITS] = {"count", "bytes", "ms", "percent"};

	return unit < FPROF_UNITS ? names[unit] : "count";
}

const char *api_clock_name(uint32_t kind)
{
	switch (kind) {
	case FPROF_CLOCK_TSC:
		return "tsc";
	case FPROF_CLOCK_CNTVCT:
		return "cntvct";
	default:
		return "monotonic";
	}
}

const char *api_state_name(enum session_state state)
{
	static const char *const names[] = {"live", "ended", "crashed"};

	return (unsigned)state < ARRAY_SIZE(names) ? names[state] : "ended";
}

const char *api_kind_name(int capture_kind)
{
	static const char *const names[] = {"capture", "spike",	 "crash",
					    "upload",  "import", "snapshot"};

	return (unsigned)capture_kind < ARRAY_SIZE(names) ? names[capture_kind] : "recorded";
}

uint64_t api_lost_events(const struct session_update_row *u)
{
	return count_add(count_add(u->overwritten, u->dropped_reentrant),
			 u->refused[FPROF_REFUSED_EVENTS]);
}

void api_asset(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const struct api_problem missing = {404, "not-found", "There is no such thing", NULL,
						   NULL};
	const char *path = q->route.path;

	(void)api;
	if (q->route.route->id == ROUTE_OPENAPI)
		path = "openapi.yaml";
	else if (!strcmp(path, "/"))
		path = "/index.html";
	a->asset = assets_find(path);
	if (!a->asset || (path[0] != '/' && q->route.route->id != ROUTE_OPENAPI)) {
		api_fail(a, &missing, "%s is no path of this server", q->route.path);
		return;
	}
	a->status = 200;
	a->type = a->asset->type;
	a->keeps = true;
}

static void answer_text(struct api_answer *a, unsigned status, const char *text)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	json_bytes(&a->body, text, strlen(text));
}

void api_health(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	(void)api;
	(void)q;
	answer_text(a, 200, "ok\n");
}

/* Ready: the history can be read. */
void api_ready(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_reader_ struct api_reader reader = {0};
	history_sessions_vec sessions = {0};
	int rc = readers_take(api->readers, &reader.history);

	(void)q;
	if (!rc) {
		reader.readers = api->readers;
		rc = history_sessions(reader.history, HISTORY_ANY_UID, &sessions);
	}
	if (rc < 0) {
		api_fail_history(a, rc, "list of sessions");
		a->status = 503;
		return;
	}
	history_sessions_free(&sessions);
	answer_text(a, 200, "ready\n");
}
