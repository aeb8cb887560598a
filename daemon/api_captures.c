/* SPDX-License-Identifier: MIT */
/*
 * Captures: saved, uploaded, listed, named, deleted, given out. A caller sees and makes its own;
 * who may see all makes them for whoever owns the session.
 */
#include "api_capture.h"

#include "api_body.h"
#include "captures.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define NOTE_BYTES_MAX 65536

static const char *const note_allowed[] = {"a text of up to 65536 bytes", NULL};
static const char *const number_allowed[] = {"a whole number, from 1", NULL};
static const char *const bool_allowed[] = {"true", "false", NULL};

/* Absent: 0. */
static bool take_number(const struct body *body, const char *member, uint64_t *ret,
			struct api_answer *a)
{
	enum body_kind kind = body_kind(body, member);

	if (kind != BODY_ABSENT && (kind != BODY_INTEGER || body_integer(body, member) < 1)) {
		api_fail_member(a, member, number_allowed);
		return false;
	}
	*ret = (uint64_t)body_integer(body, member);
	return true;
}

/* Absent: NULL. */
static bool take_text(const struct body *body, const char *member, size_t min, size_t max,
		      const char **ret, struct api_answer *a)
{
	enum body_kind kind = body_kind(body, member);
	const char *text = body_text(body, member);
	size_t bytes = text ? strlen(text) : 0;

	if (kind != BODY_ABSENT && (kind != BODY_TEXT || bytes < min || bytes > max)) {
		api_fail_member(a, member, min ? api_capture_names : note_allowed);
		return false;
	}
	*ret = text;
	return true;
}

static bool take_texts(const struct body *body, const char **ret_name, const char **ret_note,
		       struct api_answer *a)
{
	return take_text(body, "name", 1, API_NAME_BYTES_MAX, ret_name, a) &&
	       take_text(body, "note", 0, NOTE_BYTES_MAX, ret_note, a);
}

static void json_members(struct json *j, const struct capture *c)
{
	char file[64];

	snprintf(file, sizeof(file), "/api/v1/captures/%" PRIu64 "/file", c->session);
	json_member_uint(j, "id", c->session);
	json_member_string(j, "kind", api_kind_name((int)c->kind));
	json_member_string(j, "name", c->name);
	json_member_string(j, "note", c->note);
	json_key(j, "reason");
	json_raw(j, c->reason_json);
	json_key(j, "source_session");
	if (c->source_session)
		json_uint(j, c->source_session);
	else
		json_null(j);
	json_member_uint(j, "uid", c->uid);
	api_json_utc(j, "created_utc", c->created_utc_ns);
	api_json_range(j, "frames", c->first_frame, c->last_frame);
	json_member_uint(j, "bytes", c->bytes);
	json_member_bool(j, "aggregate", c->aggregate);
	json_member_string(j, "file", file);
}

static void json_capture(struct json *j, const struct capture *c)
{
	json_object_begin(j);
	json_members(j, c);
	json_object_end(j);
}

/* Finds the capture that the path names. False, with the answer filled: there is none. */
static bool find(const struct api *api, const struct api_request *q, struct api_answer *a,
		 struct capture *ret_capture)
{
	uint64_t id;
	int rc;

	if (route_number(q->route.id, 1, INT64_MAX, &id) < 0) {
		api_fail_parameter(a, "id", q->route.id, number_allowed);
		return false;
	}
	rc = captures_find(api->context->captures, id, q->uid, ret_capture);
	if (rc == -ENOENT)
		api_fail_history(a, rc, "capture");
	else if (rc < 0)
		api_fail_capture(a, rc);
	return rc == 0;
}

static void answer_made(const struct api *api, uint64_t session, struct api_answer *a)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	int rc = captures_find(api->context->captures, session, HISTORY_ANY_UID, &c);

	if (rc < 0) {
		api_fail_capture(a, rc);
		return;
	}
	json_capture(&a->body, &c);
	a->status = 201;
}

void api_captures(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(captures_vec_free))) captures_vec list = {0};
	struct json *j = &a->body;
	uint64_t bytes = 0;
	size_t i;
	int rc = captures_list(api->context->captures, q->uid, &list);

	if (rc < 0) {
		api_fail_capture(a, rc);
		return;
	}
	json_object_begin(j);
	json_key(j, "captures");
	json_array_begin(j);
	for (i = 0; i < list.count; i++) {
		json_capture(j, &list.at[i]);
		bytes += list.at[i].bytes;
	}
	json_array_end(j);
	json_member_uint(j, "bytes", bytes);
	json_member_uint(j, "limit_bytes", captures_limit_bytes(api->context->captures));
	json_object_end(j);
}

void api_capture(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	_cleanup_free_ char *sources = NULL;

	if (!find(api, q, a, &c))
		return;
	/* A damaged file's are not known. */
	(void)captures_sources(api->context->captures, &c, &sources);
	json_object_begin(&a->body);
	json_members(&a->body, &c);
	json_key(&a->body, "sources");
	json_raw(&a->body, sources);
	json_object_end(&a->body);
}

/* Which frames are meant. */
struct wanted {
	uint64_t from, to, last; /* 0: not said */
	bool tail;
};

