/* SPDX-License-Identifier: MIT */
/*
 * A sweep over a live session, and what is handed to the store after it.
 *
 * The horizon is the sweep's clock, read before any head, less a grace: what is younger stays in
 * its ring. The ring with the main stream's marks is read first, and no other ring beyond it, so
 * that frame boundaries are known before the events that they divide. While nobody is known to mark
 * (the beginning; its thread has ended) all rings are searched for a mark ahead of reading.
 *
 * A batch holds chunks together with the ledgers of the rings that they came from: live_flush cuts
 * all chunks, so that at every commit stored is what the ledger says.
 */
#include "live.h"

#include "control_set.h"
#include "ledger.h"
#include "log.h"
#include "shm/atomic.h"
#include "words.h"

#include <errno.h>
#include <string.h>

#define HOLD_SECONDS	   0.1 /* the game has a memory of its own: it may be about to mark */
#define HOLD_AGAIN_SECONDS 1.0 /* ... has none: until the hook has marked once more */
#define HOLD_PERMILLE	   500
#define COUNT_FROM_FRAMES  500 /* the history has 600, unless it is configured otherwise */

/* A session from a row; what is missing then is taken from resume. */
static int live_init(struct live *s, const struct session_row *row, uint32_t max_counters)
{
	int r;

	s->id = row->id;
	s->uid = row->uid;
	s->start = row->start_ticks;
	s->clock_kind = (enum fprof_clock_kind)row->clock_kind;
	s->rate.mult = row->clock_mult;
	s->rate.shift = row->clock_shift;
	s->rate.hz = row->clock_hz;
	s->counters.max = max_counters;
	s->state = SESSION_LIVE;
	s->swept_to = INT64_MIN;
	s->count_from = COUNT_FROM_FRAMES;
	tracks_init(&s->tracks);
	s->buf = malloc(LIVE_BUF_WORDS * sizeof(*s->buf));
	s->gpu = gpu_new(s->id);
	if (!s->buf || !s->gpu)
		return -ENOMEM;
	r = frames_init(s);
	record_init(s);
	if (r == 0 && s->resume)
		r = ledger_resume(s);
	return r;
}

int live_new(const struct session_row *row, struct control *control, struct store_resume *resume,
	     uint32_t max_counters, struct batch *batch, struct live **ret_live)
{
	struct live *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		control_free(control);
		store_resume_free(resume);
		return -ENOMEM;
	}
	s->control = control;
	s->resume = resume;
	s->batch = batch;
	r = live_init(s, row, max_counters);
	if (r < 0) {
		live_free(s);
		return r;
	}
	*ret_live = s;
	return 0;
}

void live_free(struct live *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < s->lane_count; i++)
		lane_free(s->lanes[i]);
	VEC_FREE(&s->order);
	tracks_deinit(&s->tracks);
	frames_deinit(&s->frames);
	counters_deinit(&s->counters);
	marker_table_deinit(&s->markers);
	gpu_free(s->gpu);
	trigger_watch_free(s->watch);
	store_resume_free(s->resume);
	control_free(s->control);
	free(s->end_reason);
	free(s->buf);
	free(s);
}

/* The lane that this memory had in an earlier daemon, or the next free one. */
static uint32_t lane_index(const struct live *s, const struct memory *memory, bool *ret_known)
{
	uint32_t next = s->lane_count;
	size_t i;

	*ret_known = false;
	for (i = 0; s->resume && i < s->resume->memories.count; i++) {
		const struct memory_row *row = &s->resume->memories.at[i];

		if (row->memory_id == memory->memory_id && row->lane < LIVE_LANES_MAX &&
		    !s->lanes[row->lane]) {
			*ret_known = true;
			return row->lane;
		}
		next = MAX(next, row->lane + 1);
	}
	return next;
}

