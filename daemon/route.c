/* SPDX-License-Identifier: MIT */
/*
 * The routing table is the one list of what the server answers; docs/openapi.yaml is tested against
 * it.
 *
 * The request line is taken raw, before the HTTP library decodes it: decoding here, once, makes it
 * certain that an escaped slash never splits a path, that an escaped NUL never ends a string, and
 * that nothing which is no UTF-8 comes any further.
 */
#include "route.h"

#include "json.h"
#include "util.h"

#include <errno.h>
#include <string.h>

static const struct route routes[] = {
	{ROUTE_STATUS, ROUTE_GET, 0, "/api/v1/status", {NULL}},
	{ROUTE_SESSIONS, ROUTE_GET, 0, "/api/v1/sessions", {"last", NULL}},
	{ROUTE_SESSION, ROUTE_GET, 0, "/api/v1/sessions/{id}", {NULL}},
	{ROUTE_FRAMES,
	 ROUTE_GET,
	 0,
	 "/api/v1/sessions/{id}/frames",
	 {"last", "from", "to", "stream", NULL}},
	{ROUTE_FRAME,
	 ROUTE_GET,
	 0,
	 "/api/v1/sessions/{id}/frames/{frame}",
	 {"stream", "max_zones", NULL}},
	{ROUTE_ZONES,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/zones",
	 {"view", "from", "to", "last", "stream", "frames", "begin_ns", "end_ns", "thread", "name",
	  "category", "per", "part_ms", "sort", "order", "limit", "offset", NULL}},
	{ROUTE_STATS,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/stats",
	 {"metric", "path", "over_ms", "over", "values", "from", "to", "last", "stream", "frames",
	  "thread", NULL}},
	{ROUTE_TIMELINE,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/timeline",
	 {"from", "to", "last", "stream", "thread", "format", "resolution", "max_zones", NULL}},
	{ROUTE_THREADS, ROUTE_GET, 0, "/api/v1/sessions/{id}/threads", {NULL}},
	{ROUTE_STREAMS, ROUTE_GET, 0, "/api/v1/sessions/{id}/streams", {NULL}},
	{ROUTE_COUNTERS,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/sessions/{id}/counters",
	 {"values", "last", NULL}},
	{ROUTE_COUNTER, ROUTE_GET, 0, "/api/v1/sessions/{id}/counters/{name}", {"last", NULL}},
	{ROUTE_RECORDING, ROUTE_GET, 0, "/api/v1/sessions/{id}/recording", {NULL}},
	{ROUTE_RECORDING_SET, ROUTE_PUT, ROUTE_BODY, "/api/v1/sessions/{id}/recording", {NULL}},
	{ROUTE_CLEAR, ROUTE_POST, ROUTE_SLOW, "/api/v1/sessions/{id}/clear", {NULL}},
	{ROUTE_DETAIL,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/detail",
	 {"path", NULL}},
	{ROUTE_DETAIL_SET,
	 ROUTE_PUT,
	 ROUTE_SLOW | ROUTE_BODY,
	 "/api/v1/sessions/{id}/detail",
	 {NULL}},
	{ROUTE_ATTACHMENTS, ROUTE_GET, 0, "/api/v1/attachments", {NULL}},
	{ROUTE_ATTACH, ROUTE_POST, ROUTE_BODY | ROUTE_SLOW, "/api/v1/attachments", {NULL}},
	{ROUTE_DETACH, ROUTE_DELETE, ROUTE_SLOW, "/api/v1/attachments/{id}", {NULL}},
	{ROUTE_CONSUMER_TAKE, ROUTE_POST, ROUTE_BODY, "/api/v1/consumers", {NULL}},
	{ROUTE_CONSUMER_RENEW, ROUTE_PUT, ROUTE_BODY, "/api/v1/consumers/{name}", {NULL}},
	{ROUTE_CONSUMER_RELEASE, ROUTE_DELETE, 0, "/api/v1/consumers/{name}", {NULL}},
	{ROUTE_DIFF,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/diff",
	 {"a", "b", "by", "limit", "floor_ms", "stream", NULL}},
	{ROUTE_CHECK,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/check",
	 {"runs", "metric", "max_ms", "max", "baseline", "tolerance", "floor_ms", "floor",
	  "slow_ms", "stream", "allow_loss", NULL}},
	{ROUTE_SESSION_CHECK,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/check",
	 {"last", "from", "to", "metric", "max_ms", "max", "baseline", "tolerance", "floor_ms",
	  "floor", "slow_ms", "stream", "allow_loss", NULL}},
	{ROUTE_CAPTURES, ROUTE_GET, 0, "/api/v1/captures", {NULL}},
	{ROUTE_CAPTURE_SAVE, ROUTE_POST, ROUTE_BODY | ROUTE_SLOW, "/api/v1/captures", {NULL}},
	{ROUTE_EXPORT,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/sessions/{id}/export",
	 {"format", "from", "to", "last", "stream", NULL}},
	{ROUTE_IMPORT,
	 ROUTE_POST,
	 ROUTE_UPLOAD | ROUTE_SLOW,
	 "/api/v1/import",
	 {"format", "name", "frames", NULL}},
	{ROUTE_CAPTURE_UPLOAD,
	 ROUTE_POST,
	 ROUTE_UPLOAD | ROUTE_SLOW,
	 "/api/v1/captures/upload",
	 {"name", NULL}},
	{ROUTE_CAPTURE, ROUTE_GET, 0, "/api/v1/captures/{id}", {NULL}},
	{ROUTE_CAPTURE_EDIT, ROUTE_PATCH, ROUTE_BODY, "/api/v1/captures/{id}", {NULL}},
	{ROUTE_CAPTURE_DELETE, ROUTE_DELETE, 0, "/api/v1/captures/{id}", {NULL}},
	{ROUTE_CAPTURE_FILE, ROUTE_GET, ROUTE_SLOW, "/api/v1/captures/{id}/file", {NULL}},
	{ROUTE_TRIGGERS, ROUTE_GET, 0, "/api/v1/sessions/{id}/triggers", {NULL}},
	{ROUTE_TRIGGERS_PUT, ROUTE_PUT, ROUTE_BODY, "/api/v1/sessions/{id}/triggers", {NULL}},
	{ROUTE_SPIKES, ROUTE_GET, 0, "/api/v1/spikes", {NULL}},
	{ROUTE_SESSION_SPIKES, ROUTE_GET, 0, "/api/v1/sessions/{id}/spikes", {NULL}},
	{ROUTE_SNAPSHOT, ROUTE_POST, ROUTE_BODY | ROUTE_SLOW, "/api/v1/snapshots", {NULL}},
	{ROUTE_VERDICT,
	 ROUTE_GET,
	 0,
	 "/api/v1/sessions/{id}/verdict",
	 {"from", "to", "last", "stream", "frames", NULL}},
	{ROUTE_CRITICAL_PATH,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/sessions/{id}/frames/{frame}/critical-path",
	 {"stream", NULL}},
	{ROUTE_CRITICAL_PATHS,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/sessions/{id}/critical-path",
	 {"from", "to", "last", "stream", "frames", "sort", "limit", "offset", NULL}},
	{ROUTE_SCHEDULE,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/schedule",
	 {"from", "to", "last", "stream", "thread", "max_intervals", NULL}},
	{ROUTE_SAMPLES,
	 ROUTE_GET,
	 ROUTE_SLOW | ROUTE_REPEATS,
	 "/api/v1/sessions/{id}/samples",
	 {"view", "from", "to", "last", "stream", "thread", "limit", NULL}},
	{ROUTE_SAMPLING, ROUTE_GET, 0, "/api/v1/sessions/{id}/sampling", {NULL}},
	{ROUTE_SAMPLING_SET,
	 ROUTE_PUT,
	 ROUTE_BODY | ROUTE_SLOW,
	 "/api/v1/sessions/{id}/sampling",
	 {NULL}},
	{ROUTE_STREAM, ROUTE_GET, 0, "/api/v1/stream", {"session", NULL}},
	{ROUTE_QUERY,
	 ROUTE_GET,
	 ROUTE_SLOW,
	 "/api/v1/query",
	 {"sql", "params", "session", "format", "limit", NULL}},
	{ROUTE_QUERY_POST,
	 ROUTE_POST,
	 ROUTE_BODY | ROUTE_SLOW,
	 "/api/v1/query",
	 {"sql", "params", "session", "format", "limit", NULL}},
	{ROUTE_OPENAPI, ROUTE_GET, 0, "/api/v1/openapi.yaml", {NULL}},
	{ROUTE_HEALTHZ, ROUTE_GET, 0, "/healthz", {NULL}},
	{ROUTE_READYZ, ROUTE_GET, 0, "/readyz", {NULL}},
	{ROUTE_METRICS, ROUTE_GET, 0, "/metrics", {NULL}},
};
/* The page's state lives in its address, so a query is the page's own business. */
static const struct route asset_route = {ROUTE_ASSET, ROUTE_GET, 0, NULL, {NULL}};

