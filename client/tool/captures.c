// SPDX-License-Identifier: MIT
/* `fprof captures`: what is kept, and naming, annotating and deleting it. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

static void capture_row(struct table *table, const json_t *capture)
{
	table_row(table, capture, "id", "kind", "name", "created_utc", NULL);
	table_row(table, json_object_get(capture, "frames"), "first", "last", NULL);
	table_row(table, capture, "bytes", "note", NULL);
}

static int print(const json_t *answer)
{
	static const char *const heads[] = {"id",   "<kind", "<name", "<created", "first",
					    "last", "bytes", "<note", NULL};

	return table_list(heads, json_object_get(answer, "captures"), capture_row);
}

/* What is to be done with one capture. */
struct change {
	const char *method, *id;
	const char *key, *value; /* of the body; NULL: none */
};

static int change(const struct tool_options *options, const struct change *what)
{
	_cleanup_json_ json_t *body = NULL;
	char *path = NULL;

	if (what->key) {
		body = json_pack("{s:s}", what->key, what->value);
		if (!body)
			return tool_usage("a %s is a text in UTF-8", what->key);
	}
	if (asprintf(&path, "/api/v1/captures/%s", what->id) < 0)
		return TOOL_FAILED;
	return answer_ask(options, what->method, path, body, NULL);
}

int tool_captures(const struct tool_options *options, int argc, char **argv)
{
	struct change what = {.id = argc > 2 ? argv[2] : ""};

	if (argc == 1)
		return answer_ask(options, "GET", strdup("/api/v1/captures"), NULL, print);
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
