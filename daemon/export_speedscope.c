/* SPDX-License-Identifier: MIT */
/*
 * Speedscope's own file format: names once, then a profile a track of opening and closing events,
 * in order of time. All markers are listed, by their place among those that exist, since the list
 * comes before the events. Times are whole ns.
 *
 * Spans of a GPU queue may cross, the format's may not: one that is still running when another
 * begins beside it is closed there, and counted in the report.
 */
#include "export.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>

#define DEPTH_MAX 256u /* of spans of a queue inside one another */

struct speedscope {
	const struct range *range;
	struct export_out *out;
	uint32_t *places; /* in the list, by marker; the last is the unknown one's */
	bool any_profile, any_event;
	const struct track_row *track;
	struct {
		int64_t end;
		uint32_t marker;
	} spans[DEPTH_MAX];
	uint32_t span_count;
	int64_t last;
	uint64_t crossing;
};

static uint32_t place_of(const struct speedscope *s, uint32_t marker)
{
	size_t count = s->range->markers.count;

	return s->places[range_marker(s->range, marker) ? marker : count];
}

static void put_names(struct speedscope *s)
{
	uint32_t next = 0, i;

	export_text(s->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			    "\"exporter\":\"fprof " FPROF_VERSION "\",\n\"name\":");
	export_string(s->out, s->range->row.name ? s->range->row.name : "game");
	export_text(s->out, ",\n\"shared\":{\"frames\":[\n");
	for (i = 0; i < s->range->markers.count; i++) {
		const struct marker_row *m = range_marker(s->range, i);

		if (!m)
			continue;
		s->places[i] = next++;
		export_text(s->out, "{\"name\":");
		export_string(s->out, m->name);
		if (m->file) {
			export_text(s->out, ",\"file\":");
			export_string(s->out, m->file);
			export_text(s->out, ",\"line\":");
			export_int(s->out, m->line);
		}
		export_text(s->out, "},\n");
	}
	s->places[i] = next;
	export_text(s->out, "{\"name\":\"?\"}]},\n\"profiles\":[");
}

static void end_profile(struct speedscope *s)
{
	if (s->any_event)
		export_text(s->out, "\n]}");
	s->any_event = false;
}

static void begin_profile(struct speedscope *s)
{
	char number[32];

	snprintf(number, sizeof(number), "track %u", s->track->track);
	export_text(s->out, s->any_profile ? ",\n" : "\n");
	export_text(s->out, "{\"type\":\"evented\",\"name\":");
	export_string(s->out, s->track->name ? s->track->name : number);
	export_text(s->out, ",\"unit\":\"nanoseconds\",\"startValue\":");
	export_int(s->out, s->range->begin_ns);
	export_text(s->out, ",\"endValue\":");
	export_int(s->out, s->range->end_ns);
	export_text(s->out, ",\"events\":[\n");
	s->any_profile = true;
}

static void put_event(struct speedscope *s, bool open, uint32_t marker, int64_t ns)
{
	char *p;

	if (!s->any_event)
		begin_profile(s);
	p = export_room(s->out);
	if (s->any_event) {
		*p++ = ',';
		*p++ = '\n';
	}
	s->any_event = true;
	memcpy(p, open ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":", 20);
	p = export_put_int(p + 20, place_of(s, marker));
	memcpy(p, ",\"at\":", 6);
	p = export_put_int(p + 6, ns);
	*p++ = '}';
	export_advance(s->out, p);
}

/* Closes spans down to a depth, none later than limit. */
static void close_spans(struct speedscope *s, uint32_t depth, int64_t limit)
{
	while (s->span_count > depth) {
		int64_t end = s->spans[--s->span_count].end;

		s->crossing += end > limit;
		s->last = MAX(s->last, MIN(end, limit));
		put_event(s, false, s->spans[s->span_count].marker, s->last);
	}
}

static int speedscope_track(void *userdata, size_t index, const struct track_row *track)
{
	struct speedscope *s = userdata;

	(void)index;
	close_spans(s, 0, s->range->end_ns);
	end_profile(s);
	s->track = track;
	s->last = s->range->begin_ns;
	return s->out->error;
}

static int speedscope_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct speedscope *s = userdata;

	(void)depth;
	put_event(s, true, marker, range_ns(s->range, t));
	return s->out->error;
}

static int speedscope_end(void *userdata, const struct range_zone *zone)
{
	struct speedscope *s = userdata;

	put_event(s, false, zone->marker, range_ns(s->range, zone->end));
	return s->out->error;
}

/* Spans of the range's frames may have run outside of it: there they are cut off. */
static int speedscope_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct speedscope *s = userdata;
	int64_t begin = MAX(zone->span.begin_ns, s->range->begin_ns);
	int64_t end = MIN(zone->span.end_ns, s->range->end_ns);

	close_spans(s, MIN(zone->depth, s->span_count), begin);
	if (end <= begin || s->span_count == DEPTH_MAX)
		return 0;
	s->last = MAX(s->last, begin);
	put_event(s, true, zone->span.marker, s->last);
	s->spans[s->span_count].end = end;
	s->spans[s->span_count++].marker = zone->span.marker;
	return s->out->error;
}

static int write_whole(struct speedscope *s, const struct export_order *order)
{
	const struct range_visitor visitor = {
		.userdata = s,
		.no_texts = true,
		.track = speedscope_track,
		.begin = speedscope_begin,
		.end = speedscope_end,
		.gpu = speedscope_gpu,
	};
	int r;

	put_names(s);
	r = range_visit(order->history, order->range, &visitor);
	close_spans(s, 0, order->range->end_ns);
	end_profile(s);
	export_text(s->out, "\n],\n\"activeProfileIndex\":0}\n");
	return r < 0 ? r : s->out->error;
}

int export_speedscope(const struct export_order *order, struct export_out *out,
		      struct export_report *report)
{
	struct speedscope s = {.range = order->range, .out = out};
	int r;

	s.places = calloc(order->range->markers.count + 1, sizeof(*s.places));
	if (!s.places)
		return -ENOMEM;
	r = write_whole(&s, order);
	if (s.crossing > 0)
		snprintf(report->lost, sizeof(report->lost),
			 "%llu GPU zones were cut where another began beside them",
			 (unsigned long long)s.crossing);
	free(s.places);
	return r;
}