static const char *const methods[ROUTE_METHODS] = {"GET", "PUT", "POST", "PATCH", "DELETE"};

const char *route_method_name(enum route_method method)
{
	return methods[method];
}

const struct route *route_table(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(routes);
	return routes;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes [s, stop) in place and ends it with a NUL. plus: it is of a query. */
static int decode(char *s, const char *stop, bool plus, bool slash)
{
	const char *in = s;
	char *out = s;
	int high, low;
	size_t n;

	while (in < stop) {
		char c = *in++;

		if (c == '%' && (in < stop || !plus)) {
			high = in < stop ? hex_digit(*in) : -1;
			low = in + 1 < stop ? hex_digit(in[1]) : -1;
			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			in += 2;
			if (c == '/' && !slash)
				return -EINVAL;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return -EINVAL;
		*out++ = c;
	}
	*out = '\0';
	for (in = s; in < out; in += n) {
		n = json_utf8_bytes((const unsigned char *)in, (size_t)(out - in));
		if (!n)
			return -EINVAL;
	}
	return 0;
}

/* One NAME=VALUE of the query, ended by a NUL. */
static int parse_param(struct route_request *r, char *pair)
{
	size_t bytes = strlen(pair);
	char *equals = strchr(pair, '=');
	char *value = equals ? equals + 1 : pair + bytes;
	int rc;

	if (r->count == ROUTE_PARAMS_MAX)
		return -E2BIG;
	rc = decode(value, pair + bytes, true, true);
	if (rc < 0)
		return rc;
	rc = decode(pair, equals ? equals : pair + bytes, true, true);
	if (rc < 0)
		return rc;
	if (!(r->route->flags & ROUTE_REPEATS) && route_value(r, pair)) {
		r->bad = pair;
		return -EEXIST;
	}
	r->params[r->count++] = (struct route_param){pair, value};
	return 0;
}

static int parse_query(struct route_request *r, char *query)
{
	char *next;
	int rc;

	for (; query; query = next) {
		next = strchr(query, '&');
		if (next)
			*next++ = '\0';
		if (!*query)
			continue;
		rc = parse_param(r, query);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Does path fit the pattern? Fills the variable parts, which it copies to r->segments. */
static bool match(struct route_request *r, const char *pattern)
{
	const char *p = r->path;
	char *copy = r->segments;
	size_t n;

	r->id = r->frame = r->name = NULL;
	while (*pattern) {
		if (*pattern != '{') {
			if (*pattern++ != *p++)
				return false;
			continue;
		}
		n = strcspn(p, "/");
		if (!n)
			return false;
		memcpy(copy, p, n);
		copy[n] = '\0';
		if (pattern[1] == 'i')
			r->id = copy;
		else if (pattern[1] == 'f')
			r->frame = copy;
		else
			r->name = copy;
		copy += n + 1;
		p += n;
		pattern = strchr(pattern, '}') + 1;
	}
	return !*p;
}

/* The route of the path that takes the method; NULL where the path takes others only. */
static const struct route *find(struct route_request *r, const char *method)
{
	size_t i;

	if (!strcmp(method, "HEAD"))
		method = "GET";
	for (i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!match(r, routes[i].path))
			continue;
		if (!strcmp(methods[routes[i].method], method))
			return &routes[i];
		r->methods |= 1u << routes[i].method;
	}
	r->id = r->frame = r->name = NULL;
	if (r->methods == 0 && strcmp(method, "GET") != 0)
		r->methods = 1u << ROUTE_GET;
	return r->methods ? NULL : &asset_route;
}

static bool knows(const struct route *route, const char *name)
{
	const char *const *p;

	for (p = route->params; *p; p++)
		if (!strcmp(*p, name))
			return true;
	return false;
}

int route_parse(const char *method, const char *uri, struct route_request *ret_request)
{
	struct route_request *r = ret_request;
	size_t bytes = strnlen(uri, ROUTE_URI_MAX + 1);
	char *query;
	unsigned i;
	int rc;

	memset(r, 0, offsetof(struct route_request, segments));
	if (bytes > ROUTE_URI_MAX)
		return -ENAMETOOLONG;
	if (uri[0] != '/')
		return -EINVAL;
	memcpy(r->text, uri, bytes + 1);
	r->path = r->text;
	query = strchr(r->text, '?');
	if (query)
		*query++ = '\0';
	rc = decode(r->text, r->text + strlen(r->text), false, false);
	if (rc < 0)
		return rc;
	r->route = find(r, method);
	if (!r->route)
		return -EOPNOTSUPP;
	if (r->route->id == ROUTE_ASSET)
		return 0;
	rc = parse_query(r, query);
	for (i = 0; !rc && i < r->count; i++) {
		if (knows(r->route, r->params[i].name))
			continue;
		r->bad = r->params[i].name;
		rc = -ENOKEY;
	}
	return rc;
}

const char *route_value(const struct route_request *request, const char *name)
{
	unsigned i;

	for (i = 0; i < request->count; i++)
		if (!strcmp(request->params[i].name, name))
			return request->params[i].value;
	return NULL;
}

int route_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	uint64_t v = 0;
	const char *p;

	if (!*text)
		return -EINVAL;
	for (p = text; *p; p++) {
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -EINVAL;
	}
	if (v < min || v > max)
		return -EINVAL;
	*ret_number = v;
	return 0;
}

int route_session(const char *text, uint64_t *ret_session)
{
	if (!strcmp(text, "current")) {
		*ret_session = 0;
		return 0;
	}
	return route_number(text, 1, INT64_MAX, ret_session);
}

int route_frame(const char *text, enum route_frame_kind *ret_kind, uint64_t *ret_frame)
{
	if (!strcmp(text, "slowest")) {
		*ret_kind = ROUTE_FRAME_SLOWEST;
		return 0;
	}
	if (!strcmp(text, "latest")) {
		*ret_kind = ROUTE_FRAME_LATEST;
		return 0;
	}
	if (!strcmp(text, "tail")) {
		*ret_kind = ROUTE_FRAME_TAIL;
		return 0;
	}
	*ret_kind = ROUTE_FRAME_NUMBER;
	return route_number(text, 1, INT64_MAX, ret_frame);
}

int route_event_id(const char *text, uint64_t *ret_session, uint64_t *ret_frame)
{
	const char *colon = strchr(text, ':');
	char session[24];
	uint64_t s;
	int rc;

	if (!colon || (size_t)(colon - text) >= sizeof(session))
		return -EINVAL;
	memcpy(session, text, (size_t)(colon - text));
	session[colon - text] = '\0';
	rc = route_number(session, 1, INT64_MAX, &s);
	if (rc < 0)
		return rc;
	rc = route_number(colon + 1, 0, INT64_MAX, ret_frame);
	if (rc < 0)
		return rc;
	*ret_session = s;
	return 0;
}
