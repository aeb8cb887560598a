// SPDX-License-Identifier: MIT
/* What is wrong with a body is said with the same words everywhere. */
#include "api_body.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void fail_parse(struct api_answer *a, int error, int line, int column)
{
	static const struct api_problem bad = {400, "bad-body", "The body is not what it should be",
					       NULL, NULL};

	if (error == -ENOMEM)
		api_fail_memory(a, "The body could not be read");
	else if (error == -EINVAL)
		api_fail(a, &bad, "The body is no JSON object");
	else
		api_fail(a, &bad, "The body is no JSON: line %d, column %d", line, column);
}

bool api_body(const struct api_request *q, struct api_answer *a, const char *const *known,
	      struct body **ret_body)
{
	struct body *body;
	int line = 0, column = 0, r = body_parse(q->body, q->body_bytes, &body, &line, &column);
	struct api_problem unknown = {400, "unknown-parameter",
				      "The body has a member that this path does not know", NULL,
				      known};
	const char *name;

	if (r < 0) {
		fail_parse(a, r, line, column);
		return false;
	}
	name = body_unknown(body, known);
	if (name) {
		unknown.parameter = name;
		api_fail(a, &unknown, "%s does not know the member %.64s", q->route.path, name);
		body_free(body);
		return false;
	}
	*ret_body = body;
	return true;
}

void api_fail_member(struct api_answer *a, const char *member, const char *const *allowed)
{
	const struct api_problem problem = {400, "bad-parameter",
					    "A parameter has a value that is not allowed", member,
					    allowed};

	api_fail(a, &problem, "The body's %s is missing or not allowed", member);
}

bool api_body_session(const struct body *body, struct api_answer *a, char text[API_SESSION_TEXT])
{
	static const char *const allowed[] = {"current", "a session's number, from 1", NULL};
	enum body_kind kind = body_kind(body, "session");
	const char *said = body_text(body, "session");

	if (kind == BODY_ABSENT) {
		strcpy(text, "current");
	} else if (kind == BODY_TEXT && strlen(said) < API_SESSION_TEXT) {
		strcpy(text, said);
	} else if (kind == BODY_INTEGER && body_integer(body, "session") > 0) {
		snprintf(text, API_SESSION_TEXT, "%" PRId64, body_integer(body, "session"));
	} else {
		api_fail_member(a, "session", allowed);
		return false;
	}
	return true;
}

void api_fail_not_live(struct api_answer *a, uint64_t session)
{
	static const struct api_problem problem = {409, "not-live", "The session has ended", NULL,
						   NULL};

	api_fail(a, &problem, "Session %llu has ended: there is nothing to control",
		 (unsigned long long)session);
}
