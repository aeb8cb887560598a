/* SPDX-License-Identifier: MIT */
/*
 * Whose events follow: block headers, threads that come and go, fibers that run on them.
 *
 * A fiber's events must reach its track in the order of its segments, on whichever rings they lie,
 * and time does not order them. A ring that comes to segment n before segment n - 1 is over waits:
 * it has left its own fiber by then (or two rings could wait for each other). What was lost is
 * not waited for longer than WORDS_WAIT_MAX.
 *
 * A thread's name is in its THREAD word and the THREAD_NAME words behind it. After a lap it is what
 * the slot says, if the game gave it: the kernel's name never takes the place of one of those.
 */
#include "words.h"

#include "log.h"

#include <errno.h>
#include <string.h>

#define NAME_BYTES (FPROF_THREAD_NAME_MAX * 3 + 1) /* of a thread's, made valid UTF-8 */

/* The ring's current fiber segment ends: others may wait for that. */
static void leave_fiber(struct ring *ring)
{
	if (!ring->fiber)
		return;
	ring->fiber->segments = MAX(ring->fiber->segments, ring->fiber_seq + 1);
	ring->fiber->last_ring = ring;
	ring->fiber = NULL;
	ring->part = NULL;
}

static int end_own(struct live *s, struct ring *ring, int64_t t)
{
	struct part *part;
	int r = 0;

	leave_fiber(ring);
	if (ring->own) {
		r = part_of(s, ring->own, ring->lane->index, &part);
		if (r == 0)
			r = part_end(s, part, t);
	}
	ring->own = NULL;
	ring->part = NULL;
	return r;
}

/* The track of a thread: the one that another lane made for it, or a new one. WORDS_DISCARD and
 * more: there are too many; the ring has none then. */
static int adopt(struct live *s, struct ring *ring, int32_t tid, uint32_t serial, const char *name,
		 int64_t begin, int64_t t)
{
	struct track *track = NULL;
	int r;

	if (s->tracks.all.count >= TRACKS_MAX)
		return WORDS_DISCARD + DISCARD_QUOTA;
	if (tid > 0)
		track = track_find_thread(s, tid, ring->lane->index, t);
	if (track) {
		track->begin = MIN(track->begin, begin);
		r = !track->name && name[0] ? track_rename(s, track, name)
					    : track_put_row(s, track);
	} else {
		r = track_new(s, TRACK_THREAD, name, begin, &track);
		if (r == 0) {
			track->tid = tid;
			r = track_put_row(s, track);
		}
	}
	if (r < 0)
		return r;
	ring->own = track;
	ring->serial = serial;
	ring->part = NULL;
	return 0;
}

/* The times that a memory gives for its threads are its own word: no later than t, not absurdly
 * early. */
static int64_t begin_time(const struct live *s, uint64_t start_ticks, int64_t t)
{
	int64_t begin = live_ticks(s, start_ticks);

	return begin > t || begin < t - (INT64_C(1) << 50) ? t : begin;
}

/* What the slot says of the thread whose events follow; false: it is another's by now, or not at
 * rest. name has NAME_BYTES. */
static bool read_slot(const struct ring *ring, struct slot_owner *ret_owner, char *name)
{
	if (memory_slot_owner(&ring->lane->memory->view, ring->slot, ret_owner) < 0 ||
	    (ring->serial != 0 && ret_owner->serial != ring->serial))
		return false;
	utf8_copy(name, NAME_BYTES, ret_owner->name, strlen(ret_owner->name));
	return true;
}

int words_owner(struct live *s, struct ring *ring, int64_t t)
{
	char name[NAME_BYTES];
	struct slot_owner owner;

	if (!read_slot(ring, &owner, name))
		return adopt(s, ring, 0, ring->serial, "", t, t);
	return adopt(s, ring, owner.tid, owner.serial, name, begin_time(s, owner.start_ticks, t),
		     t);
}

/* What words that were lost have said of the ring's thread: its name; who it is, where the slot was
 * not at rest when that was asked. */
static int take_slot(struct live *s, struct ring *ring)
{
	char name[NAME_BYTES];
	struct slot_owner owner;
	struct track *track = ring->own;

	if (!read_slot(ring, &owner, name) || owner.tid == 0)
		return 0;
	if (track->tid == 0) {
		track->tid = owner.tid;
		track->begin = MIN(track->begin, begin_time(s, owner.start_ticks, track->begin));
		if (!name[0])
			return track_put_row(s, track);
	} else if (!owner.named) {
		return 0;
	}
	return track_rename(s, track, name);
}

