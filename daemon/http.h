/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server: libmicrohttpd's own thread pool on a TCP port and on a Unix socket; routes,
 * access, the event stream. Reads the database through history.h, never the drain's state.
 */
#ifndef FPROF_DAEMON_HTTP_H
#define FPROF_DAEMON_HTTP_H

#include "attach.h"
#include "batch.h"
#include "captures.h"
#include "config.h"
#include "drain.h"
#include "loop.h"
#include "sampler.h"
#include "sched_trace.h"
#include "spikes.h"
#include "stack_trace.h"
#include "status.h"
#include "store.h"

struct http;

struct http_context {
	const struct config *config;
	struct trigger_book *triggers;
	struct spikes *spikes;
	struct store *store;
	struct captures *captures;
	struct drain *drain;
	struct sampler *sampler;
	struct sched_trace *sched_trace;
	struct stack_trace *stack_trace;
	struct attach *attach;
	struct status *status;
	const char *loop_kind, *loop_reason;
};

/* Listens on config->http_address:http_port and on <runtime_dir>/http.sock. -EADDRINUSE and so on,
 * after saying so in the log. */
int http_new(const struct http_context *context, struct http **ret_http);
void http_free(struct http *http);
/* The port it listens on (config may ask for 0). */
uint16_t http_port(const struct http *http);
/* Tells stream clients about a committed batch: hand it to store_new as store_committed_fn with the
 * struct http ** that http_new fills later as userdata. Thread-safe, never blocks long. */
void http_committed(void *http_pointer, const struct batch *batch);
/* Tells stream clients about a spike. Any thread. */
void http_spike(struct http *http, const struct spike *spike);

#endif
