/* SPDX-License-Identifier: MIT */
/*
 * One event of a Chrome trace becomes a record, or is counted: refused for its time, its duration
 * or its phase, or understood and without a place in a session.
 */
#include "import_chrome_read.h"

#include "shm/layout.h"

#include <errno.h>
#include <string.h>

static void refuse(struct chrome_reader *r, const char *count, const char *what)
{
	const char *name = r->e.name ? import_strings_at(&r->c->strings, r->e.name) : NULL;

	import_report_add(r->c->report, count, r->e.number, r->e.at, "%s%s%.80s%s", what,
			  name ? " (" : "", name ? name : "", name ? ")" : "");
}

static void see_time(struct chrome *c, int64_t t)
{
	if (!c->any_time || t < c->first)
		c->first = t;
	if (!c->any_time || t > c->last)
		c->last = t;
	c->any_time = true;
}

/* The number of the event's thread in *ret; 0: it has no room, which is counted. */
static int find_thread(struct chrome_reader *r, uint32_t *ret)
{
	struct chrome_event *e = &r->e;
	int64_t thread;

	if (r->last_thread && e->pid == r->last_pid && e->tid == r->last_tid) {
		*ret = r->last_thread;
		return 0;
	}
	thread = chrome_thread_of(r->c, e->pid, e->tid);
	if (thread < 0)
		return (int)thread;
	if (thread == 0)
		refuse(r, "too_many_threads", "there is no room for more threads");
	*ret = r->last_thread = (uint32_t)thread;
	r->last_pid = e->pid;
	r->last_tid = e->tid;
	return 0;
}

static int add_boundary(struct chrome_reader *r, const struct import_record *record, int64_t end)
{
	struct chrome *c = r->c;
	uint32_t candidate = c->markers.at[record->marker - 1].candidate;
	struct chrome_boundary boundary = {record->thread, record->ts, end};

	if (!candidate)
		return 0;
	if (c->boundaries == CHROME_FRAMES_MAX) {
		refuse(r, "too_many_frames", "there is no room for more frames");
		return 0;
	}
	c->boundaries++;
	return VEC_PUSH(&c->sources[candidate - 1].at, boundary);
}

/* What our own export says of a zone goes along as an extra, where there is any. */
static int add_note(struct chrome_reader *r, struct import_record *record, struct chrome_said *n)
{
	char bytes[sizeof(n->zone) + sizeof(n->text)];

	if (n->tied) {
		record->flags |= CHROME_TIED;
		record->tie = n->tie;
		record->depth = n->depth;
	}
	if (!n->zone.flags && !n->zone.has_value && !n->zone.has_text)
		return 0;
	memcpy(bytes, &n->zone, sizeof(n->zone));
	memcpy(bytes + sizeof(n->zone), n->text, n->zone.text_bytes);
	return import_extras_put(&r->c->extras, bytes, sizeof(n->zone) + n->zone.text_bytes,
				 &record->extra);
}