int live_add_memory(struct live *s, struct memory *memory)
{
	struct memory_row row = {
		.session = s->id,
		.memory_id = memory->memory_id,
		.origin = memory->origin,
		.bytes = memory->view.bytes,
	};
	struct lane *lane;
	bool known;
	int r;

	if (memory->view.head.clock_kind != s->clock_kind)
		return -EINVAL;
	row.lane = lane_index(s, memory, &known);
	if (row.lane >= LIVE_LANES_MAX)
		return -ENOSPC;
	if (VEC_RESERVE(&s->batch->memories, 1) < 0)
		return -ENOMEM;
	r = lane_new(memory, row.lane, &lane);
	if (r < 0)
		return r;
	s->lanes[row.lane] = lane;
	s->lane_count = MAX(s->lane_count, row.lane + 1);
	if (!known)
		s->batch->memories.at[s->batch->memories.count++] = row;
	else
		s->fault = ledger_resume_lane(s, lane);
	return 0;
}

static int update_lanes(struct live *s)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < s->lane_count && r == 0; i++)
		if (s->lanes[i])
			r = lane_update(s, s->lanes[i]);
	return r;
}

static uint32_t ring_fill(const struct ring *ring)
{
	const struct memory_view *view = &ring->lane->memory->view;
	uint64_t head = memory_slot_head(view, ring->slot), tail = ring->reader.tail;
	uint64_t words = head > tail ? head - tail : 0;

	return (uint32_t)MIN(words * 1000 / view->head.ring_words, UINT64_C(1000));
}

/* All rings that may be read, in this sweep's order; the fullest one's fill. */
static int line_up(struct live *s, struct live_sweep *sweep)
{
	uint32_t i, fill;
	size_t j;

	s->order.count = 0;
	for (i = 0; i < s->lane_count; i++)
		for (j = 0; s->lanes[i] && j < s->lanes[i]->rings.count; j++) {
			struct ring *ring = s->lanes[i]->rings.at[j];

			if (ring->abandoned)
				continue;
			if (VEC_PUSH(&s->order, ring) < 0)
				return -ENOMEM;
			fill = ring_fill(ring);
			ring->fill_permille = MAX(ring->fill_permille, fill);
			sweep->fill_permille = MAX(sweep->fill_permille, fill);
		}
	s->fill_permille = MAX(s->fill_permille, sweep->fill_permille);
	return 0;
}

static bool main_ring_known(const struct live *s)
{
	const struct stream *st = s->frames.streams.at[0];

	return st->track && st->track->end == TIME_OPEN && st->track->kind == TRACK_THREAD &&
	       st->ring && !st->ring->abandoned && st->ring->own == st->track;
}

/* The earliest mark of the main stream in the rings of lanes of origin (0: any); NULL: none. */
static struct ring *scan_marks(struct live *s, const struct words_limits *limits, uint32_t origin,
			       struct words_mark *ret_mark)
{
	struct words_mark mark;
	struct ring *found = NULL;
	size_t i;

	for (i = 0; i < s->order.count; i++) {
		struct ring *ring = s->order.at[i];

		if (origin && ring->lane->memory->origin != origin)
			continue;
		if (!words_find_mark(s, ring, limits, &mark))
			continue;
		if (!found ||
		    (mark.origin == FPROF_ORIGIN_GAME && ret_mark->origin != mark.origin) ||
		    (mark.origin == ret_mark->origin && mark.t < ret_mark->t)) {
			*ret_mark = mark;
			found = ring;
		}
	}
	return found;
}

static bool has_game_lane(const struct live *s)
{
	uint32_t i;

	for (i = 0; i < s->lane_count; i++)
		if (s->lanes[i] && s->lanes[i]->memory->origin == FPROF_ORIGIN_GAME)
			return true;
	return false;
}

static bool younger(const struct live *s, int64_t t, int64_t now, double seconds)
{
	return t > now - (int64_t)(s->rate.hz * seconds);
}

