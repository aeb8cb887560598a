/* SPDX-License-Identifier: MIT */
/*
 * One frame with all that happened in it. A zone repeats its marker's name, category, file and
 * line, so these are written once per marker and copied from there: 10,000 zones use some tens of
 * markers.
 */
#include "api.h"

#include "util.h"

#include <errno.h>
#include <string.h>

#define ZONE_BYTES 180 /* of JSON, about; what is more makes the buffer grow */

struct detail {
	const struct session_row *session;
	const struct history_frame_detail *d;
	struct json markers; /* the JSON of each, one after the other */
	size_t *marker_ends; /* ends in markers, by index in d->markers */
};

static void detail_deinit(struct detail *x)
{
	json_free(&x->markers);
	free(x->marker_ends);
}

const char *api_wait_name(uint8_t kind)
{
	switch (kind) {
	case FPROF_MARKER_WAIT_GPU:
		return "gpu";
	case FPROF_MARKER_WAIT_PRESENT:
		return "present";
	case FPROF_MARKER_WAIT_CAP:
		return "cap";
	default:
		return NULL;
	}
}

static void json_marker_members(struct json *j, const struct marker_row *m)
{
	json_member_string(j, "name", m->name);
	json_member_string(j, "category", m->category);
	json_member_string(j, "wait", api_wait_name(m->kind));
	json_member_string(j, "file", m->file);
	json_key(j, "line");
	if (m->line)
		json_uint(j, m->line);
	else
		json_null(j);
}

static int prepare_markers(struct detail *x)
{
	size_t i, n = x->d->markers.count;

	x->marker_ends = calloc(n + 1, sizeof(*x->marker_ends));
	if (!x->marker_ends)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		x->markers.comma = false;
		json_marker_members(&x->markers, &x->d->markers.at[i]);
		x->marker_ends[i] = x->markers.count;
	}
	return x->markers.failed ? -ENOMEM : 0;
}

/* The name of a marker that is not in the table says so. */
static const char *marker_name(const struct detail *x, uint32_t marker, char *buf, size_t size)
{
	const struct marker_row *m = history_marker_of(x->d, marker);

	if (m)
		return m->name;
	snprintf(buf, size, "marker #%u", marker);
	return buf;
}

static void json_marker(struct json *j, const struct detail *x, uint32_t marker)
{
	const struct marker_row *m = history_marker_of(x->d, marker);
	struct marker_row unknown = {0};
	char name[32];
	size_t i, begin;

	if (m && x->marker_ends) {
		i = (size_t)(m - x->d->markers.at);
		begin = i ? x->marker_ends[i - 1] : 0;
		if (j->comma)
			json_bytes(j, ",", 1);
		json_bytes(j, x->markers.at + begin, x->marker_ends[i] - begin);
		j->comma = true;
		return;
	}
	snprintf(name, sizeof(name), "marker #%u", marker);
	unknown.name = name;
	json_marker_members(j, &unknown);
}

void api_json_zone_flags(struct json *j, uint32_t flags)
{
	static const char *const names[] = {
		"clipped_begin", "clipped_end", "truncated", "open",
		"unbalanced",	 "unclosed",	"overlap",   "aligned_to_submit_only"};
	size_t i;

	json_key(j, "flags");
	json_array_begin(j);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & 1u << i)
			json_string(j, names[i]);
	json_array_end(j);
}

/* first: index of the track's first zone. */
static void json_zone(struct json *j, const struct detail *x, const struct history_zone *z,
		      size_t first)
{
	json_object_begin(j);
	json_marker(j, x, z->marker);
	json_member_int(j, "start_ns", z->begin_ns);
	json_member_int(j, "duration_ns", z->end_ns - z->begin_ns);
	json_member_uint(j, "depth", z->depth);
	json_key(j, "parent");
	if (z->parent < 0)
		json_null(j);
	else
		json_uint(j, (uint64_t)z->parent - first);
	api_json_zone_flags(j, z->flags);
	if (z->flags & ZONE_CLIPPED_BEGIN)
		json_member_int(j, "full_start_ns", z->full_begin_ns);
	if (z->text)
		json_member_string(j, "text", z->text);
	if (z->has_value && z->value_is_double)
		json_member_double(j, "value", z->value.d);
	else if (z->has_value)
		json_member_int(j, "value", z->value.i);
	json_object_end(j);
}

