// SPDX-License-Identifier: MIT
/* Shared by the commands that show what the API answers. Nothing here keeps state. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

int answer_print(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}

int answer_get(const struct tool_options *options, const char *path, json_t **ret_json)
{
	_cleanup_api_ struct api *api = NULL;
	int r = api_new(options, &api);

	return r == TOOL_OK ? api_get(api, path, ret_json) : r;
}

const char *answer_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "-";
}

int answer_check_session(const char *text)
{
	if (strcmp(text, "current") == 0)
		return TOOL_OK;
	if (text[0] && text[0] != '0' && strspn(text, "0123456789") == strlen(text))
		return TOOL_OK;
	return tool_usage("SESSION is a number from `fprof sessions` or 'current', not '%s'", text);
}

static void flags_cell(struct table *table, const json_t *flags)
{
	char text[256] = "";
	const json_t *flag;
	size_t i, length = 0;

	json_array_foreach(flags, i, flag)
	{
		const char *name = json_string_value(flag);

		if (name && length + strlen(name) + 2 < sizeof(text))
			length += (size_t)sprintf(text + length, "%s%s", length ? "," : "", name);
	}
	table_cell(table, text);
}

void answer_print_frames(const json_t *frames)
{
	static const char *const heads[] = {"frame",  "begin ms", "wall ms", "cpu ms",
					    "gpu ms", "wait gpu", "present", "cap",
					    "events", "lost",	  "<flags",  NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *frame;
	size_t i;

	if (!table)
		return;
	json_array_foreach(frames, i, frame)
	{
		const json_t *waits = json_object_get(frame, "wait_ns");

		table_integer(table, json_object_get(frame, "frame"));
		table_ms(table, json_object_get(frame, "begin_ns"));
		table_ms(table, json_object_get(frame, "wall_ns"));
		table_ms(table, json_object_get(frame, "cpu_ns"));
		table_ms(table, json_object_get(frame, "gpu_ns"));
		table_ms(table, json_object_get(waits, "gpu"));
		table_ms(table, json_object_get(waits, "present"));
		table_ms(table, json_object_get(waits, "cap"));
		table_integer(table, json_object_get(frame, "events"));
		table_integer(table, json_object_get(frame, "lost_events"));
		flags_cell(table, json_object_get(frame, "flags"));
	}
	table_print(table);
}
