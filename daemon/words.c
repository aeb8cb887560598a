/* SPDX-License-Identifier: MIT */
/*
 * Reading a ring: words are copied LIVE_BUF_WORDS at a time and taken apart block by block. Nothing
 * is believed: a word that makes no sense is one malformed event, and what follows it is skipped up
 * to the next block header, whose event number says how many lead words that was. So the ledger is
 * exact whatever the memory holds: number = received + overwritten wherever headers are sound.
 *
 * Nearly all words are zone begins and ends: run_fast takes those that need nothing but the stack
 * and the columns. It stops at the first word that needs more: another kind, a wait zone, an
 * unknown marker, an end that does not match, a time that runs backwards, passes the chunk's end or
 * the horizon. That word goes the slow way, and then it is tried again.
 */
#include "words.h"

#include "log.h"
#include "shm/atomic.h"
#include "zone_counter.h"

#include <errno.h>
#include <string.h>

#define AMBIGUOUS_TICKS (INT64_C(1) << FPROF_TIME_BITS)

#define FAST_EVENTS_MIN 64u

/* When an event can be placed. */
enum when { WHEN_NOW, WHEN_LATER, WHEN_NEVER };

/* The number of bytes that arguments of the single-word kinds take at most. */
#define PAYLOAD_NEXT 5

int words_part(struct live *s, struct ring *ring, struct part **ret_part)
{
	struct track *track = ring->fiber ? ring->fiber : ring->own;
	int r = 0;

	if (!ring->part) {
		r = part_of(s, track, ring->lane->index, &ring->part);
		if (r == 0)
			part_recut(s, ring->part);
	}
	*ret_part = ring->part;
	return r;
}

int words_ready(struct live *s, struct part *part, int64_t *t, size_t payload)
{
	*t = MAX(*t, part->b.last);
	return part_ready(s, part, *t, payload);
}

void words_put(struct part *part, int64_t t, uint32_t code)
{
	chunk_build_event(&part->b, t, code);
	part->leads++;
}

static void ring_received(struct ring *ring, uint64_t events)
{
	ring->received += events;
	ring->number += events;
	ring->dirty = true;
}

static void ring_discard(struct ring *ring, enum discard_reason reason)
{
	ring_received(ring, 1);
	ring->discarded[reason]++;
}

/*
 * The full time of a word: the one nearest to what was last known of the ring, not before its
 * block's header if it can be later. After 2^40 ticks of silence only a header can tell.
 */
static int64_t extend(const struct live *s, const struct ring *ring, uint64_t word, int64_t now)
{
	int64_t known = MAX(ring->base, ring->floor);
	int64_t t =
		live_ticks(s, fprof_time_extend(s->start + (uint64_t)known, fprof_word_time(word)));

	if (t < ring->base && t + AMBIGUOUS_TICKS <= now)
		t += AMBIGUOUS_TICKS;
	return t;
}

/* Is t in the future? The sweep's clock may be old by now, so it is read anew. */
static bool in_future(const struct live *s, int64_t t, int64_t now)
{
	if (t <= now)
		return false;
	return t > live_ticks(s, fprof_clock_read(s->clock_kind)) + WORDS_SLACK_TICKS;
}

static enum when place(struct live *s, struct ring *ring, uint64_t word,
		       const struct words_limits *limits, int64_t *ret_t)
{
	int64_t t = extend(s, ring, word, limits->now);

	if (limits->now - MAX(ring->base, ring->floor) >= AMBIGUOUS_TICKS)
		return WHEN_NEVER;
	if (in_future(s, t, limits->now))
		return WHEN_NEVER;
	if (t > limits->horizon)
		return WHEN_LATER;
	if (t < ring->base) {
		if (t < ring->block - WORDS_SLACK_TICKS)
			return WHEN_NEVER;
		if (t < ring->base - WORDS_SLACK_TICKS)
			s->repaired[REPAIR_TIME_BACKWARDS]++;
		t = ring->base;
	}
	*ret_t = t;
	return WHEN_NOW;
}

/* What run_fast may take. */
struct run {
	const uint64_t *words;
	size_t count;
	uint64_t start, end; /* of the session; the first time that is not taken */
};

