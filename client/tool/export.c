// SPDX-License-Identifier: MIT
/*
 * `fprof export`: frames of a session as a file for other tools. The daemon writes it; this saves
 * it, under the name that was asked for only when all of it has come.
 */
#include "ask.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

#define LAST_ALL "100000" /* more than any history keeps */

static int save(const struct tool_options *options, const char *path, const char *name)
{
	_cleanup_output_ struct output output = {0};
	_cleanup_api_ struct api *api = NULL;
	_cleanup_json_ json_t *answer = NULL;
	int r = api_new(options, &api);

	if (r == TOOL_OK && strcmp(name, "-") == 0)
		return api_download(api, path, stdout);
	if (r == TOOL_OK)
		r = output_open(&output, name);
	if (r == TOOL_OK)
		r = output_download(&output, api, path);
	if (r != TOOL_OK || !options->json)
		return r;
	answer = json_pack("{s:s}", "file", name);
	return answer ? answer_print(answer) : TOOL_FAILED;
}

int tool_export(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	_cleanup_free_ char *path = NULL;
	const char *output = NULL;
	const struct ask_option own[] = {{"-o", &output, NULL}, {NULL, NULL, NULL}};
	int r = ask_parse(&ask, "format from to last stream", own, argc, argv);

	if (r == TOOL_OK && !output)
		return tool_usage("export needs -o FILE");
	if (r == TOOL_OK && !ask_has(&ask, "format"))
		r = ask_add(&ask, "format", "chrome");
	if (r == TOOL_OK && !ask_has(&ask, "from") && !ask_has(&ask, "to") &&
	    !ask_has(&ask, "last"))
		r = ask_add(&ask, "last", LAST_ALL);
	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "export");
	return path ? save(options, path, output) : TOOL_FAILED;
}
