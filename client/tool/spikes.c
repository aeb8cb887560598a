// SPDX-License-Identifier: MIT
/* `fprof spikes`: what was kept because a trigger fired, newest first, and what is still open. */
#include "ask.h"

#include <stdio.h>
#include <string.h>

#define OTHERS 4 /* frames that fired beside the first and are listed */

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

/* "100: 1111.26 ms"; a spike that is still open has none yet. */
static void worst_cell(struct table *table, const json_t *worst)
{
	if (json_is_object(worst))
		table_printf(table, "%lld: %.2f ms", answer_integer(worst, "frame"),
			     json_number_value(json_object_get(worst, "wall_ms")));
	else
		table_cell(table, "-");
}

/* Which frames fired beside the first: "99, 100 and 4 more". */
static void others_cell(struct table *table, const json_t *reason)
{
	const json_t *fired = json_object_get(reason, "fired");
	long long more = answer_integer(reason, "more"), frame;
	size_t i, shown = 0, count = json_array_size(fired);
	char text[128] = "";

	for (i = 1; i < count && shown < OTHERS; i++, shown++) {
		size_t at = strlen(text);

		frame = answer_integer(json_array_get(fired, i), "frame");
		snprintf(text + at, sizeof(text) - at, "%s%lld", at ? ", " : "", frame);
	}
	if (count > 0)
		more += (long long)(count - 1 - shown);
	if (more > 0)
		table_printf(table, "%s and %lld more", text, more);
	else
		table_cell(table, shown > 0 ? text : "-");
}

static void spike_row(struct table *table, const json_t *spike)
{
	const json_t *reason = json_object_get(spike, "reason");
	const json_t *frames = json_object_get(spike, "frames");
	const json_t *missing = json_object_get(reason, "missing");
	char text[512];

	table_row(table, spike, "id", "session", "state", "kind", NULL);
	table_row(table, reason, "frame", NULL);
	if (json_is_object(frames))
		table_printf(table, "%lld-%lld", answer_integer(frames, "first"),
			     answer_integer(frames, "last"));
	else
		table_cell(table, "-");
	table_row(table, reason, "label", NULL);
	value_text(json_array_get(json_object_get(reason, "fired"), 0), text, sizeof(text));
	table_cell(table, text);
	worst_cell(table, json_object_get(reason, "worst"));
	others_cell(table, reason);
	if (missing)
		table_printf(table, "%lld: %s",
			     answer_integer(missing, "before") + answer_integer(missing, "after"),
			     answer_text(missing, "why"));
	else
		table_cell(table, "-");
}

/* What triggers would have said while they rested, and no spike has told of since. */
static void print_suppressed(const json_t *suppressed)
{
	const json_t *one;
	size_t i;

	json_array_foreach(suppressed, i, one)
	{
		const json_t *frames = json_object_get(one, "frames");

		printf("session %lld: while it rested, %s would have fired %lld more times, in "
		       "frames "
		       "%lld-%lld\n",
		       answer_integer(one, "session"),
		       answer_text(json_object_get(one, "trigger"), "label"),
		       answer_integer(one, "count"), answer_integer(frames, "first"),
		       answer_integer(frames, "last"));
	}
}

static int print(const json_t *answer)
{
	static const char *const heads[] = {"id",    "session",	   "<state",   "<kind",
					    "frame", "<frames",	   "<why",     "<value",
					    "worst", "<fired too", "<missing", NULL};
	const json_t *spikes = json_object_get(answer, "spikes");

	int r = TOOL_OK;

	if (json_array_size(spikes) > 0)
		r = table_list(heads, spikes, spike_row);
	else
		puts("no spikes");
	print_suppressed(json_object_get(answer, "suppressed"));
	return r;
}

int tool_spikes(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "", NULL, argc, argv);
	char *path;

	if (r != TOOL_OK)
		return r;
	path = ask.session ? ask_path(&ask, "spikes") : ask_address(&ask, "/api/v1/spikes");
	return answer_ask(options, "GET", path, NULL, print);
}
