// SPDX-License-Identifier: MIT
/* `fprof verdict`: what held the frames of a range back, and the longest of them one by one. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORST 5

static void print_parts(const json_t *verdict)
{
	const json_t *parts = json_object_get(verdict, "parts"), *part;
	double wall = answer_ms(verdict, "wall_ns");
	size_t i;

	json_array_foreach(parts, i, part)
	{
		double ms = answer_ms(part, "ns");

		printf("  %-9s %10.3f ms %5.1f%%\n", answer_text(part, "part"), ms,
		       wall > 0 ? 100 * ms / wall : 0.0);
	}
}

/* What the other frames were bound by, and how sure all of it is. */
static void print_bounds(const json_t *answer)
{
	const json_t *bounds = json_object_get(answer, "bounds"), *bound, *frame;
	const char *most = answer_text(answer, "bound_by"), *before = "others: ";
	size_t i, heard = 0;

	json_array_foreach(bounds, i, bound)
	{
		if (strcmp(answer_text(bound, "bound_by"), most) == 0)
			continue;
		printf("%s%s %lld (%.3f ms)", before, answer_text(bound, "bound_by"),
		       answer_integer(bound, "frames"), answer_ms(bound, "wall_ns"));
		before = ", ";
	}
	json_array_foreach(json_object_get(answer, "frames"), i, frame)
	{
		heard += json_is_true(json_object_get(frame, "counted")) &&
			 json_is_true(json_object_get(frame, "kernel"));
	}
	printf("%sconfidence %.0f%%; the kernel was heard of %zu of %lld frames\n",
	       strcmp(before, ", ") == 0 ? "; " : "",
	       100 * json_number_value(json_object_get(answer, "confidence")), heard,
	       answer_integer(answer, "frames_judged"));
}

static int longer(const void *a, const void *b)
{
	long long x = answer_integer(*(json_t *const *)a, "wall_ns"),
		  y = answer_integer(*(json_t *const *)b, "wall_ns");

	return (x < y) - (x > y);
}

static void print_worst(const json_t *frames)
{
	size_t i, n = json_array_size(frames), count = 0;
	_cleanup_free_ json_t **sorted = malloc((n + 1) * sizeof(json_t *));

	for (i = 0; sorted && i < n; i++)
		if (json_is_true(json_object_get(json_array_get(frames, i), "counted")))
			sorted[count++] = json_array_get(frames, i);
	if (!sorted)
		return;
	qsort(sorted, count, sizeof(json_t *), longer);
	for (i = 0; i < count && i < WORST; i++)
		printf("frame %lld, %s: %s\n", answer_integer(sorted[i], "frame"),
		       answer_text(sorted[i], "bound_by"), answer_text(sorted[i], "sentence"));
}

/* Whether a wait for the present is the display's, or a limiter's in the driver, is told by the
 * display's refresh rate. */
static bool lacks_refresh_rate(const json_t *answer)
{
	const json_t *parts = json_object_get(answer, "parts"), *part;
	long long present_ns = 0;
	size_t i;

	json_array_foreach(parts, i, part)
	{
		if (strcmp(answer_text(part, "part"), "present") == 0)
			present_ns += answer_integer(part, "ns");
	}
	return strcmp(answer_text(answer, "bound_by"), "unknown") == 0 &&
	       2 * present_ns > answer_integer(answer, "wall_ns") &&
	       json_is_null(json_object_get(json_object_get(answer, "display"), "source"));
}

static int print(const json_t *answer)
{
	const json_t *range = json_object_get(answer, "range");

	printf("bound by %s%s: %s\n", answer_text(answer, "bound_by"),
	       lacks_refresh_rate(answer) ? " (the present; no display's refresh rate is known)"
					  : "",
	       answer_text(answer, "sentence"));
	print_bounds(answer);
	print_parts(answer);
	print_worst(json_object_get(answer, "frames"));
	answer_print_scope(answer);
	answer_print_older(range);
	answer_print_left_out(range);
	answer_print_lost("not all of it was recorded: ", json_object_get(answer, "lost"), true);
	return TOOL_OK;
}

int tool_verdict(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "from to last stream frames", NULL, argc, argv);

	return r == TOOL_OK ? answer_ask(options, "GET", ask_path(&ask, "verdict"), NULL, print)
			    : r;
}
