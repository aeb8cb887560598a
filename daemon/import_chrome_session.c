/* SPDX-License-Identifier: MIT */
/*
 * Times of other tools' files count from anywhere: the session starts with the file's first event.
 * Where that is a time since 1970, it is the session's date. A file of our own counts from the
 * session's start already.
 *
 * A session is one process: threads of several are told apart by "process / thread" in their names;
 * the infos import.process.TRACK and import.thread.TRACK keep the two as they were.
 *
 * Frames: our own export's as they were; else from a name: each zone of it begins a frame, each
 * instant of it ends one, of the thread that has most of them. Without any, the whole file is one
 * frame, and the report says so.
 */
#include "import_chrome_session.h"

#include "shm/layout.h"

#include <errno.h>
#include <string.h>

#define UTC_FROM INT64_C(1000000000000000000) /* ns: 2001 */

static const char *text_of(const struct chrome_session *s, uint32_t string)
{
	return import_strings_at(&s->c->strings, string);
}

/* ---- Tracks -------------------------------------------------------------------------------- */

static const char *process_name(const struct chrome_session *s, uint32_t pid)
{
	const struct chrome *c = s->c;
	size_t i;

	for (i = 0; i < c->processes.count; i++)
		if (c->processes.at[i].pid == pid && c->processes.at[i].name)
			return text_of(s, c->processes.at[i].name);
	return text_of(s, pid);
}

/* Have threads that are used more than one process? */
static bool has_processes(const struct chrome *c)
{
	uint32_t pid = 0;
	size_t i;

	for (i = 0; i < c->threads.count; i++) {
		if (!c->threads.at[i].used)
			continue;
		if (pid && c->threads.at[i].pid != pid)
			return true;
		pid = c->threads.at[i].pid;
	}
	return false;
}

/* The thread's name in the session; NULL: none. */
static const char *track_name(const struct chrome_session *s, const struct chrome_thread *t,
			      char *buffer, size_t size)
{
	const char *name = text_of(s, t->name ? t->name : t->tid);

	if (s->c->own)
		return t->name ? name : NULL;
	if (!has_processes(s->c))
		return name;
	snprintf(buffer, size, "%.*s / %s", (int)IMPORT_NAME_MAX, process_name(s, t->pid), name);
	return buffer;
}

static int add_track(struct chrome_session *s, uint32_t thread, uint32_t *ret_track)
{
	const struct chrome_thread *t = &s->c->threads.at[thread];
	char name[2 * IMPORT_NAME_MAX + 8], key[48];
	struct track_row row = t->row;
	int r;

	if (!s->c->own) {
		long long v = strtoll(text_of(s, t->tid), NULL, 10);

		row.tid = v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
	}
	row.name = (char *)(uintptr_t)track_name(s, t, name, sizeof(name));
	r = import_track_row(s->w, &row, ret_track);
	if (r < 0 || s->c->own)
		return r;
	snprintf(key, sizeof(key), "import.process.%u", *ret_track);
	r = import_info(s->w, key, process_name(s, t->pid));
	snprintf(key, sizeof(key), "import.thread.%u", *ret_track);
	return r < 0 ? r : import_info(s->w, key, text_of(s, t->name ? t->name : t->tid));
}

/* In the order that the file wants (thread_sort_index), else as they came. */
static int add_tracks(struct chrome_session *s)
{
	size_t count = s->c->threads.count, i, k;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (i = 0; i < count && r == 0; i++) {
		for (k = i;
		     k > 0 && s->c->threads.at[order[k - 1]].order > s->c->threads.at[i].order; k--)
			order[k] = order[k - 1];
		order[k] = (uint32_t)i;
	}
	for (i = 0; i < count && r == 0; i++)
		if (s->c->threads.at[order[i]].used)
			r = add_track(s, order[i], &s->tracks[order[i]]);
	free(order);
	return r;
}

int chrome_session_lane(struct chrome_session *s, uint32_t thread, uint32_t lane,
			uint32_t *ret_track)
{
	*ret_track = s->tracks[thread];
	if (lane == 0 && *ret_track)
		return 0;
	return add_track(s, thread, ret_track);
}

/* ---- Markers ------------------------------------------------------------------------------- */

