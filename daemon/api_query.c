// SPDX-License-Identifier: MIT
/*
 * SQL over the caller's sessions: what it may be comes from the request, what it does happens in a
 * child (query.h). A recorded session and a capture are told apart by where their rows are.
 */
#include "api.h"

#include "captures.h"
#include "query.h"
#include "query_body.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* What is asked, and what of that is to be freed. */
struct asked {
	struct query query;
	char *sql, *params;
	char path[1024];
};

static void asked_deinit(struct asked *x)
{
	free(x->sql);
	free(x->params);
}

static bool fail_memory(struct api_answer *a)
{
	api_fail_memory(a, "The request does not fit into memory");
	return false;
}

static bool take_body(const struct api_request *q, struct api_answer *a, struct asked *x)
{
	static const struct api_problem bad = {400, "bad-body", "The body is not as it should be",
					       "body", NULL};
	char why[160] = "";
	int rc = query_body_parse(q->body, q->body_bytes, &x->sql, &x->params, why);

	if (rc == -ENOMEM)
		return fail_memory(a);
	if (rc < 0)
		api_fail(a, &bad, "%s", why);
	return rc == 0;
}

static bool take_sql(const struct api_request *q, struct api_answer *a, struct asked *x)
{
	static const char *const allowed[] = {
		"one statement of SQL, here or in a POST's body, as text or in {\"sql\": ...}",
		NULL};
	const char *sql = route_value(&q->route, "sql");
	bool has_body = q->body && q->body_bytes > 0;

	if (!sql == !has_body) {
		api_fail_parameter(a, "sql", sql ? sql : "", allowed);
		return false;
	}
	if (!sql)
		return take_body(q, a, x);
	x->sql = strdup(sql);
	return x->sql || fail_memory(a);
}

static bool take_params(const struct api_request *q, struct api_answer *a, struct asked *x)
{
	static const char *const allowed[] = {
		"a JSON array or object of null, booleans, numbers and texts, once", NULL};
	const char *params = route_value(&q->route, "params");
	int rc;

	if (!params)
		return true;
	rc = x->params ? -EBADMSG : query_body_check_params(params);
	if (rc == -ENOMEM)
		return fail_memory(a);
	if (rc < 0) {
		api_fail_parameter(a, "params", params, allowed);
		return false;
	}
	x->params = strdup(params);
	return x->params || fail_memory(a);
}

/* Accept asks for CSV only by naming it; a parameter goes before. */
static bool take_format(const struct api_request *q, struct api_answer *a, struct asked *x)
{
	static const char *const allowed[] = {"json", "csv", NULL};
	const char *format = route_value(&q->route, "format");

	x->query.format = QUERY_JSON;
	if (format ? !strcmp(format, "csv") : q->accept && strstr(q->accept, "text/csv"))
		x->query.format = QUERY_CSV;
	else if (format && strcmp(format, "json") != 0) {
		api_fail_parameter(a, "format", format, allowed);
		return false;
	}
	return true;
}

static bool take_limit(const struct api_request *q, struct api_answer *a, struct asked *x)
{
	static const char *const allowed[] = {"1..1000000", NULL};
	const char *limit = route_value(&q->route, "limit");

	x->query.rows = QUERY_ROWS_DEFAULT;
	if (!limit || route_number(limit, 1, QUERY_ROWS_MAX, &x->query.rows) == 0)
		return true;
	api_fail_parameter(a, "limit", limit, allowed);
	return false;
}

/* Where a capture's rows are; what the file says of its owner is not ours. */
static bool take_capture(const struct api *api, const struct api_request *q, struct api_answer *a,
			 struct asked *x)
{
	struct capture capture;
	int rc = api->context->captures
			 ? captures_find(api->context->captures, x->query.session, q->uid, &capture)
			 : -ENOENT;

	if (rc == -ENOENT)
		return true;
	if (rc < 0) {
		api_fail_history(a, rc, "capture");
		return false;
	}
	captures_path(api->context->captures, capture.file, x->path, sizeof(x->path));
	capture_deinit(&capture);
	x->query.path = x->path;
	x->query.uid = HISTORY_ANY_UID;
	return true;
}