/*
 * A hook's first mark ends the same frame as the game's first one, which comes shortly after it and
 * makes it void. So it is left alone until it is known whether the game marks: until the hook's
 * next one, for a bounded time.
 */
static void hold_first(const struct live *s, const struct words_mark *mark, uint32_t fill_permille,
		       struct words_limits *limits)
{
	bool hold = has_game_lane(s) && younger(s, mark->t, limits->now, HOLD_SECONDS);

	hold = hold || (!mark->again && younger(s, mark->t, limits->now, HOLD_AGAIN_SECONDS));
	if (hold && !limits->last && fill_permille < HOLD_PERMILLE)
		limits->horizon = MIN(limits->horizon, mark->t - 1);
}

/* The ring to be read first: the one with the main stream's marks. NULL: nobody marks. */
static struct ring *find_main_ring(struct live *s, uint32_t fill_permille,
				   struct words_limits *limits)
{
	struct stream *st = s->frames.streams.at[0];
	struct words_mark mark = {0};
	struct ring *found;

	if (main_ring_known(s)) {
		/* marks of the game end the reign of the hook's */
		found = st->game ? NULL : scan_marks(s, limits, FPROF_ORIGIN_GAME, &mark);
		return found ? found : st->ring;
	}
	found = scan_marks(s, limits, 0, &mark);
	if (!found || st->origin)
		return found;
	if (mark.origin == FPROF_ORIGIN_GAME)
		st->game_ahead = true;
	else
		hold_first(s, &mark, fill_permille, limits);
	return found;
}

/* One sweep's account. */
struct sweep_state {
	struct words_limits limits;
	uint64_t share; /* of the session */
	int64_t swept_to;
	bool behind;
};

/* Reads one ring; keeps account of how far all have been read. *ret_waiting: it has to be read
 * again (for a ring that waited, unless it got on). */
static int read_ring(struct live *s, struct sweep_state *st, struct ring *ring, bool *ret_waiting)
{
	uint64_t share = MIN(st->share, (uint64_t)LIVE_RING_WORDS);
	uint64_t tail = ring->reader.tail;
	bool waited = *ret_waiting;
	enum words_state state;
	int r;

	st->limits.share = share;
	r = words_read(s, ring, &st->limits, &state);
	if (r < 0)
		return r;
	st->share -= share - st->limits.share;
	*ret_waiting = state == WORDS_WAITING ||
		       (waited && state == WORDS_BEHIND && ring->reader.tail == tail);
	if (state == WORDS_BEHIND) {
		st->behind = true;
		st->swept_to = MIN(st->swept_to, ring->base);
	}
	return 0;
}

/* Reads the rings of the order that wait for a fiber, until none gets on. Those that still wait
 * stay in it. */
static int read_waiting(struct live *s, struct sweep_state *st)
{
	bool progress = true, waiting;
	size_t i, kept;
	int r;

	while (progress && !st->behind && s->order.count > 0) {
		progress = false;
		for (i = kept = 0; i < s->order.count; i++) {
			struct ring *ring = s->order.at[i];
			uint64_t tail = ring->reader.tail;

			waiting = true;
			r = read_ring(s, st, ring, &waiting);
			if (r < 0)
				return r;
			progress = progress || ring->reader.tail != tail;
			if (waiting)
				s->order.at[kept++] = ring;
		}
		s->order.count = kept;
	}
	return 0;
}

/* Rings that wait: for the next sweep, or no longer, when nothing more can come. */
static int settle_waiting(struct live *s, struct sweep_state *st)
{
	size_t i;
	int r = 0;

	while (st->limits.last && s->order.count > 0 && !st->behind && r == 0) {
		s->order.at[0]->stuck = WORDS_WAIT_MAX;
		r = read_waiting(s, st);
	}
	for (i = 0; i < s->order.count; i++) {
		s->order.at[i]->stuck += st->behind ? 1 : WORDS_WAIT_STEP;
		st->swept_to = MIN(st->swept_to, s->order.at[i]->base);
	}
	return r;
}

