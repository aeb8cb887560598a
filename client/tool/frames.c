// SPDX-License-Identifier: MIT
/*
 * `fprof frames`: rows of frames as a table. Sorting and filtering are done here, over all rows
 * that the daemon has; without either only the newest are asked for.
 */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_DEFAULT 20
#define LAST_MAX     3600

struct frames_query {
	const char *sort; /* a key of the API's frames; NULL: by number */
	double over_ms;	  /* only frames of a longer wall time; < 0: all */
	long last;
	bool range; /* frames were named by number */
};

/* text NULL: it was not given. */
static int parse_sort(const char *text, const char **ret_key)
{
	static const char *const names[][2] = {
		{"frame", NULL}, {"wall", "wall_ns"}, {"cpu", "cpu_ns"}, {"gpu", "gpu_ns"}};
	size_t i;

	for (i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i][0]) == 0) {
			*ret_key = names[i][1];
			return TOOL_OK;
		}
	}
	return !text ? TOOL_OK : tool_usage("--sort takes frame, wall, cpu or gpu, not '%s'", text);
}

static int parse(struct frames_query *query, struct ask *ask, int argc, char **argv)
{
	const char *last = NULL, *over = NULL, *sort = NULL;
	const struct ask_option own[] = {{"--last", &last, NULL},
					 {"--over", &over, NULL},
					 {"--sort", &sort, NULL},
					 {NULL, NULL, NULL}};
	char rows[24];
	int r = ask_parse(ask, "stream from to", own, argc, argv);

	*query = (struct frames_query){.over_ms = -1, .last = LAST_DEFAULT};
	if (r == TOOL_OK)
		r = ask_number("--last", last, 1, LAST_MAX, &query->last);
	if (r == TOOL_OK)
		r = ask_real("--over", "milliseconds", over, &query->over_ms);
	if (r == TOOL_OK)
		r = parse_sort(sort, &query->sort);
	query->range = ask_has(ask, "from") || ask_has(ask, "to");
	if (r == TOOL_OK && last && query->range && !query->sort && query->over_ms < 0)
		return tool_usage("--last and --from or --to exclude each other, unless --sort or "
				  "--over leave some out");
	if (r != TOOL_OK)
		return r;
	if (query->range) {
		query->last = last ? query->last : LAST_MAX;
		return TOOL_OK;
	}
	snprintf(rows, sizeof(rows), "%ld", over || query->sort ? LAST_MAX : query->last);
	return ask_add(ask, "last", rows);
}

static double number_of(const json_t *frame, const char *key)
{
	const json_t *value = json_object_get(frame, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

static void drop_short(json_t *frames, double over_ms)
{
	size_t i;

	for (i = json_array_size(frames); i > 0; i--) {
		if (number_of(json_array_get(frames, i - 1), "wall_ns") <= over_ms * 1e6)
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

	if (asprintf(&path, "/api/v1/sessions/%lld", answer_integer(answer, "session")) < 0 ||
	    answer_get(options, path, &session) != TOOL_OK)
		return;
	answer_clean(session);
	streams = json_object_get(session, "streams");
	json_array_foreach(streams, i, stream)
	{
		const char *name = json_string_value(stream);

		if (name && strcmp(name, "main") != 0)
			printf("the session has a stream of its own: --stream '%s'\n", name);
	}
}

/* The newest frames were asked for by number: of some there is no row. */
static void print_missing(const struct frames_query *query, size_t shown, size_t kept)
{
	size_t asked = (size_t)query->last < kept ? (size_t)query->last : kept;

	if (query->over_ms < 0 && !query->sort && shown < asked)
		printf("%zu of the last %zu frames have rows: the marks of the others were lost\n",
		       shown, asked);
}

/* How many of the stream's frames these are, or of the asked ones, where they are not all. */
static void print_cut(const struct frames_query *query, const json_t *answer, size_t asked,
		      size_t matched)
{
	const json_t *rows = json_object_get(answer, "rows");
	size_t shown = json_array_size(json_object_get(answer, "frames"));
	long long first = answer_integer(rows, "first"), last = answer_integer(rows, "last");
	size_t kept = query->range ? asked : first ? (size_t)(last - first + 1) : 0;

	print_missing(query, shown, kept);
	if (query->sort && !query->range)
		printf("sorted are all frames that have a row (%lld..%lld), startup and paused "
		       "ones too\n",
		       last - first < LAST_MAX ? first : last - LAST_MAX + 1, last);
	if (query->over_ms >= 0)
		printf("%zu of %zu frames are longer than %g ms\n", matched, kept, query->over_ms);
	else
		matched = kept;
	if (shown < matched)
		printf("%zu of %zu frames; --last N shows more\n", shown, matched);
	else if (query->over_ms < 0)
		printf("%zu of %zu frames\n", shown, shown);
}

int tool_frames(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_ask_ struct ask ask = {0};
	struct frames_query query;
	json_t *frames;
	size_t asked, matched;
	int r = parse(&query, &ask, argc, argv);

	if (r != TOOL_OK)
		return r;
	path = ask_path(&ask, "frames");
	r = path ? answer_get(options, path, &answer) : TOOL_FAILED;
	if (r != TOOL_OK)
		return r;
	frames = json_object_get(answer, "frames");
	asked = json_array_size(frames);
	if (query.over_ms >= 0)
		drop_short(frames, query.over_ms);
	if (query.sort)
		r = sort_by(frames, query.sort);
	if (r != TOOL_OK)
		return r;
	matched = json_array_size(frames);
	cut(frames, &query);
	if (options->json)
		return answer_print(answer);
	answer_clean(answer);
	r = answer_print_frames(frames);
	print_cut(&query, answer, asked, matched);
	if (!ask_has(&ask, "stream") && json_is_null(json_object_get(answer, "rows")))
		print_streams(options, answer);
	return r;
}
