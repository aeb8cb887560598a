// SPDX-License-Identifier: MIT
/*
 * Leases on recording: whoever takes one says which session it wants to see, for how long, and
 * renews it before that is over. A program that dies lets go by itself.
 */
#include "api_body.h"
#include "consumers.h"
#include "control_set.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define LEASE_DEFAULT_S 30

static struct consumers *consumers_here(const struct api *api)
{
	return control_set_consumers(drain_controls(api->context->drain));
}

static void json_consumer(struct json *j, const struct consumer *c, unsigned lease_s)
{
	json_object_begin(j);
	json_member_string(j, "token", c->token);
	json_member_uint(j, "session", c->session);
	json_member_uint(j, "lease_s", lease_s);
	json_object_end(j);
}

static bool parse_lease(const struct body *body, struct api_answer *a, unsigned *ret_lease_s)
{
	static const char *const allowed[] = {"1..3600", NULL};
	int64_t lease_s = body_integer(body, "lease_s");

	*ret_lease_s = LEASE_DEFAULT_S;
	if (body_kind(body, "lease_s") == BODY_ABSENT)
		return true;
	if (lease_s < 1 || lease_s > CONSUMER_LEASE_MAX_S) {
		api_fail_member(a, "lease_s", allowed);
		return false;
	}
	*ret_lease_s = (unsigned)lease_s;
	return true;
}

/* The session that the body must name. */
static bool find_session(const struct api *api, const struct api_request *q, struct api_answer *a,
			 const struct body *body, uint64_t *ret_session)
{
	static const char *const allowed[] = {"current", "a session's number, from 1", NULL};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct control_view view;
	char text[API_SESSION_TEXT];

	if (body_kind(body, "session") == BODY_ABSENT) {
		api_fail_member(a, "session", allowed);
		return false;
	}
	if (!api_body_session(body, a, text) ||
	    !api_open_session_text(api, q, text, "session", a, &reader, &s))
		return false;
	*ret_session = s.row.id;
	if (control_set_view(drain_controls(api->context->drain), s.row.id, &view) == 0)
		return true;
	api_fail_not_live(a, s.row.id);
	return false;
}

void api_consumer_take(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"session", "lease_s", NULL};
	static const struct api_problem full = {503, "too-many-consumers",
						"Too many consumers hold sessions", NULL, NULL};
	_cleanup_body_ struct body *body = NULL;
	struct consumer consumer;
	uint64_t session;
	unsigned lease_s;
	int r;

	if (!api_body(q, a, known, &body) || !parse_lease(body, a, &lease_s) ||
	    !find_session(api, q, a, body, &session))
		return;
	r = consumers_take(consumers_here(api), session, q->uid, lease_s, clock_ns(CLOCK_MONOTONIC),
			   &consumer);
	if (r < 0) {
		api_fail(a, &full, "At most %d may hold a session at once, %d of one user: %s",
			 CONSUMERS_MAX, CONSUMERS_UID, strerror(-r));
		return;
	}
	control_set_update(drain_controls(api->context->drain));
	a->status = 201;
	json_consumer(&a->body, &consumer, lease_s);
}

static void fail_token(struct api_answer *a)
{
	static const struct api_problem missing = {404, "not-found", "There is no such thing",
						   "name", NULL};

	api_fail(a, &missing, "There is no such consumer: it was released, or its lease ran out");
}

void api_consumer_renew(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"lease_s", NULL};
	_cleanup_body_ struct body *body = NULL;
	struct consumer consumer;
	unsigned lease_s = LEASE_DEFAULT_S;

	if (q->body_bytes > 0 && (!api_body(q, a, known, &body) || !parse_lease(body, a, &lease_s)))
		return;
	if (consumers_renew(consumers_here(api), q->route.name, q->uid, lease_s,
			    clock_ns(CLOCK_MONOTONIC), &consumer) < 0)
		fail_token(a);
	else
		json_consumer(&a->body, &consumer, lease_s);
}

void api_consumer_release(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	if (consumers_release(consumers_here(api), q->route.name, q->uid,
			      clock_ns(CLOCK_MONOTONIC)) < 0) {
		fail_token(a);
		return;
	}
	control_set_update(drain_controls(api->context->drain));
	json_object_begin(&a->body);
	json_member_bool(&a->body, "released", true);
	json_object_end(&a->body);
}