static void reverse(struct ring **at, size_t count)
{
	size_t i;

	for (i = 0; i < count / 2; i++) {
		struct ring *ring = at[i];

		at[i] = at[count - 1 - i];
		at[count - 1 - i] = ring;
	}
}

/* Turns the rings by one more at each sweep, so that shares are fair, and moves the main one to the
 * front. */
static void arrange(struct live *s, struct ring *first)
{
	size_t count = s->order.count, j = 0;
	struct ring **at = s->order.at;

	if (count == 0)
		return;
	s->rotate = (s->rotate + 1) % (uint32_t)count;
	reverse(at, s->rotate);
	reverse(at + s->rotate, count - s->rotate);
	reverse(at, count);
	while (j < count && at[j] != first)
		j++;
	if (j == count)
		return;
	memmove(at + 1, at, j * sizeof(struct ring *));
	at[0] = first;
}

static int read_all(struct live *s, struct sweep_state *st, uint32_t fill_permille)
{
	struct ring *first = find_main_ring(s, fill_permille, &st->limits);
	size_t i, kept = 0;
	bool waiting;
	int r;

	arrange(s, first);
	for (i = 0; i < s->order.count; i++) {
		struct ring *ring = s->order.at[i];

		waiting = false;
		r = read_ring(s, st, ring, &waiting);
		if (r < 0)
			return r;
		if (ring == first && (waiting || st->behind))
			st->limits.horizon = MIN(st->limits.horizon, ring->base);
		if (waiting)
			s->order.at[kept++] = ring;
	}
	s->order.count = kept;
	st->swept_to = MIN(st->swept_to, st->limits.horizon);
	r = read_waiting(s, st);
	return r < 0 ? r : settle_waiting(s, st);
}

static int sweep_rings(struct live *s, struct live_sweep *sweep)
{
	struct sweep_state st = {
		.limits = {.now = live_ticks(s, sweep->now), .last = sweep->last},
		.share = LIVE_SWEEP_WORDS,
		.swept_to = INT64_MAX,
	};
	int r;

	st.limits.horizon = sweep->last ? INT64_MAX : st.limits.now - (int64_t)sweep->grace;
	if (sweep->budget_ns > 0)
		st.limits.until = fprof_clock_read(FPROF_CLOCK_MONOTONIC) + sweep->budget_ns;
	s->now = MAX(s->now, st.limits.now);
	r = update_lanes(s);
	if (r == 0)
		r = line_up(s, sweep);
	if (r == 0)
		r = read_all(s, &st, sweep->fill_permille);
	if (r < 0)
		return r;
	sweep->behind = st.behind;
	s->swept_to = st.swept_to;
	r = record_settle(s, st.swept_to);
	return r < 0 ? r : frames_close(s, st.swept_to);
}

/*
 * What is left in the rings of a process that is gone is given up: each word counts as an event, as
 * it may be one.
 */
static void give_up_rest(struct live *s)
{
	uint32_t i;
	size_t j;

	for (i = 0; i < s->lane_count; i++)
		for (j = 0; s->lanes[i] && j < s->lanes[i]->rings.count; j++) {
			struct ring *ring = s->lanes[i]->rings.at[j];
			const struct memory_view *view = &ring->lane->memory->view;
			uint64_t head = memory_slot_head(view, ring->slot), words;

			if (ring->abandoned || head <= ring->reader.tail)
				continue;
			words = MIN(head - ring->reader.tail, (uint64_t)view->head.ring_words);
			ring->received += words;
			ring->discarded[DISCARD_QUOTA] += words;
			ring->reader.tail = head;
			ring->dirty = true;
		}
	log_warning("session %llu: its rings are not read to their ends: that took too long",
		    (unsigned long long)s->id);
}