static bool take_wanted(const struct body *body, struct wanted *ret, struct api_answer *a)
{
	static const char *const one_of[] = {"last", "from and to", NULL};
	enum body_kind tail = body_kind(body, "tail");

	if (tail != BODY_ABSENT && tail != BODY_BOOL) {
		api_fail_member(a, "tail", bool_allowed);
		return false;
	}
	ret->tail = body_bool(body, "tail");
	if (!take_number(body, "from", &ret->from, a) || !take_number(body, "to", &ret->to, a) ||
	    !take_number(body, "last", &ret->last, a))
		return false;
	if (ret->last && (ret->from || ret->to)) {
		api_fail_member(a, "last", one_of);
		return false;
	}
	if (ret->to && ret->to < ret->from) {
		api_fail_frames(a, ret->from, ret->to, 0);
		return false;
	}
	return true;
}

/* Nothing said: all frames whose events are there. */
static void choose_range(const struct wanted *w, const struct history_session *s,
			 struct capture_order *order)
{
	uint64_t first = s->first_retained ? s->first_retained : s->first_frame;

	order->first = w->from ? w->from : first;
	order->last = w->to ? w->to : s->last_frame;
	if (w->last && s->last_frame)
		order->first = MAX(s->last_frame - MIN(w->last, s->last_frame) + 1, first);
	if (w->to && !w->from)
		order->first = MIN(first, w->to);
	if (w->from && !w->to)
		order->last = MAX(s->last_frame, w->from);
	order->tail = w->tail || s->last_frame == 0;
}

/* The session's text: "current", "17", of `session` or `spike`, which one *ret_member says. */
static bool take_session(const struct body *body, char text[API_SESSION_TEXT],
			 const char **ret_member, struct api_answer *a)
{
	static const char *const either[] = {"session", "spike", NULL};
	uint64_t id = 0;

	*ret_member = "session";
	if (body_kind(body, "spike") == BODY_ABSENT)
		return api_body_session(body, a, text);
	*ret_member = "spike";
	if (body_kind(body, "session") != BODY_ABSENT) {
		api_fail_member(a, "spike", either);
		return false;
	}
	if (!take_number(body, "spike", &id, a))
		return false;
	snprintf(text, API_SESSION_TEXT, "%" PRIu64, id);
	return true;
}

static bool prepare(const struct api *api, const struct api_request *q, const struct body *body,
		    struct capture_order *order, struct api_answer *a)
{
	static const char *const spikes[] = {"the id of a spike", NULL};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct wanted wanted;
	const char *member;
	char text[API_SESSION_TEXT];

	if (!take_texts(body, &order->name, &order->note, a) || !take_wanted(body, &wanted, a) ||
	    !take_session(body, text, &member, a) ||
	    !api_open_session_text(api, q, text, member, a, &reader, &s))
		return false;
	if (!strcmp(member, "spike") && s.capture_kind != CAPTURE_SPIKE) {
		api_fail_member(a, member, spikes);
		return false;
	}
	order->session = s.row.id;
	choose_range(&wanted, &s, order);
	return true;
}

void api_capture_save(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"session", "spike", "from", "to", "last",
					    "tail",    "name",	"note", NULL};
	_cleanup_body_ struct body *body = NULL;
	struct capture_order order = {.kind = CAPTURE_SAVED};
	uint64_t session;
	int rc;

	if (!api_body(q, a, known, &body) || !prepare(api, q, body, &order, a))
		return;
	rc = captures_save(api->context->captures, &order, q->uid, &session);
	if (rc < 0) {
		api_fail_capture(a, rc);
		return;
	}
	answer_made(api, session, a);
	api_say_saved(api, q, session, order.first, order.last, a);
}

void api_capture_upload(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const struct api_problem refused = {422, "capture-refused", "The file is no capture",
						   NULL, NULL};
	const char *name;
	uint64_t session;
	char why[256] = "";
	int rc;

	if (!api_capture_name(q, a, &name))
		return;
	if (q->upload_fd < 0) {
		api_fail(a, &refused, "The file was refused: it is empty");
		return;
	}
	rc = captures_upload(api->context->captures, q->upload_fd, name, api_capture_owner(q),
			     &session, why);
	if (rc == -EBADMSG || rc == -ENOTSUP || rc == -EFBIG)
		api_fail(a, &refused, "The file was refused: %s", why);
	else if (rc < 0)
		api_fail_capture(a, rc);
	else
		answer_made(api, session, a);
}

void api_capture_edit(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"name", "note", NULL};
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	_cleanup_body_ struct body *body = NULL;
	const char *name, *note;
	int rc;

	if (!find(api, q, a, &c) || !api_body(q, a, known, &body) ||
	    !take_texts(body, &name, &note, a))
		return;
	rc = captures_edit(api->context->captures, c.session, name, note);
	if (rc < 0) {
		api_fail_capture(a, rc);
		return;
	}
	answer_made(api, c.session, a);
	if (a->status == 201)
		a->status = 200;
}

void api_capture_delete(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	int rc;

	if (!find(api, q, a, &c))
		return;
	rc = captures_delete(api->context->captures, c.session);
	if (rc < 0) {
		api_fail_capture(a, rc);
		return;
	}
	json_object_begin(&a->body);
	json_member_uint(&a->body, "deleted", c.session);
	json_object_end(&a->body);
}

void api_capture_file(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(capture_deinit))) struct capture c = {0};
	int fd;

	if (!find(api, q, a, &c))
		return;
	fd = captures_open_file(api->context->captures, &c);
	if (fd < 0) {
		api_fail_capture(a, fd == -ENOENT ? -EIO : fd);
		return;
	}
	a->fd = fd;
	a->type = "application/vnd.sqlite3";
	api_name_file(a, c.name, ".fprof");
}
