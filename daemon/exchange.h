/* SPDX-License-Identifier: MIT */
/*
 * One request and its answer, while the HTTP library calls for it: the body as it comes in, and the
 * thread that a slow handler runs on.
 */
#ifndef FPROF_DAEMON_EXCHANGE_H
#define FPROF_DAEMON_EXCHANGE_H

#include "api.h"
#include "respond.h"
#include "workers.h"

#define EXCHANGE_UPLOAD_MAX (UINT64_C(4) << 30) /* bytes of an uploaded file */

struct exchange {
	struct api_request api;
	struct api_answer answer;
	char uri[ROUTE_URI_MAX + 2]; /* raw; one longer than may be tells that it was longer */
	int error;		     /* of route_parse, then of receiving the body */
	bool begun, refused;
	bool answered; /* by a worker */
	struct json body;
	uint64_t received;
	struct workers *workers;
	const struct api *served_by;
	struct MHD_Connection *connection; /* suspended, while a worker has it */
};

struct exchange *exchange_new(const char *uri); /* NULL: no memory */
void exchange_free(struct exchange *q);		/* NULL is fine */

/* May the request have the body that it announces? Fills the answer when not. */
void exchange_check_body(struct exchange *q, const struct request_headers *headers,
			 struct api_answer *a);
/* A piece of the body. What goes wrong is remembered, the rest thrown away. */
void exchange_receive(struct exchange *q, const struct api *api, const char *data, size_t bytes);
/* The body is whole: fills api.body or api.upload_fd. False, with the answer filled: it is not. */
bool exchange_receive_end(struct exchange *q);

/*
 * Suspends the connection and answers on a thread of its own; then the library is called again with
 * q->answered set. False: all are busy, and the answer says so.
 */
bool exchange_defer(struct workers *workers, const struct api *api, struct exchange *q,
		    struct MHD_Connection *connection);

#endif
