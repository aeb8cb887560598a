/* SPDX-License-Identifier: MIT */
/* What a stranger can put into a request: the first line is the target, the second a Host, the
 * third an Origin, the fourth an Authorization, the fifth a Last-Event-ID. */
#include "daemon/access.h"
#include "daemon/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINES 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A route that was found has what its path promises, and no parameter that it does not know. */
static void check_found(const struct route_request *request)
{
	unsigned i;

	if (!request->route || !request->path || request->count > ROUTE_PARAMS_MAX)
		abort();
	if (strstr(request->route->path, "{id}") && !request->id)
		abort();
	if (strstr(request->route->path, "{frame}") && !request->frame)
		abort();
	for (i = 0; i < request->count; i++)
		if (route_value(request, request->params[i].name) != request->params[i].value)
			abort();
}

static void try_target(const char *uri)
{
	static struct route_request request;
	enum route_frame_kind kind;
	uint64_t number, session;

	if (route_parse("GET", uri, &request) == 0 && request.route->id != ROUTE_ASSET)
		check_found(&request);
	if (route_number(uri, 1, 100, &number) == 0 && (number < 1 || number > 100))
		abort();
	route_session(uri, &session);
	if (route_frame(uri, &kind, &number) == 0 && kind == ROUTE_FRAME_NUMBER && number == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char token[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char *text = malloc(size + 1), *rest, *lines[LINES];
	uint64_t session, frame;
	unsigned i;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	for (i = 0; i < LINES; i++)
		lines[i] = rest ? strsep(&rest, "\n") : NULL;
	try_target(lines[0]);
	access_host_ok(lines[1], "127.0.0.1", "192.168.1.2", 7600);
	access_origin_ok(lines[2], "127.0.0.1", NULL, 7600);
	access_site_ok(lines[2]);
	if (access_token_check(lines[3], token) == ACCESS_TOKEN_RIGHT && !strstr(lines[3], token))
		abort();
	if (lines[4])
		route_event_id(lines[4], &session, &frame);
	free(text);
	return 0;
}
