/* SPDX-License-Identifier: MIT */
/*
 * Chrome trace JSON, first pass: the file is read once, front to back, as tokens. Each event
 * becomes a record of a fixed size that refers to names by number; the records are sorted by thread
 * and time (import_sort), since the order of a file says nothing. Threads, processes and names of
 * metadata may come anywhere, so nothing is written before the file has ended.
 *
 * Nothing is refused whole: what cannot be read of an event costs that event, which is counted;
 * after garbage within an event the reading goes on at the event's end. Only a file in which no
 * event can be found is refused.
 *
 * Memory: the tokenizer's buffer (512 KiB), one run of the sort (16 MiB, while sorting half as
 * much again), and what the file names: at most 1 Mi names of together 64 MiB, 1 Mi markers, 16,384
 * threads and 1 M frames; beyond these limits things are counted and left out. So an import takes
 * some 40 MiB, and less than 256 MiB whatever the file is.
 */
#include "import_chrome.h"

#include "history.h"
#include "shm/layout.h"
#include "shm/word.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define ARGS_MAX    (64u * 1024u) /* bytes of an event's args that are looked at */
#define NOTE_MAX    16384u
#define MARKERS_MAX (1u << 20)

/* Frame marks of tools, the surest first. What is chosen by the caller stands before them. */
static const struct chrome_source known_sources[] = {
	{.name = "FrameMark"},						 /* Tracy */
	{.name = "PlayerLoop", .zone = true},				 /* Unity */
	{.name = "FEngineLoop::Tick", .zone = true},			 /* Unreal */
	{.name = "Choreographer#doFrame", .zone = true, .prefix = true}, /* Android, Perfetto */
	{.name = "Main::iteration", .zone = true},			 /* Godot */
	{.name = "BeginFrame"},						 /* Chromium */
	{.name = "Frame"},
	{.name = "Frame", .zone = true},
	{.name = "frame"},
	{.name = "frame", .zone = true},
};

enum number_state { NUMBER_ABSENT, NUMBER_BAD, NUMBER_GOOD };

struct event {
	uint64_t number, at; /* from 0; byte offset */
	bool any;	     /* has a member */
	bool malformed, bad_utf8, truncated;
	char phase; /* '\0': none, '\1': longer than a character */
	uint32_t name, category, pid, tid;
	enum number_state ts_state, dur_state;
	int64_t ts, dur;
	size_t args_bytes, note_bytes; /* 0: none; more than is kept: too long */
};

struct reader {
	struct chrome *c;
	struct event e;
	char *args, *note;
	uint32_t zero;				  /* the string "0" */
	uint32_t last_pid, last_tid, last_thread; /* of the last event; 0: none */
};

int import_chrome_fail(struct chrome *c, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->result->why, sizeof(c->result->why), format, arguments);
	va_end(arguments);
	return error;
}

/* ---- Names, markers, threads --------------------------------------------------------------- */

static uint32_t hash3(uint32_t a, uint32_t b, uint32_t d)
{
	uint64_t h = (uint64_t)a * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ b) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 32 ^ d) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h >> 32);
}

static void find_candidate(struct chrome *c, struct chrome_marker *m)
{
	const char *name = import_strings_at(&c->strings, m->name);
	bool zone = m->kind != FPROF_MARKER_INSTANT;
	size_t i;

	if (m->kind != FPROF_MARKER_INSTANT && m->kind > FPROF_MARKER_WAIT_CAP)
		return;
	for (i = 0; i < c->source_count && !m->candidate; i++) {
		const struct chrome_source *s = &c->sources[i];

		if (s->zone == zone &&
		    (s->prefix ? !strncmp(name, s->name, strlen(s->name)) : !strcmp(name, s->name)))
			m->candidate = (uint32_t)i + 1;
	}
}

static int grow_markers(struct chrome *c)
{
	uint32_t size = c->marker_slots ? (c->marker_mask + 1) * 2 : 512, i, at;
	uint32_t *slots;

	if (c->marker_slots && c->markers.count * 2 < c->marker_mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->marker_slots);
	c->marker_slots = slots;
	c->marker_mask = size - 1;
	for (i = 0; i < c->markers.count; i++) {
		const struct chrome_marker *m = &c->markers.at[i];

		at = hash3(m->key, m->name, m->category) & c->marker_mask;
		while (slots[at])
			at = (at + 1) & c->marker_mask;
		slots[at] = i + 1;
	}
	return 0;
}

/* The number of a marker, from 1; 0: no memory. */
static uint32_t marker_of(struct chrome *c, uint8_t kind, uint32_t name, uint32_t category)
{
	struct chrome_marker marker = {.kind = kind,
				       .key = kind,
				       .name = name,
				       .category = category,
				       .level = FPROF_LEVEL_PHASE,
				       .dynamic = 1};
	uint32_t at;

	if (grow_markers(c) < 0)
		return 0;
	at = hash3(kind, name, category) & c->marker_mask;
	for (; c->marker_slots[at]; at = (at + 1) & c->marker_mask) {
		const struct chrome_marker *m = &c->markers.at[c->marker_slots[at] - 1];

		if (m->key == kind && m->name == name && m->category == category)
			return c->marker_slots[at];
	}
	if (c->markers.count == MARKERS_MAX)
		return c->other_marker;
	find_candidate(c, &marker);
	if (VEC_PUSH(&c->markers, marker) < 0)
		return 0;
	c->marker_slots[at] = (uint32_t)c->markers.count;
	return c->marker_slots[at];
}