/* Of track i from *at on, which moves on. */
static void json_open(struct json *j, const struct detail *x, size_t i, size_t *at)
{
	char unknown[32];

	json_key(j, "open");
	json_array_begin(j);
	for (; *at < x->d->open.count && x->d->open.at[*at].track == i; ++*at)
		json_string(j, marker_name(x, x->d->open.at[*at].marker, unknown, sizeof(unknown)));
	json_array_end(j);
}

static void json_threads(struct json *j, const struct detail *x)
{
	const struct history_frame_detail *d = x->d;
	size_t i, zone = 0, open = 0, first;

	json_key(j, "threads");
	json_array_begin(j);
	for (i = 0; i < d->tracks.count; i++) {
		json_object_begin(j);
		api_json_track_members(j, x->session, &d->tracks.at[i]);
		json_key(j, "zones");
		json_array_begin(j);
		for (first = zone; zone < d->zones.count && d->zones.at[zone].track == i; zone++)
			json_zone(j, x, &d->zones.at[zone], first);
		json_array_end(j);
		if (d->frame.row.flags & FRAME_UNFINISHED)
			json_open(j, x, i, &open);
		json_object_end(j);
	}
	json_array_end(j);
}

/* A counter's object is begun: what it is called. */
static void json_counter_begin(struct json *j, const struct detail *x, uint32_t marker)
{
	const struct marker_row *m = history_marker_of(x->d, marker);
	char unknown[32];

	json_object_begin(j);
	json_member_string(j, "name", marker_name(x, marker, unknown, sizeof(unknown)));
	json_member_string(j, "unit", api_unit_name(m ? m->unit : 0));
}