/* Sweeps of a process that is gone end, whatever its rings hold. A full batch is not its fault. */
static bool last_is_over(struct live *s, const struct live_sweep *sweep)
{
	if (!sweep->last || batch_weight(s->batch) >= LIVE_BATCH_BYTES)
		return false;
	return s->last_sweeps++ >= LIVE_LAST_SWEEPS;
}

static uint64_t received(const struct live *s)
{
	uint64_t sum = 0;
	uint32_t i;
	size_t j;

	for (i = 0; i < s->lane_count; i++)
		for (j = 0; s->lanes[i] && j < s->lanes[i]->rings.count; j++)
			sum += s->lanes[i]->rings.at[j]->received;
	return sum;
}

void live_heartbeat(struct live *s)
{
	if (s->control && s->control->page)
		FPROF_STORE_RELAXED(&s->control->page->heartbeat, s->control->page->heartbeat + 1);
}

int live_sweep(struct live *s, struct live_sweep *sweep)
{
	uint64_t before = received(s);

	sweep->fill_permille = 0;
	sweep->events = 0;
	sweep->behind = false;
	if (s->control && s->control->page)
		FPROF_STORE_RELAXED(&s->control->page->heartbeat, s->control->page->heartbeat + 1);
	if (s->fault < 0)
		return s->fault;
	if (last_is_over(s, sweep))
		give_up_rest(s);
	else
		s->fault = sweep_rings(s, sweep);
	sweep->events = received(s) - before;
	return s->fault;
}

void live_clock_step(struct live *s, uint64_t from, uint64_t to)
{
	int64_t t0 = live_ticks(s, from), t1 = live_ticks(s, to);

	s->repaired[REPAIR_CLOCK_STEP]++;
	if (s->frames.step_from <= s->frames.step_to)
		t0 = MIN(t0, s->frames.step_from);
	s->frames.step_from = t0;
	s->frames.step_to = t1;
}

/* Sums over rings and memories. */
static void sum_lane(const struct lane *lane, struct session_update_row *row)
{
	const struct memory_view *view = &lane->memory->view;
	unsigned j;
	size_t i;

	for (i = 0; i < lane->rings.count; i++) {
		const struct ring *ring = lane->rings.at[i];

		row->received += ring->received;
		row->stored += ring->stored;
		row->overwritten += ring->overwritten;
		row->produced += ring->received + ring->overwritten;
		row->dropped_reentrant =
			count_add(row->dropped_reentrant, memory_slot_dropped(view, ring->slot));
		for (j = 0; j < DISCARD_REASONS; j++)
			row->discarded[j] += ring->discarded[j];
	}
	for (j = 0; j < FPROF_REFUSED_KINDS; j++)
		row->refused[j] =
			count_add(row->refused[j], memory_refused(view, (enum fprof_refused)j));
}

static void fill_update(const struct live *s, struct session_update_row *row)
{
	size_t i;

	row->id = s->id;
	row->state = s->state;
	row->end_ns = s->state == SESSION_LIVE ? -1 : frames_ns(s, s->now);
	row->frames_total = s->frames.streams.at[0]->closed_total;
	row->ring_fill_max_permille = s->fill_permille;
	memcpy(row->repaired, s->repaired, sizeof(row->repaired));
	for (i = 0; i < s->lane_count; i++)
		if (s->lanes[i])
			sum_lane(s->lanes[i], row);
	for (i = 0; i < s->tracks.all.count; i++)
		row->threads_active += s->tracks.all.at[i]->kind == TRACK_THREAD &&
				       s->tracks.all.at[i]->end == TIME_OPEN;
}

/* What is ordered, and what the game has taken over of it. */
static void fill_record(struct live *s, struct session_update_row *row)
{
	row->record = row->record_in_force = s->record.state;
	if (s->controls)
		control_set_fill(s->controls, s->id, row, &s->detail_version);
}

static bool record_changed(const struct live *s, const struct session_update_row *row)
{
	return s->updated && (row->detail || row->record != s->last_update.record ||
			      row->record_in_force != s->last_update.record_in_force);
}

