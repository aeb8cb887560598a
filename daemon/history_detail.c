/* SPDX-License-Identifier: MIT */
/*
 * One frame with everything in it. For each track and lane that has chunks: those that overlap the
 * frame are decoded; where none does, the zones that the next one carries in were open throughout,
 * and where there is no next one, those that the last one left open. A chunk that cannot be decoded
 * becomes a gap and costs nothing else. At most ZONE_EVENTS_MAX events are decoded; what there is
 * by then is the answer, and it says that it is truncated.
 */
#include "history.h"

#include "chunk.h"
#include "history_impl.h"
#include "history_zones.h"
#include "rows.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* A call in progress. */
struct assembly {
	struct history *h;
	uint64_t session;
	struct history_frame_detail *detail;
	struct history_clock clock;
	size_t max_zones;
	uint64_t gpu_frame; /* whose GPU spans belong to it */
	zone_vec zones;
	message_vec messages;
	struct zone_decoder *decoder;
	uint32_t track;	     /* id of the one in progress, 0: none */
	VEC(zone_vec) lanes; /* its zones */
};

void history_frame_detail_deinit(struct history_frame_detail *detail)
{
	size_t i;

	for (i = 0; i < detail->tracks.count; i++)
		free(detail->tracks.at[i].name);
	for (i = 0; i < detail->zones.count; i++)
		free(detail->zones.at[i].text);
	for (i = 0; i < detail->messages.count; i++)
		free(detail->messages.at[i].text);
	for (i = 0; i < detail->markers.count; i++)
		marker_row_deinit(&detail->markers.at[i]);
	VEC_FREE(&detail->tracks);
	VEC_FREE(&detail->zones);
	VEC_FREE(&detail->messages);
	VEC_FREE(&detail->open);
	VEC_FREE(&detail->counters);
	VEC_FREE(&detail->counters_to_come);
	VEC_FREE(&detail->gpu_spans);
	VEC_FREE(&detail->gpus);
	VEC_FREE(&detail->gaps);
	VEC_FREE(&detail->markers);
	memset(detail, 0, sizeof(*detail));
}

const struct marker_row *history_marker_of(const struct history_frame_detail *detail,
					   uint32_t marker)
{
	size_t low = 0, high = detail->markers.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (detail->markers.at[middle].marker < marker)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < detail->markers.count && detail->markers.at[low].marker == marker)
		return &detail->markers.at[low];
	return NULL;
}

/* What of a chunk's row is needed. */
struct stored_chunk {
	int64_t t0, t1;
	uint64_t events;
	uint32_t depth_in;
	const void *data; /* until the statement steps */
	size_t bytes;
};

static void read_chunk(sqlite3_stmt *stmt, struct stored_chunk *chunk)
{
	struct sql_row row = sql_row(stmt);

	chunk->t0 = row_int(&row);
	chunk->t1 = row_int(&row);
	chunk->events = row_uint(&row);
	chunk->depth_in = row_u32(&row);
	chunk->data = sqlite3_column_blob(stmt, row.at);
	chunk->bytes = (size_t)sqlite3_column_bytes(stmt, row.at);
}

static int note_damage(struct assembly *a, uint32_t lane, const struct stored_chunk *chunk)
{
	struct gap_row gap = {.session = a->session,
			      .track = a->track,
			      .lane = lane,
			      .t0 = chunk->t0,
			      .t1 = chunk->t1,
			      .events = chunk->events};

	return VEC_PUSH(&a->detail->gaps, gap);
}

static int decode_chunk(struct assembly *a, uint32_t lane, const struct stored_chunk *chunk,
			bool carried_only)
{
	_cleanup_free_ uint8_t *raw = NULL;
	size_t bytes;
	int r = chunk->data ? chunk_unpack(chunk->data, chunk->bytes, &raw, &bytes) : -EBADMSG;

	if (r == 0)
		r = zone_decoder_chunk(a->decoder, raw, bytes, chunk->t0, carried_only);
	if (r == -EBADMSG)
		r = note_damage(a, lane, chunk);
	return r;
}

/* No chunk of this lane ends at or after the frame's begin: what the last one left open still is.
 */
