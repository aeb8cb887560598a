// SPDX-License-Identifier: MIT
/*
 * The commands that show what the API answers: status, sessions, frames, tail, dashboard. With
 * --json the answer goes out as it came; without, as tables. What is null in the API is "-" in a
 * table, never 0.
 */
#include "api.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST_DEFAULT 20
#define LAST_MAX     3600

static int print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

static int refuse_arguments(int argc, char **argv)
{
	return argc > 1 ? tool_usage("%s takes no argument '%s'", argv[0], argv[1]) : TOOL_OK;
}

/* GETs path for a command that asks once. */
static int get(const struct tool_options *options, const char *path, json_t **ret_json)
{
	_cleanup_api_ struct api *api = NULL;
	int r = api_new(options, &api);

	return r == TOOL_OK ? api_get(api, path, ret_json) : r;
}

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "-";
}

/* ---- status ---------------------------------------------------------------------------------- */

static void print_scalar(const char *key, const json_t *value)
{
	printf("%-32s ", key);
	if (json_is_string(value))
		printf("%s\n", json_string_value(value));
	else if (json_is_integer(value))
		printf("%lld\n", (long long)json_integer_value(value));
	else if (json_is_real(value))
		printf("%.6g\n", json_real_value(value));
	else if (json_is_boolean(value))
		printf("%s\n", json_is_true(value) ? "yes" : "no");
	else
		puts("-");
}

/* Objects in objects as "clock.source"; lists are not for this. */
static void print_object(const char *prefix, const json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		char path[256];

		snprintf(path, sizeof(path), "%s%s%s", prefix, prefix[0] ? "." : "", key);
		if (json_is_object(value))
			print_object(path, value);
		else if (!json_is_array(value))
			print_scalar(path, value);
	}
}

