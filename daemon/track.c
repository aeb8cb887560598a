/* SPDX-License-Identifier: MIT */
/*
 * Tracks live as long as something of them can still come; parts as long as their lane says more.
 * A part's chunk always ends at a frame boundary that matters to its track (frames_cut), at
 * CHUNK_BYTES_MAX and at each commit, so a chunk lies inside one frame, or is late as a whole.
 */
#include "track.h"

#include "live.h"
#include "zone_counter.h"

#include <errno.h>
#include <string.h>

#define FIBERS_MAX   4096u
#define STEPS_MAX    4096u
#define DEPTH_MIN    16u
#define COUNTERS_MAX 64u

/* From so many parts on, columns of so many bytes are not kept. */
#define PARTS_MANY    64u
#define COLUMNS_LARGE 16384u

void tracks_init(struct tracks *tracks)
{
	tracks->next_id = 1;
}

static void part_free(struct part *part)
{
	zone_counter_free(part->counter);
	chunk_build_deinit(&part->b);
	VEC_FREE(&part->steps);
	free(part->watch);
	free(part->stack);
	free(part);
}

static void track_free(struct track *track)
{
	free(track->name);
	free(track);
}

void tracks_deinit(struct tracks *tracks)
{
	struct part *part, *next;
	size_t i;

	for (part = tracks->parts; part; part = next) {
		next = part->next;
		part_free(part);
	}
	tracks->parts = NULL;
	for (i = 0; i < tracks->all.count; i++)
		track_free(tracks->all.at[i]);
	VEC_FREE(&tracks->all);
}

int track_put_row(struct live *s, const struct track *track)
{
	struct track_row row = {
		.session = s->id,
		.track = track->id,
		.kind = track->kind,
		.tid = track->tid,
		.begin_ticks = track->begin,
		.end_ticks = track->end,
		.ns_per_tick = track->ns_per_tick,
		.valid_bits = track->valid_bits,
	};

	if (VEC_RESERVE(&s->batch->tracks, 1) < 0)
		return -ENOMEM;
	if (track->name) {
		row.name = strdup(track->name);
		if (!row.name)
			return -ENOMEM;
	}
	s->batch->tracks.at[s->batch->tracks.count++] = row;
	return 0;
}

int track_new(struct live *s, enum track_kind kind, const char *name, int64_t begin,
	      struct track **ret_track)
{
	struct track *track;

	if (VEC_RESERVE(&s->tracks.all, 1) < 0)
		return -ENOMEM;
	track = calloc(1, sizeof(*track));
	if (!track)
		return -ENOMEM;
	if (name && name[0]) {
		track->name = strdup(name);
		if (!track->name) {
			free(track);
			return -ENOMEM;
		}
	}
	track->id = s->tracks.next_id++;
	track->kind = kind;
	track->begin = begin;
	track->end = TIME_OPEN;
	s->tracks.all.at[s->tracks.all.count++] = track;
	*ret_track = track;
	return 0;
}

int track_rename(struct live *s, struct track *track, const char *name)
{
	char *copy;

	if (track->name ? !strcmp(track->name, name) : !name[0])
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(track->name);
	track->name = copy;
	return track_put_row(s, track);
}

static struct part *part_in_lane(const struct track *track, uint32_t lane)
{
	struct part *part;

	for (part = track->parts; part; part = part->sibling)
		if (part->lane == lane)
			return part;
	return NULL;
}

/*
 * The same tid may stand for several threads one after another. The one that was alive at t is
 * meant; else (this lane heard of the thread before the other did) the next one to begin.
 */
struct track *track_find_thread(struct live *s, int32_t tid, uint32_t lane, int64_t t)
{
	struct track *best = NULL;
	size_t i;

	for (i = 0; i < s->tracks.all.count; i++) {
		struct track *track = s->tracks.all.at[i];

		if (track->kind != TRACK_THREAD || track->tid != tid || part_in_lane(track, lane))
			continue;
		if (track->begin <= t && t <= track->end)
			return track;
		if (track->begin > t && (!best || track->begin < best->begin))
			best = track;
	}
	return best;
}

