// SPDX-License-Identifier: MIT
/*
 * Which of a game's frames are measured: those behind the first, which starts with the process, and
 * behind what is to be skipped, without those in which the game was loading or not recorded. They
 * are read as they come: rows stay for some thousand frames only.
 */
#include "answer.h"
#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 3600

void harness_frames_deinit(struct harness_frames *f)
{
	free(f->at);
	f->at = NULL;
}

static int64_t number_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_integer(value) ? json_integer_value(value) : HARNESS_UNKNOWN;
}

static struct harness_frame frame_of(const json_t *row)
{
	return (struct harness_frame){number_of(row, "frame"), number_of(row, "wall_ns"),
				      number_of(row, "cpu_ns"), number_of(row, "gpu_ns"),
				      number_of(row, "lost_events")};
}

static void take_row(struct harness_frames *f, const json_t *row)
{
	int64_t number = number_of(row, "frame");

	if (number < f->next)
		return;
	if (f->count < f->wanted)
		f->missing += number - f->next;
	f->next = number + 1;
	if (f->count == f->wanted)
		f->after++;
	else if (answer_has_flag(row, "startup"))
		f->startup++;
	else if (answer_has_flag(row, "loading"))
		f->loading++;
	else if (answer_has_flag(row, "paused"))
		f->paused++;
	else if (f->skipped < f->skip)
		f->skipped++;
	else
		f->at[f->count++] = frame_of(row);
}

static int read_rows(struct api *api, int64_t session, int64_t from, int64_t to, json_t **ret_rows)
{
	_cleanup_json_ json_t *answer = NULL;
	char path[128];
	int r;

	snprintf(path, sizeof(path),
		 "/api/v1/sessions/%" PRId64 "/frames?from=%" PRId64 "&to=%" PRId64, session, from,
		 to);
	r = api_get_quiet(api, path, &answer);
	if (r == TOOL_OK)
		*ret_rows = json_incref(json_object_get(answer, "frames"));
	return r;
}

int harness_frames_read(struct api *api, int64_t session, struct harness_frames *f)
{
	_cleanup_json_ json_t *rows = NULL;
	const json_t *row;
	size_t i;
	int r;

	if (!f->at) {
		f->at = calloc((size_t)f->wanted, sizeof(*f->at));
		f->next = 1;
		if (!f->at)
			return TOOL_FAILED;
	}
	r = read_rows(api, session, f->next, f->next + ROWS_AT_ONCE - 1, &rows);
	if (r != TOOL_OK)
		return r;
	json_array_foreach(rows, i, row) take_row(f, row);
	return TOOL_OK;
}

static void refresh(struct harness_frames *f, const json_t *row, long *at)
{
	int64_t number = number_of(row, "frame");

	while (*at < f->count && f->at[*at].number < number)
		++*at;
	if (*at < f->count && f->at[*at].number == number)
		f->at[*at] = frame_of(row);
}

void harness_frames_refresh(struct api *api, int64_t session, struct harness_frames *f)
{
	int64_t from = f->count > 0 ? f->at[0].number : 1;
	int64_t to = f->count > 0 ? f->at[f->count - 1].number : 0;
	long at = 0;

	for (; from <= to; from += ROWS_AT_ONCE) {
		_cleanup_json_ json_t *rows = NULL;
		const json_t *row;
		size_t i;

		if (read_rows(api, session, from, from + ROWS_AT_ONCE - 1, &rows) != TOOL_OK)
			return;
		json_array_foreach(rows, i, row) refresh(f, row, &at);
	}
}
