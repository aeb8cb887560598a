// SPDX-License-Identifier: MIT
/*
 * `fprof zones`: where the time of a range went, as a table by name, as a tree, by caller, or call
 * by call. Sorting, filtering and paging are the daemon's.
 */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT "40"

/* The numbers that rows of all tables have; after the first ones what the scheduler did, where it
 * is known. */
static const char *const time_heads[] = {"total", "self", NULL};
static const char *const kernel_heads[] = {"on cpu", "runnable", "blocked", NULL};
static const char *const number_heads[] = {"calls", "/frame", "avg",	"min",	 "p50", "p95",
					   "p99",   "max",    "frames", "alloc", NULL};
/* What some have besides. "all": of the whole session, however little of it is still there. */
static const char *const no_heads[] = {NULL};
static const char *const thread_heads[] = {"<thread", NULL};
static const char *const session_heads[] = {"all calls", "all total", "all max", "in frame", NULL};

/* Is it known of any? */
static bool has_kernel(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (json_is_integer(json_object_get(row, "on_cpu_ns")))
			return true;
	}
	return false;
}

static void row_cells(struct table *table, const json_t *row, bool kernel)
{
	table_row(table, row, "total_ns", "self_ns", NULL);
	if (kernel)
		table_row(table, row, "on_cpu_ns", "runnable_ns", "blocked_ns", NULL);
	table_row(table, row, "calls", NULL);
	table_number(table, json_object_get(row, "calls_per_frame"), 1, 1);
	table_row(table, row, "avg_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns", "frames",
		  "alloc_bytes", NULL);
}

static void name_cell(struct table *table, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	long long depth = answer_integer(row, "depth");

	table_printf(table, "%*s%s%s", (int)(depth < 100 ? 2 * depth : 200), "",
		     name ? name : "(no zone)",
		     json_is_true(json_object_get(row, "gpu")) ? " [gpu]" : "");
}

static size_t put_heads(const char **heads, size_t n, const char *const *more)
{
	while (*more && n < TABLE_COLUMNS_MAX)
		heads[n++] = *more++;
	return n;
}

/* more: one of the three above. */
static int print_rows(const json_t *rows, const char *head, const char *const *more)
{
	_cleanup_table_ struct table *table = NULL;
	const char *heads[TABLE_COLUMNS_MAX + 1] = {head};
	bool kernel = has_kernel(rows);
	const json_t *row;
	size_t i, n = put_heads(heads, 1, time_heads);

	n = put_heads(heads, n, kernel ? kernel_heads : no_heads);
	put_heads(heads, put_heads(heads, n, number_heads), more);
	table = table_new(heads);
	if (!table)
		return TOOL_FAILED;
	json_array_foreach(rows, i, row)
	{
		name_cell(table, row);
		row_cells(table, row, kernel);
		if (more == thread_heads)
			table_row(table, row, "thread_name", NULL);
		if (more == session_heads)
			table_row(table, row, "session_calls", "session_total_ns", "session_max_ns",
				  "session_max_frame", NULL);
	}
	table_print(table);
	return TOOL_OK;
}

static void call_row(struct table *table, const json_t *call)
{
	table_row(table, call, "name", "frame", "start_ns", "duration_ns", "self_ns", "thread_name",
		  NULL);
}

static void scheduled_call_row(struct table *table, const json_t *call)
{
	table_row(table, call, "name", "frame", "start_ns", "duration_ns", "self_ns", "on_cpu_ns",
		  "runnable_ns", "blocked_ns", "thread_name", NULL);
}

static int print_calls(const json_t *calls)
{
	static const char *const heads[] = {"<zone", "frame",	"start", "duration",
					    "self",  "<thread", NULL};
	static const char *const scheduled[] = {"<zone",  "frame",    "start",	 "duration", "self",
						"on cpu", "runnable", "blocked", "<thread",  NULL};

	return has_kernel(calls) ? table_list(scheduled, calls, scheduled_call_row)
				 : table_list(heads, calls, call_row);
}

/* Calls that come slowly at a beat are worth a line. */
static void print_slow(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *slow = json_object_get(row, "slow");
		double mean = answer_ms(slow, "gap_mean_ns");
		double sd = answer_ms(slow, "gap_sd_ns");

		if (mean > 0 && sd < mean / 10)
			printf("%s: %lld calls over %.3f ms, one every %.1f ms (sd %.1f ms)\n",
			       answer_text(row, "name"), answer_integer(slow, "calls"),
			       answer_ms(slow, "above_ns"), mean, sd);
	}
}

/* What on cpu, runnable and blocked leave of the rows' own time, where that is worth a word. */
static double unheard_ms(const json_t *rows)
{
	double all = 0, heard = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!json_is_integer(json_object_get(row, "self_on_cpu_ns")))
			continue;
		all += answer_ms(row, "self_ns");
		heard += answer_ms(row, "self_on_cpu_ns") + answer_ms(row, "self_runnable_ns") +
			 answer_ms(row, "self_blocked_ns");
	}
	return all - heard > all / 100 ? all - heard : 0;
}

/* What the rows are of. */
static void print_range(const json_t *answer)
{
	double unheard = unheard_ms(json_object_get(answer, "zones"));
	const json_t *range = json_object_get(answer, "range");

	printf("%zu of %lld rows; ", json_array_size(json_object_get(answer, "zones")),
	       answer_integer(answer, "count"));
	answer_print_scope(answer);
	printf(", %.3f ms; times in ms", answer_ms(range, "wall_ns"));
	answer_print_left_out(range);
	if (answer_integer(answer, "lost_events") > 0)
		printf("%lld events were lost in %lld gaps: what was in them is missing\n",
		       answer_integer(answer, "lost_events"), answer_integer(answer, "gaps"));
	if (unheard > 0)
		printf("of %.3f ms of these rows nobody heard from the kernel: they are in none of "
		       "on cpu, runnable and blocked\n",
		       unheard);
	if (answer_integer(answer, "session_uncounted") > 0)
		printf("%lld calls and events of the session are in none of the columns \"all\"\n",
		       answer_integer(answer, "session_uncounted"));
}

static int print(const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "zones");
	const char *view = answer_text(answer, "view");
	int r;

	if (strcmp(view, "calls") == 0) {
		r = print_calls(rows);
	} else if (strcmp(view, "callers") == 0) {
		r = print_rows(rows, "<called by", no_heads);
		putchar('\n');
		if (r == TOOL_OK)
			r = print_rows(json_object_get(answer, "callees"), "<calls", no_heads);
	} else {
		r = print_rows(rows, "<zone",
			       strcmp(view, "tree") == 0 ? thread_heads : session_heads);
		print_slow(rows);
	}
	print_range(answer);
	return r;
}

int tool_zones(const struct tool_options *options, int argc, char **argv)
{
	static const char words[] =
		"view from to last stream frames thread* name category per sort "
		"order limit offset";
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, words, NULL, argc, argv);

	if (r == TOOL_OK && !ask_has(&ask, "view"))
		r = ask_add(&ask, "view", "flat");
	if (r == TOOL_OK && !options->json && !ask_has(&ask, "limit"))
		r = ask_add(&ask, "limit", LIMIT_DEFAULT);
	return r == TOOL_OK ? answer_ask(options, "GET", ask_path(&ask, "zones"), NULL, print) : r;
}
