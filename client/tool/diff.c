// SPDX-License-Identifier: MIT
/* `fprof diff`: where the time of a frame went on one side and on the other. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct diff_query {
	const char *sides[2], *by, *limit, *floor_ms, *stream;
};

static int parse(struct diff_query *query, int argc, char **argv)
{
	int i, n = 0;

	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = tool_option(argc, argv, &i, "--by", &query->by);

		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--limit", &query->limit);
		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--floor-ms", &query->floor_ms);
		if (taken == 0)
			taken = tool_option(argc, argv, &i, "--stream", &query->stream);
		if (taken < 0)
			return tool_usage("%s needs a value", argument);
		if (taken > 0)
			continue;
		if (argument[0] == '-' || n == 2)
			return tool_usage("diff does not know '%s'", argument);
		query->sides[n++] = argument;
	}
	return n == 2 ? TOOL_OK : tool_usage("diff needs two sides, as in: fprof diff 12 13");
}

static int put(FILE *path, const char *key, const char *value)
{
	_cleanup_free_ char *escaped = value ? api_escape(value) : NULL;

	if (value && !escaped)
		return TOOL_FAILED;
	if (value)
		fprintf(path, "%c%s=%s", strcmp(key, "a") == 0 ? '?' : '&', key, escaped);
	return TOOL_OK;
}

static int path_of(const struct diff_query *query, char **ret_path)
{
	const char *const values[][2] = {
		{"a", query->sides[0]},	 {"b", query->sides[1]},	{"by", query->by},
		{"limit", query->limit}, {"floor_ms", query->floor_ms}, {"stream", query->stream}};
	size_t bytes, i;
	FILE *path = open_memstream(ret_path, &bytes);
	int r = path ? TOOL_OK : TOOL_FAILED;

	if (!path)
		return r;
	fputs("/api/v1/diff", path);
	for (i = 0; r == TOOL_OK && i < sizeof(values) / sizeof(values[0]); i++)
		r = put(path, values[i][0], values[i][1]);
	fclose(path);
	return r;
}

static double ms_of(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key)) / 1e6;
}

/* The three numbers and the interval of one row, in front of its name. both: it is on both sides.
 */
static void print_number(const json_t *number, bool both)
{
	const json_t *interval = json_object_get(number, "interval_ns");

	printf("%9.3f %9.3f %+9.3f", ms_of(number, "a_ns"), ms_of(number, "b_ns"),
	       ms_of(number, "delta_ns"));
	if (json_is_object(interval))
		printf("  %+8.3f to %+8.3f  ", ms_of(interval, "low"), ms_of(interval, "high"));
	else
		printf("  %-20s  ", both ? "too few frames" : "");
}

static void print_path(const json_t *row)
{
	const json_t *path = json_object_get(row, "path"), *name;
	size_t i;

	printf("%s", answer_text(row, "thread"));
	json_array_foreach(path, i, name) printf(" > %s", json_string_value(name));
	printf("\n");
}

static void print_warnings(const json_t *answer)
{
	const json_t *warnings = json_object_get(answer, "warnings"), *warning;
	size_t i;

	json_array_foreach(warnings, i, warning)
		printf("warning: the %s differs: %s, and of %s: %s\n",
		       answer_text(warning, "differs"), answer_text(warning, "a"),
		       answer_text(warning, "run"), answer_text(warning, "other"));
}

static void print_lost(const json_t *answer)
{
	static const struct {
		const char *key, *what;
	} counts[] = {{"events", "events lost"},
		      {"frames_that_stand_for_several", "frames that stand for several"},
		      {"missing_frames", "frames missing"},
		      {"frames_without_events", "frames whose events are gone"}};
	const json_t *lost = json_object_get(answer, "lost"), *run;
	size_t i, k;

	json_array_foreach(lost, i, run)
	{
		const char *between = "";

		printf("warning: %s, run %s: ", answer_text(run, "side"), answer_text(run, "run"));
		for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			json_int_t n = json_integer_value(json_object_get(run, counts[k].key));

			if (n == 0)
				continue;
			printf("%s%lld %s", between, (long long)n, counts[k].what);
			between = ", ";
		}
		printf("\n");
	}
}

static void print_rows(const json_t *answer, const char *key, const char *by, const char *title)
{
	const json_t *rows = json_object_get(answer, key), *row;
	json_int_t all =
		json_integer_value(json_object_get(json_object_get(answer, "counts"), key));
	size_t i;

	printf("\n%s: %lld\n", title, (long long)all);
	json_array_foreach(rows, i, row)
	{
		print_number(json_object_get(row, by), strcmp(key, "moved") == 0);
		print_path(row);
	}
	if ((size_t)all > json_array_size(rows))
		printf("... and more: --limit N shows them\n");
}

static void print(const json_t *answer)
{
	const json_t *budget = json_object_get(answer, "budget"), *part;
	const json_t *counts = json_object_get(answer, "counts");
	const char *by = answer_text(answer, "by");
	char title[64];
	size_t i;

	print_warnings(answer);
	print_lost(answer);
	printf("ms a frame   a         b    b - a  99 %% interval        \n");
	json_array_foreach(budget, i, part)
	{
		print_number(part, true);
		printf("%s\n", answer_text(part, "part"));
	}
	snprintf(title, sizeof(title), "zones that moved, by %s time", by);
	print_rows(answer, "moved", by, title);
	print_rows(answer, "appeared", "total", "only in b");
	print_rows(answer, "vanished", "total", "only in a");
	printf("\n%lld the same, %lld differ by less than %g ms, %lld not looked at\n",
	       (long long)json_integer_value(json_object_get(counts, "same")),
	       (long long)json_integer_value(json_object_get(counts, "below_floor")),
	       json_number_value(json_object_get(answer, "floor_ms")),
	       (long long)json_integer_value(json_object_get(counts, "not_tried")));
}

int tool_diff(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	struct diff_query query = {0};
	int r = parse(&query, argc, argv);

	if (r == TOOL_OK)
		r = path_of(&query, &path);
	if (r == TOOL_OK)
		r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	print(answer);
	return TOOL_OK;
}
