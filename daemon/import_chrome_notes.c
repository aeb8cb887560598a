/* SPDX-License-Identifier: MIT */
/*
 * What stands inside an event: its args, and the notes of our own export. They were kept as bytes,
 * since they may come before what tells their meaning, and are read here with a tokenizer of their
 * own. Their values are a stranger's: what is no number is 0, what is too long was not kept.
 */
#include "import_chrome_read.h"

#include "history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- Values in memory: args and notes ------------------------------------------------------- */

int chrome_each_member(struct chrome_reader *r, const char *text, size_t bytes, chrome_member_fn fn,
		       void *userdata)
{
	struct trace_json json;
	struct chrome_member m = {.r = r, .json = &json, .userdata = userdata};
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
int chrome_parse_number(const struct trace_json_token *t, int64_t *ret_i, double *ret_d)
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

uint64_t chrome_parse_uint(const struct trace_json_token *t)
{
	char text[32];

	return number_text(t, text, sizeof(text)) && text[0] != '-' ? strtoull(text, NULL, 10) : 0;
}

int64_t chrome_parse_int(const struct trace_json_token *t)
{
	char text[32];

	return number_text(t, text, sizeof(text)) ? strtoll(text, NULL, 10) : 0;
}

/* The numbers of an array whose bracket was the last token; all of it is read. */
static size_t parse_array(struct chrome_member *m, uint64_t *ret, size_t size)
{
	size_t count = 0;

	for (;;) {
		trace_json_next(m->json, &m->value);
		if (m->value.kind == TRACE_JSON_COMMA)
			continue;
		if (m->value.kind != TRACE_JSON_WORD)
			break;
		if (count < size)
			ret[count++] = m->value.text[0] == 'n' ? (uint64_t)NS_UNKNOWN
				       : m->value.text[0] == '-'
					       ? (uint64_t)chrome_parse_int(&m->value)
					       : chrome_parse_uint(&m->value);
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
static bool track_array(struct chrome_member *m, struct track_row *row)
{
	uint64_t v[5];

	if (parse_array(m, v, ARRAY_SIZE(v)) != 4 || v[3] > 64)
		return false;
	row->tid = (int32_t)v[0];
	row->begin_ticks = (int64_t)v[1];
	row->end_ticks = (int64_t)v[2] == NS_UNKNOWN ? INT64_MAX : (int64_t)v[2];
	row->valid_bits = (uint32_t)v[3];
	return true;
}

static int metadata_member(struct chrome_member *m)
{
	struct metadata *d = m->userdata;
	int64_t whole;
	double ns;

	if (TRACE_JSON_IS(&m->key, "name") &&
	    (m->value.kind == TRACE_JSON_TEXT || m->value.kind == TRACE_JSON_WORD)) {
		if (m->value.bad_utf8)
			m->r->e.bad_utf8 = true;
		d->name = chrome_string_of(m->r, m->value.text, m->value.bytes);
	} else if (TRACE_JSON_IS(&m->key, "sort_index")) {
		d->order = chrome_parse_int(&m->value);
		d->has_order = true;
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "kind")) {
		d->row.kind = trace_json_is(&m->value, "fiber", 5)	 ? TRACK_FIBER
			      : trace_json_is(&m->value, "gpu queue", 9) ? TRACK_GPU_QUEUE
									 : TRACK_THREAD;
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "ns_per_tick")) {
		if (chrome_parse_number(&m->value, &whole, &ns) && ns >= 0 && isfinite(ns))
			d->row.ns_per_tick = ns;
	} else if (m->r->c->own && TRACE_JSON_IS(&m->key, "track") &&
		   m->value.kind == TRACE_JSON_ARRAY) {
		d->has_row = track_array(m, &d->row);
	}
	return 0;
}

static int name_process(struct chrome_reader *r, uint32_t name)
{
	int64_t process = chrome_process_of(r->c, r->e.pid);

	if (process == 0)
		import_report_add(r->c->report, "too_many_processes", r->e.number, r->e.at,
				  "there is no room for more processes");
	if (process > 0)
		r->c->processes.at[process - 1].name = name;
	return (int)MIN(process, 0);
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

int chrome_put_metadata(struct chrome_reader *r)
{
	const char *what = import_strings_at(&r->c->strings, r->e.name);
	bool thread_name = !strcmp(what, "thread_name"), process = !strcmp(what, "process_name");
	bool order = !strcmp(what, "thread_sort_index");
	struct metadata d = {.row = {.end_ticks = INT64_MAX, .ns_per_tick = 1}};
	int64_t thread;
	int result = 0;

	if ((!thread_name && !process && !order) || r->e.args_bytes == 0 ||
	    r->e.args_bytes > CHROME_ARGS_MAX)
		return 0;
	result = chrome_each_member(r, r->args, r->e.args_bytes, metadata_member, &d);
	if (result < 0)
		return result;
	if (process)
		return d.name ? name_process(r, d.name) : 0;
	thread = chrome_thread_of(r->c, r->e.pid, r->e.tid);
	if (thread == 0)
		import_report_add(r->c->report, "too_many_threads", r->e.number, r->e.at,
				  "there is no room for more threads");
	if (thread <= 0)
		return (int)thread;
	if (thread_name)
		name_thread(&r->c->threads.at[thread - 1], &d);
	else if (d.has_order)
		r->c->threads.at[thread - 1].order = d.order;
	return 0;
}

/* ---- Our own export's notes ----------------------------------------------------------------- */

static void note_value(struct chrome_member *m, struct chrome_said *n)
{
	double d;
	int64_t i;
	int kind = chrome_parse_number(&m->value, &i, &d);

	n->zone.has_value = kind > 0;
	n->zone.value_is_double = kind == 2;
	if (kind == 2)
		n->zone.value.d = d;
	else
		n->zone.value.i = i;
}

static void note_array(struct chrome_member *m, struct chrome_said *n)
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

static int note_member(struct chrome_member *m)
{
	struct chrome_said *n = m->userdata;

	if (TRACE_JSON_IS(&m->key, "text") && m->value.kind == TRACE_JSON_TEXT) {
		n->zone.has_text = true;
		n->zone.text_bytes = (uint16_t)MIN(m->value.bytes, sizeof(n->text));
		memcpy(n->text, m->value.text, n->zone.text_bytes);
	} else if (TRACE_JSON_IS(&m->key, "value")) {
		note_value(m, n);
	} else if (TRACE_JSON_IS(&m->key, "flags")) {
		n->zone.flags = (uint32_t)chrome_parse_uint(&m->value) & ZONE_IMPORTED;
	} else if (TRACE_JSON_IS(&m->key, "message")) {
		n->is_message = true;
		if (m->value.kind == TRACE_JSON_TEXT)
			n->category = chrome_string_of(m->r, m->value.text, m->value.bytes);
	} else if (TRACE_JSON_IS(&m->key, "colour")) {
		n->colour = chrome_parse_uint(&m->value);
	} else {
		note_array(m, n);
	}
	return 0;
}

int chrome_read_note(struct chrome_reader *r, struct chrome_said *note)
{
	memset(note, 0, offsetof(struct chrome_said, text));
	note->tied = note->has_span = note->is_message = false;
	note->category = 0;
	note->colour = 0;
	if (r->e.note_bytes == 0 || r->e.note_bytes > CHROME_NOTE_MAX)
		return 0;
	return chrome_each_member(r, r->note, r->e.note_bytes, note_member, note);
}

static int frame_member(struct chrome_member *m)
{
	struct frame_row *f = m->userdata;
	uint64_t v[12];

	if (TRACE_JSON_IS(&m->key, "frame")) {
		f->frame = chrome_parse_uint(&m->value);
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
int chrome_put_own_frame(struct chrome_reader *r)
{
	struct chrome_frame f = {.row = {.t0 = r->e.ts, .begin_ns = r->e.ts, .end_ns = INT64_MIN}};
	int result = chrome_each_member(r, r->args, r->e.args_bytes, frame_member, &f.row);

	if (result < 0)
		return result;
	if (f.row.frame == 0 || f.row.frame > INT64_MAX || f.row.end_ns < f.row.t0)
		return 0;
	if (r->c->frames.count == CHROME_FRAMES_MAX) {
		import_report_add(r->c->report, "too_many_frames", r->e.number, r->e.at,
				  "there is no room for more frames");
		return 0;
	}
	f.row.t1 = f.row.end_ns;
	return VEC_PUSH(&r->c->frames, f) < 0 ? -ENOMEM : 1;
}
