// SPDX-License-Identifier: MIT
/*
 * `fprof critical-path`: what a frame waited for at each moment, or what the frames of a range did,
 * by thread and zone.
 */
#include "ask.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT "40"

static void path_cell(struct table *table, const json_t *json)
{
	_cleanup_free_ char *path = api_join(json_object_get(json, "path"), "/", SIZE_MAX);

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

static void interval_row(struct table *table, const json_t *interval)
{
	const char *reason = json_string_value(json_object_get(interval, "reason"));

	table_row(table, interval, "start_ns", "duration_ns", NULL);
	thread_cell(table, interval);
	path_cell(table, interval);
	table_printf(table, "%s%s%s", answer_text(interval, "state"), reason ? ": " : "",
		     reason ? reason : "");
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
		     "is "
		     "no wait zone is taken for running");
	if (answer_integer(answer, "lost_events") > 0)
		printf("%lld events of zones were lost in %lld gaps\n",
		       answer_integer(answer, "lost_events"), answer_integer(answer, "gaps"));
}

static int print_frame(const json_t *answer)
{
	static const char *const heads[] = {"start",  "duration", "<thread", "<zone",
					    "<state", "<by",	  NULL};
	int r = table_list(heads, json_object_get(answer, "intervals"), interval_row);

	printf("frame %lld, %.3f ms; times in ms; ", answer_integer(answer, "frame"),
	       answer_ms(answer, "wall_ns"));
	print_coverage(answer, answer_ms(answer, "wall_ns"));
	return r;
}

static void zone_row(struct table *table, const json_t *row)
{
	path_cell(table, row);
	thread_cell(table, row);
	table_row(table, row, "self_ns", NULL);
	table_printf(table, "%.1f%%", 100 * json_number_value(json_object_get(row, "share")));
	table_row(table, row, "total_ns", "running_ns", "runnable_ns", "blocked_ns", "gpu_ns",
		  "frames", "gain_ns", NULL);
}

static int print_range(const json_t *answer)
{
	static const char *const heads[] = {"<zone", "<thread", "self",	    "share",
					    "total", "running", "runnable", "blocked",
					    "gpu",   "frames",	"gain",	    NULL};
	const json_t *rows = json_object_get(answer, "zones");
	const json_t *range = json_object_get(answer, "range");
	int r = table_list(heads, rows, zone_row);

	printf("%zu of %lld rows; %lld frames (%lld..%lld), %.3f ms; times in ms",
	       json_array_size(rows), answer_integer(answer, "count"),
	       answer_integer(range, "frames"), answer_integer(range, "from"),
	       answer_integer(range, "to"), answer_ms(range, "wall_ns"));
	answer_print_left_out(range);
	print_coverage(answer, answer_ms(range, "wall_ns"));
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

int tool_critical_path(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	const struct ask_option own[] = {{"--session", &ask.session, NULL}, {NULL, NULL, NULL}};
	int r = ask_options(&ask, "from to last stream frames sort limit offset", own, &argc, argv);

	if (r != TOOL_OK)
		return r;
	if (argc > 2)
		return tool_usage("critical-path takes one frame, not '%s'", argv[2]);
	if (argc == 2)
		return answer_ask(options, "GET", frame_path(&ask, argv[1]), NULL, print_frame);
	if (!options->json && !ask_has(&ask, "limit"))
		r = ask_add(&ask, "limit", LIMIT_DEFAULT);
	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", ask_path(&ask, "critical-path"), NULL, print_range);
}
