/* SPDX-License-Identifier: MIT */
/*
 * Extended events: marks, counters, messages, what belongs to the innermost zone, GPU words, names
 * and facts. Each checks its length and its arguments; what is nonsense is discarded as malformed.
 * A subkind that is not known is kept as it is (CHUNK_OTHER).
 */
#include "words.h"

#include <errno.h>
#include <string.h>

#define INFOS_MAX 256u
#define TIME_SANE                                                                      \
	(INT64_C(1) << 56) /* ticks: a year; nothing is further from a session's start \
			    */
#define UTF8_GROWTH  3	   /* a byte may become U+FFFD */
#define INFO_KEY_MAX 255u

#define MALFORMED (WORDS_DISCARD + DISCARD_MALFORMED)
#define QUOTA	  (WORDS_DISCARD + DISCARD_QUOTA)

/* The session's id of a lane's marker; 0 stays 0. False: there is none. */
static bool marker_id(struct live *s, struct ring *ring, uint32_t id, uint32_t *ret_id,
		      int *ret_error)
{
	uint32_t entry;

	*ret_id = 0;
	*ret_error = 0;
	if (id == 0)
		return true;
	if (id > FPROF_ID_MASK)
		return false;
	*ret_error = lane_marker(s, ring->lane, id, &entry);
	if (*ret_error == 0 && entry == LANE_FULL)
		*ret_error = QUOTA;
	if (*ret_error != 0 || entry == LANE_BAD)
		return false;
	*ret_id = entry & LANE_ID_MASK;
	return true;
}

/* The ring's part, ready for an event with payload bytes of arguments. */
static int ready(struct live *s, struct ring *ring, int64_t *t, size_t payload, struct part **ret)
{
	int r = words_part(s, ring, ret);

	return r < 0 ? r : words_ready(s, *ret, t, payload);
}

static int put_mark(struct live *s, struct ring *ring, const struct words_event *e,
		    const struct stream *st)
{
	struct part *part;
	int64_t t = e->t;
	int r;

	part_recut(s, ring->part);
	r = ready(s, ring, &t, 5 + 5 + 10 + 10, &part);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_MARK);
	chunk_build_varint(&part->b, st->id);
	chunk_build_varint(&part->b, e->words[1] >> 32);
	chunk_build_varint(&part->b, e->words[2]);
	chunk_build_varint(&part->b, e->words[3] + 1);
	return WORDS_STORED;
}

static int event_mark(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct mark mark = {
		.lane = ring->lane->index,
		.ring = ring,
		.t = e->t,
	};
	enum mark_verdict verdict;
	struct stream *st;
	struct part *part;
	int r;

	if (e->count < 4)
		return MALFORMED;
	mark.origin = (uint32_t)(e->words[1] >> 32);
	mark.sequence = e->words[2];
	mark.flags = e->count > 4 ? e->words[4] : 0;
	mark.engine_id = e->words[3] > INT64_MAX ? -1 : (int64_t)e->words[3];
	if (mark.origin != FPROF_ORIGIN_GAME && mark.origin != FPROF_ORIGIN_HOOK)
		return MALFORMED;
	if (!marker_id(s, ring, (uint32_t)e->words[1], &mark.marker, &r))
		return r ? r : MALFORMED;
	r = words_part(s, ring, &part);
	if (r < 0)
		return r;
	mark.track = part->track;
	r = mark.marker == 0 && !(mark.flags & FPROF_MARK_FOREIGN)
		    ? record_before_mark(s, ring, mark.t)
		    : 0;
	if (r == 0)
		r = frames_mark(s, &mark, &st, &verdict);
	if (r < 0)
		return r;
	if (verdict == MARK_OBEYED && st->id == 0)
		record_marked(s, mark.t);
	if (verdict == MARK_OBEYED)
		return put_mark(s, ring, e, st);
	if (verdict == MARK_NO_ROOM)
		return QUOTA;
	if (verdict == MARK_HOOK)
		return WORDS_DISCARD + DISCARD_HOOK_MARK;
	s->repaired[REPAIR_FOREIGN_MARK]++;
	return WORDS_DISCARD + DISCARD_FOREIGN_MARK;
}

