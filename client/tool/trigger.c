// SPDX-License-Identifier: MIT
/*
 * `fprof trigger`: the triggers of a live session. --frame-ms sets the usual one: it takes the
 * place of those that look at frames and leaves the others.
 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct trigger_query {
	const char *file;
	bool clear;
};

/* frame: the new trigger on frames; empty: none */
static int check(const struct trigger_query *query, const json_t *frame)
{
	bool members = json_object_size(frame) > 0;
	bool bound = json_object_get(frame, "above_ms") || json_object_get(frame, "times_median");

	if (query->clear + (query->file != NULL) + members > 1)
		return tool_usage(
			"trigger takes clear, --list or one trigger's options, not several");
	if (members && !bound)
		return tool_usage("trigger needs --frame-ms or --times-median");
	return TOOL_OK;
}

static int parse(struct trigger_query *query, struct ask *ask, int argc, char **argv)
{
	static const char words[] = "times-median% floor-ms% warm-up# before# after# cool-down-ms# "
				    "keep#";
	bool freeze = false;
	const char *frame_ms = NULL;
	double above = -1;
	const struct ask_option own[] = {{"--frame-ms", &frame_ms, NULL},
					 {"--list", &query->file, NULL},
					 {"--freeze", NULL, &freeze},
					 {NULL, NULL, NULL}};
	int i, r = ask_options(ask, words, own, &argc, argv);

	if (r == TOOL_OK)
		r = ask_real("--frame-ms", "a number", frame_ms, &above);
	if (r != TOOL_OK)
		return r;
	if (above >= 0)
		json_object_set_new(ask->body, "above_ms", json_real(above));
	if (freeze)
		json_object_set_new(ask->body, "freeze", json_true());
	for (i = 1; i < argc && !query->clear; i++) {
		query->clear = strcmp(argv[i], "clear") == 0;
		if (query->clear)
			argv[i] = argv[--argc];
	}
	argv[argc] = NULL;
	r = ask_parse(ask, "", NULL, argc, argv);
	return r == TOOL_OK ? check(query, ask->body) : r;
}

static int read_list(const char *name, json_t **ret_list)
{
	bool standard = strcmp(name, "-") == 0;
	FILE *file = standard ? stdin : fopen(name, "re");
	json_error_t error;

	if (!file) {
		tool_say("%s: %s", name, strerror(errno));
		return TOOL_CONFIG;
	}
	*ret_list = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (!standard)
		fclose(file);
	if (*ret_list)
		return TOOL_OK;
	tool_say("%s: line %d: %s", name, error.line, error.text);
	return TOOL_CONFIG;
}

/* The session's list with the new trigger instead of those on frames. */
static int change_list(struct api *api, const char *path, json_t *trigger, json_t **ret_list)
{
	int r = api_send(api, "GET", path, NULL, ret_list);
	size_t i;

	if (r != TOOL_OK)
		return r;
	for (i = json_array_size(*ret_list); i > 0; i--) {
		const json_t *one = json_array_get(*ret_list, i - 1);

		if (strcmp(answer_text(one, "on"), "frame") == 0)
			json_array_remove(*ret_list, i - 1);
	}
	json_object_set_new(trigger, "on", json_string("frame"));
	return json_array_insert(*ret_list, 0, trigger) == 0 ? TOOL_OK : TOOL_FAILED;
}

static int new_list(struct api *api, const char *path, const struct trigger_query *query,
		    json_t *frame, json_t **ret_list)
{
	if (query->file)
		return read_list(query->file, ret_list);
	if (!query->clear)
		return change_list(api, path, frame, ret_list);
	*ret_list = json_array();
	return *ret_list ? TOOL_OK : TOOL_FAILED;
}

static void trigger_row(struct table *table, const json_t *one)
{
	table_row(table, one, "label", "before", "after", "keep", "freeze", NULL);
}

static int print(const json_t *list)
{
	static const char *const heads[] = {"<trigger", "before",   "after",
					    "keep",	"<freezes", NULL};

	if (json_array_size(list) > 0)
		return table_list(heads, list, trigger_row);
	puts("no triggers");
	return TOOL_OK;
}

int tool_trigger(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {.body = json_object()};
	_cleanup_json_ json_t *list = NULL, *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	_cleanup_free_ char *path = NULL;
	struct trigger_query query = {0};
	int r = parse(&query, &ask, argc, argv);
	bool changes = query.clear || query.file || json_object_size(ask.body) > 0;

	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "triggers");
	if (!path)
		return TOOL_FAILED;
	if (changes)
		r = new_list(api, path, &query, ask.body, &list);
	if (r == TOOL_OK)
		r = api_send(api, changes ? "PUT" : "GET", path, list, &answer);
	if (r == TOOL_USAGE && query.file)
		r = TOOL_CONFIG;
	return r == TOOL_OK ? answer_show(options, answer, print) : r;
}
