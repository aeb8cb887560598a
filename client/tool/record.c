/* SPDX-License-Identifier: MIT */
/* `fprof record|freeze|stop|clear [SESSION]`: one order to a session, and what holds now. */
#include "answer.h"
#include "api.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_session(int argc, char **argv, const char **ret_session)
{
	int i;

	*ret_session = NULL;
	for (i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			return tool_usage("%s does not know %s", argv[0], argv[i]);
		if (*ret_session)
			return tool_usage("%s takes one session", argv[0]);
		*ret_session = argv[i];
	}
	if (!*ret_session)
		*ret_session = "current";
	return TOOL_OK;
}

static char *path_of(const char *session, const char *what)
{
	_cleanup_free_ char *escaped = api_escape(session);
	char *path = NULL;

	if (!escaped || asprintf(&path, "/api/v1/sessions/%s/%s", escaped, what) < 0)
		return NULL;
	return path;
}

static void print_recording(const json_t *answer)
{
	const char *state = json_string_value(json_object_get(answer, "state"));
	const char *in_force = json_string_value(json_object_get(answer, "in_force"));
	long long session = (long long)json_integer_value(json_object_get(answer, "session"));

	if (!state || !in_force)
		return;
	if (json_is_true(json_object_get(answer, "waits_for_consumer")))
		printf("session %lld: %s, once somebody wants to see it\n", session, state);
	else if (!strcmp(state, in_force))
		printf("session %lld: %s\n", session, state);
	else
		printf("session %lld: %s from its next frame on\n", session, state);
}

/* One request; body is taken over. */
static int order(const struct tool_options *options, const char *method, const char *path,
		 json_t *body)
{
	_cleanup_json_ json_t *sent = body, *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	long status = 0;
	int r = path ? api_new(options, &api) : TOOL_FAILED;

	if (r == TOOL_OK)
		r = api_send(api, method, path, sent, &answer, &status);
	if (r != TOOL_OK) {
		if (status)
			api_say_problem(path, answer, status);
		return r;
	}
	if (options->json)
		return answer_print(answer);
	print_recording(answer);
	return TOOL_OK;
}

int tool_record(const struct tool_options *options, int argc, char **argv)
{
	static const char *const states[][2] = {
		{"record", "recording"}, {"freeze", "frozen"}, {"stop", "stopped"}};
	_cleanup_free_ char *path = NULL;
	const char *session, *state = NULL;
	int r = parse_session(argc, argv, &session);
	size_t i;

	if (r != TOOL_OK)
		return r;
	for (i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(argv[0], states[i][0]))
			state = states[i][1];
	path = path_of(session, "recording");
	return order(options, "PUT", path, json_pack("{s:s}", "state", state));
}

int tool_clear(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_free_ char *path = NULL;
	const char *session;
	int r = parse_session(argc, argv, &session);

	if (r != TOOL_OK)
		return r;
	path = path_of(session, "clear");
	return order(options, "POST", path, NULL);
}