uint32_t chrome_session_marker(struct chrome_session *s, uint32_t marker)
{
	struct chrome_marker *m = &s->c->markers.at[marker - 1];
	struct marker_row row = {.kind = m->kind,
				 .level = m->level,
				 .unit = m->unit,
				 .dynamic = m->dynamic,
				 .line = m->line,
				 .colour = m->colour};
	int r;

	if (m->id)
		return m->id;
	row.name = (char *)(uintptr_t)text_of(s, m->name);
	row.category = m->category ? (char *)(uintptr_t)text_of(s, m->category) : NULL;
	row.file = m->file ? (char *)(uintptr_t)text_of(s, m->file) : NULL;
	r = import_marker_row(s->w, &row, &m->id);
	if (r < 0 && s->error == 0)
		s->error = r;
	return m->id;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct chrome_boundary *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Keeps the boundaries of the thread that has most; the first of equals. */
static uint32_t keep_busiest(struct chrome_session *s, struct chrome_source *source)
{
	size_t *counts = calloc(s->c->threads.count + 1, sizeof(*counts));
	size_t i, kept = 0;
	uint32_t best = 0;

	if (!counts)
		return 0;
	for (i = 0; i < source->at.count; i++)
		counts[source->at.at[i].thread]++;
	for (i = 0; i < s->c->threads.count; i++)
		if (counts[i] > counts[best])
			best = (uint32_t)i;
	free(counts);
	for (i = 0; i < source->at.count; i++)
		if (source->at.at[i].thread == best)
			source->at.at[kept++] = source->at.at[i];
	source->at.count = kept;
	return best;
}

static int push_frame(struct chrome_session *s, int64_t t0, int64_t t1)
{
	struct frame_row row;

	if (t1 <= t0)
		return 0;
	import_frame_init(&row, s->frames.count + 1, t0 - s->base, t1 - s->base);
	return VEC_PUSH(&s->frames, row);
}

/* What lies before the first is a frame of its own, which is not to be counted. */
static int first_frame(struct chrome_session *s, int64_t t)
{
	int r = push_frame(s, s->c->first, t);

	if (s->frames.count > 0)
		s->frames.at[0].flags |= FRAME_STARTUP;
	return r;
}

static int frames_of(struct chrome_session *s, struct chrome_source *source)
{
	const struct chrome_boundary *b = source->at.at;
	size_t count = source->at.count, i;
	int64_t end = INT64_MIN;
	int r;

	qsort(source->at.at, count, sizeof(*b), by_time);
	r = first_frame(s, b[0].begin);
	for (i = 0; i + 1 < count && r == 0; i++)
		r = push_frame(s, b[i].begin, b[i + 1].begin);
	for (i = 0; i < count; i++)
		end = MAX(end, b[i].end);
	if (source->zone && r == 0)
		r = push_frame(s, b[count - 1].begin, end > b[count - 1].begin ? end : s->c->last);
	return r;
}

static int own_frames(struct chrome_session *s)
{
	size_t i;

	for (i = 0; i < s->c->frames.count; i++) {
		struct frame_row row = s->c->frames.at[i].row;

		row.t0 = row.begin_ns -= s->base;
		row.t1 = row.end_ns -= s->base;
		if (s->frames.count > 0 && (row.frame <= s->frames.at[s->frames.count - 1].frame ||
					    row.t0 < s->frames.at[s->frames.count - 1].t1))
			continue; /* not as we write them */
		if (VEC_PUSH(&s->frames, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The first name that occurs often enough: chosen ones once, known ones twice. */
static struct chrome_source *find_source(struct chrome *c)
{
	size_t i;

	for (i = 0; i < c->source_count; i++)
		if (c->sources[i].at.count >= (c->sources[i].chosen ? 1 : 2))
			return &c->sources[i];
	return NULL;
}

static int make_frames(struct chrome_session *s, uint32_t *ret_thread)
{
	struct chrome_source *source = find_source(s->c);
	struct import_report *report = s->c->report;

	if (s->c->source_count == 1 && !source)
		return import_chrome_fail(s->c, -ENOENT, "no %s named \"%.64s\" is in the file",
					  s->c->sources[0].zone ? "zone" : "instant",
					  s->c->sources[0].name);
	if (s->c->frames.count > 0 && !(source && source->chosen)) {
		snprintf(report->frames_from, sizeof(report->frames_from), "fprof");
		return own_frames(s);
	}
	if (source) {
		*ret_thread = keep_busiest(s, source);
		snprintf(report->frames_from, sizeof(report->frames_from), "%s:%.80s",
			 source->zone ? "zone" : "instant", source->name);
		return frames_of(s, source);
	}
	snprintf(report->frames_from, sizeof(report->frames_from), "the whole file is one frame");
	return push_frame(s, s->c->first, s->c->last + 1);
}

static size_t frame_at(const struct chrome_session *s, int64_t t, size_t hint)
{
	const struct frame_row *f = s->frames.at;
	size_t low = 0, high = s->frames.count;

	if (hint < high && f[hint].t0 <= t && t < f[hint].t1)
		return hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f[middle].t1 <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->frames.count && f[low].t0 <= t ? low : SIZE_MAX;
}

void chrome_session_count(struct chrome_session *s, int64_t ts, size_t *hint)
{
	size_t at;

	if (s->c->frames.count > 0)
		return; /* our own say how many there were */
	at = frame_at(s, ts - s->base, *hint);
	if (at == SIZE_MAX)
		return;
	s->frames.at[at].events++;
	*hint = at;
}

/* ---- Counters ------------------------------------------------------------------------------ */

/* Rows of the frames before `to`. */
static int write_values(struct chrome_session *s, size_t to)
{
	struct chrome_counter *n = &s->counter;
	int r = 0;

	for (; n->frame < to && r == 0; n->frame++) {
		struct frame_counter_row row = {.frame = s->frames.at[n->frame].frame,
						.marker = n->marker,
						.is_double = n->is_double};

		row.value.i = n->value.i;
		if (n->known)
			r = import_frame_counter(s->w, &row);
	}
	return r;
}

int chrome_session_value(struct chrome_session *s, const struct import_record *record)
{
	const struct chrome_marker *m = &s->c->markers.at[record->marker - 1];
	struct chrome_counter *n = &s->counter;
	uint32_t marker = chrome_session_marker(s, record->marker);
	size_t at;
	int r = 0;

	if (n->marker != marker) {
		r = write_values(s, n->marker ? s->frames.count : 0);
		*n = (struct chrome_counter){.marker = marker, .is_double = m->is_double};
	}
	/* the frame in progress: all before it keep the value that there was */
	at = frame_at(s, record->ts - s->base, n->frame);
	if (r == 0 && at != SIZE_MAX)
		r = write_values(s, at);
	else if (r == 0 && s->frames.count > 0 &&
		 record->ts - s->base >= s->frames.at[s->frames.count - 1].t1)
		r = write_values(s, s->frames.count);
	n->known = true;
	if (n->is_double && !(record->flags & CHROME_DOUBLE))
		n->value.d = (double)record->value.i;
	else
		n->value.i = record->value.i;
	return r;
}

/* ---- GPU ----------------------------------------------------------------------------------- */

static int end_queue(struct chrome_session *s)
{
	size_t i;
	int r = 0;

	for (i = 0; i < s->queue_frames.count && r == 0 && s->queue; i++) {
		const struct chrome_queue_frame *q = &s->queue_frames.at[i];
		struct frame_gpu_row row = {.frame = s->frames.at[i].frame,
					    .track = s->queue,
					    .span_ns = q->end - q->begin,
					    .busy_ns = q->busy,
					    .spans = q->spans,
					    .final = true};

		if (q->spans > 0)
			r = import_frame_gpu(s->w, &row);
	}
	s->queue_frames.count = 0;
	s->queue = 0;
	return r;
}

static int start_queue(struct chrome_session *s, uint32_t track)
{
	int r = end_queue(s);

	if (r < 0 || VEC_RESERVE(&s->queue_frames, s->frames.count) < 0)
		return r < 0 ? r : -ENOMEM;
	memset(s->queue_frames.at, 0, s->frames.count * sizeof(*s->queue_frames.at));
	s->queue_frames.count = s->frames.count;
	s->queue = track;
	return 0;
}

static void add_span(struct chrome_session *s, const struct gpu_span_row *span)
{
	size_t low = 0, high = s->frames.count;
	struct chrome_queue_frame *q;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->frames.at[middle].frame < span->frame)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->frames.count || s->frames.at[low].frame != span->frame)
		return;
	q = &s->queue_frames.at[low];
	if (q->spans++ == 0)
		*q = (struct chrome_queue_frame){span->begin_ns, span->end_ns, span->begin_ns, 0,
						 1};
	q->end = MAX(q->end, span->end_ns);
	if (span->end_ns > q->busy_end)
		q->busy += span->end_ns - MAX(span->begin_ns, q->busy_end);
	q->busy_end = MAX(q->busy_end, span->end_ns);
}

int chrome_session_span(struct chrome_session *s, const struct import_record *record)
{
	uint32_t track = s->tracks[record->thread];
	struct chrome_span said;
	struct gpu_span_row row;
	const void *data;
	size_t bytes;
	int r = track != s->queue ? start_queue(s, track) : 0;

	if (r == 0)
		r = import_extras_get(&s->c->extras, record->extra, &data, &bytes);
	if (r < 0)
		return r;
	memcpy(&said, data, sizeof(said));
	row = (struct gpu_span_row){.frame = MIN(said.frame, (uint64_t)INT64_MAX),
				    .track = track,
				    .marker = chrome_session_marker(s, record->marker),
				    .submission = said.submission,
				    .view = (uint32_t)said.view,
				    .fence = said.fence,
				    .begin_ns = record->ts - s->base,
				    .end_ns = record->ts - s->base + record->value.dur,
				    .calibrated = said.calibrated,
				    .raw_begin = said.raw_begin,
				    .raw_end = said.raw_end};
	add_span(s, &row);
	s->c->report->zones++;
	return import_gpu_span(s->w, &row);
}

/* ---- The whole ----------------------------------------------------------------------------- */

static const char *session_name(const struct chrome_session *s)
{
	const struct chrome *c = s->c;

	if (c->order->name)
		return c->order->name;
	if (c->name[0])
		return c->name;
	if (!has_processes(c) && c->processes.count > 0 && c->processes.at[0].name)
		return text_of(s, c->processes.at[0].name);
	return "Chrome trace";
}

static int add_session(struct chrome_session *s)
{
	const struct chrome *c = s->c;
	uint64_t utc = c->own ? c->start_utc_ns : s->base >= UTC_FROM ? (uint64_t)s->base : 0;
	char facts[128];

	snprintf(facts, sizeof(facts), "{\"import\":{\"format\":\"chrome\",\"start_ns\":%lld}}",
		 (long long)s->base);
	return import_session(s->w, session_name(s), c->order->uid, utc, facts);
}

/* The main stream's thread: our own export says it, else that of the frames, else the first. */
static int choose_main(struct chrome_session *s, uint32_t thread)
{
	char tid[24];
	size_t i;

	snprintf(tid, sizeof(tid), "%lld", (long long)s->c->main_thread);
	for (i = 0; s->c->own && i < s->c->threads.count; i++)
		if (!strcmp(text_of(s, s->c->threads.at[i].tid), tid))
			thread = (uint32_t)i;
	if (thread >= s->c->threads.count || !s->tracks[thread])
		return 0;
	import_main(s->w, s->tracks[thread]);
	return 0;
}

int chrome_session_init(struct chrome_session *s, struct chrome *c, struct import_writer *w)
{
	uint32_t thread = UINT32_MAX;
	int r;

	memset(s, 0, sizeof(*s));
	s->c = c;
	s->w = w;
	s->base = c->own ? MIN(c->first, 0) : c->first;
	s->tracks = calloc(c->threads.count + 1, sizeof(*s->tracks));
	if (!s->tracks)
		return -ENOMEM;
	r = add_session(s);
	if (r == 0)
		r = add_tracks(s);
	if (r == 0)
		r = make_frames(s, &thread);
	return r < 0 ? r : choose_main(s, thread);
}

void chrome_session_deinit(struct chrome_session *s)
{
	free(s->tracks);
	VEC_FREE(&s->frames);
	VEC_FREE(&s->queue_frames);
}

int chrome_session_finish(struct chrome_session *s)
{
	size_t i;
	int r = s->error;

	if (r == 0 && s->counter.marker)
		r = write_values(s, s->frames.count);
	if (r == 0)
		r = end_queue(s);
	for (i = 0; i < s->frames.count && r == 0; i++)
		r = import_frame(s->w, &s->frames.at[i]);
	return r;
}

static int64_t end_of(const struct chrome_session *s)
{
	int64_t end = s->c->last - s->base;

	return s->frames.count > 0 ? MAX(end, s->frames.at[s->frames.count - 1].t1) : end;
}

int import_chrome_write(struct chrome *c)
{
	struct import_writer *w = NULL;
	struct chrome_session s = {0};
	int r = import_writer_new(c->order, &w);

	if (r == 0)
		r = chrome_session_init(&s, c, w);
	if (r == 0)
		r = chrome_zones(c, w, &s);
	if (r == 0)
		r = chrome_session_finish(&s);
	if (r == 0)
		r = import_writer_finish(w, end_of(&s), c->result);
	chrome_session_deinit(&s);
	import_writer_free(w);
	return r;
}