static int decode_last(struct assembly *a, uint32_t lane)
{
	int64_t key[] = {(int64_t)a->session, a->track, lane};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_LAST_CHUNK, key, 3);
	struct stored_chunk chunk;
	int r = sql_step(stmt);

	if (r == 1) {
		read_chunk(stmt, &chunk);
		r = decode_chunk(a, lane, &chunk, false);
	}
	sqlite3_reset(stmt);
	return r;
}

/* What the lane in progress leaves open, when nothing later is known of it. */
static int keep_open(struct assembly *a)
{
	uint32_t i;

	if (VEC_RESERVE(&a->detail->open, a->decoder->depth) < 0)
		return -ENOMEM;
	for (i = 0; i < a->decoder->depth; i++) {
		const struct chunk_open *open = &a->decoder->stack[i].open;

		a->detail->open.at[a->detail->open.count++] = (struct history_open){
			.track = (uint32_t)a->detail->tracks.count,
			.marker = open->marker,
			.begin_ns = history_ns(&a->clock, open->begin),
		};
	}
	return 0;
}

static int decode_lane(struct assembly *a, uint32_t lane)
{
	const struct frame_row *frame = &a->detail->frame.row;
	int64_t key[] = {(int64_t)a->session, a->track, lane, frame->t0};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_CHUNKS, key, 4);
	struct stored_chunk chunk;
	bool later = false;
	size_t found = 0;
	int r;

	zone_decoder_lane(a->decoder, (uint32_t)a->detail->tracks.count);
	while (!later && (r = sql_step(stmt)) == 1) {
		read_chunk(stmt, &chunk);
		later = chunk.t0 >= frame->t1;
		if (!later || (found == 0 && chunk.depth_in > 0))
			r = decode_chunk(a, lane, &chunk, later);
		if (r < 0)
			break;
		found++;
		later = later || a->decoder->past;
	}
	sqlite3_reset(stmt);
	if (r >= 0 && found == 0)
		r = decode_last(a, lane);
	if (r >= 0 && !later)
		r = keep_open(a);
	zone_decoder_end(a->decoder, !later);
	return MIN(r, 0);
}

/* Takes the lane's zones out of the decoder. */
static int keep_lane(struct assembly *a)
{
	zone_vec *lane = &a->decoder->zones;

	a->detail->truncated = a->detail->truncated || a->decoder->truncated;
	if (lane->count == 0)
		return 0;
	if (VEC_PUSH(&a->lanes, *lane) < 0)
		return -ENOMEM;
	memset(lane, 0, sizeof(*lane));
	return 0;
}

static void drop_lanes(struct assembly *a)
{
	size_t i, k;

	for (i = 0; i < a->lanes.count; i++) {
		for (k = 0; k < a->lanes.at[i].count; k++)
			free(a->lanes.at[i].at[k].text);
		VEC_FREE(&a->lanes.at[i]);
	}
	a->lanes.count = 0;
}

/* Adds a track to the answer. One that the history does not know is a thread without a name. */
static int add_track(struct assembly *a, uint32_t track)
{
	int64_t key[] = {(int64_t)a->session, track};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_TRACK, key, 2);
	struct track_row t = {.session = a->session, .track = track, .end_ticks = INT64_MAX};
	struct sql_row row = sql_row(stmt);
	int r = sql_step(stmt);

	if (r == 1)
		rows_track(&row, &t);
	sqlite3_reset(stmt);
	if (r >= 0)
		r = row.error;
	if (r == 0)
		r = VEC_PUSH(&a->detail->tracks, t);
	if (r < 0)
		free(t.name);
	return r;
}

static bool has_track(const struct history_frame_detail *detail, uint32_t track)
{
	size_t i;

	for (i = 0; i < detail->tracks.count; i++)
		if (detail->tracks.at[i].track == track)
			return true;
	return false;
}

static int cut_deepest(struct assembly *a, size_t max)
{
	_cleanup_free_ int32_t *remap = NULL;

	if (a->max_zones == 0 || a->zones.count <= max)
		return 0;
	remap = malloc(a->zones.count * sizeof(*remap));
	if (!remap)
		return -ENOMEM;
	zones_cut(&a->zones, a->max_zones, remap);
	a->detail->truncated = true;
	return 0;
}