static int put_gpu(struct chrome_reader *r, struct import_record *record, struct chrome_said *n)
{
	struct chrome *c = r->c;
	int result;

	record->marker = chrome_marker_of(c, FPROF_MARKER_GPU, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_GPU;
	c->threads.at[record->thread].used = true;
	result = import_extras_put(&c->extras, &n->span, sizeof(n->span), &record->extra);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

/* X, once its time is known to be good. */
static int put_complete(struct chrome_reader *r, struct import_record *record)
{
	struct chrome *c = r->c;
	struct chrome_said note;
	int result;

	if (r->e.dur_state == NUMBER_BAD || (r->e.dur_state == NUMBER_GOOD && r->e.dur < 0) ||
	    (r->e.dur_state == NUMBER_GOOD && r->e.ts > (INT64_C(1) << 62) - r->e.dur)) {
		refuse(r, "bad_dur", "a duration that is no number of microseconds from 0");
		return 0;
	}
	if (r->e.dur_state == NUMBER_ABSENT) {
		refuse(r, "missing_dur", "a complete event without a duration");
		r->e.dur = 0;
	}
	record->value.dur = r->e.dur;
	see_time(c, r->e.ts);
	see_time(c, r->e.ts + r->e.dur);
	if (r->e.note_bytes > 0) {
		result = chrome_read_note(r, &note);
		if (result < 0)
			return result;
		if (note.has_span)
			return put_gpu(r, record, &note);
		result = add_note(r, record, &note);
		if (result < 0)
			return result;
	}
	record->marker = chrome_marker_of(c, FPROF_MARKER_ZONE, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_COMPLETE;
	c->threads.at[record->thread].completes = c->threads.at[record->thread].used = true;
	result = add_boundary(r, record, r->e.ts + r->e.dur);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_begin(struct chrome_reader *r, struct import_record *record)
{
	struct chrome *c = r->c;
	int result;

	record->marker = chrome_marker_of(c, FPROF_MARKER_ZONE, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_BEGIN;
	c->begins++;
	c->threads.at[record->thread].begins = c->threads.at[record->thread].used = true;
	result = add_boundary(r, record, r->e.ts);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_end(struct chrome_reader *r, struct import_record *record)
{
	record->kind = CHROME_END;
	record->marker = r->e.name;
	return import_sort_add(&r->c->sort, record);
}

static int put_message(struct chrome_reader *r, struct import_record *record,
		       const struct chrome_said *n)
{
	struct chrome *c = r->c;
	const char *text = import_strings_at(&c->strings, r->e.name);
	int result;

	record->marker =
		n->category ? chrome_marker_of(c, FPROF_MARKER_MESSAGE, n->category, 0) : 0;
	record->kind = CHROME_MESSAGE;
	record->value.i = (int64_t)(n->colour & 0xffffff);
	c->threads.at[record->thread].used = true;
	result = import_extras_put(&c->extras, text, strlen(text), &record->extra);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_instant(struct chrome_reader *r, struct import_record *record)
{
	const char *category = import_strings_at(&r->c->strings, r->e.category);
	struct chrome *c = r->c;
	struct chrome_said note;
	int result;

	if (c->own && r->e.args_bytes > 0 && r->e.args_bytes <= CHROME_ARGS_MAX &&
	    !strcmp(category, "fprof.frame")) {
		result = chrome_put_own_frame(r);
		if (result != 0)
			return MIN(result, 0);
	}
	if (c->own && !strncmp(category, "fprof.", 6) && strcmp(category, "fprof.message") != 0)
		return 0; /* what we say of a session, not what happened in it */
	see_time(c, r->e.ts);
	if (r->e.note_bytes > 0) {
		result = chrome_read_note(r, &note);
		if (result < 0 || note.is_message)
			return result < 0 ? result : put_message(r, record, &note);
	}
	record->marker = chrome_marker_of(c, FPROF_MARKER_INSTANT, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_INSTANT;
	c->threads.at[record->thread].used = true;
	result = add_boundary(r, record, r->e.ts);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

struct series {
	struct import_record *record;
	unsigned count;
	bool only; /* the one series there is */
};

static int count_series(struct chrome_member *m)
{
	struct series *s = m->userdata;

	s->count++;
	return 0;
}

/* One series of a counter: a counter of its own. */
static int put_series(struct chrome_member *m)
{
	struct series *s = m->userdata;
	struct chrome_reader *r = m->r;
	struct chrome *c = r->c;
	struct import_record record = *s->record;
	char name[2 * IMPORT_STRING_BYTES_MAX];
	uint32_t string = r->e.name;
	double d;
	int kind = chrome_parse_number(&m->value, &record.value.i, &d);

	if (kind == 0) {
		refuse(r, "bad_value", "a counter's value that is no number");
		return 0;
	}
	if (!s->only) {
		snprintf(name, sizeof(name), "%s.%.*s", import_strings_at(&c->strings, r->e.name),
			 (int)m->key.bytes, m->key.text);
		string = chrome_string_of(r, name, strlen(name));
	}
	record.marker = chrome_marker_of(c, FPROF_MARKER_COUNTER, string, r->e.category);
	if (!record.marker)
		return -ENOMEM;
	record.kind = CHROME_COUNTER;
	if (kind == 2) {
		record.flags |= CHROME_DOUBLE;
		record.value.d = d;
		c->markers.at[record.marker - 1].is_double = true;
	}
	c->threads.at[record.thread].used = true;
	kind = import_sort_add(&c->sort, &record);
	/* once more, by counter instead of thread: for the values at the ends of frames */
	record.thread = UINT32_MAX - record.marker;
	return kind < 0 ? kind : import_sort_add(&c->sort, &record);
}

static int put_counter(struct chrome_reader *r, struct import_record *record)
{
	struct series s = {.record = record};
	int result;

	see_time(r->c, r->e.ts);
	if (r->e.args_bytes > CHROME_ARGS_MAX) {
		refuse(r, "bad_value", "a counter with too many values");
		return 0;
	}
	if (r->e.args_bytes == 0) {
		refuse(r, "bad_value", "a counter without a value");
		return 0;
	}
	result = chrome_each_member(r, r->args, r->e.args_bytes, count_series, &s);
	s.only = s.count == 1;
	return result < 0 ? result
			  : chrome_each_member(r, r->args, r->e.args_bytes, put_series, &s);
}

/* Phases that say nothing that a session holds. NULL: it is none of them. */
static const char *ignored_phase(char phase)
{
	switch (phase) {
	case 'b':
	case 'n':
	case 'e':
		return "async";
	case 's':
	case 't':
	case 'f':
		return "flow";
	case 'N':
	case 'O':
	case 'D':
		return "object";
	case 'P':
		return "sample";
	default:
		return NULL;
	}
}

static int put_timed(struct chrome_reader *r)
{
	struct chrome_event *e = &r->e;
	struct import_record record = {.ts = e->ts, .event = e->number, .byte = e->at};
	const char *ignored = ignored_phase(e->phase);
	int result;

	if (e->ts_state != NUMBER_GOOD) {
		refuse(r, "bad_ts", "a time that is no number of microseconds");
		return 0;
	}
	if (ignored) {
		see_time(r->c, e->ts);
		import_report_ignore(r->c->report, ignored);
		return 0;
	}
	result = find_thread(r, &record.thread);
	if (result < 0 || record.thread == 0)
		return result;
	record.thread--;
	if (e->phase == 'X')
		return put_complete(r, &record);
	if (e->phase == 'C')
		return put_counter(r, &record);
	if (e->phase == 'i' || e->phase == 'I')
		return put_instant(r, &record);
	see_time(r->c, e->ts);
	return e->phase == 'B' ? put_begin(r, &record) : put_end(r, &record);
}

int chrome_put_event(struct chrome_reader *r)
{
	struct chrome_event *e = &r->e;
	int result = 0;

	if (e->truncated) {
		refuse(r, "truncated", "the file ends within an event");
		return 0;
	}
	if (!e->any) {
		refuse(r, "empty_event", "an event without members");
		return 0;
	}
	if (e->malformed) {
		refuse(r, "malformed", "an event that is no JSON object");
		return 0;
	}
	if (e->phase == 'M')
		result = chrome_put_metadata(r);
	else if (e->phase > '\1' && strchr("XBEiICbnestfNODP", e->phase))
		result = put_timed(r);
	else
		refuse(r, "unknown_phase", "an event of a phase that is not known");
	if (result == 0 && e->bad_utf8)
		refuse(r, "bad_utf8", "a name that is not UTF-8");
	return result;
}