static void json_counters(struct json *j, const struct detail *x)
{
	size_t i;

	json_key(j, "counters");
	json_array_begin(j);
	for (i = 0; i < x->d->counters.count; i++) {
		const struct frame_counter_row *c = &x->d->counters.at[i];

		json_counter_begin(j, x, c->marker);
		if (c->is_double)
			json_member_double(j, "value", c->value.d);
		else
			json_member_int(j, "value", c->value.i);
		json_member_bool(j, "incomplete", c->incomplete);
		json_object_end(j);
	}
	for (i = 0; i < x->d->counters_to_come.count; i++) {
		json_counter_begin(j, x, x->d->counters_to_come.at[i]);
		json_key(j, "value");
		json_null(j);
		json_member_bool(j, "incomplete",
				 x->d->frame.row.flags & FRAME_COUNTERS_INCOMPLETE);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_colour(struct json *j, uint32_t colour)
{
	char text[16];

	json_key(j, "colour");
	if (!colour) {
		json_null(j);
		return;
	}
	snprintf(text, sizeof(text), "#%06x", colour & 0xffffff);
	json_string(j, text);
}

static void json_messages(struct json *j, const struct detail *x)
{
	char unknown[32];
	size_t i;

	json_key(j, "messages");
	json_array_begin(j);
	for (i = 0; i < x->d->messages.count; i++) {
		const struct history_message *m = &x->d->messages.at[i];

		json_object_begin(j);
		json_member_string(j, "kind", m->text ? "message" : "instant");
		json_member_uint(j, "thread", x->d->tracks.at[m->track].track);
		json_member_int(j, "time_ns", m->ns);
		json_key(j, "name");
		json_string(j,
			    m->marker ? marker_name(x, m->marker, unknown, sizeof(unknown)) : NULL);
		json_colour(j, m->colour);
		json_member_string(j, "text", m->text);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_gpu_spans(struct json *j, const struct detail *x)
{
	char unknown[32];
	size_t i;

	json_key(j, "gpu_spans");
	json_array_begin(j);
	for (i = 0; i < x->d->gpu_spans.count; i++) {
		const struct gpu_span_row *s = &x->d->gpu_spans.at[i];

		json_object_begin(j);
		json_member_uint(j, "queue", s->track);
		json_member_string(j, "name", marker_name(x, s->marker, unknown, sizeof(unknown)));
		json_member_int(j, "start_ns", s->begin_ns);
		json_member_int(j, "duration_ns", s->end_ns - s->begin_ns);
		json_member_uint(j, "submission", s->submission);
		json_member_uint(j, "view", s->view);
		json_member_uint(j, "fence", s->fence);
		json_member_bool(j, "calibrated", s->calibrated);
		json_member_uint(j, "raw_begin", s->raw_begin);
		json_member_uint(j, "raw_end", s->raw_end);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_gaps(struct json *j, const struct detail *x)
{
	size_t i;

	json_key(j, "gaps");
	json_array_begin(j);
	for (i = 0; i < x->d->gaps.count; i++) {
		const struct gap_row *g = &x->d->gaps.at[i];

		json_object_begin(j);
		json_member_uint(j, "thread", g->track);
		api_json_ticks(j, "begin_ns", x->session, g->t0);
		api_json_ticks(j, "end_ns", x->session, g->t1);
		json_member_uint(j, "events", g->events);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_detail_members(struct json *j, const struct detail *x, const char *stream)
{
	json_reserve(j, x->d->zones.count * ZONE_BYTES + 16384);
	json_member_uint(j, "session", x->session->id);
	json_member_string(j, "stream", stream ? stream : "main");
	api_json_frame_members(j, &x->d->frame, x->d->gpus.at, x->d->gpus.count);
	json_member_bool(j, "truncated", x->d->truncated);
	json_threads(j, x);
	json_counters(j, x);
	json_messages(j, x);
	json_gpu_spans(j, x);
	json_gaps(j, x);
}

int api_find_frame(struct history *h, uint64_t session, const char *stream,
		   enum route_frame_kind kind, uint64_t *frame)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames newest = {0};
	int rc;

	if (kind == ROUTE_FRAME_NUMBER)
		return 0;
	if (kind == ROUTE_FRAME_TAIL) {
		*frame = HISTORY_TAIL;
		return 0;
	}
	if (kind == ROUTE_FRAME_SLOWEST)
		return history_slowest(h, session, stream, frame);
	rc = history_frames_last(h, session, stream, 1, &newest);
	if (rc < 0)
		return rc;
	if (!newest.frames.count)
		return -ENOENT;
	*frame = newest.frames.at[newest.frames.count - 1].row.frame;
	return 0;
}

/* Which frames the slowest is one of: those from the first whose events are here. */
static int json_slowest(struct json *j, struct history *h, uint64_t session, const char *stream,
			uint64_t frame)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames f = {0};
	int r = history_frames(h, session, stream, 1, frame, &f);
	uint64_t first = f.first_row;
	size_t i = 0;

	while (i < f.frames.count && f.frames.at[i].row.flags & FRAME_EVENTS_EVICTED)
		i++;
	if (i < f.frames.count)
		first = f.frames.at[i].row.frame;
	json_key(j, "slowest_of");
	json_object_begin(j);
	json_member_uint(j, "first", first);
	json_member_uint(j, "last", f.last_row);
	json_member_uint(j, "older", first - f.first_row);
	json_object_end(j);
	return r;
}

static bool parse_frame(const struct api_request *q, struct api_answer *a,
			enum route_frame_kind *kind, uint64_t *frame, uint64_t *max_zones)
{
	static const char *const allowed[] = {"a frame's number, from 1", "slowest", "latest",
					      "tail", NULL};
	static const char *const allowed_zones[] = {"1..200000", NULL};
	const char *zones = route_value(&q->route, "max_zones");

	if (route_frame(q->route.frame, kind, frame) < 0) {
		api_fail_parameter(a, "frame", q->route.frame, allowed);
		return false;
	}
	if (zones && route_number(zones, 1, API_ZONES_MAX, max_zones) < 0) {
		api_fail_parameter(a, "max_zones", zones, allowed_zones);
		return false;
	}
	return true;
}

void api_frame(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(history_frame_detail_deinit))) struct history_frame_detail d = {0};
	__attribute__((cleanup(detail_deinit))) struct detail x = {.session = &s.row, .d = &d};
	_cleanup_reader_ struct api_reader reader = {0};
	const char *stream = route_value(&q->route, "stream");
	uint64_t frame = 0, max_zones = API_ZONES_DEFAULT;
	enum route_frame_kind kind;
	int rc;

	if (!parse_frame(q, a, &kind, &frame, &max_zones) ||
	    !api_open_session(api, q, a, &reader, &s))
		return;
	rc = api_find_frame(reader.history, s.row.id, stream, kind, &frame);
	if (!rc)
		rc = history_frame_detail(reader.history, s.row.id, stream, frame, max_zones, &d);
	if (!rc)
		rc = prepare_markers(&x);
	if (rc < 0) {
		api_fail_history(a, rc, "frame");
		return;
	}
	json_object_begin(&a->body);
	if (kind == ROUTE_FRAME_SLOWEST)
		rc = json_slowest(&a->body, reader.history, s.row.id, stream, frame);
	if (rc < 0) {
		api_fail_history(a, rc, "frame");
		return;
	}
	json_detail_members(&a->body, &x, stream);
	json_object_end(&a->body);
	a->keeps = s.update.state != SESSION_LIVE;
}
