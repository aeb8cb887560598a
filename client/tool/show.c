// SPDX-License-Identifier: MIT
/*
 * The commands that show what the API answers as it is: sessions, tail, dashboard. With --json the
 * answer goes out as it came; without, as tables. What is null in the API is "-" in a table, never
 * 0.
 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sessions -------------------------------------------------------------------------------- */

static void session_row(struct table *table, const json_t *session)
{
	table_row(table, session, "id", "pid", "name", "state", "threads", "frames_total",
		  "frames_retained", "lost_events", "kind", NULL);
}

static int print_sessions(const json_t *answer)
{
	static const char *const heads[] = {"id",     "pid",	  "<name", "<state", "threads",
					    "frames", "retained", "lost",  "<kind",  NULL};

	return table_list(heads, json_object_get(answer, "sessions"), session_row);
}

int tool_sessions(const struct tool_options *options, int argc, char **argv)
{
	int r = tool_no_arguments(argc, argv);

	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", strdup("/api/v1/sessions"), NULL, print_sessions);
}

/* ---- tail ------------------------------------------------------------------------------------ */

static void open_row(struct table *table, const json_t *thread)
{
	const json_t *open = json_object_get(thread, "open");
	_cleanup_free_ char *text = api_join(open, " > ");

	if (json_array_size(open) == 0)
		return;
	table_row(table, thread, "tid", "name", NULL);
	table_cell(table, text);
}

static bool is_open(const json_t *threads)
{
	const json_t *thread;
	size_t i;

	json_array_foreach(threads, i, thread)
	{
		if (json_array_size(json_object_get(thread, "open")) > 0)
			return true;
	}
	return false;
}

static int print_tail(const json_t *tail)
{
	static const char *const heads[] = {"tid", "<thread", "<open, outermost first", NULL};
	const json_t *threads = json_object_get(tail, "threads");

	if (is_open(threads))
		return table_list(heads, threads, open_row);
	puts("no zone is open");
	return TOOL_OK;
}

int tool_tail(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "", NULL, argc, argv);

	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", ask_path(&ask, "frames/tail"), NULL, print_tail);
}

/* ---- dashboard ------------------------------------------------------------------------------- */

/* The page's address: --url's, or the TCP port that the daemon says it listens on. */
static int dashboard_address(struct api *api, char **ret_address)
{
	_cleanup_json_ json_t *status = NULL;
	const json_t *http;
	const char *host;
	int r;

	if (api_url(api)[0])
		return asprintf(ret_address, "%s/", api_url(api)) < 0 ? TOOL_FAILED : TOOL_OK;
	r = api_send(api, "GET", "/api/v1/status", NULL, &status);
	if (r != TOOL_OK)
		return r;
	http = json_object_get(status, "http");
	host = answer_text(http, "address");
	if (!json_is_integer(json_object_get(http, "port"))) {
		tool_say("the daemon does not say where its page is");
		return TOOL_FAILED;
	}
	/* what listens on all addresses is here, too */
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
		host = "127.0.0.1";
	return asprintf(ret_address, strchr(host, ':') ? "http://[%s]:%lld/" : "http://%s:%lld/",
			host, answer_integer(http, "port")) < 0
		       ? TOOL_FAILED
		       : TOOL_OK;
}

static int open_page(const char *address)
{
	execlp("xdg-open", "xdg-open", address, (char *)NULL);
	tool_say("xdg-open: %s", strerror(errno));
	return errno == ENOENT ? TOOL_UNAVAILABLE : TOOL_FAILED;
}

int tool_dashboard(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_free_ char *address = NULL;
	bool open = argc > 1 && strcmp(argv[1], "--open") == 0;
	int r = tool_no_arguments(argc - open, argv + open);

	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r == TOOL_OK)
		r = dashboard_address(api, &address);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		printf("{\"address\": \"%s\"}\n", address);
	else
		printf("%s\n", address);
	fflush(stdout);
	return open ? open_page(address) : TOOL_OK;
}
