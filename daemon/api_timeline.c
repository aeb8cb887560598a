/* SPDX-License-Identifier: MIT */
/*
 * A range as it lies in time, in JSON or as typed arrays. Both have the same description; the
 * arrays have no zones in it. Markers are listed once, in the order in which they are met; index 0
 * is for those that nobody knows.
 */
#include "api.h"
#include "api_range.h"
#include "timeline.h"
#include "timeline_binary.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define ITEM_BYTES 80 /* of JSON, about */

struct drawn {
	const struct api_range *r;
	const struct timeline *t;
	int64_t asked_ns;
	uint32_t *indexes; /* by marker: place in order, from 1; 0: not met */
	size_t marker_count;
	VEC(uint32_t) order;
	history_streams_vec streams; /* what marks are of */
	bool binary;
};

static void drawn_deinit(struct drawn *d)
{
	size_t i;

	for (i = 0; i < d->streams.count; i++)
		free(d->streams.at[i].name);
	VEC_FREE(&d->streams);
	free(d->indexes);
	VEC_FREE(&d->order);
}

static int meet(struct drawn *d, uint32_t marker)
{
	if (marker >= d->marker_count || d->indexes[marker])
		return 0;
	if (VEC_PUSH(&d->order, marker) < 0)
		return -ENOMEM;
	d->indexes[marker] = (uint32_t)d->order.count;
	return 0;
}

static int meet_markers(struct drawn *d)
{
	size_t i;
	int r = 0;

	d->marker_count = d->r->range.markers.count;
	d->indexes = calloc(d->marker_count + 1, sizeof(*d->indexes));
	if (!d->indexes)
		return -ENOMEM;
	for (i = 0; i < d->t->items.count && r == 0; i++)
		r = meet(d, d->t->items.at[i].marker);
	for (i = 0; i < d->t->events.count && r == 0; i++)
		if (d->t->events.at[i].kind != TIMELINE_MARK)
			r = meet(d, d->t->events.at[i].marker);
	return r;
}

static uint32_t index_of(const struct drawn *d, uint32_t marker)
{
	return marker < d->marker_count ? d->indexes[marker] : 0;
}

/* --- JSON -------------------------------------------------------------------------------- */

static void json_colour(struct json *j, uint32_t colour)
{
	char text[16];

	snprintf(text, sizeof(text), "#%06x", colour & 0xffffff);
	json_member_string(j, "colour", colour ? text : NULL);
}

