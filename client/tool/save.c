// SPDX-License-Identifier: MIT
/*
 * `fprof save`: frames of a session become a capture, and with -o a file here. Whether the file can
 * be made is found out before anything is kept.
 */
#include "ask.h"
#include "output.h"

#include <stdio.h>

static int print(const json_t *capture)
{
	const json_t *frames = json_object_get(capture, "frames");

	printf("capture %lld: ", answer_integer(capture, "id"));
	if (json_is_object(frames))
		printf("frames %lld to %lld, ", answer_integer(frames, "first"),
		       answer_integer(frames, "last"));
	printf("%lld bytes\n", answer_integer(capture, "bytes"));
	return TOOL_OK;
}

static int save(const struct tool_options *options, const json_t *body, const char *name)
{
	_cleanup_output_ struct output output = {0};
	_cleanup_api_ struct api *api = NULL;
	_cleanup_json_ json_t *capture = NULL;
	int r = api_new(options, &api);

	if (r == TOOL_OK && name)
		r = output_open(&output, name);
	if (r == TOOL_OK)
		r = api_send(api, "POST", "/api/v1/captures", body, &capture);
	if (r == TOOL_OK && name)
		r = output_download(&output, api, answer_text(capture, "file"));
	if (r == TOOL_OK)
		r = answer_show(options, capture, print);
	if (r == TOOL_OK && name && !options->json)
		printf("also in %s\n", name);
	return r;
}

int tool_save(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {.body = json_object()};
	const char *output = NULL;
	bool tail = false;
	const struct ask_option own[] = {{"--output", &output, NULL},
					 {"-o", &output, NULL},
					 {"--tail", NULL, &tail},
					 {NULL, NULL, NULL}};
	int r = ask_parse(&ask, "from# to# last# name note", own, argc, argv);

	if (r != TOOL_OK)
		return r;
	json_object_set_new(ask.body, "session",
			    json_string(ask.session ? ask.session : "current"));
	if (tail)
		json_object_set_new(ask.body, "tail", json_true());
	return save(options, ask.body, output);
}
