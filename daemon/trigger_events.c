// SPDX-License-Identifier: MIT
/*
 * The fast way through a ring knows nothing of triggers: what they watch is read from the chunks
 * that it made, so that a session without such triggers pays one comparison a chunk. A chunk lies
 * inside one frame or is late, but time passes between chunks too: a part keeps since when each
 * watched zone is open and not yet counted, and when a frame closes all parts are counted up to its
 * end (every ring has been read past it, and its chunks were finished before).
 *
 * Several triggers may watch one zone name; names are compared once a marker.
 */
#include "trigger_events.h"

#include "live.h"

#include <errno.h>
#include <string.h>

#define NO_ZONE	 UINT8_MAX
#define COMPACT	 64u	       /* closed records that are dropped together */
#define TEXT_MAX ((size_t)512) /* bytes of a message that are kept */

/* What is known of one part; kept in part->watch. */
struct part_state {
	uint64_t generation; /* of the list that it was made for */
	int64_t self_since;  /* top, if it is watched, is counted up to here */
	uint8_t top;	     /* the innermost open zone */
	struct {
		int64_t since; /* counted up to here while count > 0 */
		uint32_t count;
	} open[]; /* by zone */
};

struct open_zone {
	uint32_t marker;
	uint8_t zone;
	int64_t begin;
};

struct trigger_events {
	const struct trigger_list *list;
	uint64_t generation;
	uint32_t zone_count;
	const char *zones[TRIGGERS_MAX];
	uint8_t zone_of[TRIGGERS_MAX]; /* by trigger */
	bool appearances, messages;
	VEC(uint8_t) marker_zone; /* by marker id */
	VEC(uint8_t) marker_seen;
	/* of open frames, oldest first; at[0, done) are closed */
	VEC(struct trigger_frame) frames;
	size_t done;
	uint32_t depth;
	struct open_zone stack[CHUNK_DEPTH_MAX + 1];
	struct chunk_reader reader;
};

static uint8_t zone_index(struct trigger_events *e, const char *name)
{
	uint32_t i = 0;

	while (i < e->zone_count && strcmp(e->zones[i], name) != 0)
		i++;
	if (i == e->zone_count)
		e->zones[e->zone_count++] = name;
	return (uint8_t)i;
}

/* What is known of markers that came since. */
static int learn_markers(struct trigger_events *e, struct live *s, bool seen)
{
	size_t known = e->marker_zone.count, count = s->markers.markers.count + 1, i;
	uint32_t z;

	if (known == count)
		return 0;
	if (VEC_RESERVE(&e->marker_zone, count - known) < 0 ||
	    VEC_RESERVE(&e->marker_seen, count - known) < 0)
		return -ENOMEM;
	for (i = known; i < count; i++) {
		const struct marker *m = marker_table_at(&s->markers, (uint32_t)i);

		e->marker_seen.at[i] = seen;
		e->marker_zone.at[i] = NO_ZONE;
		for (z = 0; m && marker_is_zone(m) && z < e->zone_count; z++)
			if (strcmp(m->strings, e->zones[z]) == 0)
				e->marker_zone.at[i] = (uint8_t)z;
	}
	e->marker_zone.count = e->marker_seen.count = count;
	return 0;
}

int trigger_events_new(struct live *s, const struct trigger_list *list,
		       struct trigger_events **ret_events)
{
	struct trigger_events *e;
	bool any = false;
	size_t i;

	*ret_events = NULL;
	for (i = 0; i < list->count; i++)
		any = any || list->at[i].on == TRIGGER_ZONE || list->at[i].on == TRIGGER_MESSAGE ||
		      list->at[i].on == TRIGGER_APPEARANCE;
	if (!any)
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->list = list;
	e->generation = ++s->watches;
	for (i = 0; i < list->count; i++) {
		const struct trigger *t = &list->at[i];

		e->zone_of[i] = t->on == TRIGGER_ZONE ? zone_index(e, t->name) : NO_ZONE;
		e->appearances = e->appearances || t->on == TRIGGER_APPEARANCE;
		e->messages = e->messages || t->on == TRIGGER_MESSAGE;
	}
	if (learn_markers(e, s, true) < 0) {
		trigger_events_free(e);
		return -ENOMEM;
	}
	*ret_events = e;
	return 0;
}

