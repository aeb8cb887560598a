// SPDX-License-Identifier: MIT
/*
 * `fprof trigger`: the triggers of a live session. --frame-ms sets the usual one: it takes the
 * place of those that look at frames and leaves the others.
 */
#include "answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trigger_query {
	const char *session, *file;
	json_t *frame; /* the new trigger on frames, NULL: none; owned */
	bool clear, members;
};

static int take_number(struct trigger_query *query, const char *option, const char *key,
		       const char *text, bool whole)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < 0 ||
	    (whole && (value > 1e9 || value != floor(value))))
		return tool_usage("%s takes a %s, 0 or more, not '%s'", option,
				  whole ? "whole number" : "number", text);
	json_object_set_new(query->frame, key,
			    whole ? json_integer((json_int_t)value) : json_real(value));
	query->members = true;
	return TOOL_OK;
}

/* 1: argv[*index] was an option; 0: it was not; -1: it was a wrong one, and that was said. */
static int parse_option(struct trigger_query *query, int argc, char **argv, int *index)
{
	static const struct {
		const char *option, *key;
		bool whole;
	} numbers[] = {
		{"--frame-ms", "above_ms", false},
		{"--times-median", "times_median", false},
		{"--floor-ms", "floor_ms", false},
		{"--warm-up", "warm_up", true},
		{"--before", "before", true},
		{"--after", "after", true},
		{"--cool-down-ms", "cool_down_ms", true},
		{"--keep", "keep", true},
	};
	const char *argument = argv[*index], *value = NULL;
	int taken = 0;
	size_t i;

	if (strcmp(argument, "--freeze") == 0) {
		json_object_set_new(query->frame, "freeze", json_true());
		query->members = true;
		return 1;
	}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && taken == 0; i++) {
		taken = tool_option(argc, argv, index, numbers[i].option, &value);
		if (taken > 0 && take_number(query, numbers[i].option, numbers[i].key, value,
					     numbers[i].whole) != TOOL_OK)
			return -1;
	}
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--list", &query->file);
	if (taken < 0)
		tool_usage("%s needs a value", argument);
	return taken;
}

static int check(const struct trigger_query *query)
{
	bool bound = json_object_get(query->frame, "above_ms") ||
		     json_object_get(query->frame, "times_median");

	if (query->clear + (query->file != NULL) + query->members > 1)
		return tool_usage(
			"trigger takes clear, --list or one trigger's options, not several");
	if (query->members && !bound)
		return tool_usage("trigger needs --frame-ms or --times-median");
	return TOOL_OK;
}

static int parse(struct trigger_query *query, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = parse_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (strcmp(argument, "clear") == 0 && !query->clear)
			query->clear = true;
		else if (argument[0] == '-' || query->session)
			return tool_usage("trigger does not know '%s'", argument);
		else
			query->session = argument;
	}
	if (!query->session)
		query->session = "current";
	return answer_check_session(query->session) == TOOL_OK ? check(query) : TOOL_USAGE;
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
	int r = api_get(api, path, ret_list);
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
		    json_t **ret_list)
{
	if (query->file)
		return read_list(query->file, ret_list);
	if (query->members)
		return change_list(api, path, query->frame, ret_list);
	*ret_list = json_array();
	return *ret_list ? TOOL_OK : TOOL_FAILED;
}

static void print(const json_t *list)
{
	static const char *const heads[] = {"<trigger", "before",   "after",
					    "keep",	"<freezes", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *one;
	size_t i;

	if (!table)
		return;
	json_array_foreach(list, i, one)
	{
		table_cell(table, answer_text(one, "label"));
		table_integer(table, json_object_get(one, "before"));
		table_integer(table, json_object_get(one, "after"));
		table_integer(table, json_object_get(one, "keep"));
		table_cell(table, json_is_true(json_object_get(one, "freeze")) ? "yes" : "no");
	}
	if (json_array_size(list) > 0)
		table_print(table);
	else
		puts("no triggers");
}

static int send_list(struct api *api, const char *path, const json_t *list, json_t **ret_answer)
{
	long status;
	int r = api_send(api, "PUT", path, list, ret_answer, &status);

	if (r == TOOL_FAILED)
		api_say_problem(path, *ret_answer, status);
	return r;
}

static int run(const struct tool_options *options, const struct trigger_query *query)
{
	_cleanup_free_ char *session = api_escape(query->session), *path = NULL;
	bool changes = query->clear || query->file || query->members;
	_cleanup_json_ json_t *list = NULL, *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	int r;

	if (!session || asprintf(&path, "/api/v1/sessions/%s/triggers", session) < 0)
		return TOOL_FAILED;
	r = api_new(options, &api);
	if (r == TOOL_OK && changes)
		r = new_list(api, path, query, &list);
	if (r == TOOL_OK)
		r = changes ? send_list(api, path, list, &answer) : api_get(api, path, &answer);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	print(answer);
	return TOOL_OK;
}

int tool_trigger(const struct tool_options *options, int argc, char **argv)
{
	struct trigger_query query = {.frame = json_object()};
	int r = query.frame ? parse(&query, argc, argv) : TOOL_FAILED;

	if (r == TOOL_OK)
		r = run(options, &query);
	json_decref(query.frame);
	return r;
}
