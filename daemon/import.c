/* SPDX-License-Identifier: MIT */
/*
 * What imports share. The writer builds chunks lane by lane and hands batches of about a MiB to the
 * capture file, so it holds no more of a session than one chunk a lane that is being written, and
 * one batch. The session's row goes first; its totals last.
 *
 * A file is refused by its importer only; whatever the writer is given is made valid: times that
 * run backwards in a lane are an importer's fault and -EINVAL.
 */
#include "import.h"

#include "capture_file.h"
#include "chunk_build.h"
#include "history.h"
#include "shm/layout.h"
#include "shm/word.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BATCH_BYTES    (1024u * 1024u)
#define BATCH_ROWS     4096u
#define NAME_BYTES_MAX (64u * 1024u * 1024u) /* of all markers */

const char *const import_format_names[IMPORT_FORMATS + 1] = {"auto", "chrome", "vprof"};

struct import_writer {
	struct capture_file *file;
	struct batch *batch;
	uint64_t session;
	uint32_t uid;
	uint32_t markers, tracks, main_track;
	uint64_t stored; /* events */
	uint64_t threads;
	uint64_t first_frame, last_frame, frames;
	uint64_t name_bytes;
	bool streams_done;
	char *name;
};

struct import_lane {
	struct import_writer *writer;
	uint32_t track, lane, depth;
	bool started;
	int64_t last;
	struct chunk_builder builder;
	struct chunk_open open[CHUNK_DEPTH_MAX];
};

/* ---- The report ---------------------------------------------------------------------------- */

static void count_one(struct import_count *counts, const char *name)
{
	size_t i;

	for (i = 0; i < IMPORT_COUNTS_MAX; i++) {
		if (!counts[i].name)
			counts[i].name = name;
		if (!strcmp(counts[i].name, name)) {
			counts[i].count++;
			return;
		}
	}
}

void import_report_add(struct import_report *report, const char *name, uint64_t event,
		       uint64_t byte, const char *format, ...)
{
	va_list arguments;

	count_one(report->counts, name);
	if (report->any && report->first_event <= event)
		return;
	report->any = true;
	report->first_event = event;
	report->first_byte = byte;
	va_start(arguments, format);
	vsnprintf(report->first_what, sizeof(report->first_what), format, arguments);
	va_end(arguments);
}

void import_report_ignore(struct import_report *report, const char *name)
{
	count_one(report->ignored, name);
}

/* ---- Batches ------------------------------------------------------------------------------- */

static int send(struct import_writer *w)
{
	struct batch *batch = w->batch;
	int r;

	w->batch = batch_new();
	r = w->batch ? capture_file_write(w->file, batch) : -ENOMEM;
	batch_free(batch);
	return r;
}

/* Called after each row: sends what has become large. */
static int added(struct import_writer *w)
{
	struct batch *b = w->batch;
	size_t rows = b->markers.count + b->chunks.count + b->frames.count +
		      b->frame_counters.count + b->gpu_spans.count + b->frame_gpus.count;

	return b->bytes >= BATCH_BYTES || rows >= BATCH_ROWS ? send(w) : 0;
}

int import_writer_new(const struct import_order *order, struct import_writer **ret_writer)
{
	struct import_writer *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	if (!w)
		return r;
	w->main_track = 1;
	w->session = MAX(order->session, (uint64_t)IMPORT_SESSION);
	w->batch = batch_new();
	if (w->batch)
		r = capture_file_new(order->directory, &w->file);
	if (r < 0) {
		import_writer_free(w);
		return r;
	}
	*ret_writer = w;
	return 0;
}

void import_writer_free(struct import_writer *w)
{
	if (!w)
		return;
	free(w->name);
	batch_free(w->batch);
	capture_file_free(w->file);
	free(w);
}

sqlite3 *import_writer_db(struct import_writer *w)
{
	return capture_file_db(w->file);
}

static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

int import_session(struct import_writer *w, const char *name, uint32_t uid, uint64_t start_utc_ns,
		   const char *facts_json)
{
	struct session_row row = {
		.id = w->session,
		.state = SESSION_ENDED,
		.uid = uid,
		.name = strdup(name),
		.facts_json = strdup(facts_json ? facts_json : "{}"),
		.clock_kind = FPROF_CLOCK_MONOTONIC,
		.clock_hz = 1e9,
		.clock_mult = 1,
		.start_utc_ns = start_utc_ns,
		.abi_major = FPROF_ABI_MAJOR,
	};
	int r;

	w->uid = uid;
	free(w->name);
	w->name = strdup(name);
	if (!w->name || !row.name || !row.facts_json || VEC_PUSH(&w->batch->sessions, row) < 0) {
		session_row_deinit(&row);
		return -ENOMEM;
	}
	r = VEC_PUSH(&w->batch->memories,
		     ((struct memory_row){.session = w->session, .origin = FPROF_ORIGIN_GAME}));
	return r < 0 ? r : send(w);
}