static void print_sources(const json_t *sources)
{
	static const char *const heads[] = {"<source", "<state", "<reason", "<fix", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *source;
	size_t i;

	if (!table)
		return;
	json_array_foreach(sources, i, source)
	{
		table_cell(table, text_of(source, "name"));
		table_cell(table, text_of(source, "state"));
		table_cell(table, text_of(source, "reason"));
		table_cell(table, text_of(source, "fix"));
	}
	putchar('\n');
	table_print(table);
}

int tool_status(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *status = NULL;
	int r = refuse_arguments(argc, argv);

	if (r == TOOL_OK)
		r = get(options, "/api/v1/status", &status);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return print_json(status);
	print_object("", status);
	if (json_is_array(json_object_get(status, "sources")))
		print_sources(json_object_get(status, "sources"));
	return TOOL_OK;
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
		r = get(options, "/api/v1/sessions", &answer);
	if (r != TOOL_OK || !table)
		return r != TOOL_OK ? r : TOOL_FAILED;
	if (options->json)
		return print_json(answer);
	sessions = json_object_get(answer, "sessions");
	json_array_foreach(sessions, i, session)
	{
		table_integer(table, json_object_get(session, "id"));
		table_integer(table, json_object_get(session, "pid"));
		table_cell(table, text_of(session, "name"));
		table_cell(table, text_of(session, "state"));
		table_integer(table, json_object_get(session, "threads"));
		table_integer(table, json_object_get(session, "frames_total"));
		table_integer(table, json_object_get(session, "frames_retained"));
		table_integer(table, json_object_get(session, "lost_events"));
	}
	table_print(table);
	return TOOL_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct frames_query {
	const char *session, *stream;
	long last;
};

static int parse_last(const char *text, long *ret_last)
{
	char *end;

	errno = 0;
	*ret_last = strtol(text, &end, 10);
	if (errno || end == text || *end || *ret_last < 1 || *ret_last > LAST_MAX)
		return tool_usage("--last takes a number from 1 to %d, not '%s'", LAST_MAX, text);
	return TOOL_OK;
}

static int parse_frames(struct frames_query *query, int argc, char **argv)
{
	int i;

	*query = (struct frames_query){.session = NULL, .last = LAST_DEFAULT};
	for (i = 1; i < argc; i++) {
		const char *argument = argv[i], *last = NULL;
		int taken = tool_option(argc, argv, &i, "--last", &last);

		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--stream", &query->stream);
		if (taken < 0)
			return tool_usage("%s needs a value", argument);
		if (last && parse_last(last, &query->last) != TOOL_OK)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-' || query->session)
			return tool_usage("frames does not know '%s'", argument);
		query->session = argument;
	}
	if (!query->session)
		query->session = "current";
	return TOOL_OK;
}

static void flags_cell(struct table *table, const json_t *flags)
{
	char text[256] = "";
	const json_t *flag;
	size_t i, length = 0;

	json_array_foreach(flags, i, flag)
	{
		const char *name = json_string_value(flag);

		if (name && length + strlen(name) + 2 < sizeof(text))
			length += (size_t)sprintf(text + length, "%s%s", length ? "," : "", name);
	}
	table_cell(table, text);
}

static void print_frames(const json_t *frames)
{
	static const char *const heads[] = {"frame",  "begin ms", "wall ms", "cpu ms",
					    "gpu ms", "wait gpu", "present", "cap",
					    "events", "lost",	  "<flags",  NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *frame;
	size_t i;

	if (!table)
		return;
	json_array_foreach(frames, i, frame)
	{
		const json_t *waits = json_object_get(frame, "wait_ns");

		table_integer(table, json_object_get(frame, "frame"));
		table_ms(table, json_object_get(frame, "begin_ns"));
		table_ms(table, json_object_get(frame, "wall_ns"));
		table_ms(table, json_object_get(frame, "cpu_ns"));
		table_ms(table, json_object_get(frame, "gpu_ns"));
		table_ms(table, json_object_get(waits, "gpu"));
		table_ms(table, json_object_get(waits, "present"));
		table_ms(table, json_object_get(waits, "cap"));
		table_integer(table, json_object_get(frame, "events"));
		table_integer(table, json_object_get(frame, "lost_events"));
		flags_cell(table, json_object_get(frame, "flags"));
	}
	table_print(table);
}

/* How many of the stream's frames these are, where they are not all. */
static void print_cut(const json_t *answer, size_t shown)
{
	const json_t *rows = json_object_get(answer, "rows");
	json_int_t first = json_integer_value(json_object_get(rows, "first"));
	json_int_t last = json_integer_value(json_object_get(rows, "last"));
	json_int_t kept = first ? last - first + 1 : 0;

	if (kept > (json_int_t)shown)
		printf("%zu of %lld frames; --last N shows more\n", shown, (long long)kept);
	else
		printf("%zu of %zu frames\n", shown, shown);
}

static int frames_path(const struct frames_query *query, char **ret_path)
{
	_cleanup_free_ char *session = api_escape(query->session);
	_cleanup_free_ char *stream = api_escape(query->stream ? query->stream : "");

	if (!session || !stream ||
	    asprintf(ret_path, "/api/v1/sessions/%s/frames?last=%ld%s%s", session, query->last,
		     query->stream ? "&stream=" : "", stream) < 0)
		return TOOL_FAILED;
	return TOOL_OK;
}

int tool_frames(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	struct frames_query query;
	const json_t *frames;
	int r = parse_frames(&query, argc, argv);

	if (r == TOOL_OK)
		r = frames_path(&query, &path);
	if (r == TOOL_OK)
		r = get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return print_json(answer);
	frames = json_object_get(answer, "frames");
	print_frames(frames);
	print_cut(answer, json_array_size(frames));
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
		table_cell(table, text_of(thread, "name"));
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
	session = api_escape(argc == 2 ? argv[1] : "current");
	if (!session || asprintf(&path, "/api/v1/sessions/%s/frames/tail", session) < 0)
		return TOOL_FAILED;
	r = get(options, path, &tail);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return print_json(tail);
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
	host = text_of(http, "address");
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
