/* SPDX-License-Identifier: MIT */
/* Names, owners and failures of captures are said with the same words everywhere. */
#include "api_capture.h"

#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const api_capture_names[] = {"a text of 1 to 256 bytes", NULL};

void api_fail_capture(struct api_answer *a, int error)
{
	static const struct api_problem full = {
		507, "captures-full", "Captures take all the space that they may", NULL, NULL};
	static const struct api_problem space = {507, "no-space", "There is no space left", NULL,
						 NULL};
	static const struct api_problem missing = {404, "not-found", "There is no such thing", NULL,
						   NULL};
	static const struct api_problem broken = {503, "state-unavailable",
						  "The state directory cannot be used", NULL, NULL};

	switch (error) {
	case -EDQUOT:
		api_fail(a, &full,
			 "All captures together may take captures_mib of the configuration: "
			 "delete some, or allow more");
		break;
	case -ENOSPC:
		api_fail(a, &space, "The state directory has no space left: nothing was kept");
		break;
	case -ENOENT:
		api_fail(a, &missing, "There is no such session, capture or range of frames");
		break;
	default:
		api_fail(a, &broken, "Nothing was changed: %s", strerror(-error));
	}
}

bool api_capture_name(const struct api_request *q, struct api_answer *a, const char **ret_name)
{
	const char *name = route_value(&q->route, "name");

	*ret_name = name;
	if (!name || (name[0] && strlen(name) <= API_NAME_BYTES_MAX))
		return true;
	api_fail_parameter(a, "name", name, api_capture_names);
	return false;
}

uint32_t api_capture_owner(const struct api_request *q)
{
	return api_sees_all(q) ? (uint32_t)geteuid() : q->uid;
}

void api_name_file(struct api_answer *a, const char *name, const char *ending)
{
	const size_t ending_bytes = MIN(strlen(ending), sizeof(a->filename) - 1);
	const size_t room = sizeof(a->filename) - 1 - ending_bytes;
	size_t at = 0, n;

	while (name[at]) {
		n = json_utf8_bytes((const unsigned char *)name + at, strlen(name + at));
		if (n == 0 || at + n > room)
			break;
		memcpy(a->filename + at, name + at, n);
		if (name[at] == '/' || (unsigned char)name[at] < 0x20)
			a->filename[at] = '_';
		at += n;
	}
	memcpy(a->filename + at, ending, ending_bytes);
	a->filename[at + ending_bytes] = '\0';
}

void api_say_lost(struct api_answer *a, const char *format, ...)
{
	size_t n = strlen(a->lost);
	va_list args;

	n += (size_t)snprintf(a->lost + n, sizeof(a->lost) - n, "%s", n > 0 ? "; " : "");
	n = MIN(n, sizeof(a->lost) - 1);
	va_start(args, format);
	vsnprintf(a->lost + n, sizeof(a->lost) - n, format, args);
	va_end(args);
}

void api_say_evicted(struct api_answer *a, uint64_t from, uint64_t to, uint64_t first,
		     uint64_t last, uint64_t evicted)
{
	if (from == 0 && to == 0)
		return;
	if ((from && from < first) || (to && to > last))
		api_say_lost(a, "only frames %" PRIu64 " to %" PRIu64 " are there", first, last);
	if (evicted > 0)
		api_say_lost(a,
			     "the events of %" PRIu64 " of %" PRIu64 " frames had left the history",
			     evicted, last - first + 1);
}

void api_say_saved(const struct api *api, const struct api_request *q, uint64_t capture,
		   uint64_t from, uint64_t to, struct api_answer *a)
{
	__attribute__((cleanup(api_answer_deinit))) struct api_answer unused = {0};
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	char id[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)capture);
	if (api_open_session_text(api, q, id, "session", &unused, &reader, &s) && s.last_frame > 0)
		api_say_evicted(a, from, to, s.first_frame, s.last_frame,
				s.last_frame - s.first_frame + 1 - s.frames_retained);
}
