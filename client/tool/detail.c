/* SPDX-License-Identifier: MIT */
/*
 * `fprof detail`: which levels of detail sit where, and changing one. A path is given as the API
 * takes it: with slashes, or as a JSON array.
 */
#include "ask.h"

#include <stdio.h>
#include <string.h>

struct detail_query {
	const char *path;  /* NULL: none */
	const char *level; /* "0".."2", "inherit"; NULL: nothing is to be changed */
	const char *mask, *unmask;
};

static bool is_level(const char *text)
{
	return strcmp(text, "inherit") == 0 || (strlen(text) == 1 && strchr("012", text[0]));
}

/* A number alone is a session; a path that is one comes as a JSON array, or with its level. */
static int parse(struct detail_query *query, struct ask *ask, int argc, char **argv)
{
	const struct ask_option own[] = {{"--mask", &query->mask, NULL},
					 {"--unmask", &query->unmask, NULL},
					 {NULL, NULL, NULL}};
	int r = ask_options(ask, "", own, &argc, argv);

	if (r == TOOL_OK && !(argc == 3 && is_level(argv[2])))
		r = ask_front_session(ask, &argc, argv);
	if (r != TOOL_OK)
		return r;
	if (argc > 3)
		return tool_usage("detail takes a path and a level, not %s", argv[3]);
	query->path = argv[1];
	query->level = argc > 2 ? argv[2] : NULL;
	if ((query->mask != NULL) + (query->unmask != NULL) + (query->path != NULL) > 1)
		return tool_usage("detail takes one of a path, --mask and --unmask");
	if (query->level && !is_level(query->level))
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

static void print_path(const json_t *path)
{
	_cleanup_free_ char *text = api_join(path, " > ");

	printf("%s", text && text[0] ? text : "everything");
}

static void print_node(const json_t *node)
{
	const json_t *from = json_object_get(node, "from");

	print_path(json_object_get(node, "path"));
	printf(": level %lld", answer_integer(node, "in_force"));
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

static int print(const json_t *answer)
{
	const json_t *node = json_object_get(answer, "node"), *category;
	const json_t *categories = json_object_get(answer, "categories");
	const json_t *levels = json_object_get(answer, "levels");
	size_t i;

	if (json_is_object(node)) {
		print_node(node);
		return TOOL_OK;
	}
	json_array_foreach(levels, i, node)
	{
		print_node(node);
	}
	if (json_array_size(levels) == 0)
		printf("everything: level %lld\n", answer_integer(answer, "default"));
	json_array_foreach(categories, i, category)
	{
		if (json_is_true(json_object_get(category, "masked")))
			printf("category %s: masked\n", answer_text(category, "category"));
	}
	return TOOL_OK;
}

/* A path parameter for each name, or one for the text. */
static int add_path(struct ask *ask, const char *path)
{
	_cleanup_json_ json_t *names = path_json(path);
	size_t i, count = json_is_array(names) ? json_array_size(names) : 1;
	int r = names ? TOOL_OK : TOOL_USAGE;

	for (i = 0; r == TOOL_OK && i < count; i++) {
		const json_t *name = json_is_array(names) ? json_array_get(names, i) : names;

		r = ask_add(ask, "path", json_string_value(name) ? json_string_value(name) : "");
	}
	return r;
}

int tool_detail(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	_cleanup_json_ json_t *body = NULL;
	struct detail_query query = {0};
	int r = parse(&query, &ask, argc, argv);
	bool change = query.level || query.mask || query.unmask;

	if (r == TOOL_OK && change) {
		body = body_of(&query);
		r = body ? TOOL_OK : TOOL_USAGE;
	} else if (r == TOOL_OK && query.path) {
		r = add_path(&ask, query.path);
	}
	if (r != TOOL_OK)
		return r;
	return answer_ask(options, change ? "PUT" : "GET", ask_path(&ask, "detail"), body, print);
}
