// SPDX-License-Identifier: MIT
/* `fprof stats`: what frame times, zones and counters come to over a range of frames. */
#include "answer.h"
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ask_option stats_options[] = {
	{"--metric", "metric", true},  {"--over-ms", "over_ms", true}, {"--over", "over", true},
	{"--from", "from", false},     {"--to", "to", false},	       {"--last", "last", false},
	{"--stream", "stream", false}, {"--frames", "frames", false},  {"--thread", "thread", true},
	{NULL, NULL, false},
};

/* A member by its name without the unit, and by what a number of it is to be divided. */
static const json_t *member(const json_t *stat, const char *key, double *ret_per)
{
	char name[48];
	const json_t *value;

	snprintf(name, sizeof(name), "%s_ns", key);
	value = json_object_get(stat, name);
	*ret_per = value ? 1e6 : 1;
	return value ? value : json_object_get(stat, key);
}

static void value_cell(struct table *table, const json_t *stat, const char *key)
{
	double per;
	const json_t *value = member(stat, key, &per);
	char text[48];

	if (!json_is_number(value)) {
		table_cell(table, "-");
		return;
	}
	snprintf(text, sizeof(text), "%.3f", json_number_value(value) / per);
	table_cell(table, text);
}

static int print_numbers(const json_t *stats)
{
	static const char *const heads[] = {"<metric",	"frames", "mean",   "sd",    "p50",
					    "p90",	"p95",	  "p99",    "p99.9", "worst",
					    "in frame", "jitter", "1% low", NULL};
	static const char *const keys[] = {"mean", "sd",  "p50",   "p90",
					   "p95",  "p99", "p99.9", "worst"};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *stat;
	size_t i, k;

	if (!table)
		return TOOL_FAILED;
	json_array_foreach(stats, i, stat)
	{
		table_cell(table, answer_text(stat, "metric"));
		table_integer(table, json_object_get(stat, "frames"));
		for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			value_cell(table, stat, keys[k]);
		table_integer(table, json_object_get(stat, "worst_frame"));
		value_cell(table, json_object_get(stat, "jitter"), "mean");
		value_cell(table, json_object_get(stat, "one_percent_low"), "mean");
	}
	table_print(table);
	return TOOL_OK;
}

static void print_over(const json_t *stat)
{
	const json_t *overs = json_object_get(stat, "over"), *over, *run;
	size_t i;

	json_array_foreach(overs, i, over)
	{
		const json_t *ms = json_object_get(over, "ms");

		run = json_object_get(over, "longest_run");
		printf("%s over %g%s: %lld frames, %.1f%% of the time", answer_text(stat, "metric"),
		       json_number_value(ms ? ms : json_object_get(over, "value")), ms ? " ms" : "",
		       (long long)json_integer_value(json_object_get(over, "frames")),
		       100 * json_number_value(json_object_get(over, "time_share")));
		if (json_is_object(run))
			printf("; longest run %lld (%lld..%lld), %.3f ms",
			       (long long)json_integer_value(json_object_get(run, "frames")),
			       (long long)json_integer_value(json_object_get(run, "from")),
			       (long long)json_integer_value(json_object_get(run, "to")),
			       json_number_value(json_object_get(run, "time_ns")) / 1e6);
		putchar('\n');
	}
}

static void print_reasons(const json_t *stat)
{
	json_t *reasons = json_object_get(stat, "reasons"), *reason;
	const char *key;

	json_object_foreach(reasons, key, reason)
	{
		printf("%s: no %s: %s\n", answer_text(stat, "metric"), key,
		       json_string_value(reason));
	}
}

static void print_range(const json_t *range)
{
	json_t *out = json_object_get(range, "left_out"), *count;
	const char *reason;

	printf("%lld frames (%lld..%lld); times in ms",
	       (long long)json_integer_value(json_object_get(range, "frames")),
	       (long long)json_integer_value(json_object_get(range, "from")),
	       (long long)json_integer_value(json_object_get(range, "to")));
	json_object_foreach(out, reason, count)
	{
		if (json_integer_value(count) > 0)
			printf("; left out: %lld %s", (long long)json_integer_value(count), reason);
	}
	putchar('\n');
}

static int print_answer(const json_t *answer)
{
	const json_t *stats = json_object_get(answer, "metrics"), *stat;
	int r = print_numbers(stats);
	size_t i;

	json_array_foreach(stats, i, stat)
	{
		print_over(stat);
		print_reasons(stat);
	}
	print_range(json_object_get(answer, "range"));
	return r;
}

int tool_stats(const struct tool_options *options, int argc, char **argv)
{
	static const char *const usual[] = {"wall", "cpu", "gpu"};
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_ask_ struct ask ask;
	int r = ask_parse(stats_options, argc, argv, &ask);
	bool asked = ask_has(&ask, "metric");
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]) && r == TOOL_OK && !asked; i++)
		r = ask_add(&ask, "metric", usual[i]);
	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "stats");
	if (!path)
		return TOOL_FAILED;
	r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	return options->json ? answer_print(answer) : print_answer(answer);
}
