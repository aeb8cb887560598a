// SPDX-License-Identifier: MIT
/* `fprof attach` and `fprof detach`: frames of a game that was started without us. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTACHMENTS "/api/v1/attachments"

static void attachment_row(struct table *table, const json_t *one)
{
	_cleanup_free_ char *functions = api_join(json_object_get(one, "functions"), ", ");

	table_row(table, one, "session", "pid", "frames", "lost_events", NULL);
	table_cell(table, functions);
}

static int print(const json_t *answer)
{
	static const char *const heads[] = {"session", "pid", "frames", "lost", "<functions", NULL};
	const json_t *refused = json_object_get(answer, "refused"), *one;
	size_t i;

	json_array_foreach(refused, i, one)
	{
		tool_say("pid %lld: %s", answer_integer(one, "pid"), answer_text(one, "reason"));
	}
	return table_list(heads, json_object_get(answer, "attachments"), attachment_row);
}

int tool_attach(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {.body = json_object(), .no_session = true};
	bool named, all = argc == 1;
	char *rest = NULL;
	long pid = 0;
	int r = ask_options(&ask, "name", NULL, &argc, argv);

	if (all)
		return answer_ask(options, "GET", strdup(ATTACHMENTS), NULL, print);
	if (r != TOOL_OK)
		return r;
	named = json_object_size(ask.body) > 0;
	if (argc > 2 - named)
		return tool_usage("attach does not know '%s'", argv[2 - named]);
	if (!named) {
		pid = strtol(argv[1], &rest, 10);
		json_object_set_new(ask.body, "pid", json_integer(pid));
	}
	if (!named && (*rest || pid < 1))
		return tool_usage("'%s' is no process's number; --name finds one by its name",
				  argv[1]);
	return answer_ask(options, "POST", strdup(ATTACHMENTS), ask.body, print);
}

int tool_detach(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	char *path = NULL;
	int r = ask_parse(&ask, "", NULL, argc, argv);

	if (r != TOOL_OK)
		return r;
	if (!ask.session || strcmp(ask.session, "current") == 0)
		return tool_usage("detach takes a session's number, as attach lists them");
	if (asprintf(&path, ATTACHMENTS "/%s", ask.session) < 0)
		return tool_no_memory();
	return answer_ask(options, "DELETE", path, NULL, NULL);
}
