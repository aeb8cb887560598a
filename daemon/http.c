/* SPDX-License-Identifier: MIT */
/*
 * Two servers, one on TCP and one on a Unix socket, with a small pool of threads each; handlers run
 * on them and borrow a database reader. The order for a request: who is at the other end (once, at
 * accept), do Host and Origin name us, is it a method that we know, may the caller see anything, is
 * the address sound; then the handler.
 */
#include "http.h"

#include "access.h"
#include "api.h"
#include "events.h"
#include "exchange.h"
#include "feed.h"
#include "listener.h"
#include "log.h"
#include "own.h"
#include "places.h"
#include "query.h"
#include "respond.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define TCP_THREADS	 4
#define UNIX_THREADS	 2
#define CONNECTIONS	 128
#define CONNECTIONS_IP	 32 /* of one address, when others than this machine can reach us */
#define CONNECTION_BYTES (32u * 1024u) /* request line and headers, and what is being sent */
#define CONNECTIONS_UID	 48	       /* of one user who is not the daemon's */
#define TIMEOUT_SECONDS	 30
#define HEADERS_SECONDS	 10 /* that may pass without a byte until the request is there */

struct http {
	struct http_context context;
	struct api api;
	struct MHD_Daemon *tcp, *local;
	char *unix_path;
	uint16_t port;
	bool exposed;
	uint32_t uid; /* of the daemon */
	char token[ACCESS_TOKEN_CHARS + 1];
	struct places places; /* of connections, by user */
	struct workers workers;
};

/* One accepted connection. */
struct connection {
	struct access_peer peer;
	bool local_socket;		/* the Unix socket */
	bool counted;			/* among its user's */
	char address[INET6_ADDRSTRLEN]; /* ours, that it came to */
	struct exchange *exchange;	/* the request that has begun to come */
};

static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* What a stranger's page must not do. Fills the answer and returns false. */
static bool check_names(const struct http *http, const struct connection *peer,
			const struct request_headers *h, struct api_answer *a)
{
	static const struct api_problem host = {403, "foreign-host", "The Host header is not ours",
						"Host", NULL};
	static const struct api_problem origin = {403, "foreign-origin", "Another site's page asks",
						  "Origin", NULL};
	static const struct api_problem site = {403, "cross-site", "Another site's page asks",
						"Sec-Fetch-Site", NULL};
	const char *address = http->context.config->http_address;
	const char *local = *peer->address ? peer->address : NULL;

	if (h->hosts != 1 || !access_host_ok(h->host, address, local, http->port))
		api_fail(a, &host, "Use 127.0.0.1, localhost, [::1] or %s, alone or with :%u",
			 address, http->port);
	else if (h->origins > 1 || !access_origin_ok(h->origin, address, local, http->port))
		api_fail(a, &origin, "Only the page of this server may ask, not %.64s", h->origin);
	else if (!access_site_ok(h->site))
		api_fail(a, &site, "Only the page of this server and the user may ask");
	else
		return true;
	return false;
}

static bool check_caller(const struct http *http, const struct connection *peer,
			 const struct request_headers *h, struct exchange *q, struct api_answer *a)
{
	static const struct api_problem denied = {401, "token-needed", "A token is needed", NULL,
						  NULL};
	enum access_token token = access_token_check(h->authorization, http->token);
	bool exposed = http->exposed && !peer->local_socket;

	if (h->authorizations > 1)
		token = ACCESS_TOKEN_WRONG;
	if (access_scope(&peer->peer, token, exposed, http->uid, &q->api.uid) == 0)
		return true;
	api_fail(a, &denied, "%s: send 'Authorization: Bearer TOKEN' with what is in %s/token",
		 token == ACCESS_TOKEN_WRONG ? "The token is wrong"
		 : exposed		     ? "The server can be reached from other machines"
					     : "The kernel did not say who asks",
		 http->context.config->state_dir);
	return false;
}

static bool check_route(const struct request_headers *h, struct exchange *q, struct api_answer *a)
{
	if (q->error < 0)
		api_fail_route(a, &q->api.route, q->error);
	else
		exchange_check_body(q, h, a);
	return a->status == 200;
}

/* All that can be refused before a body comes. Fills the answer and returns false. */
static bool check(const struct http *http, const struct connection *peer,
		  const struct request_headers *h, struct exchange *q)
{
	return check_names(http, peer, h, &q->answer) &&
	       check_caller(http, peer, h, q, &q->answer) && check_route(h, q, &q->answer);
}

