// SPDX-License-Identifier: MIT
/* `fprof stats`: what frame times, zones and counters come to over a range of frames. */
#include "ask.h"

#include <stdio.h>
#include <string.h>

/* A member by its name without the unit. */
static void value_cell(struct table *table, const json_t *stat, const char *key)
{
	char name[48];
	const json_t *ns;

	snprintf(name, sizeof(name), "%s_ns", key);
	ns = json_object_get(stat, name);
	table_number(table, ns ? ns : json_object_get(stat, key), ns ? 1e6 : 1, 3);
}

static void stat_row(struct table *table, const json_t *stat)
{
	static const char *const keys[] = {"mean", "sd",  "p50",   "p90",
					   "p95",  "p99", "p99.9", "worst"};
	size_t i;

	table_row(table, stat, "metric", "frames", NULL);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		value_cell(table, stat, keys[i]);
	table_row(table, stat, "worst_frame", NULL);
	value_cell(table, json_object_get(stat, "jitter"), "mean");
	value_cell(table, json_object_get(stat, "one_percent_low"), "mean");
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
		       answer_integer(over, "frames"),
		       100 * json_number_value(json_object_get(over, "time_share")));
		if (json_is_object(run))
			printf("; longest run %lld (%lld..%lld), %.3f ms",
			       answer_integer(run, "frames"), answer_integer(run, "from"),
			       answer_integer(run, "to"), answer_ms(run, "time_ns"));
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

static void print_none(const char *metric)
{
	printf("%s: none of these frames has a value%s\n", metric,
	       strcmp(metric, "allocations") == 0
		       ? "; none was told of (run --alloc, FPROF_ALLOC=1)"
		       : "");
}

/* Does it rest on events? Else the frames' rows are enough. */
static bool is_of_events(const json_t *stat)
{
	const char *metric = answer_text(stat, "metric");

	return strchr(metric, ':') || strstr(metric, "path") || strcmp(metric, "allocations") == 0;
}

static int print(const json_t *answer)
{
	static const char *const heads[] = {"<metric",	"frames", "mean",   "sd",    "p50",
					    "p90",	"p95",	  "p99",    "p99.9", "worst",
					    "in frame", "jitter", "1% low", NULL};
	const json_t *stats = json_object_get(answer, "metrics"), *stat;
	const json_t *range = json_object_get(answer, "range");
	const json_t *lost = json_object_get(answer, "lost");
	int r = table_list(heads, stats, stat_row);
	bool events = false;
	size_t i;

	json_array_foreach(stats, i, stat)
	{
		events |= is_of_events(stat);
		if (answer_integer(stat, "frames") == 0) {
			print_none(answer_text(stat, "metric"));
			continue;
		}
		print_over(stat);
		print_reasons(stat);
	}
	answer_print_scope(answer);
	fputs("; times in ms", stdout);
	answer_print_older(range);
	answer_print_left_out(range);
	answer_print_lost("not in the numbers: ", lost, false);
	if (events && answer_integer(lost, "frames_without_events") > 0)
		printf("not in those of zones, counters and allocations: %lld frames whose events "
		       "are gone\n",
		       answer_integer(lost, "frames_without_events"));
	return r;
}

int tool_stats(const struct tool_options *options, int argc, char **argv)
{
	static const char *const usual[] = {"wall", "cpu", "gpu"};
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "metric* path* over-ms* over* from to last stream frames thread*",
			  NULL, argc, argv);
	bool asked = ask_has(&ask, "metric");
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]) && r == TOOL_OK && !asked; i++)
		r = ask_add(&ask, "metric", usual[i]);
	return r == TOOL_OK ? answer_ask(options, "GET", ask_path(&ask, "stats"), NULL, print) : r;
}