/*
 * Zone begins, ends and nexts that need nothing but stack and columns; returns how many words were
 * taken. The part is open and has room for count events.
 *
 * One compare finds every time that does not go on: a step back is a large step forwards in
 * 40 bits, past any stop.
 *
 * Made twice, since most sessions are short and have no counter; and out of line, where the loop
 * has the registers for itself.
 */
static inline __attribute__((always_inline)) size_t
run_zones(struct ring *ring, struct part *part, struct zone_counter *counter, const struct run *run)
{
	struct chunk_builder *b = &part->b;
	const uint32_t *map = ring->lane->map;
	const uint64_t *words = run->words, *words_end = words + run->count;
	uint64_t start = run->start, end = run->end;
	uint64_t now = start + (uint64_t)ring->base, last = start + (uint64_t)b->last;
	struct chunk_open *stack = part->stack, *top = stack + part->depth;
	const struct chunk_open *stack_end = stack + part->capacity;
	uint8_t *times = b->times + b->times_bytes, *codes = b->codes + b->codes_bytes;
	uint8_t *tags = b->tags;
	uint32_t tag = b->tag, n = b->events;

	for (; words < words_end; words++) {
		uint64_t word = *words, delta;
		uint64_t t = now + ((word - now) & FPROF_TIME_MASK);
		uint32_t marker = map[fprof_word_id(word)], kind = fprof_word_kind(word);
		uint32_t code, size;

		if (FPROF_UNLIKELY(marker - 1 >= LANE_SLOW - 1 || t >= end))
			break;
		if (kind == FPROF_WORD_BEGIN) {
			if (top == stack_end ||
			    (counter &&
			     !zone_counter_enter(counter, (uint32_t)(top - stack) + 1, marker)))
				break;
			*top++ = (struct chunk_open){marker, (int64_t)(t - start)};
			code = marker + CHUNK_BEGIN;
		} else if (kind == FPROF_WORD_END && top > stack && top[-1].marker == marker) {
			if (counter)
				zone_counter_end(counter, (uint32_t)(top - stack), top[-1].begin,
						 (int64_t)(t - start));
			top--;
			code = CHUNK_END;
		} else if (kind == FPROF_WORD_NEXT && top > stack && !part->waits) {
			if (counter && !zone_counter_next(counter, (uint32_t)(top - stack), marker,
							  top[-1].begin, (int64_t)(t - start)))
				break;
			top[-1] = (struct chunk_open){marker, (int64_t)(t - start)};
			chunk_build_varint(b, marker);
			code = CHUNK_NEXT;
		} else {
			break;
		}
		delta = t - last;
		now = last = t;
		size = chunk_time_tag(delta);
		memcpy(times, &delta, 8);
		times += chunk_time_bytes(size);
		tag = (tag >> 2 | size << 6) & 0xff;
		tags[n++ / 4] = (uint8_t)tag;
		codes = chunk_put_code(codes, code);
	}
	b->times_bytes = (size_t)(times - b->times);
	b->codes_bytes = (size_t)(codes - b->codes);
	b->tag = tag;
	b->events = n;
	if (words > run->words)
		b->last = (int64_t)(last - start);
	ring->base = (int64_t)(now - start);
	part->depth = (uint32_t)(top - stack);
	return (size_t)(words - run->words);
}

static __attribute__((noinline)) size_t run_plain(struct ring *ring, struct part *part,
						  const struct run *run)
{
	return run_zones(ring, part, NULL, run);
}

static __attribute__((noinline)) size_t run_counting(struct ring *ring, struct part *part,
						     const struct run *run)
{
	return run_zones(ring, part, part->counter, run);
}

static size_t run_fast(struct ring *ring, struct part *part, const uint64_t *words, size_t count,
		       uint64_t start, int64_t stop)
{
	const struct run run = {words, count, start, start + (uint64_t)stop};

	return part->counter ? run_counting(ring, part, &run) : run_plain(ring, part, &run);
}

