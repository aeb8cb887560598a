// SPDX-License-Identifier: MIT
/*
 * How a scan goes: sessions that may be seen and are asked for, in each its tracks' lanes, in each
 * its chunks from a time on.
 *
 * Constraints only narrow what is decoded. All of them are left for SQLite to check again, so that
 * reading too much is never wrong: values of an odd type are simply not used.
 */
#include "vtab_impl.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A constraint that was taken, as two characters of idxStr: key and operator. */
#define KEY_BASE 'a'

static char operator_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	default:
		return '\0';
	}
}

static int key_of(const struct vtab_keys *keys, int column)
{
	int key;

	for (key = 0; key < VTAB_KEYS; key++)
		if (keys->columns[key] >= 0 && keys->columns[key] == column)
			return key;
	return -1;
}

/* By how much a constraint narrows a scan, guessed for a history of 600 frames. */
static double narrowing(int key, char op)
{
	static const double equal[VTAB_KEYS] = {4, 600, 8, 100000, 8};

	return op == '=' ? equal[key] : 3;
}

int vtab_best_index(sqlite3_index_info *info, const struct vtab_keys *keys)
{
	size_t size = 2 * (size_t)info->nConstraint + 1, at = 0;
	char *taken = sqlite3_malloc64(size);
	double rows = 4e6;
	int i, count = 0;

	if (!taken)
		return SQLITE_NOMEM;
	for (i = 0; i < info->nConstraint; i++) {
		int key = key_of(keys, info->aConstraint[i].iColumn);
		char op = operator_of(info->aConstraint[i].op);

		if (!info->aConstraint[i].usable || key < 0 || !op ||
		    (key == VTAB_THREAD && op != '='))
			continue;
		info->aConstraintUsage[i].argvIndex = ++count;
		taken[at++] = (char)(KEY_BASE + key);
		taken[at++] = op;
		rows /= narrowing(key, op);
	}
	taken[at] = '\0';
	info->idxStr = taken;
	info->needToFreeIdxStr = 1;
	info->idxNum = (int)(info->colUsed & 0x7fffffff);
	info->estimatedRows = (sqlite3_int64)(rows < 1 ? 1 : rows);
	info->estimatedCost = 50 + rows;
	return SQLITE_OK;
}

/* The integers at and around a number: those that a comparison with it lets through lie within. */
static bool integer_range(sqlite3_value *value, int64_t *ret_low, int64_t *ret_high)
{
	double number;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		*ret_low = *ret_high = sqlite3_value_int64(value);
		return true;
	case SQLITE_FLOAT:
		number = sqlite3_value_double(value);
		if (!(fabs(number) < 9e18))
			return false;
		*ret_low = (int64_t)floor(number);
		*ret_high = (int64_t)ceil(number);
		return true;
	default:
		return false;
	}
}

static void take_range(struct vtab_bounds *b, int key, char op, sqlite3_value *value)
{
	int64_t low, high;

	if (!integer_range(value, &low, &high))
		return;
	if (op != '<')
		b->low[key] = MAX(b->low[key], low);
	if (op != '>')
		b->high[key] = MIN(b->high[key], high);
}

static int take_thread(struct vtab_scan *scan, sqlite3_value *value)
{
	const char *name = (const char *)sqlite3_value_text(value);

	free(scan->thread);
	scan->thread = name ? strdup(name) : NULL;
	return scan->thread ? SQLITE_OK : SQLITE_NOMEM;
}

static int read_bounds(struct vtab_scan *scan, const char *taken, int argc, sqlite3_value **argv)
{
	struct vtab_bounds *bounds = &scan->bounds;
	int i, rc = SQLITE_OK;

	*bounds = (struct vtab_bounds){0};
	for (i = 0; i < VTAB_RANGES; i++) {
		bounds->low[i] = INT64_MIN;
		bounds->high[i] = INT64_MAX;
	}
	for (i = 0; i < argc && taken && rc == SQLITE_OK; i++) {
		int key = taken[2 * i] - KEY_BASE;

		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			bounds->none = true;
		else if (key < VTAB_RANGES)
			take_range(bounds, key, taken[2 * i + 1], argv[i]);
		else if (sqlite3_value_type(argv[i]) == SQLITE_TEXT)
			rc = take_thread(scan, argv[i]);
	}
	for (i = 0; i < VTAB_RANGES; i++)
		bounds->none = bounds->none || bounds->low[i] > bounds->high[i];
	return rc;
}

