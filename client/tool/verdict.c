// SPDX-License-Identifier: MIT
/* `fprof verdict`: what held the frames of a range back, and the longest of them one by one. */
#include "answer.h"
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>

#define WORST 5

static const struct ask_option verdict_options[] = {
	{"--from", "from", false},     {"--to", "to", false}, {"--last", "last", false},
	{"--stream", "stream", false}, {NULL, NULL, false},
};

static long long number(const json_t *json, const char *key)
{
	return (long long)json_integer_value(json_object_get(json, key));
}

static void print_parts(const json_t *verdict)
{
	const json_t *parts = json_object_get(verdict, "parts"), *part;
	double wall = (double)number(verdict, "wall_ns");
	size_t i;

	json_array_foreach(parts, i, part)
	{
		double ns = (double)number(part, "ns");

		printf("  %-9s %10.3f ms %5.1f%%\n", answer_text(part, "part"), ns / 1e6,
		       wall > 0 ? 100 * ns / wall : 0.0);
	}
}

static int longer(const void *a, const void *b)
{
	long long x = number(*(json_t *const *)a, "wall_ns"),
		  y = number(*(json_t *const *)b, "wall_ns");

	return (x < y) - (x > y);
}

static void print_worst(const json_t *frames)
{
	size_t i, n = json_array_size(frames);
	_cleanup_free_ json_t **sorted = malloc((n + 1) * sizeof(json_t *));

	for (i = 0; sorted && i < n; i++)
		sorted[i] = json_array_get(frames, i);
	if (!sorted)
		return;
	qsort(sorted, n, sizeof(json_t *), longer);
	for (i = 0; i < n && i < WORST; i++)
		printf("frame %lld, %s: %s\n", number(sorted[i], "frame"),
		       answer_text(sorted[i], "bound_by"), answer_text(sorted[i], "sentence"));
}

static int print_answer(const json_t *answer)
{
	printf("bound by %s: %s\n", answer_text(answer, "bound_by"),
	       answer_text(answer, "sentence"));
	print_parts(answer);
	print_worst(json_object_get(answer, "frames"));
	return TOOL_OK;
}

int tool_verdict(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_ask_ struct ask ask;
	int r = ask_parse(verdict_options, argc, argv, &ask);

	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "verdict");
	if (!path)
		return TOOL_FAILED;
	r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	return options->json ? answer_print(answer) : print_answer(answer);
}