/* Takes what the fast way can of count words; they lie in one block. */
static int take_fast(struct live *s, struct ring *ring, const uint64_t *words, size_t count,
		     const struct words_limits *limits, size_t *ret_taken)
{
	struct part *part = ring->part;
	int64_t stop = limits->last ? limits->now : limits->horizon;
	int r;

	*ret_taken = 0;
	if (!part || !part->open || part->over > 0 || !part->stack || ring->base < ring->floor ||
	    part->b.last > ring->base || chunk_build_bytes(&part->b) >= CHUNK_BYTES_MAX)
		return 0;
	if (s->record.off_from > ring->base)
		stop = MIN(stop, s->record.off_from);
	else if (s->record.off_to > ring->base || part->stops != s->record.stops)
		return 0;
	/* a part that has few events gets little room */
	count = MIN(count, (size_t)MAX(part->b.events, FAST_EVENTS_MIN));
	r = chunk_build_room(&part->b, count, count * PAYLOAD_NEXT);
	if (r < 0)
		return r;
	*ret_taken = run_fast(ring, part, words, count, s->start, MIN(part->cut, stop));
	part->leads += (uint32_t)*ret_taken;
	ring_received(ring, *ret_taken);
	ring->stored += *ret_taken;
	return 0;
}

void words_report(struct live *s, const struct part *part, uint32_t marker, const char *what)
{
	struct marker *m = marker_table_at(&s->markers, marker);
	char open[256] = "";
	size_t used = 0;
	uint32_t i;

	if (!m || m->reported)
		return;
	m->reported = true;
	for (i = part->depth > 4 ? part->depth - 4 : 0; i < part->depth; i++) {
		const struct marker *zone = marker_table_at(&s->markers, part->stack[i].marker);

		used += (size_t)snprintf(open + used, sizeof(open) - used, "%s\"%.40s\"",
					 used ? " > " : "", zone ? zone->strings : "?");
		used = MIN(used, sizeof(open) - 1);
	}
	log_warning("session %llu, thread \"%s\" (tid %d): %s of zone \"%s\"; open there: %s",
		    (unsigned long long)s->id, part->track->name ? part->track->name : "",
		    part->track->tid, what, m->strings, open[0] ? open : "nothing");
}

static int begin_zone(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	int r;

	if (part->depth == CHUNK_DEPTH_MAX) {
		part->over++;
		s->repaired[REPAIR_DEPTH]++;
		return WORDS_DISCARD + DISCARD_QUOTA;
	}
	r = words_ready(s, part, &t, 0);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_BEGIN + marker);
	return part_push(s, part, marker, t);
}

/* An end whose zone is not the innermost open one. */
static int end_unmatched(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	uint32_t i = part->depth;
	int r;

	while (i > 0 && part->stack[i - 1].marker != marker)
		i--;
	if (i > 0) {
		words_report(s, part, marker, "an end that leaves inner zones open");
		s->repaired[REPAIR_UNBALANCED_END]++;
		s->repaired[REPAIR_TRUNCATED_ZONE] += part->depth - i;
	} else if (part->unknown > 0) {
		part->unknown--;
	} else {
		words_report(s, part, marker, "an end without a begin");
		s->repaired[REPAIR_STRAY_END]++;
	}
	r = words_ready(s, part, &t, 10);
	if (r < 0)
		return r;
	words_put(part, t, i > 0 ? CHUNK_UNBALANCED_END : CHUNK_STRAY_END);
	chunk_build_varint(&part->b, marker);
	return i > 0 ? part_pop_to(s, part, i - 1, t) : 0;
}

static int end_zone(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	int r;

	if (part->over > 0) {
		part->over--;
		return WORDS_DISCARD + DISCARD_QUOTA;
	}
	if (part->depth == 0 || part->stack[part->depth - 1].marker != marker)
		return end_unmatched(s, part, marker, t);
	r = words_ready(s, part, &t, 0);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_END);
	return part_pop_to(s, part, part->depth - 1, t);
}

