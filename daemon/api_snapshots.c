/* SPDX-License-Identifier: MIT */
/* Taking a snapshot. It is a capture from then on: listed, renamed and deleted as one. */
#include "api_capture.h"

#include "api_body.h"
#include "snapshots.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* What the body asks for. */
struct snapshot_order {
	const char *name;
	char session[API_SESSION_TEXT];
	double seconds;
	uint64_t from, to; /* 0: by seconds */
};

static bool parse_seconds(const struct body *body, struct api_answer *a,
			  struct snapshot_order *order)
{
	static const char *const allowed[] = {"above 0, at most 3600",
					      "not together with from and to", NULL};
	enum body_kind kind = body_kind(body, "seconds");

	order->seconds = SNAPSHOT_SECONDS;
	if (kind == BODY_ABSENT)
		return true;
	order->seconds = body_number(body, "seconds");
	if (!order->from && order->seconds > 0 && order->seconds <= SNAPSHOT_SECONDS_MAX)
		return true;
	api_fail_member(a, "seconds", allowed);
	return false;
}

static bool parse_frames(const struct body *body, struct api_answer *a,
			 struct snapshot_order *order)
{
	static const char *const allowed[] = {"a frame's number, from 1, together with the other",
					      NULL};
	int64_t from = body_integer(body, "from"), to = body_integer(body, "to");

	if (body_kind(body, "from") == BODY_ABSENT && body_kind(body, "to") == BODY_ABSENT)
		return true;
	if (from < 1 || to < 1) {
		api_fail_member(a, from < 1 ? "from" : "to", allowed);
		return false;
	}
	if (to < from) {
		api_fail_frames(a, (uint64_t)from, (uint64_t)to, 0);
		return false;
	}
	order->from = (uint64_t)from;
	order->to = (uint64_t)to;
	return true;
}

static bool parse(const struct body *body, struct api_answer *a, struct snapshot_order *order)
{
	static const char *const allowed[] = {"1 to 128 bytes, no number, not `current`, without "
					      "comma and colon",
					      NULL};

	order->name = body_text(body, "name");
	if (!order->name || !snapshot_name_ok(order->name)) {
		api_fail_member(a, "name", allowed);
		return false;
	}
	return api_body_session(body, a, order->session) && parse_frames(body, a, order) &&
	       parse_seconds(body, a, order);
}

static void answer_saved(const struct api *api, struct api_answer *a,
			 const struct snapshot_order *order, uint64_t id)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	struct json *j = &a->body;
	int r = captures_find(api->context->captures, id, HISTORY_ANY_UID, &c);

	if (r < 0) {
		api_fail_history(a, r, "capture");
		return;
	}
	a->status = 201;
	json_object_begin(j);
	json_member_uint(j, "id", c.session);
	json_member_uint(j, "session", c.session);
	json_member_uint(j, "source_session", c.source_session);
	json_member_string(j, "name", c.name);
	api_json_range(j, "asked", order->from, order->to);
	api_json_range(j, "frames", c.first_frame, c.last_frame);
	json_member_uint(j, "bytes", c.bytes);
	json_object_end(j);
}

/* Waits for the frames up to `to`, for a moment: a session is live until its rings were read. */
static int wait_for(struct history *h, uint64_t to, struct history_session *s)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + API_WAIT_NS;
	int r = 0;

	while (r == 0 && s->update.state == SESSION_LIVE && s->last_frame < to &&
	       clock_ns(CLOCK_MONOTONIC) < until)
		r = api_look_again(h, s->row.id, s);
	return r;
}

static void take(const struct api *api, const struct api_request *q, struct api_answer *a,
		 struct snapshot_order *order)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	uint64_t id = 0;
	int r = 0;

	if (!api_open_session_text(api, q, order->session, "session", a, &reader, &s))
		return;
	if (order->from)
		r = wait_for(reader.history, order->to, &s);
	else
		r = snapshot_last(reader.history, &s, order->seconds, &order->from, &order->to);
	if (r == 0)
		r = snapshot_save(api->context->captures, order->name, s.row.id, order->from,
				  order->to, q->uid, &id);
	if (r < 0) {
		api_fail_capture(a, r);
		return;
	}
	answer_saved(api, a, order, id);
	api_say_saved(api, q, id, order->from, order->to, a);
}

void api_snapshot(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"name", "session", "seconds", "from", "to", NULL};
	_cleanup_body_ struct body *body = NULL;
	struct snapshot_order order = {0};

	if (api_body(q, a, known, &body) && parse(body, a, &order))
		take(api, q, a, &order);
}
