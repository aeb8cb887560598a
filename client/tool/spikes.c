// SPDX-License-Identifier: MIT
/* `fprof spikes`: what was kept because a trigger fired, newest first, and what is still open. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "120.18 ms (above 50, median 16.67)", what there is of it. */
static void value_text(const json_t *fired, char *text, size_t size)
{
	const json_t *ms = json_object_get(fired, "value_ms");
	const json_t *value = ms ? ms : json_object_get(fired, "value");
	const json_t *bound = json_object_get(fired, ms ? "threshold_ms" : "threshold");
	const json_t *median = json_object_get(fired, ms ? "median_ms" : "median");
	size_t n = 0;

	snprintf(text, size, "%s", answer_text(fired, "text"));
	if (!value)
		return;
	n = (size_t)snprintf(text, size, "%.6g%s", json_number_value(value), ms ? " ms" : "");
	if (bound && n < size)
		n += (size_t)snprintf(text + n, size - n, ", above %.6g", json_number_value(bound));
	if (median && n < size)
		snprintf(text + n, size - n, ", median %.6g", json_number_value(median));
}

static void frames_text(const json_t *frames, char *text, size_t size)
{
	if (json_is_object(frames))
		snprintf(text, size, "%lld-%lld",
			 (long long)json_integer_value(json_object_get(frames, "first")),
			 (long long)json_integer_value(json_object_get(frames, "last")));
	else
		snprintf(text, size, "-");
}

static void missing_text(const json_t *reason, char *text, size_t size)
{
	const json_t *missing = json_object_get(reason, "missing");
	json_int_t frames = json_integer_value(json_object_get(missing, "before")) +
			    json_integer_value(json_object_get(missing, "after"));

	if (missing)
		snprintf(text, size, "%lld: %s", (long long)frames, answer_text(missing, "why"));
	else
		snprintf(text, size, "-");
}

static void print(const json_t *spikes)
{
	static const char *const heads[] = {"id",      "session", "<state", "<kind",	"frame",
					    "<frames", "<why",	  "<value", "<missing", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *spike;
	char text[512];
	size_t i;

	if (!table)
		return;
	json_array_foreach(spikes, i, spike)
	{
		const json_t *reason = json_object_get(spike, "reason");

		table_integer(table, json_object_get(spike, "id"));
		table_integer(table, json_object_get(spike, "session"));
		table_cell(table, answer_text(spike, "state"));
		table_cell(table, answer_text(spike, "kind"));
		table_integer(table, json_object_get(reason, "frame"));
		frames_text(json_object_get(spike, "frames"), text, sizeof(text));
		table_cell(table, text);
		table_cell(table, answer_text(reason, "label"));
		value_text(json_array_get(json_object_get(reason, "fired"), 0), text, sizeof(text));
		table_cell(table, text);
		missing_text(reason, text, sizeof(text));
		table_cell(table, text);
	}
	if (json_array_size(spikes) > 0)
		table_print(table);
	else
		puts("no spikes");
}

int tool_spikes(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_free_ char *session = NULL, *path = NULL;
	_cleanup_json_ json_t *answer = NULL;
	int r;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return tool_usage("spikes does not know '%s'", argv[argc - 1]);
	if (argc == 2 && answer_check_session(argv[1]) != TOOL_OK)
		return TOOL_USAGE;
	session = argc == 2 ? api_escape(argv[1]) : NULL;
	if ((argc == 2 && !session) ||
	    asprintf(&path, session ? "/api/v1/sessions/%s/spikes" : "/api/v1/spikes", session) < 0)
		return TOOL_FAILED;
	r = answer_get(options, path, &answer);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(answer);
	print(json_object_get(answer, "spikes"));
	return TOOL_OK;
}