int vtab_lane_open(struct vtab_lane *lane, sqlite3 *db, int64_t session,
		   const struct vtab_part *part, int64_t t)
{
	static const char sql[] =
		"SELECT t0, t1, events, data FROM chunks WHERE session = ?1 AND track = ?2 AND "
		"lane = ?3 AND t1 >= min(?4, (SELECT max(t1) FROM chunks WHERE session = ?1 AND "
		"track = ?2 AND lane = ?3)) ORDER BY t1, id";
	int rc = lane->chunks ? sqlite3_reset(lane->chunks)
			      : sqlite3_prepare_v2(db, sql, -1, &lane->chunks, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(lane->chunks, 1, session);
	sqlite3_bind_int64(lane->chunks, 2, part->track);
	sqlite3_bind_int64(lane->chunks, 3, part->lane);
	return sqlite3_bind_int64(lane->chunks, 4, t);
}

int vtab_lane_next(struct vtab_lane *lane)
{
	const void *data;
	size_t bytes;
	int r, rc = sqlite3_step(lane->chunks);

	free(lane->raw);
	lane->raw = NULL;
	if (rc != SQLITE_ROW)
		return rc;
	lane->t0 = sqlite3_column_int64(lane->chunks, 0);
	lane->t1 = sqlite3_column_int64(lane->chunks, 1);
	lane->events = sqlite3_column_int64(lane->chunks, 2);
	data = sqlite3_column_blob(lane->chunks, 3);
	bytes = (size_t)sqlite3_column_bytes(lane->chunks, 3);
	r = data ? chunk_unpack(data, bytes, &lane->raw, &bytes) : -1;
	if (r == 0)
		r = chunk_reader_init(&lane->reader, lane->raw, bytes, lane->t0);
	if (r == -ENOMEM)
		return SQLITE_NOMEM;
	return r < 0 ? SQLITE_CORRUPT : SQLITE_ROW;
}

void vtab_lane_close(struct vtab_lane *lane)
{
	sqlite3_finalize(lane->chunks);
	free(lane->raw);
	*lane = (struct vtab_lane){0};
}

int vtab_scan_begin(struct vtab_scan *scan, const struct vtab_source *source, const char *taken,
		    int argc, sqlite3_value **argv)
{
	free(scan->thread);
	scan->thread = NULL;
	scan->source = *source;
	scan->part = SIZE_MAX;
	if (read_bounds(scan, taken, argc, argv) != SQLITE_OK)
		return SQLITE_NOMEM;
	scan->after = MAX(scan->bounds.low[VTAB_SESSION], 1) - 1;
	return SQLITE_OK;
}

void vtab_scan_deinit(struct vtab_scan *scan)
{
	free(scan->thread);
	scan->thread = NULL;
	vtab_session_deinit(&scan->session);
}

/* The stretch of the frames that are asked for; of segments all that lie in it. */
static void find_segments(struct vtab_scan *scan)
{
	const struct vtab_bounds *b = &scan->bounds;
	const struct vtab_session *s = &scan->session;
	bool all = b->low[VTAB_FRAME] == INT64_MIN && b->high[VTAB_FRAME] == INT64_MAX;
	size_t i;

	scan->first = all ? 0 : s->segments.count;
	scan->end = all ? s->segments.count : 0;
	scan->framed = !all;
	for (i = 0; !all && i < s->segments.count; i++) {
		const struct vtab_segment *g = &s->segments.at[i];

		if (g->frame == 0 || !vtab_is_within(b, VTAB_FRAME, (int64_t)g->frame))
			continue;
		scan->first = MIN(scan->first, i);
		scan->end = i + 1;
	}
}

static int next_session(struct vtab_scan *scan)
{
	int64_t id;
	int rc = vtab_session_after(&scan->source, scan->after, scan->bounds.high[VTAB_SESSION],
				    &id);

	if (rc != SQLITE_OK)
		return rc;
	if (id == 0)
		return SQLITE_DONE;
	scan->after = id;
	scan->part = 0;
	rc = vtab_session_load(scan->source.db, id, &scan->session);
	if (rc == SQLITE_OK)
		find_segments(scan);
	return rc;
}

/* Is the track asked for, and are there any frames that are? */
static bool wants(const struct vtab_scan *scan, const struct vtab_part *part)
{
	const struct vtab_track *track;

	if (scan->framed && scan->first >= scan->end)
		return false;
	if (!vtab_is_within(&scan->bounds, VTAB_TRACK, part->track))
		return false;
	if (!scan->thread)
		return true;
	track = vtab_session_track(&scan->session, part->track);
	return track && track->name && strcmp(track->name, scan->thread) == 0;
}

int vtab_scan_next(struct vtab_scan *scan, const struct vtab_part **ret_part)
{
	int rc;

	if (scan->bounds.none)
		return SQLITE_DONE;
	for (;;) {
		while (scan->part < scan->session.parts.count) {
			const struct vtab_part *part = &scan->session.parts.at[scan->part++];

			if (wants(scan, part)) {
				*ret_part = part;
				return SQLITE_ROW;
			}
		}
		rc = next_session(scan);
		if (rc != SQLITE_OK)
			return rc;
	}
}