static int next_zone(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	int r;

	if (part->over > 0)
		return WORDS_DISCARD + DISCARD_QUOTA;
	if (part->depth == 0) {
		if (part->unknown > 0)
			part->unknown--;
		else
			s->repaired[REPAIR_STRAY_END]++;
		return begin_zone(s, part, marker, t);
	}
	r = words_ready(s, part, &t, PAYLOAD_NEXT);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_NEXT);
	chunk_build_varint(&part->b, marker);
	r = part_pop_to(s, part, part->depth - 1, t);
	return r < 0 ? r : part_push(s, part, marker, t);
}

static int instant(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	int r = words_ready(s, part, &t, 10);

	if (r < 0)
		return r;
	words_put(part, t, CHUNK_INSTANT);
	chunk_build_varint(&part->b, marker);
	return 0;
}

/* A word while nothing is to be recorded: an end that comes later may be that of a zone that began
 * now. */
static void skip_zone(struct part *part, uint32_t kind)
{
	if (kind == FPROF_WORD_BEGIN && part->unknown < CHUNK_DEPTH_MAX)
		part->unknown++;
	else if (kind == FPROF_WORD_END && part->unknown > 0)
		part->unknown--;
}

/* A word of one of the single-word kinds. */
static int single(struct live *s, struct ring *ring, uint64_t word, int64_t t)
{
	struct part *part;
	uint32_t marker;
	int r;

	r = lane_marker(s, ring->lane, fprof_word_id(word), &marker);
	if (r < 0)
		return r;
	if (marker == LANE_BAD)
		return WORDS_DISCARD + DISCARD_MALFORMED;
	if (marker == LANE_FULL)
		return WORDS_DISCARD + DISCARD_QUOTA;
	marker &= LANE_ID_MASK;
	r = words_part(s, ring, &part);
	if (r == 0)
		r = record_check(s, part, t);
	if (r >= WORDS_DISCARD)
		skip_zone(part, fprof_word_kind(word));
	if (r != 0)
		return r;
	switch (fprof_word_kind(word)) {
	case FPROF_WORD_BEGIN:
		return begin_zone(s, part, marker, t);
	case FPROF_WORD_END:
		return end_zone(s, part, marker, t);
	case FPROF_WORD_NEXT:
		return next_zone(s, part, marker, t);
	default:
		return instant(s, part, marker, t);
	}
}

/* The words of the event at words[0], of which left stand in the block; 0: it makes no sense. */
static uint32_t event_words(uint64_t lead, size_t left)
{
	uint32_t kind = fprof_word_kind(lead), count = fprof_word_ext_words(lead);

	if (kind >= FPROF_WORD_BEGIN && kind <= FPROF_WORD_INSTANT)
		return 1;
	if (kind != FPROF_WORD_EXT || fprof_word_ext_kind(lead) == FPROF_EXT_HEADER)
		return 0;
	return count <= left ? count : 0;
}

static int dispatch(struct live *s, struct ring *ring, const struct words_event *e)
{
	uint32_t ext = fprof_word_ext_kind(e->words[0]);
	int r;

	if (fprof_word_kind(e->words[0]) == FPROF_WORD_EXT && ext == FPROF_EXT_THREAD)
		return words_thread(s, ring, e);
	if (!ring->own) {
		r = words_owner(s, ring, e->t);
		if (r != 0)
			return r;
	}
	if (fprof_word_kind(e->words[0]) != FPROF_WORD_EXT)
		return single(s, ring, e->words[0], e->t);
	if (ext == FPROF_EXT_THREAD_END)
		return words_thread_end(s, ring, e);
	if (ext == FPROF_EXT_FIBER)
		return words_fiber(s, ring, e);
	return words_event(s, ring, e);
}

/* What one turn of the reading loop came to. */
enum turn { TURN_ON, TURN_STOP, TURN_WAIT, TURN_MORE };

static void begin_resync(struct ring *ring, uint64_t pos)
{
	ring_discard(ring, DISCARD_MALFORMED);
	ring->resync = true;
	ring->resync_from = pos;
}

