// SPDX-License-Identifier: MIT
/*
 * Recording ceases at a mark, or in a process without marks at the RECORD word itself. Each part
 * closes its open zones there, flagged truncated, one tick before the boundary: so that they end
 * in the last frame that was recorded. Their ends, and those of zones that began unrecorded, may
 * come at any time later: part->unknown counts them.
 *
 * Only the last stretch without recording is known. A ring that lags behind by more keeps the
 * events of an earlier one.
 */
#include "record.h"

#include "control_set.h"
#include "live.h"
#include "words.h"

static const struct stream *main_stream(const struct live *s)
{
	return s->frames.streams.at[0];
}

static uint64_t open_frame(const struct live *s)
{
	const struct stream *st = main_stream(s);

	return st->track ? stream_frame(st, st->count - 1)->number : 0;
}

void record_init(struct live *s)
{
	struct record *rec = &s->record;

	rec->state = s->resume ? s->resume->last.record_in_force : FPROF_STATE_RECORDING;
	rec->off_from = rec->state == FPROF_STATE_RECORDING ? INT64_MAX : INT64_MIN;
	rec->off_to = rec->state == FPROF_STATE_RECORDING ? INT64_MIN : INT64_MAX;
}

static void change(struct live *s, enum fprof_record_state state, uint64_t frame)
{
	s->record.state = state;
	s->record.pending = NULL;
	if (s->controls)
		control_set_in_force(s->controls, s->id, state, frame);
}

static void cease(struct live *s, int64_t t, enum fprof_record_state state, uint64_t frame)
{
	struct record *rec = &s->record;

	if (rec->state == FPROF_STATE_RECORDING) {
		rec->off_from = t;
		rec->off_to = INT64_MAX;
		rec->stops++;
	}
	change(s, state, frame);
}

static void begin(struct live *s, int64_t t)
{
	struct record *rec = &s->record;

	if (rec->pending) {
		rec->off_from = t;
		rec->stops++;
	}
	if (rec->pending || rec->state != FPROF_STATE_RECORDING)
		rec->off_to = MAX(t, rec->off_from);
	rec->begun = true;
	change(s, FPROF_STATE_RECORDING, open_frame(s));
}

/* Does what this ring says count? A plugin's copy of the library takes orders over by itself. */
static bool decides(const struct live *s, const struct ring *ring)
{
	const struct stream *st = main_stream(s);

	return !st->track || !st->ring || st->ring->lane == ring->lane;
}

int record_word(struct live *s, struct ring *ring, const struct words_event *e)
{
	uint32_t state = e->count < 3 ? UINT32_MAX : (uint8_t)e->words[1];

	if (state > FPROF_STATE_FROZEN)
		return WORDS_DISCARD + DISCARD_MALFORMED;
	if (!decides(s, ring))
		return WORDS_STORED;
	if (state == FPROF_STATE_RECORDING) {
		begin(s, MIN(live_ticks(s, e->words[2]), e->t));
	} else if (e->words[1] & FPROF_RECORD_AT_MARK) {
		s->record.pending = ring;
		s->record.pending_state = (enum fprof_record_state)state;
	} else {
		cease(s, e->t, (enum fprof_record_state)state, open_frame(s));
	}
	return WORDS_STORED;
}

/* Closes what is open in part where recording ceased. */
static int settle(struct live *s, struct part *part)
{
	uint32_t open = part->unknown + part->over + part->depth;
	int r;

	part->stops = s->record.stops;
	r = part_truncate(s, part, s->record.off_from - 1);
	part->unknown = MIN(open, (uint32_t)CHUNK_DEPTH_MAX);
	return r;
}

int record_before_mark(struct live *s, struct ring *ring, int64_t t)
{
	int r = 0;

	if (s->record.pending != ring)
		return 0;
	cease(s, t, s->record.pending_state, open_frame(s) + 1);
	if (ring->part && ring->part->stops != s->record.stops)
		r = settle(s, ring->part);
	return r;
}

void record_marked(struct live *s, int64_t t)
{
	if (s->record.state != FPROF_STATE_RECORDING && t > s->record.off_from)
		begin(s, t);
	if (s->record.begun)
		change(s, FPROF_STATE_RECORDING, open_frame(s));
	s->record.begun = false;
}

int record_check(struct live *s, struct part *part, int64_t t)
{
	const struct record *rec = &s->record;
	int r = 0;

	if (t < rec->off_from)
		return WORDS_STORED;
	if (part->stops != rec->stops)
		r = settle(s, part);
	if (r < 0 || t >= rec->off_to)
		return r;
	return WORDS_DISCARD + DISCARD_NOT_RECORDING;
}

int record_settle(struct live *s, int64_t swept_to)
{
	struct part *part;
	int r = 0;

	if (s->record.settled == s->record.stops || swept_to < s->record.off_from)
		return 0;
	for (part = s->tracks.parts; part && r == 0; part = part->next)
		if (part->stops != s->record.stops)
			r = settle(s, part);
	s->record.settled = s->record.stops;
	return r;
}

int64_t record_clear_point(const struct live *s)
{
	const struct stream *st = main_stream(s);

	if (s->record.state != FPROF_STATE_RECORDING && s->record.off_from != INT64_MIN)
		return s->record.off_from + 1;
	return st->track && s->record.state == FPROF_STATE_RECORDING ? stream_closed(st)
								     : s->swept_to;
}