int import_info(struct import_writer *w, const char *key, const char *value)
{
	struct info_row row = {w->session, strdup(key), strdup(value)};

	if (!row.key || !row.value || VEC_PUSH(&w->batch->infos, row) < 0) {
		free(row.key);
		free(row.value);
		return -ENOMEM;
	}
	return 0;
}

/* ---- Markers ------------------------------------------------------------------------------- */

static int copy_marker(const struct marker_row *m, struct marker_row *ret)
{
	*ret = *m;
	ret->name = copy_or_null(m->name);
	ret->category = copy_or_null(m->category);
	ret->file = copy_or_null(m->file);
	if (ret->name && !ret->category == !m->category && !ret->file == !m->file)
		return 0;
	marker_row_deinit(ret);
	return -ENOMEM;
}

int import_marker_row(struct import_writer *w, const struct marker_row *row, uint32_t *ret_marker)
{
	size_t bytes = strlen(row->name);
	struct marker_row copy;
	int r;

	if (w->markers == MARKER_ID_MAX || w->name_bytes + bytes > NAME_BYTES_MAX)
		return -ENOSPC;
	r = copy_marker(row, &copy);
	if (r < 0)
		return r;
	copy.session = w->session;
	copy.marker = w->markers + 1;
	if (VEC_PUSH(&w->batch->markers, copy) < 0) {
		marker_row_deinit(&copy);
		return -ENOMEM;
	}
	w->name_bytes += bytes;
	*ret_marker = ++w->markers;
	return added(w);
}

int import_marker(struct import_writer *w, uint8_t kind, const char *name, const char *category,
		  uint32_t *ret_marker)
{
	struct marker_row row = {.kind = kind, .level = 1, .dynamic = 1};

	row.name = (char *)(uintptr_t)name;
	row.category = (char *)(uintptr_t)category;
	return import_marker_row(w, &row, ret_marker);
}

/* ---- Tracks and lanes ---------------------------------------------------------------------- */

int import_track_row(struct import_writer *w, const struct track_row *row, uint32_t *ret_track)
{
	struct track_row copy = *row;

	copy.session = w->session;
	copy.track = w->tracks + 1;
	copy.name = copy_or_null(row->name);
	if ((row->name && !copy.name) || VEC_PUSH(&w->batch->tracks, copy) < 0) {
		free(copy.name);
		return -ENOMEM;
	}
	if (copy.kind != TRACK_GPU_QUEUE)
		w->threads++;
	*ret_track = ++w->tracks;
	return 0;
}

int import_track(struct import_writer *w, enum track_kind kind, int32_t tid, const char *name,
		 uint32_t *ret_track)
{
	struct track_row row = {.kind = kind, .tid = tid, .end_ticks = INT64_MAX, .ns_per_tick = 1};

	row.name = (char *)(uintptr_t)name;
	return import_track_row(w, &row, ret_track);
}

void import_main(struct import_writer *w, uint32_t track)
{
	w->main_track = track;
}

int import_lane_new(struct import_writer *w, uint32_t track, uint32_t lane,
		    struct import_lane **ret_lane)
{
	struct import_lane *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->writer = w;
	l->track = track;
	l->lane = lane;
	l->depth = 0;
	l->started = false;
	l->last = INT64_MIN;
	chunk_build_init(&l->builder);
	*ret_lane = l;
	return 0;
}

void import_lane_free(struct import_lane *l)
{
	if (!l)
		return;
	chunk_build_deinit(&l->builder);
	free(l);
}

uint32_t import_lane_depth(const struct import_lane *l)
{
	return l->depth;
}

int import_lane_finish(struct import_lane *l)
{
	struct import_writer *w = l->writer;
	struct chunk_row row = {.session = w->session,
				.track = l->track,
				.lane = l->lane,
				.t0 = l->builder.t0,
				.t1 = l->builder.last,
				.events = l->builder.events,
				.depth_in = l->builder.depth_in};
	int r;

	if (!l->started)
		return 0;
	l->started = false;
	r = chunk_build_finish(&l->builder, &row.data, &row.bytes);
	if (r < 0)
		return r;
	w->stored += row.events;
	w->batch->bytes += row.bytes;
	if (VEC_PUSH(&w->batch->chunks, row) < 0) {
		free(row.data);
		return -ENOMEM;
	}
	return added(w);
}

