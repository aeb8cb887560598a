/* SPDX-License-Identifier: MIT */
/* Sessions: the list, one of them, its threads and its frame streams. */
#include "api.h"

#include "shm/clock_source.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define SESSIONS_DEFAULT 100
#define SESSIONS_MAX	 1000

static void json_counts(struct json *j, const char *key, const char *const *names,
			const uint64_t *counts, size_t n)
{
	size_t i;

	json_key(j, key);
	json_object_begin(j);
	for (i = 0; i < n; i++)
		if (names[i])
			json_member_uint(j, names[i], counts[i]);
	json_object_end(j);
}

static void json_losses(struct json *j, const struct session_update_row *u)
{
	json_key(j, "losses");
	json_object_begin(j);
	json_member_uint(j, "overwritten", u->overwritten);
	json_member_uint(j, "reentrant", u->dropped_reentrant);
	json_counts(j, "discarded", api_discard_names, u->discarded, DISCARD_REASONS);
	json_counts(j, "repaired", api_repair_names, u->repaired, REPAIR_KINDS);
	json_counts(j, "refused", api_refused_names, u->refused, 8);
	json_object_end(j);
}

static void json_ledger(struct json *j, const struct session_update_row *u)
{
	uint64_t discarded = 0;
	unsigned i;

	for (i = 0; i < DISCARD_REASONS; i++)
		discarded += u->discarded[i];
	json_key(j, "ledger");
	json_object_begin(j);
	json_member_uint(j, "produced", u->produced);
	json_member_uint(j, "received", u->received);
	json_member_uint(j, "overwritten", u->overwritten);
	json_member_uint(j, "stored", u->stored);
	json_member_uint(j, "discarded", discarded);
	json_object_end(j);
}

/* In the game: events of a frame, times what an event costs on this machine. */
void api_json_own_cost(struct json *j, const struct api *api, const struct session_update_row *u)
{
	double events = u->frames_total ? (double)u->received / (double)u->frames_total : 0;

	json_key(j, "own_cost");
	if (!u->frames_total) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_double(j, "events_per_frame", events);
	json_member_double(j, "event_ns", api->event_cost_ns);
	json_member_double(j, "frame_ns", events * api->event_cost_ns);
	json_object_end(j);
}

static void json_identity(struct json *j, const struct session_row *r)
{
	json_member_int(j, "pid", r->pid);
	json_member_int(j, "ns_pid", r->ns_pid);
	json_member_uint(j, "uid", r->uid);
	json_member_string(j, "name", r->name);
	json_member_string(j, "exe", r->exe);
	json_member_string(j, "build_id", r->build_id);
	json_key(j, "facts");
	json_raw(j, r->facts_json);
	api_json_utc(j, "start_utc", r->start_utc_ns);
}

static void json_versions(struct json *j, const struct session_row *r)
{
	char text[48];

	json_key(j, "clock");
	json_object_begin(j);
	json_member_string(j, "kind", api_clock_name(r->clock_kind));
	json_member_double(j, "hz", r->clock_hz);
	json_object_end(j);
	snprintf(text, sizeof(text), "%u.%u", r->abi_major, r->abi_minor);
	json_member_string(j, "abi", text);
	snprintf(text, sizeof(text), "%u.%u.%u", r->library_version >> 16 & 0xffff,
		 r->library_version >> 8 & 0xff, r->library_version & 0xff);
	json_member_string(j, "library_version", text);
}

static void json_end(struct json *j, const struct session_update_row *u)
{
	bool recording = u->state == SESSION_LIVE && !u->fault;

	json_member_string(j, "recording_state",
			   recording ? api_record_name(u->record_in_force) : "stopped");
	json_member_string(j, "fault", u->fault);
	json_member_string(j, "end_reason", u->end_reason);
	json_key(j, "end_ns");
	if (u->state == SESSION_LIVE || u->end_ns < 0)
		json_null(j);
	else
		json_int(j, u->end_ns);
	json_member_bool(j, "end_known", !u->end_unknown);
}

void api_json_range(struct json *j, const char *key, uint64_t first, uint64_t last)
{
	json_key(j, key);
	if (!first) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "first", first);
	json_member_uint(j, "last", last);
	json_object_end(j);
}

