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

/* "7 (pid 4711), 9 (pid 4712)", malloc()ed; NULL: no memory. */
static char *list(const json_t *attachments)
{
	char *text = NULL;
	size_t size, i;
	FILE *to = open_memstream(&text, &size);
	const json_t *one;

	if (!to)
		return NULL;
	json_array_foreach(attachments, i, one)
	{
		fprintf(to, "%s%lld (pid %lld)", i ? ", " : "", answer_integer(one, "session"),
			answer_integer(one, "pid"));
	}
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* The only one that there is. */
static int find_only(const struct tool_options *options, long long *ret_session)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *those = NULL;
	const json_t *attachments;
	int r = answer_get(options, ATTACHMENTS, &answer);

	if (r != TOOL_OK)
		return r;
	attachments = json_object_get(answer, "attachments");
	if (json_array_size(attachments) == 1) {
		*ret_session = answer_integer(json_array_get(attachments, 0), "session");
		return TOOL_OK;
	}
	if (json_array_size(attachments) == 0) {
		tool_say("no game is attached");
		return TOOL_FAILED;
	}
	those = list(attachments);
	if (!those)
		return tool_no_memory();
	return tool_usage("several games are attached: detach takes one of the sessions %s", those);
}

int tool_detach(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	long long session = 0;
	char *path = NULL;
	int r = ask_parse(&ask, "", NULL, argc, argv);

	if (r != TOOL_OK)
		return r;
	if (ask.session && strcmp(ask.session, "current") == 0)
		return tool_usage("detach takes a session's number, as attach lists them");
	if (!ask.session) {
		r = find_only(options, &session);
		if (r != TOOL_OK)
			return r;
		r = asprintf(&path, ATTACHMENTS "/%lld", session);
	} else {
		r = asprintf(&path, ATTACHMENTS "/%s", ask.session);
	}
	if (r < 0)
		return tool_no_memory();
	return answer_ask(options, "DELETE", path, NULL, NULL);
}
