// SPDX-License-Identifier: MIT
/*
 * Each trigger has its own window and its own rest. It fires; up to the last of its after-frames it
 * may fire again (which makes the spike longer, not another one), for a bounded number of frames;
 * then it rests for its cool-down. What it would have said while it rested is counted and told with
 * its next spike.
 *
 * A running median is that of the frames before the one that is judged, warm-up and frames that say
 * nothing (paused, marks lost, a clock step) left out. The window is sorted by insertion: a few
 * hundred bytes moved a frame.
 */
#include "trigger_watch.h"

#include "json.h"
#include "live.h"
#include "trigger_events.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define GPUS_MAX 4096u
/* Frames whose times are no frame's of the game. */
#define NOT_TIMED                                                                     \
	((uint32_t)FRAME_STARTUP | (uint32_t)FRAME_LOADING | (uint32_t)FRAME_PAUSED | \
	 (uint32_t)FRAME_CLOCK_STEP | (uint32_t)FRAME_MARKS_LOST)

struct median {
	double ring[TRIGGER_MEDIAN_FRAMES], sorted[TRIGGER_MEDIAN_FRAMES];
	size_t count, next;
};

struct state {
	struct median *median;		    /* NULL: it asks for none */
	uint64_t window_first, window_last; /* frames; 0: no window is open */
	int64_t rest_until_ns;
	uint64_t suppressed;			    /* since it last fired */
	uint64_t suppressed_first, suppressed_last; /* frames */
	uint64_t told;				    /* of them, by a row */
	uint32_t counter; /* the marker of the counter that it is about; 0: not seen yet */
	bool done;	  /* its frame number has come */
};

/* What is known of one GPU queue of a frame. */
struct gpu_sum {
	uint64_t frame;
	uint32_t track;
	bool final, missing;
	int64_t span_ns;
};

struct trigger_watch {
	struct trigger_list *list;
	struct trigger_events *events; /* NULL: none are watched */
	uint32_t number;	       /* of the first one, within the session */
	bool gpu, counters;
	size_t markers_known; /* that counters were looked for among */
	int64_t now_ns;	      /* the end of the newest frame */
	VEC(struct gpu_sum) gpus;
	struct state at[];
};

/* ---- medians ---- */

