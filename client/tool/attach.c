// SPDX-License-Identifier: MIT
/* `fprof attach` and `fprof detach`: frames of a game that was started without us. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTACHMENTS "/api/v1/attachments"

static void print_list(const json_t *list)
{
	static const char *const heads[] = {"session", "pid", "frames", "lost", "<functions", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *one, *function;
	size_t i, k;

	if (!table)
		return;
	json_array_foreach(list, i, one)
	{
		char text[256] = "";
		size_t n = 0;

		json_array_foreach(json_object_get(one, "functions"), k, function)
		{
			if (n < sizeof(text))
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
						      k ? ", " : "", json_string_value(function));
		}
		table_integer(table, json_object_get(one, "session"));
		table_integer(table, json_object_get(one, "pid"));
		table_integer(table, json_object_get(one, "frames"));
		table_integer(table, json_object_get(one, "lost_events"));
		table_cell(table, text);
	}
	table_print(table);
}

static int list(const struct tool_options *options)
{
	_cleanup_json_ json_t *answer = NULL;
	int r = answer_get(options, ATTACHMENTS, &answer);

	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	print_list(json_object_get(answer, "attachments"));
	return TOOL_OK;
}

static int ask(const struct tool_options *options, const char *method, const char *path,
	       const json_t *body, json_t **ret_answer)
{
	_cleanup_api_ struct api *api = NULL;
	long status = 0;
	int r = api_new(options, &api);

	if (r != TOOL_OK)
		return r;
	r = api_send(api, method, path, body, ret_answer, &status);
	if (r != TOOL_OK && status)
		api_say_problem(path, *ret_answer, status);
	return r;
}

static int attach(const struct tool_options *options, json_t *what)
{
	_cleanup_json_ json_t *body = what, *answer = NULL;
	const json_t *one;
	size_t i;
	int r = body ? ask(options, "POST", ATTACHMENTS, body, &answer) : TOOL_FAILED;

	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	json_array_foreach(json_object_get(answer, "refused"), i, one)
	{
		tool_say("pid %lld: %s", json_integer_value(json_object_get(one, "pid")),
			 answer_text(one, "reason"));
	}
	print_list(json_object_get(answer, "attachments"));
	return TOOL_OK;
}

int tool_attach(const struct tool_options *options, int argc, char **argv)
{
	const char *name = NULL;
	char *rest;
	int i = 1, taken;
	long pid;

	if (argc == 1)
		return list(options);
	taken = tool_option(argc, argv, &i, "--name", &name);
	if (taken < 0)
		return tool_usage("--name needs a value");
	if (i + 1 < argc)
		return tool_usage("attach does not know '%s'", argv[i + 1]);
	if (taken > 0)
		return attach(options, json_pack("{s:s}", "name", name));
	pid = strtol(argv[1], &rest, 10);
	if (*rest || pid < 1)
		return tool_usage("'%s' is no process's number; --name finds one by its name",
				  argv[1]);
	return attach(options, json_pack("{s:I}", "pid", (json_int_t)pid));
}

int tool_detach(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	int r;

	if (argc != 2 || strspn(argv[1], "0123456789") != strlen(argv[1]) || !*argv[1])
		return tool_usage("detach takes a session, as attach lists them");
	if (asprintf(&path, ATTACHMENTS "/%s", argv[1]) < 0)
		return TOOL_FAILED;
	r = ask(options, "DELETE", path, NULL, &answer);
	return r == TOOL_OK && options->json ? answer_print(answer) : r;
}