/* The string of a text; what there is no room for is counted, and called by another name. */
static uint32_t string_of(struct reader *r, const char *text, size_t bytes)
{
	uint32_t number = import_strings_put(&r->c->strings, text, bytes);

	if (number)
		return number;
	import_report_add(r->c->report, "too_many_names", r->e.number, r->e.at,
			  "there is no room for more names");
	return r->c->markers.at[r->c->other_marker - 1].name;
}

static int grow_threads(struct chrome *c)
{
	uint32_t size = c->thread_slots ? (c->thread_mask + 1) * 2 : 64, i, at;
	uint32_t *slots;

	if (c->thread_slots && c->threads.count * 2 < c->thread_mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->thread_slots);
	c->thread_slots = slots;
	c->thread_mask = size - 1;
	for (i = 0; i < c->threads.count; i++) {
		const struct chrome_thread *t = &c->threads.at[i];

		at = hash3(t->pid, t->tid, 0) & c->thread_mask;
		while (slots[at])
			at = (at + 1) & c->thread_mask;
		slots[at] = i + 1;
	}
	return 0;
}

static int add_process(struct chrome *c, uint32_t pid)
{
	size_t i;

	for (i = 0; i < c->processes.count; i++)
		if (c->processes.at[i].pid == pid)
			return 0;
	return VEC_PUSH(&c->processes, ((struct chrome_process){pid, 0}));
}

/* The thread's number, from 1. 0: there are too many; -errno. */
static int64_t thread_of(struct chrome *c, uint32_t pid, uint32_t tid)
{
	struct chrome_thread thread = {.pid = pid,
				       .tid = tid,
				       .row = {.end_ticks = INT64_MAX, .ns_per_tick = 1},
				       .order = INT64_MAX};
	uint32_t at;
	int r = grow_threads(c);

	if (r < 0)
		return r;
	at = hash3(pid, tid, 0) & c->thread_mask;
	for (; c->thread_slots[at]; at = (at + 1) & c->thread_mask) {
		const struct chrome_thread *t = &c->threads.at[c->thread_slots[at] - 1];

		if (t->pid == pid && t->tid == tid)
			return c->thread_slots[at];
	}
	if (c->threads.count == CHROME_THREADS_MAX)
		return 0;
	r = add_process(c, pid);
	if (r == 0)
		r = VEC_PUSH(&c->threads, thread);
	if (r < 0)
		return r;
	c->thread_slots[at] = (uint32_t)c->threads.count;
	return c->thread_slots[at];
}

/* ---- Values in memory: args and notes ------------------------------------------------------- */

/* Calls fn for each member of the object in text: its key and the first token of its value, behind
 * which the tokenizer stands; what fn leaves of an object or array is skipped. */
struct member {
	struct reader *r;
	struct trace_json *json;
	struct trace_json_token key, value;
	void *userdata;
};
typedef int (*member_fn)(struct member *m);

static int each_member(struct reader *r, const char *text, size_t bytes, member_fn fn,
		       void *userdata)
{
	struct trace_json json;
	struct member m = {.r = r, .json = &json, .userdata = userdata};
	char key[64];
	int result = trace_json_memory(&json, text, bytes);

	if (result < 0)
		return result;
	trace_json_next(&json, &m.key); /* the brace */
	for (trace_json_next(&json, &m.key); result == 0; trace_json_next(&json, &m.key)) {
		if (m.key.kind == TRACE_JSON_COMMA)
			continue;
		if (m.key.kind != TRACE_JSON_TEXT)
			break;
		m.key.bytes = MIN(m.key.bytes, sizeof(key));
		memcpy(key, m.key.text, m.key.bytes);
		m.key.text = key;
		trace_json_next(&json, &m.value);
		if (m.value.kind != TRACE_JSON_COLON)
			break;
		trace_json_next(&json, &m.value);
		result = fn(&m);
		if (m.value.kind == TRACE_JSON_OBJECT || m.value.kind == TRACE_JSON_ARRAY)
			trace_json_skip(&json, NULL, 0, NULL);
	}
	trace_json_close(&json);
	return result;
}

/* A number as text, terminated; false: it is none. */
static bool number_text(const struct trace_json_token *t, char *text, size_t size)
{
	if ((t->kind != TRACE_JSON_WORD && t->kind != TRACE_JSON_TEXT) || t->bytes == 0 ||
	    t->bytes >= size || !strchr("+-.0123456789", t->text[0]))
		return false;
	memcpy(text, t->text, t->bytes);
	text[t->bytes] = '\0';
	return true;
}

/* 1: an integer, 2: a fraction, 0: no number. */
static int parse_number(const struct trace_json_token *t, int64_t *ret_i, double *ret_d)
{
	char text[400], *end;

	if (!number_text(t, text, sizeof(text)))
		return 0;
	errno = 0;
	*ret_i = strtoll(text, &end, 10);
	*ret_d = (double)*ret_i;
	if (!errno && !*end)
		return 1;
	*ret_d = strtod(text, &end);
	return *end ? 0 : 2;
}

static uint64_t parse_uint(const struct trace_json_token *t)
{
	char text[32];

	return number_text(t, text, sizeof(text)) && text[0] != '-' ? strtoull(text, NULL, 10) : 0;
}

