/* SPDX-License-Identifier: MIT */
/* Frames as rows: what a strip or a table of many frames needs, without their events. */
#include "api.h"

#include "api_range.h"
#include "util.h"

static void json_flags(struct json *j, uint32_t flags)
{
	static const char *const names[] = {"startup",	      "lost_events", "gpu_incomplete",
					    "gpu_pending",    "clock_step",  "events_evicted",
					    "late_events",    "marks_lost",  "counters_incomplete",
					    "clock_doubtful", "paused",	     "unfinished",
					    "loading"};
	size_t i;

	json_key(j, "flags");
	json_array_begin(j);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & 1u << i)
			json_string(j, names[i]);
	json_array_end(j);
}

static void json_gpu(struct json *j, const struct frame_gpu_row *gpus, size_t count)
{
	size_t i;

	json_key(j, "gpu");
	json_array_begin(j);
	for (i = 0; i < count; i++) {
		json_object_begin(j);
		json_member_uint(j, "queue", gpus[i].track);
		api_json_ns(j, "span_ns", gpus[i].span_ns);
		api_json_ns(j, "busy_ns", gpus[i].busy_ns);
		json_member_uint(j, "spans", gpus[i].spans);
		json_member_uint(j, "missing", gpus[i].missing);
		json_member_bool(j, "final", gpus[i].final);
		json_object_end(j);
	}
	json_array_end(j);
}

void api_json_frame_members(struct json *j, const struct history_frame *f,
			    const struct frame_gpu_row *gpus, size_t gpu_count)
{
	const struct frame_row *r = &f->row;

	json_key(j, "frame");
	if (r->frame == HISTORY_TAIL)
		json_null(j);
	else
		json_uint(j, r->frame);
	json_key(j, "engine_id");
	if (r->engine_id < 0)
		json_null(j);
	else
		json_int(j, r->engine_id);
	json_member_int(j, "begin_ns", r->begin_ns);
	json_member_int(j, "wall_ns", r->end_ns - r->begin_ns);
	api_json_ns(j, "cpu_ns", r->cpu_ns);
	api_json_ns(j, "gpu_ns", f->gpu_ns);
	json_key(j, "wait_ns");
	json_object_begin(j);
	api_json_ns(j, "gpu", r->wait_gpu_ns);
	api_json_ns(j, "present", r->wait_present_ns);
	api_json_ns(j, "cap", r->wait_cap_ns);
	json_object_end(j);
	json_member_uint(j, "events", r->events);
	json_member_uint(j, "lost_events", r->lost_events);
	json_member_uint(j, "late_events", f->late_events);
	json_flags(j, r->flags);
	json_gpu(j, gpus, gpu_count);
}

/* Index behind the last of frames->gpus that belong to frame, the first being *ret_first. */
static size_t gpus_of(const struct history_frames *frames, uint64_t frame, size_t *ret_first)
{
	size_t low = 0, high = frames->gpus.count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->gpus.at[middle].frame < frame)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < frames->gpus.count && frames->gpus.at[end].frame == frame; end++)
		;
	*ret_first = low;
	return end;
}

void api_json_frame(struct json *j, uint64_t session, const struct history_frames *frames, size_t i)
{
	const struct history_frame *f = &frames->frames.at[i];
	struct frame_gpu_row gpus[64];
	size_t first, end = gpus_of(frames, f->row.frame, &first), n = 0;

	for (; first < end && n < ARRAY_SIZE(gpus); first++)
		gpus[n++] = frames->gpus.at[first].gpu;
	json_object_begin(j);
	if (session)
		json_member_uint(j, "session", session);
	api_json_frame_members(j, f, gpus, n);
	json_object_end(j);
}

void api_frames(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(history_frames_deinit))) struct history_frames frames = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	const char *stream = route_value(&q->route, "stream");
	struct json *j = &a->body;
	struct range_query range;
	size_t i;
	int rc;

	if (!api_parse_frames(q, a, API_FRAMES_MAX, &range) ||
	    !api_open_session(api, q, a, &reader, &s))
		return;
	rc = range.last ? history_frames_last(reader.history, s.row.id, stream, range.last, &frames)
			: history_frames(reader.history, s.row.id, stream, range.from, range.to,
					 &frames);
	if (rc < 0) {
		api_fail_history(a, rc, "stream");
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_member_string(j, "stream", stream ? stream : "main");
	json_key(j, "frames");
	json_array_begin(j);
	for (i = 0; i < frames.frames.count; i++)
		api_json_frame(j, 0, &frames, i);
	json_array_end(j);
	api_json_range(j, "rows", frames.first_row, frames.last_row);
	json_object_end(j);
	a->keeps = s.update.state != SESSION_LIVE;
}