/* Opening the session verifies a capture's file, once. */
static bool take_session(const struct api *api, const struct api_request *q, struct api_answer *a,
			 struct asked *x)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(history_sessions_free))) history_sessions_vec sessions = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	const char *session = route_value(&q->route, "session");

	x->query.uid = q->uid;
	x->query.asker = q->uid;
	if (!session) {
		(void)api_list_sessions(api, q->uid, &reader, &sessions); /* which awaits ends */
		return true;
	}
	if (!api_open_session_text(api, q, session, "session", a, &reader, &s))
		return false;
	x->query.session = s.row.id;
	return take_capture(api, q, a, x);
}

static void fail_sql(struct api_answer *a, unsigned status, const char *type, const char *title,
		     const struct query_answer *r)
{
	const struct api_problem problem = {status, type, title, "sql", NULL};

	if (r->offset >= 0)
		api_fail(a, &problem, "%s, at byte %lld", r->message, (long long)r->offset);
	else
		api_fail(a, &problem, "%s", r->message);
}

static void fail_limit(const struct api *api, struct api_answer *a, const char *type,
		       enum query_result result)
{
	const struct api_problem problem = {422, type, "The query needs more than it may take",
					    "sql", NULL};

	if (result == QUERY_TIME)
		api_fail(a, &problem, "A query may take %u s (query_seconds of the configuration)",
			 api->context->config->query_seconds);
	else if (result == QUERY_MEMORY_FULL)
		api_fail(a, &problem, "A query may take %u MiB of memory",
			 QUERY_MEMORY / (1024 * 1024));
	else
		api_fail(a, &problem,
			 "There are more rows than limit, or more bytes than %u MiB, and CSV "
			 "cannot say that it is cut: raise limit, add a LIMIT, or take JSON",
			 QUERY_BYTES_MAX / (1024 * 1024));
}

static void fail_query(const struct api *api, struct api_answer *a, const struct query_answer *r)
{
	static const struct api_problem busy = {503, "too-many-queries",
						"Too many queries are run already", NULL, NULL};
	static const struct api_problem unavailable = {503, "history-unavailable",
						       "The history cannot be read", NULL, NULL};
	const struct api_problem bad_params = {400, "bad-parameter",
					       "A parameter has a value that is not allowed",
					       "params", NULL};

	switch (r->result) {
	case QUERY_BAD_SQL:
		fail_sql(a, 400, "bad-sql", "The SQL is not right", r);
		break;
	case QUERY_REFUSED:
		fail_sql(a, 403, "sql-not-allowed", "Only reading is allowed", r);
		break;
	case QUERY_BAD_PARAMS:
		api_fail(a, &bad_params, "%s", r->message);
		break;
	case QUERY_TIME:
		fail_limit(api, a, "query-takes-too-long", r->result);
		break;
	case QUERY_MEMORY_FULL:
		fail_limit(api, a, "query-takes-too-much-memory", r->result);
		break;
	case QUERY_TOO_LARGE:
		fail_limit(api, a, "answer-too-large", r->result);
		break;
	case QUERY_BUSY:
		api_fail(a, &busy, "Ask again when the others are done");
		break;
	default:
		api_fail(a, &unavailable, "%s", r->message);
	}
}

void api_query(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(asked_deinit))) struct asked x = {0};
	struct query_answer r;

	if (!take_sql(q, a, &x) || !take_params(q, a, &x) || !take_format(q, a, &x) ||
	    !take_limit(q, a, &x) || !take_session(api, q, a, &x))
		return;
	x.query.sql = x.sql;
	x.query.params = x.params;
	queries_run(api->queries, &x.query, &r);
	if (r.result != QUERY_DONE) {
		fail_query(api, a, &r);
		return;
	}
	a->fd = r.fd;
	if (x.query.format == QUERY_CSV)
		a->type = "text/csv; charset=utf-8; header=present";
}
