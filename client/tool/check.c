// SPDX-License-Identifier: MIT
/*
 * `fprof check`: the regression gate. The daemon decides; this puts conditions into a query, shows
 * the verdict and makes it the exit code: 0 pass, 1 fail, 3 inconclusive. Nothing else answers 1
 * here, so that a script can tell a regression from a question that was wrong (2).
 */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_query {
	const char *session; /* NULL: with runs, or current */
	char *text;	     /* the query so far */
	size_t bytes;
	FILE *stream; /* that writes it */
	size_t metrics;
};

static void query_close(struct check_query *query)
{
	if (query->stream)
		fclose(query->stream);
	free(query->text);
}

static int put(struct check_query *query, const char *key, const char *value)
{
	_cleanup_free_ char *escaped = api_escape(value);

	if (!escaped)
		return TOOL_FAILED;
	fprintf(query->stream, "%c%s=%s", ftell(query->stream) > 0 ? '&' : '?', key, escaped);
	return TOOL_OK;
}

static bool is_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), bytes = strlen(suffix);

	return length >= bytes && strcmp(text + length - bytes, suffix) == 0;
}

/* Does a metric count, rather than being a time? */
static bool counts(const char *metric)
{
	return strncmp(metric, "counter:", 8) == 0 || strstr(metric, ".calls.") ||
	       is_suffix(metric, ".slow_share");
}

/* METRIC<=VALUE; the bound of a time may end in "ms". */
static int put_bound(struct check_query *query, const char *condition, const char *at)
{
	_cleanup_free_ char *metric = strndup(condition, (size_t)(at - condition));
	_cleanup_free_ char *bound = strdup(at + 2);
	int r;

	if (!metric || !bound)
		return TOOL_FAILED;
	if (is_suffix(bound, "ms"))
		bound[strlen(bound) - 2] = '\0';
	r = put(query, "metric", metric);
	query->metrics++;
	return r == TOOL_OK ? put(query, counts(metric) ? "max" : "max_ms", bound) : r;
}

static int put_condition(struct check_query *query, const char *condition)
{
	static const char *const keys[] = {"max_ms",   "max",	"baseline", "tolerance",
					   "floor_ms", "floor", "slow_ms"};
	const char *at = strstr(condition, "<=");
	size_t i;

	if (at)
		return put_bound(query, condition, at);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t bytes = strlen(keys[i]);

		if (strncmp(condition, keys[i], bytes) == 0 && condition[bytes] == '=')
			return put(query, keys[i], condition + bytes + 1);
	}
	query->metrics++;
	return put(query, "metric",
		   strncmp(condition, "metric=", 7) == 0 ? condition + 7 : condition);
}

/* 1: argv[*index] was an option; 0: it was none; -1: it was a wrong one, and that was said. */
static int take_option(struct check_query *query, int argc, char **argv, int *index)
{
	static const char *const options[][2] = {{"--runs", "runs"},
						 {"--from", "from"},
						 {"--to", "to"},
						 {"--last", "last"},
						 {"--stream", "stream"}};
	const char *argument = argv[*index], *value = NULL;
	size_t i;
	int taken = tool_option(argc, argv, index, "--session", &query->session);

	if (taken == 0 && strcmp(argument, "--allow-loss") == 0)
		return put(query, "allow_loss", "yes") == TOOL_OK ? 1 : -1;
	for (i = 0; taken == 0 && i < sizeof(options) / sizeof(options[0]); i++) {
		taken = tool_option(argc, argv, index, options[i][0], &value);
		if (taken > 0 && put(query, options[i][1], value) != TOOL_OK)
			return -1;
	}
	if (taken < 0)
		tool_usage("%s needs a value", argument);
	return taken;
}

static int parse(struct check_query *query, int argc, char **argv)
{
	int i, r = TOOL_OK;

	for (i = 1; r == TOOL_OK && i < argc; i++) {
		const char *argument = argv[i];
		int taken = take_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-')
			return tool_usage("check does not know '%s'", argument);
		r = put_condition(query, argument);
	}
	if (r == TOOL_OK && query->metrics == 0 && ftell(query->stream) == 0)
		return tool_usage("check needs a condition, as in: fprof check 'frame.p99<=16.7'");
	return r;
}

static int path_of(struct check_query *query, char **ret_path)
{
	_cleanup_free_ char *session = api_escape(query->session ? query->session : "current");
	bool runs;

	fflush(query->stream);
	runs = strstr(query->text, "?runs=") || strstr(query->text, "&runs=");
	if (runs && query->session)
		return tool_usage("--runs and --session exclude each other");
	if (!session ||
	    (runs ? asprintf(ret_path, "/api/v1/check%s", query->text)
		  : asprintf(ret_path, "/api/v1/sessions/%s/check%s", session, query->text)) < 0)
		return TOOL_FAILED;
	return TOOL_OK;
}

static void print_conditions(const json_t *answer)
{
	const json_t *conditions = json_object_get(answer, "conditions"), *condition;
	size_t i;

	json_array_foreach(conditions, i, condition)
	{
		printf("%-12s %s\n", answer_text(condition, "verdict"),
		       answer_text(condition, "detail"));
		if (json_is_true(json_object_get(condition, "same_run_on_both_sides")))
			puts("             note: a run is on both sides");
	}
	printf("%s\n", answer_text(answer, "verdict"));
}

static int exit_of(const json_t *answer)
{
	const char *verdict = answer_text(answer, "verdict");

	if (strcmp(verdict, "pass") == 0)
		return TOOL_OK;
	return strcmp(verdict, "fail") == 0 ? TOOL_FAILED : TOOL_INCONCLUSIVE;
}

static int ask(const struct tool_options *options, const char *path)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	long status = 0;
	int r = api_new(options, &api);

	if (r != TOOL_OK)
		return r;
	r = api_send(api, "GET", path, NULL, &answer, &status);
	if (r == TOOL_UNAVAILABLE)
		return r;
	if (!json_object_get(answer, "verdict")) {
		api_say_problem(path, answer, status);
		return TOOL_USAGE;
	}
	if (options->json)
		answer_print(answer);
	else
		print_conditions(answer);
	return exit_of(answer);
}

int tool_check(const struct tool_options *options, int argc, char **argv)
{
	__attribute__((cleanup(query_close))) struct check_query query = {0};
	_cleanup_free_ char *path = NULL;
	int r;

	query.stream = open_memstream(&query.text, &query.bytes);
	if (!query.stream)
		return TOOL_FAILED;
	r = parse(&query, argc, argv);
	if (r == TOOL_OK)
		r = path_of(&query, &path);
	return r == TOOL_OK ? ask(options, path) : r;
}
