/* SPDX-License-Identifier: MIT */
/*
 * An exchange belongs to the thread of the server's pool that serves its connection; while a worker
 * answers it, the connection is suspended and the exchange is the worker's. Small bodies are kept
 * in memory, files go to an unlinked file in the state directory as they come.
 */
#include "exchange.h"

#include "util.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct exchange *exchange_new(const char *uri)
{
	struct exchange *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	snprintf(q->uri, sizeof(q->uri), "%s", uri);
	q->answer.status = 200;
	q->answer.type = "application/json";
	q->api.upload_fd = -1;
	q->api.body = "";
	return q;
}

void exchange_free(struct exchange *q)
{
	if (!q)
		return;
	if (q->api.upload_fd >= 0)
		close(q->api.upload_fd);
	json_free(&q->body);
	api_answer_deinit(&q->answer);
	free(q);
}

static uint64_t body_max(const struct exchange *q)
{
	unsigned flags = q->api.route.route->flags;

	return flags & ROUTE_UPLOAD ? EXCHANGE_UPLOAD_MAX : flags & ROUTE_BODY ? ROUTE_BODY_MAX : 0;
}

static void fail_too_large(const struct exchange *q, struct api_answer *a)
{
	static const struct api_problem large = {413, "too-large", "The body is too large", NULL,
						 NULL};

	api_fail(a, &large, "%s takes a body of up to %llu bytes", q->api.route.path,
		 (unsigned long long)body_max(q));
}

void exchange_check_body(struct exchange *q, const struct request_headers *h, struct api_answer *a)
{
	static const struct api_problem none = {400, "body-not-allowed",
						"The request must not have a body", NULL, NULL};

	if (!h->body)
		return;
	if (body_max(q) == 0)
		api_fail(a, &none, "Send the request without a body");
	else if (h->content != UINT64_MAX && h->content > body_max(q))
		fail_too_large(q, a);
}

static int upload(struct exchange *q, const struct api *api, const char *data, size_t bytes)
{
	if (q->api.upload_fd < 0)
		q->api.upload_fd = util_temporary(api->context->config->state_dir);
	if (q->api.upload_fd < 0)
		return q->api.upload_fd;
	return write_all(q->api.upload_fd, data, bytes);
}

void exchange_receive(struct exchange *q, const struct api *api, const char *data, size_t bytes)
{
	if (q->refused || q->error < 0)
		return;
	q->received += bytes;
	if (q->received > body_max(q))
		q->error = -EFBIG;
	else if (q->api.route.route->flags & ROUTE_UPLOAD)
		q->error = upload(q, api, data, bytes);
	else
		json_bytes(&q->body, data, bytes);
	if (q->body.failed)
		q->error = -ENOMEM;
}

bool exchange_receive_end(struct exchange *q)
{
	static const struct api_problem full = {507, "no-space", "The body cannot be stored", NULL,
						NULL};

	if (q->error == -EFBIG)
		fail_too_large(q, &q->answer);
	else if (q->error < 0)
		api_fail(&q->answer, &full, "Storing the body failed: %s", strerror(-q->error));
	if (q->error < 0)
		return false;
	if (q->body.count > 0) {
		q->api.body_bytes = q->body.count;
		json_bytes(&q->body, "", 1);
		q->api.body = q->body.at;
	}
	if (q->api.upload_fd >= 0)
		lseek(q->api.upload_fd, 0, SEEK_SET);
	return true;
}

/* ---- workers ---- */

static void *work(void *exchange)
{
	struct exchange *q = exchange;
	struct workers *workers = q->workers;
	uint32_t uid = q->api.uid;

	api_handler_of(q->api.route.route->id)(q->served_by, &q->api, &q->answer);
	q->answered = true;
	workers_give_back(workers, uid);
	MHD_resume_connection(q->connection); /* q is not ours any more */
	workers_leave(workers);
	return NULL;
}

bool exchange_defer(struct workers *workers, const struct api *api, struct exchange *q,
		    struct MHD_Connection *connection)
{
	static const struct api_problem busy = {503, "busy", "The server is busy", NULL, NULL};
	pthread_attr_t detached;
	pthread_t thread;
	int r;

	q->workers = workers;
	q->served_by = api;
	q->connection = connection;
	if (!workers_take(workers, q->api.uid)) {
		q->answered = true;
		api_fail(&q->answer, &busy,
			 "%u requests like this one are being answered at once, %u of one user",
			 WORKERS_MAX, WORKERS_UID);
		return false;
	}
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	MHD_suspend_connection(connection);
	r = pthread_create(&thread, &detached, work, q);
	pthread_attr_destroy(&detached);
	if (r == 0)
		return true;
	q->answered = true;
	api_fail(&q->answer, &busy, "No thread can be made: %s", strerror(r));
	workers_give_back(workers, q->api.uid);
	MHD_resume_connection(connection);
	workers_leave(workers);
	return true;
}
