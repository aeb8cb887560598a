/* SPDX-License-Identifier: MIT */
/*
 * Between the HTTP library and an answer: the request's headers that matter, and a response with
 * tags, compression and the headers that every answer has. Any thread.
 */
#ifndef FPROF_DAEMON_RESPOND_H
#define FPROF_DAEMON_RESPOND_H

#include "api.h"

#include <microhttpd.h>

/* NULL: not there. Those that may come once only are counted. */
struct request_headers {
	const char *host, *origin, *site, *authorization, *encoding, *if_none_match, *last_event,
		*accept;
	unsigned hosts, origins, authorizations;
	bool body;	  /* the request says that it has one */
	uint64_t content; /* Content-Length; UINT64_MAX: not given or no number */
};
void request_headers(struct MHD_Connection *connection, struct request_headers *ret_headers);

/* Is "gzip" a word of Accept-Encoding that is not weighed 0? */
bool respond_accepts_gzip(const char *encoding);

/* Queues the answer; its body is gone after. MHD_NO: no memory. */
enum MHD_Result respond(struct MHD_Connection *connection, const struct request_headers *headers,
			struct api_answer *answer);
/* The headers that every answer has; etag "": none. */
void respond_headers(struct MHD_Response *response, const struct api_answer *answer,
		     const char *etag);

#endif
