// SPDX-License-Identifier: MIT
/*
 * `fprof zones`: where the time of a range went, as a table by name, as a tree, by caller, or call
 * by call. Sorting, filtering and paging are the daemon's.
 */
#include "answer.h"
#include "ask.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT "40"

static const struct ask_option zones_options[] = {
	{"--view", "view", false},
	{"--from", "from", false},
	{"--to", "to", false},
	{"--last", "last", false},
	{"--stream", "stream", false},
	{"--frames", "frames", false},
	{"--thread", "thread", true},
	{"--name", "name", false},
	{"--category", "category", false},
	{"--per", "per", false},
	{"--sort", "sort", false},
	{"--order", "order", false},
	{"--limit", "limit", false},
	{"--offset", "offset", false},
	{NULL, NULL, false},
};

static void number_cell(struct table *table, const json_t *value, const char *format)
{
	char text[48];

	if (!json_is_number(value)) {
		table_cell(table, "-");
		return;
	}
	snprintf(text, sizeof(text), format, json_number_value(value));
	table_cell(table, text);
}

/* The numbers that rows of all tables have. */
static const char *const number_heads[] = {"total", "self", "calls", "/frame", "avg",	 "min",
					   "p50",   "p95",  "p99",   "max",    "frames", "alloc"};

static void row_cells(struct table *table, const json_t *row)
{
	static const char *const times[] = {"avg_ns", "min_ns", "p50_ns",
					    "p95_ns", "p99_ns", "max_ns"};
	size_t i;

	table_ms(table, json_object_get(row, "total_ns"));
	table_ms(table, json_object_get(row, "self_ns"));
	table_integer(table, json_object_get(row, "calls"));
	number_cell(table, json_object_get(row, "calls_per_frame"), "%.1f");
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		table_ms(table, json_object_get(row, times[i]));
	table_integer(table, json_object_get(row, "frames"));
	table_integer(table, json_object_get(row, "alloc_bytes"));
}

static void name_cell(struct table *table, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	long long depth = json_integer_value(json_object_get(row, "depth"));
	_cleanup_free_ char *text = NULL;

	if (!name)
		name = "(no zone)";
	if (asprintf(&text, "%*s%s%s", (int)(depth < 100 ? 2 * depth : 200), "", name,
		     json_is_true(json_object_get(row, "gpu")) ? " [gpu]" : "") < 0)
		text = NULL;
	table_cell(table, text ? text : name);
}

static int print_rows(const json_t *rows, const char *head, bool threads)
{
	const char *heads[TABLE_COLUMNS_MAX + 1] = {0};
	_cleanup_table_ struct table *table = NULL;
	size_t n = 0, i;
	const json_t *row;

	heads[n++] = head;
	for (i = 0; i < sizeof(number_heads) / sizeof(number_heads[0]); i++)
		heads[n++] = number_heads[i];
	if (threads)
		heads[n++] = "<thread";
	table = table_new(heads);
	if (!table)
		return TOOL_FAILED;
	json_array_foreach(rows, i, row)
	{
		name_cell(table, row);
		row_cells(table, row);
		if (threads)
			table_cell(table, answer_text(row, "thread_name"));
	}
	table_print(table);
	return TOOL_OK;
}

static int print_calls(const json_t *calls)
{
	static const char *const heads[] = {"<zone", "frame",	"start", "duration",
					    "self",  "<thread", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *call;
	size_t i;

	if (!table)
		return TOOL_FAILED;
	json_array_foreach(calls, i, call)
	{
		table_cell(table, answer_text(call, "name"));
		table_integer(table, json_object_get(call, "frame"));
		table_ms(table, json_object_get(call, "start_ns"));
		table_ms(table, json_object_get(call, "duration_ns"));
		table_ms(table, json_object_get(call, "self_ns"));
		table_cell(table, answer_text(call, "thread_name"));
	}
	table_print(table);
	return TOOL_OK;
}

/* Calls that come slowly at a beat are worth a line. */
static void print_slow(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *slow = json_object_get(row, "slow");
		double mean = json_number_value(json_object_get(slow, "gap_mean_ns"));
		double sd = json_number_value(json_object_get(slow, "gap_sd_ns"));

		if (mean > 0 && sd < mean / 10)
			printf("%s: %lld calls over %.3f ms, one every %.1f ms (sd %.1f ms)\n",
			       answer_text(row, "name"),
			       (long long)json_integer_value(json_object_get(slow, "calls")),
			       json_number_value(json_object_get(slow, "above_ns")) / 1e6,
			       mean / 1e6, sd / 1e6);
	}
}

/* What the rows are of. */
static void print_range(const json_t *answer)
{
	const json_t *range = json_object_get(answer, "range");
	json_t *out = json_object_get(range, "left_out"), *count;
	size_t shown = json_array_size(json_object_get(answer, "zones"));
	const char *reason;

	printf("%zu of %lld rows; %lld frames (%lld..%lld), %.3f ms; times in ms", shown,
	       (long long)json_integer_value(json_object_get(answer, "count")),
	       (long long)json_integer_value(json_object_get(range, "frames")),
	       (long long)json_integer_value(json_object_get(range, "from")),
	       (long long)json_integer_value(json_object_get(range, "to")),
	       json_number_value(json_object_get(range, "wall_ns")) / 1e6);
	json_object_foreach(out, reason, count)
	{
		if (json_integer_value(count) > 0)
			printf("; left out: %lld %s", (long long)json_integer_value(count), reason);
	}
	putchar('\n');
	if (json_integer_value(json_object_get(answer, "lost_events")) > 0)
		printf("%lld events were lost in %lld gaps: what was in them is missing\n",
		       (long long)json_integer_value(json_object_get(answer, "lost_events")),
		       (long long)json_integer_value(json_object_get(answer, "gaps")));
}

static int print_answer(const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "zones");
	const char *view = answer_text(answer, "view");
	int r;

	if (strcmp(view, "calls") == 0) {
		r = print_calls(rows);
	} else if (strcmp(view, "callers") == 0) {
		r = print_rows(rows, "<called by", false);
		putchar('\n');
		if (r == TOOL_OK)
			r = print_rows(json_object_get(answer, "callees"), "<calls", false);
	} else {
		r = print_rows(rows, "<zone", strcmp(view, "tree") == 0);
		print_slow(rows);
	}
	print_range(answer);
	return r;
}

int tool_zones(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_ask_ struct ask ask;
	int r = ask_parse(zones_options, argc, argv, &ask);

	if (r == TOOL_OK && !ask_has(&ask, "view"))
		r = ask_add(&ask, "view", "flat");
	if (r == TOOL_OK && !options->json && !ask_has(&ask, "limit"))
		r = ask_add(&ask, "limit", LIMIT_DEFAULT);
	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "zones");
	if (!path)
		return TOOL_FAILED;
	r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	return options->json ? answer_print(answer) : print_answer(answer);
}
