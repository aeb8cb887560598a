// SPDX-License-Identifier: MIT
/* Spikes and crashes: those that are not saved yet or could not be, then those that are captures;
 * newest first. */
#include "api.h"

#include "captures.h"
#include "spikes.h"

#include <errno.h>

static const char *kind_name(bool crash)
{
	return crash ? "crash" : "spike";
}

static void json_saved(struct json *j, const struct capture *c)
{
	json_object_begin(j);
	json_member_string(j, "state", "saved");
	json_member_uint(j, "id", c->session);
	json_member_uint(j, "session", c->source_session);
	json_member_string(j, "kind", kind_name(c->kind == CAPTURE_CRASH));
	json_member_string(j, "name", c->name);
	json_member_string(j, "note", c->note);
	api_json_utc(j, "created_utc", c->created_utc_ns);
	api_json_range(j, "frames", c->first_frame, c->last_frame);
	json_member_uint(j, "bytes", c->bytes);
	json_key(j, "reason");
	json_raw(j, c->reason_json);
	json_object_end(j);
}

void api_json_spike(struct json *j, const struct spike *s)
{
	static const char *const states[] = {"open", "saved", "failed"};

	json_object_begin(j);
	json_member_string(j, "state", states[s->state]);
	json_key(j, "id");
	if (s->capture)
		json_uint(j, s->capture);
	else
		json_null(j);
	json_member_uint(j, "session", s->session);
	json_member_string(j, "kind", kind_name(s->end));
	json_member_string(j, "name", s->label);
	api_json_range(j, "frames", s->first, s->last);
	json_key(j, "reason");
	json_raw(j, s->reason);
	json_member_string(j, "why", s->why);
	json_object_end(j);
}

static bool is_spike(const struct capture *c, uint64_t session)
{
	return (c->kind == CAPTURE_SPIKE || c->kind == CAPTURE_CRASH) &&
	       (session == 0 || c->source_session == session);
}

static void json_unsaid(struct json *j, const spikes_unsaid_vec *unsaid, uint64_t session)
{
	size_t i;

	json_key(j, "suppressed");
	json_array_begin(j);
	for (i = unsaid->count; i > 0; i--) {
		const struct spike_unsaid *u = &unsaid->at[i - 1];

		if (session > 0 && u->session != session)
			continue;
		json_object_begin(j);
		json_member_uint(j, "session", u->session);
		json_member_uint(j, "count", u->count);
		api_json_range(j, "frames", u->first, u->last);
		json_key(j, "trigger");
		json_raw(j, u->trigger);
		json_object_end(j);
	}
	json_array_end(j);
}

/* session 0: of all. Returns how many there are, or -errno, then nothing was written. */
static int json_spikes(const struct api *api, struct json *j, uint32_t uid, uint64_t session)
{
	captures_vec captures = {0};
	spikes_unsaid_vec unsaid = {0};
	spikes_vec open = {0};
	int count = 0, r = captures_list(api->context->captures, uid, &captures);
	size_t i;

	if (r == 0)
		r = spikes_list(api->context->spikes, uid, &open);
	if (r == 0)
		r = spikes_unsaid(api->context->spikes, uid, &unsaid);
	if (r == 0) {
		json_object_begin(j);
		json_key(j, "spikes");
		json_array_begin(j);
		for (i = open.count; i > 0; i--)
			if (session == 0 || open.at[i - 1].session == session) {
				api_json_spike(j, &open.at[i - 1]);
				count++;
			}
		for (i = 0; i < captures.count; i++)
			if (is_spike(&captures.at[i], session)) {
				json_saved(j, &captures.at[i]);
				count++;
			}
		json_array_end(j);
		json_unsaid(j, &unsaid, session);
		json_object_end(j);
	}
	captures_vec_free(&captures);
	spikes_unsaid_vec_free(&unsaid);
	spikes_vec_free(&open);
	return r < 0 ? r : count;
}

void api_spikes(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	int r = json_spikes(api, &a->body, q->uid, 0);

	if (r < 0)
		api_fail_history(a, r, "list of spikes");
}

/* A session may be gone from the history and have spikes left. */
void api_session_spikes(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	uint64_t session = 0;
	int r = 0;

	if (route_session(q->route.id, &session) == 0 && session > 0)
		r = json_spikes(api, &a->body, q->uid, session);
	if (r > 0)
		return;
	json_free(&a->body);
	if (r < 0) {
		api_fail_history(a, r, "list of spikes");
		return;
	}
	if (!api_open_session(api, q, a, &reader, &s))
		return;
	r = json_spikes(api, &a->body, q->uid, s.row.id);
	if (r < 0)
		api_fail_history(a, r, "list of spikes");
}
