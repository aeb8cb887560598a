// SPDX-License-Identifier: MIT
/* `fprof snapshot`: keeps the last seconds of a game under a name, to be compared with later. */
#include "answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct snapshot_query {
	const char *name, *session;
	double seconds;	     /* 0: not said */
	json_int_t from, to; /* 0: not said */
};

static int parse_number(const char *option, const char *text, json_int_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	if (errno || end == text || *end || *ret_number < 1)
		return tool_usage("%s takes a frame's number, from 1, not '%s'", option, text);
	return TOOL_OK;
}

static int parse_seconds(const char *text, double *ret_seconds)
{
	char *end;

	*ret_seconds = strtod(text, &end);
	if (end == text || *end || !isfinite(*ret_seconds) || *ret_seconds <= 0)
		return tool_usage("--seconds takes a number above 0, not '%s'", text);
	return TOOL_OK;
}

/* 1: argv[*index] was an option; 0: it was none; -1: it was a wrong one, and that was said. */
static int parse_option(struct snapshot_query *query, int argc, char **argv, int *index)
{
	const char *argument = argv[*index], *seconds = NULL, *from = NULL, *to = NULL;
	int r = TOOL_OK, taken = tool_option(argc, argv, index, "--session", &query->session);

	if (taken == 0)
		taken = tool_option(argc, argv, index, "--seconds", &seconds);
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--from", &from);
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--to", &to);
	if (taken < 0)
		r = tool_usage("%s needs a value", argument);
	else if (seconds)
		r = parse_seconds(seconds, &query->seconds);
	else if (from)
		r = parse_number("--from", from, &query->from);
	else if (to)
		r = parse_number("--to", to, &query->to);
	return r == TOOL_OK ? taken : -1;
}

static int parse(struct snapshot_query *query, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = parse_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-' || query->name)
			return tool_usage("snapshot does not know '%s'", argument);
		query->name = argument;
	}
	return query->name ? TOOL_OK : tool_usage("snapshot needs a name");
}

static json_t *body_of(const struct snapshot_query *query)
{
	json_t *body = json_object();

	json_object_set_new(body, "name", json_string(query->name));
	if (query->session)
		json_object_set_new(body, "session", json_string(query->session));
	if (query->seconds > 0)
		json_object_set_new(body, "seconds", json_real(query->seconds));
	if (query->from)
		json_object_set_new(body, "from", json_integer(query->from));
	if (query->to)
		json_object_set_new(body, "to", json_integer(query->to));
	return body;
}

static long long number(const json_t *json, const char *key)
{
	return (long long)json_integer_value(json_object_get(json, key));
}

static void print(const json_t *answer)
{
	const json_t *frames = json_object_get(answer, "frames");

	printf("%s: frames %lld to %lld, session %lld\n", answer_text(answer, "name"),
	       number(frames, "first"), number(frames, "last"), number(answer, "session"));
}

static void warn_missing(const json_t *answer)
{
	const json_t *asked = json_object_get(answer, "asked");
	const json_t *frames = json_object_get(answer, "frames");

	if (number(asked, "first") != number(frames, "first") ||
	    number(asked, "last") != number(frames, "last"))
		fprintf(stderr,
			"fprof: warning: of frames %lld to %lld only %lld to %lld were there\n",
			number(asked, "first"), number(asked, "last"), number(frames, "first"),
			number(frames, "last"));
}

int tool_snapshot(const struct tool_options *options, int argc, char **argv)
{
	static const char path[] = "/api/v1/snapshots";
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	struct snapshot_query query = {0};
	long status = 0;
	int r = parse(&query, argc, argv);

	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r != TOOL_OK)
		return r;
	body = body_of(&query);
	r = api_send(api, "POST", path, body, &answer, &status);
	if (r == TOOL_FAILED)
		api_say_problem(path, answer, status);
	if (r != TOOL_OK)
		return r;
	warn_missing(answer);
	if (options->json)
		return answer_print(answer);
	print(answer);
	return TOOL_OK;
}
