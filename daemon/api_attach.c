// SPDX-License-Identifier: MIT
/*
 * Attachments: games that are recorded from outside. A caller attaches to its own processes and
 * sees its own attachments; who may see all, to any.
 */
#include "api_body.h"
#include "attach.h"
#include "probe/functions.h"
#include "process.h"
#include "process_find.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NAME_BYTES_MAX 256

static void json_attachment(struct json *j, const struct attach_view *v)
{
	unsigned i;

	json_object_begin(j);
	json_member_uint(j, "session", v->session);
	json_member_int(j, "pid", v->pid);
	json_member_uint(j, "uid", v->uid);
	json_key(j, "functions");
	json_array_begin(j);
	for (i = 0; i < PRESENT_FUNCTIONS; i++)
		if (v->functions & 1u << i)
			json_string(j, present_functions[i].name);
	json_array_end(j);
	json_member_string(j, "unseen", v->unseen);
	json_member_uint(j, "frames", v->frames);
	json_member_uint(j, "lost_events", v->lost);
	json_object_end(j);
}

void api_attachments(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	attach_views views = {0};
	struct json *j = &a->body;
	size_t i;

	if (attach_list(api->context->attach, q->uid, &views) < 0) {
		api_fail_history(a, -ENOMEM, "list of attachments");
		return;
	}
	json_object_begin(j);
	json_key(j, "attachments");
	json_array_begin(j);
	for (i = 0; i < views.count; i++)
		json_attachment(j, &views.at[i]);
	json_array_end(j);
	json_object_end(j);
	VEC_FREE(&views);
}

/* "SDL_GL_SwapWindow, SDL_RenderPresent, ..." */
static void list_functions(char *text, size_t size)
{
	size_t n = 0;
	unsigned i;

	for (i = 0; i < PRESENT_FUNCTIONS && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
				      present_functions[i].name);
}

static void fail_no_function(struct api_answer *a, int32_t pid, const char *why)
{
	static const struct api_problem nothing = {422, "no-present-function",
						   "The process shows no frames that can be seen",
						   NULL, NULL};
	char functions[256];

	list_functions(functions, sizeof(functions));
	api_fail(a, &nothing,
		 "No file that process %d maps has one of the functions that show a frame: %s. A "
		 "game that has them inside, without symbols, cannot be seen%s%s",
		 pid, functions, *why ? "; and " : "", why);
}

static void fail(struct api_answer *a, int32_t pid, int error, const struct attach_failure *f)
{
	static const struct api_problem missing = {404, "not-found", "There is no such thing", NULL,
						   NULL};
	static const struct api_problem recorded = {409, "already-recorded",
						    "The process is recorded already", NULL, NULL};
	static const struct api_problem busy = {503, "too-many-attachments",
						"No more can be recorded", NULL, NULL};
	static const struct api_problem off = {503, "source-unavailable",
					       "The kernel cannot be asked here", NULL, NULL};

	if (error == -ENOENT)
		fail_no_function(a, pid, f->reason);
	else if (error == -ESRCH)
		api_fail(a, &missing, "There is no process %d", pid);
	else if (error == -EEXIST)
		api_fail(a, &recorded, "Process %d is recorded as session %" PRIu64, pid,
			 f->session);
	else if (error == -EBUSY || error == -ENOSPC)
		api_fail(a, &busy, "Process %d: %s", pid, f->reason);
	else
		api_fail(a, &off, "Process %d: %s%s%s", pid,
			 *f->reason ? f->reason : strerror(-error), *f->fix ? ". Try: " : "",
			 f->fix);
}

/* Which processes are meant. */
struct wanted {
	int32_t pids[PROCESS_FIND_MAX];
	size_t count;
	bool first_only; /* that can be attached to; the failure is that of the first */
};

static void fail_foreign(struct api_answer *a, int32_t pid, uint32_t uid)
{
	static const struct api_problem foreign = {403, "not-yours",
						   "The process is another user's", NULL, NULL};

	api_fail(a, &foreign,
		 "Process %d belongs to user %u, or may not be traced: a token lets you attach to "
		 "it",
		 pid, uid);
}

static void fail_ambiguous(struct api_answer *a, const struct wanted *w, int32_t pid)
{
	static const struct api_problem many = {409, "ambiguous-pid",
						"Several processes have the number", NULL, NULL};
	char pids[12 * PROCESS_FIND_MAX];
	size_t i, n = 0;

	for (i = 0; i < w->count; i++)
		n += (size_t)snprintf(pids + n, sizeof(pids) - n, "%s%d", i ? ", " : "",
				      w->pids[i]);
	api_fail(a, &many, "%d is the number of several processes in namespaces of their own: %s",
		 pid, pids);
}

/* By the number that we see, else by the one that a process has in a namespace of its own: a
 * sandboxed game may have a low one, which something else has outside. */
static bool find_pid(const struct api_request *q, struct api_answer *a, int32_t pid,
		     struct wanted *ret)
{
	struct attach_failure none = {0};
	uint32_t uid = UINT32_MAX;
	bool there = process_uid(pid, &uid) == 0,
	     ours = there && (api_sees_all(q) || uid == q->uid);

