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
 * threads, as many processes and 1 M frames; beyond these limits things are counted and left out.
 * So an import takes some 40 MiB, and less than 256 MiB whatever the file is.
 */
#include "import_chrome_read.h"

#include "shm/layout.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

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

int import_chrome_fail(struct chrome *c, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->result->why, sizeof(c->result->why), format, arguments);
	va_end(arguments);
	return error;
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

/* pid and tid: the text of the number or string; null is as if it were not there. */
static void take_id(struct chrome_reader *r, const struct trace_json_token *t, uint32_t *ret)
{
	if (!chrome_is_scalar(t) || (t->kind == TRACE_JSON_WORD && TRACE_JSON_IS(t, "null")))
		return;
	if (t->bad_utf8)
		r->e.bad_utf8 = true;
	*ret = chrome_string_of(r, t->text, t->bytes);
}

static void take_time(const struct trace_json_token *t, enum number_state *ret_state,
		      int64_t *ret_ns)
{
	*ret_state = chrome_is_scalar(t) && trace_json_us(t->text, t->bytes, ret_ns) ? NUMBER_GOOD
										     : NUMBER_BAD;
}

/* Skips what is left of a value; keeps it where it may be needed. */
static void skip_value(struct chrome_reader *r, const struct trace_json_token *t, char *keep,
		       size_t size, size_t *ret_bytes)
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

static void take_value(struct chrome_reader *r, enum member_key key,
		       const struct trace_json_token *t)
{
	struct chrome_event *e = &r->e;
	size_t bytes = 0;

	switch (key) {
	case KEY_PHASE:
		e->phase = chrome_is_scalar(t) && t->bytes == 1 ? t->text[0] : '\1';
		break;
	case KEY_NAME:
		if (chrome_is_scalar(t))
			e->name = chrome_string_of(r, t->text, t->bytes);
		e->bad_utf8 |= t->bad_utf8;
		break;
	case KEY_CATEGORY:
		if (chrome_is_scalar(t) && t->bytes > 0)
			e->category = chrome_string_of(r, t->text, t->bytes);
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
		skip_value(r, t, needs_args(e->phase) ? r->args : NULL, CHROME_ARGS_MAX,
			   &e->args_bytes);
		return;
	case KEY_NOTE:
		skip_value(r, t, r->c->own ? r->note : NULL, CHROME_NOTE_MAX, &e->note_bytes);
		return;
	default:
		break;
	}
	skip_value(r, t, NULL, 1, &bytes);
}

/* The value of a member, its colon read. False: the event is not what it should be. */
static bool read_member(struct chrome_reader *r, enum member_key key, struct trace_json_token *t)
{
	trace_json_next(&r->c->json, t);
	if (t->kind == TRACE_JSON_END || t->open) {
		r->e.truncated = true;
		return true;
	}
	if (!chrome_is_scalar(t) && t->kind != TRACE_JSON_OBJECT && t->kind != TRACE_JSON_ARRAY)
		return false;
	take_value(r, key, t);
	return true;
}

/* After garbage: on to the end of the event, over whatever is nested. */
static void skip_event(struct chrome_reader *r, const struct trace_json_token *t)
{
	r->e.malformed = true;
	if (t->kind == TRACE_JSON_OBJECT || t->kind == TRACE_JSON_ARRAY)
		trace_json_skip(&r->c->json, NULL, 0, NULL);
	if (t->kind != TRACE_JSON_OBJECT_END && !trace_json_skip(&r->c->json, NULL, 0, NULL))
		r->e.truncated = true;
}

/* The event's brace is read. */
static void read_event(struct chrome_reader *r)
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

static void start_event(struct chrome_reader *r, uint64_t at)
{
	r->e = (struct chrome_event){
		.number = r->c->events++, .at = at, .pid = r->zero, .tid = r->zero};
}

/* The events of an array whose bracket is read. 1: its end was found; 0: the file's. */
static int read_events(struct chrome_reader *r)
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
		result = chrome_put_event(r);
		if (result < 0)
			return result;
	}
}

static int head_member(struct chrome_member *m)
{
	struct chrome *c = m->r->c;

	if (TRACE_JSON_IS(&m->key, "version"))
		c->own = chrome_parse_uint(&m->value) == 1;
	else if (TRACE_JSON_IS(&m->key, "name"))
		snprintf(c->name, sizeof(c->name), "%.*s", (int)m->value.bytes, m->value.text);
	else if (TRACE_JSON_IS(&m->key, "start_utc_ns"))
		c->start_utc_ns = MIN(chrome_parse_uint(&m->value), (uint64_t)INT64_MAX);
	else if (TRACE_JSON_IS(&m->key, "main"))
		c->main_thread = chrome_parse_int(&m->value);
	return 0;
}

/* A marker as our own export describes it: [kind, name, category, file, line, colour, level, unit,
 * dynamic]. */
static int read_marker(struct chrome_reader *r)
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
		if (!chrome_is_scalar(&t) || t.open)
			return 0;
		if (kind == FPROF_MARKER_KINDS)
			kind = MIN(chrome_parse_uint(&t), (uint64_t)FPROF_MARKER_KINDS - 1);
		else if (texts < 3) {
			if (t.kind == TRACE_JSON_TEXT)
				text[texts] = chrome_string_of(r, t.text, t.bytes);
			texts++;
		} else if (numbers < ARRAY_SIZE(number)) {
			number[numbers++] = chrome_parse_uint(&t);
		}
	}
	if (numbers < ARRAY_SIZE(number))
		return 0;
	marker = chrome_marker_of(r->c,
				  kind <= FPROF_MARKER_WAIT_CAP ? FPROF_MARKER_ZONE : (uint8_t)kind,
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
static int read_markers(struct chrome_reader *r)
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
static int read_top(struct chrome_reader *r, const struct trace_json_token *key, bool *ret_found)
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
		if (trace_json_skip(json, r->args + 1, CHROME_ARGS_MAX - 1, &bytes) &&
		    bytes < CHROME_ARGS_MAX)
			return chrome_each_member(r, r->args, bytes + 1, head_member, NULL);
		return 0;
	}
	if (t.kind == TRACE_JSON_OBJECT || t.kind == TRACE_JSON_ARRAY)
		trace_json_skip(json, NULL, 0, NULL);
	return 0;
}

/* The object form, its brace read. */
static int read_object(struct chrome_reader *r)
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

static int read_file(struct chrome_reader *r)
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

static int init(struct chrome *c, struct chrome_reader *r)
{
	uint32_t other;
	int result = import_sort_init(&c->sort, c->order->directory);

	c->seed = c->strings.seed = util_seed();
	if (result == 0)
		result = trace_json_open(&c->json, c->order->fd);
	if (result == 0)
		result = choose_sources(c);
	if (result < 0)
		return result;
	other = import_strings_put(&c->strings, "(names beyond the limit)", 24);
	r->zero = import_strings_put(&c->strings, "0", 1);
	c->other_marker = r->zero && other ? chrome_marker_of(c, FPROF_MARKER_ZONE, other, 0) : 0;
	r->args = malloc(CHROME_ARGS_MAX + 1);
	r->note = malloc(CHROME_NOTE_MAX + 1);
	return r->args && r->note && c->other_marker ? 0 : -ENOMEM;
}

static void deinit(struct chrome *c, struct chrome_reader *r)
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
	free(c->marker_index.slots);
	free(c->thread_index.slots);
	free(c->process_index.slots);
	free(c);
}

int import_chrome(const struct import_order *order, struct import_result *result)
{
	struct chrome *c = calloc(1, sizeof(*c));
	struct chrome_reader reader = {.c = c};
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
