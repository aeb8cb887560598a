/* SPDX-License-Identifier: MIT */
/*
 * A lane's events come in ring order. A zone is kept from its begin on and dropped again when it
 * turns out to have ended before the frame; since its children ended before it did, it is then the
 * last one kept. So a lane costs no more than the zones of its frame and the depth of its stack.
 *
 * Each chunk says which zones were open at its start. Where that differs from where the chunk
 * before ended (events were lost between, or a chunk is damaged), what is no longer open was
 * truncated.
 *
 * A frame may hold more zones than anybody wants, up to all of the history when the game makes no
 * marks: beyond 2 * max zones of a lane the deepest levels are dropped and no longer kept.
 */
#include "history_zones.h"

#include "shm/reader.h"
#include "shm/word.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define KEEP_SLACK 4096

void zone_decoder_init(struct zone_decoder *d, int64_t t0, int64_t t1, size_t max,
		       message_vec *messages)
{
	memset(d, 0, offsetof(struct zone_decoder, stack));
	d->t0 = t0;
	d->t1 = t1;
	d->max = max;
	d->messages = messages;
	d->left = ZONE_EVENTS_MAX;
	zone_decoder_lane(d, 0);
}

static void free_texts(zone_vec *zones)
{
	size_t i;

	for (i = 0; i < zones->count; i++)
		free(zones->at[i].text);
}

void zone_decoder_deinit(struct zone_decoder *d)
{
	free_texts(&d->zones);
	VEC_FREE(&d->zones);
}

void zone_decoder_lane(struct zone_decoder *d, uint32_t track)
{
	free_texts(&d->zones);
	d->zones.count = 0;
	d->track = track;
	d->depth = 0;
	d->depth_limit = UINT32_MAX;
	d->last = INT64_MIN;
	d->any = d->past = false;
}

static void remap_stack(struct zone_decoder *d, const int32_t *remap)
{
	uint32_t i;

	for (i = 0; i < d->depth; i++)
		if (d->stack[i].zone >= 0)
			d->stack[i].zone = remap[d->stack[i].zone];
}

/* Too many: drops the deepest. */
static int limit_zones(struct zone_decoder *d)
{
	_cleanup_free_ int32_t *remap = NULL;

	if (d->max == 0 || d->zones.count < 2 * d->max + KEEP_SLACK)
		return 0;
	remap = malloc(d->zones.count * sizeof(*remap));
	if (!remap)
		return -ENOMEM;
	d->depth_limit = MIN(d->depth_limit, zones_cut(&d->zones, d->max, remap));
	d->truncated = true;
	remap_stack(d, remap);
	return 0;
}

/* Is there room for one more zone of this depth? 1, 0, -ENOMEM. */
static int may_keep(struct zone_decoder *d, uint32_t depth)
{
	int r;

	if (depth >= d->depth_limit) {
		d->truncated = true;
		return 0;
	}
	r = limit_zones(d);
	if (r < 0)
		return r;
	if (depth >= d->depth_limit)
		return 0;
	return VEC_RESERVE(&d->zones, 1) < 0 ? -ENOMEM : 1;
}

static int begin_zone(struct zone_decoder *d, uint32_t marker, int64_t t)
{
	struct open_zone *open;
	struct history_zone *zone;
	int r = 0;

	if (d->depth == CHUNK_DEPTH_MAX)
		return -EBADMSG;
	if (t < d->t1)
		r = may_keep(d, d->depth);
	if (r < 0)
		return r;
	open = &d->stack[d->depth];
	open->open.marker = marker;
	open->open.begin = t;
	open->zone = -1;
	if (r == 1) {
		open->zone = (int32_t)d->zones.count;
		zone = &d->zones.at[d->zones.count++];
		memset(zone, 0, sizeof(*zone));
		zone->marker = marker;
		zone->begin_ns = t;
		zone->end_ns = INT64_MAX;
		zone->depth = d->depth;
		zone->parent = d->depth > 0 ? d->stack[d->depth - 1].zone : -1;
	}
	d->depth++;
	return 0;
}

static void end_zone(struct zone_decoder *d, int64_t t, uint32_t flags)
{
	struct history_zone *zone;
	int32_t at = d->stack[--d->depth].zone;

	if (at < 0)
		return;
	zone = &d->zones.at[at];
	zone->end_ns = t;
	zone->flags |= flags;
	/* Ended before the frame, unless a child of no length lies right at its begin. */
	if ((t < d->t0 || (t == d->t0 && zone->begin_ns < t)) && (size_t)at + 1 == d->zones.count) {
		free(zone->text);
		d->zones.count--;
	}
}

static void truncate_to(struct zone_decoder *d, uint32_t depth, int64_t t)
{
	while (d->depth > depth)
		end_zone(d, t, ZONE_TRUNCATED);
}

