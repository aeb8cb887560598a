// SPDX-License-Identifier: MIT
/*
 * `fprof export`: frames of a session as a file for other tools. The daemon writes it; this saves
 * it, under the name that was asked for only when all of it has come.
 */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_ALL "100000" /* more than any history keeps */

struct export_query {
	const char *session, *stream, *format, *from, *to, *last, *output;
};

static int parse_option(struct export_query *query, int argc, char **argv, int *index)
{
	const struct {
		const char *name;
		const char **value;
	} options[] = {
		{"--format", &query->format}, {"--from", &query->from},	    {"--to", &query->to},
		{"--last", &query->last},     {"--stream", &query->stream}, {"-o", &query->output},
	};
	const char *argument = argv[*index];
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int taken = tool_option(argc, argv, index, options[i].name, options[i].value);

		if (taken < 0)
			tool_usage("%s needs a value", argument);
		if (taken != 0)
			return taken;
	}
	return 0;
}

static int parse(struct export_query *query, int argc, char **argv)
{
	int i;

	*query = (struct export_query){0};
	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = parse_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-' || query->session)
			return tool_usage("export does not know '%s'", argument);
		query->session = argument;
	}
	if (!query->output)
		return tool_usage("export needs -o FILE");
	if (!query->format)
		query->format = "chrome";
	if (!query->session)
		query->session = "current";
	return answer_check_session(query->session);
}

/* Adds &name=value, escaped; value NULL: nothing. */
static int add(char **path, const char *name, const char *value)
{
	_cleanup_free_ char *escaped = value ? api_escape(value) : NULL;
	char *longer;

	if (!value)
		return TOOL_OK;
	if (!escaped || asprintf(&longer, "%s&%s=%s", *path, name, escaped) < 0)
		return TOOL_FAILED;
	free(*path);
	*path = longer;
	return TOOL_OK;
}

static int make_path(const struct export_query *query, char **ret_path)
{
	_cleanup_free_ char *session = api_escape(query->session);
	_cleanup_free_ char *format = api_escape(query->format);
	bool edges = query->from || query->to;
	int r;

	if (!session || !format ||
	    asprintf(ret_path, "/api/v1/sessions/%s/export?format=%s", session, format) < 0)
		return TOOL_FAILED;
	r = add(ret_path, "from", query->from);
	if (r == TOOL_OK)
		r = add(ret_path, "to", query->to);
	if (r == TOOL_OK)
		r = add(ret_path, "last", query->last || edges ? query->last : LAST_ALL);
	return r == TOOL_OK ? add(ret_path, "stream", query->stream) : r;
}

static int save(struct api *api, const char *path, const char *output)
{
	_cleanup_free_ char *temporary = NULL;
	FILE *file;
	int fd, r;

	if (asprintf(&temporary, "%s.XXXXXX", output) < 0) {
		temporary = NULL;
		return TOOL_FAILED;
	}
	fd = mkstemp(temporary);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		tool_say("cannot write %s: %s", output, strerror(errno));
		return TOOL_FAILED;
	}
	r = api_download(api, path, file);
	if (fclose(file) != 0 && r == TOOL_OK) {
		tool_say("cannot write %s: %s", output, strerror(errno));
		r = TOOL_FAILED;
	}
	if (r == TOOL_OK && (chmod(temporary, 0644) < 0 || rename(temporary, output) < 0)) {
		tool_say("cannot write %s: %s", output, strerror(errno));
		r = TOOL_FAILED;
	}
	if (r != TOOL_OK)
		unlink(temporary);
	return r;
}

static int print_file(const char *output)
{
	_cleanup_json_ json_t *answer = json_pack("{s:s}", "file", output);

	return answer ? answer_print(answer) : TOOL_FAILED;
}

int tool_export(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_free_ char *path = NULL;
	struct export_query query;
	int r = parse(&query, argc, argv);

	if (r == TOOL_OK)
		r = make_path(&query, &path);
	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r == TOOL_OK && !strcmp(query.output, "-"))
		return api_download(api, path, stdout);
	if (r == TOOL_OK)
		r = save(api, path, query.output);
	if (r == TOOL_OK && options->json)
		r = print_file(query.output);
	return r;
}
