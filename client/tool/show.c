// SPDX-License-Identifier: MIT
/*
 * The commands that show what the API answers as it is: sessions, tail, dashboard. With --json the
 * answer goes out as it came; without, as tables. What is null in the API is "-" in a table, never
 * 0.
 */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse_arguments(int argc, char **argv)
{
	return argc > 1 ? tool_usage("%s takes no argument '%s'", argv[0], argv[1]) : TOOL_OK;
}

/* ---- sessions -------------------------------------------------------------------------------- */

int tool_sessions(const struct tool_options *options, int argc, char **argv)
{
	static const char *const heads[] = {"id",     "pid",	  "<name", "<state", "threads",
					    "frames", "retained", "lost",  NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	_cleanup_json_ json_t *answer = NULL;
	const json_t *sessions, *session;
	size_t i;
	int r = refuse_arguments(argc, argv);

	if (r == TOOL_OK)
		r = answer_get(options, "/api/v1/sessions", &answer);
	if (r != TOOL_OK || !table)
		return r != TOOL_OK ? r : TOOL_FAILED;
	if (options->json)
		return answer_print(answer);
	sessions = json_object_get(answer, "sessions");
	json_array_foreach(sessions, i, session)
	{
		table_integer(table, json_object_get(session, "id"));
		table_integer(table, json_object_get(session, "pid"));
		table_cell(table, answer_text(session, "name"));
		table_cell(table, answer_text(session, "state"));
		table_integer(table, json_object_get(session, "threads"));
		table_integer(table, json_object_get(session, "frames_total"));
		table_integer(table, json_object_get(session, "frames_retained"));
		table_integer(table, json_object_get(session, "lost_events"));
	}
	table_print(table);
	return TOOL_OK;
}

/* ---- tail ------------------------------------------------------------------------------------ */

static char *open_text(const json_t *open)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	const json_t *name;

	if (!f)
		return NULL;
	json_array_foreach(open, i, name)
	{
		fprintf(f, "%s%s", i ? " > " : "", json_string_value(name));
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void print_open(const json_t *threads)
{
	static const char *const heads[] = {"tid", "<thread", "<open, outermost first", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *thread;
	size_t i, shown = 0;

	if (!table)
		return;
	json_array_foreach(threads, i, thread)
	{
		const json_t *open = json_object_get(thread, "open");
		_cleanup_free_ char *text = NULL;

		if (json_array_size(open) == 0)
			continue;
		text = open_text(open);
		table_integer(table, json_object_get(thread, "tid"));
		table_cell(table, answer_text(thread, "name"));
		table_cell(table, text ? text : "");
		shown++;
	}
	if (shown > 0)
		table_print(table);
	else
		puts("no zone is open");
}

int tool_tail(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_free_ char *session = NULL, *path = NULL;
	_cleanup_json_ json_t *tail = NULL;
	int r;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return tool_usage("tail does not know '%s'", argv[argc - 1]);
	if (argc == 2 && answer_check_session(argv[1]) != TOOL_OK)
		return TOOL_USAGE;
	session = api_escape(argc == 2 ? argv[1] : "current");
	if (!session || asprintf(&path, "/api/v1/sessions/%s/frames/tail", session) < 0)
		return TOOL_FAILED;
	r = answer_get(options, path, &tail);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(tail);
	print_open(json_object_get(tail, "threads"));
	return TOOL_OK;
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
	r = api_get(api, "/api/v1/status", &status);
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
			host, (long long)json_integer_value(json_object_get(http, "port"))) < 0
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
	int r = refuse_arguments(argc - open, argv + open);

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