struct track *track_find_fiber(struct live *s, uint32_t lane, uint64_t fiber)
{
	struct track *track = s->tracks.fibers[fiber % FIBER_HASH];

	while (track && (track->fiber != fiber || track->fiber_lane != lane))
		track = track->hash_next;
	return track;
}

void track_resume_fiber(struct live *s, struct track *track, uint32_t lane, uint64_t fiber,
			uint64_t segments)
{
	track->fiber = fiber;
	track->fiber_lane = lane;
	track->segments = segments;
	track->hash_next = s->tracks.fibers[fiber % FIBER_HASH];
	s->tracks.fibers[fiber % FIBER_HASH] = track;
	s->tracks.fiber_count++;
}

int track_new_fiber(struct live *s, uint32_t lane, uint64_t fiber, const char *name, int64_t begin,
		    struct track **ret_track)
{
	struct track *track;
	int r;

	if (s->tracks.fiber_count >= FIBERS_MAX)
		return -ENOSPC;
	r = track_new(s, TRACK_FIBER, name, begin, &track);
	if (r < 0)
		return r;
	track_resume_fiber(s, track, lane, fiber, 0);
	*ret_track = track;
	return track_put_row(s, track);
}

struct track *track_find_queue(struct live *s, uint32_t queue)
{
	size_t i;

	for (i = 0; i < s->tracks.all.count; i++)
		if (s->tracks.all.at[i]->kind == TRACK_GPU_QUEUE &&
		    s->tracks.all.at[i]->queue == queue)
			return s->tracks.all.at[i];
	return NULL;
}

struct track *track_find_id(struct live *s, uint32_t id)
{
	size_t i;

	for (i = 0; i < s->tracks.all.count; i++)
		if (s->tracks.all.at[i]->id == id)
			return s->tracks.all.at[i];
	return NULL;
}

int part_of(struct live *s, struct track *track, uint32_t lane, struct part **ret_part)
{
	struct part *part = part_in_lane(track, lane);

	if (!part) {
		part = malloc(sizeof(*part)); /* the end of it stays untouched until it is used */
		if (!part)
			return -ENOMEM;
		memset(part, 0, offsetof(struct part, b));
		chunk_build_init(&part->b);
		s->tracks.part_count++;
		part->b.last = INT64_MIN;
		part->track = track;
		part->lane = lane;
		part->steps_from = INT64_MIN;
		part->next = s->tracks.parts;
		s->tracks.parts = part;
		part->sibling = track->parts;
		track->parts = part;
	}
	*ret_part = part;
	return 0;
}

static void give_up_counting(struct live *s, struct part *part)
{
	zone_counter_free(part->counter);
	part->counter = NULL;
	part->uncounted = true;
	s->tracks.counters--;
}

static void count_begin(struct live *s, struct part *part, uint32_t depth, uint32_t marker)
{
	if (part->counter && zone_counter_begin(part->counter, depth, marker) < 0)
		give_up_counting(s, part);
}

/* Zones of threads are counted once it is likely that what was stored of the session goes: who asks
 * for its totals before that counts them then. */
static void start_counting(struct live *s, struct part *part)
{
	uint32_t i;

	if (part->counter || part->uncounted || part->track->kind != TRACK_THREAD ||
	    s->tracks.counters >= COUNTERS_MAX ||
	    s->frames.streams.at[0]->closed_total < s->count_from)
		return;
	part->counter = zone_counter_new();
	s->tracks.counters += part->counter != NULL;
	for (i = 0; i < part->depth; i++)
		count_begin(s, part, i + 1, part->stack[i].marker);
}

