/* SPDX-License-Identifier: MIT */
/*
 * From the request line to a route and its parameters. Pure functions over strings that a
 * stranger sent; no state, any thread.
 */
#ifndef FPROF_DAEMON_ROUTE_H
#define FPROF_DAEMON_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_URI_MAX	 2048 /* bytes of path and query */
#define ROUTE_PARAMS_MAX 64   /* in a query */
#define ROUTE_KNOWN_MAX	 20   /* that a route knows */

enum route_id {
	ROUTE_STATUS,
	ROUTE_SESSIONS,
	ROUTE_SESSION,
	ROUTE_FRAMES,
	ROUTE_FRAME,
	ROUTE_ZONES,
	ROUTE_STATS,
	ROUTE_TIMELINE,
	ROUTE_THREADS,
	ROUTE_STREAMS,
	ROUTE_COUNTERS,
	ROUTE_COUNTER,
	ROUTE_VERDICT,
	ROUTE_CRITICAL_PATH,
	ROUTE_CRITICAL_PATHS,
	ROUTE_SCHEDULE,
	ROUTE_SAMPLES,
	ROUTE_SAMPLING,
	ROUTE_SAMPLING_SET,
	ROUTE_RECORDING,
	ROUTE_RECORDING_SET,
	ROUTE_CLEAR,
	ROUTE_DETAIL,
	ROUTE_DETAIL_SET,
	ROUTE_ATTACHMENTS,
	ROUTE_ATTACH,
	ROUTE_DETACH,
	ROUTE_CONSUMER_TAKE,
	ROUTE_CONSUMER_RENEW,
	ROUTE_CONSUMER_RELEASE,
	ROUTE_DIFF,
	ROUTE_CHECK,
	ROUTE_SESSION_CHECK,
	ROUTE_CAPTURES,
	ROUTE_CAPTURE_SAVE,
	ROUTE_CAPTURE_UPLOAD,
	ROUTE_EXPORT,
	ROUTE_IMPORT,
	ROUTE_CAPTURE,
	ROUTE_CAPTURE_EDIT,
	ROUTE_CAPTURE_DELETE,
	ROUTE_CAPTURE_FILE,
	ROUTE_SNAPSHOT,
	ROUTE_STREAM,
	ROUTE_TRIGGERS,
	ROUTE_TRIGGERS_PUT,
	ROUTE_SPIKES,
	ROUTE_SESSION_SPIKES,
	ROUTE_QUERY,
	ROUTE_QUERY_POST,
	ROUTE_OPENAPI,
	ROUTE_HEALTHZ,
	ROUTE_READYZ,
	ROUTE_METRICS,
	ROUTE_ASSET, /* whatever no other route takes: a file of the page, or nothing */
};

/* HEAD is GET. */
enum route_method { ROUTE_GET, ROUTE_PUT, ROUTE_POST, ROUTE_PATCH, ROUTE_DELETE, ROUTE_METHODS };

enum route_flags {
	ROUTE_BODY = 1 << 0,	/* takes a body of up to ROUTE_BODY_MAX bytes */
	ROUTE_UPLOAD = 1 << 1,	/* takes a body of any size, as a file */
	ROUTE_SLOW = 1 << 2,	/* may take seconds: answered on a thread of its own */
	ROUTE_REPEATS = 1 << 3, /* a parameter may be given more than once */
};
#define ROUTE_BODY_MAX (1024u * 1024u)

struct route {
	enum route_id id;
	enum route_method method;
	unsigned flags;			     /* enum route_flags */
	const char *path;		     /* with {id}, {frame}, {name} for what varies */
	const char *params[ROUTE_KNOWN_MAX]; /* the query parameters it knows; NULL-terminated */
};

struct route_param {
	const char *name, *value;
};

struct route_request {
	char text[ROUTE_URI_MAX + 1]; /* decoded; what the pointers below point into */
	const char *path;
	struct route_param params[ROUTE_PARAMS_MAX];
	unsigned count;
	const struct route *route;
	/* the variable parts of the path, NULL: it has none */
	const char *id, *frame, *name;
	unsigned methods; /* on -EOPNOTSUPP: those that the path takes, a bit each */
	const char *bad;  /* on -ENOKEY and -EEXIST: the parameter's name */
	char segments[ROUTE_URI_MAX + 1];
};

/* All routes but ROUTE_ASSET; *ret_count of them. For tests and for what lists them. */
const struct route *route_table(size_t *ret_count);

/*
 * Parses path and query and finds the route. A percent sign at the very end of a query's value is
 * itself, as in tolerance=5%. 0; -ENAMETOOLONG; -EINVAL: an escape that is none,
 * bytes that are no UTF-8, a control character, no leading slash; -E2BIG: too many parameters;
 * -EEXIST: one is given twice; -ENOKEY: one that the route does not know; -EOPNOTSUPP: the path
 * takes other methods (ret_request->methods).
 */
int route_parse(const char *method, const char *uri, struct route_request *ret_request);
const char *route_method_name(enum route_method method);

/* The value of a query parameter (of several the first), NULL when it was not given. */
const char *route_value(const struct route_request *request, const char *name);
/* A decimal number within min..max: 0 or -EINVAL. */
int route_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);
/* A session: a number from 1, or `current`, which is 0. 0 or -EINVAL. */
int route_session(const char *text, uint64_t *ret_session);

enum route_frame_kind {
	ROUTE_FRAME_NUMBER,
	ROUTE_FRAME_SLOWEST,
	ROUTE_FRAME_LATEST,
	ROUTE_FRAME_TAIL
};
/* A frame: a number from 1, `slowest`, `latest` or `tail`. 0 or -EINVAL. */
int route_frame(const char *text, enum route_frame_kind *ret_kind, uint64_t *ret_frame);

/* Last-Event-ID: SESSION:FRAME. 0 or -EINVAL. */
int route_event_id(const char *text, uint64_t *ret_session, uint64_t *ret_frame);

#endif