/* Closes the zones inside the innermost one of marker, then it. */
static void end_unbalanced(struct zone_decoder *d, uint32_t marker, int64_t t)
{
	uint32_t depth = d->depth;

	while (depth > 0 && d->stack[depth - 1].open.marker != marker)
		depth--;
	if (depth == 0)
		return;
	truncate_to(d, depth, t);
	end_zone(d, t, ZONE_UNBALANCED);
}

static struct history_zone *innermost(struct zone_decoder *d)
{
	int32_t at = d->depth > 0 ? d->stack[d->depth - 1].zone : -1;

	return at < 0 ? NULL : &d->zones.at[at];
}

static char *copy_text(const struct chunk_event *e)
{
	size_t size = 3 * e->byte_count + 1; /* each bad byte becomes three */
	char *text = malloc(size);

	if (text)
		utf8_copy(text, size, e->bytes, e->byte_count);
	return text;
}

static int set_text(struct zone_decoder *d, const struct chunk_event *e)
{
	struct history_zone *zone = innermost(d);

	if (!zone)
		return 0;
	free(zone->text);
	zone->text = copy_text(e);
	return zone->text ? 0 : -ENOMEM;
}

static void set_value(struct zone_decoder *d, const struct chunk_event *e)
{
	struct history_zone *zone = innermost(d);

	if (!zone)
		return;
	if (e->type == CHUNK_VALUE_FLAGS) {
		zone->flags |= (uint32_t)e->value.i & ZONE_IMPORTED;
		return;
	}
	zone->has_value = true;
	zone->value_is_double = e->type == FPROF_VALUE_F64;
	if (zone->value_is_double)
		zone->value.d = e->value.d;
	else
		zone->value.i = e->value.i;
}

static int add_message(struct zone_decoder *d, const struct chunk_event *e)
{
	struct history_message m = {
		.track = d->track, .marker = e->marker, .ns = e->t, .colour = e->colour};

	if (e->t < d->t0 || e->t >= d->t1)
		return 0;
	if (d->max > 0 && d->messages->count >= d->max) {
		d->truncated = true;
		return 0;
	}
	if (VEC_RESERVE(d->messages, 1) < 0)
		return -ENOMEM;
	if (e->code == CHUNK_MESSAGE) {
		m.text = copy_text(e);
		if (!m.text)
			return -ENOMEM;
	}
	d->messages->at[d->messages->count++] = m;
	return 0;
}

static int apply(struct zone_decoder *d, const struct chunk_event *e)
{
	switch (e->code) {
	case CHUNK_BEGIN:
		return begin_zone(d, e->marker, e->t);
	case CHUNK_END:
		if (d->depth > 0)
			end_zone(d, e->t, 0);
		return 0;
	case CHUNK_NEXT:
		if (d->depth > 0)
			end_zone(d, e->t, 0);
		return begin_zone(d, e->marker, e->t);
	case CHUNK_TRUNCATE:
		truncate_to(d, d->depth - (uint32_t)MIN(e->value.u, (uint64_t)d->depth), e->t);
		return 0;
	case CHUNK_UNBALANCED_END:
		end_unbalanced(d, e->marker, e->t);
		return 0;
	case CHUNK_TEXT:
		return set_text(d, e);
	case CHUNK_VALUE:
		set_value(d, e);
		return 0;
	case CHUNK_MESSAGE:
	case CHUNK_INSTANT:
		return add_message(d, e);
	default:
		return 0;
	}
}

/* Makes the stack what the chunk says was open at its start. */
static int take_carried(struct zone_decoder *d, int64_t chunk_t0)
{
	const struct chunk_open *carried = d->reader.carried;
	uint32_t same = 0, i;
	int r = 0;

	while (same < d->depth && same < d->reader.depth_in &&
	       d->stack[same].open.marker == carried[same].marker &&
	       d->stack[same].open.begin == carried[same].begin)
		same++;
	truncate_to(d, same, d->any ? d->last : chunk_t0);
	for (i = same; i < d->reader.depth_in && r == 0; i++)
		r = begin_zone(d, carried[i].marker, carried[i].begin);
	return r;
}

int zone_decoder_chunk(struct zone_decoder *d, const void *raw, size_t bytes, int64_t chunk_t0,
		       bool carried_only)
{
	struct chunk_event e;
	int r = chunk_reader_init(&d->reader, raw, bytes, chunk_t0);

	d->left -= MIN(d->left, (uint64_t)ZONE_CHUNK_COST);
	if (r == 0)
		r = take_carried(d, chunk_t0);
	if (r < 0)
		return r;
	d->any = true;
	d->last = chunk_t0;
	while (!carried_only && (r = chunk_reader_next(&d->reader, &e)) == 1) {
		if (e.t > d->t1) {
			d->past = true;
			return 0;
		}
		if (d->left == 0) {
			d->past = d->truncated = true;
			return 0;
		}
		d->left--;
		d->last = e.t;
		r = apply(d, &e);
		if (r < 0)
			break;
	}
	return r;
}

