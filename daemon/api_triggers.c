// SPDX-License-Identifier: MIT
/* The triggers of a session: a list that is read and, while it is live, replaced as a whole. */
#include "api.h"
#include "api_body.h"
#include "log.h"
#include "trigger_book.h"

#include <errno.h>
#include <string.h>

static void answer_list(struct api_answer *a, const struct trigger_list *list)
{
	trigger_list_json(list, &a->body);
}

static void fail_list(struct api_answer *a, int error, const struct trigger_problem *p)
{
	const struct api_problem bad = {400, "bad-trigger", "A trigger is not what it should be",
					p->where[0] ? p->where : "body", p->allowed};

	if (error == -ENOMEM)
		api_fail_memory(a, "The triggers are as they were");
	else
		api_fail(a, &bad, "%s%s%s", p->where[0] ? p->where : "The body", " ", p->why);
}

/* The path's session, which must be live. */
static bool open_live(const struct api *api, const struct api_request *q, struct api_answer *a,
		      uint64_t *ret_session)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	if (!api_open_session(api, q, a, &reader, &s))
		return false;
	*ret_session = s.row.id;
	if (s.update.state == SESSION_LIVE)
		return true;
	api_fail_not_live(a, s.row.id);
	return false;
}

void api_triggers(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	struct trigger_list *list;

	if (!api_open_session(api, q, a, &reader, &s))
		return;
	if (s.capture_kind >= 0) {
		api_fail_not_live(a, s.row.id);
		return;
	}
	list = trigger_book_get(api->context->triggers, s.row.id);
	answer_list(a, list);
	trigger_list_unref(list);
}

void api_triggers_put(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	struct trigger_problem problem;
	struct trigger_list *list;
	uint64_t session;
	int r;

	if (!open_live(api, q, a, &session))
		return;
	r = trigger_list_parse(q->body, q->body_bytes, api->context->config->spikes_keep, &list,
			       &problem);
	if (r < 0) {
		fail_list(a, r, &problem);
		return;
	}
	r = trigger_book_set(api->context->triggers, session, list);
	if (r == -ENOMEM)
		fail_list(a, r, &problem);
	else
		answer_list(a, list);
	if (r < 0 && r != -ENOMEM)
		log_warning("session %llu: its triggers will not outlive fprofd: %s, ignoring it",
			    (unsigned long long)session, strerror(-r));
	trigger_list_unref(list);
}