/* One event the slow way: *ret_used words. */
static int take_slow(struct live *s, struct ring *ring, const uint64_t *words, size_t left,
		     size_t here, uint64_t pos, const struct words_limits *limits, size_t *ret_used)
{
	struct words_event e = {.words = words, .count = event_words(words[0], left)};
	enum when when;
	int r;

	*ret_used = 1;
	if (fprof_word_kind(words[0]) == FPROF_WORD_PAD)
		return TURN_ON;
	if (e.count == 0) {
		begin_resync(ring, pos);
		return TURN_ON;
	}
	if (e.count > here)
		return TURN_MORE;
	when = place(s, ring, words[0], limits, &e.t);
	if (when == WHEN_LATER)
		return TURN_STOP;
	r = when == WHEN_NEVER ? WORDS_DISCARD + DISCARD_TIME : dispatch(s, ring, &e);
	if (r < 0)
		return r;
	if (r == WORDS_WAIT)
		return TURN_WAIT;
	*ret_used = e.count;
	if (when == WHEN_NOW)
		ring->base = MAX(ring->base, e.t);
	if (r >= WORDS_DISCARD) {
		ring_discard(ring, (enum discard_reason)(r - WORDS_DISCARD));
		return TURN_ON;
	}
	ring_received(ring, 1);
	ring->stored++;
	return TURN_ON;
}

/* The header at the beginning of a block. */
static int take_header(struct live *s, struct ring *ring, const uint64_t *words, size_t here,
		       uint64_t pos, const struct words_limits *limits, size_t *ret_used)
{
	int r;

	if (here < FPROF_HEADER_WORDS)
		return TURN_MORE;
	r = words_header(s, ring, words, pos, limits);
	*ret_used = r == WORDS_STORED ? FPROF_HEADER_WORDS : 1;
	if (r < 0)
		return r;
	if (r >= WORDS_DISCARD) /* its block had one event at least */
		ring_discard(ring, DISCARD_MALFORMED);
	return r == WORDS_WAIT ? TURN_WAIT : TURN_ON;
}

/*
 * Takes words apart from the one at pos on, of which count are here. *ret_used of them are done
 * with. Returns enum turn (TURN_ON: all of them) or -errno.
 */
static int parse(struct live *s, struct ring *ring, const uint64_t *words, uint64_t pos,
		 size_t count, const struct words_limits *limits, size_t *ret_used)
{
	size_t i = 0, used;
	int r = TURN_ON;

	while (i < count && r == TURN_ON) {
		size_t in_block = (pos + i) % FPROF_BLOCK_WORDS;
		size_t left = FPROF_BLOCK_WORDS - in_block, here = MIN(left, count - i);

		used = 0;
		if (in_block == 0) {
			r = take_header(s, ring, words + i, count - i, pos + i, limits, &used);
		} else if (ring->resync || ring->lapped) {
			used = here;
		} else {
			r = take_fast(s, ring, words + i, here, limits, &used);
			if (r == 0 && used < here) {
				i += used;
				r = take_slow(s, ring, words + i, left - used, here - used, pos + i,
					      limits, &used);
			}
		}
		if (r == TURN_ON)
			i += used;
	}
	*ret_used = i;
	return r;
}

/* An event whose end is not published, though its beginning is: no writer does that. */
static void skip_broken(struct ring *ring, uint64_t pos, size_t count)
{
	begin_resync(ring, pos);
	ring->reader.tail = pos + count;
}

static int copy(struct live *s, struct ring *ring, uint64_t *ret_pos, size_t *ret_count)
{
	enum ring_status status =
		ring_reader_copy(&ring->reader, s->buf, LIVE_BUF_WORDS, ret_pos, ret_count);

	if (status == RING_BACKWARDS)
		return words_abandon(s, ring);
	if (status == RING_LAPPED && !ring->lapped) {
		ring->lapped = true;
		ring->lost_from = ring->reader.tail;
		ring->dirty = true;
	}
	ring->reader.tail = *ret_pos;
	return 0;
}

/* Is what a sweep may take used up? */
static bool used_up(const struct live *s, struct words_limits *limits)
{
	if (limits->share == 0 || batch_weight(s->batch) >= LIVE_BATCH_BYTES)
		return true;
	return limits->until > 0 && limits->copies > 0 &&
	       fprof_clock_read(FPROF_CLOCK_MONOTONIC) >= limits->until;
}

