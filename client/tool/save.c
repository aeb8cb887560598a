// SPDX-License-Identifier: MIT
/*
 * `fprof save`: frames of a session become a capture, and with -o a file here. The file has its
 * name only when it is whole.
 */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct save_query {
	const char *session, *output; /* output NULL: none */
	const char *name, *note;
	long long from, to, last; /* 0: not said */
	bool tail;
};

static int parse_number(const char *option, const char *text, long long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno || end == text || *end || *ret < 1)
		return tool_usage("%s takes a number from 1, not '%s'", option, text);
	return TOOL_OK;
}

/* Options with a value: 1: it was one; 0: it was not; -1: it was a wrong one, and that was said. */
static int parse_option(struct save_query *query, int argc, char **argv, int *index)
{
	const struct {
		const char *name;
		const char **text;
		long long *number;
	} options[] = {
		{"--from", NULL, &query->from}, {"--to", NULL, &query->to},
		{"--last", NULL, &query->last}, {"--name", &query->name, NULL},
		{"--note", &query->note, NULL}, {"--output", &query->output, NULL},
		{"-o", &query->output, NULL},
	};
	const char *argument = argv[*index], *value = NULL;
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int taken = tool_option(argc, argv, index, options[i].name, &value);

		if (taken == 0)
			continue;
		if (taken < 0 || !value[0]) {
			tool_usage("%s needs a value", argument);
			return -1;
		}
		if (options[i].text)
			*options[i].text = value;
		else if (parse_number(options[i].name, value, options[i].number) != TOOL_OK)
			return -1;
		return 1;
	}
	return 0;
}

static int parse(struct save_query *query, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = parse_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (strcmp(argument, "--tail") == 0) {
			query->tail = true;
			continue;
		}
		if (argument[0] == '-' || query->session)
			return tool_usage("save does not know '%s'", argument);
		query->session = argument;
	}
	if (query->last && (query->from || query->to))
		return tool_usage("--last stands instead of --from and --to");
	if (query->from && query->to && query->to < query->from)
		return tool_usage("--to is before --from");
	if (!query->session)
		query->session = "current";
	return answer_check_session(query->session);
}

static void set_number(json_t *body, const char *key, long long value)
{
	if (value)
		json_object_set_new(body, key, json_integer(value));
}

static json_t *body_of(const struct save_query *query)
{
	json_t *body = json_object();

	if (strcmp(query->session, "current") == 0)
		json_object_set_new(body, "session", json_string("current"));
	else
		set_number(body, "session", strtoll(query->session, NULL, 10));
	set_number(body, "from", query->from);
	set_number(body, "to", query->to);
	set_number(body, "last", query->last);
	if (query->tail)
		json_object_set_new(body, "tail", json_true());
	if (query->name)
		json_object_set_new(body, "name", json_string(query->name));
	if (query->note)
		json_object_set_new(body, "note", json_string(query->note));
	return body;
}

static int post(struct api *api, const struct save_query *query, json_t **ret_capture)
{
	static const char path[] = "/api/v1/captures";
	_cleanup_json_ json_t *body = body_of(query), *answer = NULL;
	long status = 0;
	int r;

	if (!body)
		return TOOL_FAILED;
	r = api_send(api, "POST", path, body, &answer, &status);
	if (r != TOOL_OK) {
		if (status)
			api_say_problem(path, answer, status);
		return r;
	}
	*ret_capture = json_incref(answer);
	return TOOL_OK;
}

/* Writes the capture's file under a temporary name beside its own. */
static int download(struct api *api, const char *path, const char *temporary)
{
	FILE *file = fopen(temporary, "wxe");
	int r;

	if (!file) {
		tool_say("%s: %s", temporary, strerror(errno));
		return TOOL_FAILED;
	}
	r = api_download(api, path, file);
	if ((fflush(file) != 0 || fsync(fileno(file)) < 0) && r == TOOL_OK) {
		tool_say("%s: %s", temporary, strerror(errno));
		r = TOOL_FAILED;
	}
	fclose(file);
	if (r != TOOL_OK)
		unlink(temporary);
	return r;
}

static int write_file(struct api *api, const json_t *capture, const char *output)
{
	_cleanup_free_ char *temporary = NULL;
	int r;

	if (asprintf(&temporary, "%s.%ld.part", output, (long)getpid()) < 0)
		return TOOL_FAILED;
	r = download(api, answer_text(capture, "file"), temporary);
	if (r != TOOL_OK)
		return r;
	if (rename(temporary, output) < 0) {
		tool_say("%s: %s", output, strerror(errno));
		unlink(temporary);
		return TOOL_FAILED;
	}
	return TOOL_OK;
}

static int print(const struct tool_options *options, const json_t *capture, const char *output)
{
	const json_t *frames = json_object_get(capture, "frames");

	if (options->json)
		return answer_print(capture);
	printf("capture %lld: ", (long long)json_integer_value(json_object_get(capture, "id")));
	if (json_is_object(frames))
		printf("frames %lld to %lld, ",
		       (long long)json_integer_value(json_object_get(frames, "first")),
		       (long long)json_integer_value(json_object_get(frames, "last")));
	printf("%lld bytes%s%s\n", (long long)json_integer_value(json_object_get(capture, "bytes")),
	       output ? ", also in " : "", output ? output : "");
	return TOOL_OK;
}

int tool_save(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_json_ json_t *capture = NULL;
	struct save_query query = {0};
	int r = parse(&query, argc, argv);

	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r == TOOL_OK)
		r = post(api, &query, &capture);
	if (r == TOOL_OK && query.output)
		r = write_file(api, capture, query.output);
	return r == TOOL_OK ? print(options, capture, query.output) : r;
}
