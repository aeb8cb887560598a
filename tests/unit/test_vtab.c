// SPDX-License-Identifier: MIT
// zones and events in SQL: whatever the events, the zones of each frame are those of the history.

#include "store_fixture.h"

#include "daemon/statistics.h"
#include "daemon/store_db.h"
#include "daemon/vtab.h"

#define FRAMES	    8
#define FRAME_TICKS 1000
#define DEPTH_MAX   6
#define ROUNDS	    60

/* A lane that makes events up: what is open in it, and the chunk in progress. */
struct lane {
	struct statistics_random *random;
	struct batch *batch;
	struct maker *maker;
	uint32_t track, lane, depth;
	struct chunk_open open[DEPTH_MAX];
	int64_t t;
};

static uint64_t below(struct lane *l, uint64_t n)
{
	return statistics_below(l->random, n);
}

/* No two lanes have an event at the same time, and none has at a frame's end. */
static void pass_time(struct lane *l, uint64_t most)
{
	l->t += 4 * (int64_t)(1 + below(l, most));
	l->t += (1 + l->lane - l->t % 4 + 4) % 4;
}

/* No chunk is empty. */
static void finish_chunk(struct lane *l)
{
	if (l->maker->builder.events == 0)
		make_with(l->maker, l->maker->builder.t0, CHUNK_INSTANT, 2);
	make_chunk(l->maker, l->batch);
}

static void cut_chunk(struct lane *l)
{
	uint32_t i;

	if (l->maker)
		finish_chunk(l);
	l->maker = maker_new(1, l->track, l->lane, l->t);
	for (i = 0; i < l->depth && i < 4; i++)
		make_carried(l->maker, l->open[i].marker, l->open[i].begin);
}

static void begin(struct lane *l, uint32_t code)
{
	uint32_t marker = 1 + (uint32_t)below(l, 4);

	if (code == CHUNK_NEXT) {
		make_with(l->maker, l->t, CHUNK_NEXT, marker);
		l->depth -= l->depth > 0;
	} else {
		make_begin(l->maker, l->t, marker);
	}
	l->open[l->depth++] = (struct chunk_open){marker, l->t};
}

static void end_unbalanced(struct lane *l)
{
	uint32_t marker = 1 + (uint32_t)below(l, 4), depth = l->depth;

	make_with(l->maker, l->t, CHUNK_UNBALANCED_END, marker);
	while (depth > 0 && l->open[depth - 1].marker != marker)
		depth--;
	if (depth > 0)
		l->depth = depth - 1;
}

static void truncate_some(struct lane *l)
{
	uint32_t count = (uint32_t)below(l, 3);

	make_with(l->maker, l->t, CHUNK_TRUNCATE, count);
	l->depth -= MIN(count, l->depth);
}

/* Events are lost: other zones are open after than were before. */
static void lose(struct lane *l)
{
	uint32_t i;

	l->depth = (uint32_t)below(l, 3);
	for (i = 0; i < l->depth; i++) {
		pass_time(l, 20);
		l->open[i] = (struct chunk_open){1 + (uint32_t)below(l, 4), l->t};
	}
	pass_time(l, 20);
	cut_chunk(l);
}

static void one_event(struct lane *l)
{
	uint64_t what = below(l, 20);

	pass_time(l, what == 19 ? 400 : 15);
	if (what < 7 && l->depth < 4)
		begin(l, CHUNK_BEGIN);
	else if (what < 12)
		make_end(l->maker, l->t), l->depth -= l->depth > 0;
	else if (what < 14 && l->depth <= 4)
		begin(l, CHUNK_NEXT);
	else if (what == 14)
		end_unbalanced(l);
	else if (what == 15)
		truncate_some(l);
	else if (what == 16)
		cut_chunk(l);
	else if (what == 17 && below(l, 4) == 0)
		lose(l);
	else
		make_with(l->maker, l->t, CHUNK_INSTANT, 2);
}