/* Records before first are no more needed. */
static void drop_records(struct trigger_events *e, size_t first)
{
	size_t i;

	for (i = e->done; i < first; i++) {
		free(e->frames.at[i].sums);
		free(e->frames.at[i].text);
	}
	e->done = first;
	if (first < COMPACT)
		return;
	memmove(e->frames.at, &e->frames.at[first],
		(e->frames.count - first) * sizeof(*e->frames.at));
	e->frames.count -= first;
	e->done = 0;
}

void trigger_events_free(struct trigger_events *events)
{
	if (!events)
		return;
	drop_records(events, events->frames.count);
	VEC_FREE(&events->frames);
	VEC_FREE(&events->marker_zone);
	VEC_FREE(&events->marker_seen);
	free(events);
}

uint32_t trigger_events_zone(const struct trigger_events *events, size_t i)
{
	return events->zone_of[i];
}

/* ---- records of frames ---- */

/* Index of the first record that is not before number. */
static size_t find_record(const struct trigger_events *e, uint64_t number)
{
	size_t low = e->done, high = e->frames.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e->frames.at[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The record of a frame, made if need be; NULL: no memory. */
static struct trigger_frame *record_of(struct trigger_events *e, uint64_t number)
{
	size_t i = find_record(e, number);
	struct trigger_frame new = {.number = number};

	if (i < e->frames.count && e->frames.at[i].number == number)
		return &e->frames.at[i];
	if (VEC_RESERVE(&e->frames, 1) < 0)
		return NULL;
	new.sums = calloc(e->zone_count + 1, sizeof(*new.sums));
	if (!new.sums)
		return NULL;
	memmove(&e->frames.at[i + 1], &e->frames.at[i],
		(e->frames.count - i) * sizeof(*e->frames.at));
	e->frames.count++;
	e->frames.at[i] = new;
	return &e->frames.at[i];
}

/* Shares [from, to) out over the frames that are open. */
static int add_time(struct trigger_events *e, struct live *s, uint8_t zone, bool self, int64_t from,
		    int64_t to)
{
	const struct stream *st = s->frames.streams.at[0];
	struct trigger_frame *record;
	const struct frame *f;
	int64_t end;

	for (from = MAX(from, stream_closed(st)); from < to; from = end) {
		f = stream_find(st, from);
		record = f ? record_of(e, f->number) : NULL;
		if (!record)
			return -ENOMEM;
		end = MIN(to, f->t1);
		if (self)
			record->sums[zone].self += end - from;
		else
			record->sums[zone].total += end - from;
	}
	return 0;
}

/* The record of the frame that t falls into; of what comes late the oldest open one. */
static struct trigger_frame *record_at(struct trigger_events *e, struct live *s, int64_t t)
{
	const struct stream *st = s->frames.streams.at[0];
	const struct frame *f = stream_find(st, MAX(t, stream_closed(st)));

	return record_of(e, f->number);
}

/* ---- zones ---- */

static int set_top(struct trigger_events *e, struct live *s, struct part_state *p, int64_t t)
{
	uint8_t top = e->depth > 0 ? e->stack[e->depth - 1].zone : NO_ZONE;
	int r = 0;

	if (p->top != NO_ZONE)
		r = add_time(e, s, p->top, true, p->self_since, t);
	p->top = top;
	p->self_since = t;
	return r;
}

static int push(struct trigger_events *e, struct live *s, struct part_state *p, uint32_t marker,
		int64_t t)
{
	uint8_t zone = marker < e->marker_zone.count ? e->marker_zone.at[marker] : NO_ZONE;

	if (e->depth > CHUNK_DEPTH_MAX)
		return 0;
	e->stack[e->depth++] = (struct open_zone){marker, zone, t};
	if (zone != NO_ZONE && p->open[zone].count++ == 0)
		p->open[zone].since = t;
	return zone != NO_ZONE || p->top != NO_ZONE ? set_top(e, s, p, t) : 0;
}

static int add_call(struct trigger_events *e, struct live *s, uint8_t zone, int64_t begin,
		    int64_t t)
{
	struct trigger_frame *record = record_at(e, s, t);

	if (!record)
		return -ENOMEM;
	record->sums[zone].call = MAX(record->sums[zone].call, t - begin);
	return 0;
}

/* known: t is when it ended. */
static int pop(struct trigger_events *e, struct live *s, struct part_state *p, int64_t t,
	       bool known)
{
	const struct open_zone *top;
	int r = 0;

	if (e->depth == 0)
		return 0;
	top = &e->stack[--e->depth];
	if (top->zone != NO_ZONE) {
		if (known)
			r = add_call(e, s, top->zone, top->begin, t);
		if (r == 0 && --p->open[top->zone].count == 0)
			r = add_time(e, s, top->zone, false, p->open[top->zone].since, t);
	}
	if (r < 0 ||
	    (p->top == NO_ZONE && (e->depth == 0 || e->stack[e->depth - 1].zone == NO_ZONE)))
		return r;
	return set_top(e, s, p, t);
}

static int pop_to(struct trigger_events *e, struct live *s, struct part_state *p, uint32_t marker,
		  int64_t t)
{
	bool found = false;
	int r = 0;

	while (e->depth > 0 && !found && r == 0) {
		found = e->stack[e->depth - 1].marker == marker;
		r = pop(e, s, p, t, found);
	}
	return r;
}

/* ---- what comes ---- */

static int hit(struct trigger_events *e, struct live *s, size_t trigger, int64_t t,
	       const char *text, size_t bytes)
{
	struct trigger_frame *record = record_at(e, s, t);

	if (!record)
		return -ENOMEM;
	record->hits |= UINT64_C(1) << trigger;
	if (record->text)
		return 0;
	record->text = strndup(text, MIN(bytes, TEXT_MAX));
	record->text_of = (uint32_t)trigger;
	return record->text ? 0 : -ENOMEM;
}

/* A marker came for the first time. */
static int appear(struct trigger_events *e, struct live *s, uint32_t marker, int64_t t)
{
	const struct marker *m = marker_table_at(&s->markers, marker);
	size_t i;
	int r = 0;

	if (!m || marker >= e->marker_seen.count || e->marker_seen.at[marker])
		return 0;
	e->marker_seen.at[marker] = 1;
	for (i = 0; e->appearances && i < e->list->count && r == 0; i++) {
		const struct trigger *trigger = &e->list->at[i];

		if (trigger->on == TRIGGER_APPEARANCE &&
		    (!trigger->name || strcmp(trigger->name, m->strings) == 0))
			r = hit(e, s, i, t, m->strings, strlen(m->strings));
	}
	return r;
}

static int message(struct trigger_events *e, struct live *s, const struct chunk_event *event)
{
	const struct marker *m = marker_table_at(&s->markers, event->marker);
	size_t i;
	int r = 0;

	for (i = 0; i < e->list->count && r == 0; i++) {
		const struct trigger *t = &e->list->at[i];

		if (t->on != TRIGGER_MESSAGE ||
		    (t->name && (!m || strcmp(t->name, m->strings) != 0)))
			continue;
		if (!t->contains ||
		    memmem(event->bytes, event->byte_count, t->contains, strlen(t->contains)))
			r = hit(e, s, i, event->t, (const char *)event->bytes, event->byte_count);
	}
	return r;
}

static int take_event(struct trigger_events *e, struct live *s, struct part_state *p,
		      const struct chunk_event *event)
{
	uint64_t i;
	int r = 0;

	if (event->code == CHUNK_BEGIN || event->code == CHUNK_NEXT ||
	    event->code == CHUNK_INSTANT || event->code == CHUNK_COUNTER ||
	    event->code == CHUNK_MESSAGE)
		r = appear(e, s, event->marker, event->t);
	if (r < 0)
		return r;
	switch (event->code) {
	case CHUNK_BEGIN:
		return push(e, s, p, event->marker, event->t);
	case CHUNK_END:
		return pop(e, s, p, event->t, true);
	case CHUNK_NEXT:
		r = pop(e, s, p, event->t, true);
		return r < 0 ? r : push(e, s, p, event->marker, event->t);
	case CHUNK_UNBALANCED_END:
		return pop_to(e, s, p, event->marker, event->t);
	case CHUNK_TRUNCATE:
		for (i = 0; i < event->value.u && e->depth > 0 && r == 0; i++)
			r = pop(e, s, p, event->t, false);
		return r;
	case CHUNK_MESSAGE:
		return e->messages ? message(e, s, event) : 0;
	default:
		return 0;
	}
}

/* ---- chunks ---- */

static struct part_state *state_of(struct trigger_events *e, struct part *part)
{
	struct part_state *p = part->watch;
	size_t bytes = sizeof(*p) + e->zone_count * sizeof(p->open[0]);

	if (p && p->generation == e->generation)
		return p;
	p = realloc(p, bytes);
	if (!p)
		return NULL;
	memset(p, 0, bytes);
	p->generation = e->generation;
	p->top = NO_ZONE;
	part->watch = p;
	return p;
}

/* Takes over the zones that the chunk carries in: those that are known to be open go on. */
static int carry_in(struct trigger_events *e, struct live *s, struct part_state *p, int64_t t0)
{
	uint32_t counts[TRIGGERS_MAX] = {0}, i;
	int r = 0;

	e->depth = 0;
	for (i = 0; i < e->reader.depth_in; i++) {
		const struct chunk_open *open = &e->reader.carried[i];
		uint8_t zone = open->marker < e->marker_zone.count ? e->marker_zone.at[open->marker]
								   : NO_ZONE;

		e->stack[e->depth++] = (struct open_zone){open->marker, zone, open->begin};
		if (zone != NO_ZONE && counts[zone]++ == 0 && p->open[zone].count == 0)
			p->open[zone].since = open->begin;
	}
	for (i = 0; i < e->zone_count && r == 0; i++) {
		if (p->open[i].count > 0 && counts[i] == 0)
			r = add_time(e, s, (uint8_t)i, false, p->open[i].since, t0);
		p->open[i].count = counts[i];
	}
	if (r == 0 && p->top != (e->depth > 0 ? e->stack[e->depth - 1].zone : NO_ZONE))
		r = set_top(e, s, p, t0);
	return r;
}

int trigger_events_chunk(struct trigger_events *events, struct live *s, struct part *part,
			 const struct chunk_row *row)
{
	struct part_state *p = state_of(events, part);
	struct chunk_event event;
	int r;

	if (!p || learn_markers(events, s, false) < 0)
		return -ENOMEM;
	r = chunk_reader_init(&events->reader, row->data, row->bytes, row->t0);
	if (r == 0)
		r = carry_in(events, s, p, row->t0);
	while (r == 0 && (r = chunk_reader_next(&events->reader, &event)) == 1)
		r = take_event(events, s, p, &event);
	return MIN(r, 0);
}

/* Counts what is open in a part up to t1. */
static int count_part(struct trigger_events *e, struct live *s, struct part_state *p, int64_t t1)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < e->zone_count && r == 0; i++) {
		if (p->open[i].count == 0 || p->open[i].since >= t1)
			continue;
		r = add_time(e, s, (uint8_t)i, false, p->open[i].since, t1);
		p->open[i].since = t1;
	}
	if (r == 0 && p->top != NO_ZONE && p->self_since < t1) {
		r = add_time(e, s, p->top, true, p->self_since, t1);
		p->self_since = t1;
	}
	return r;
}

int trigger_events_close(struct trigger_events *events, struct live *s, uint64_t frame, int64_t t1,
			 const struct trigger_frame **ret_frame)
{
	struct part *part;
	int r = 0;

	for (part = s->tracks.parts; part && r == 0 && events->zone_count > 0; part = part->next) {
		struct part_state *p = part->watch;

		if (p && p->generation == events->generation)
			r = count_part(events, s, p, t1);
	}
	drop_records(events, find_record(events, frame));
	*ret_frame = events->done < events->frames.count &&
				     events->frames.at[events->done].number == frame
			     ? &events->frames.at[events->done]
			     : NULL;
	return r;
}
