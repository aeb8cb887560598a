// SPDX-License-Identifier: MIT
/*
 * `fprof import`: a file becomes a session. A .fprof file goes where captures are taken in, all
 * others where other tools' formats are; the daemon looks at what it is.
 */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct import_query {
	const char *file, *name, *frames;
};

static int parse(struct import_query *query, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = tool_option(argc, argv, &i, "--name", &query->name);

		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--frames", &query->frames);
		if (taken < 0)
			return tool_usage("%s needs a value", argument);
		if (taken > 0)
			continue;
		if ((argument[0] == '-' && argument[1]) || query->file)
			return tool_usage("import does not know '%s'", argument);
		query->file = argument;
	}
	return query->file ? TOOL_OK : tool_usage("import needs a file");
}

/* A database of SQLite: of all formats only ours is one. */
static bool is_capture(FILE *file)
{
	char head[16] = "";
	bool is = fread(head, 1, sizeof(head), file) == sizeof(head) &&
		  memcmp(head, "SQLite format 3", sizeof(head)) == 0;

	rewind(file);
	return is;
}

static int path_of(const struct import_query *query, bool capture, char **ret_path)
{
	_cleanup_free_ char *name = api_escape(query->name ? query->name : "");
	_cleanup_free_ char *frames = api_escape(query->frames ? query->frames : "");

	if (!name || !frames ||
	    asprintf(ret_path, "%s%s%s%s%s", capture ? "/api/v1/captures/upload" : "/api/v1/import",
		     query->name ? "?name=" : "", name,
		     query->frames ? query->name ? "&frames=" : "?frames=" : "", frames) < 0)
		return TOOL_FAILED;
	return TOOL_OK;
}

static int send(const struct tool_options *options, const struct import_query *query, FILE *file,
		json_t **ret_answer)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_free_ char *path = NULL;
	bool capture = is_capture(file);
	int r = TOOL_OK;

	if (capture && query->frames)
		return tool_usage("%s has frames of its own", query->file);
	r = api_new(options, &api);
	if (r == TOOL_OK)
		r = path_of(query, capture, &path);
	return r == TOOL_OK ? api_upload(api, path, file, ret_answer) : r;
}

/* What captures/upload calls id is the session's. */
static int name_session(json_t *answer)
{
	json_t *id = json_object_get(answer, "id");

	if (!json_object_get(answer, "session") && id)
		json_object_set(answer, "session", id);
	return json_is_integer(json_object_get(answer, "session")) ? TOOL_OK : TOOL_FAILED;
}

int tool_import(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	struct import_query query = {0};
	FILE *file;
	int r = parse(&query, argc, argv);

	if (r != TOOL_OK)
		return r;
	file = fopen(query.file, "re");
	if (!file) {
		tool_say("%s: %s", query.file, strerror(errno));
		return TOOL_FAILED;
	}
	r = send(options, &query, file, &answer);
	fclose(file);
	if (r == TOOL_OK)
		r = name_session(answer);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	printf("session %lld\n", (long long)json_integer_value(json_object_get(answer, "session")));
	return TOOL_OK;
}