/* Room for one event with so many bytes of payload, in a chunk that is not full. */
static int lane_ready(struct import_lane *l, int64_t t, size_t payload)
{
	int r = 0;

	if (t < l->last && l->last != INT64_MIN)
		return -EINVAL;
	if (l->started && chunk_build_bytes(&l->builder) + payload + 32 > CHUNK_BYTES_MAX)
		r = import_lane_finish(l);
	if (r < 0)
		return r;
	if (!l->started)
		chunk_build_start(&l->builder, t, l->open, l->depth);
	l->started = true;
	l->last = t;
	return chunk_build_room(&l->builder, 1, payload);
}

int import_begin(struct import_lane *l, int64_t t, uint32_t marker)
{
	int r;

	if (l->depth == CHUNK_DEPTH_MAX)
		return -E2BIG;
	r = lane_ready(l, t, 0);
	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_BEGIN + marker);
	l->open[l->depth++] = (struct chunk_open){marker, t};
	return 0;
}

int import_end(struct import_lane *l, int64_t t)
{
	int r = l->depth == 0 ? -EINVAL : lane_ready(l, t, 0);

	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_END);
	l->depth--;
	return 0;
}

int import_truncate(struct import_lane *l, int64_t t, uint32_t count)
{
	int r = l->depth < count ? -EINVAL : lane_ready(l, t, 10);

	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_TRUNCATE);
	chunk_build_varint(&l->builder, count);
	l->depth -= count;
	return 0;
}

int import_instant(struct import_lane *l, int64_t t, uint32_t marker)
{
	int r = lane_ready(l, t, 10);

	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_INSTANT);
	chunk_build_varint(&l->builder, marker);
	return 0;
}

int import_message(struct import_lane *l, int64_t t, uint32_t marker, uint32_t colour,
		   const char *text, size_t bytes)
{
	int r;

	bytes = MIN(bytes, FPROF_TEXT_MAX);
	r = lane_ready(l, t, 30 + bytes);
	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_MESSAGE);
	chunk_build_varint(&l->builder, marker);
	chunk_build_varint(&l->builder, colour);
	chunk_build_varint(&l->builder, bytes);
	chunk_build_raw(&l->builder, text, bytes);
	return 0;
}

/* A counter's value, or without a marker one of the innermost zone: real, or whole where that is
 * NULL. */
static int put_number(struct import_lane *l, int64_t t, uint32_t marker, uint32_t type,
		      int64_t whole, const double *real)
{
	int r = lane_ready(l, t, 30);

	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, marker ? CHUNK_COUNTER : CHUNK_VALUE);
	if (marker)
		chunk_build_varint(&l->builder, marker);
	chunk_build_varint(&l->builder, type);
	if (real)
		chunk_build_raw(&l->builder, real, sizeof(*real));
	else
		chunk_build_varint(&l->builder, chunk_zigzag(whole));
	return 0;
}

int import_set_int(struct import_lane *l, int64_t t, uint32_t marker, int64_t value)
{
	return put_number(l, t, marker, FPROF_COUNTER_SET | FPROF_VALUE_I64 << 1, value, NULL);
}

int import_set_double(struct import_lane *l, int64_t t, uint32_t marker, double value)
{
	return put_number(l, t, marker, FPROF_COUNTER_SET | FPROF_VALUE_F64 << 1, 0, &value);
}

int import_text(struct import_lane *l, int64_t t, const char *text, size_t bytes)
{
	int r;

	bytes = MIN(bytes, FPROF_TEXT_MAX);
	r = lane_ready(l, t, 10 + bytes);
	if (r < 0)
		return r;
	chunk_build_event(&l->builder, t, CHUNK_TEXT);
	chunk_build_varint(&l->builder, bytes);
	chunk_build_raw(&l->builder, text, bytes);
	return 0;
}

int import_value_int(struct import_lane *l, int64_t t, int64_t value)
{
	return put_number(l, t, 0, FPROF_VALUE_I64, value, NULL);
}

int import_value_double(struct import_lane *l, int64_t t, double value)
{
	return put_number(l, t, 0, FPROF_VALUE_F64, 0, &value);
}

