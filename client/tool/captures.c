// SPDX-License-Identifier: MIT
/* `fprof captures`: what is kept, and naming, annotating and deleting it. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

static void print_list(const json_t *list)
{
	static const char *const heads[] = {"id",   "<kind", "<name", "<created", "first",
					    "last", "bytes", "<note", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *capture;
	size_t i;

	if (!table)
		return;
	json_array_foreach(list, i, capture)
	{
		const json_t *frames = json_object_get(capture, "frames");

		table_integer(table, json_object_get(capture, "id"));
		table_cell(table, answer_text(capture, "kind"));
		table_cell(table, answer_text(capture, "name"));
		table_cell(table, answer_text(capture, "created_utc"));
		table_integer(table, json_object_get(frames, "first"));
		table_integer(table, json_object_get(frames, "last"));
		table_integer(table, json_object_get(capture, "bytes"));
		table_cell(table, answer_text(capture, "note"));
	}
	table_print(table);
}

static int list(const struct tool_options *options)
{
	_cleanup_json_ json_t *captures = NULL;
	int r = answer_get(options, "/api/v1/captures", &captures);

	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(captures);
	print_list(json_object_get(captures, "captures"));
	return TOOL_OK;
}

/* What is to be done with one capture. */
struct change {
	const char *method, *id;
	const char *key, *value; /* of the body; NULL: none */
};

static int change(const struct tool_options *options, const struct change *what)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	_cleanup_free_ char *path = NULL;
	long status = 0;
	int r = api_new(options, &api);

	if (r != TOOL_OK)
		return r;
	if (what->key)
		body = json_pack("{s:s}", what->key, what->value);
	if ((what->key && !body) || asprintf(&path, "/api/v1/captures/%s", what->id) < 0)
		return TOOL_FAILED;
	r = api_send(api, what->method, path, body, &answer, &status);
	if (r != TOOL_OK) {
		if (status)
			api_say_problem(path, answer, status);
		return r;
	}
	return options->json ? answer_print(answer) : TOOL_OK;
}

int tool_captures(const struct tool_options *options, int argc, char **argv)
{
	struct change what = {.id = argc > 2 ? argv[2] : ""};

	if (argc == 1)
		return list(options);
	if (argc > 2 && (strspn(what.id, "0123456789") != strlen(what.id) || !what.id[0]))
		return tool_usage("a capture is a number from `fprof captures`, not '%s'", what.id);
	if (argc == 3 && strcmp(argv[1], "delete") == 0) {
		what.method = "DELETE";
		return change(options, &what);
	}
	if (argc == 4 && (strcmp(argv[1], "name") == 0 || strcmp(argv[1], "note") == 0)) {
		what.method = "PATCH";
		what.key = argv[1];
		what.value = argv[3];
		return change(options, &what);
	}
	return tool_usage("captures takes nothing, delete ID, name ID NAME or note ID TEXT");
}