static void json_markers(struct json *j, const struct drawn *d)
{
	size_t i;

	json_key(j, "markers");
	json_array_begin(j);
	json_object_begin(j);
	json_member_string(j, "name", "unknown marker");
	json_member_string(j, "category", NULL);
	json_member_string(j, "wait", NULL);
	json_member_string(j, "file", NULL);
	json_member_uint(j, "line", 0);
	json_colour(j, 0);
	json_object_end(j);
	for (i = 0; i < d->order.count; i++) {
		const struct marker_row *row = range_marker(&d->r->range, d->order.at[i]);
		char unknown[32];

		json_object_begin(j);
		json_member_string(
			j, "name",
			range_name(&d->r->range, d->order.at[i], unknown, sizeof(unknown)));
		json_member_string(j, "category", row ? row->category : NULL);
		json_member_string(j, "wait", row ? api_wait_name(row->kind) : NULL);
		json_member_string(j, "file", row ? row->file : NULL);
		json_member_uint(j, "line", row ? row->line : 0);
		json_colour(j, row ? row->colour : 0);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_item(struct json *j, const struct drawn *d, const struct timeline_item *item)
{
	char unknown[32];

	json_object_begin(j);
	json_member_string(j, "name",
			   range_name(&d->r->range, item->marker, unknown, sizeof(unknown)));
	json_member_uint(j, "marker", index_of(d, item->marker));
	json_member_int(j, "start_ns", item->begin_ns);
	json_member_int(j, "duration_ns", item->end_ns - item->begin_ns);
	json_member_uint(j, "depth", item->depth);
	api_json_zone_flags(j, item->flags);
	if (item->count > 1) {
		json_member_uint(j, "merged", item->count);
		json_member_int(j, "busy_ns", item->busy_ns);
	}
	json_object_end(j);
}

/* What a mark says is its stream's name. */
static const char *event_text(const struct drawn *d, const struct timeline_event *e)
{
	size_t i;

	if (e->kind != TIMELINE_MARK)
		return e->text;
	for (i = 0; i < d->streams.count; i++)
		if (d->streams.at[i].stream == e->marker)
			return d->streams.at[i].name;
	return NULL;
}

static void json_events(struct json *j, const struct drawn *d, const struct timeline_track *track)
{
	static const char *const kinds[] = {"", "instant", "message", "mark"};
	size_t i;

	json_key(j, "events");
	json_array_begin(j);
	for (i = track->first_event; i < track->first_event + track->events; i++) {
		const struct timeline_event *e = &d->t->events.at[i];

		json_object_begin(j);
		json_member_string(j, "kind", kinds[e->kind]);
		json_member_int(j, "time_ns", e->ns);
		json_member_uint(j, "marker",
				 e->kind == TIMELINE_MARK ? 0 : index_of(d, e->marker));
		json_colour(j, e->colour);
		json_member_string(j, "text", event_text(d, e));
		json_member_uint(j, "count", e->count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_gaps(struct json *j, const struct drawn *d, uint32_t track)
{
	size_t i;

	json_key(j, "gaps");
	json_array_begin(j);
	for (i = 0; i < d->t->gaps.count; i++) {
		const struct gap_row *gap = &d->t->gaps.at[i];

		if (gap->track != track)
			continue;
		json_object_begin(j);
		json_member_int(j, "begin_ns", range_ns(&d->r->range, gap->t0));
		json_member_int(j, "end_ns", range_ns(&d->r->range, gap->t1));
		json_member_uint(j, "events", gap->events);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_thread(struct json *j, const struct drawn *d, const struct timeline_track *track)
{
	const struct track_row *row = &d->r->range.tracks.at[track->track];
	size_t i;

	json_object_begin(j);
	api_json_track_members(j, &d->r->range.row, row);
	json_member_uint(j, "first", track->first);
	json_member_uint(j, "items", track->count);
	json_events(j, d, track);
	json_gaps(j, d, row->track);
	if (!d->binary) {
		json_key(j, "zones");
		json_array_begin(j);
		for (i = track->first; i < track->first + track->count; i++)
			json_item(j, d, &d->t->items.at[i]);
		json_array_end(j);
	}
	json_object_end(j);
}

static void json_frames(struct json *j, const struct range *range)
{
	size_t i;

	json_key(j, "frames");
	json_array_begin(j);
	for (i = 0; i < range->frames.frames.count; i++)
		api_json_frame(j, 0, &range->frames, i);
	json_array_end(j);
}

static void json_timeline(struct json *j, const struct drawn *d, const struct counted *counted)
{
	size_t i;

	json_object_begin(j);
	api_json_range_members(j, &d->r->range, d->r->query.stream, counted);
	json_member_int(j, "asked_resolution_ns", d->asked_ns);
	json_member_int(j, "resolution_ns", d->t->resolution_ns);
	json_member_uint(j, "items", d->t->items.count);
	json_frames(j, &d->r->range);
	json_markers(j, d);
	json_key(j, "threads");
	json_array_begin(j);
	for (i = 0; i < d->t->tracks.count; i++)
		json_thread(j, d, &d->t->tracks.at[i]);
	json_array_end(j);
	json_object_end(j);
}

/* --- the request ------------------------------------------------------------------------- */

static int answer(struct api_answer *a, struct drawn *d)
{
	__attribute__((cleanup(counted_deinit))) struct counted counted = {0};
	__attribute__((cleanup(json_free))) struct json description = {0};
	int rc = meet_markers(d);

	/* Nothing is left out of a timeline but what is gone. */
	if (rc == 0)
		rc = counted_init(&counted, &d->r->range, COUNTED_ALL | COUNTED_EVENTS);
	if (rc < 0)
		return rc;
	if (!d->binary) {
		json_reserve(&a->body, d->t->items.count * ITEM_BYTES + 16384);
		json_timeline(&a->body, d, &counted);
		return 0;
	}
	json_timeline(&description, d, &counted);
	timeline_binary(d->t, d->indexes, d->marker_count, &description, &a->body);
	a->type = "application/octet-stream";
	return 0;
}

void api_timeline(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const formats[] = {"json", "binary", NULL};
	_cleanup_range_ struct api_range r = {0};
	__attribute__((cleanup(timeline_deinit))) struct timeline t = {0};
	__attribute__((cleanup(drawn_deinit))) struct drawn d = {.r = &r, .t = &t};
	int format = api_parse_choice(q, a, "format", formats, 0), rc;
	uint64_t resolution, most;

	if (format < 0 || !api_parse_number(q, a, "resolution", 0, INT64_MAX / 8, 0, &resolution) ||
	    !api_parse_number(q, a, "max_zones", 1000, API_ZONES_MAX, API_ZONES_DEFAULT, &most) ||
	    !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	d.binary = format == 1;
	d.asked_ns = (int64_t)resolution;
	rc = timeline_read(r.reader.history, &r.range, r.skip, d.asked_ns, (size_t)most, &t);
	if (rc == 0)
		rc = history_streams(r.reader.history, r.range.session, &d.streams);
	if (rc == 0)
		rc = answer(a, &d);
	if (rc < 0)
		api_fail_range(a, rc);
	else
		a->keeps = r.session.update.state != SESSION_LIVE;
}
