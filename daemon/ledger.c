/* SPDX-License-Identifier: MIT */
/*
 * A ledger row's stack is a blob of this daemon's own, in varints: the open zones of the ring's own
 * thread (chunk_stack_put), then a count of records: fibers that this ring ran last and GPU queues
 * that were registered on it {kind, track, fiber id or queue, segments, open zones}, then a count
 * of streams whose last mark came from this ring {stream, lane, origin, sequence}. All times are
 * relative to base_ticks.
 *
 * Resuming reads what this very program wrote, but out of a file: every length is checked, and what
 * does not fit is left out (its zones then end as strays).
 */
#include "ledger.h"

#include "live.h"
#include "log.h"

#include <errno.h>
#include <string.h>

#define RECORD_BYTES (1 + 5 + 10 + 10 + 5 + 5)

struct blob {
	uint8_t *at;
	size_t bytes, capacity;
};

static int blob_room(struct blob *b, size_t more)
{
	return vec_reserve_((void **)&b->at, &b->capacity, b->bytes + more, 1);
}

static void blob_varint(struct blob *b, uint64_t v)
{
	b->bytes = (size_t)(chunk_put_varint(b->at + b->bytes, v) - b->at);
}

static int blob_stack(struct blob *b, const struct part *part, int64_t base)
{
	uint32_t depth = part ? part->depth : 0;

	if (blob_room(b, CHUNK_STACK_BYTES(depth)) < 0)
		return -ENOMEM;
	b->bytes += chunk_stack_put(b->at + b->bytes, part ? part->stack : NULL, depth, base);
	return 0;
}

static const struct part *part_in(const struct track *track, uint32_t lane)
{
	const struct part *part;

	for (part = track ? track->parts : NULL; part; part = part->sibling)
		if (part->lane == lane)
			return part;
	return NULL;
}

