// SPDX-License-Identifier: MIT
/*
 * `fprof critical-path`: what a frame waited for at each moment, or what the frames of a range did,
 * by thread and zone.
 */
#include "ask.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT "40" /* rows of a table */

static void path_cell(struct table *table, const json_t *json)
{
	_cleanup_free_ char *path = api_join(json_object_get(json, "path"), "/");

	table_cell(table, path && *path ? path : "(no zone)");
}

static void thread_cell(struct table *table, const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "thread_name"));

	if (name)
		table_cell(table, name);
	else
		table_printf(table, "%lld", answer_integer(json, "tid"));
}

/* "woken by worker", and who had the CPU meanwhile. */
static void by_cell(struct table *table, const json_t *interval)
{
	const json_t *by = json_object_get(interval, "by"), *had;
	const char *name = json_string_value(json_object_get(by, "name"));

	had = json_object_get(interval, "cpu_had");
	if (!json_is_object(by)) {
		table_cell(table, "");
		return;
	}
	table_printf(table, "%s by %s%s%s",
		     strcmp(answer_text(by, "did"), "woke") == 0 ? "woken" : "preempted",
		     name ? name : answer_text(by, "kind"), json_is_object(had) ? ", after " : "",
		     json_is_object(had) ? answer_text(had, "name") : "");
}

/* "running", or of several states how long each. */
static void states_cell(struct table *table, json_t *states)
{
	_cleanup_json_ json_t *parts = json_array();
	_cleanup_free_ char *text = NULL;
	const char *state;
	json_t *ns;

	json_object_foreach(states, state, ns)
	{
		double ms = json_number_value(ns) / 1e6;

		json_array_append_new(parts, json_object_size(states) == 1
						     ? json_string(state)
						     : json_sprintf("%s %.3f", state, ms));
	}
	text = api_join(parts, ", ");
	table_cell(table, text);
}

static void interval_row(struct table *table, const json_t *interval)
{
	table_row(table, interval, "start_ns", "duration_ns", NULL);
	thread_cell(table, interval);
	path_cell(table, interval);
	states_cell(table, json_object_get(interval, "states"));
	by_cell(table, interval);
}

/* What it all rests on. */
static void print_coverage(const json_t *answer, double wall_ms)
{
	static const char *const states[] = {"running", "runnable", "blocked", "gpu", "unknown"};
	bool kernel = json_array_size(json_object_get(answer, "sources")) > 1;
	char key[32];
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		snprintf(key, sizeof(key), "%s_ns", states[i]);
		printf("%s%s %.3f ms (%.0f%%)", i ? ", " : "", states[i], answer_ms(answer, key),
		       wall_ms > 0 ? 100 * answer_ms(answer, key) / wall_ms : 0.0);
	}
	putchar('\n');
	if (!kernel)
		puts("the scheduler was not traced: only the frame's own thread is seen, and what "
		     "is no wait zone is taken for running, as far as it ran at all");
	if (answer_integer(answer, "lost_events") > 0)
		printf("%lld events of zones were lost in %lld gaps\n",
		       answer_integer(answer, "lost_events"), answer_integer(answer, "gaps"));
}

/* ---- one frame: its intervals ---- */

static void add_integer(json_t *json, const char *key, long long more)
{
	json_object_set_new(json, key, json_integer(answer_integer(json, key) + more));
}

static void add_state(json_t *row, const json_t *interval)
{
	const char *reason = json_string_value(json_object_get(interval, "reason"));
	json_t *state = json_sprintf("%s%s%s", answer_text(interval, "state"), reason ? ": " : "",
				     reason ? reason : "");

	if (state)
		add_integer(json_object_get(row, "states"), json_string_value(state),
			    answer_integer(interval, "duration_ns"));
	json_decref(state);
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
	return json_equal(json_object_get(a, key), json_object_get(b, key));
}

/* Who woke or preempted it last. */
static void take_by(json_t *row, const json_t *interval)
{
	json_t *by = json_object_get(interval, "by");

	if (!json_is_object(by))
		return;
	json_object_set(row, "by", by);
	json_object_set(row, "cpu_had", json_object_get(interval, "cpu_had"));
}

/* Intervals that touch and are of one thread in one zone make one row. */
static json_t *rows_of(const json_t *intervals)
{
	json_t *rows = json_array(), *row = NULL, *one;
	size_t i;

	json_array_foreach(intervals, i, one)
	{
		if (row && same(row, one, "thread") && same(row, one, "tid") &&
		    same(row, one, "path")) {
			add_integer(row, "duration_ns", answer_integer(one, "duration_ns"));
			take_by(row, one);
		} else {
			row = json_copy(one);
			json_object_set_new(row, "states", json_object());
			json_array_append_new(rows, row);
		}
		add_state(row, one);
	}
	return rows;
}

/* Which rows of one frame are wanted. */
struct page {
	long limit, offset;
};

static void cut(json_t *rows, const struct page *page)
{
	long i;

	for (i = 0; i < page->offset && json_array_size(rows) > 0; i++)
		json_array_remove(rows, 0);
	while (json_array_size(rows) > (size_t)page->limit)
		json_array_remove(rows, json_array_size(rows) - 1);
}