static void make_lane(struct lane *l)
{
	int64_t until = (int64_t)below(l, (FRAMES + 2) * FRAME_TICKS);

	l->t = (int64_t)below(l, 2 * FRAME_TICKS);
	pass_time(l, 10);
	cut_chunk(l);
	do
		one_event(l);
	while (l->t < until);
	finish_chunk(l);
}

static struct batch *make_history(struct statistics_random *random)
{
	struct batch *b = first_batch(1, 1);
	uint64_t n;
	uint32_t track, lane;

	add_track(b, 1, 2, "worker");
	for (n = 1; n <= FRAMES; n++)
		add_frame(b, 1, 0, n, (int64_t)(n - 1) * FRAME_TICKS, (int64_t)n * FRAME_TICKS);
	for (track = 1; track <= 2; track++) {
		for (lane = 0; lane < track; lane++) {
			struct lane l = {
				.random = random, .batch = b, .track = track, .lane = lane};

			make_lane(&l);
		}
	}
	return b;
}

/* The zones of a frame in SQL, one a line. */
static char *zones_of_sql(sqlite3 *db, uint64_t frame)
{
	static const char sql[] =
		"SELECT group_concat(track || ' ' || marker || ' ' || begin_ns || ' ' || end_ns || "
		"' ' || full_begin_ns || ' ' || depth || ' ' || ifnull(parent, -1) || ' ' || "
		"flags, "
		"char(10)) FROM (SELECT * FROM zones WHERE frame = ? ORDER BY track, zone)";
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	sqlite3_bind_int64(stmt, 1, (int64_t)frame);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	return sqlite3_mprintf("%s\n", sqlite3_column_text(stmt, 0));
}

/* The same as the history has it. Its tracks begin with the marking one, which is the first. */
static char *zones_of_history(struct history *h, uint64_t frame)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	struct history_frame_detail d;
	size_t i, first = 0;

	assert_int_equal(history_frame_detail(h, 1, NULL, frame, 0, &d), 0);
	for (i = 0; i < d.zones.count; i++) {
		const struct history_zone *z = &d.zones.at[i];

		if (i > 0 && d.zones.at[i - 1].track != z->track)
			first = i;
		sqlite3_str_appendf(text, "%s%u %u %lld %lld %lld %u %d %u", i ? "\n" : "",
				    d.tracks.at[z->track].track, z->marker, (long long)z->begin_ns,
				    (long long)z->end_ns, (long long)z->full_begin_ns, z->depth,
				    z->parent < 0 ? -1 : z->parent - (int)first, z->flags);
	}
	history_frame_detail_deinit(&d);
	sqlite3_str_appendall(text, "\n");
	return sqlite3_str_finish(text);
}

/* Fails with the first line that differs. */
static void compare(const char *got, const char *expected, uint64_t round, uint64_t frame)
{
	size_t same = 0, line = 0;

	for (; got[same] && got[same] == expected[same]; same++)
		if (got[same] == '\n')
			line = same + 1;
	if (got[same] == expected[same])
		return;
	fail_msg("round %llu, frame %llu: %.*s, not %.*s", (unsigned long long)round,
		 (unsigned long long)frame, (int)strcspn(got + line, "\n"), got + line,
		 (int)strcspn(expected + line, "\n"), expected + line);
}

static sqlite3 *open_sql(const struct fixture *f, sqlite3 **ret_source, uint32_t uid)
{
	struct vtab_source source = {.uid = uid};
	sqlite3 *db;

	assert_int_equal(db_open_reader(f->history_db, &source.db), 0);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(vtab_register(db, &source), SQLITE_OK);
	assert_int_equal(vtab_register_tables(db, &source), SQLITE_OK);
	*ret_source = source.db;
	return db;
}

static int64_t ask_int(sqlite3 *db, const char *sql)
{
	int64_t value = -1;

	assert_int_equal(sql_int(db, sql, &value), 1);
	return value;
}