/* Lanes of a track are read one after the other; what is open in them nests by time. Few. */
static void sort_open(struct history_open *open, size_t count)
{
	size_t i, k;

	for (i = 1; i < count; i++) {
		struct history_open moved = open[i];

		for (k = i; k > 0 && open[k - 1].begin_ns > moved.begin_ns; k--)
			open[k] = open[k - 1];
		open[k] = moved;
	}
}

/* All lanes of the track in progress are decoded. messages, open: how many there were before it. */
static int finish_track(struct assembly *a, size_t messages, size_t open)
{
	uint32_t index = (uint32_t)a->detail->tracks.count;
	size_t opened = a->detail->open.count - open;
	int r = 0;

	if (opened > 0)
		sort_open(a->detail->open.at + open, opened);
	if (a->lanes.count > 0 || a->messages.count > messages || opened > 0)
		r = add_track(a, a->track);
	if (r == 0 && a->lanes.count > 0)
		r = zones_merge(a->lanes.at, a->lanes.count, index, &a->zones);
	drop_lanes(a);
	return r < 0 ? r : cut_deepest(a, 4 * a->max_zones);
}

/* Decodes all lanes of a track. */
static int decode_track(struct assembly *a, uint32_t track)
{
	size_t messages = a->messages.count, open = a->detail->open.count;
	int64_t key[] = {(int64_t)a->session, track, -1};
	int r = 0;

	a->track = track;
	while (a->decoder->left > 0 &&
	       (r = history_ask_int(a->h, HISTORY_NEXT_LANE, key, 3, &key[2])) == 1) {
		r = decode_lane(a, (uint32_t)key[2]);
		if (r == 0)
			r = keep_lane(a);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : finish_track(a, messages, open);
}

/* The marking track first, then the others that have chunks. */
static int decode_tracks(struct assembly *a)
{
	uint32_t marking = a->detail->frame.row.track;
	int64_t key[] = {(int64_t)a->session, 0};
	int r = decode_track(a, marking);

	while (r >= 0 && a->decoder->left > 0 &&
	       (r = history_ask_int(a->h, HISTORY_NEXT_TRACK, key, 2, &key[1])) == 1)
		if (key[1] != marking)
			r = decode_track(a, (uint32_t)key[1]);
	if (a->decoder->left == 0)
		a->detail->truncated = true;
	return MIN(r, 0);
}

static void clip_zone(const struct assembly *a, struct history_zone *zone)
{
	const struct frame_row *frame = &a->detail->frame.row;
	int64_t begin = zone->begin_ns, end = zone->end_ns;

	zone->full_begin_ns = history_ns(&a->clock, begin);
	zone->begin_ns = zone->full_begin_ns;
	if (begin < frame->t0) {
		zone->begin_ns = frame->begin_ns;
		zone->flags |= ZONE_CLIPPED_BEGIN;
	}
	if (end > frame->t1) {
		zone->end_ns = frame->end_ns;
		zone->flags |= ZONE_CLIPPED_END;
	} else {
		zone->end_ns = history_ns(&a->clock, end);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct history_message *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->track > y->track) - (x->track < y->track);
}

static int finish_zones(struct assembly *a)
{
	struct history_frame_detail *d = a->detail;
	size_t i;
	int r = cut_deepest(a, a->max_zones);

	if (r < 0)
		return r;
	for (i = 0; i < a->zones.count; i++)
		clip_zone(a, &a->zones.at[i]);
	for (i = 0; i < a->messages.count; i++)
		a->messages.at[i].ns = history_ns(&a->clock, a->messages.at[i].ns);
	if (a->messages.count > 1)
		qsort(a->messages.at, a->messages.count, sizeof(*a->messages.at), by_time);
	d->zones.at = a->zones.at;
	d->zones.count = a->zones.count;
	d->zones.capacity = a->zones.capacity;
	d->messages.at = a->messages.at;
	d->messages.count = a->messages.count;
	d->messages.capacity = a->messages.capacity;
	memset(&a->zones, 0, sizeof(a->zones));
	memset(&a->messages, 0, sizeof(a->messages));
	return 0;
}

static int read_counters(struct assembly *a)
{
	const struct frame_row *frame = &a->detail->frame.row;
	int64_t key[] = {(int64_t)a->session, frame->stream, (int64_t)frame->frame};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_COUNTERS, key, 3);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&a->detail->counters, 1) < 0)
			return -ENOMEM;
		rows_counter(&row, &a->detail->counters.at[a->detail->counters.count++]);
	}
	return r;
}