int import_flags(struct import_lane *l, int64_t t, uint32_t flags)
{
	return put_number(l, t, 0, CHUNK_VALUE_FLAGS, flags, NULL);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

void import_frame_init(struct frame_row *row, uint64_t number, int64_t t0, int64_t t1)
{
	*row = (struct frame_row){.frame = number,
				  .engine_id = -1,
				  .t0 = t0,
				  .t1 = t1,
				  .begin_ns = t0,
				  .end_ns = t1,
				  .cpu_ns = NS_UNKNOWN,
				  .wait_gpu_ns = NS_UNKNOWN,
				  .wait_present_ns = NS_UNKNOWN,
				  .wait_cap_ns = NS_UNKNOWN};
}

/* The main stream's row, before its first frame. */
static int add_stream(struct import_writer *w)
{
	struct stream_row row = {
		.session = w->session, .name = strdup("main"), .track = w->main_track};

	if (w->streams_done) {
		free(row.name);
		return 0;
	}
	if (!row.name || VEC_PUSH(&w->batch->streams, row) < 0) {
		free(row.name);
		return -ENOMEM;
	}
	w->streams_done = true;
	return 0;
}

int import_frame(struct import_writer *w, const struct frame_row *row)
{
	struct frame_row copy = *row;
	int r = add_stream(w);

	if (r < 0)
		return r;
	copy.session = w->session;
	copy.track = w->main_track;
	if (VEC_PUSH(&w->batch->frames, copy) < 0)
		return -ENOMEM;
	if (copy.stream == 0) {
		if (w->frames++ == 0)
			w->first_frame = copy.frame;
		w->last_frame = copy.frame;
	}
	return added(w);
}

int import_frame_counter(struct import_writer *w, const struct frame_counter_row *row)
{
	struct frame_counter_row copy = *row;

	copy.session = w->session;
	return VEC_PUSH(&w->batch->frame_counters, copy) < 0 ? -ENOMEM : added(w);
}

int import_gpu_span(struct import_writer *w, const struct gpu_span_row *row)
{
	struct gpu_span_row copy = *row;

	copy.session = w->session;
	return VEC_PUSH(&w->batch->gpu_spans, copy) < 0 ? -ENOMEM : added(w);
}

int import_frame_gpu(struct import_writer *w, const struct frame_gpu_row *row)
{
	struct frame_gpu_row copy = *row;

	copy.session = w->session;
	return VEC_PUSH(&w->batch->frame_gpus, copy) < 0 ? -ENOMEM : added(w);
}

static int end_session(struct import_writer *w, int64_t end_ns)
{
	struct session_update_row row = {.id = w->session,
					 .state = SESSION_ENDED,
					 .end_reason = strdup("imported"),
					 .end_ns = end_ns,
					 .frames_total = w->frames,
					 .produced = w->stored,
					 .received = w->stored,
					 .stored = w->stored};
	int r = row.end_reason ? add_stream(w) : -ENOMEM;

	if (r == 0)
		r = VEC_PUSH(&w->batch->updates, row);
	if (r < 0) {
		free(row.end_reason);
		return r;
	}
	return send(w);
}

/* What is said of the capture, in its row and in its file. */
static int describe(struct import_writer *w, struct capture *c)
{
	char file[48];

	captures_file_name(w->session, file, sizeof(file));
	free(c->name);
	free(c->file);
	c->name = w->name;
	w->name = NULL;
	c->file = strdup(file);
	c->kind = CAPTURE_IMPORTED;
	c->uid = w->uid;
	c->session = w->session;
	c->first_frame = w->first_frame;
	c->last_frame = w->last_frame;
	c->created_utc_ns = clock_ns(CLOCK_REALTIME);
	return c->file ? captures_write_meta(capture_file_db(w->file), c, INT64_MAX) : -ENOMEM;
}

/* What is not in the session stays with it: "bad_ts 2, unclosed 1; the first is event 4, at byte
 * 211". */
static int tell(struct import_writer *w, const struct import_report *report)
{
	char text[1024];
	size_t i, n = 0;

	for (i = 0; i < IMPORT_COUNTS_MAX && report->counts[i].name && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %" PRIu64, i ? ", " : "",
				      report->counts[i].name, report->counts[i].count);
	if (n == 0)
		return 0;
	if (n < sizeof(text))
		snprintf(text + n, sizeof(text) - n,
			 "; the first is event %" PRIu64 ", at byte %" PRIu64, report->first_event,
			 report->first_byte);
	return import_info(w, "import.not_read", text);
}

int import_writer_finish(struct import_writer *w, int64_t end_ns, struct import_result *result)
{
	int r = tell(w, &result->report);

	if (r == 0)
		r = end_session(w, end_ns);
	result->report.frames = w->frames;
	if (r == 0)
		r = describe(w, &result->capture);
	return r == 0 ? capture_file_finish(w->file, result->capture.file) : r;
}
