/* SPDX-License-Identifier: MIT */
/*
 * A lane's chunks are listed first and loaded one at a time, by their ids: the transaction may end
 * between two of them. A chunk that is gone by then, or whose id is another's, is said to be gone.
 *
 * Each chunk says which zones were open at its start. The lane follows its own stack, so that what
 * was lost between two chunks is seen. Where no chunk reaches into the range, the next one's
 * carried zones were open throughout, and where there is no next one, those that the last one left
 * open.
 */
#include "range_lane.h"

#include <errno.h>
#include <string.h>

void range_lane_free(struct range_lane *lane)
{
	if (!lane)
		return;
	VEC_FREE(&lane->chunks);
	free(lane->raw);
	free(lane);
}

static void read_chunk(sqlite3_stmt *stmt, struct lane_chunk *chunk)
{
	struct sql_row row = sql_row(stmt);

	chunk->id = row_int(&row);
	chunk->t0 = row_int(&row);
	chunk->t1 = row_int(&row);
	chunk->events = row_uint(&row);
	chunk->depth_in = row_u32(&row);
}

static int list_last(struct history *h, const int64_t *key, struct range_lane *lane)
{
	sqlite3_stmt *stmt = history_ask(h, HISTORY_LANE_LAST, key, 3);
	struct lane_chunk chunk;
	int r = sql_step(stmt);

	if (r == 1) {
		read_chunk(stmt, &chunk);
		r = VEC_PUSH(&lane->chunks, chunk);
	}
	sqlite3_reset(stmt);
	return r;
}

static int list_chunks(struct history *h, const int64_t *key, int64_t t1, struct range_lane *lane)
{
	sqlite3_stmt *stmt = history_ask(h, HISTORY_LANE_CHUNKS, key, 4);
	struct lane_chunk chunk;
	int r;

	while (!lane->later && (r = sql_step(stmt)) == 1) {
		read_chunk(stmt, &chunk);
		lane->later = chunk.t0 >= t1;
		if (lane->later && (lane->chunks.count > 0 || chunk.depth_in == 0))
			break;
		lane->carried_only = lane->later;
		r = VEC_PUSH(&lane->chunks, chunk);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	if (r >= 0 && lane->chunks.count == 0 && !lane->later)
		r = list_last(h, key, lane);
	return MIN(r, 0);
}

int range_lane_open(struct history *h, uint64_t session, uint32_t track, uint32_t lane, int64_t t0,
		    int64_t t1, struct range_lane **ret_lane)
{
	int64_t key[] = {(int64_t)session, track, lane, t0};
	struct range_lane *l = malloc(sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	memset(l, 0, offsetof(struct range_lane, stack));
	l->depth = 0;
	l->lane = lane;
	l->last = INT64_MIN;
	r = list_chunks(h, key, t1, l);
	l->state = l->chunks.count > 0 ? LANE_LOAD : LANE_AT_END;
	if (r < 0) {
		range_lane_free(l);
		return r;
	}
	*ret_lane = l;
	return 0;
}

/* The data of a chunk, if it is still the one that was listed. */
static int load_data(struct history *h, const int64_t *key, uint8_t **ret_raw, size_t *ret_bytes)
{
	sqlite3_stmt *stmt = history_ask(h, HISTORY_LANE_DATA, key, 5);
	int r = sql_step(stmt);

	if (r == 1 && sqlite3_column_type(stmt, 0) == SQLITE_BLOB)
		r = chunk_unpack(sqlite3_column_blob(stmt, 0),
				 (size_t)sqlite3_column_bytes(stmt, 0), ret_raw, ret_bytes);
	else if (r == 1)
		r = -EBADMSG;
	else if (r == 0)
		r = -ENOENT;
	sqlite3_reset(stmt);
	return r;
}

static uint32_t count_same(const struct range_lane *lane)
{
	const struct chunk_open *carried = lane->reader.carried;
	uint32_t same = 0;

	while (same < lane->depth && same < lane->reader.depth_in &&
	       lane->stack[same].open.marker == carried[same].marker &&
	       lane->stack[same].open.begin == carried[same].begin)
		same++;
	return same;
}

int range_lane_load(struct history *h, uint64_t session, uint32_t track, struct range_lane *lane,
		    const struct lane_chunk **ret_chunk, uint32_t *ret_same)
{
	const struct lane_chunk *chunk = &lane->chunks.at[lane->chunk++];
	int64_t key[] = {chunk->id, (int64_t)session, track, lane->lane, chunk->t1};
	size_t bytes;
	int r;

	*ret_chunk = chunk;
	free(lane->raw);
	lane->raw = NULL;
	if (lane->chunk == lane->chunks.count)
		lane->state = LANE_AT_END;
	r = load_data(h, key, &lane->raw, &bytes);
	if (r == 0)
		r = chunk_reader_init(&lane->reader, lane->raw, bytes, chunk->t0);
	if (r < 0)
		return r;
	if (lane->carried_only)
		lane->reader.events_left = 0;
	*ret_same = lane->carried = count_same(lane);
	lane->state = LANE_EVENT;
	return 0;
}

static bool next_carried(struct range_lane *lane)
{
	const struct chunk_open *carried;

	if (lane->carried >= lane->reader.depth_in)
		return false;
	carried = &lane->reader.carried[lane->carried++];
	lane->next.code = CHUNK_BEGIN;
	lane->next.marker = carried->marker;
	lane->next.t = MIN(carried->begin, lane->reader.t0);
	return true;
}

int range_lane_next(struct range_lane *lane)
{
	int r;

	if (next_carried(lane))
		return 0;
	r = lane->carried_only ? 0 : chunk_reader_next(&lane->reader, &lane->next);
	if (r == 1)
		return 0;
	lane->state = lane->chunk < lane->chunks.count ? LANE_LOAD : LANE_AT_END;
	return r;
}
