// SPDX-License-Identifier: MIT
/*
 * Whether a session records, and emptying its history. A session that is not live any more is
 * stopped for good, and only its history can be read; it is not cleared either, as nothing would
 * come after.
 */
#include "api_body.h"
#include "control_set.h"

#include <errno.h>
#include <string.h>

static const char *const states[] = {"stopped", "recording", "frozen", NULL};

const char *api_record_name(uint32_t state)
{
	return state <= FPROF_STATE_FROZEN ? states[state] : states[0];
}

/* What is ordered and what holds; of a session that has ended, what held last. */
static void view_of(const struct api *api, const struct history_session *s,
		    struct control_view *ret_view, bool *ret_live)
{
	*ret_live = control_set_view(drain_controls(api->context->drain), s->row.id, ret_view) == 0;
	if (*ret_live)
		return;
	*ret_view = (struct control_view){
		.ordered = FPROF_STATE_STOPPED,
		.in_force = FPROF_STATE_STOPPED,
	};
}

void api_json_recording(struct json *j, const struct api *api, const struct history_session *s)
{
	struct control_view view;
	bool live;

	view_of(api, s, &view, &live);
	json_object_begin(j);
	json_member_uint(j, "session", s->row.id);
	json_member_bool(j, "live", live);
	json_member_string(j, "state", api_record_name(view.ordered));
	json_member_string(j, "in_force", api_record_name(view.in_force));
	json_key(j, "from_frame");
	if (view.frame > 0)
		json_uint(j, view.frame);
	else
		json_null(j);
	json_member_bool(j, "on_demand", view.on_demand);
	json_member_bool(j, "waits_for_consumer", view.waits);
	json_member_uint(j, "consumers", view.consumers);
	json_member_bool(j, "allocations", view.allocations);
	json_object_end(j);
}

void api_recording(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	if (api_open_session(api, q, a, &reader, &s))
		api_json_recording(&a->body, api, &s);
}

static bool parse_state(const struct body *body, enum fprof_record_state *ret_state)
{
	const char *text = body_text(body, "state");
	unsigned i;

	for (i = 0; text && states[i]; i++)
		if (!strcmp(text, states[i])) {
			*ret_state = (enum fprof_record_state)i;
			return true;
		}
	return false;
}

static void fail_order(struct api_answer *a, uint64_t session, int error)
{
	static const struct api_problem stopped = {409, "not-recording",
						   "The session is not recording", "state", NULL};

	if (error == -EINVAL)
		api_fail(a, &stopped,
			 "Session %llu is stopped: only one that is recording can be frozen",
			 (unsigned long long)session);
	else
		api_fail_not_live(a, session);
}

void api_recording_set(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"state", "allocations", NULL};
	static const char *const flags[] = {"true", "false", NULL};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	_cleanup_body_ struct body *body = NULL;
	enum fprof_record_state state = FPROF_STATE_STOPPED;
	enum body_kind allocations;
	bool orders;
	int r;

	if (!api_open_session(api, q, a, &reader, &s) || !api_body(q, a, known, &body))
		return;
	allocations = body_kind(body, "allocations");
	if (allocations != BODY_ABSENT && allocations != BODY_BOOL) {
		api_fail_member(a, "allocations", flags);
		return;
	}
	orders = body_kind(body, "state") != BODY_ABSENT || allocations == BODY_ABSENT;
	if (orders && !parse_state(body, &state)) {
		api_fail_member(a, "state", states);
		return;
	}
	r = orders ? drain_session_record(api->context->drain, s.row.id, state) : 0;
	if (r == 0 && allocations == BODY_BOOL)
		r = control_set_allocations(drain_controls(api->context->drain), s.row.id,
					    body_bool(body, "allocations"));
	if (r < 0)
		fail_order(a, s.row.id, r);
	else
		api_json_recording(&a->body, api, &s);
}

void api_clear(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	int r;

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	r = drain_session_clear(api->context->drain, s.row.id);
	if (r == 0)
		store_flush(api->context->store);
	if (r == -ENOMEM || r == -ETIMEDOUT)
		api_fail_history(a, r, "session");
	else if (r < 0)
		api_fail_not_live(a, s.row.id);
	else
		api_json_recording(&a->body, api, &s);
}
