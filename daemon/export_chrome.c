/* SPDX-License-Identifier: MIT */
/*
 * Chrome trace JSON, as chrome://tracing, Perfetto and speedscope read it. Tracks are threads (tid:
 * the track's number; the game's own is in the name's args), GPU queues the threads of a process
 * of their own. Zones are complete events (X), written as they end; frames and spikes are instants,
 * counters C; flows lead from a thread to the fiber that it goes on with, and from a frame to each
 * GPU submission of it.
 *
 * Time points become ns (range_ns), and a duration is the difference of two of them: what nests or
 * touches in the recording does so in print, digit for digit.
 *
 * Viewers take zones of equal times by their order in the file, parents first, while children end
 * first. So zones that ended at the same time wait until time goes on, and each goes before what
 * lies in it. What even that order does not tell (zones of no length, and others that begin at the
 * same time) carries its place in "fprof", as do texts, values and flags: args would make viewers
 * take each call for another zone. Only our own importer reads that, and so brings back what was
 * exported.
 */
#include "chunk.h"
#include "export.h"
#include "history_impl.h"
#include "util.h"

#include <errno.h>

#define PID_GAME    1
#define PID_GPU	    2
#define WAITING_MAX 1024u

/* A zone that has ended, now. */
struct waiting {
	struct range_zone zone;
	int64_t begin, end; /* ns */
	uint16_t tie;	    /* begins at the same time before it, on the track */
	char *text;	    /* owned */
};

/* The end of an event's text, from its name on: the same for all of a marker. */
struct tail {
	char *text; /* NULL: not made yet */
	size_t bytes;
};

struct counter_seen {
	bool any, adds;
	size_t frame; /* of the first */
};

struct chrome {
	const struct export_order *order;
	const struct range *range;
	struct export_out *out;
	struct tail *tails; /* by marker; one more for the unknown */
	size_t markers;
	struct counter_seen *counters; /* by marker */
	uint64_t flows;
	uint64_t last_submission;
	bool any_submission;

	/* The track in progress. */
	uint32_t track;
	char head[64]; /* ,"pid":1,"tid":7,"ts": */
	size_t head_bytes;
	int64_t now; /* ns of the newest begin or end */
	int64_t begin_ns[CHUNK_DEPTH_MAX * 2 + 1];
	uint16_t begin_tie[CHUNK_DEPTH_MAX * 2 + 1];
	int64_t last_begin;
	uint16_t tie;
	size_t frame; /* a hint */
	struct waiting waiting[WAITING_MAX];
	size_t waiting_count;
};