	ret->first_only = true;
	ret->count = process_find_inner(pid, q->uid, ret->pids);
	if (ours) {
		ret->pids[1] = ret->pids[0];
		ret->pids[0] = pid;
		ret->count = ret->count == 1 ? 2 : 1;
	} else if (ret->count > 1) {
		fail_ambiguous(a, ret, pid);
		return false;
	} else if (ret->count == 0 && there) {
		fail_foreign(a, pid, uid);
	} else if (ret->count == 0) {
		fail(a, pid, -ESRCH, &none);
	}
	return ret->count > 0;
}

static bool find_named(const struct api_request *q, struct api_answer *a, const char *name,
		       struct wanted *ret)
{
	static const struct api_problem missing = {404, "not-found", "There is no such thing", NULL,
						   NULL};

	ret->count = process_find_named(name, q->uid, ret->pids);
	if (ret->count == 0)
		api_fail(a, &missing, "No process that you may attach to is called %.64s", name);
	return ret->count > 0;
}

static bool parse(const struct api_request *q, struct api_answer *a, struct wanted *ret)
{
	static const char *const known[] = {"pid", "name", NULL};
	static const char *const pids[] = {"the number of a process, from 1", NULL};
	static const char *const names[] = {"a shell pattern of 1 to 256 bytes, without a pid",
					    NULL};
	_cleanup_body_ struct body *body = NULL;
	const char *name;
	int64_t pid;

	if (!api_body(q, a, known, &body))
		return false;
	name = body_text(body, "name");
	pid = body_integer(body, "pid");
	if (body_kind(body, "name") != BODY_ABSENT) {
		if (name && *name && strlen(name) <= NAME_BYTES_MAX &&
		    body_kind(body, "pid") == BODY_ABSENT)
			return find_named(q, a, name, ret);
		api_fail_member(a, "name", names);
		return false;
	}
	if (pid < 1 || pid > INT32_MAX) {
		api_fail_member(a, "pid", pids);
		return false;
	}
	return find_pid(q, a, (int32_t)pid, ret);
}

struct refusal {
	int32_t pid;
	int error;
	struct attach_failure failure;
};

static void json_answer(struct json *j, const attach_views *views, const struct refusal *refused,
			size_t count)
{
	size_t i;

	json_object_begin(j);
	json_key(j, "attachments");
	json_array_begin(j);
	for (i = 0; i < views->count; i++)
		json_attachment(j, &views->at[i]);
	json_array_end(j);
	json_key(j, "refused");
	json_array_begin(j);
	for (i = 0; i < count; i++) {
		json_object_begin(j);
		json_member_int(j, "pid", refused[i].pid);
		json_member_string(j, "reason", refused[i].failure.reason);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

/* Attaches to what is wanted: how many were refused. */
static size_t attach_wanted(const struct api *api, const struct wanted *wanted, attach_views *views,
			    struct refusal *refused)
{
	size_t i, n = 0;

	for (i = 0; i < wanted->count; i++) {
		struct refusal *r = &refused[n];

		r->pid = wanted->pids[i];
		r->error = attach_add(api->context->attach, r->pid, &views->at[views->count],
				      &r->failure);
		if (r->error < 0) {
			n++;
			continue;
		}
		views->count++;
		if (wanted->first_only)
			return 0;
	}
	return n;
}

/* A name may be that of a script, too, which only waits for the game: what cannot be attached to is
 * told, and is an error where there is nothing else. */
void api_attach(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	struct refusal refused[PROCESS_FIND_MAX];
	struct wanted wanted = {.count = 0};
	attach_views views = {0};
	size_t n;

	if (!parse(q, a, &wanted))
		return;
	if (VEC_RESERVE(&views, wanted.count) < 0) {
		api_fail_history(a, -ENOMEM, "list of attachments");
		return;
	}
	n = attach_wanted(api, &wanted, &views, refused);
	if (views.count > 0) {
		a->status = 201;
		json_answer(&a->body, &views, refused, n);
	} else {
		fail(a, refused[0].pid, refused[0].error, &refused[0].failure);
	}
	VEC_FREE(&views);
}

/* Whoever has the answer finds the session ended. Waits for a moment. */
static void await_end(const struct api *api, uint64_t session)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + API_WAIT_NS;
	int r;

	if (readers_take(api->readers, &reader.history) < 0)
		return;
	reader.readers = api->readers;
	r = history_session(reader.history, session, HISTORY_ANY_UID, &s);
	while (r == 0 && s.update.state == SESSION_LIVE && clock_ns(CLOCK_MONOTONIC) < until)
		r = api_look_again(reader.history, session, &s);
}

void api_detach(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const allowed[] = {"a session's number, from 1", NULL};
	uint64_t session;

	if (route_number(q->route.id, 1, INT64_MAX, &session) < 0) {
		api_fail_parameter(a, "id", q->route.id, allowed);
		return;
	}
	if (attach_remove(api->context->attach, session, q->uid) < 0) {
		api_fail_history(a, -ENOENT, "attachment");
		return;
	}
	await_end(api, session);
	json_object_begin(&a->body);
	json_member_uint(&a->body, "session", session);
	json_member_bool(&a->body, "detached", true);
	json_object_end(&a->body);
}