void api_json_retained(struct json *j, const struct history_session *s)
{
	json_member_uint(j, "frames_total", s->update.frames_total);
	json_member_uint(j, "frames_retained", s->frames_retained);
	api_json_range(j, "retained", s->first_retained, s->last_frame);
	api_json_range(j, "rows", s->first_frame, s->last_frame);
}

static void json_info(struct json *j, const struct history_session *s)
{
	size_t i;

	json_key(j, "info");
	json_object_begin(j);
	for (i = 0; i < s->infos.count; i++) {
		json_key_string(j, s->infos.at[i].key);
		json_string(j, s->infos.at[i].value);
	}
	json_object_end(j);
}

void api_json_session(struct json *j, const struct api *api, const struct history_session *s,
		      const history_streams_vec *streams)
{
	const struct session_update_row *u = &s->update;
	size_t i;

	json_object_begin(j);
	json_member_uint(j, "id", s->row.id);
	json_member_string(j, "kind", api_kind_name(s->capture_kind));
	json_member_bool(j, "attached", s->attached);
	json_member_string(j, "state", api_state_name(u->state));
	json_identity(j, &s->row);
	json_versions(j, &s->row);
	json_end(j, u);
	json_member_uint(j, "threads", s->threads);
	json_member_uint(j, "threads_active", u->state == SESSION_LIVE ? u->threads_active : 0);
	api_json_retained(j, s);
	json_member_uint(j, "chunk_bytes", s->chunk_bytes);
	json_member_uint(j, "lost_events", api_lost_events(u));
	json_losses(j, u);
	json_ledger(j, u);
	api_json_own_cost(j, api, u);
	json_member_double(j, "ring_fill_max", u->ring_fill_max_permille / 1000.0);
	json_info(j, s);
	json_key(j, "streams");
	json_array_begin(j);
	for (i = 0; i < streams->count; i++)
		json_string(j, streams->at[i].name);
	json_array_end(j);
	json_object_end(j);
}

static void free_streams(history_streams_vec *streams)
{
	size_t i;

	for (i = 0; i < streams->count; i++)
		free(streams->at[i].name);
	VEC_FREE(streams);
}

static void free_tracks(history_tracks_vec *tracks)
{
	size_t i;

	for (i = 0; i < tracks->count; i++)
		free(tracks->at[i].name);
	VEC_FREE(tracks);
}

static void json_listed(struct json *j, const struct api *api, struct history *h,
			const struct history_session *s)
{
	__attribute__((cleanup(free_streams))) history_streams_vec streams = {0};

	history_streams(h, s->row.id, &streams);
	api_json_session(j, api, s, &streams);
}

/* One that cannot be read is in the list of captures, not in that of sessions. */
static bool json_listed_capture(struct json *j, const struct api *api,
				const struct capture *capture)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	struct history *h;
	bool read;

	if (captures_peek(api->context->captures, capture, &h) < 0)
		return false;
	read = history_session(h, capture->session, HISTORY_ANY_UID, &s) == 0;
	if (read)
		json_listed(j, api, h, &s);
	history_close(h);
	return read;
}

/* The newest count of both, by id. */
static void json_list(struct json *j, const struct api *api, struct history *h,
		      const history_sessions_vec *sessions, const captures_vec *captures,
		      size_t count)
{
	size_t recorded = 0, captured = 0, unreadable = 0;

	json_object_begin(j);
	json_key(j, "sessions");
	json_array_begin(j);
	while (recorded + captured - unreadable < count &&
	       (recorded < sessions->count || captured < captures->count)) {
		if (recorded == sessions->count ||
		    (captured < captures->count &&
		     captures->at[captured].session > sessions->at[recorded].row.id)) {
			unreadable += !json_listed_capture(j, api, &captures->at[captured]);
			captured++;
		} else {
			json_listed(j, api, h, &sessions->at[recorded++]);
		}
	}
	json_array_end(j);
	json_member_uint(j, "total", sessions->count + captures->count - unreadable);
	json_object_end(j);
}