static char *fault_text(int fault)
{
	char text[96];

	snprintf(text, sizeof(text), "recording was given up: %s", strerror(-fault));
	return strdup(text);
}

static int put_update(struct live *s)
{
	struct session_update_row row;
	bool news;

	memset(&row, 0, sizeof(row));
	fill_update(s, &row);
	fill_record(s, &row);
	news = record_changed(s, &row);
	/* how full the rings were is told with other news, and is none by itself */
	s->last_update.ring_fill_max_permille = row.ring_fill_max_permille;
	if (s->updated && !memcmp(&row, &s->last_update, sizeof(row)) && s->fault == 0)
		return 0;
	s->last_update = row;
	s->last_update.detail = NULL;
	s->updated = true;
	s->fill_permille = 0;
	if (VEC_RESERVE(&s->batch->updates, 1) < 0) {
		free(row.detail);
		return -ENOMEM;
	}
	if (s->end_reason)
		row.end_reason = strdup(s->end_reason);
	if (s->fault < 0)
		row.fault = fault_text(s->fault);
	row.record_news = news;
	s->batch->updates.at[s->batch->updates.count++] = row;
	return 0;
}

static int finish_all(struct live *s)
{
	struct part *part;
	int r = 0;

	for (part = s->tracks.parts; part && r == 0; part = part->next)
		r = part_finish(s, part);
	return r;
}

static int put_ledgers(struct live *s)
{
	uint32_t i;
	size_t j;
	int r = 0;

	for (i = 0; i < s->lane_count; i++)
		for (j = 0; s->lanes[i] && j < s->lanes[i]->rings.count && r == 0; j++)
			if (s->lanes[i]->rings.at[j]->dirty)
				r = ledger_put(s, s->lanes[i]->rings.at[j]);
	return r;
}

int live_flush(struct live *s)
{
	size_t gpus = s->batch->frame_gpus.count;
	int r = s->fault;

	if (r == 0)
		r = finish_all(s);
	if (r == 0)
		r = gpu_flush(s->gpu, s->batch, s->state != SESSION_LIVE);
	if (r == 0)
		r = trigger_watch_gpu(s, gpus);
	if (r == 0)
		r = trigger_watch_tell(s);
	s->repaired[REPAIR_GPU_MISSING] += gpu_take_missing(s->gpu);
	if (r == 0)
		r = put_ledgers(s);
	if (r == 0)
		tracks_collect(s);
	s->fault = r;
	r = put_update(s);
	return s->fault < 0 ? s->fault : r;
}

int live_clear(struct live *s)
{
	struct clear_row row = {.session = s->id, .before = record_clear_point(s)};

	if (row.before == INT64_MIN)
		return 0;
	if (VEC_PUSH(&s->batch->clears, row) < 0)
		return -ENOMEM;
	s->cleared_to = s->frames.streams.at[0]->closed_total;
	return 0;
}

/* What was alive to the end ends with the session. */
static int end_tracks(struct live *s)
{
	size_t i;
	int r = 0;

	for (i = 0; i < s->tracks.all.count && r == 0; i++) {
		struct track *track = s->tracks.all.at[i];

		if (track->end != TIME_OPEN)
			continue;
		track->end = MAX(s->now, track->begin);
		r = track_put_row(s, track);
	}
	return r;
}

/* Killed by a fault, or it ended itself without a goodbye. Programs that another one ended in
 * order, or that became another one, did not. */
static bool left_abruptly(const struct live *s)
{
	return s->crashed ||
	       (!s->bye && s->end_reason && strncmp(s->end_reason, "exit status", 11) == 0);
}

int live_end(struct live *s, enum session_state state)
{
	int r = end_tracks(s), flushed;

	s->state = state;
	flushed = live_flush(s);
	if (flushed == 0 && left_abruptly(s))
		flushed = trigger_watch_exit(s);
	return r < 0 ? r : flushed;
}