static size_t lower_bound(const struct median *m, double v)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->sorted[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void median_add(struct median *m, double v)
{
	size_t i;

	if (m->count == TRIGGER_MEDIAN_FRAMES) {
		i = lower_bound(m, m->ring[m->next]);
		memmove(&m->sorted[i], &m->sorted[i + 1], (m->count - i - 1) * sizeof(double));
		m->count--;
	}
	i = lower_bound(m, v);
	memmove(&m->sorted[i + 1], &m->sorted[i], (m->count - i) * sizeof(double));
	m->sorted[i] = v;
	m->count++;
	m->ring[m->next] = v;
	m->next = (m->next + 1) % TRIGGER_MEDIAN_FRAMES;
}

static double median_of(const struct median *m)
{
	return m && m->count >= TRIGGER_MEDIAN_MIN ? m->sorted[m->count / 2] : (double)NAN;
}

/* ---- making ---- */

static struct trigger_watch *watch_new(struct live *s, struct trigger_list *list)
{
	struct trigger_watch *w = calloc(1, sizeof(*w) + list->count * sizeof(w->at[0]));
	size_t i;

	if (!w)
		return NULL;
	w->list = list;
	w->number = s->triggers_watched;
	s->triggers_watched += (uint32_t)list->count;
	for (i = 0; i < list->count; i++) {
		const struct trigger *t = &list->at[i];

		w->gpu = w->gpu || t->on == TRIGGER_GPU;
		w->counters = w->counters || t->on == TRIGGER_COUNTER;
		w->at[i].done = t->on == TRIGGER_NUMBER &&
				s->frames.streams.at[0]->closed_total >= t->number;
		if (t->times > 0 && !(w->at[i].median = calloc(1, sizeof(struct median))))
			break;
	}
	if (i == list->count && trigger_events_new(s, list, &w->events) == 0)
		return w;
	trigger_list_ref(list); /* the caller's stays */
	trigger_watch_free(w);
	return NULL;
}

int trigger_watch_set(struct live *s, struct trigger_list *list)
{
	struct trigger_watch *w = NULL;

	if (list->count > 0) {
		w = watch_new(s, list);
		if (!w)
			return -ENOMEM;
	} else {
		trigger_list_unref(list);
	}
	trigger_watch_free(s->watch);
	s->watch = w;
	return 0;
}

void trigger_watch_free(struct trigger_watch *watch)
{
	size_t i;

	if (!watch)
		return;
	for (i = 0; i < watch->list->count; i++)
		free(watch->at[i].median);
	trigger_events_free(watch->events);
	VEC_FREE(&watch->gpus);
	trigger_list_unref(watch->list);
	free(watch);
}

const struct trigger_list *trigger_watch_list(const struct trigger_watch *watch)
{
	return watch ? watch->list : NULL;
}

int trigger_watch_chunk(struct live *s, struct part *part, const struct chunk_row *row)
{
	return s->watch && s->watch->events ? trigger_events_chunk(s->watch->events, s, part, row)
					    : 0;
}

/* ---- firing ---- */

/* Why a trigger fired. */
struct firing {
	size_t trigger;
	uint64_t frame;
	double value, threshold, median; /* NaN: there is none */
	const char *text;		 /* NULL: none */
};

static void json_number(struct json *j, const char *name, bool time, double v)
{
	char key[32];

	if (isnan(v))
		return;
	snprintf(key, sizeof(key), "%s%s", name, time ? "_ms" : "");
	json_member_double(j, key, v);
}

/* The reason as JSON, malloc'ed; NULL: no memory. */
static char *reason(const struct trigger_watch *w, const struct firing *f)
{
	const struct trigger *t = &w->list->at[f->trigger];
	bool time = trigger_is_time(t);
	struct json j = {0};

	json_object_begin(&j);
	json_key(&j, "trigger");
	trigger_json(t, &j);
	json_member_uint(&j, "frame", f->frame);
	json_number(&j, "value", time, f->value);
	json_number(&j, "threshold", time, f->threshold);
	json_number(&j, "median", time, f->median);
	if (f->text)
		json_member_string(&j, "text", f->text);
	if (w->at[f->trigger].suppressed > 0)
		json_member_uint(&j, "suppressed_before", w->at[f->trigger].suppressed);
	json_object_end(&j);
	return json_text(&j);
}

static int put_row(struct live *s, const struct firing *f)
{
	const struct trigger *t = &s->watch->list->at[f->trigger];
	struct spike_row row = {
		.session = s->id,
		.frame = f->frame,
		.first = f->frame > t->before ? f->frame - t->before : 1,
		.last = f->frame + t->after,
		.keep = t->keep,
		.freeze = t->freeze,
		.reason_json = reason(s->watch, f),
	};

	if (t->on == TRIGGER_EXIT) {
		row.end = true;
		row.crashed = s->crashed;
		row.first = f->frame > t->before ? f->frame - t->before + 1 : MIN(f->frame, 1u);
	}
	/* What was cleared by order is not missed. */
	row.first = MAX(row.first, s->cleared_to + (s->cleared_to > 0));
	if (row.first > row.last)
		row.first = row.last = 0;
	if (!row.reason_json)
		return -ENOMEM;
	if (VEC_PUSH(&s->batch->spikes, row) < 0) {
		free(row.reason_json);
		return -ENOMEM;
	}
	return 0;
}

/* May a trigger that wants to fire? Its window begins, or goes on. */
static bool take_window(const struct trigger_watch *w, const struct trigger *t, struct state *st,
			uint64_t frame)
{
	if (st->window_last > 0) {
		if (frame > st->window_last || frame < st->window_first ||
		    frame - st->window_first >= TRIGGER_EXTEND_MAX)
			return false;
	} else {
		if (w->now_ns < st->rest_until_ns)
			return false;
		st->window_first = frame;
	}
	st->window_last = MAX(st->window_last, frame + t->after);
	return true;
}

static int fire(struct live *s, const struct firing *f)
{
	struct trigger_watch *w = s->watch;
	struct state *st = &w->at[f->trigger];
	int r;

	if (!take_window(w, &w->list->at[f->trigger], st, f->frame)) {
		st->suppressed_first =
			st->suppressed++ ? MIN(st->suppressed_first, f->frame) : f->frame;
		st->suppressed_last = MAX(st->suppressed_last, f->frame);
		return 0;
	}
	r = put_row(s, f);
	st->suppressed = 0;
	return r;
}

/* A value that may be beyond its bounds, and is one of those that the median is of. */
static int judge(struct live *s, size_t i, uint64_t frame, double value)
{
	struct trigger_watch *w = s->watch;
	const struct trigger *t = &w->list->at[i];
	struct firing f = {.trigger = i, .frame = frame, .value = value};
	struct trigger_verdict v;

	if (frame <= t->warm_up || isnan(value))
		return 0;
	f.median = median_of(w->at[i].median);
	v = trigger_judge(t, value, f.median);
	f.threshold = v.threshold;
	if (w->at[i].median)
		median_add(w->at[i].median, value);
	return v.fires ? fire(s, &f) : 0;
}

/* ---- frames ---- */

static double known_ms(int64_t ns)
{
	return ns == NS_UNKNOWN ? (double)NAN : (double)ns / NS_PER_MS;
}

static double wait_ms(const struct trigger *t, const struct frame_row *row)
{
	switch (t->of) {
	case TRIGGER_WAIT_GPU:
		return known_ms(row->wait_gpu_ns);
	case TRIGGER_WAIT_PRESENT:
		return known_ms(row->wait_present_ns);
	case TRIGGER_WAIT_CAP:
		return known_ms(row->wait_cap_ns);
	default:
		return known_ms(frame_row_wait_ns(row));
	}
}

/* A frame without it counts as 0, but for calls: no call is no value. */
static double zone_ms(const struct live *s, size_t i, const struct trigger_frame *seen)
{
	const struct trigger_watch *w = s->watch;
	const struct trigger_sums *sums =
		seen ? &seen->sums[trigger_events_zone(w->events, i)] : NULL;
	enum trigger_of of = w->list->at[i].of;
	int64_t ticks;

	if (of == TRIGGER_CALL && (!sums || sums->call == 0))
		return NAN;
	if (!sums)
		return 0;
	ticks = of == TRIGGER_CALL ? sums->call : of == TRIGGER_SELF ? sums->self : sums->total;
	return (double)ticks / s->rate.hz * 1e3;
}

static void find_counters(struct live *s)
{
	struct trigger_watch *w = s->watch;
	size_t i;

	for (; w->markers_known < s->markers.markers.count; w->markers_known++) {
		const struct marker *m = &s->markers.markers.at[w->markers_known];

		for (i = 0; i < w->list->count; i++)
			if (w->list->at[i].on == TRIGGER_COUNTER && w->at[i].counter == 0 &&
			    m->kind == FPROF_MARKER_COUNTER &&
			    strcmp(m->strings, w->list->at[i].name) == 0)
				w->at[i].counter = (uint32_t)w->markers_known + 1;
	}
}

static double counter_value(const struct live *s, size_t i, uint64_t frame)
{
	uint32_t marker = s->watch->at[i].counter;
	size_t j;

	for (j = s->batch->frame_counters.count; marker > 0 && j > 0; j--) {
		const struct frame_counter_row *row = &s->batch->frame_counters.at[j - 1];

		if (row->frame != frame)
			break;
		if (row->marker == marker)
			return row->is_double ? row->value.d : (double)row->value.i;
	}
	return NAN;
}

static double timed_value(const struct live *s, size_t i, const struct frame_row *row,
			  const struct trigger_frame *seen)
{
	const struct trigger *t = &s->watch->list->at[i];

	if (row->flags & NOT_TIMED)
		return NAN;
	switch (t->on) {
	case TRIGGER_FRAME:
		return known_ms(row->end_ns - row->begin_ns);
	case TRIGGER_CPU:
		return known_ms(row->cpu_ns);
	case TRIGGER_WAIT:
		return wait_ms(t, row);
	case TRIGGER_ZONE:
		return zone_ms(s, i, seen);
	default:
		return counter_value(s, i, row->frame);
	}
}

static int judge_number(struct live *s, size_t i, const struct frame_row *row)
{
	struct trigger_watch *w = s->watch;
	struct firing f = {
		i,	     row->frame, (double)row->frame, (double)w->list->at[i].number,
		(double)NAN, NULL};

	if (w->at[i].done || row->frame < w->list->at[i].number)
		return 0;
	w->at[i].done = true;
	return fire(s, &f);
}

static int judge_hit(struct live *s, size_t i, const struct frame_row *row,
		     const struct trigger_frame *seen)
{
	struct firing f = {i, row->frame, (double)NAN, (double)NAN, (double)NAN, NULL};

	if (!seen || !(seen->hits & UINT64_C(1) << i) ||
	    row->frame <= s->watch->list->at[i].warm_up)
		return 0;
	if (seen->text_of == i)
		f.text = seen->text;
	return fire(s, &f);
}

static int judge_loss(struct live *s, size_t i, const struct frame_row *row)
{
	const struct trigger *t = &s->watch->list->at[i];
	double lost = (double)row->lost_events;
	struct firing f = {i, row->frame, lost, t->above, (double)NAN, NULL};

	if (row->frame <= t->warm_up || !(row->flags & (FRAME_LOST_EVENTS | FRAME_MARKS_LOST)))
		return 0;
	/* marks that were lost are a loss whose events nobody knows */
	return lost > t->above || (t->above <= 0 && row->flags & FRAME_MARKS_LOST) ? fire(s, &f)
										   : 0;
}

static int judge_frame(struct live *s, size_t i, const struct frame_row *row,
		       const struct trigger_frame *seen)
{
	switch (s->watch->list->at[i].on) {
	case TRIGGER_MESSAGE:
	case TRIGGER_APPEARANCE:
		return judge_hit(s, i, row, seen);
	case TRIGGER_NUMBER:
		return judge_number(s, i, row);
	case TRIGGER_LOSS:
		return judge_loss(s, i, row);
	case TRIGGER_GPU:
	case TRIGGER_EXIT:
		return 0;
	default:
		return judge(s, i, row->frame, timed_value(s, i, row, seen));
	}
}

/* The frame was the last of its after-frames: the rest begins. GPU figures come later than frames:
 * a window stays open for them. */
static void end_window(const struct trigger *t, struct state *st, const struct frame_row *row)
{
	uint64_t late = t->on == TRIGGER_GPU ? GPU_FRAMES_PENDING : 0;

	if (st->window_last == 0 || row->frame < st->window_last + late)
		return;
	st->window_first = st->window_last = 0;
	st->rest_until_ns = row->end_ns + (int64_t)t->cool_down_ns;
}

int trigger_watch_frame(struct live *s, const struct frame_row *row)
{
	const struct trigger_frame *seen = NULL;
	struct trigger_watch *w = s->watch;
	size_t i;
	int r = 0;

	if (!w)
		return 0;
	w->now_ns = row->end_ns;
	if (w->events)
		r = trigger_events_close(w->events, s, row->frame, row->t1, &seen);
	if (w->counters)
		find_counters(s);
	for (i = 0; i < w->list->count && r == 0; i++) {
		r = judge_frame(s, i, row, seen);
		end_window(&w->list->at[i], &w->at[i], row);
	}
	return r;
}

/* ---- the GPU ---- */

static int note_gpu(struct trigger_watch *w, const struct frame_gpu_row *row)
{
	struct gpu_sum sum = {row->frame, row->track, row->final, row->missing > 0, row->span_ns};
	size_t i;

	for (i = 0; i < w->gpus.count; i++)
		if (w->gpus.at[i].frame == sum.frame && w->gpus.at[i].track == sum.track) {
			w->gpus.at[i] = sum;
			return 0;
		}
	return w->gpus.count < GPUS_MAX ? VEC_PUSH(&w->gpus, sum) : 0;
}

/* The longest queue of a frame, of which entry first is the first known; false: not all is known.
 * NaN: results are missing, or there was nothing. */
static bool gpu_value(const struct trigger_watch *w, size_t first, double *ret_ms)
{
	int64_t span = NS_UNKNOWN;
	bool missing = false;
	size_t i;

	for (i = first; i < w->gpus.count; i++) {
		const struct gpu_sum *sum = &w->gpus.at[i];

		if (sum->frame != w->gpus.at[first].frame)
			continue;
		if (!sum->final)
			return false;
		missing = missing || sum->missing;
		span = MAX(span, sum->span_ns);
	}
	*ret_ms = missing ? (double)NAN : known_ms(span);
	return true;
}

static void forget_gpu(struct trigger_watch *w, uint64_t frame)
{
	size_t i, kept = 0;

	for (i = 0; i < w->gpus.count; i++)
		if (w->gpus.at[i].frame != frame)
			w->gpus.at[kept++] = w->gpus.at[i];
	w->gpus.count = kept;
}

int trigger_watch_gpu(struct live *s, size_t from)
{
	struct trigger_watch *w = s->watch;
	size_t i, j;
	double ms;
	int r = 0;

	if (!w || !w->gpu)
		return 0;
	for (i = from; i < s->batch->frame_gpus.count && r == 0; i++)
		r = note_gpu(w, &s->batch->frame_gpus.at[i]);
	for (i = 0; i < w->gpus.count && r == 0;) {
		uint64_t frame = w->gpus.at[i].frame;

		if (!gpu_value(w, i, &ms)) {
			i++;
			continue;
		}
		for (j = 0; j < w->list->count && r == 0; j++)
			if (w->list->at[j].on == TRIGGER_GPU)
				r = judge(s, j, frame, ms);
		forget_gpu(w, frame);
	}
	return r;
}

/* ---- what was not said ---- */

static int tell_suppressed(struct live *s, size_t i)
{
	struct trigger_watch *w = s->watch;
	struct state *st = &w->at[i];
	struct suppressed_row row = {.session = s->id,
				     .uid = s->uid,
				     .number = w->number + (uint32_t)i,
				     .count = st->suppressed,
				     .first = st->suppressed_first,
				     .last = st->suppressed_last};
	struct json j = {0};

	trigger_json(&w->list->at[i], &j);
	row.trigger_json = json_text(&j);
	if (!row.trigger_json || VEC_RESERVE(&s->batch->suppressed, 1) < 0) {
		free(row.trigger_json);
		return -ENOMEM;
	}
	s->batch->suppressed.at[s->batch->suppressed.count++] = row;
	st->told = st->suppressed;
	return 0;
}

int trigger_watch_tell(struct live *s)
{
	struct trigger_watch *w = s->watch;
	size_t i;
	int r = 0;

	for (i = 0; w && i < w->list->count && r == 0; i++)
		if (w->at[i].suppressed != w->at[i].told)
			r = tell_suppressed(s, i);
	return r;
}

/* ---- the end ---- */

int trigger_watch_exit(struct live *s)
{
	struct trigger_watch *w = s->watch;
	struct firing f = {.value = (double)NAN, .threshold = (double)NAN, .median = (double)NAN};
	size_t i;
	int r = 0;

	f.frame = s->frames.streams.at[0]->closed_total;
	f.text = s->end_reason;
	for (i = 0; w && i < w->list->count && r == 0; i++) {
		f.trigger = i;
		if (w->list->at[i].on == TRIGGER_EXIT)
			r = put_row(s, &f);
	}
	return r;
}