static int64_t parse_int(const struct trace_json_token *t)
{
	char text[32];

	return number_text(t, text, sizeof(text)) ? strtoll(text, NULL, 10) : 0;
}

/* The numbers of an array whose bracket was the last token; all of it is read. */
static size_t parse_array(struct member *m, uint64_t *ret, size_t size)
{
	size_t count = 0;

	for (;;) {
		trace_json_next(m->json, &m->value);
		if (m->value.kind == TRACE_JSON_COMMA)
			continue;
		if (m->value.kind != TRACE_JSON_WORD)
			break;
		if (count < size)
			ret[count++] = m->value.text[0] == 'n'	 ? (uint64_t)NS_UNKNOWN
				       : m->value.text[0] == '-' ? (uint64_t)parse_int(&m->value)
								 : parse_uint(&m->value);
	}
	return count;
}

/* ---- Metadata ------------------------------------------------------------------------------ */

struct metadata {
	uint32_t name; /* a string, 0: none */
	int64_t order;
	struct track_row row;
	bool has_order, has_row;
};

/* [tid, begin_ns, end_ns or null, valid_bits] */
static bool track_array(struct member *m, struct track_row *row)
{
	uint64_t v[5];

	if (parse_array(m, v, ARRAY_SIZE(v)) != 4)
		return false;
	row->tid = (int32_t)v[0];
	row->begin_ticks = (int64_t)v[1];
	row->end_ticks = (int64_t)v[2] == NS_UNKNOWN ? INT64_MAX : (int64_t)v[2];
	row->valid_bits = (uint32_t)v[3];
	return true;
}

static int metadata_member(struct member *m)
{
	struct metadata *d = m->userdata;

	if (TRACE_JSON_IS(&m->key, "name") &&
	    (m->value.kind == TRACE_JSON_TEXT || m->value.kind == TRACE_JSON_WORD)) {
		if (m->value.bad_utf8)
			m->r->e.bad_utf8 = true;
		d->name = string_of(m->r, m->value.text, m->value.bytes);
	} else if (TRACE_JSON_IS(&m->key, "sort_index")) {
		d->order = parse_int(&m->value);
		d->has_order = true;
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "kind")) {
		d->row.kind = trace_json_is(&m->value, "fiber", 5)	 ? TRACK_FIBER
			      : trace_json_is(&m->value, "gpu queue", 9) ? TRACK_GPU_QUEUE
									 : TRACK_THREAD;
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "ns_per_tick")) {
		parse_number(&m->value, &(int64_t){0}, &d->row.ns_per_tick);
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "track") &&
		   m->value.kind == TRACE_JSON_ARRAY) {
		d->has_row = track_array(m, &d->row);
	}
	return 0;
}

static int name_process(struct chrome *c, uint32_t pid, uint32_t name)
{
	size_t i;
	int r = add_process(c, pid);

	for (i = 0; r == 0 && i < c->processes.count; i++)
		if (c->processes.at[i].pid == pid)
			c->processes.at[i].name = name;
	return r;
}

static void name_thread(struct chrome_thread *thread, const struct metadata *d)
{
	if (d->name)
		thread->name = d->name;
	if (d->has_row) {
		thread->row = d->row;
		thread->used = true; /* ours are kept though nothing happened on them */
	}
}

static int put_metadata(struct reader *r)
{
	const char *what = import_strings_at(&r->c->strings, r->e.name);
	bool thread_name = !strcmp(what, "thread_name"), process = !strcmp(what, "process_name");
	bool order = !strcmp(what, "thread_sort_index");
	struct metadata d = {.row = {.end_ticks = INT64_MAX, .ns_per_tick = 1}};
	int64_t thread;
	int result = 0;

	if ((!thread_name && !process && !order) || r->e.args_bytes == 0 ||
	    r->e.args_bytes > ARGS_MAX)
		return 0;
	result = each_member(r, r->args, r->e.args_bytes, metadata_member, &d);
	if (result < 0)
		return result;
	if (process)
		return d.name ? name_process(r->c, r->e.pid, d.name) : 0;
	thread = thread_of(r->c, r->e.pid, r->e.tid);
	if (thread <= 0)
		return (int)thread;
	if (thread_name)
		name_thread(&r->c->threads.at[thread - 1], &d);
	else if (d.has_order)
		r->c->threads.at[thread - 1].order = d.order;
	return 0;
}

/* ---- Our own export's notes ----------------------------------------------------------------- */

struct note {
	struct chrome_note zone;
	char text[FPROF_TEXT_MAX * 3];
	bool tied, has_span, is_message, has_marker;
	uint16_t tie, depth;
	struct chrome_span span;
	uint32_t category; /* of a message: a string */
	uint64_t colour;
};

static void note_value(struct member *m, struct note *n)
{
	double d;
	int64_t i;
	int kind = parse_number(&m->value, &i, &d);

	n->zone.has_value = kind > 0;
	n->zone.value_is_double = kind == 2;
	if (kind == 2)
		n->zone.value.d = d;
	else
		n->zone.value.i = i;
}