/* A number as COUNTER and VALUE have it. */
static void put_number(struct part *part, uint32_t type, uint64_t bits)
{
	if (type == FPROF_VALUE_F64)
		chunk_build_raw(&part->b, &bits, 8);
	else
		chunk_build_varint(&part->b, chunk_zigzag((int64_t)bits));
}

/* A database would take it for NULL. */
static bool is_nan(uint32_t type, uint64_t bits)
{
	return type == FPROF_VALUE_F64 && (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

static int event_counter(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct counter_event c = {.t = e->t};
	struct part *part;
	int r;

	if (e->count < 3)
		return MALFORMED;
	c.op = (uint32_t)(e->words[1] >> 32) & 0xff;
	c.type = (uint32_t)(e->words[1] >> 40) & 0xff;
	c.bits = e->words[2];
	if (c.op > FPROF_COUNTER_ADD || c.type > FPROF_VALUE_U64 || is_nan(c.type, c.bits))
		return MALFORMED;
	if (!marker_id(s, ring, (uint32_t)e->words[1], &c.marker, &r))
		return r ? r : MALFORMED;
	if (c.marker == 0)
		return MALFORMED;
	r = counters_put(s, stream_find(s->frames.streams.at[0], c.t), &c);
	if (r == 0)
		r = ready(s, ring, &c.t, 10 + 5 + 10, &part);
	if (r < 0)
		return r;
	words_put(part, c.t, CHUNK_COUNTER);
	chunk_build_varint(&part->b, c.marker);
	chunk_build_varint(&part->b, c.op | c.type << 1);
	put_number(part, c.type, c.bits);
	return WORDS_STORED;
}

/* Text becomes valid UTF-8 here, so that no reader has to. False: more than the event holds. */
static bool take_text(const struct words_event *e, uint32_t from, uint64_t bytes, char *dst)
{
	if (bytes > FPROF_TEXT_MAX || bytes > (uint64_t)(e->count - from) * 8)
		return false;
	utf8_copy(dst, FPROF_TEXT_MAX * UTF8_GROWTH + 1, &e->words[from], bytes);
	return true;
}

static int event_message(struct live *s, struct ring *ring, const struct words_event *e)
{
	char text[FPROF_TEXT_MAX * UTF8_GROWTH + 1];
	struct part *part;
	int64_t t = e->t;
	uint32_t marker;
	size_t bytes;
	int r;

	if (e->count < 3 || !take_text(e, 3, e->words[1] >> 32, text))
		return MALFORMED;
	if (!marker_id(s, ring, (uint32_t)e->words[1], &marker, &r))
		return r ? r : MALFORMED;
	bytes = strlen(text);
	r = ready(s, ring, &t, 5 + 5 + 5 + bytes, &part);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_MESSAGE);
	chunk_build_varint(&part->b, marker);
	chunk_build_varint(&part->b, (uint32_t)e->words[2]);
	chunk_build_varint(&part->b, bytes);
	chunk_build_raw(&part->b, text, bytes);
	return WORDS_STORED;
}

static int event_text(struct live *s, struct ring *ring, const struct words_event *e)
{
	char text[FPROF_TEXT_MAX * UTF8_GROWTH + 1];
	struct part *part;
	int64_t t = e->t;
	size_t bytes;
	int r;

	if (e->count < 2 || !take_text(e, 2, e->words[1], text))
		return MALFORMED;
	bytes = strlen(text);
	r = ready(s, ring, &t, 5 + bytes, &part);
	if (r < 0)
		return r;
	if (part->over > 0)
		return QUOTA;
	words_put(part, t, CHUNK_TEXT);
	chunk_build_varint(&part->b, bytes);
	chunk_build_raw(&part->b, text, bytes);
	return WORDS_STORED;
}

static int event_value(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct part *part;
	int64_t t = e->t;
	int r;

	if (e->count < 3 || e->words[1] > FPROF_VALUE_U64)
		return MALFORMED;
	r = ready(s, ring, &t, 5 + 10, &part);
	if (r < 0)
		return r;
	if (part->over > 0)
		return QUOTA;
	words_put(part, t, CHUNK_VALUE);
	chunk_build_varint(&part->b, e->words[1]);
	put_number(part, (uint32_t)e->words[1], e->words[2]);
	return WORDS_STORED;
}

static int event_thread_name(struct live *s, struct ring *ring, const struct words_event *e)
{
	char name[FPROF_TEXT_MAX * UTF8_GROWTH + 1];
	int r;

	if (e->count < 2 || e->words[1] > FPROF_THREAD_NAME_MAX ||
	    !take_text(e, 2, e->words[1], name))
		return MALFORMED;
	r = track_rename(s, ring->own, name);
	return r < 0 ? r : WORDS_STORED;
}

static char *info_text(const uint8_t *bytes, uint64_t count)
{
	char *text = malloc(count * UTF8_GROWTH + 1);

	if (text)
		utf8_copy(text, count * UTF8_GROWTH + 1, bytes, count);
	return text;
}

static int event_info(struct live *s, const struct words_event *e)
{
	uint64_t key, value;
	struct info_row row = {.session = s->id};

	if (e->count < 2)
		return MALFORMED;
	key = e->words[1] & UINT32_MAX;
	value = e->words[1] >> 32;
	if (key == 0 || key > INFO_KEY_MAX || key + value > (uint64_t)(e->count - 2) * 8)
		return MALFORMED;
	if (s->info_count >= INFOS_MAX)
		return QUOTA;
	row.key = info_text((const uint8_t *)&e->words[2], key);
	row.value = info_text((const uint8_t *)&e->words[2] + key, value);
	if (!row.key || !row.value || VEC_PUSH(&s->batch->infos, row) < 0) {
		free(row.key);
		free(row.value);
		return -ENOMEM;
	}
	s->info_count++;
	return WORDS_STORED;
}

static int gpu_dropped_one(struct live *s)
{
	s->repaired[REPAIR_GPU_DROPPED]++;
	return MALFORMED;
}

/* A client counts its marks; the session's frames may have begun with another's. */
static uint64_t gpu_frame(const struct live *s, uint64_t frame)
{
	return frame + (uint64_t)s->gpu_frame_shift;
}

static int event_gpu_queue(struct live *s, struct ring *ring, const struct words_event *e)
{
	const struct marker *name;
	struct track *track;
	uint32_t marker, queue, bits;
	double ns_per_tick;
	int r;

	if (e->count < 4)
		return MALFORMED;
	queue = (uint32_t)e->words[1];
	bits = (uint32_t)(e->words[1] >> 32);
	memcpy(&ns_per_tick, &e->words[2], 8);
	if (!marker_id(s, ring, (uint32_t)e->words[3], &marker, &r))
		return r ? r : MALFORMED;
	name = marker_table_at(&s->markers, marker);
	track = track_find_queue(s, queue);
	r = gpu_queue(s->gpu, queue, track ? track->id : s->tracks.next_id, ns_per_tick, bits);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return gpu_dropped_one(s);
	if (!track) {
		r = track_new(s, TRACK_GPU_QUEUE, name ? name->strings : NULL, e->t, &track);
		if (r < 0)
			return r;
	}
	track->queue = queue;
	track->last_ring = ring;
	track->valid_bits = bits;
	track->ns_per_tick = ns_per_tick;
	r = track_put_row(s, track);
	return r < 0 ? r : WORDS_STORED;
}

static int event_gpu_calibration(struct live *s, const struct words_event *e)
{
	int64_t t;

	if (e->count < 4)
		return MALFORMED;
	t = live_ticks(s, e->words[3]);
	if (t < -TIME_SANE || t > TIME_SANE)
		return WORDS_DISCARD + DISCARD_TIME;
	gpu_calibrate(s->gpu, (uint32_t)e->words[1], e->words[2], frames_ns(s, t));
	return WORDS_STORED;
}

static int event_gpu_span(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct gpu_span span = {0};
	int r;

	if (e->count < 8)
		return MALFORMED;
	span.queue = (uint32_t)e->words[1];
	span.begin = e->words[2];
	span.end = e->words[3];
	span.frame = gpu_frame(s, e->words[4]);
	span.submission = e->words[5];
	span.view = (uint32_t)e->words[6];
	span.fence = e->words[7];
	if (!marker_id(s, ring, (uint32_t)(e->words[1] >> 32), &span.marker, &r))
		return r ? r : MALFORMED;
	return gpu_span(s->gpu, &span, frames_ns(s, e->t)) ? WORDS_STORED : gpu_dropped_one(s);
}

static int event_gpu_submit(struct live *s, const struct words_event *e)
{
	if (e->count < 4)
		return MALFORMED;
	gpu_submit(s->gpu, (uint32_t)e->words[1], (uint32_t)(e->words[1] >> 32), e->words[2],
		   gpu_frame(s, e->words[3]), frames_ns(s, e->t));
	return WORDS_STORED;
}

static int event_gpu_dropped(struct live *s, const struct words_event *e)
{
	if (e->count < 4)
		return MALFORMED;
	s->repaired[REPAIR_GPU_DROPPED] = count_add(s->repaired[REPAIR_GPU_DROPPED], e->words[3]);
	gpu_dropped(s->gpu, (uint32_t)e->words[1], gpu_frame(s, e->words[2]), e->words[3]);
	return WORDS_STORED;
}

static int event_other(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct part *part;
	int64_t t = e->t;
	int r = ready(s, ring, &t, 5 + 5 + (size_t)e->count * 8, &part);

	if (r < 0)
		return r;
	words_put(part, t, CHUNK_OTHER);
	chunk_build_varint(&part->b, fprof_word_ext_kind(e->words[0]));
	chunk_build_varint(&part->b, e->count - 1);
	chunk_build_raw(&part->b, e->words + 1, (size_t)(e->count - 1) * 8);
	return WORDS_STORED;
}

/* Is e of a kind that is left out while nothing is to be recorded? Names, facts, fibers, and what
 * the GPU did for frames that were recorded, are not. */
static bool is_recorded(const struct words_event *e)
{
	uint32_t kind = fprof_word_ext_kind(e->words[0]);

	return kind == FPROF_EXT_COUNTER || kind == FPROF_EXT_MESSAGE || kind == FPROF_EXT_TEXT ||
	       kind == FPROF_EXT_VALUE || kind == FPROF_EXT_ALLOC;
}

static int event_record(struct live *s, struct ring *ring, const struct words_event *e)
{
	int r = record_word(s, ring, e);

	return r == WORDS_STORED ? event_other(s, ring, e) : r;
}

static int event_loading(struct live *s, struct ring *ring, const struct words_event *e)
{
	int r;

	if (e->count < 2 || e->words[1] > 1)
		return MALFORMED;
	r = loading_put(&s->frames.loading, e->t, e->words[1] == 1);
	return r < 0 ? r : event_other(s, ring, e);
}

static int recorded_event(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct part *part;
	int r = words_part(s, ring, &part);

	return r < 0 ? r : record_check(s, part, e->t);
}

int words_event(struct live *s, struct ring *ring, const struct words_event *e)
{
	int r = is_recorded(e) ? recorded_event(s, ring, e) : WORDS_STORED;

	if (r != WORDS_STORED)
		return r;
	switch (fprof_word_ext_kind(e->words[0])) {
	case FPROF_EXT_THREAD_NAME:
		return event_thread_name(s, ring, e);
	case FPROF_EXT_MARK:
		return event_mark(s, ring, e);
	case FPROF_EXT_COUNTER:
		return event_counter(s, ring, e);
	case FPROF_EXT_MESSAGE:
		return event_message(s, ring, e);
	case FPROF_EXT_TEXT:
		return event_text(s, ring, e);
	case FPROF_EXT_VALUE:
		return event_value(s, ring, e);
	case FPROF_EXT_GPU_QUEUE:
		return event_gpu_queue(s, ring, e);
	case FPROF_EXT_GPU_CALIBRATION:
		return event_gpu_calibration(s, e);
	case FPROF_EXT_GPU_SPAN:
		return event_gpu_span(s, ring, e);
	case FPROF_EXT_GPU_SUBMIT:
		return event_gpu_submit(s, e);
	case FPROF_EXT_GPU_DROPPED:
		return event_gpu_dropped(s, e);
	case FPROF_EXT_INFO:
		return event_info(s, e);
	case FPROF_EXT_RECORD:
		return event_record(s, ring, e);
	case FPROF_EXT_LOADING:
		return event_loading(s, ring, e);
	default:
		return event_other(s, ring, e);
	}
}