void api_sessions(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const allowed[] = {"1..1000", NULL};
	__attribute__((cleanup(history_sessions_free))) history_sessions_vec sessions = {0};
	__attribute__((cleanup(captures_vec_free))) captures_vec captures = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	const char *last = route_value(&q->route, "last");
	uint64_t count = SESSIONS_DEFAULT;
	int rc;

	if (last && route_number(last, 1, SESSIONS_MAX, &count) < 0) {
		api_fail_parameter(a, "last", last, allowed);
		return;
	}
	rc = api_list_sessions(api, q->uid, &reader, &sessions);
	if (rc < 0) {
		api_fail_history(a, rc, "list of sessions");
		return;
	}
	/* Where the state directory cannot be read there are none: status says so. */
	(void)captures_list(api->context->captures, q->uid, &captures);
	json_list(&a->body, api, reader.history, &sessions, &captures, count);
}

void api_session(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(free_streams))) history_streams_vec streams = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	history_streams(reader.history, s.row.id, &streams);
	api_json_session(&a->body, api, &s, &streams);
}

static const char *track_kind_name(enum track_kind kind)
{
	static const char *const names[] = {"thread", "fiber", "gpu_queue"};

	return (unsigned)kind < ARRAY_SIZE(names) ? names[kind] : "thread";
}

void api_json_ticks(struct json *j, const char *key, const struct session_row *r, int64_t ticks)
{
	struct fprof_clock_rate rate = {.mult = r->clock_mult, .shift = r->clock_shift};

	json_key(j, key);
	if (ticks == INT64_MAX)
		json_null(j);
	else
		json_int(j,
			 fprof_clock_ns(&rate, r->start_ticks, r->start_ticks + (uint64_t)ticks));
}

void api_json_track_members(struct json *j, const struct session_row *r, const struct track_row *t)
{
	json_member_uint(j, "id", t->track);
	json_member_string(j, "kind", track_kind_name(t->kind));
	json_key(j, "tid");
	if (t->kind == TRACK_THREAD)
		json_int(j, t->tid);
	else
		json_null(j);
	json_member_string(j, "name", t->name);
	api_json_ticks(j, "begin_ns", r, t->begin_ticks);
	api_json_ticks(j, "end_ns", r, t->end_ticks);
	if (t->kind == TRACK_GPU_QUEUE) {
		json_member_double(j, "ns_per_tick", t->ns_per_tick);
		json_member_uint(j, "valid_bits", t->valid_bits);
	}
}

static void free_fills(history_fills_vec *fills)
{
	VEC_FREE(fills);
}

/* How full its ring lately was, of a thread that may still write. */
static void json_fill(struct json *j, const struct history_session *s, const struct track_row *t,
		      const history_fills_vec *fills)
{
	bool writes = s->update.state == SESSION_LIVE && t->end_ticks == INT64_MAX;
	size_t i;

	json_key(j, "ring_fill_max");
	for (i = 0; writes && i < fills->count; i++) {
		if (fills->at[i].track != t->track)
			continue;
		json_double(j, fills->at[i].permille / 1000.0);
		return;
	}
	json_null(j);
}

void api_threads(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(free_fills))) history_fills_vec fills = {0};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(free_tracks))) history_tracks_vec tracks = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct json *j = &a->body;
	size_t i;
	int rc;

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	rc = history_tracks(reader.history, s.row.id, &tracks);
	if (rc == 0)
		rc = history_fills(reader.history, s.row.id, &fills);
	if (rc < 0) {
		api_fail_history(a, rc, "list of threads");
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_key(j, "threads");
	json_array_begin(j);
	for (i = 0; i < tracks.count; i++) {
		json_object_begin(j);
		api_json_track_members(j, &s.row, &tracks.at[i]);
		json_fill(j, &s, &tracks.at[i], &fills);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void api_streams(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(free_streams))) history_streams_vec streams = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct json *j = &a->body;
	size_t i;
	int rc;

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	rc = history_streams(reader.history, s.row.id, &streams);
	if (rc < 0) {
		api_fail_history(a, rc, "list of streams");
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_key(j, "streams");
	json_array_begin(j);
	for (i = 0; i < streams.count; i++) {
		json_object_begin(j);
		json_member_uint(j, "id", streams.at[i].stream);
		json_member_string(j, "name", streams.at[i].name);
		json_member_uint(j, "thread", streams.at[i].track);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}