static enum MHD_Result answer(struct http *http, struct MHD_Connection *c, const char *method,
			      struct exchange *q)
{
	const struct route *route = q->api.route.route;
	struct request_headers h;

	request_headers(c, &h);
	q->api.accept = h.accept;
	if (q->answered)
		return respond(c, &h, &q->answer);
	if (route->id == ROUTE_STREAM && !strcmp(method, "GET"))
		return events_respond(&http->api, c, &h, &q->api, &q->answer);
	if (route->id == ROUTE_STREAM)
		q->answer.type = "text/event-stream";
	else if (!exchange_receive_end(q))
		return respond(c, &h, &q->answer);
	else if (route->flags & ROUTE_SLOW && exchange_defer(&http->workers, &http->api, q, c))
		return MHD_YES;
	else if (!q->answered)
		api_handler_of(route->id)(&http->api, &q->api, &q->answer);
	return respond(c, &h, &q->answer);
}

/* Called once when the headers are there, with each piece of a body, and at the end. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	const struct connection *peer = connection_of(c);
	struct http *http = userdata;
	struct exchange *q = *state;
	struct request_headers h;

	(void)url;
	(void)version;
	if (!q || !peer)
		return MHD_NO;
	if (!q->begun) {
		q->begun = true;
		MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, TIMEOUT_SECONDS);
		request_headers(c, &h);
		q->error = route_parse(method, q->uri, &q->api.route);
		q->refused = !check(http, peer, &h, q);
		return q->refused && h.body ? respond(c, &h, &q->answer) : MHD_YES;
	}
	if (*upload_bytes) {
		exchange_receive(q, &http->api, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (!q->refused)
		return answer(http, c, method, q);
	request_headers(c, &h);
	return respond(c, &h, &q->answer);
}

/*
 * The first that is seen of a request: the raw address. Nobody is told of the end of a request that
 * never comes whole, so its connection keeps it.
 *
 * The library would go on to note each parameter, and leaves a connection hanging when it has no
 * room for them all. We read the raw address ourselves, so for the library the query ends here: the
 * text is in the connection's own buffer.
 */
static void *on_uri(void *userdata, const char *uri, struct MHD_Connection *c)
{
	struct connection *peer = connection_of(c);
	char *query = strchr((char *)uri, '?');

	(void)userdata;
	if (!peer)
		return NULL;
	exchange_free(peer->exchange);
	peer->exchange = exchange_new(uri);
	if (query && query[1])
		query[1] = '\0';
	return peer->exchange;
}

static void on_completed(void *userdata, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct connection *peer = connection_of(c);

	(void)userdata;
	(void)code;
	if (peer)
		peer->exchange = NULL;
	exchange_free(*state);
	*state = NULL;
}

static void note_address(int fd, struct connection *peer)
{
	struct sockaddr_storage at = {0};
	socklen_t bytes = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return;
	peer->local_socket = at.ss_family == AF_UNIX;
	if (at.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&at)->sin_addr, peer->address,
			  sizeof(peer->address));
	else if (at.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&at)->sin6_addr, peer->address,
			  sizeof(peer->address));
}

/* One user must not keep all others out. The daemon's own has no bound, nor have other machines'
 * users, who have one by address. */
static bool may_connect(struct http *http, struct connection *peer)
{
	uint32_t uid = peer->peer.known ? peer->peer.uid : UINT32_MAX;

	if (uid == http->uid || (!peer->peer.known && http->exposed))
		return true;
	peer->counted = places_take(&http->places, uid, CONNECTIONS_UID);
	return peer->counted;
}

static void forget_connection(struct http *http, struct connection *peer)
{
	if (!peer)
		return;
	if (peer->counted)
		places_give_back(&http->places, peer->peer.known ? peer->peer.uid : UINT32_MAX);
	exchange_free(peer->exchange);
	free(peer);
}

static void on_connection(void *userdata, struct MHD_Connection *c, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct connection *peer;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		forget_connection(userdata, *socket_context);
		*socket_context = NULL;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	peer = calloc(1, sizeof(*peer));
	if (peer && info) {
		access_peer(info->connect_fd, &peer->peer);
		note_address(info->connect_fd, peer);
		if (!may_connect(userdata, peer))
			shutdown(info->connect_fd, SHUT_RDWR);
	}
	*socket_context = peer;
}

static void on_log(void *userdata, const char *format, va_list args)
{
	char line[512];

	(void)userdata;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("http: %s", line);
}