void zone_decoder_end(struct zone_decoder *d, bool known_open)
{
	uint32_t flags = known_open && !d->past ? ZONE_OPEN : 0;

	while (d->depth > 0) {
		int32_t at = d->stack[--d->depth].zone;

		if (at >= 0)
			d->zones.at[at].flags |= flags;
	}
}

/* The lane whose next zone comes first: by begin, longer first, the first lane where equal. */
static size_t next_lane(const zone_vec *lanes, const size_t *at, size_t lane_count)
{
	size_t best = lane_count, i;

	for (i = 0; i < lane_count; i++) {
		const struct history_zone *z, *b;

		if (at[i] == lanes[i].count)
			continue;
		if (best == lane_count) {
			best = i;
			continue;
		}
		z = &lanes[i].at[at[i]];
		b = &lanes[best].at[at[best]];
		if (z->begin_ns < b->begin_ns ||
		    (z->begin_ns == b->begin_ns && z->end_ns > b->end_ns))
			best = i;
	}
	return best;
}

/* The open zones of a merge: index into out, lane, depth within the lane. */
struct merge_entry {
	int32_t zone;
	uint32_t lane, depth;
	int64_t end;
};

/* Is what e stands for over when a zone of lane at depth begins? Within a lane the order says so,
 * across lanes time. */
static bool is_over(const struct merge_entry *e, uint32_t lane, const struct history_zone *zone)
{
	return e->lane == lane ? e->depth >= zone->depth : e->end <= zone->begin_ns;
}

struct merge {
	VEC(struct merge_entry) stack;
	size_t *at;
};

static int merge_one(struct merge *m, uint32_t lane, const struct history_zone *zone,
		     uint32_t track, zone_vec *out)
{
	struct merge_entry entry = {(int32_t)out->count, lane, zone->depth, zone->end_ns};
	struct history_zone *copy;

	while (m->stack.count > 0 && is_over(&m->stack.at[m->stack.count - 1], lane, zone))
		m->stack.count--;
	if (VEC_RESERVE(out, 1) < 0 || VEC_RESERVE(&m->stack, 1) < 0)
		return -ENOMEM;
	copy = &out->at[out->count++];
	*copy = *zone;
	copy->track = track;
	copy->depth = (uint32_t)m->stack.count;
	copy->parent = m->stack.count > 0 ? m->stack.at[m->stack.count - 1].zone : -1;
	m->stack.at[m->stack.count++] = entry;
	return 0;
}

/* The usual case: what one lane says stands. */
static int append_lane(zone_vec *lane, uint32_t track, zone_vec *out)
{
	int32_t base = (int32_t)out->count;
	size_t i;

	if (VEC_RESERVE(out, lane->count) < 0)
		return -ENOMEM;
	for (i = 0; i < lane->count; i++) {
		struct history_zone *zone = &out->at[out->count++];

		*zone = lane->at[i];
		zone->track = track;
		if (zone->parent >= 0)
			zone->parent += base;
	}
	lane->count = 0;
	return 0;
}

int zones_merge(zone_vec *lanes, size_t lane_count, uint32_t track, zone_vec *out)
{
	struct merge m = {0};
	size_t lane;
	int r = 0;

	if (lane_count == 1)
		return append_lane(&lanes[0], track, out);
	m.at = calloc(lane_count, sizeof(*m.at));
	if (!m.at)
		return -ENOMEM;
	while ((lane = next_lane(lanes, m.at, lane_count)) < lane_count && r == 0) {
		struct history_zone *zone = &lanes[lane].at[m.at[lane]++];

		r = merge_one(&m, (uint32_t)lane, zone, track, out);
		if (r == 0)
			zone->text = NULL;
	}
	VEC_FREE(&m.stack);
	free(m.at);
	return r;
}

/* How many levels fit into max zones: at least one. */
static uint32_t levels_that_fit(const zone_vec *zones, size_t max)
{
	size_t counts[2 * CHUNK_DEPTH_MAX + 1] = {0}, sum = 0;
	uint32_t depth;
	size_t i;

	for (i = 0; i < zones->count; i++)
		counts[MIN(zones->at[i].depth, 2u * CHUNK_DEPTH_MAX)]++;
	for (depth = 0; depth <= 2 * CHUNK_DEPTH_MAX; depth++) {
		sum += counts[depth];
		if (sum > max)
			break;
	}
	return MAX(depth, 1u);
}

uint32_t zones_cut(zone_vec *zones, size_t max, int32_t *remap)
{
	uint32_t levels;
	size_t i, kept = 0;

	if (zones->count <= max)
		return UINT32_MAX;
	levels = levels_that_fit(zones, max);
	for (i = 0; i < zones->count; i++) {
		struct history_zone *zone = &zones->at[i];
		bool keep = zone->depth < levels && kept < max;

		remap[i] = keep ? (int32_t)kept : -1;
		if (!keep) {
			free(zone->text);
			continue;
		}
		if (zone->parent >= 0)
			zone->parent = remap[zone->parent];
		zones->at[kept++] = *zone;
	}
	zones->count = kept;
	return levels;
}
