/* SPDX-License-Identifier: MIT */
/*
 * The connection is suspended while its client has nothing to read. The library notices a closed
 * peer only when it writes, so we look ourselves: a client that is gone would hold a place, and the
 * recording of a session that is recorded on demand. One that shuts down its sending side is gone.
 */
#include "events.h"

#include "consumers.h"
#include "control_set.h"
#include "feed.h"
#include "util.h"

#include <errno.h>
#include <sys/socket.h>

#define STREAM_SEND_BYTES (64 * 1024) /* kernel buffer of a stream's socket */
#define STREAM_BLOCK	  (16u * 1024u)

/* An open event stream. */
struct events {
	struct MHD_Connection *connection;
	int fd;
	struct stream_client *client;
	struct consumers *consumers;
	uint64_t consumer; /* it holds what it listens to */
};

static void events_sleep(void *userdata)
{
	MHD_suspend_connection(((struct events *)userdata)->connection);
}

static void events_wake(void *userdata)
{
	MHD_resume_connection(((struct events *)userdata)->connection);
}

static bool events_gone(void *userdata)
{
	char byte;
	ssize_t n = recv(((struct events *)userdata)->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static ssize_t events_read(void *userdata, uint64_t position, char *buf, size_t max)
{
	struct events *e = userdata;
	ssize_t n = stream_client_read(e->client, buf, max);

	(void)position;
	return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void events_free(void *userdata)
{
	struct events *e = userdata;

	stream_client_free(e->client);
	consumers_stream_end(e->consumers, e->consumer);
	free(e);
}

/* The stream's parameters: session and Last-Event-ID. */
static bool parse_stream(const struct api *api, const struct api_request *q,
			 const struct request_headers *h, struct api_answer *a,
			 struct stream_filter *filter)
{
	static const char *const allowed[] = {"SESSION:FRAME, as the stream's ids are", NULL};
	const char *session = route_value(&q->route, "session");
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	filter->uid = q->uid;
	if (h->last_event && *h->last_event) {
		if (route_event_id(h->last_event, &filter->resume_session, &filter->resume_frame) <
		    0) {
			api_fail_parameter(a, "Last-Event-ID", h->last_event, allowed);
			return false;
		}
		filter->resume = true;
	}
	if (!session)
		return true;
	if (!api_open_session_text(api, q, session, "session", a, &reader, &s))
		return false;
	filter->session = s.row.id;
	return true;
}

/* A past that the caller may not see, or did not ask for, is not replayed. */
static void check_resume(const struct api *api, const struct api_request *q,
			 struct stream_filter *filter)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};

	if (!filter->resume)
		return;
	if (readers_take(api->readers, &reader.history) == 0)
		reader.readers = api->readers;
	if ((filter->session && filter->session != filter->resume_session) || !reader.readers ||
	    history_session(reader.history, filter->resume_session, q->uid, &s) < 0)
		filter->resume = false;
	if (!filter->resume)
		filter->resume_session = filter->resume_frame = 0;
}

static struct MHD_Response *open_stream(const struct api *api, struct MHD_Connection *c, int fd,
					const struct stream_filter *filter, struct api_answer *a)
{
	static const struct api_problem full = {503, "too-many-streams",
						"Too many listen to the stream", NULL, NULL};
	struct events *e = calloc(1, sizeof(*e));
	struct stream_sleeper sleeper = {events_sleep, events_wake, events_gone, e};
	struct MHD_Response *r;
	int rc = e ? stream_client_new(api->hub, filter, &sleeper, &e->client) : -ENOMEM;

	if (rc < 0) {
		api_fail(a, &full, "At most %d may listen at once, %d of one user",
			 STREAM_CLIENTS_MAX, STREAM_CLIENTS_UID);
		free(e);
		return NULL;
	}
	e->connection = c;
	e->fd = fd;
	e->consumers = control_set_consumers(drain_controls(api->context->drain));
	e->consumer = consumers_stream_begin(e->consumers, filter->session, filter->uid);
	control_set_update(drain_controls(api->context->drain));
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, events_read, e,
					      events_free);
	if (!r)
		events_free(e);
	return r;
}

enum MHD_Result events_respond(const struct api *api, struct MHD_Connection *c,
			       const struct request_headers *h, const struct api_request *q,
			       struct api_answer *a)
{
	int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct stream_filter filter = {0};
	struct MHD_Response *r = NULL;
	enum MHD_Result result;
	int bytes = STREAM_SEND_BYTES;

	if (parse_stream(api, q, h, a, &filter)) {
		check_resume(api, q, &filter);
		r = open_stream(api, c, fd, &filter, a);
	}
	if (!r)
		return respond(c, h, a);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	a->type = "text/event-stream";
	respond_headers(r, a, "");
	result = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	feed_wake(api->feed);
	return result;
}