/* The server owns fd from here on. */
static struct MHD_Daemon *serve(struct http *http, int fd, unsigned threads, unsigned per_ip)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_ip, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HEADERS_SECONDS,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, http, MHD_OPTION_END);
}

static int start_tcp(struct http *http)
{
	const struct config *config = http->context.config;
	int fd, rc;

	rc = listener_tcp(config->http_address, config->http_port, &fd, &http->port,
			  &http->exposed);
	if (rc < 0)
		return rc;
	http->api.port = http->port;
	http->tcp = serve(http, fd, TCP_THREADS, http->exposed ? CONNECTIONS_IP : 0);
	if (http->tcp)
		return 0;
	close(fd);
	log_error("http: the server does not start on %s port %u", config->http_address,
		  http->port);
	return -EIO;
}

static int start_unix(struct http *http)
{
	unsigned mode = http->uid ? 0600 : 0666; /* the system's daemon serves all users, by uid */
	int fd, rc;

	if (asprintf(&http->unix_path, "%s/http.sock", http->context.config->runtime_dir) < 0) {
		http->unix_path = NULL;
		return -ENOMEM;
	}
	rc = listener_unix(http->unix_path, mode, &fd);
	if (rc < 0) {
		free(http->unix_path); /* it may be another daemon's: not ours to remove */
		http->unix_path = NULL;
		return rc;
	}
	http->local = serve(http, fd, UNIX_THREADS, 0);
	if (http->local)
		return 0;
	close(fd);
	log_error("http: the server does not start on %s", http->unix_path);
	return -EIO;
}

static void load_token(struct http *http)
{
	const struct config *config = http->context.config;
	char reason[192], fix[192];
	int rc = access_token_load(config->state_dir, http->token);

	if (!rc) {
		status_source(http->context.status, "token", SOURCE_ON, NULL, NULL);
		return;
	}
	snprintf(reason, sizeof(reason), "%.100s/token cannot be used: %s", config->state_dir,
		 strerror(-rc));
	snprintf(fix, sizeof(fix), "make %.100s writable and restart fprofd", config->state_dir);
	log_warning("http: %s", reason);
	status_source(http->context.status, "token", SOURCE_UNAVAILABLE, reason, fix);
}

static int start(struct http *http)
{
	int rc;

	http->api.started_ns = clock_ns(CLOCK_MONOTONIC);
	http->api.event_cost_ns = own_event_cost_ns();
	load_token(http);
	rc = readers_new(http->context.store, &http->api.readers);
	if (!rc)
		rc = queries_new(http->context.store, http->context.config->query_seconds * 1000,
				 NULL, &http->api.queries);
	if (!rc)
		rc = stream_hub_new(feed_replay, &http->api, &http->api.hub);
	if (!rc)
		rc = feed_new(&http->api, &http->api.feed);
	if (!rc)
		rc = start_tcp(http);
	if (!rc)
		rc = start_unix(http);
	return rc;
}

int http_new(const struct http_context *context, struct http **ret_http)
{
	struct http *http = calloc(1, sizeof(*http));
	int rc;

	if (!http)
		return -ENOMEM;
	http->context = *context;
	http->api.context = &http->context;
	http->uid = geteuid();
	places_init(&http->places);
	workers_init(&http->workers);
	rc = start(http);
	if (rc < 0) {
		http_free(http);
		return rc;
	}
	log_info("http: http://%s%s%s:%u/ and %s",
		 strchr(context->config->http_address, ':') ? "[" : "",
		 context->config->http_address,
		 strchr(context->config->http_address, ':') ? "]" : "", http->port,
		 http->unix_path);
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	feed_free(http->api.feed);
	if (http->api.hub)
		stream_hub_close(http->api.hub);
	workers_close(&http->workers);
	if (http->tcp)
		MHD_stop_daemon(http->tcp);
	if (http->local)
		MHD_stop_daemon(http->local);
	stream_hub_free(http->api.hub);
	readers_free(http->api.readers);
	queries_free(http->api.queries);
	if (http->unix_path)
		unlink(http->unix_path);
	free(http->unix_path);
	places_deinit(&http->places);
	workers_deinit(&http->workers);
	free(http);
}

uint16_t http_port(const struct http *http)
{
	return http->port;
}

void http_committed(void *http_pointer, const struct batch *batch)
{
	struct http *http = __atomic_load_n((struct http **)http_pointer, __ATOMIC_ACQUIRE);

	if (http)
		feed_committed(http->api.feed, batch);
}

void http_spike(struct http *http, const struct spike *spike)
{
	feed_spike(http->api.feed, spike);
}
