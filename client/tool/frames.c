// SPDX-License-Identifier: MIT
/*
 * `fprof frames`: rows of frames as a table. Sorting and filtering are done here, over all rows
 * that the daemon has; without either only the newest are asked for.
 */
#include "answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_DEFAULT 20
#define LAST_MAX     3600

struct frames_query {
	const char *session, *stream;
	const char *sort; /* a key of the API's frames; NULL: by number */
	double over_ns;	  /* only frames of a longer wall time; < 0: all */
	long last;
};

static int parse_last(const char *text, long *ret_last)
{
	char *end;

	errno = 0;
	*ret_last = strtol(text, &end, 10);
	if (errno || end == text || *end || *ret_last < 1 || *ret_last > LAST_MAX)
		return tool_usage("--last takes a number from 1 to %d, not '%s'", LAST_MAX, text);
	return TOOL_OK;
}

static int parse_over(const char *text, double *ret_ns)
{
	char *end;
	double ms = strtod(text, &end);

	if (end == text || *end || !isfinite(ms) || ms < 0)
		return tool_usage("--over takes milliseconds, 0 or more, not '%s'", text);
	*ret_ns = ms * 1e6;
	return TOOL_OK;
}

static int parse_sort(const char *text, const char **ret_key)
{
	static const char *const names[][2] = {
		{"frame", NULL}, {"wall", "wall_ns"}, {"cpu", "cpu_ns"}, {"gpu", "gpu_ns"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i][0]) == 0) {
			*ret_key = names[i][1];
			return TOOL_OK;
		}
	}
	return tool_usage("--sort takes frame, wall, cpu or gpu, not '%s'", text);
}

/* 1: argv[*index] was an option; 0: it was not; -1: it was a wrong one, and that was said. */
static int parse_option(struct frames_query *query, int argc, char **argv, int *index)
{
	const char *argument = argv[*index], *last = NULL, *over = NULL, *sort = NULL;
	int taken = tool_option(argc, argv, index, "--last", &last), r = TOOL_OK;

	if (taken == 0)
		taken = tool_option(argc, argv, index, "--stream", &query->stream);
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--over", &over);
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--sort", &sort);
	if (taken < 0)
		r = tool_usage("%s needs a value", argument);
	else if (last)
		r = parse_last(last, &query->last);
	else if (over)
		r = parse_over(over, &query->over_ns);
	else if (sort)
		r = parse_sort(sort, &query->sort);
	return r == TOOL_OK ? taken : -1;
}

static int parse(struct frames_query *query, int argc, char **argv)
{
	int i;

	*query = (struct frames_query){.over_ns = -1, .last = LAST_DEFAULT};
	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = parse_option(query, argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-' || query->session)
			return tool_usage("frames does not know '%s'", argument);
		query->session = argument;
	}
	if (!query->session)
		query->session = "current";
	return answer_check_session(query->session);
}

static int frames_path(const struct frames_query *query, char **ret_path)
{
	_cleanup_free_ char *session = api_escape(query->session);
	_cleanup_free_ char *stream = api_escape(query->stream ? query->stream : "");
	bool all = query->sort || query->over_ns >= 0;

	if (!session || !stream ||
	    asprintf(ret_path, "/api/v1/sessions/%s/frames?last=%ld%s%s", session,
		     all ? LAST_MAX : query->last, query->stream ? "&stream=" : "", stream) < 0)
		return TOOL_FAILED;
	return TOOL_OK;
}

static double number_of(const json_t *frame, const char *key)
{
	const json_t *value = json_object_get(frame, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

static void drop_short(json_t *frames, double over_ns)
{
	size_t i;

	for (i = json_array_size(frames); i > 0; i--) {
		if (number_of(json_array_get(frames, i - 1), "wall_ns") <= over_ns)
			json_array_remove(frames, i - 1);
	}
}

struct ranked {
	json_t *frame;
	double value;
	size_t place;
};

/* Largest first; what is unknown comes last, equals stay in order. */
static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static int sort_by(json_t *frames, const char *key)
{
	size_t count = json_array_size(frames), i;
	_cleanup_free_ struct ranked *ranked = calloc(count + 1, sizeof(*ranked));

	if (!ranked)
		return TOOL_FAILED;
	for (i = 0; i < count; i++) {
		json_t *frame = json_array_get(frames, i);

		ranked[i] = (struct ranked){json_incref(frame), number_of(frame, key), i};
	}
	qsort(ranked, count, sizeof(*ranked), by_value);
	json_array_clear(frames);
	for (i = 0; i < count; i++)
		json_array_append_new(frames, ranked[i].frame);
	return TOOL_OK;
}

/* Leaves --last frames: the newest, or the first of a sorted list. */
static void cut(json_t *frames, const struct frames_query *query)
{
	while (json_array_size(frames) > (size_t)query->last)
		json_array_remove(frames, query->sort ? json_array_size(frames) - 1 : 0);
}

/* The session's other streams, for one whose main stream has no frame. */
static void print_streams(const struct tool_options *options, const json_t *answer)
{
	_cleanup_json_ json_t *session = NULL;
	_cleanup_free_ char *path = NULL;
	const json_t *streams, *stream;
	size_t i;

	if (asprintf(&path, "/api/v1/sessions/%lld",
		     (long long)json_integer_value(json_object_get(answer, "session"))) < 0 ||
	    answer_get(options, path, &session) != TOOL_OK)
		return;
	streams = json_object_get(session, "streams");
	json_array_foreach(streams, i, stream)
	{
		const char *name = json_string_value(stream);

		if (name && strcmp(name, "main") != 0)
			printf("the session has a stream of its own: --stream '%s'\n", name);
	}
}

/* How many of the stream's frames these are, where they are not all. */
static void print_cut(const struct frames_query *query, const json_t *answer, size_t matched)
{
	const json_t *rows = json_object_get(answer, "rows");
	size_t shown = json_array_size(json_object_get(answer, "frames"));
	json_int_t first = json_integer_value(json_object_get(rows, "first"));
	json_int_t last = json_integer_value(json_object_get(rows, "last"));
	size_t kept = first ? (size_t)(last - first + 1) : 0;

	if (query->over_ns >= 0)
		printf("%zu of %zu frames are longer than %g ms\n", matched, kept,
		       query->over_ns / 1e6);
	else
		matched = kept;
	if (shown < matched)
		printf("%zu of %zu frames; --last N shows more\n", shown, matched);
	else if (query->over_ns < 0)
		printf("%zu of %zu frames\n", shown, shown);
}

int tool_frames(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	struct frames_query query;
	json_t *frames;
	size_t matched;
	int r = parse(&query, argc, argv);

	if (r == TOOL_OK)
		r = frames_path(&query, &path);
	if (r == TOOL_OK)
		r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	frames = json_object_get(answer, "frames");
	if (query.over_ns >= 0)
		drop_short(frames, query.over_ns);
	if (query.sort)
		r = sort_by(frames, query.sort);
	if (r != TOOL_OK)
		return r;
	matched = json_array_size(frames);
	cut(frames, &query);
	if (options->json)
		return answer_print(answer);
	answer_print_frames(frames);
	print_cut(&query, answer, matched);
	if (!query.stream && json_is_null(json_object_get(answer, "rows")))
		print_streams(options, answer);
	return TOOL_OK;
}
