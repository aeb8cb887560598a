// SPDX-License-Identifier: MIT
/*
 * `fprof import`: a file becomes a session. A .fprof file goes where captures are taken in, all
 * others where other tools' formats are; the daemon looks at what it is.
 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Is it a database of SQLite? Of all formats only ours is one. */
static int is_capture(FILE *file, const char *name, bool *ret_is)
{
	char head[16] = "";

	*ret_is = fread(head, 1, sizeof(head), file) == sizeof(head) &&
		  memcmp(head, "SQLite format 3", sizeof(head)) == 0;
	if (!ferror(file) && fseek(file, 0, SEEK_SET) == 0)
		return TOOL_OK;
	tool_say("%s: %s: import takes a file that can be read from its beginning again", name,
		 strerror(errno));
	return TOOL_CONFIG;
}

static int send(const struct tool_options *options, const struct ask *ask, const char *name,
		FILE *file, json_t **ret_answer)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_free_ char *path = NULL;
	bool capture = false;
	int r = is_capture(file, name, &capture);

	if (r == TOOL_OK && capture && ask_has(ask, "frames"))
		return tool_usage("%s has frames of its own", name);
	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r != TOOL_OK)
		return r;
	path = ask_address(ask, capture ? "/api/v1/captures/upload" : "/api/v1/import");
	return path ? api_upload(api, path, file, ret_answer) : TOOL_FAILED;
}

static void say_counts(const json_t *answer, const char *key, const char *what)
{
	json_t *counts = json_object_get(answer, key), *count;
	const char *name, *before = "";

	if (json_object_size(counts) == 0)
		return;
	fprintf(stderr, "fprof: %s: ", what);
	json_object_foreach(counts, name, count)
	{
		fprintf(stderr, "%s%" JSON_INTEGER_FORMAT " %s", before, json_integer_value(count),
			name);
		before = ", ";
	}
	fputc('\n', stderr);
}

/* What of the file was repaired or not read, and where the first of it stands. */
static void say_report(const json_t *answer)
{
	const json_t *first = json_object_get(answer, "first");

	say_counts(answer, "counts", "repaired or not read");
	say_counts(answer, "ignored", "understood, but nothing to store");
	if (json_is_object(first))
		tool_say("the first is event %lld, at byte %lld: %s",
			 answer_integer(first, "event"), answer_integer(first, "byte"),
			 answer_text(first, "what"));
}

static int print(const json_t *answer)
{
	say_report(answer);
	printf("session %lld\n", answer_integer(answer, "session"));
	return TOOL_OK;
}

int tool_import(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_ask_ struct ask ask = {.no_session = true};
	FILE *file;
	int r = ask_options(&ask, "name frames", NULL, &argc, argv);

	if (r != TOOL_OK)
		return r;
	if (argc != 2)
		return tool_usage(argc < 2 ? "import needs a file" : "import takes one file");
	file = fopen(argv[1], "re");
	if (!file) {
		tool_say("%s: %s", argv[1], strerror(errno));
		return TOOL_CONFIG;
	}
	r = send(options, &ask, argv[1], file, &answer);
	fclose(file);
	if (r != TOOL_OK)
		return r;
	/* what captures/upload calls id is the session's */
	if (!json_object_get(answer, "session"))
		json_object_set(answer, "session", json_object_get(answer, "id"));
	return answer_show(options, answer, print);
}
