// SPDX-License-Identifier: MIT
/*
 * Whether a session's stacks are sampled: off unless it was ordered. The answer to an order comes
 * when it is in force, or says why it cannot be; one that was is kept with the session.
 */
#include "api_body.h"
#include "control_set.h"
#include "stack_trace.h"

#include <errno.h>

static void json_order(struct json *j, uint64_t session, bool live, const struct stack_order *o)
{
	json_object_begin(j);
	json_member_uint(j, "session", session);
	json_member_bool(j, "live", live);
	json_member_uint(j, "hz", o->hz);
	json_member_uint(j, "samples", o->taken);
	json_member_uint(j, "lost", o->lost);
	json_member_string(j, "reason", *o->reason ? o->reason : NULL);
	json_member_string(j, "fix", *o->fix ? o->fix : NULL);
	json_object_end(j);
}

void api_sampling(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct stack_order order = {0};
	bool live;

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	live = stack_trace_ordered(api->context->stack_trace, s.row.id, &order) == 0;
	json_order(&a->body, s.row.id, live, &order);
}

static bool parse_hz(const struct body *body, const struct config *config, struct api_answer *a,
		     uint32_t *ret_hz)
{
	static const char *const allowed[] = {"0 (off)", "10 to 10000", NULL};
	int64_t hz = body_integer(body, "hz");

	if (body_kind(body, "hz") == BODY_ABSENT)
		hz = config->sampling_hz;
	else if (body_kind(body, "hz") != BODY_INTEGER || hz < 0 || hz > SAMPLING_HZ_MAX ||
		 (hz > 0 && hz < SAMPLING_HZ_MIN)) {
		api_fail_member(a, "hz", allowed);
		return false;
	}
	*ret_hz = (uint32_t)hz;
	return true;
}

static void fail(struct api_answer *a, uint64_t session, const struct stack_order *o, int error)
{
	static const struct api_problem cannot = {503, "source-unavailable",
						  "A source cannot be had", NULL, NULL};

	if (error == -ENOENT)
		api_fail_not_live(a, session);
	else if (error == -EOPNOTSUPP)
		api_fail(a, &cannot, "Stacks cannot be sampled: %s%s%s", o->reason,
			 *o->fix ? ". " : "", o->fix);
	else
		api_fail_history(a, error, "session");
}

void api_sampling_set(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"hz", NULL};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	_cleanup_body_ struct body *body = NULL;
	struct stack_order order = {0};
	uint32_t hz;
	int r;

	if (!api_open_session(api, q, a, &reader, &s) || !api_body(q, a, known, &body) ||
	    !parse_hz(body, api->context->config, a, &hz))
		return;
	r = stack_trace_order(api->context->stack_trace, s.row.id, hz, &order);
	if (r == 0)
		r = control_set_sampling(drain_controls(api->context->drain), s.row.id, order.hz);
	if (r < 0)
		fail(a, s.row.id, &order, r);
	else
		json_order(&a->body, s.row.id, true, &order);
}