static int read_counters_to_come(struct assembly *a)
{
	const struct frame_row *frame = &a->detail->frame.row;
	int64_t key[] = {(int64_t)a->session, frame->stream, (int64_t)frame->frame};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_COUNTERS_TO_COME, key, 3);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_PUSH(&a->detail->counters_to_come, row_u32(&row)) < 0)
			return -ENOMEM;
	}
	return r;
}

static int read_spans(struct assembly *a)
{
	int64_t key[] = {(int64_t)a->session, (int64_t)a->gpu_frame};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_SPANS, key, 2);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&a->detail->gpu_spans, 1) < 0)
			return -ENOMEM;
		rows_span(&row, &a->detail->gpu_spans.at[a->detail->gpu_spans.count++]);
	}
	return r;
}

static int read_gaps(struct assembly *a)
{
	const struct frame_row *frame = &a->detail->frame.row;
	int64_t key[] = {(int64_t)a->session, frame->t0, frame->t1};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_GAPS, key, 3);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&a->detail->gaps, 1) < 0)
			return -ENOMEM;
		rows_gap(&row, &a->detail->gaps.at[a->detail->gaps.count++]);
	}
	return r;
}

/* Queues and overwritten threads have no zones, and belong to the frame. */
static int add_other_tracks(struct assembly *a)
{
	struct history_frame_detail *d = a->detail;
	size_t i;
	int r = 0;

	for (i = 0; i < d->gpu_spans.count && r == 0; i++)
		if (!has_track(d, d->gpu_spans.at[i].track))
			r = add_track(a, d->gpu_spans.at[i].track);
	for (i = 0; i < d->gpus.count && r == 0; i++)
		if (!has_track(d, d->gpus.at[i].track))
			r = add_track(a, d->gpus.at[i].track);
	for (i = 0; i < d->gaps.count && r == 0; i++)
		if (!has_track(d, d->gaps.at[i].track))
			r = add_track(a, d->gaps.at[i].track);
	return r;
}

/* A set of marker ids. */
struct id_set {
	uint8_t *bits;
	size_t bytes;
};

static int id_set_add(struct id_set *set, uint32_t id)
{
	size_t need = id / 8 + 1, bytes;
	uint8_t *grown;

	if (id > MARKER_ID_MAX)
		return 0; /* no marker has such an id: it stays unknown */
	if (!set->bits || need > set->bytes) {
		bytes = MAX(need, 2 * set->bytes);
		grown = realloc(set->bits, bytes);
		if (!grown)
			return -ENOMEM;
		memset(grown + set->bytes, 0, bytes - set->bytes);
		set->bits = grown;
		set->bytes = bytes;
	}
	set->bits[id / 8] |= (uint8_t)(1u << id % 8);
	return 0;
}

static int collect_ids(const struct history_frame_detail *d, struct id_set *set)
{
	size_t i;
	int r = 0;

	for (i = 0; i < d->zones.count && r == 0; i++)
		r = id_set_add(set, d->zones.at[i].marker);
	for (i = 0; i < d->messages.count && r == 0; i++)
		r = id_set_add(set, d->messages.at[i].marker);
	for (i = 0; i < d->open.count && r == 0; i++)
		r = id_set_add(set, d->open.at[i].marker);
	for (i = 0; i < d->counters.count && r == 0; i++)
		r = id_set_add(set, d->counters.at[i].marker);
	for (i = 0; i < d->counters_to_come.count && r == 0; i++)
		r = id_set_add(set, d->counters_to_come.at[i]);
	for (i = 0; i < d->gpu_spans.count && r == 0; i++)
		r = id_set_add(set, d->gpu_spans.at[i].marker);
	return r;
}

static int read_marker(struct assembly *a, uint32_t id)
{
	int64_t key[] = {(int64_t)a->session, id};
	sqlite3_stmt *stmt = history_ask(a->h, HISTORY_MARKER, key, 2);
	struct sql_row row = sql_row(stmt);
	int r = sql_step(stmt);

	if (r <= 0)
		return r;
	if (VEC_RESERVE(&a->detail->markers, 1) < 0)
		return -ENOMEM;
	rows_marker(&row, &a->detail->markers.at[a->detail->markers.count++]);
	return row.error;
}