static void note_array(struct member *m, struct note *n)
{
	uint64_t v[7] = {0};
	size_t count;

	if (m->value.kind != TRACE_JSON_ARRAY)
		return;
	count = parse_array(m, v, ARRAY_SIZE(v));
	if (TRACE_JSON_IS(&m->key, "tie") && count == 2) {
		n->tied = v[0] <= UINT16_MAX && v[1] <= UINT16_MAX;
		n->tie = (uint16_t)v[0];
		n->depth = (uint16_t)v[1];
	} else if (TRACE_JSON_IS(&m->key, "gpu") && count == 7) {
		n->has_span = true;
		n->span = (struct chrome_span){v[0], v[1], v[2], v[3], v[4], v[5], v[6] != 0};
	}
}

static int note_member(struct member *m)
{
	struct note *n = m->userdata;

	if (TRACE_JSON_IS(&m->key, "text") && m->value.kind == TRACE_JSON_TEXT) {
		n->zone.has_text = true;
		n->zone.text_bytes = (uint16_t)MIN(m->value.bytes, sizeof(n->text));
		memcpy(n->text, m->value.text, n->zone.text_bytes);
	} else if (TRACE_JSON_IS(&m->key, "value")) {
		note_value(m, n);
	} else if (TRACE_JSON_IS(&m->key, "flags")) {
		n->zone.flags = (uint32_t)parse_uint(&m->value) & ZONE_IMPORTED;
	} else if (TRACE_JSON_IS(&m->key, "message")) {
		n->is_message = true;
		if (m->value.kind == TRACE_JSON_TEXT)
			n->category = string_of(m->r, m->value.text, m->value.bytes);
	} else if (TRACE_JSON_IS(&m->key, "colour")) {
		n->colour = parse_uint(&m->value);
	} else {
		note_array(m, n);
	}
	return 0;
}

static int read_note(struct reader *r, struct note *note)
{
	memset(note, 0, offsetof(struct note, text));
	note->tied = note->has_span = note->is_message = false;
	note->category = 0;
	note->colour = 0;
	if (r->e.note_bytes == 0 || r->e.note_bytes > NOTE_MAX)
		return 0;
	return each_member(r, r->note, r->e.note_bytes, note_member, note);
}

static int frame_member(struct member *m)
{
	struct frame_row *f = m->userdata;
	uint64_t v[12];

	if (TRACE_JSON_IS(&m->key, "frame")) {
		f->frame = parse_uint(&m->value);
	} else if (TRACE_JSON_IS(&m->key, "row") && m->value.kind == TRACE_JSON_ARRAY &&
		   parse_array(m, v, ARRAY_SIZE(v)) == 9) {
		f->end_ns = (int64_t)v[0];
		f->engine_id = (int64_t)v[1];
		f->cpu_ns = (int64_t)v[2];
		f->wait_gpu_ns = (int64_t)v[3];
		f->wait_present_ns = (int64_t)v[4];
		f->wait_cap_ns = (int64_t)v[5];
		f->events = MIN(v[6], (uint64_t)INT64_MAX);
		f->lost_events = MIN(v[7], (uint64_t)INT64_MAX);
		f->flags = (uint32_t)v[8] &
			   ~((uint32_t)FRAME_EVENTS_EVICTED | (uint32_t)FRAME_LATE_EVENTS |
			     (uint32_t)FRAME_UNFINISHED);
	}
	return 0;
}

/* A frame of our own export: args say all of it. 1: it was one. */
static int put_own_frame(struct reader *r)
{
	struct chrome_frame f = {.row = {.t0 = r->e.ts, .begin_ns = r->e.ts, .end_ns = INT64_MIN}};
	int result = each_member(r, r->args, r->e.args_bytes, frame_member, &f.row);

	if (result < 0)
		return result;
	if (f.row.frame == 0 || f.row.frame > INT64_MAX || f.row.end_ns < f.row.t0 ||
	    r->c->frames.count == CHROME_FRAMES_MAX)
		return 0;
	f.row.t1 = f.row.end_ns;
	return VEC_PUSH(&r->c->frames, f) < 0 ? -ENOMEM : 1;
}

/* ---- Events -------------------------------------------------------------------------------- */

static void refuse(struct reader *r, const char *count, const char *what)
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
static int find_thread(struct reader *r, uint32_t *ret)
{
	struct event *e = &r->e;
	int64_t thread;

	if (r->last_thread && e->pid == r->last_pid && e->tid == r->last_tid) {
		*ret = r->last_thread;
		return 0;
	}
	thread = thread_of(r->c, e->pid, e->tid);
	if (thread < 0)
		return (int)thread;
	if (thread == 0)
		refuse(r, "too_many_threads", "there is no room for more threads");
	*ret = r->last_thread = (uint32_t)thread;
	r->last_pid = e->pid;
	r->last_tid = e->tid;
	return 0;
}

static int add_boundary(struct reader *r, const struct import_record *record, int64_t end)
{
	struct chrome *c = r->c;
	uint32_t candidate = c->markers.at[record->marker - 1].candidate;
	struct chrome_boundary boundary = {record->thread, record->ts, end};

	if (!candidate || c->boundaries == CHROME_FRAMES_MAX)
		return 0;
	c->boundaries++;
	return VEC_PUSH(&c->sources[candidate - 1].at, boundary);
}

/* What our own export says of a zone goes along as an extra, where there is any. */
static int add_note(struct reader *r, struct import_record *record, struct note *n)
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