static void part_start(struct live *s, struct part *part, int64_t t)
{
	chunk_build_start(&part->b, t, part->stack, part->depth);
	part->open = true;
	part->leads = 0;
	part->late = t < stream_closed(s->frames.streams.at[0]);
	part->cut = frames_cut(s, part->track, t);
	start_counting(s, part);
}

/* Many tracks that are busy now and then must not keep large columns each. */
static void give_back_columns(const struct live *s, struct part *part)
{
	int64_t last = part->b.last;

	if (s->tracks.part_count < PARTS_MANY ||
	    part->b.times_capacity + part->b.codes_capacity < COLUMNS_LARGE)
		return;
	chunk_build_deinit(&part->b);
	part->b.last = last;
}

int part_finish(struct live *s, struct part *part)
{
	struct chunk_row row;
	int r;

	if (!part->open)
		return 0;
	r = VEC_RESERVE(&s->batch->chunks, 1);
	if (r < 0)
		return r;
	row = (struct chunk_row){
		.session = s->id,
		.track = part->track->id,
		.lane = part->lane,
		.t0 = part->b.t0,
		.t1 = part->b.last,
		.events = part->leads,
		.depth_in = part->b.depth_in,
		.late = part->late ? part->leads : 0,
	};
	r = chunk_build_finish(&part->b, &row.data, &row.bytes);
	if (r < 0)
		return r;
	if (part->counter)
		zone_counter_take(part->counter, s->batch, &row);
	s->batch->chunks.at[s->batch->chunks.count++] = row;
	s->batch->bytes += row.bytes;
	r = trigger_watch_chunk(s, part, &row);
	if (r < 0)
		return r;
	give_back_columns(s, part);
	s->repaired[REPAIR_LATE_EVENT] += row.late;
	part->track->leads += part->leads;
	frames_count(s, part->track, row.t0, part->leads);
	part->open = false;
	return 0;
}

int part_ready(struct live *s, struct part *part, int64_t t, size_t payload)
{
	int r;

	if (part->open && (t >= part->cut || chunk_build_bytes(&part->b) >= CHUNK_BYTES_MAX)) {
		r = part_finish(s, part);
		if (r < 0)
			return r;
	}
	if (!part->open)
		part_start(s, part, t);
	return chunk_build_room(&part->b, 1, payload);
}

void part_recut(struct live *s, struct part *part)
{
	if (part->open)
		part->cut = frames_cut(s, part->track, part->b.t0);
}

/* Which wait zone is the innermost now. */
static void innermost_wait(struct live *s, const struct part *part, struct wait_step *step)
{
	uint32_t i;

	step->kind = 0;
	step->since = INT64_MIN;
	if (part->waits == 0)
		return;
	for (i = part->depth; i > 0; i--) {
		const struct marker *m = marker_table_at(&s->markers, part->stack[i - 1].marker);

		if (!m || !marker_is_wait(m))
			continue;
		step->kind = m->kind;
		step->since = part->stack[i - 1].begin;
		return;
	}
}

static int put_step(struct live *s, struct part *part, int64_t t)
{
	struct wait_step step = {.t = t};

	innermost_wait(s, part, &step);
	if (part->steps.count >= STEPS_MAX)
		part_prune_steps(part, part->steps.at[STEPS_MAX / 2].t);
	return VEC_PUSH(&part->steps, step);
}

void part_prune_steps(struct part *part, int64_t t)
{
	size_t i = 0;

	while (i + 1 < part->steps.count && part->steps.at[i + 1].t <= t)
		i++;
	if (t > part->steps_from)
		part->steps_from = t;
	if (i == 0)
		return;
	part->steps.count -= i;
	memmove(part->steps.at, part->steps.at + i, part->steps.count * sizeof(*part->steps.at));
}