static int64_t ns_of(const struct chrome *c, int64_t ticks)
{
	return range_ns(c->range, ticks);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Starts an event on the track in progress at ns: {"ph":"X","pid":1,"tid":7,"ts":1.000 */
static char *begin_event(struct chrome *c, const char *phase, int64_t ns)
{
	char *p = export_room(c->out);

	memcpy(p, ",\n{\"ph\":\"", 9);
	p[9] = *phase;
	p[10] = '"';
	p += 11;
	memcpy(p, c->head, c->head_bytes);
	return export_put_us(p + c->head_bytes, ns);
}

static void set_head(struct chrome *c, int pid, uint32_t track)
{
	c->track = track;
	c->head_bytes = (size_t)snprintf(c->head, sizeof(c->head),
					 ",\"pid\":%d,\"tid\":%u,\"ts\":", pid, track);
}

/* ,"name":"...","cat":"..." of a marker. */
static const struct tail *tail_of(struct chrome *c, uint32_t marker)
{
	const struct marker_row *row = range_marker(c->range, marker);
	struct tail *tail = &c->tails[marker < c->markers ? marker : c->markers];
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *category = NULL;
	int n;

	if (tail->text)
		return tail;
	name = export_quoted(export_name(c->range, marker));
	if (row && row->category)
		category = export_quoted(row->category);
	n = name ? asprintf(&tail->text, ",\"name\":%s%s%s", name, category ? ",\"cat\":" : "",
			    category ? category : "")
		 : -1;
	if (n < 0) {
		tail->text = NULL;
		c->out->error = -ENOMEM;
		return NULL;
	}
	tail->bytes = (size_t)n;
	return tail;
}

static void put_tail(struct chrome *c, uint32_t marker)
{
	const struct tail *tail = tail_of(c, marker);

	if (tail)
		export_bytes(c->out, tail->text, tail->bytes);
}

static void put_number(struct chrome *c, bool is_double, int64_t i, double d)
{
	if (is_double)
		export_double(c->out, d);
	else
		export_int(c->out, i);
}

/* ---- The head ------------------------------------------------------------------------------ */

/* All that events do not say of a marker: [kind, name, category, file, line, colour, ...]. */
static void put_markers(struct chrome *c)
{
	bool first = true;
	uint32_t i;

	export_text(c->out, "\"fprofMarkers\":[");
	for (i = 0; i < c->range->markers.count; i++) {
		const struct marker_row *m = range_marker(c->range, i);
		char *p;

		if (!m)
			continue;
		export_text(c->out, first ? "\n[" : ",\n[");
		first = false;
		export_int(c->out, m->kind);
		export_text(c->out, ",");
		export_string(c->out, m->name);
		export_text(c->out, ",");
		export_string(c->out, m->category);
		export_text(c->out, ",");
		export_string(c->out, m->file);
		p = export_room(c->out);
		p += sprintf(p, ",%u,%u,%u,%u,%u]", m->line, m->colour, m->level, m->unit,
			     m->dynamic);
		export_advance(c->out, p);
	}
	export_text(c->out, "\n],\n");
}

static void put_head(struct chrome *c)
{
	const struct range *r = c->range;
	char *p;

	export_text(c->out, "{\"displayTimeUnit\":\"ms\",\n\"fprof\":{\"version\":1,\"name\":");
	export_string(c->out, r->row.name);
	p = export_room(c->out);
	p += sprintf(p, ",\"start_utc_ns\":%llu,\"main\":%u},\n",
		     (unsigned long long)r->row.start_utc_ns,
		     r->tracks.count > 0 ? r->tracks.at[0].track : 0);
	export_advance(c->out, p);
	put_markers(c);
}

static void put_process(struct chrome *c, int pid, const char *name, const char *separator)
{
	char *p = export_room(c->out);

	p += sprintf(p,
		     "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_name\","
		     "\"args\":{\"name\":",
		     separator, pid);
	export_advance(c->out, p);
	export_string(c->out, name);
	export_text(c->out, "}}");
}

static void put_thread(struct chrome *c, size_t index)
{
	static const char *const kinds[] = {"thread", "fiber", "gpu queue"};
	const struct track_row *t = &c->range->tracks.at[index];
	int pid = t->kind == TRACK_GPU_QUEUE ? PID_GPU : PID_GAME;
	char *p = export_room(c->out);

	p += sprintf(p,
		     ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{"
		     "\"kind\":\"%s\",\"track\":[%d,%lld,",
		     pid, t->track, kinds[MIN((unsigned)t->kind, 2u)], t->tid,
		     (long long)ns_of(c, t->begin_ticks));
	if (t->end_ticks == INT64_MAX)
		p = stpcpy(p, "null");
	else
		p = export_put_int(p, ns_of(c, t->end_ticks));
	p += sprintf(p, ",%u],\"ns_per_tick\":", t->valid_bits);
	export_advance(c->out, p);
	export_double(c->out, t->ns_per_tick);
	if (t->name) {
		export_text(c->out, ",\"name\":");
		export_string(c->out, t->name);
	}
	p = export_room(c->out);
	p += sprintf(p,
		     "}},\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_sort_index\","
		     "\"args\":{\"sort_index\":%zu}}",
		     pid, t->track, index);
	export_advance(c->out, p);
}

static void put_ns(struct chrome *c, int64_t ns)
{
	if (ns == NS_UNKNOWN)
		export_text(c->out, ",null");
	else
		export_advance(c->out,
			       export_put_int((export_text(c->out, ","), export_room(c->out)), ns));
}

static void put_frame(struct chrome *c, const struct frame_row *f)
{
	char *p = begin_event(c, "i", f->begin_ns);

	p += sprintf(p,
		     ",\"s\":\"p\",\"name\":\"Frame\",\"cat\":\"fprof.frame\",\"args\":{\"frame\":"
		     "%llu,\"wall_us\":",
		     (unsigned long long)f->frame);
	p = export_put_us(p, f->end_ns - f->begin_ns);
	p += sprintf(p, ",\"row\":[%lld,%lld", (long long)f->end_ns, (long long)f->engine_id);
	export_advance(c->out, p);
	put_ns(c, f->cpu_ns);
	put_ns(c, f->wait_gpu_ns);
	put_ns(c, f->wait_present_ns);
	put_ns(c, f->wait_cap_ns);
	p = export_room(c->out);
	p += sprintf(p, ",%llu,%llu,%u]}}", (unsigned long long)f->events,
		     (unsigned long long)f->lost_events, f->flags);
	export_advance(c->out, p);
}

/* The frame that a spike is about; 0: its reason does not say. */
static uint64_t spike_frame(const char *reason)
{
	const char *at = reason ? strstr(reason, "\"frame\":") : NULL;

	return at ? strtoull(at + 8, NULL, 10) : 0;
}

static void put_spike(struct chrome *c, const struct capture *spike)
{
	const struct history_frames *frames = &c->range->frames;
	uint64_t frame = spike_frame(spike->reason_json);
	size_t i;

	for (i = 0; i < frames->frames.count; i++)
		if (frames->frames.at[i].row.frame == frame)
			break;
	if (i == frames->frames.count)
		return;
	export_advance(c->out, begin_event(c, "i", frames->frames.at[i].row.begin_ns));
	export_text(c->out, ",\"s\":\"g\",\"name\":\"Spike\",\"cat\":\"fprof.spike\",\"args\":{"
			    "\"frame\":");
	export_int(c->out, (int64_t)frame);
	export_text(c->out, ",\"capture\":");
	export_int(c->out, (int64_t)spike->session);
	export_text(c->out, ",\"name\":");
	export_string(c->out, spike->name);
	export_text(c->out, ",\"reason\":");
	export_text(c->out, spike->reason_json);
	export_text(c->out, "}}");
}

static void put_metadata(struct chrome *c)
{
	const struct range *r = c->range;
	bool gpu = false;
	size_t i;

	export_text(c->out, "\"traceEvents\":[");
	put_process(c, PID_GAME, r->row.name ? r->row.name : "game", "\n");
	for (i = 0; i < r->tracks.count; i++)
		gpu |= r->tracks.at[i].kind == TRACK_GPU_QUEUE;
	if (gpu)
		put_process(c, PID_GPU, "GPU", ",\n");
	for (i = 0; i < r->tracks.count; i++)
		put_thread(c, i);
	set_head(c, PID_GAME, r->tracks.count > 0 ? r->tracks.at[0].track : 0);
	for (i = 0; i < r->frames.frames.count; i++)
		put_frame(c, &r->frames.frames.at[i].row);
	for (i = 0; i < c->order->capture_count; i++)
		if (c->order->captures[i].kind == CAPTURE_SPIKE)
			put_spike(c, &c->order->captures[i]);
}

/* ---- Zones --------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct range_zone *z)
{
	return (z->flags & ZONE_IMPORTED) | (z->flags & ZONE_OPEN ? (uint32_t)ZONE_UNCLOSED : 0u);
}

/* ,"fprof":{...}: what only we read. */
static void put_note(struct chrome *c, const struct waiting *w)
{
	bool tied = w->tie > 0 || w->begin == w->end;
	const char *separator = "";
	char *p;

	export_text(c->out, ",\"fprof\":{");
	if (tied) {
		p = export_room(c->out);
		p += sprintf(p, "\"tie\":[%u,%u]", w->tie, w->zone.depth);
		export_advance(c->out, p);
		separator = ",";
	}
	if (flags_of(&w->zone)) {
		p = export_room(c->out);
		p += sprintf(p, "%s\"flags\":%u", separator, flags_of(&w->zone));
		export_advance(c->out, p);
		separator = ",";
	}
	if (w->zone.has_value) {
		export_text(c->out, separator);
		export_text(c->out, "\"value\":");
		put_number(c, w->zone.value_is_double, w->zone.value.i, w->zone.value.d);
		separator = ",";
	}
	if (w->text) {
		export_text(c->out, separator);
		export_text(c->out, "\"text\":");
		export_string(c->out, w->text);
	}
	export_text(c->out, "}");
}

static void put_zone(struct chrome *c, const struct waiting *w)
{
	char *p = begin_event(c, "X", w->begin);
	const struct tail *tail = tail_of(c, w->zone.marker);

	memcpy(p, ",\"dur\":", 7);
	p = export_put_us(p + 7, w->end - w->begin);
	export_advance(c->out, p);
	if (w->tie > 0 || w->begin == w->end || flags_of(&w->zone) || w->zone.has_value || w->text)
		put_note(c, w);
	if (tail)
		export_bytes(c->out, tail->text, tail->bytes);
	export_bytes(c->out, "}", 1);
}

static void flush_waiting(struct chrome *c)
{
	size_t i;

	for (i = 0; i < c->waiting_count; i++) {
		put_zone(c, &c->waiting[i]);
		free(c->waiting[i].text);
	}
	c->waiting_count = 0;
}

/* Time goes on. */
static void advance(struct chrome *c, int64_t ns)
{
	if (ns > c->now)
		flush_waiting(c);
	c->now = MAX(c->now, ns);
}

static int chrome_track(void *userdata, size_t index, const struct track_row *track)
{
	struct chrome *c = userdata;

	(void)index;
	flush_waiting(c);
	set_head(c, track->kind == TRACK_GPU_QUEUE ? PID_GPU : PID_GAME, track->track);
	c->now = c->last_begin = INT64_MIN;
	c->tie = 0;
	c->frame = 0;
	c->any_submission = false;
	return c->out->error;
}

static int chrome_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct chrome *c = userdata;
	int64_t ns = ns_of(c, t);

	(void)marker;
	advance(c, ns);
	if (ns == c->last_begin)
		c->tie += c->tie < UINT16_MAX;
	else
		c->tie = 0;
	c->last_begin = ns;
	if (depth < ARRAY_SIZE(c->begin_ns)) {
		c->begin_ns[depth] = ns;
		c->begin_tie[depth] = c->tie;
	}
	return 0;
}

/* Puts a zone before those that waits already and lie in it. */
static int chrome_end(void *userdata, const struct range_zone *zone)
{
	struct chrome *c = userdata;
	struct waiting w = {
		.zone = *zone, .begin = ns_of(c, zone->begin), .end = ns_of(c, zone->end)};
	size_t at;

	advance(c, w.end);
	if (c->waiting_count == WAITING_MAX)
		flush_waiting(c);
	if (zone->depth < ARRAY_SIZE(c->begin_ns))
		w.tie = c->begin_tie[zone->depth];
	if (zone->text) {
		w.text = strdup(zone->text);
		if (!w.text)
			return -ENOMEM;
	}
	for (at = c->waiting_count; at > 0; at--) {
		const struct waiting *before = &c->waiting[at - 1];

		if (before->zone.depth <= zone->depth || before->begin < w.begin)
			break;
	}
	memmove(&c->waiting[at + 1], &c->waiting[at],
		(c->waiting_count - at) * sizeof(c->waiting[0]));
	c->waiting[at] = w;
	c->waiting_count++;
	return c->out->error;
}

/* ---- Other events -------------------------------------------------------------------------- */

static void put_counter(struct chrome *c, int64_t ns, uint32_t marker, bool is_double, int64_t i,
			double d)
{
	export_advance(c->out, begin_event(c, "C", ns));
	put_tail(c, marker);
	export_text(c->out, ",\"args\":{\"value\":");
	put_number(c, is_double, i, d);
	export_text(c->out, "}}");
}

/* Counters that add are shown by frame, at the end: a sum is over all threads. */
static void see_counter(struct chrome *c, const struct range_event *e)
{
	struct counter_seen *seen = e->marker < c->markers ? &c->counters[e->marker] : NULL;
	size_t frame = range_frame_at(c->range, e->t, c->frame);

	if (!seen)
		return;
	if (frame != SIZE_MAX)
		c->frame = frame;
	if (!seen->any || frame < seen->frame)
		seen->frame = frame;
	seen->any = true;
	seen->adds |= e->adds;
	if (!e->adds)
		put_counter(c, ns_of(c, e->t), e->marker, e->is_double, e->value.i, e->value.d);
}

static void put_message(struct chrome *c, const struct range_event *e)
{
	const struct marker_row *category = range_marker(c->range, e->marker);
	char *p = begin_event(c, "i", ns_of(c, e->t));

	export_advance(c->out, p);
	export_text(c->out, ",\"s\":\"t\",\"cat\":\"fprof.message\",\"name\":");
	export_string(c->out, e->text);
	export_text(c->out, ",\"fprof\":{\"message\":");
	export_string(c->out, category ? category->name : NULL);
	p = export_room(c->out);
	p += sprintf(p, ",\"colour\":%u}}", e->colour);
	export_advance(c->out, p);
}

/* An arrow from where something is to where it goes on. */
static void put_flow(struct chrome *c, const char *name, uint32_t track, int64_t ns, int to_pid,
		     uint32_t to_track, int64_t to_ns)
{
	char *p = export_room(c->out);

	p += sprintf(p,
		     ",\n{\"ph\":\"s\",\"id\":%llu,\"name\":\"%s\",\"cat\":\"fprof.flow\","
		     "\"pid\":%d,\"tid\":%u,\"ts\":",
		     (unsigned long long)c->flows, name, PID_GAME, track);
	p = export_put_us(p, ns);
	p += sprintf(p,
		     "},\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":%llu,\"name\":\"%s\",\"cat\":"
		     "\"fprof.flow\",\"pid\":%d,\"tid\":%u,\"ts\":",
		     (unsigned long long)c->flows++, name, to_pid, to_track);
	p = export_put_us(p, to_ns);
	*p++ = '}';
	export_advance(c->out, p);
}

static int chrome_event(void *userdata, const struct range_event *e)
{
	struct chrome *c = userdata;
	int64_t ns = ns_of(c, e->t);

	switch (e->kind) {
	case RANGE_INSTANT:
		export_advance(c->out, begin_event(c, "i", ns));
		export_text(c->out, ",\"s\":\"t\"");
		put_tail(c, e->marker);
		export_text(c->out, "}");
		break;
	case RANGE_MESSAGE:
		put_message(c, e);
		break;
	case RANGE_COUNTER:
		see_counter(c, e);
		break;
	case RANGE_FIBER:
		if (e->value.i > 0)
			put_flow(c, "fiber", c->track, ns, PID_GAME, (uint32_t)e->value.i, ns);
		break;
	default:
		break;
	}
	return c->out->error;
}

/* Events of the track are missing in here: an instant of its own says how many. */
static int chrome_gap(void *userdata, const struct gap_row *gap)
{
	struct chrome *c = userdata;
	char *p = begin_event(c, "i", ns_of(c, MAX(gap->t0, c->range->t0)));

	p += sprintf(p,
		     ",\"s\":\"t\",\"name\":\"Events lost\",\"cat\":\"fprof.loss\",\"args\":{"
		     "\"events\":%llu,\"until_us\":",
		     (unsigned long long)gap->events);
	p = export_put_us(p, ns_of(c, MIN(gap->t1, c->range->t1)));
	*p++ = '}';
	*p++ = '}';
	export_advance(c->out, p);
	return c->out->error;
}

static void put_submission(struct chrome *c, const struct gpu_span_row *span)
{
	const struct history_frames *frames = &c->range->frames;
	uint64_t first = frames->frames.at[0].row.frame;
	const struct frame_row *f;

	if (c->any_submission && c->last_submission == span->submission)
		return;
	c->any_submission = true;
	c->last_submission = span->submission;
	if (span->frame < first || span->frame - first >= frames->frames.count)
		return;
	f = &frames->frames.at[span->frame - first].row;
	if (f->frame == span->frame && f->begin_ns <= span->begin_ns)
		put_flow(c, "submission", c->range->tracks.at[0].track, f->begin_ns, PID_GPU,
			 span->track, span->begin_ns);
}

static int chrome_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct chrome *c = userdata;
	const struct gpu_span_row *s = &zone->span;
	char *p;

	put_submission(c, s);
	p = begin_event(c, "X", s->begin_ns);
	memcpy(p, ",\"dur\":", 7);
	p = export_put_us(p + 7, MAX(s->end_ns - s->begin_ns, 0));
	p += sprintf(p, ",\"fprof\":{\"gpu\":[%lld,%lld,%u,%lld,%lld,%lld,%d]}",
		     (long long)s->frame, (long long)s->submission, s->view, (long long)s->fence,
		     (long long)s->raw_begin, (long long)s->raw_end, s->calibrated);
	export_advance(c->out, p);
	put_tail(c, s->marker);
	export_text(c->out, "}");
	return c->out->error;
}

/* ---- Counters by frame --------------------------------------------------------------------- */

/* A counter's value in a frame: of one that adds, and of others where no event of it says it. */
static void put_value(struct chrome *c, size_t index, sqlite3_stmt *stmt)
{
	uint32_t marker = (uint32_t)sqlite3_column_int64(stmt, 1);
	const struct counter_seen *seen = marker < c->markers ? &c->counters[marker] : NULL;
	int type = sqlite3_column_type(stmt, 2);

	if (!seen || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	if (!seen->adds && (index > 0 || (seen->any && seen->frame == 0)))
		return;
	put_counter(c, c->range->frames.frames.at[index].row.begin_ns, marker, type == SQLITE_FLOAT,
		    sqlite3_column_int64(stmt, 2), sqlite3_column_double(stmt, 2));
}

static int read_values(struct chrome *c, sqlite3_stmt *stmt)
{
	size_t index = 0;
	int r;

	while ((r = sql_step(stmt)) == 1) {
		uint64_t frame = (uint64_t)sqlite3_column_int64(stmt, 0);

		while (index < c->range->frames.frames.count &&
		       c->range->frames.frames.at[index].row.frame < frame)
			index++;
		if (index == c->range->frames.frames.count)
			return 0;
		if (c->range->frames.frames.at[index].row.frame == frame)
			put_value(c, index, stmt);
	}
	return r;
}

static int select_values(struct chrome *c)
{
	sqlite3_stmt *stmt;
	struct sql_binder b;
	int r = sql_prepare(c->order->history->db,
			    "SELECT frame, marker, value FROM frame_counters WHERE session = ? "
			    "AND stream = ? AND frame BETWEEN ? AND ? ORDER BY frame",
			    &stmt);

	if (r < 0)
		return r;
	b = sql_bind(stmt);
	bind_int(&b, (int64_t)c->range->session);
	bind_int(&b, c->range->stream);
	bind_int(&b, (int64_t)c->range->first);
	bind_int(&b, (int64_t)c->range->last);
	r = b.rc < 0 ? b.rc : read_values(c, stmt);
	sqlite3_finalize(stmt);
	return r;
}

static int put_values(struct chrome *c)
{
	int r = history_begin(c->order->history);

	set_head(c, PID_GAME, c->range->tracks.count > 0 ? c->range->tracks.at[0].track : 0);
	return r < 0 ? r : history_end(c->order->history, select_values(c));
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int write_whole(struct chrome *c)
{
	const struct range_visitor visitor = {
		.userdata = c,
		.track = chrome_track,
		.begin = chrome_begin,
		.end = chrome_end,
		.event = chrome_event,
		.gap = chrome_gap,
		.gpu = chrome_gpu,
	};
	int r;

	put_head(c);
	put_metadata(c);
	r = range_visit(c->order->history, c->range, &visitor);
	flush_waiting(c);
	if (r == 0)
		r = put_values(c);
	export_text(c->out, "\n]}\n");
	return r < 0 ? r : c->out->error;
}

int export_chrome(const struct export_order *order, struct export_out *out,
		  struct export_report *report)
{
	struct chrome *c = calloc(1, sizeof(*c));
	size_t i;
	int r = -ENOMEM;

	(void)report;
	if (!c)
		return r;
	c->order = order;
	c->range = order->range;
	c->out = out;
	c->markers = order->range->markers.count;
	c->tails = calloc(c->markers + 1, sizeof(*c->tails));
	c->counters = calloc(c->markers + 1, sizeof(*c->counters));
	if (c->tails && c->counters)
		r = write_whole(c);
	for (i = 0; c->tails && i <= c->markers; i++)
		free(c->tails[i].text);
	free(c->tails);
	free(c->counters);
	free(c);
	return r;
}