static void zones_are_those_of_the_history(void **state)
{
	struct statistics_random random;
	uint64_t round, frame;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		struct fixture f;
		sqlite3 *db, *source;

		statistics_seed(&random, round);
		fixture_init(&f);
		fixture_open(&f);
		fixture_submit(&f, make_history(&random));
		db = open_sql(&f, &source, VTAB_ANY_UID);
		for (frame = 1; frame <= FRAMES; frame++) {
			char *expected = zones_of_history(f.history, frame);
			char *got = zones_of_sql(db, frame);

			compare(got, expected, round, frame);
			sqlite3_free(got);
			sqlite3_free(expected);
		}
		sqlite3_close(db);
		sqlite3_close(source);
		fixture_deinit(&f);
	}
}

/* A scan of all frames and scans of one each decode different chunks. */
static void one_scan_is_all_frames(void **state)
{
	struct statistics_random random;
	struct fixture f;
	sqlite3 *db, *source;

	(void)state;
	statistics_seed(&random, 4711);
	fixture_init(&f);
	fixture_open(&f);
	fixture_submit(&f, make_history(&random));
	db = open_sql(&f, &source, VTAB_ANY_UID);
	assert_true(ask_int(db, "SELECT count(*) FROM zones WHERE frame IS NOT NULL") > 100);
	assert_int_equal(
		ask_int(db,
			"SELECT count(*) FROM (SELECT * FROM zones WHERE frame IS NOT NULL "
			"EXCEPT SELECT z.* FROM frames f CROSS JOIN zones z ON z.frame = f.frame "
			"AND z.session = f.session)"),
		0);
	sqlite3_close(db);
	sqlite3_close(source);
	fixture_deinit(&f);
}

static void a_damaged_chunk_is_an_event(void **state)
{
	struct statistics_random random;
	struct fixture f;
	sqlite3 *db, *source;
	struct batch *b;

	(void)state;
	statistics_seed(&random, 1);
	fixture_init(&f);
	fixture_open(&f);
	b = make_history(&random);
	b->chunks.at[0].data[0] ^= 0xff; /* its version; the checksum is of what is packed */
	fixture_submit(&f, b);
	db = open_sql(&f, &source, VTAB_ANY_UID);
	assert_int_equal(ask_int(db, "SELECT count(*) FROM events WHERE kind = 'damaged'"), 1);
	assert_int_equal(ask_int(db, "SELECT (SELECT value FROM events WHERE kind = 'damaged') = "
				     "(SELECT events FROM chunks ORDER BY id LIMIT 1)"),
			 1);
	assert_true(ask_int(db, "SELECT count(*) FROM zones") > 0);
	sqlite3_close(db);
	sqlite3_close(source);
	fixture_deinit(&f);
}

static void sessions_of_others_are_not_there(void **state)
{
	static const char *const tables[] = {"sessions",  "frames",  "zones",	    "events",
					     "chunks",	  "markers", "tracks",	    "counters",
					     "gpu_zones", "streams", "session_list"};
	struct statistics_random random;
	struct fixture f;
	sqlite3 *db, *source;
	char sql[64];
	size_t i;

	(void)state;
	statistics_seed(&random, 1);
	fixture_init(&f);
	fixture_open(&f);
	fixture_submit(&f, make_history(&random));
	db = open_sql(&f, &source, 1002); /* the session is 1001's */
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[i]);
		assert_int_equal(ask_int(db, sql), 0);
	}
	sqlite3_close(db);
	sqlite3_close(source);
	db = open_sql(&f, &source, 1001);
	assert_int_equal(ask_int(db, "SELECT count(*) FROM sessions"), 1);
	assert_true(ask_int(db, "SELECT count(*) FROM events") > 0);
	sqlite3_close(db);
	sqlite3_close(source);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_are_those_of_the_history),
		cmocka_unit_test(one_scan_is_all_frames),
		cmocka_unit_test(a_damaged_chunk_is_an_event),
		cmocka_unit_test(sessions_of_others_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
