/* SPDX-License-Identifier: MIT */
/*
 * `fprof detail`: which levels of detail sit where, and changing one. A path is given as the API
 * takes it: with slashes, or as a JSON array.
 */
#include "answer.h"
#include "api.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct detail_query {
	const char *session;
	const char *path;  /* NULL: none */
	const char *level; /* "0".."2", "inherit"; NULL: nothing is to be changed */
	const char *mask, *unmask;
};

static int take_place(struct detail_query *query, const char *argument)
{
	if (argument[0] == '-')
		return tool_usage("detail does not know %s", argument);
	if (!query->path)
		query->path = argument;
	else if (!query->level)
		query->level = argument;
	else
		return tool_usage("detail takes a path and a level, not %s", argument);
	return TOOL_OK;
}

static int parse(struct detail_query *query, int argc, char **argv)
{
	int i, taken, r = TOOL_OK;

	*query = (struct detail_query){.session = "current"};
	for (i = 1; i < argc && r == TOOL_OK; i++) {
		const char *name = argv[i];

		taken = tool_option(argc, argv, &i, "--session", &query->session);
		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--mask", &query->mask);
		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--unmask", &query->unmask);
		if (taken < 0)
			return tool_usage("%s needs a value", name);
		if (taken == 0)
			r = take_place(query, argv[i]);
	}
	if (r != TOOL_OK)
		return r;
	if ((query->mask != NULL) + (query->unmask != NULL) + (query->path != NULL) > 1)
		return tool_usage("detail takes one of a path, --mask and --unmask");
	if (query->level && strcmp(query->level, "inherit") != 0 &&
	    (strlen(query->level) != 1 || !strchr("012", query->level[0])))
		return tool_usage("a level is 0, 1, 2 or inherit, not %s", query->level);
	return TOOL_OK;
}

/* A path as the API takes it: NULL after saying why not. */
static json_t *path_json(const char *path)
{
	json_t *array;

	if (path[0] != '[')
		return json_string(path);
	array = json_loads(path, 0, NULL);
	if (!array)
		tool_say("the path is no JSON array: %s", path);
	return array;
}

/* The body of the change, or NULL. */
static json_t *body_of(const struct detail_query *query)
{
	json_t *path;

	if (query->mask || query->unmask)
		return json_pack("{s:s, s:b}", "category",
				 query->mask ? query->mask : query->unmask, "masked",
				 query->mask != NULL);
	path = path_json(query->path);
	if (!path)
		return NULL;
	if (!strcmp(query->level, "inherit"))
		return json_pack("{s:o, s:n}", "path", path, "level");
	return json_pack("{s:o, s:i}", "path", path, "level", query->level[0] - '0');
}

/* A name cannot write to the terminal. */
static void print_name(const char *name)
{
	for (; name && *name; name++)
		putchar((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

static void print_path(const json_t *path)
{
	const json_t *name;
	size_t i;

	if (json_array_size(path) == 0)
		printf("everything");
	json_array_foreach(path, i, name)
	{
		printf("%s", i ? " > " : "");
		print_name(json_string_value(name));
	}
}

static void print_node(const json_t *node)
{
	const json_t *from = json_object_get(node, "from");

	print_path(json_object_get(node, "path"));
	printf(": level %lld", (long long)json_integer_value(json_object_get(node, "in_force")));
	if (!json_is_null(json_object_get(node, "own"))) {
		printf(", its own\n");
	} else if (json_is_null(from)) {
		printf(", the default\n");
	} else {
		printf(", from ");
		print_path(from);
		printf("\n");
	}
}

static void print_detail(const json_t *answer)
{
	const json_t *node = json_object_get(answer, "node"), *category;
	const json_t *categories = json_object_get(answer, "categories");
	const json_t *levels = json_object_get(answer, "levels");
	size_t i;

	if (json_is_object(node)) {
		print_node(node);
		return;
	}
	json_array_foreach(levels, i, node)
	{
		print_node(node);
	}
	if (json_array_size(levels) == 0)
		printf("everything: level %lld\n",
		       (long long)json_integer_value(json_object_get(answer, "default")));
	json_array_foreach(categories, i, category)
	{
		if (!json_is_true(json_object_get(category, "masked")))
			continue;
		printf("category ");
		print_name(json_string_value(json_object_get(category, "category")));
		printf(": masked\n");
	}
}

/* Adds &path=... for each name, or ?path=... for the text. malloc'ed, NULL: no memory. */
static char *question(const char *base, const char *path)
{
	_cleanup_json_ json_t *names = path_json(path);
	char *made = strdup(base), *longer;
	const json_t *name;
	size_t i, count = json_is_array(names) ? json_array_size(names) : 1;

	for (i = 0; made && names && i < count; i++) {
		_cleanup_free_ char *escaped = NULL;

		name = json_is_array(names) ? json_array_get(names, i) : names;
		escaped = api_escape(json_string_value(name) ? json_string_value(name) : "");
		if (!escaped || asprintf(&longer, "%s%cpath=%s", made, i ? '&' : '?', escaped) < 0)
			longer = NULL;
		free(made);
		made = longer;
	}
	if (names)
		return made;
	free(made);
	return NULL;
}

/* What was perhaps meant by a name that is not known. */
static void say_near(const json_t *problem)
{
	const char *type = json_string_value(json_object_get(problem, "type"));
	const json_t *name;
	size_t i;

	if (!type || strncmp(type, "/problems/unknown-", 18) != 0)
		return;
	json_array_foreach(json_object_get(problem, "allowed"), i, name)
	{
		printf("%s", i ? ", " : "there is ");
		print_name(json_string_value(name));
	}
	if (json_array_size(json_object_get(problem, "allowed")) > 0)
		printf("\n");
}

static int ask(struct api *api, const char *method, const char *path, const json_t *body,
	       json_t **ret_answer)
{
	long status = 0;
	int r = api_send(api, method, path, body, ret_answer, &status);

	if (r == TOOL_OK || !status)
		return r;
	api_say_problem(path, *ret_answer, status);
	say_near(*ret_answer);
	return r;
}

static int change(struct api *api, const struct detail_query *query, const char *path,
		  json_t **ret_answer)
{
	_cleanup_json_ json_t *body = body_of(query);

	return body ? ask(api, "PUT", path, body, ret_answer) : TOOL_USAGE;
}

int tool_detail(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_free_ char *escaped = NULL, *path = NULL, *asked = NULL;
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	struct detail_query query;
	int r = parse(&query, argc, argv);

	if (r != TOOL_OK)
		return r;
	escaped = api_escape(query.session);
	if (!escaped || asprintf(&path, "/api/v1/sessions/%s/detail", escaped) < 0) {
		path = NULL;
		return TOOL_FAILED;
	}
	r = api_new(options, &api);
	if (r != TOOL_OK)
		return r;
	if (query.level || query.mask || query.unmask) {
		r = change(api, &query, path, &answer);
	} else {
		asked = query.path ? question(path, query.path) : strdup(path);
		r = asked ? ask(api, "GET", asked, NULL, &answer) : TOOL_USAGE;
	}
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	print_detail(answer);
	return TOOL_OK;
}