int words_thread(struct live *s, struct ring *ring, const struct words_event *e)
{
	char name[NAME_BYTES];
	struct part *part;
	int64_t t = e->t;
	int r;

	if (e->count < 3)
		return WORDS_DISCARD + DISCARD_MALFORMED;
	utf8_copy(name, NAME_BYTES, &e->words[3],
		  strnlen((const char *)&e->words[3],
			  MIN((size_t)(e->count - 3) * 8, (size_t)FPROF_THREAD_NAME_MAX)));
	r = end_own(s, ring, t);
	if (r == 0)
		r = adopt(s, ring, (int32_t)e->words[1], (uint32_t)(e->words[1] >> 32), name,
			  begin_time(s, e->words[2], t), t);
	if (r == 0)
		r = words_part(s, ring, &part);
	if (r == 0)
		r = words_ready(s, part, &t, 0);
	if (r != 0)
		return r;
	words_put(part, t, CHUNK_THREAD_BEGIN);
	return WORDS_STORED;
}

int words_thread_end(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct part *part;
	int64_t t = e->t;
	int r;

	leave_fiber(ring);
	r = words_part(s, ring, &part);
	if (r == 0)
		r = part_truncate(s, part, t);
	if (r == 0)
		r = words_ready(s, part, &t, 0);
	if (r < 0)
		return r;
	words_put(part, t, CHUNK_THREAD_END);
	return end_own(s, ring, t);
}

int words_abandon(struct live *s, struct ring *ring)
{
	ring->abandoned = ring->dirty = true;
	s->repaired[REPAIR_HEAD_BACKWARDS]++;
	log_warning("session %llu: the head of ring %u ran backwards; the ring is abandoned",
		    (unsigned long long)s->id, ring->slot);
	return end_own(s, ring, ring->base);
}

static int fiber_name(struct live *s, struct ring *ring, uint32_t id, const char **ret_name)
{
	const struct marker *m;
	uint32_t entry;
	int r;

	*ret_name = NULL;
	if (id == 0)
		return 0;
	r = lane_marker(s, ring->lane, id, &entry);
	if (r < 0 || entry == LANE_BAD || entry == LANE_FULL)
		return r;
	m = marker_table_at(&s->markers, entry & LANE_ID_MASK);
	*ret_name = m ? m->strings : NULL;
	return 0;
}

/*
 * May segment seq of fiber begin on this ring? The ring leaves what it runs first.
 * Returns WORDS_WAIT or WORDS_STORED (go on); *ret_track NULL: there are too many fibers.
 */
static int enter_fiber(struct live *s, struct ring *ring, uint64_t fiber, uint64_t seq,
		       const char *name, int64_t t, struct track **ret_track)
{
	struct track *track = track_find_fiber(s, ring->lane->index, fiber);
	struct part *part;
	int r;

	leave_fiber(ring);
	*ret_track = track;
	if ((track ? track->segments : 0) < seq && ring->stuck < WORDS_WAIT_MAX)
		return WORDS_WAIT;
	ring->stuck = 0;
	if (!track) {
		r = track_new_fiber(s, ring->lane->index, fiber, name, t, &track);
		if (r == -ENOSPC)
			return WORDS_STORED;
		if (r < 0)
			return r;
	}
	*ret_track = track;
	r = part_of(s, track, ring->lane->index, &part);
	if (r == 0 && track->segments < seq) {
		r = part_truncate(s, part, t);
		part->unknown = CHUNK_DEPTH_MAX; /* what lost segments left open */
	}
	if (r < 0)
		return r;
	ring->fiber = track;
	ring->fiber_seq = seq;
	ring->part = part;
	track->last_ring = ring;
	part_recut(s, part);
	if (part->open && part->b.last <= t + WORDS_SLACK_TICKS)
		ring->base = MAX(ring->base, part->b.last);
	return WORDS_STORED;
}

int words_fiber(struct live *s, struct ring *ring, const struct words_event *e)
{
	struct track *track = NULL;
	struct part *part;
	const char *name;
	int64_t t = e->t;
	int r;

	if (e->count < 4)
		return WORDS_DISCARD + DISCARD_MALFORMED;
	if (e->words[1] == 0) {
		leave_fiber(ring);
		ring->part = NULL;
		r = words_part(s, ring, &part);
	} else {
		r = fiber_name(s, ring, (uint32_t)e->words[3], &name);
		if (r == 0)
			r = enter_fiber(s, ring, e->words[1], e->words[2], name, t, &track);
		if (r == WORDS_WAIT)
			return r;
		if (r == 0 && !track)
			return WORDS_DISCARD + DISCARD_QUOTA;
		if (r == 0)
			r = part_of(s, ring->own, ring->lane->index, &part);
	}
	if (r == 0)
		r = record_check(s, part, t);
	if (r == 0)
		r = words_ready(s, part, &t, 10);
	if (r != 0)
		return r;
	words_put(part, t, track ? CHUNK_FIBER_ENTER : CHUNK_FIBER_LEAVE);
	if (track)
		chunk_build_varint(&part->b, track->id);
	return WORDS_STORED;
}

static bool header_sound(const uint64_t *words, uint64_t pos)
{
	return fprof_word_kind(words[0]) == FPROF_WORD_EXT &&
	       fprof_word_ext_kind(words[0]) == FPROF_EXT_HEADER &&
	       fprof_word_ext_words(words[0]) == FPROF_HEADER_WORDS &&
	       words[1] == pos / FPROF_BLOCK_WORDS;
}