int part_deepen(struct part *part)
{
	uint32_t capacity = MIN(MAX(part->capacity * 2, DEPTH_MIN), (uint32_t)CHUNK_DEPTH_MAX);
	struct chunk_open *grown;

	if (part->depth < part->capacity)
		return 0;
	grown = realloc(part->stack, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	part->stack = grown;
	part->capacity = capacity;
	return 0;
}

int part_push(struct live *s, struct part *part, uint32_t marker, int64_t t)
{
	const struct marker *m = marker_table_at(&s->markers, marker);

	if (part_deepen(part) < 0)
		return -ENOMEM;
	part->stack[part->depth].marker = marker;
	part->stack[part->depth].begin = t;
	part->depth++;
	count_begin(s, part, part->depth, marker);
	if (!m || !marker_is_wait(m))
		return 0;
	part->waits++;
	return put_step(s, part, t);
}

int part_pop_to(struct live *s, struct part *part, uint32_t depth, int64_t t)
{
	uint32_t before = part->waits, i;

	for (i = part->depth; i > depth && part->counter; i--)
		zone_counter_end(part->counter, i, part->stack[i - 1].begin, t);
	while (part->depth > depth && part->waits > 0) {
		const struct marker *m;

		m = marker_table_at(&s->markers, part->stack[--part->depth].marker);
		if (m && marker_is_wait(m))
			part->waits--;
	}
	part->depth = depth;
	return part->waits != before ? put_step(s, part, t) : 0;
}

int part_truncate(struct live *s, struct part *part, int64_t t)
{
	int r = 0;

	part->over = part->unknown = 0;
	if (part->depth == 0)
		return 0;
	t = MAX(t, part->b.last);
	r = part_ready(s, part, t, 10);
	if (r < 0)
		return r;
	chunk_build_event(&part->b, t, CHUNK_TRUNCATE);
	chunk_build_varint(&part->b, part->depth);
	s->repaired[REPAIR_TRUNCATED_ZONE] += part->depth;
	return part_pop_to(s, part, 0, t);
}

int part_end(struct live *s, struct part *part, int64_t t)
{
	struct track *track = part->track;
	const struct part *other;
	int r;

	r = part_truncate(s, part, t);
	if (r < 0)
		return r;
	part->ended = true;
	for (other = track->parts; other; other = other->sibling)
		if (!other->ended)
			return 0;
	track->end = MAX(t, track->begin);
	return track_put_row(s, track);
}

static void unlink_from_track(struct part *part)
{
	struct part **link = &part->track->parts;

	while (*link != part)
		link = &(*link)->sibling;
	*link = part->sibling;
}

/*
 * What rings point to stays. Two slots that say the same tid may share a track and a part, which
 * the one ends while the other goes on.
 */
static void hold_for_rings(struct live *s)
{
	struct part *part;
	uint32_t lane;
	size_t i;

	for (part = s->tracks.parts; part; part = part->next)
		part->held = false;
	for (i = 0; i < s->tracks.all.count; i++)
		s->tracks.all.at[i]->held = false;
	for (lane = 0; lane < s->lane_count; lane++)
		for (i = 0; s->lanes[lane] && i < s->lanes[lane]->rings.count; i++) {
			const struct ring *ring = s->lanes[lane]->rings.at[i];

			if (ring->own)
				ring->own->held = true;
			if (ring->fiber)
				ring->fiber->held = true;
			if (ring->part)
				ring->part->held = true;
		}
}

void tracks_collect(struct live *s)
{
	struct part **link = &s->tracks.parts, *part;
	size_t i, kept = 0;

	hold_for_rings(s);
	while ((part = *link)) {
		if (!part->ended || part->open || part->held || part->track->streams > 0) {
			link = &part->next;
			continue;
		}
		*link = part->next;
		unlink_from_track(part);
		s->tracks.counters -= part->counter != NULL;
		part_free(part);
		s->tracks.part_count--;
	}
	for (i = 0; i < s->tracks.all.count; i++) {
		struct track *track = s->tracks.all.at[i];

		if (track->parts || track->held || track->streams > 0 || track->end >= s->swept_to)
			s->tracks.all.at[kept++] = track;
		else
			track_free(track);
	}
	s->tracks.all.count = kept;
}
