/* SPDX-License-Identifier: MIT */
/*
 * zones and events over chunks that anybody may have written. The input is chunks one after the
 * other: lane and track (4 bits each), ticks since the last chunk's begin, length (a byte each, the
 * length times 4), the raw form.
 */
#include "daemon/chunk.h"
#include "daemon/store_db.h"
#include "daemon/util.h"
#include "daemon/vtab.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *db;
static sqlite3_stmt *insert, *zones, *events;

static void must(int rc)
{
	if (rc != SQLITE_OK)
		abort();
}

static void open_once(void)
{
	struct schema schema = schema_current();
	struct vtab_source from = {.uid = VTAB_ANY_UID};

	must(sqlite3_open(":memory:", &db));
	must(schema_apply(db, &schema));
	must(sqlite3_exec(
		db,
		"INSERT INTO sessions VALUES (1, 1, 1, 7, 1, 1, 'b', 'n', 'e', 'i', "
		"'{}', 3, 1e9, 1, 0, 0, 0, 1, 0, 0);"
		"WITH RECURSIVE f(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM f LIMIT 9) "
		"INSERT INTO frames (session, stream, frame, t0, t1, begin_ns, end_ns, "
		"events, lost_events, flags, track) "
		"SELECT 1, 0, n, n * 50, n * 50 + 50 - (n = 4) * 10, n * 50, n * 50 + 50, "
		"0, 0, 0, 1 FROM f",
		NULL, NULL, NULL));
	from.db = db;
	must(vtab_register(db, &from));
	must(sqlite3_prepare_v2(db,
				"INSERT INTO chunks (session, track, lane, t0, t1, events, "
				"depth_in, late, raw_bytes, data) "
				"VALUES (1, ?, ?, ?, ?, 1, 0, 0, ?, ?)",
				-1, &insert, NULL));
	must(sqlite3_prepare_v2(db,
				"SELECT duration_ns, self_ns, begin_ns - full_begin_ns, "
				"zone - ifnull(parent, -1), path, text, frame FROM zones",
				-1, &zones, NULL));
	must(sqlite3_prepare_v2(db, "SELECT * FROM events", -1, &events, NULL));
}

/* The time of the last event that can be read. */
static int64_t last_time(const uint8_t *raw, size_t bytes, int64_t t0)
{
	static struct chunk_reader reader;
	struct chunk_event event;
	int64_t last = t0;

	if (chunk_reader_init(&reader, raw, bytes, t0) == 0)
		while (chunk_reader_next(&reader, &event) == 1)
			last = event.t;
	return MAX(last, t0);
}

static void put_chunk(uint8_t part, const uint8_t *raw, size_t bytes, int64_t t0)
{
	size_t capacity = chunk_pack_bound(bytes);
	_cleanup_free_ uint8_t *packed = malloc(capacity);
	long packed_bytes;

	if (!packed)
		abort();
	packed_bytes = chunk_pack(packed, capacity, raw, bytes);
	if (packed_bytes < 0)
		abort();
	sqlite3_bind_int(insert, 1, 1 + part / 16 % 3);
	sqlite3_bind_int(insert, 2, part % 16 % 3);
	sqlite3_bind_int64(insert, 3, t0);
	sqlite3_bind_int64(insert, 4, last_time(raw, bytes, t0));
	sqlite3_bind_int64(insert, 5, (int64_t)bytes);
	sqlite3_bind_blob(insert, 6, packed, (int)packed_bytes, SQLITE_STATIC);
	if (sqlite3_step(insert) != SQLITE_DONE)
		abort();
	sqlite3_reset(insert);
}

static void check_zones(void)
{
	int rc, rows = 0;

	while ((rc = sqlite3_step(zones)) == SQLITE_ROW && rows++ < 20000) {
		int64_t duration = sqlite3_column_int64(zones, 0);
		int64_t self = sqlite3_column_int64(zones, 1);

		if (duration < 0 || self < 0 || self > duration)
			abort();
		if (sqlite3_column_int64(zones, 2) < 0 || sqlite3_column_int64(zones, 3) <= 0)
			abort();
		if (!sqlite3_column_text(zones, 4))
			abort();
	}
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		abort();
	sqlite3_reset(zones);
}

static void check_events(void)
{
	int i, rc, rows = 0;

	while ((rc = sqlite3_step(events)) == SQLITE_ROW && rows++ < 20000)
		for (i = 0; i < sqlite3_column_count(events); i++)
			sqlite3_column_text(events, i);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		abort();
	sqlite3_reset(events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t t0 = 0;

	if (!db)
		open_once();
	must(sqlite3_exec(db, "BEGIN; DELETE FROM chunks", NULL, NULL, NULL));
	while (size >= 3) {
		size_t bytes = MIN((size_t)data[2] * 4, size - 3);

		t0 += data[1];
		put_chunk(data[0], data + 3, bytes, t0);
		data += 3 + bytes;
		size -= 3 + bytes;
	}
	check_zones();
	check_events();
	must(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL));
	return 0;
}