int words_read(struct live *s, struct ring *ring, struct words_limits *limits,
	       enum words_state *ret_state)
{
	size_t count, used;
	uint64_t pos;
	int r;

	*ret_state = WORDS_DRAINED;
	if (ring->part)
		part_recut(s, ring->part);
	while (!ring->abandoned) {
		if (used_up(s, limits)) {
			*ret_state = WORDS_BEHIND;
			return 0;
		}
		r = copy(s, ring, &pos, &count);
		if (r < 0)
			return r;
		if (count == 0)
			break;
		limits->copies++;
		r = parse(s, ring, s->buf, pos, count, limits, &used);
		if (r < 0)
			return r;
		limits->share -= MIN(limits->share, used);
		ring->reader.tail = pos + used;
		ring->dirty = ring->dirty || used > 0;
		if (r == TURN_WAIT)
			*ret_state = WORDS_WAITING;
		if (r == TURN_WAIT || r == TURN_STOP)
			break;
		if (r == TURN_MORE && used == 0)
			skip_broken(ring, pos, count);
	}
	if (*ret_state == WORDS_DRAINED && !limits->last)
		ring->floor = MAX(ring->floor, limits->horizon);
	return 0;
}

/* Is the event at words[0] a mark of the main stream by its owner? */
static bool is_main_mark(const uint64_t *words, uint32_t count)
{
	return fprof_word_kind(words[0]) == FPROF_WORD_EXT &&
	       fprof_word_ext_kind(words[0]) == FPROF_EXT_MARK && count >= 4 &&
	       (uint32_t)words[1] == 0 && !(count > 4 && words[4] & FPROF_MARK_FOREIGN);
}

/* A mark was found; mark is what was found before (origin 0: nothing). Is that all? */
static bool note_mark(struct words_mark *mark, int64_t t, uint32_t origin, int64_t horizon)
{
	/* the game's behind the hook's first one tells whose frames these are, however new it is */
	if (t > horizon && !(mark->origin && origin == FPROF_ORIGIN_GAME))
		return true;
	if (mark->origin && origin == FPROF_ORIGIN_HOOK) {
		mark->again = true;
		return true;
	}
	mark->t = t;
	mark->origin = origin;
	return origin != FPROF_ORIGIN_HOOK;
}

/* Looks for marks in words that lie in one block. Is all found that is looked for? */
static bool scan_block(struct live *s, const struct ring *ring, const uint64_t *words, size_t count,
		       size_t left, const struct words_limits *limits, struct words_mark *mark)
{
	size_t i = 0;

	while (i < count) {
		uint32_t n = event_words(words[i], left - i);

		if (n == 0 || i + n > count)
			return false;
		if (is_main_mark(words + i, n) &&
		    note_mark(mark, extend(s, ring, words[i], limits->now),
			      (uint32_t)(words[i + 1] >> 32), limits->horizon))
			return true;
		i += n;
	}
	return false;
}

bool words_find_mark(struct live *s, struct ring *ring, const struct words_limits *limits,
		     struct words_mark *ret_mark)
{
	struct ring_reader reader = ring->reader;
	size_t count, i;
	uint64_t pos, read = 0;

	*ret_mark = (struct words_mark){0};
	while (read < LIVE_RING_WORDS) {
		if (ring_reader_copy(&reader, s->buf, LIVE_BUF_WORDS, &pos, &count) ==
			    RING_BACKWARDS ||
		    count == 0)
			break;
		for (i = 0; i < count;) {
			size_t in_block = (pos + i) % FPROF_BLOCK_WORDS;
			size_t skip =
				in_block == 0 ? MIN((size_t)FPROF_HEADER_WORDS, count - i) : 0;
			size_t left = FPROF_BLOCK_WORDS - in_block - skip;
			size_t here = MIN(left, count - i - skip);

			if (scan_block(s, ring, s->buf + i + skip, here, left, limits, ret_mark))
				return ret_mark->origin != 0;
			i += skip + here;
		}
		reader.tail = pos + count;
		read += count;
	}
	return ret_mark->origin != 0;
}
