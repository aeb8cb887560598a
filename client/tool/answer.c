// SPDX-License-Identifier: MIT
/* Shared by the commands that show what the API answers. Nothing here keeps state. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

int answer_send(const struct tool_options *options, const char *method, const char *path,
		const json_t *body, json_t **ret_json)
{
	_cleanup_api_ struct api *api = NULL;
	int r = api_new(options, &api);

	return r == TOOL_OK ? api_send(api, method, path, body, ret_json) : r;
}

int answer_get(const struct tool_options *options, const char *path, json_t **ret_json)
{
	return answer_send(options, "GET", path, NULL, ret_json);
}

int answer_ask(const struct tool_options *options, const char *method, char *path,
	       const json_t *body, answer_print_fn print)
{
	_cleanup_free_ char *own = path;
	_cleanup_json_ json_t *answer = NULL;
	int r = own ? answer_send(options, method, own, body, &answer) : TOOL_FAILED;

	return r == TOOL_OK ? answer_show(options, answer, print) : r;
}

int answer_print(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

void answer_clean(json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(json))
		tool_clean((char *)json_string_value(json));
	json_array_foreach(json, i, value) answer_clean(value);
	json_object_foreach(json, key, value) answer_clean(value);
}

int answer_show(const struct tool_options *options, json_t *answer, answer_print_fn print)
{
	int r = TOOL_OK;

	if (options->json)
		return answer_print(answer);
	answer_clean(answer);
	if (print)
		r = print(answer);
	return fflush(stdout) == 0 ? r : TOOL_FAILED;
}

const char *answer_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "-";
}

long long answer_integer(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

double answer_ms(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key)) / 1e6;
}

bool answer_has_flag(const json_t *json, const char *flag)
{
	const json_t *flags = json_object_get(json, "flags"), *value;
	size_t i;

	json_array_foreach(flags, i, value)
	{
		const char *text = json_string_value(value);

		if (text && strcmp(text, flag) == 0)
			return true;
	}
	return false;
}

void answer_print_scope(const json_t *answer)
{
	const json_t *range = json_object_get(answer, "range");

	printf("%lld frames (%lld..%lld) of session %lld", answer_integer(range, "frames"),
	       answer_integer(range, "from"), answer_integer(range, "to"),
	       answer_integer(answer, "session"));
}

void answer_print_left_out(const json_t *range)
{
	json_t *out = json_object_get(range, "left_out"), *count;
	const char *reason, *before = "; left out: ";

	json_object_foreach(out, reason, count)
	{
		if (json_integer_value(count) == 0)
			continue;
		printf("%s%lld %s", before, json_integer_value(count), reason);
		before = ", ";
	}
	putchar('\n');
}

void answer_print_older(const json_t *range)
{
	const json_t *rows = json_object_get(range, "rows");
	long long older = answer_integer(range, "from") - answer_integer(rows, "first");

	if (older > 0 && answer_integer(range, "to") == answer_integer(rows, "last"))
		printf("; %lld older ones are not among them", older);
}

void answer_print_lost(const char *before, const json_t *lost, bool events)
{
	static const char *const counts[][2] = {
		{"events", "events lost"},
		{"missing_frames", "frames missing"},
		{"frames_without_events", "frames whose events are gone"}};
	size_t n = sizeof(counts) / sizeof(counts[0]) - !events, i;
	long long several = answer_integer(lost, "frames_that_stand_for_several");
	bool any = false;

	for (i = 0; i < n; i++) {
		long long count = answer_integer(lost, counts[i][0]);

		if (count > 0)
			printf("%s%lld %s", any ? ", " : before, count, counts[i][1]);
		any |= count > 0;
	}
	if (any)
		putchar('\n');
	if (several > 0)
		printf("%lld of the frames stand for several, whose marks were lost, and count as "
		       "one each\n",
		       several);
}

static void frame_row(struct table *table, const json_t *frame)
{
	_cleanup_free_ char *flags = api_join(json_object_get(frame, "flags"), ",");
	const json_t *waits = json_object_get(frame, "wait_ns");

	table_row(table, frame, "frame", "begin_ns", "wall_ns", "cpu_ns", "gpu_ns", NULL);
	table_number(table, json_object_get(waits, "gpu"), 1e6, 3);
	table_number(table, json_object_get(waits, "present"), 1e6, 3);
	table_number(table, json_object_get(waits, "cap"), 1e6, 3);
	table_row(table, frame, "events", "lost_events", NULL);
	table_cell(table, flags);
}

int answer_print_frames(const json_t *frames)
{
	static const char *const heads[] = {"frame",  "begin ms", "wall ms", "cpu ms",
					    "gpu ms", "wait gpu", "present", "cap",
					    "events", "lost",	  "<flags",  NULL};

	return table_list(heads, frames, frame_row);
}