static int put_tracks(struct live *s, const struct ring *ring, struct blob *b)
{
	size_t i, count = 0;

	for (i = 0; i < s->tracks.all.count; i++)
		count += s->tracks.all.at[i]->last_ring == ring;
	if (blob_room(b, 10) < 0)
		return -ENOMEM;
	blob_varint(b, count);
	for (i = 0; i < s->tracks.all.count; i++) {
		const struct track *track = s->tracks.all.at[i];

		if (track->last_ring != ring)
			continue;
		if (blob_room(b, RECORD_BYTES) < 0)
			return -ENOMEM;
		blob_varint(b, track->kind);
		blob_varint(b, track->id);
		blob_varint(b, track->kind == TRACK_FIBER ? track->fiber : track->queue);
		blob_varint(b, track->segments);
		if (blob_stack(b, part_in(track, ring->lane->index), ring->base) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int put_streams(struct live *s, const struct ring *ring, struct blob *b)
{
	size_t i, count = 0;

	for (i = 0; i < s->frames.streams.count; i++)
		count += s->frames.streams.at[i]->ring == ring;
	if (blob_room(b, 10 + count * RECORD_BYTES) < 0)
		return -ENOMEM;
	blob_varint(b, count);
	for (i = 0; i < s->frames.streams.count; i++) {
		const struct stream *st = s->frames.streams.at[i];

		if (st->ring != ring)
			continue;
		blob_varint(b, st->id);
		blob_varint(b, st->lane);
		blob_varint(b, st->origin);
		blob_varint(b, st->sequence);
	}
	return 0;
}

int ledger_put(struct live *s, struct ring *ring)
{
	struct ledger_row row = {
		.session = s->id,
		.lane = ring->lane->index,
		.slot = ring->slot,
		.tail = ring->reader.tail,
		.base_ticks = s->start + (uint64_t)ring->base,
		.serial = ring->serial,
		.track = ring->own ? ring->own->id : 0,
		.fiber_track = ring->fiber ? ring->fiber->id : 0,
		.fiber = ring->fiber ? ring->fiber->fiber : 0,
		.fiber_seq = ring->fiber ? ring->fiber_seq : 0,
		.produced = ring->received + ring->overwritten,
		.received = ring->received,
		.stored = ring->stored,
		.fill_permille = ring->fill_permille,
		.overwritten = ring->overwritten,
	};
	struct blob b = {0};
	int r;

	memcpy(row.discarded, ring->discarded, sizeof(row.discarded));
	r = blob_stack(&b, part_in(ring->own, ring->lane->index), ring->base);
	if (r == 0)
		r = put_tracks(s, ring, &b);
	if (r == 0)
		r = put_streams(s, ring, &b);
	row.stack = b.at;
	row.stack_bytes = (uint32_t)b.bytes;
	if (r == 0)
		r = VEC_PUSH(&s->batch->ledgers, row);
	if (r < 0) {
		free(b.at);
		return r;
	}
	ring->dirty = false;
	ring->fill_permille = 0;
	return 0;
}

/* A marker with a given id: gaps in the ids (rows that were never written) are filled up. */
static int resume_marker(struct live *s, const struct marker_row *row)
{
	struct marker_copy copy;
	uint32_t id;
	bool is_new;
	int r;

	if (row->marker <= s->markers.markers.count)
		return 0;
	while (s->markers.markers.count + 1 < row->marker) {
		memset(&copy, 0, sizeof(copy));
		copy.line = (uint32_t)s->markers.markers.count + 1;
		copy.dynamic = 2; /* equal to no marker of a client */
		r = marker_table_intern(&s->markers, &copy, &id, &is_new);
		if (r < 0)
			return r;
	}
	memset(&copy, 0, sizeof(copy));
	copy.kind = row->kind;
	copy.level = row->level;
	copy.unit = row->unit;
	copy.dynamic = row->dynamic;
	copy.line = row->line;
	copy.colour = row->colour;
	utf8_copy(copy.name, sizeof(copy.name), row->name, strlen(row->name));
	if (row->category)
		utf8_copy(copy.category, sizeof(copy.category), row->category,
			  strlen(row->category));
	if (row->file)
		utf8_copy(copy.file, sizeof(copy.file), row->file, strlen(row->file));
	return marker_table_intern(&s->markers, &copy, &id, &is_new);
}

static int resume_track(struct live *s, const struct track_row *row)
{
	struct track *track;
	int r;

	if (row->end_ticks != TIME_OPEN)
		return 0;
	r = track_new(s, row->kind, row->name, row->begin_ticks, &track);
	if (r < 0)
		return r;
	track->id = row->track;
	track->tid = row->tid;
	track->ns_per_tick = row->ns_per_tick;
	track->valid_bits = row->valid_bits;
	return 0;
}

/* The marker that names a stream: the row only has its name. */
static uint32_t stream_marker(const struct live *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->markers.markers.count; i++)
		if (s->markers.markers.at[i].kind == FPROF_MARKER_STREAM &&
		    !strcmp(s->markers.markers.at[i].strings, name))
			return i + 1;
	return 0;
}

static int resume_stream(struct live *s, const struct stream_row *row)
{
	const struct frame_row *last = NULL;
	uint32_t marker = 0;
	size_t i;

	for (i = 0; i < s->resume->last_frames.count; i++)
		if (s->resume->last_frames.at[i].stream == row->stream)
			last = &s->resume->last_frames.at[i];
	if (row->stream > 0) {
		marker = stream_marker(s, row->name);
		if (marker == 0 || row->stream != s->frames.streams.count)
			return 0;
	}
	return frames_resume(s, row, marker, last);
}

static int by_marker(const void *a, const void *b)
{
	const struct marker_row *x = a, *y = b;

	return (x->marker > y->marker) - (x->marker < y->marker);
}

static int by_stream(const void *a, const void *b)
{
	const struct stream_row *x = a, *y = b;

	return (x->stream > y->stream) - (x->stream < y->stream);
}

int ledger_resume(struct live *s)
{
	struct store_resume *resume = s->resume;
	size_t i;
	int r = 0;

	if (resume->markers.count > 0)
		qsort(resume->markers.at, resume->markers.count, sizeof(*resume->markers.at),
		      by_marker);
	if (resume->streams.count > 0)
		qsort(resume->streams.at, resume->streams.count, sizeof(*resume->streams.at),
		      by_stream);
	for (i = 0; i < resume->markers.count && r == 0; i++)
		r = resume_marker(s, &resume->markers.at[i]);
	for (i = 0; i < resume->tracks.count && r == 0; i++)
		r = resume_track(s, &resume->tracks.at[i]);
	for (i = 0; i < resume->streams.count && r == 0; i++)
		r = resume_stream(s, &resume->streams.at[i]);
	memcpy(s->repaired, resume->last.repaired, sizeof(s->repaired));
	s->tracks.next_id = MAX(s->tracks.next_id, resume->next_track);
	return r;
}

/* Reads the blob of one row. */
struct blob_reader {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t read_varint(struct blob_reader *b)
{
	uint64_t v = 0;

	b->bad = !chunk_get_varint(&b->p, b->end, &v) || b->bad;
	return b->bad ? 0 : v;
}

/* Open zones into a part; with part NULL they are skipped. */
static void read_stack(struct live *s, struct blob_reader *b, struct part *part, int64_t base)
{
	struct chunk_open open[CHUNK_DEPTH_MAX];
	uint32_t depth, i;
	long used = b->bad ? -EBADMSG
			   : chunk_stack_get(b->p, (size_t)(b->end - b->p), base, open, &depth);

	if (used < 0) {
		b->bad = true;
		return;
	}
	b->p += used;
	for (i = 0; part && i < depth; i++)
		if (part_push(s, part, open[i].marker, open[i].begin) < 0)
			b->bad = true;
	if (part)
		part->steps_from = base;
}

static int resume_record(struct live *s, struct ring *ring, struct blob_reader *b)
{
	uint64_t kind = read_varint(b), id = read_varint(b), key = read_varint(b);
	uint64_t segments = read_varint(b);
	struct track *track = b->bad ? NULL : track_find_id(s, (uint32_t)id);
	struct part *part = NULL;
	int r = 0;

	if (track && track->kind == kind) {
		track->last_ring = ring;
		if (kind == TRACK_FIBER) {
			track_resume_fiber(s, track, ring->lane->index, key, segments);
			r = part_of(s, track, ring->lane->index, &part);
		} else {
			track->queue = (uint32_t)key;
			gpu_queue(s->gpu, track->queue, track->id, track->ns_per_tick,
				  track->valid_bits);
		}
	}
	if (r == 0)
		read_stack(s, b, part, ring->base);
	return r;
}

static void resume_mark(struct live *s, struct ring *ring, struct blob_reader *b)
{
	uint64_t id = read_varint(b), lane = read_varint(b), origin = read_varint(b);
	uint64_t sequence = read_varint(b);
	struct stream *st;

	if (b->bad || id >= s->frames.streams.count)
		return;
	st = s->frames.streams.at[id];
	st->ring = ring;
	st->lane = (uint32_t)lane;
	st->origin = (uint32_t)origin;
	st->sequence = sequence;
	st->game = origin == FPROF_ORIGIN_GAME;
	if (id == 0) {
		s->gpu_frame_shift = (int64_t)(st->closed_total - sequence);
		gpu_frame_closed(s->gpu, st->closed_total);
	}
}

static int resume_ring(struct live *s, struct ring *ring, const struct ledger_row *row)
{
	struct blob_reader b = {row->stack, row->stack + row->stack_bytes, row->stack == NULL};
	struct part *part = NULL;
	uint64_t count;
	int r = 0;

	ring->reader.tail = row->tail;
	ring->base = ring->block = live_ticks(s, row->base_ticks);
	ring->floor = ring->base;
	ring->serial = row->serial;
	ring->received = row->received;
	ring->stored = row->stored;
	ring->overwritten = row->overwritten;
	ring->number = row->received + row->overwritten;
	memcpy(ring->discarded, row->discarded, sizeof(ring->discarded));
	ring->own = row->track ? track_find_id(s, row->track) : NULL;
	if (ring->own)
		r = part_of(s, ring->own, ring->lane->index, &part);
	if (r < 0)
		return r;
	read_stack(s, &b, part, ring->base);
	for (count = read_varint(&b); count > 0 && !b.bad && r == 0; count--)
		r = resume_record(s, ring, &b);
	for (count = b.bad ? 0 : read_varint(&b); count > 0 && !b.bad; count--)
		resume_mark(s, ring, &b);
	if (r == 0 && row->fiber_track) {
		ring->fiber = track_find_id(s, row->fiber_track);
		ring->fiber_seq = row->fiber_seq;
	}
	if (b.bad)
		log_warning("session %llu: the ledger of ring %u is damaged; its open zones are "
			    "not known",
			    (unsigned long long)s->id, ring->slot);
	return r;
}

int ledger_resume_lane(struct live *s, struct lane *lane)
{
	size_t i;
	int r = lane_update(s, lane);

	for (i = 0; i < s->resume->ledgers.count && r == 0; i++) {
		const struct ledger_row *row = &s->resume->ledgers.at[i];

		if (row->lane == lane->index && row->slot < lane->rings.count)
			r = resume_ring(s, lane->rings.at[row->slot], row);
	}
	return r;
}
