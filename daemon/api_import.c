/* SPDX-License-Identifier: MIT */
/*
 * Files of other tools, uploaded: each becomes a capture. The answer says what was repaired or
 * refused on the way, and where the first of it stands.
 */
#include "api_capture.h"

#include "api_range.h"
#include "captures.h"
#include "import.h"
#include "util.h"

#include <errno.h>
#include <string.h>

static void result_deinit(struct import_result *result)
{
	capture_deinit(&result->capture);
}

static bool parse_order(const struct api_request *q, struct api_answer *a,
			struct import_order *order)
{
	static const char *const allowed[] = {"auto", "zone:NAME", "instant:NAME", NULL};
	const char *frames = route_value(&q->route, "frames");

	order->fd = q->upload_fd;
	order->frames = frames;
	order->uid = api_capture_owner(q);
	if (!api_capture_name(q, a, &order->name))
		return false;
	if (frames && strcmp(frames, "auto") != 0 && strncmp(frames, "zone:", 5) != 0 &&
	    strncmp(frames, "instant:", 8) != 0) {
		api_fail_parameter(a, "frames", frames, allowed);
		return false;
	}
	return true;
}

static void fail(struct api_answer *a, int error, const char *why)
{
	static const struct api_problem refused = {422, "import-refused",
						   "The file cannot be imported", NULL, NULL};

	if (*why)
		api_fail(a, &refused, "The file was refused: %s", why);
	else if (error == -EBADMSG || error == -EFBIG || error == -ENOTSUP)
		api_fail(a, &refused, "The file was refused: it is not of this format");
	else
		api_fail_capture(a, error);
}

static void json_counts(struct json *j, const char *key, const struct import_count *counts)
{
	size_t i;

	json_key(j, key);
	json_object_begin(j);
	for (i = 0; i < IMPORT_COUNTS_MAX && counts[i].name; i++)
		json_member_uint(j, counts[i].name, counts[i].count);
	json_object_end(j);
}

static void answer(struct json *j, uint64_t session, const struct import_report *report)
{
	json_object_begin(j);
	json_member_uint(j, "session", session);
	json_member_uint(j, "bytes", report->bytes);
	json_member_uint(j, "events", report->events);
	json_member_uint(j, "zones", report->zones);
	json_member_uint(j, "frames", report->frames);
	json_member_string(j, "frames_from", report->frames_from[0] ? report->frames_from : NULL);
	json_counts(j, "counts", report->counts);
	json_counts(j, "ignored", report->ignored);
	json_key(j, "first");
	if (report->any) {
		json_object_begin(j);
		json_member_uint(j, "event", report->first_event);
		json_member_uint(j, "byte", report->first_byte);
		json_member_string(j, "what", report->first_what);
		json_object_end(j);
	} else {
		json_null(j);
	}
	json_member_string(j, "note", report->note[0] ? report->note : NULL);
	json_object_end(j);
}

void api_import(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(result_deinit))) struct import_result result = {0};
	struct import_order order = {0};
	int format = api_parse_choice(q, a, "format", import_format_names, IMPORT_AUTO), rc;
	uint64_t session;

	if (format < 0 || !parse_order(q, a, &order))
		return;
	rc = import_run(api->context->captures, (enum import_format)format, &order, &result,
			&session);
	if (rc < 0) {
		fail(a, rc, result.why);
		return;
	}
	answer(&a->body, session, &result.report);
	a->status = 201;
}
