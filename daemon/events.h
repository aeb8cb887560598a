/* SPDX-License-Identifier: MIT */
/* An event stream as a response without an end. Any thread. */
#ifndef FPROF_DAEMON_EVENTS_H
#define FPROF_DAEMON_EVENTS_H

#include "api.h"
#include "respond.h"

/* Queues the stream, or a problem. */
enum MHD_Result events_respond(const struct api *api, struct MHD_Connection *connection,
			       const struct request_headers *headers, const struct api_request *q,
			       struct api_answer *answer);

#endif