static int print_frame(const json_t *answer, const struct page *page)
{
	static const char *const heads[] = {"start",  "duration", "<thread", "<zone",
					    "<state", "<by",	  NULL};
	_cleanup_json_ json_t *rows = rows_of(json_object_get(answer, "intervals"));
	size_t count = json_array_size(rows);
	int r;

	cut(rows, page);
	r = table_list(heads, rows, interval_row);
	printf("%zu of %zu rows; frame %lld of session %lld, %.3f ms; times in ms; ",
	       json_array_size(rows), count, answer_integer(answer, "frame"),
	       answer_integer(answer, "session"), answer_ms(answer, "wall_ns"));
	print_coverage(answer, answer_ms(answer, "wall_ns"));
	return r;
}

static char *frame_path(const struct ask *ask, const char *frame)
{
	_cleanup_free_ char *what = NULL;
	_cleanup_free_ char *escaped = api_escape(frame);

	if (!escaped || asprintf(&what, "frames/%s/critical-path", escaped) < 0)
		return NULL;
	return ask_path(ask, what);
}

static int show_frame(const struct tool_options *options, const struct ask *ask, const char *frame,
		      const struct page *page)
{
	static const char *const of_a_range[] = {"from", "to", "last", "frames", "sort"};
	_cleanup_free_ char *path = frame_path(ask, frame);
	_cleanup_json_ json_t *answer = NULL;
	size_t i;
	int r;

	for (i = 0; i < sizeof(of_a_range) / sizeof(of_a_range[0]); i++) {
		if (ask_has(ask, of_a_range[i]))
			return tool_usage("--%s is of a range of frames, '%s' is one",
					  of_a_range[i], frame);
	}
	r = path ? answer_get(options, path, &answer) : tool_no_memory();
	if (r != TOOL_OK)
		return r;
	if (options->json) {
		cut(json_object_get(answer, "intervals"), page);
		return answer_print(answer);
	}
	answer_clean(answer);
	r = print_frame(answer, page);
	return fflush(stdout) == 0 ? r : TOOL_FAILED;
}

/* ---- a range: its zones ---- */

static void zone_row(struct table *table, const json_t *row)
{
	path_cell(table, row);
	thread_cell(table, row);
	table_row(table, row, "self_ns", NULL);
	table_printf(table, "%.1f%%", 100 * json_number_value(json_object_get(row, "share")));
	table_row(table, row, "total_ns", "running_ns", "runnable_ns", "blocked_ns", "gpu_ns",
		  "frames", "gain_ns", "self_gain_ns", NULL);
}

static int print_range(const json_t *answer)
{
	static const char *const heads[] = {"<zone",   "<thread",  "self",    "share", "total",
					    "running", "runnable", "blocked", "gpu",   "frames",
					    "gain",    "own gain", NULL};
	const json_t *rows = json_object_get(answer, "zones");
	const json_t *range = json_object_get(answer, "range");
	int r = table_list(heads, rows, zone_row);

	printf("%zu of %lld rows; ", json_array_size(rows), answer_integer(answer, "count"));
	answer_print_scope(answer);
	printf(", %.3f ms; times in ms", answer_ms(range, "wall_ns"));
	answer_print_left_out(range);
	print_coverage(answer, answer_ms(range, "wall_ns"));
	return r;
}

static int show_range(const struct tool_options *options, struct ask *ask, const char *limit,
		      const char *offset)
{
	int r = TOOL_OK;

	if (limit || !options->json)
		r = ask_add(ask, "limit", limit ? limit : LIMIT_DEFAULT);
	if (r == TOOL_OK && offset)
		r = ask_add(ask, "offset", offset);
	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", ask_path(ask, "critical-path"), NULL, print_range);
}

static bool has_range(const struct ask *ask)
{
	return ask_has(ask, "from") || ask_has(ask, "to") || ask_has(ask, "last");
}

int tool_critical_path(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	const char *limit = NULL, *offset = NULL;
	const struct ask_option own[] = {
		{"--limit", &limit, NULL}, {"--offset", &offset, NULL}, {NULL, NULL, NULL}};
	struct page page = {.limit = options->json ? LONG_MAX : atol(LIMIT_DEFAULT)};
	int r = ask_options(&ask, "from to last stream frames sort", own, &argc, argv);

	if (r == TOOL_OK)
		r = ask_number("--limit", limit, 1, LONG_MAX, &page.limit);
	if (r == TOOL_OK)
		r = ask_number("--offset", offset, 0, LONG_MAX, &page.offset);
	if (r == TOOL_OK && (argc > 2 || has_range(&ask)))
		r = ask_front_session(&ask, &argc, argv);
	if (r != TOOL_OK)
		return r;
	if (argc > 2)
		return tool_usage("critical-path takes a session and a frame, not '%s'", argv[2]);
	return argc == 2 ? show_frame(options, &ask, argv[1], &page)
			 : show_range(options, &ask, limit, offset);
}
