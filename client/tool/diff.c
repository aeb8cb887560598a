// SPDX-License-Identifier: MIT
/* `fprof diff`: where the time of a frame went on one side and on the other. */
#include "ask.h"

#include <stdio.h>
#include <string.h>

/* The three numbers and the interval of one row, in front of its name. both: it is on both sides.
 */
static void print_number(const json_t *number, bool both)
{
	const json_t *interval = json_object_get(number, "interval_ns");

	printf("%9.3f %9.3f %+9.3f", answer_ms(number, "a_ns"), answer_ms(number, "b_ns"),
	       answer_ms(number, "delta_ns"));
	if (json_is_object(interval))
		printf("  %+8.3f to %+8.3f  ", answer_ms(interval, "low"),
		       answer_ms(interval, "high"));
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
	const json_t *lost = json_object_get(answer, "lost"), *run;
	size_t i;

	json_array_foreach(lost, i, run)
	{
		printf("warning: %s, run %s: ", answer_text(run, "side"), answer_text(run, "run"));
		answer_print_lost("", run, true);
	}
}

static void print_rows(const json_t *answer, const char *key, const char *by, const char *title)
{
	const json_t *rows = json_object_get(answer, key), *row;
	long long all = answer_integer(json_object_get(answer, "counts"), key);
	size_t i;

	printf("\n%s: %lld\n", title, all);
	json_array_foreach(rows, i, row)
	{
		print_number(json_object_get(row, by), strcmp(key, "moved") == 0);
		print_path(row);
	}
	if ((size_t)all > json_array_size(rows))
		printf("... and more: --limit N shows them\n");
}

static int print(const json_t *answer)
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
	printf("\n%lld not told apart from chance, %lld differ by less than %g ms, %lld not looked "
	       "at\n",
	       answer_integer(counts, "same"), answer_integer(counts, "below_floor"),
	       json_number_value(json_object_get(answer, "floor_ms")),
	       answer_integer(counts, "not_tried"));
	return TOOL_OK;
}

int tool_diff(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {.no_session = true};
	int r = ask_options(&ask, "by limit floor-ms stream", NULL, &argc, argv);

	if (r == TOOL_OK && argc < 3)
		return tool_usage("diff needs two sides, as in: fprof diff 12 13");
	if (r == TOOL_OK && argc > 3)
		return tool_usage("diff does not know '%s'", argv[3]);
	if (r == TOOL_OK)
		r = ask_add(&ask, "a", argv[1]);
	if (r == TOOL_OK)
		r = ask_add(&ask, "b", argv[2]);
	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", ask_address(&ask, "/api/v1/diff"), NULL, print);
}