/* The header's time bounds those of its block from below, unless it is nonsense itself. */
static void take_time(struct live *s, struct ring *ring, uint64_t ticks, int64_t now)
{
	int64_t t = live_ticks(s, ticks);

	if (t > ring->base && t <= now + WORDS_SLACK_TICKS)
		ring->base = t;
	ring->block = ring->base;
}

static int put_gap(struct live *s, struct ring *ring, int64_t t0, uint64_t events)
{
	const struct track *track = ring->fiber ? ring->fiber : ring->own;
	struct gap_row row = {
		.session = s->id,
		.track = track ? track->id : 0,
		.lane = ring->lane->index,
		.t0 = MIN(t0, ring->base),
		.t1 = ring->base,
		.events = events,
	};

	if (VEC_PUSH(&s->batch->gaps, row) < 0)
		return -ENOMEM;
	return frames_gap(s, track, row.t0, row.t1, events);
}

/* Zones that were open when events were lost are closed: their ends may be among those. */
static int truncate_all(struct live *s, struct ring *ring, int64_t t)
{
	struct part *part;
	int r = 0;

	if (ring->own) {
		r = part_of(s, ring->own, ring->lane->index, &part);
		if (r == 0)
			r = part_truncate(s, part, t);
	}
	if (r == 0 && ring->fiber) {
		r = part_of(s, ring->fiber, ring->lane->index, &part);
		if (r == 0)
			r = part_truncate(s, part, t);
	}
	return r;
}

/* What the header says of the events before it, against what was counted. */
static int take_number(struct live *s, struct ring *ring, uint64_t number, uint64_t pos,
		       int64_t before)
{
	uint64_t most = FPROF_BLOCK_WORDS;
	uint64_t missing;

	if (ring->lapped)
		most = pos - ring->lost_from;
	else if (ring->resync)
		most = MAX(most, pos - ring->resync_from);
	missing = number > ring->number ? MIN(number - ring->number, most) : 0;
	ring->dirty = true;
	ring->number = number;
	if (ring->lapped) {
		ring->overwritten += missing;
		return put_gap(s, ring, before, missing);
	}
	ring->received += missing;
	ring->discarded[DISCARD_MALFORMED] += missing;
	return 0;
}

/* Whose events follow, when the ring's own idea cannot be right or was lost. */
static int take_owner(struct live *s, struct ring *ring, const uint64_t *words)
{
	uint32_t depth = (uint32_t)words[4], serial = (uint32_t)(words[4] >> 32);
	struct track *track;
	struct part *part;
	int r = 0;

	if (ring->own && ring->serial != serial)
		r = end_own(s, ring, ring->base);
	ring->serial = serial;
	if (r == 0 && !ring->own)
		r = words_owner(s, ring, ring->base);
	ring->serial = serial;
	if (r >= WORDS_DISCARD) {
		leave_fiber(ring);
		return WORDS_STORED; /* of the header; its events have no track */
	}
	if (r == 0 && words[5] == 0)
		leave_fiber(ring);
	if (r == 0 && words[5] != 0 &&
	    !(ring->fiber && ring->fiber->fiber == words[5] && ring->fiber_seq == words[6]))
		r = enter_fiber(s, ring, words[5], words[6], NULL, ring->base, &track);
	if (r != 0)
		return r;
	ring->part = NULL;
	r = words_part(s, ring, &part);
	if (r == 0)
		part->unknown = depth;
	if (r == 0 && ring->fiber) {
		r = part_of(s, ring->own, ring->lane->index, &part);
		if (r == 0)
			part->unknown = CHUNK_DEPTH_MAX; /* the header tells the fiber's only */
	}
	return r;
}

int words_header(struct live *s, struct ring *ring, const uint64_t *words, uint64_t pos,
		 const struct words_limits *limits)
{
	int64_t before = MAX(ring->base, ring->floor);
	bool lost = ring->lapped || ring->resync;
	int r = 0;

	if (!header_sound(words, pos)) {
		ring->resync_from = ring->resync ? ring->resync_from : pos;
		ring->resync = true;
		return WORDS_DISCARD;
	}
	if (lost && !ring->left)
		r = truncate_all(s, ring, ring->base);
	take_time(s, ring, words[2], limits->now);
	if (r == 0 && (ring->lapped || ring->number != words[3]))
		r = take_number(s, ring, words[3], pos, before);
	if (r == 0 && lost)
		r = take_owner(s, ring, words);
	if (r == 0 && ring->own && (lost || ring->own->tid == 0))
		r = take_slot(s, ring);
	if (r < 0)
		return r;
	if (r == WORDS_WAIT) {
		/* the number is right by now: what is missing is the fiber's earlier segment */
		ring->left = true;
		ring->lapped = false;
		ring->resync = true;
		ring->resync_from = pos;
		return r;
	}
	ring->left = ring->lapped = ring->resync = false;
	return WORDS_STORED;
}