static int read_markers(struct assembly *a)
{
	struct id_set set = {0};
	int r = collect_ids(a->detail, &set);
	size_t byte;
	unsigned bit;

	for (byte = 0; byte < set.bytes && r == 0; byte++)
		for (bit = 0; set.bits[byte] >> bit && r == 0; bit++)
			if (set.bits[byte] >> bit & 1)
				r = read_marker(a, (uint32_t)(byte * 8 + bit));
	free(set.bits);
	return r;
}

/* The frame's row, with its GPU rows. */
static int read_frame(struct assembly *a, const char *stream, uint64_t frame,
		      int64_t *ret_evicted_before)
{
	struct history_frames frames = {0};
	uint32_t id;
	size_t i;
	int r = history_find_stream(a->h, a->session, stream, &id, ret_evicted_before);

	if (r == 0)
		r = history_read_frames(a->h, a->session, id, frame, frame, *ret_evicted_before,
					&frames);
	if (r == 0 && frames.frames.count == 0)
		r = -ENOENT;
	if (r == 0)
		a->detail->frame = frames.frames.at[0];
	for (i = 0; i < frames.gpus.count && r == 0; i++)
		r = VEC_PUSH(&a->detail->gpus, frames.gpus.at[i].gpu);
	history_frames_deinit(&frames);
	return r;
}

static int read_tail(struct assembly *a, const char *stream)
{
	struct history_tail tail;
	int r = history_read_tail(a->h, a->session, stream, &a->clock, &tail);

	if (r < 0)
		return r;
	a->detail->frame = tail.frame;
	a->detail->truncated = tail.cut;
	a->gpu_frame = tail.number;
	return 0;
}

static int assemble(struct assembly *a, const char *stream, uint64_t frame)
{
	int64_t evicted_before = INT64_MIN;
	struct frame_row *row = &a->detail->frame.row;
	int r = history_read_clock(a->h, a->session, &a->clock);

	a->gpu_frame = frame;
	if (r == 0)
		r = frame == HISTORY_TAIL ? read_tail(a, stream)
					  : read_frame(a, stream, frame, &evicted_before);
	if (r < 0)
		return r;
	zone_decoder_init(a->decoder, row->t0, row->t1, a->max_zones, &a->messages);
	if (row->t0 >= evicted_before) {
		r = decode_tracks(a);
		if (r == 0)
			r = finish_zones(a);
		if (r == 0)
			r = read_gaps(a);
	}
	if (r == 0)
		r = read_counters(a);
	if (r == 0 && frame != HISTORY_TAIL && row->t0 >= evicted_before)
		r = read_counters_to_come(a);
	if (r == 0 && row->stream == 0)
		r = read_spans(a);
	if (r == 0)
		r = add_other_tracks(a);
	return r < 0 ? r : read_markers(a);
}

static void assembly_deinit(struct assembly *a)
{
	size_t i;

	for (i = 0; i < a->zones.count; i++)
		free(a->zones.at[i].text);
	for (i = 0; i < a->messages.count; i++)
		free(a->messages.at[i].text);
	VEC_FREE(&a->zones);
	VEC_FREE(&a->messages);
	drop_lanes(a);
	VEC_FREE(&a->lanes);
	zone_decoder_deinit(a->decoder);
	free(a->decoder);
}

int history_frame_detail(struct history *h, uint64_t session, const char *stream, uint64_t frame,
			 size_t max_zones, struct history_frame_detail *ret_detail)
{
	struct history_frame_detail detail = {0};
	struct assembly a = {.h = h, .session = session, .detail = &detail, .max_zones = max_zones};
	int r;

	a.decoder = calloc(1, sizeof(*a.decoder));
	if (!a.decoder)
		return -ENOMEM;
	r = history_begin(h);
	if (r == 0)
		r = history_end(h, assemble(&a, stream, frame));
	assembly_deinit(&a);
	if (r < 0) {
		history_frame_detail_deinit(&detail);
		return r;
	}
	*ret_detail = detail;
	return 0;
}
