/* SPDX-License-Identifier: MIT */
/*
 * A lane's chunks are listed first and loaded one at a time, by their ids: the transaction may end
 * between two of them. A chunk that is gone by then, or whose id is another's, is said to be gone.
 * Only so many are listed at once as SQLite keeps pages of: a row lies before its data, in the same
 * page, which is read once so.
 *
 * Each chunk says which zones were open at its start. The lane follows its own stack, so that what
 * was lost between two chunks is seen. Where no chunk reaches into the range, the next one's
 * carried zones were open throughout, and where there is no next one, those that the last one left
 * open.
 */
#include "range_lane.h"

#include <errno.h>
#include <string.h>

#define LISTED_AT_ONCE 64

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

/* Those that follow the ones that are listed; at first those from t0 on. */
static int list_chunks(struct history *h, uint64_t session, uint32_t track, int64_t t0, int64_t t1,
		       struct range_lane *lane)
{
	const struct lane_chunk *last =
		lane->chunks.count > 0 ? &lane->chunks.at[lane->chunks.count - 1] : NULL;
	int64_t key[] = {(int64_t)session, track, lane->lane, t0, INT64_MIN, LISTED_AT_ONCE};
	sqlite3_stmt *stmt;
	struct lane_chunk chunk;
	unsigned count = 0;
	int r;

	if (last) {
		key[3] = last->t1;
		key[4] = last->id;
	}
	stmt = history_ask(h, HISTORY_LANE_CHUNKS, key, 6);
	while (!lane->later && (r = sql_step(stmt)) == 1) {
		count++;
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
	lane->listed = lane->later || count < LISTED_AT_ONCE;
	if (r >= 0 && lane->chunks.count == 0 && !lane->later)
		r = list_last(h, key, lane);
	return MIN(r, 0);
}

int range_lane_open(struct history *h, uint64_t session, uint32_t track, uint32_t lane, int64_t t0,
		    int64_t t1, struct range_lane **ret_lane)
{
	struct range_lane *l = malloc(sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	memset(l, 0, offsetof(struct range_lane, stack));
	l->depth = 0;
	l->lane = lane;
	r = list_chunks(h, session, track, t0, t1, l);
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

/* The chunk's data, unpacked. */
static int load_chunk(struct history *h, uint64_t session, uint32_t track, struct range_lane *lane,
		      const struct lane_chunk *chunk)
{
	const int64_t key[] = {chunk->id, (int64_t)session, track, lane->lane, chunk->t1};
	size_t bytes;
	int r = load_data(h, key, &lane->raw, &bytes);

	return r < 0 ? r : chunk_reader_init(&lane->reader, lane->raw, bytes, chunk->t0);
}

int range_lane_load(struct history *h, uint64_t session, uint32_t track, struct range_lane *lane,
		    int64_t t1, const struct lane_chunk **ret_chunk, uint32_t *ret_same)
{
	const struct lane_chunk *chunk;
	int r = 0;

	if (!lane->listed && lane->chunk + 1 == lane->chunks.count)
		r = list_chunks(h, session, track, 0, t1, lane);
	if (r < 0)
		return r;
	chunk = &lane->chunks.at[lane->chunk++];
	*ret_chunk = chunk;
	free(lane->raw);
	lane->raw = NULL;
	if (lane->chunk == lane->chunks.count)
		lane->state = LANE_AT_END;
	r = load_chunk(h, session, track, lane, chunk);
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

uint32_t range_lane_zones(struct range_lane *lane, int64_t until, struct range_step *steps,
			  uint32_t most)
{
	const uint8_t *tags = lane->reader.tags;
	struct chunk_cursor c;
	uint32_t count = MIN(chunk_cursor_init(&c, &lane->reader), most), i, code;

	for (i = 0; i < count && chunk_cursor_next(&c, tags, until, &code); i++)
		steps[i] = (struct range_step){c.t,
					       code == CHUNK_END ? RANGE_LEFT : code - CHUNK_BEGIN};
	chunk_cursor_done(&c, &lane->reader);
	return i;
}

void range_lane_skip(struct range_lane *lane, int64_t until, const uint32_t *only, size_t count)
{
	const uint8_t *tags = lane->reader.tags;
	uint32_t depth = lane->depth, left, code, marker;
	struct chunk_cursor c, before;

	for (left = chunk_cursor_init(&c, &lane->reader); left > 0; left--) {
		before = c;
		if (!chunk_cursor_next(&c, tags, until, &code))
			break;
		marker = code - CHUNK_BEGIN;
		if (code == CHUNK_END && depth > 0 && lane->stack[depth - 1].at == UINT32_MAX) {
			depth--;
		} else if (code != CHUNK_END && depth < CHUNK_DEPTH_MAX &&
			   (marker >= count || !only[marker])) {
			lane->stack[depth++] = (struct lane_open){{marker, c.t}, UINT32_MAX};
		} else {
			c = before;
			break;
		}
	}
	lane->depth = depth;
	chunk_cursor_done(&c, &lane->reader);
}