static int put_gpu(struct reader *r, struct import_record *record, struct note *n)
{
	struct chrome *c = r->c;
	int result;

	record->marker = marker_of(c, FPROF_MARKER_GPU, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_GPU;
	c->threads.at[record->thread].used = true;
	result = import_extras_put(&c->extras, &n->span, sizeof(n->span), &record->extra);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

/* X, once its time is known to be good. */
static int put_complete(struct reader *r, struct import_record *record)
{
	struct chrome *c = r->c;
	struct note note;
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
		result = read_note(r, &note);
		if (result < 0)
			return result;
		if (note.has_span)
			return put_gpu(r, record, &note);
		result = add_note(r, record, &note);
		if (result < 0)
			return result;
	}
	record->marker = marker_of(c, FPROF_MARKER_ZONE, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_COMPLETE;
	c->threads.at[record->thread].completes = c->threads.at[record->thread].used = true;
	result = add_boundary(r, record, r->e.ts + r->e.dur);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_begin(struct reader *r, struct import_record *record)
{
	struct chrome *c = r->c;
	int result;

	record->marker = marker_of(c, FPROF_MARKER_ZONE, r->e.name, r->e.category);
	if (!record->marker)
		return -ENOMEM;
	record->kind = CHROME_BEGIN;
	c->begins++;
	c->threads.at[record->thread].begins = c->threads.at[record->thread].used = true;
	result = add_boundary(r, record, r->e.ts);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_end(struct reader *r, struct import_record *record)
{
	record->kind = CHROME_END;
	record->marker = r->e.name;
	return import_sort_add(&r->c->sort, record);
}

static int put_message(struct reader *r, struct import_record *record, const struct note *n)
{
	struct chrome *c = r->c;
	const char *text = import_strings_at(&c->strings, r->e.name);
	int result;

	record->marker = n->category ? marker_of(c, FPROF_MARKER_MESSAGE, n->category, 0) : 0;
	record->kind = CHROME_MESSAGE;
	record->value.i = (int64_t)(n->colour & 0xffffff);
	c->threads.at[record->thread].used = true;
	result = import_extras_put(&c->extras, text, strlen(text), &record->extra);
	return result < 0 ? result : import_sort_add(&c->sort, record);
}

static int put_instant(struct reader *r, struct import_record *record)
{
	const char *category = import_strings_at(&r->c->strings, r->e.category);
	struct chrome *c = r->c;
	struct note note;
	int result;

	if (c->own && r->e.args_bytes > 0 && r->e.args_bytes <= ARGS_MAX &&
	    !strcmp(category, "fprof.frame")) {
		result = put_own_frame(r);
		if (result != 0)
			return MIN(result, 0);
	}
	if (c->own && !strncmp(category, "fprof.", 6) && strcmp(category, "fprof.message") != 0)
		return 0; /* what we say of a session, not what happened in it */
	see_time(c, r->e.ts);
	if (r->e.note_bytes > 0) {
		result = read_note(r, &note);
		if (result < 0 || note.is_message)
			return result < 0 ? result : put_message(r, record, &note);
	}
	record->marker = marker_of(c, FPROF_MARKER_INSTANT, r->e.name, r->e.category);
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

static int count_series(struct member *m)
{
	struct series *s = m->userdata;

	s->count++;
	return 0;
}

/* One series of a counter: a counter of its own. */
static int put_series(struct member *m)
{
	struct series *s = m->userdata;
	struct reader *r = m->r;
	struct chrome *c = r->c;
	struct import_record record = *s->record;
	char name[2 * IMPORT_STRING_BYTES_MAX];
	uint32_t string = r->e.name;
	double d;
	int kind = parse_number(&m->value, &record.value.i, &d);

	if (kind == 0) {
		refuse(r, "bad_value", "a counter's value that is no number");
		return 0;
	}
	if (!s->only) {
		snprintf(name, sizeof(name), "%s.%.*s", import_strings_at(&c->strings, r->e.name),
			 (int)m->key.bytes, m->key.text);
		string = string_of(r, name, strlen(name));
	}
	record.marker = marker_of(c, FPROF_MARKER_COUNTER, string, r->e.category);
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

static int put_counter(struct reader *r, struct import_record *record)
{
	struct series s = {.record = record};
	int result;

	see_time(r->c, r->e.ts);
	if (r->e.args_bytes > ARGS_MAX) {
		refuse(r, "bad_value", "a counter with too many values");
		return 0;
	}
	if (r->e.args_bytes == 0) {
		refuse(r, "bad_value", "a counter without a value");
		return 0;
	}
	result = each_member(r, r->args, r->e.args_bytes, count_series, &s);
	s.only = s.count == 1;
	return result < 0 ? result : each_member(r, r->args, r->e.args_bytes, put_series, &s);
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

static int put_timed(struct reader *r)
{
	struct event *e = &r->e;
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

static int put_event(struct reader *r)
{
	struct event *e = &r->e;
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
		result = put_metadata(r);
	else if (e->phase > '\1' && strchr("XBEiICbnestfNODP", e->phase))
		result = put_timed(r);
	else
		refuse(r, "unknown_phase", "an event of a phase that is not known");
	if (result == 0 && e->bad_utf8)
		refuse(r, "bad_utf8", "a name that is not UTF-8");
	return result;
}

/* ---- Reading the file ----------------------------------------------------------------------- */

enum member_key {
	KEY_OTHER,
	KEY_PHASE,
	KEY_NAME,
	KEY_CATEGORY,
	KEY_PID,
	KEY_TID,
	KEY_TS,
	KEY_DUR,
	KEY_ARGS,
	KEY_NOTE
};

static enum member_key key_of(const struct trace_json_token *t)
{
	static const struct {
		const char *name;
		enum member_key key;
	} keys[] = {{"ph", KEY_PHASE},	   {"name", KEY_NAME}, {"pid", KEY_PID},
		    {"tid", KEY_TID},	   {"ts", KEY_TS},     {"dur", KEY_DUR},
		    {"cat", KEY_CATEGORY}, {"args", KEY_ARGS}, {"fprof", KEY_NOTE}};
	size_t i;

	if (t->bytes < 2 || t->bytes > 5)
		return KEY_OTHER;
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (t->text[0] == keys[i].name[0] &&
		    trace_json_is(t, keys[i].name, strlen(keys[i].name)))
			return keys[i].key;
	return KEY_OTHER;
}

static bool is_scalar(const struct trace_json_token *t)
{
	return t->kind == TRACE_JSON_TEXT || t->kind == TRACE_JSON_WORD;
}

/* pid and tid: the text of the number or string; null is as if it were not there. */
static void take_id(struct reader *r, const struct trace_json_token *t, uint32_t *ret)
{
	if (!is_scalar(t) || (t->kind == TRACE_JSON_WORD && TRACE_JSON_IS(t, "null")))
		return;
	if (t->bad_utf8)
		r->e.bad_utf8 = true;
	*ret = string_of(r, t->text, t->bytes);
}

static void take_time(const struct trace_json_token *t, enum number_state *ret_state,
		      int64_t *ret_ns)
{
	*ret_state =
		is_scalar(t) && trace_json_us(t->text, t->bytes, ret_ns) ? NUMBER_GOOD : NUMBER_BAD;
}

/* Skips what is left of a value; keeps it where it may be needed. */
static void skip_value(struct reader *r, const struct trace_json_token *t, char *keep, size_t size,
		       size_t *ret_bytes)
{
	size_t bytes = 0;

	if (t->kind != TRACE_JSON_OBJECT && t->kind != TRACE_JSON_ARRAY)
		return;
	if (t->kind == TRACE_JSON_ARRAY)
		keep = NULL;
	if (keep)
		keep[0] = '{';
	if (!trace_json_skip(&r->c->json, keep ? keep + 1 : NULL, size - 1, &bytes))
		r->e.truncated = true;
	if (keep)
		*ret_bytes = bytes + 1;
}

static bool needs_args(char phase)
{
	return phase != 'X' && phase != 'B' && phase != 'E';
}

static void take_value(struct reader *r, enum member_key key, const struct trace_json_token *t)
{
	struct event *e = &r->e;
	size_t bytes = 0;

	switch (key) {
	case KEY_PHASE:
		e->phase = is_scalar(t) && t->bytes == 1 ? t->text[0] : '\1';
		break;
	case KEY_NAME:
		if (is_scalar(t))
			e->name = string_of(r, t->text, t->bytes);
		e->bad_utf8 |= t->bad_utf8;
		break;
	case KEY_CATEGORY:
		if (is_scalar(t) && t->bytes > 0)
			e->category = string_of(r, t->text, t->bytes);
		e->bad_utf8 |= t->bad_utf8;
		break;
	case KEY_PID:
		take_id(r, t, &e->pid);
		break;
	case KEY_TID:
		take_id(r, t, &e->tid);
		break;
	case KEY_TS:
		take_time(t, &e->ts_state, &e->ts);
		break;
	case KEY_DUR:
		take_time(t, &e->dur_state, &e->dur);
		break;
	case KEY_ARGS:
		skip_value(r, t, needs_args(e->phase) ? r->args : NULL, ARGS_MAX, &e->args_bytes);
		return;
	case KEY_NOTE:
		skip_value(r, t, r->c->own ? r->note : NULL, NOTE_MAX, &e->note_bytes);
		return;
	default:
		break;
	}
	skip_value(r, t, NULL, 1, &bytes);
}

/* The value of a member, its colon read. False: the event is not what it should be. */
static bool read_member(struct reader *r, enum member_key key, struct trace_json_token *t)
{
	trace_json_next(&r->c->json, t);
	if (t->kind == TRACE_JSON_END || t->open) {
		r->e.truncated = true;
		return true;
	}
	if (!is_scalar(t) && t->kind != TRACE_JSON_OBJECT && t->kind != TRACE_JSON_ARRAY)
		return false;
	take_value(r, key, t);
	return true;
}

/* After garbage: on to the end of the event, over whatever is nested. */
static void skip_event(struct reader *r, const struct trace_json_token *t)
{
	r->e.malformed = true;
	if (t->kind == TRACE_JSON_OBJECT || t->kind == TRACE_JSON_ARRAY)
		trace_json_skip(&r->c->json, NULL, 0, NULL);
	if (t->kind != TRACE_JSON_OBJECT_END && !trace_json_skip(&r->c->json, NULL, 0, NULL))
		r->e.truncated = true;
}

/* The event's brace is read. */
static void read_event(struct reader *r)
{
	struct trace_json *json = &r->c->json;
	struct trace_json_token t;
	enum member_key key;

	for (;;) {
		trace_json_next(json, &t);
		if (t.kind == TRACE_JSON_OBJECT_END)
			return;
		if (t.kind == TRACE_JSON_COMMA)
			continue;
		if (t.kind == TRACE_JSON_END || t.open)
			break;
		r->e.any = true;
		if (t.kind != TRACE_JSON_TEXT) {
			skip_event(r, &t);
			return;
		}
		key = key_of(&t);
		trace_json_next(json, &t);
		if (t.kind == TRACE_JSON_END)
			break;
		if (t.kind != TRACE_JSON_COLON || !read_member(r, key, &t)) {
			skip_event(r, &t);
			return;
		}
		if (r->e.truncated)
			return;
	}
	r->e.truncated = true;
}

static void start_event(struct reader *r, uint64_t at)
{
	r->e = (struct event){.number = r->c->events++, .at = at, .pid = r->zero, .tid = r->zero};
}

/* The events of an array whose bracket is read. 1: its end was found; 0: the file's. */
static int read_events(struct reader *r)
{
	struct trace_json *json = &r->c->json;
	struct trace_json_token t;
	int result;

	for (;;) {
		trace_json_next(json, &t);
		if (t.kind == TRACE_JSON_END)
			return json->error;
		if (t.kind == TRACE_JSON_ARRAY_END)
			return 1;
		if (t.kind == TRACE_JSON_COMMA)
			continue;
		start_event(r, t.at);
		if (t.kind == TRACE_JSON_OBJECT) {
			read_event(r);
		} else {
			r->e.any = r->e.malformed = true;
			if (t.kind == TRACE_JSON_ARRAY)
				trace_json_skip(json, NULL, 0, NULL);
		}
		result = put_event(r);
		if (result < 0)
			return result;
	}
}

static int head_member(struct member *m)
{
	struct chrome *c = m->r->c;

	if (TRACE_JSON_IS(&m->key, "version"))
		c->own = parse_uint(&m->value) == 1;
	else if (TRACE_JSON_IS(&m->key, "name"))
		snprintf(c->name, sizeof(c->name), "%.*s", (int)m->value.bytes, m->value.text);
	else if (TRACE_JSON_IS(&m->key, "start_utc_ns"))
		c->start_utc_ns = MIN(parse_uint(&m->value), (uint64_t)INT64_MAX);
	else if (TRACE_JSON_IS(&m->key, "main"))
		c->main_thread = parse_int(&m->value);
	return 0;
}

/* A marker as our own export describes it: [kind, name, category, file, line, colour, level, unit,
 * dynamic]. */
static int read_marker(struct reader *r)
{
	struct trace_json *json = &r->c->json;
	struct trace_json_token t;
	struct chrome_marker m = {0};
	uint64_t number[5] = {0};
	uint32_t text[3] = {0}, marker;
	size_t texts = 0, numbers = 0;
	uint64_t kind = FPROF_MARKER_KINDS;

	for (trace_json_next(json, &t); t.kind != TRACE_JSON_ARRAY_END; trace_json_next(json, &t)) {
		if (t.kind == TRACE_JSON_COMMA)
			continue;
		if (!is_scalar(&t) || t.open)
			return 0;
		if (kind == FPROF_MARKER_KINDS)
			kind = MIN(parse_uint(&t), (uint64_t)FPROF_MARKER_KINDS - 1);
		else if (texts < 3) {
			if (t.kind == TRACE_JSON_TEXT)
				text[texts] = string_of(r, t.text, t.bytes);
			texts++;
		} else if (numbers < ARRAY_SIZE(number)) {
			number[numbers++] = parse_uint(&t);
		}
	}
	if (numbers < ARRAY_SIZE(number))
		return 0;
	marker = marker_of(r->c, kind <= FPROF_MARKER_WAIT_CAP ? FPROF_MARKER_ZONE : (uint8_t)kind,
			   text[0], text[1]);
	if (!marker)
		return -ENOMEM;
	m = r->c->markers.at[marker - 1];
	m.kind = (uint8_t)kind;
	m.file = text[2];
	m.line = (uint32_t)number[0];
	m.colour = (uint32_t)number[1] & 0xffffff;
	m.level = (uint8_t)MIN(number[2], (uint64_t)FPROF_LEVEL_INNER);
	m.unit = (uint8_t)MIN(number[3], (uint64_t)FPROF_UNITS - 1);
	m.dynamic = number[4] != 0;
	r->c->markers.at[marker - 1] = m;
	return 0;
}

/* The value of "fprofMarkers", its bracket read. */
static int read_markers(struct reader *r)
{
	struct trace_json_token t;
	int result = 0;

	while (result == 0) {
		trace_json_next(&r->c->json, &t);
		if (t.kind == TRACE_JSON_ARRAY)
			result = read_marker(r);
		else if (t.kind != TRACE_JSON_COMMA)
			break;
	}
	return result;
}

/* The value of a member of the whole, its first token read. */
static int read_top(struct reader *r, const struct trace_json_token *key, bool *ret_found)
{
	bool events = TRACE_JSON_IS(key, "traceEvents"), head = TRACE_JSON_IS(key, "fprof");
	bool markers = TRACE_JSON_IS(key, "fprofMarkers");
	struct trace_json *json = &r->c->json;
	struct trace_json_token t;
	size_t bytes = 0;

	trace_json_next(json, &t);
	if (t.kind == TRACE_JSON_COLON)
		trace_json_next(json, &t);
	if (events && t.kind == TRACE_JSON_ARRAY) {
		*ret_found = true;
		return MIN(read_events(r), 0);
	}
	if (markers && r->c->own && t.kind == TRACE_JSON_ARRAY)
		return read_markers(r);
	if (head && t.kind == TRACE_JSON_OBJECT && r->c->events == 0) {
		r->args[0] = '{';
		if (trace_json_skip(json, r->args + 1, ARGS_MAX - 1, &bytes) && bytes < ARGS_MAX)
			return each_member(r, r->args, bytes + 1, head_member, NULL);
		return 0;
	}
	if (t.kind == TRACE_JSON_OBJECT || t.kind == TRACE_JSON_ARRAY)
		trace_json_skip(json, NULL, 0, NULL);
	return 0;
}

/* The object form, its brace read. */
static int read_object(struct reader *r)
{
	struct trace_json *json = &r->c->json;
	struct trace_json_token t;
	char key[32];
	bool found = false;
	int result = 0;

	while (result == 0) {
		trace_json_next(json, &t);
		if (t.kind == TRACE_JSON_END || t.kind == TRACE_JSON_OBJECT_END)
			break;
		if (t.kind != TRACE_JSON_TEXT)
			continue;
		t.bytes = MIN(t.bytes, sizeof(key));
		memcpy(key, t.text, t.bytes);
		t.text = key;
		result = read_top(r, &t, &found);
	}
	if (result == 0 && !found)
		return import_chrome_fail(r->c, -EBADMSG,
					  "byte %llu: \"traceEvents\" and an array were expected",
					  (unsigned long long)t.at);
	return result;
}

static int read_file(struct reader *r)
{
	struct chrome *c = r->c;
	struct trace_json_token t;
	struct stat st;
	int result;

	trace_json_skip_bom(&c->json);
	trace_json_next(&c->json, &t);
	if (t.kind == TRACE_JSON_ARRAY)
		result = MIN(read_events(r), 0);
	else if (t.kind == TRACE_JSON_OBJECT)
		result = read_object(r);
	else
		result = import_chrome_fail(c, -EBADMSG, "byte %llu: '[' or '{' was expected",
					    (unsigned long long)t.at);
	if (result == 0)
		result = c->json.error;
	if (result == 0 && c->events == 0)
		result = import_chrome_fail(c, -EBADMSG, "byte %llu: an event, '{', was expected",
					    (unsigned long long)trace_json_offset(&c->json));
	c->report->events = c->events;
	c->report->bytes = fstat(c->order->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	return result;
}

/* ---- The entry ------------------------------------------------------------------------------ */

/* What the caller chose, before what tools are known to use. */
static int choose_sources(struct chrome *c)
{
	const char *frames = c->order->frames ? c->order->frames : "auto";
	bool zone = !strncmp(frames, "zone:", 5), instant = !strncmp(frames, "instant:", 8);

	c->sources = calloc(ARRAY_SIZE(known_sources) + 1, sizeof(*c->sources));
	if (!c->sources)
		return -ENOMEM;
	if (zone || instant) {
		c->sources[0].name = strchr(frames, ':') + 1;
		c->sources[0].zone = zone;
		c->sources[0].chosen = true;
		c->source_count = 1;
		return 0;
	}
	if (strcmp(frames, "auto") != 0)
		return import_chrome_fail(c, -EINVAL, "frames: zone:NAME, instant:NAME or auto");
	memcpy(c->sources, known_sources, sizeof(known_sources));
	c->source_count = ARRAY_SIZE(known_sources);
	return 0;
}

static int init(struct chrome *c, struct reader *r)
{
	uint32_t other;
	int result = import_sort_init(&c->sort, c->order->directory);

	if (result == 0)
		result = trace_json_open(&c->json, c->order->fd);
	if (result == 0)
		result = choose_sources(c);
	if (result < 0)
		return result;
	other = import_strings_put(&c->strings, "(names beyond the limit)", 24);
	r->zero = import_strings_put(&c->strings, "0", 1);
	c->other_marker = r->zero && other ? marker_of(c, FPROF_MARKER_ZONE, other, 0) : 0;
	r->args = malloc(ARGS_MAX + 1);
	r->note = malloc(NOTE_MAX + 1);
	return r->args && r->note && c->other_marker ? 0 : -ENOMEM;
}

static void deinit(struct chrome *c, struct reader *r)
{
	size_t i;

	for (i = 0; i < c->source_count; i++)
		VEC_FREE(&c->sources[i].at);
	free(c->sources);
	free(r->args);
	free(r->note);
	trace_json_close(&c->json);
	import_strings_free(&c->strings);
	import_sort_deinit(&c->sort);
	import_extras_deinit(&c->extras);
	VEC_FREE(&c->markers);
	VEC_FREE(&c->threads);
	VEC_FREE(&c->processes);
	VEC_FREE(&c->frames);
	free(c->marker_slots);
	free(c->thread_slots);
	free(c);
}

int import_chrome(const struct import_order *order, struct import_result *result)
{
	struct chrome *c = calloc(1, sizeof(*c));
	struct reader reader = {.c = c};
	int r;

	if (!c)
		return -ENOMEM;
	c->order = order;
	c->result = result;
	c->report = &result->report;
	c->main_thread = -1;
	import_extras_init(&c->extras, order->directory);
	r = init(c, &reader);
	if (r == 0)
		r = read_file(&reader);
	if (r == 0)
		r = import_chrome_write(c);
	deinit(c, &reader);
	return r;
}
