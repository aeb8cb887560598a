/* SPDX-License-Identifier: MIT */
/* What history readers answer for chunks and rows made by hand. */
#include "store_fixture.h"

#include "daemon/history_zones.h"
#include "shm/word.h"

static void detail_of(struct fixture *f, uint64_t frame, struct history_frame_detail *d)
{
	assert_int_equal(history_frame_detail(f->history, 1, NULL, frame, 0, d), 0);
}

/* What a zone should be. */
struct expected {
	uint32_t track, marker;
	int64_t begin, end, full_begin;
	uint32_t depth;
	int32_t parent;
	uint32_t flags;
};

static void assert_zones(const struct history_frame_detail *d, const struct expected *e,
			 size_t count)
{
	size_t i;

	assert_int_equal(d->zones.count, count);
	for (i = 0; i < count; i++) {
		const struct history_zone *z = &d->zones.at[i];

		assert_int_equal(z->track, e[i].track);
		assert_int_equal(z->marker, e[i].marker);
		assert_int_equal(z->begin_ns, e[i].begin);
		assert_int_equal(z->end_ns, e[i].end);
		assert_int_equal(z->full_begin_ns, e[i].full_begin);
		assert_int_equal(z->depth, e[i].depth);
		assert_int_equal(z->parent, e[i].parent);
		assert_int_equal(z->flags, e[i].flags);
	}
}

#define ASSERT_ZONES(d, ...)                                      \
	assert_zones((d), (const struct expected[]){__VA_ARGS__}, \
		     ARRAY_SIZE(((const struct expected[]){__VA_ARGS__})))

/* Frames [0, 100), [100, 200), [200, 300) of session 1. */
static struct batch *three_frames(void)
{
	struct batch *b = first_batch(1, 1);

	add_frame(b, 1, 0, 1, 0, 100);
	add_frame(b, 1, 0, 2, 100, 200);
	add_frame(b, 1, 0, 3, 200, 300);
	return b;
}

static void zones_nest(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);
	struct history_frame_detail d;

	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_begin(m, 130, 3);
	make_end(m, 140);
	make_end(m, 150);
	make_begin(m, 150, 2); /* a sibling that begins where the other ended */
	make_end(m, 160);
	make_end(m, 190);
	make_chunk(m, b);
	fixture_submit(f, b);

	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 110, 190, 110, 0, -1, 0}, {0, 2, 120, 150, 120, 1, 0, 0},
		     {0, 3, 130, 140, 130, 2, 1, 0}, {0, 2, 150, 160, 150, 1, 0, 0});
	assert_int_equal(d.frame.row.frame, 2);
	assert_int_equal(d.tracks.count, 1);
	assert_string_equal(d.tracks.at[0].name, "main");
	assert_int_equal(d.markers.count, 3);
	assert_string_equal(history_marker_of(&d, 2)->name, "physics");
	assert_string_equal(history_marker_of(&d, 3)->file, "game.c");
	assert_null(history_marker_of(&d, 4));
	assert_false(d.truncated);
	history_frame_detail_deinit(&d);

	/* Nothing of it touches the frames around it. */
	detail_of(f, 1, &d);
	assert_int_equal(d.zones.count, 0);
	assert_int_equal(d.tracks.count, 0);
	history_frame_detail_deinit(&d);
	detail_of(f, 3, &d);
	assert_int_equal(d.zones.count, 0);
	history_frame_detail_deinit(&d);
}

static void equal_timestamps_keep_ring_order(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 150);
	struct history_frame_detail d;

	make_begin(m, 150, 1);
	make_end(m, 150);
	make_begin(m, 150, 2);
	make_begin(m, 150, 3);
	make_end(m, 150);
	make_end(m, 150);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 150, 150, 150, 0, -1, 0}, {0, 2, 150, 150, 150, 0, -1, 0},
		     {0, 3, 150, 150, 150, 1, 1, 0});
	history_frame_detail_deinit(&d);
}

/* One zone over three frames, in chunks cut at the marks. */
static void a_zone_across_frames_is_in_each_of_them(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 50);
	struct history_frame_detail d;

	make_begin(m, 50, 1);
	make_event(m, 100, CHUNK_FIBER_LEAVE);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 120);
	make_carried(m, 1, 50);
	make_begin(m, 120, 2);
	make_end(m, 130);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 250);
	make_carried(m, 1, 50);
	make_end(m, 250);
	make_chunk(m, b);
	fixture_submit(f, b);

	detail_of(f, 1, &d);
	ASSERT_ZONES(&d, {0, 1, 50, 100, 50, 0, -1, ZONE_CLIPPED_END});
	history_frame_detail_deinit(&d);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 100, 200, 50, 0, -1, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END},
		     {0, 2, 120, 130, 120, 1, 0, 0});
	history_frame_detail_deinit(&d);
	detail_of(f, 3, &d);
	ASSERT_ZONES(&d, {0, 1, 200, 250, 50, 0, -1, ZONE_CLIPPED_BEGIN});
	history_frame_detail_deinit(&d);
}

/* A track without an event in the frame has the zones that the next chunk carries in. */
static void a_silent_track_is_open_throughout(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 2, 0, 20);
	struct history_frame_detail d;

	add_track(b, 1, 2, "loader");
	make_begin(m, 20, 2);
	make_chunk(m, b);
	fixture_submit(f, b);

	/* Nothing later is known: the last chunk says it. */
	detail_of(f, 2, &d);
	ASSERT_ZONES(
		&d, {0, 2, 100, 200, 20, 0, -1, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END | ZONE_OPEN});
	assert_string_equal(d.tracks.at[0].name, "loader");
	history_frame_detail_deinit(&d);

	b = must(batch_new());
	m = maker_new(1, 2, 0, 290);
	make_carried(m, 2, 20);
	make_end(m, 290);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 2, 100, 200, 20, 0, -1, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END});
	history_frame_detail_deinit(&d);
}

static void boundaries_belong_to_one_frame(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 0);
	struct history_frame_detail d;

	make_begin(m, 0, 1);
	make_end(m, 100); /* ends with frame 1 */
	make_begin(m, 100, 2);
	make_end(m, 100); /* no length, at the begin of frame 2 */
	make_begin(m, 100, 3);
	make_end(m, 200);
	make_begin(m, 200, 4);
	make_end(m, 210);
	make_chunk(m, b);
	fixture_submit(f, b);

	detail_of(f, 1, &d);
	ASSERT_ZONES(&d, {0, 1, 0, 100, 0, 0, -1, 0});
	history_frame_detail_deinit(&d);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 2, 100, 100, 100, 0, -1, 0}, {0, 3, 100, 200, 100, 0, -1, 0});
	history_frame_detail_deinit(&d);
	detail_of(f, 3, &d);
	ASSERT_ZONES(&d, {0, 4, 200, 210, 200, 0, -1, 0});
	history_frame_detail_deinit(&d);
}

static void repairs_are_flagged(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 100);
	struct history_frame_detail d;

	make_begin(m, 100, 1);
	make_begin(m, 110, 2);
	make_begin(m, 120, 3);
	make_with(m, 130, CHUNK_UNBALANCED_END, 2); /* 3 is truncated, 2 ends */
	make_with(m, 131, CHUNK_STRAY_END, 3);
	make_with(m, 140, CHUNK_NEXT, 4); /* ends 1, begins 4 */
	make_begin(m, 150, 2);
	make_with(m, 160, CHUNK_TRUNCATE, 1);
	make_with(m, 170, CHUNK_TRUNCATE, 99); /* more than there are */
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 100, 140, 100, 0, -1, 0},
		     {0, 2, 110, 130, 110, 1, 0, ZONE_UNBALANCED},
		     {0, 3, 120, 130, 120, 2, 1, ZONE_TRUNCATED},
		     {0, 4, 140, 170, 140, 0, -1, ZONE_TRUNCATED},
		     {0, 2, 150, 160, 150, 1, 3, ZONE_TRUNCATED});
	history_frame_detail_deinit(&d);
}

static void texts_values_and_messages_are_found(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 90);
	struct history_frame_detail d;

	make_message(m, 90, 4, 0, "of frame 1");
	make_begin(m, 110, 1);
	make_text(m, 111, "caf\xc3\xa9 \xff");
	make_begin(m, 112, 2);
	make_with(m, 113, CHUNK_VALUE, FPROF_VALUE_I64);
	chunk_build_varint(&m->builder, chunk_zigzag(-5));
	make_end(m, 114);
	make_with(m, 115, CHUNK_VALUE, FPROF_VALUE_F64);
	chunk_build_raw(&m->builder, &(double){0.5}, 8);
	make_message(m, 116, 4, 0xff8800, "hello");
	make_with(m, 117, CHUNK_INSTANT, 3);
	make_end(m, 120);
	make_message(m, 200, 4, 0, "of frame 3");
	make_chunk(m, b);
	fixture_submit(f, b);

	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 110, 120, 110, 0, -1, 0}, {0, 2, 112, 114, 112, 1, 0, 0});
	assert_string_equal(d.zones.at[0].text, "caf\xc3\xa9 \xef\xbf\xbd");
	assert_true(d.zones.at[0].has_value);
	assert_true(d.zones.at[0].value_is_double);
	assert_true(d.zones.at[0].value.d == 0.5);
	assert_null(d.zones.at[1].text);
	assert_true(d.zones.at[1].has_value);
	assert_int_equal(d.zones.at[1].value.i, -5);
	assert_int_equal(d.messages.count, 2);
	assert_string_equal(d.messages.at[0].text, "hello");
	assert_int_equal(d.messages.at[0].ns, 116);
	assert_int_equal(d.messages.at[0].colour, 0xff8800);
	assert_null(d.messages.at[1].text);
	assert_int_equal(d.messages.at[1].marker, 3);
	assert_int_equal(d.messages.at[1].ns, 117);
	history_frame_detail_deinit(&d);
}

/* The hook's lane has the present and the waits of the game's own thread. */
static void lanes_of_a_track_become_one_tree(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 100);
	struct history_frame_detail d;

	make_begin(m, 100, 1);
	make_begin(m, 150, 2);
	make_end(m, 190);
	make_end(m, 195);
	make_chunk(m, b);
	m = maker_new(1, 1, 1, 110);
	make_begin(m, 110, 3); /* within the outer one */
	make_end(m, 120);
	make_begin(m, 160, 4); /* within the inner one */
	make_begin(m, 165, 3);
	make_end(m, 170);
	make_end(m, 180);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 100, 195, 100, 0, -1, 0}, {0, 3, 110, 120, 110, 1, 0, 0},
		     {0, 2, 150, 190, 150, 1, 0, 0}, {0, 4, 160, 180, 160, 2, 2, 0},
		     {0, 3, 165, 170, 165, 3, 3, 0});
	assert_int_equal(d.tracks.count, 1);
	history_frame_detail_deinit(&d);
}

static void the_marking_track_comes_first(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_frame_detail d;
	uint32_t track;

	add_track(b, 1, 2, "worker");
	add_track(b, 1, 3, "render");
	add_frame(b, 1, 0, 1, 0, 100);
	b->frames.at[0].track = 3;
	for (track = 1; track <= 3; track++) {
		struct maker *m = maker_new(1, track, 0, 10);

		make_begin(m, 10, track);
		make_end(m, 20);
		make_chunk(m, b);
	}
	fixture_submit(f, b);
	detail_of(f, 1, &d);
	ASSERT_ZONES(&d, {0, 3, 10, 20, 10, 0, -1, 0}, {1, 1, 10, 20, 10, 0, -1, 0},
		     {2, 2, 10, 20, 10, 0, -1, 0});
	assert_int_equal(d.tracks.count, 3);
	assert_int_equal(d.tracks.at[0].track, 3);
	assert_int_equal(d.tracks.at[1].track, 1);
	history_frame_detail_deinit(&d);
}

static void a_late_chunk_is_found(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m;
	struct chunk_row *row;
	struct history_frame_detail d;
	struct history_frames frames;

	add_track(b, 1, 2, "worker");
	fixture_submit(f, b);
	b = must(batch_new());
	m = maker_new(1, 2, 0, 130);
	make_begin(m, 130, 2);
	make_end(m, 140);
	row = make_chunk(m, b);
	row->late = 2;
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 2, 130, 140, 130, 0, -1, 0});
	assert_true(d.frame.row.flags & FRAME_LATE_EVENTS);
	assert_int_equal(d.frame.late_events, 2);
	history_frame_detail_deinit(&d);
	assert_int_equal(history_frames_last(f->history, 1, NULL, 10, &frames), 0);
	assert_int_equal(frames.frames.at[0].late_events, 0);
	assert_int_equal(frames.frames.at[1].late_events, 2);
	assert_int_equal(frames.frames.at[2].late_events, 0);
	history_frames_deinit(&frames);
}

/* Between two chunks events were lost: what is not carried in any more was truncated. */
static void loss_between_chunks_truncates(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);
	struct history_frame_detail d;

	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 160);
	make_carried(m, 1, 110);
	make_carried(m, 3, 150);
	make_end(m, 160);
	make_end(m, 170);
	make_chunk(m, b);
	PUSH(&b->gaps, (struct gap_row){1, 1, 0, 120, 160, 33});
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 110, 170, 110, 0, -1, 0},
		     {0, 2, 120, 120, 120, 1, 0, ZONE_TRUNCATED}, {0, 3, 150, 160, 150, 1, 0, 0});
	assert_int_equal(d.gaps.count, 1);
	assert_int_equal(d.gaps.at[0].events, 33);
	history_frame_detail_deinit(&d);
}

static void change_database(struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->history_db, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sql_exec(db, sql), 0);
	sqlite3_close(db);
}

static void a_damaged_chunk_loses_only_itself(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frame_detail d;
	int i;

	for (i = 0; i < 3; i++) {
		struct maker *m = maker_new(1, 1, 0, 110 + i * 20);

		make_begin(m, 110 + i * 20, 1 + (uint32_t)i);
		make_end(m, 115 + i * 20);
		make_chunk(m, b);
	}
	fixture_submit(f, b);
	change_database(f, "UPDATE chunks SET data = CAST(substr(data, 1, length(data) - 1) || "
			   "x'5a' AS BLOB) WHERE t0 = 130");
	detail_of(f, 2, &d);
	ASSERT_ZONES(&d, {0, 1, 110, 115, 110, 0, -1, 0}, {0, 3, 150, 155, 150, 0, -1, 0});
	assert_int_equal(d.gaps.count, 1);
	assert_int_equal(d.gaps.at[0].t0, 130);
	assert_int_equal(d.gaps.at[0].t1, 135);
	assert_int_equal(d.gaps.at[0].track, 1);
	assert_int_equal(d.gaps.at[0].events, 2);
	history_frame_detail_deinit(&d);
}

/* 3 zones, each with 10 children that have 10 each. */
static void add_tree(struct batch *b)
{
	struct maker *m = maker_new(1, 1, 0, 100);
	int64_t t = 100;
	int i, k, n;

	for (i = 0; i < 3; i++) {
		make_begin(m, t, 1);
		for (k = 0; k < 10; k++) {
			make_begin(m, t, 2);
			for (n = 0; n < 10; n++) {
				make_begin(m, t, 3);
				make_end(m, t);
			}
			make_end(m, ++t);
		}
		make_end(m, t);
	}
	make_chunk(m, b);
}

static void too_many_zones_are_cut_deepest_first(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frame_detail d;
	size_t i;

	add_tree(b);
	fixture_submit(f, b);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 2, 333, &d), 0);
	assert_int_equal(d.zones.count, 333);
	assert_false(d.truncated);
	history_frame_detail_deinit(&d);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 2, 332, &d), 0);
	assert_int_equal(d.zones.count, 33);
	assert_true(d.truncated);
	for (i = 0; i < d.zones.count; i++) {
		assert_true(d.zones.at[i].depth < 2);
		assert_int_equal(d.zones.at[i].parent,
				 d.zones.at[i].depth ? (int)(i - i % 11) : -1);
	}
	history_frame_detail_deinit(&d);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 2, 2, &d), 0);
	assert_int_equal(d.zones.count, 2);
	assert_true(d.truncated);
	history_frame_detail_deinit(&d);
}

/* Threads that a game made busy beyond reason must not hold the reader up: the rest is left out. */
static void a_frame_is_decoded_up_to_a_bound(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	const uint32_t tracks = ZONE_EVENTS_MAX / 100000 + 3;
	struct history_frame_detail d;
	struct maker *m;
	uint32_t track, i;

	for (track = 1; track <= tracks; track++) {
		m = maker_new(1, track, 0, 110);
		for (i = 0; i < 50000; i++) {
			make_begin(m, 110, 1);
			make_end(m, 120);
		}
		make_chunk(m, b);
	}
	fixture_submit(f, b);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 2, 10, &d), 0);
	assert_true(d.truncated);
	assert_true(d.tracks.count > 0 && d.tracks.count < tracks);
	history_frame_detail_deinit(&d);
}

/* Far more zones than wanted, in many chunks: what is kept stays bounded while decoding. */
static void a_huge_frame_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_frame_detail d;
	struct maker *m;
	int i, k;

	add_frame(b, 1, 0, 1, 0, 1000000);
	for (i = 0; i < 50; i++) {
		m = maker_new(1, 1, 0, i * 20000);
		for (k = 0; k < 2000; k++) {
			make_begin(m, i * 20000 + k * 10, 1);
			make_begin(m, i * 20000 + k * 10 + 1, 2);
			make_end(m, i * 20000 + k * 10 + 2);
			make_end(m, i * 20000 + k * 10 + 3);
		}
		make_chunk(m, b);
	}
	fixture_submit(f, b);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 1, 100, &d), 0);
	assert_int_equal(d.zones.count, 100);
	assert_true(d.truncated);
	assert_true(d.zones.capacity < 20000);
	for (i = 0; i < 100; i++)
		assert_int_equal(d.zones.at[i].begin_ns, i * 10);
	history_frame_detail_deinit(&d);
}

static void depth_has_its_limit(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 100);
	struct history_frame_detail d;
	int i;

	for (i = 0; i < CHUNK_DEPTH_MAX; i++)
		make_begin(m, 110, 1);
	for (i = 0; i < CHUNK_DEPTH_MAX; i++)
		make_end(m, 120);
	make_chunk(m, b);
	/* A chunk that claims more than there can be is damaged. */
	m = maker_new(1, 1, 0, 130);
	for (i = 0; i <= CHUNK_DEPTH_MAX; i++)
		make_begin(m, 130, 2);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	assert_int_equal(d.zones.at[CHUNK_DEPTH_MAX - 1].depth, CHUNK_DEPTH_MAX - 1);
	assert_int_equal(d.gaps.count, 1);
	assert_int_equal(d.gaps.at[0].t0, 130);
	history_frame_detail_deinit(&d);
}

static void times_are_on_the_sessions_clock(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m = maker_new(1, 1, 0, -10);
	struct history_frame_detail d;

	b->sessions.at[0].clock_mult = 5; /* 2.5 ns a tick */
	b->sessions.at[0].clock_shift = 1;
	add_frame(b, 1, 0, 1, -20, 100);
	b->frames.at[0].begin_ns = -50;
	b->frames.at[0].end_ns = 250;
	make_begin(m, -10, 1); /* before the session's start: an event may be older */
	make_end(m, 3);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, 1, &d);
	ASSERT_ZONES(&d, {0, 1, -25, 7, -25, 0, -1, 0});
	history_frame_detail_deinit(&d);
}

struct expected_open {
	uint32_t track, marker;
	int64_t begin;
};

static void assert_open(const struct history_frame_detail *d, const struct expected_open *e,
			size_t count)
{
	size_t i;

	assert_int_equal(d->open.count, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(d->open.at[i].track, e[i].track);
		assert_int_equal(d->open.at[i].marker, e[i].marker);
		assert_int_equal(d->open.at[i].begin_ns, e[i].begin);
	}
}

#define ASSERT_OPEN(d, ...)                                           \
	assert_open((d), (const struct expected_open[]){__VA_ARGS__}, \
		    ARRAY_SIZE(((const struct expected_open[]){__VA_ARGS__})))

/* The marking thread dies in two zones, a silent one in what it began long before, a third had left
 * its zone open when it ended. */
static void the_tail_is_what_follows_the_last_frame(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 310);
	struct history_frame_detail d;

	add_track(b, 1, 2, "loader");
	add_track(b, 1, 3, "gone");
	make_begin(m, 310, 1);
	make_begin(m, 320, 2);
	make_end(m, 330);
	make_begin(m, 340, 3);
	make_chunk(m, b);
	m = maker_new(1, 2, 0, 20);
	make_begin(m, 20, 2);
	make_begin(m, 30, 1);
	make_chunk(m, b);
	m = maker_new(1, 3, 0, 305);
	make_begin(m, 305, 3);
	make_with(m, 315, CHUNK_TRUNCATE, 1);
	make_event(m, 315, CHUNK_THREAD_END);
	make_chunk(m, b);
	PUSH(&b->gpu_spans,
	     (struct gpu_span_row){.session = 1, .frame = 4, .track = 9, .marker = 3, .end_ns = 5});
	PUSH(&b->gaps, (struct gap_row){1, 1, 0, 301, 309, 7});
	b->chunks.at[0].events = 4;
	fixture_submit(f, b);

	detail_of(f, HISTORY_TAIL, &d);
	ASSERT_ZONES(&d, {0, 1, 310, 341, 310, 0, -1, ZONE_CLIPPED_END | ZONE_OPEN},
		     {0, 2, 320, 330, 320, 1, 0, 0},
		     {0, 3, 340, 341, 340, 1, 0, ZONE_CLIPPED_END | ZONE_OPEN},
		     {1, 2, 300, 341, 20, 0, -1, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END | ZONE_OPEN},
		     {1, 1, 300, 341, 30, 1, 3, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END | ZONE_OPEN},
		     {2, 3, 305, 315, 305, 0, -1, ZONE_TRUNCATED});
	ASSERT_OPEN(&d, {0, 1, 310}, {0, 3, 340}, {1, 2, 20}, {1, 1, 30});
	assert_string_equal(d.tracks.at[1].name, "loader");
	assert_int_equal(d.frame.row.frame, 0);
	assert_int_equal(d.frame.row.flags, FRAME_UNFINISHED | FRAME_LOST_EVENTS);
	assert_int_equal(d.frame.row.begin_ns, 300);
	assert_int_equal(d.frame.row.end_ns, 341);
	assert_int_equal(d.frame.row.cpu_ns, NS_UNKNOWN);
	assert_int_equal(d.frame.row.events, 4 + 3);
	assert_int_equal(d.frame.row.lost_events, 7);
	assert_int_equal(d.gaps.count, 1);
	assert_int_equal(d.gpu_spans.count, 1);
	assert_false(d.truncated);
	history_frame_detail_deinit(&d);

	/* However few zones are wanted, what is open is all there. */
	assert_int_equal(history_frame_detail(f->history, 1, NULL, HISTORY_TAIL, 1, &d), 0);
	assert_int_equal(d.zones.count, 1);
	assert_true(d.truncated);
	ASSERT_OPEN(&d, {0, 1, 310}, {0, 3, 340}, {1, 2, 20}, {1, 1, 30});
	assert_string_equal(history_marker_of(&d, 3)->name, "render");
	history_frame_detail_deinit(&d);
	assert_int_equal(history_frame_detail(f->history, 1, "none", HISTORY_TAIL, 0, &d), -ENOENT);
	assert_int_equal(history_frame_detail(f->history, 2, NULL, HISTORY_TAIL, 0, &d), -ENOENT);
}

/* Each stream's tail begins at its own last frame; the newest event of any thread ends it. */
static void a_tail_may_be_empty(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frame_detail d;

	add_stream(b, 1, 3, "physics");
	add_frame(b, 1, 3, 1, 10, 110);
	fixture_submit(f, b);
	detail_of(f, HISTORY_TAIL, &d);
	assert_int_equal(d.tracks.count + d.zones.count + d.open.count, 0);
	assert_int_equal(d.frame.row.begin_ns, 300);
	assert_int_equal(d.frame.row.end_ns, 300);
	assert_int_equal(d.frame.row.flags, FRAME_UNFINISHED);
	history_frame_detail_deinit(&d);

	b = must(batch_new());
	add_zones(b, 1, 1, 250, 290, 1);
	fixture_submit(f, b);
	assert_int_equal(history_frame_detail(f->history, 1, "physics", HISTORY_TAIL, 0, &d), 0);
	assert_int_equal(d.frame.row.begin_ns, 110);
	assert_in_range(d.frame.row.end_ns, 271, 290);
	assert_int_equal(d.zones.count, 1);
	history_frame_detail_deinit(&d);
}

/* Without a mark all is tail: of three seconds the last is read, with what began before. */
static void a_session_without_frames_is_all_tail(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_frame_detail d;
	int64_t step = HISTORY_TAIL_NS / 10, i;

	fixture_submit(f, b);
	detail_of(f, HISTORY_TAIL, &d);
	assert_int_equal(d.frame.row.flags, FRAME_UNFINISHED | FRAME_STARTUP);
	assert_int_equal(d.frame.row.end_ns, 0);
	history_frame_detail_deinit(&d);

	b = must(batch_new());
	for (i = 0; i < 30; i++) {
		struct maker *m = maker_new(1, 1, 0, i * step);

		if (i > 0)
			make_carried(m, 1, 0);
		else
			make_begin(m, 0, 1);
		make_begin(m, i * step, 2);
		if (i < 29)
			make_end(m, i * step + 10);
		make_chunk(m, b);
		if (i == 5) {
			fixture_submit(f, b);
			detail_of(f, HISTORY_TAIL, &d);
			assert_int_equal(d.frame.row.begin_ns, 0);
			assert_int_equal(d.zones.count, 7);
			assert_false(d.truncated);
			ASSERT_OPEN(&d, {0, 1, 0});
			history_frame_detail_deinit(&d);
			b = must(batch_new());
		}
	}
	fixture_submit(f, b);
	detail_of(f, HISTORY_TAIL, &d);
	assert_true(d.truncated);
	assert_int_equal(d.frame.row.end_ns, 29 * step + 1);
	assert_int_equal(d.frame.row.begin_ns, 19 * step + 1);
	assert_int_equal(d.zones.count, 12);
	assert_int_equal(d.zones.at[0].full_begin_ns, 0);
	assert_int_equal(d.zones.at[0].flags, ZONE_CLIPPED_BEGIN | ZONE_CLIPPED_END | ZONE_OPEN);
	assert_int_equal(d.zones.at[1].full_begin_ns, 19 * step);
	ASSERT_OPEN(&d, {0, 1, 0}, {0, 2, 29 * step});
	history_frame_detail_deinit(&d);
}

/* Ten chunks of a tenth of the limit each fit; the eleventh does not. */
static void a_tail_of_many_events_is_cut(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_frame_detail d;
	int i;

	for (i = 0; i < 11; i++) {
		struct maker *m = maker_new(1, 1, 0, i * 100);

		make_begin(m, i * 100, 1);
		make_end(m, i * 100 + 10);
		make_chunk(m, b)->events = HISTORY_TAIL_EVENTS / 10;
		if (i == 9) {
			fixture_submit(f, b);
			detail_of(f, HISTORY_TAIL, &d);
			assert_int_equal(d.zones.count, 10);
			assert_int_equal(d.frame.row.events, HISTORY_TAIL_EVENTS);
			assert_false(d.truncated);
			history_frame_detail_deinit(&d);
			b = must(batch_new());
		}
	}
	fixture_submit(f, b);
	detail_of(f, HISTORY_TAIL, &d);
	assert_int_equal(d.zones.count, 10);
	assert_int_equal(d.frame.row.begin_ns, 10);
	assert_int_equal(d.frame.row.events, HISTORY_TAIL_EVENTS);
	assert_true(d.truncated);
	history_frame_detail_deinit(&d);
}

static void open_zones_of_lanes_nest_by_time(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 310);
	struct history_frame_detail d;

	make_begin(m, 310, 1);
	make_begin(m, 330, 2);
	make_chunk(m, b);
	m = maker_new(1, 1, 1, 320);
	make_begin(m, 320, 3);
	make_chunk(m, b);
	fixture_submit(f, b);
	detail_of(f, HISTORY_TAIL, &d);
	ASSERT_OPEN(&d, {0, 1, 310}, {0, 3, 320}, {0, 2, 330});
	assert_int_equal(d.tracks.count, 1);
	history_frame_detail_deinit(&d);
}

static void counters_and_gpu_are_with_their_frame(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frame_detail d;
	struct history_frames frames;

	add_track(b, 1, 9, "queue 0");
	b->tracks.at[1].kind = TRACK_GPU_QUEUE;
	b->frames.at[1].flags = FRAME_GPU_PENDING;
	PUSH(&b->frame_counters, (struct frame_counter_row){1, 0, 2, 4, false, true, {.i = 12}});
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = 2,
						  .track = 9,
						  .marker = 3,
						  .begin_ns = 130,
						  .end_ns = 180,
						  .raw_end = UINT64_MAX});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 2, 9, 50, 40, 1, 1, false});
	fixture_submit(f, b);
	assert_int_equal(history_frames(f->history, 1, NULL, 2, 2, &frames), 0);
	assert_int_equal(frames.frames.at[0].row.flags, FRAME_GPU_PENDING);
	assert_int_equal(frames.frames.at[0].gpu_ns, NS_UNKNOWN);
	history_frames_deinit(&frames);

	b = must(batch_new());
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 2, 9, 50, 40, 1, 0, true});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 2, 10, 70, 70, 3, 0, true});
	fixture_submit(f, b);
	detail_of(f, 2, &d);
	assert_int_equal(d.frame.gpu_ns, 70);
	assert_int_equal(d.frame.row.flags, 0);
	assert_int_equal(d.gpus.count, 2);
	assert_int_equal(d.gpus.at[0].busy_ns, 40);
	assert_int_equal(d.gpu_spans.count, 1);
	assert_int_equal(d.gpu_spans.at[0].end_ns, 180);
	assert_int_equal(d.gpu_spans.at[0].raw_end, UINT64_MAX);
	assert_int_equal(d.counters.count, 1);
	assert_int_equal(d.counters.at[0].value.i, 12);
	assert_true(d.counters.at[0].incomplete);
	assert_int_equal(d.tracks.count, 2);
	assert_int_equal(d.tracks.at[0].kind, TRACK_GPU_QUEUE);
	assert_string_equal(history_marker_of(&d, 3)->name, "render");
	assert_string_equal(history_marker_of(&d, 4)->name, "note");
	history_frame_detail_deinit(&d);
	detail_of(f, 3, &d);
	assert_int_equal(d.counters.count + d.gpu_spans.count + d.gpus.count, 0);
	assert_int_equal(d.frame.gpu_ns, NS_UNKNOWN);
	history_frame_detail_deinit(&d);
}

/* Known from a later frame on; what never had a value in any is not known. */
static void counters_are_null_before_their_first_value(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frame_detail d;

	PUSH(&b->frame_counters, (struct frame_counter_row){1, 0, 2, 4, false, false, {.i = 12}});
	PUSH(&b->frame_counters, (struct frame_counter_row){1, 0, 3, 3, false, false, {.i = 1}});
	PUSH(&b->frame_counters, (struct frame_counter_row){1, 0, 3, 4, false, false, {.i = 13}});
	fixture_submit(f, b);
	detail_of(f, 1, &d);
	assert_int_equal(d.counters.count, 0);
	assert_int_equal(d.counters_to_come.count, 2);
	assert_int_equal(d.counters_to_come.at[0], 3);
	assert_int_equal(d.counters_to_come.at[1], 4);
	assert_string_equal(history_marker_of(&d, 3)->name, "render");
	history_frame_detail_deinit(&d);
	detail_of(f, 2, &d);
	assert_int_equal(d.counters.count, 1);
	assert_int_equal(d.counters_to_come.count, 1);
	assert_int_equal(d.counters_to_come.at[0], 3);
	history_frame_detail_deinit(&d);
	detail_of(f, 3, &d);
	assert_int_equal(d.counters.count, 2);
	assert_int_equal(d.counters_to_come.count, 0);
	history_frame_detail_deinit(&d);
	detail_of(f, HISTORY_TAIL, &d);
	assert_int_equal(d.counters.count + d.counters_to_come.count, 0);
	history_frame_detail_deinit(&d);
}

/* A frame of which results are missing has no figure, neither here nor in the view; its queues have
 * theirs. */
static void an_incomplete_frame_has_no_gpu_time(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frames frames;

	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 1, 9, 50, 40, 1, 0, true});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 2, 9, 50, 40, 1, 0, true});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 2, 10, 70, 70, 3, 2, true});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, 3, 9, NS_UNKNOWN, NS_UNKNOWN, 0, 1, true});
	fixture_submit(f, b);
	assert_int_equal(history_frames(f->history, 1, NULL, 1, 3, &frames), 0);
	assert_int_equal(frames.frames.at[0].gpu_ns, 50);
	assert_int_equal(frames.frames.at[0].row.flags & FRAME_GPU_INCOMPLETE, 0);
	assert_int_equal(frames.frames.at[1].gpu_ns, NS_UNKNOWN);
	assert_int_equal(frames.frames.at[1].row.flags & FRAME_GPU_INCOMPLETE,
			 FRAME_GPU_INCOMPLETE);
	assert_int_equal(frames.frames.at[2].gpu_ns, NS_UNKNOWN);
	assert_int_equal(frames.gpus.count, 4);
	assert_int_equal(frames.gpus.at[2].gpu.span_ns, 70);
	assert_int_equal(frames.gpus.at[3].gpu.span_ns, NS_UNKNOWN);
	assert_int_equal(frames.gpus.at[3].gpu.busy_ns, NS_UNKNOWN);
	history_frames_deinit(&frames);
	assert_int_equal(ask(f->history_db, "SELECT gpu_ns FROM frame_times WHERE frame = 1"), 50);
	assert_int_equal(
		ask(f->history_db, "SELECT count(*) FROM frame_times WHERE gpu_ns IS NULL"), 2);
	assert_int_equal(ask(f->history_db, "SELECT span_ns IS NULL AND busy_ns IS NULL "
					    "FROM frame_gpus WHERE frame = 3"),
			 1);
}

/* What is not known is NULL in the database, so that its functions leave it out. */
static void unknown_times_are_null(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frames frames;

	b->frames.at[0].cpu_ns = 7;
	b->frames.at[1].cpu_ns = b->frames.at[1].wait_gpu_ns = NS_UNKNOWN;
	b->frames.at[1].wait_present_ns = b->frames.at[1].wait_cap_ns = NS_UNKNOWN;
	b->frames.at[2].cpu_ns = 9;
	fixture_submit(f, b);
	assert_int_equal(ask(f->history_db, "SELECT sum(cpu_ns) FROM frame_times"), 16);
	assert_int_equal(ask(f->history_db,
			     "SELECT coalesce(cpu_ns, wait_gpu_ns, wait_present_ns, wait_cap_ns) "
			     "IS NULL FROM frames WHERE frame = 2"),
			 1);
	assert_int_equal(history_frames(f->history, 1, NULL, 1, 3, &frames), 0);
	assert_int_equal(frames.frames.at[0].row.cpu_ns, 7);
	assert_int_equal(frames.frames.at[1].row.cpu_ns, NS_UNKNOWN);
	assert_int_equal(frames.frames.at[1].row.wait_cap_ns, NS_UNKNOWN);
	history_frames_deinit(&frames);
}

static void evicted_frames_say_so(void **state)
{
	struct fixture *f = *state;
	struct history_frame_detail d;
	struct history_frames frames;
	uint64_t i;

	fixture_close(f);
	f->config.history_frames = 10;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (i = 1; i <= 15; i++) {
		struct batch *b = must(batch_new());

		add_zones(b, 1, 1, (int64_t)i * 100, (int64_t)i * 100 + 100, 1);
		add_frame(b, 1, 0, i, (int64_t)i * 100, (int64_t)i * 100 + 100);
		fixture_submit(f, b);
	}
	assert_int_equal(history_frames_last(f->history, 1, "main", 11, &frames), 0);
	assert_int_equal(frames.frames.count, 11);
	assert_int_equal(frames.first_row, 1);
	assert_int_equal(frames.last_row, 15);
	assert_int_equal(frames.frames.at[0].row.frame, 5);
	assert_int_equal(frames.frames.at[0].row.flags, FRAME_EVENTS_EVICTED);
	assert_int_equal(frames.frames.at[1].row.flags, 0);
	history_frames_deinit(&frames);
	detail_of(f, 5, &d);
	assert_int_equal(d.zones.count, 0);
	assert_true(d.frame.row.flags & FRAME_EVENTS_EVICTED);
	history_frame_detail_deinit(&d);
	detail_of(f, 6, &d);
	assert_int_equal(d.zones.count, 1);
	history_frame_detail_deinit(&d);
}

static void streams_have_their_own_frames(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct history_frames frames;
	struct history_frame_detail d;
	history_streams_vec streams = {0};
	size_t i;

	add_stream(b, 1, 3, "physics");
	add_frame(b, 1, 3, 1, 10, 110);
	add_frame(b, 1, 3, 2, 110, 290);
	add_zones(b, 1, 1, 100, 200, 4);
	fixture_submit(f, b);
	assert_int_equal(history_frames(f->history, 1, "physics", 0, UINT64_MAX, &frames), 0);
	assert_int_equal(frames.frames.count, 2);
	assert_int_equal(frames.frames.at[1].row.end_ns, 290);
	history_frames_deinit(&frames);
	assert_int_equal(history_frame_detail(f->history, 1, "physics", 2, 0, &d), 0);
	assert_int_equal(d.zones.count, 4);
	assert_int_equal(d.frame.row.stream, 3);
	history_frame_detail_deinit(&d);
	assert_int_equal(history_frames(f->history, 1, "audio", 0, 9, &frames), -ENOENT);
	assert_int_equal(history_frames(f->history, 2, NULL, 0, 9, &frames), -ENOENT);
	assert_int_equal(history_frame_detail(f->history, 1, NULL, 4, 0, &d), -ENOENT);
	assert_int_equal(history_frames_last(f->history, 1, NULL, 0, &frames), 0);
	assert_int_equal(frames.frames.count, 0);
	assert_int_equal(frames.last_row, 3);
	history_frames_deinit(&frames);
	assert_int_equal(history_streams(f->history, 1, &streams), 0);
	assert_int_equal(streams.count, 2);
	assert_string_equal(streams.at[1].name, "physics");
	for (i = 0; i < streams.count; i++)
		free(streams.at[i].name);
	VEC_FREE(&streams);
	assert_int_equal(history_streams(f->history, 9, &streams), -ENOENT);
}

static void the_slowest_is_no_startup_frame(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	uint64_t frame = 0;

	fixture_submit(f, b);
	assert_int_equal(history_slowest(f->history, 1, NULL, &frame), -ENOENT);
	b = must(batch_new());
	add_frame(b, 1, 0, 1, 0, 5000);
	add_frame(b, 1, 0, 2, 5000, 5100);
	add_frame(b, 1, 0, 3, 5100, 5300);
	add_frame(b, 1, 0, 4, 5300, 9900);
	b->frames.at[3].flags = FRAME_PAUSED;
	fixture_submit(f, b);
	assert_int_equal(history_slowest(f->history, 1, NULL, &frame), 0);
	assert_int_equal(frame, 3);
	assert_int_equal(history_slowest(f->history, 8, NULL, &frame), -ENOENT);
}

/* A hitch long ago has no events to show any more. */
static void the_slowest_has_its_events(void **state)
{
	struct fixture *f = *state;
	struct history_session session;
	uint64_t i, frame = 0;

	fixture_close(f);
	f->config.history_frames = 10;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (i = 1; i <= 15; i++) {
		struct batch *b = must(batch_new());
		int64_t begin = (int64_t)i * 1000, end = begin + (i == 3 ? 900 : 100 + (i == 9));

		add_zones(b, 1, 1, begin, end, 1);
		add_frame(b, 1, 0, i, begin, end);
		fixture_submit(f, b);
	}
	assert_int_equal(history_slowest(f->history, 1, NULL, &frame), 0);
	assert_int_equal(frame, 9);
	assert_int_equal(history_session(f->history, 1, HISTORY_ANY_UID, &session), 0);
	assert_int_equal(session.frames_retained, 10);
	assert_int_equal(session.first_retained, 6);
	assert_int_equal(session.first_frame, 1);
	assert_int_equal(session.last_frame, 15);
	history_session_deinit(&session);
}

/* Of frames without events the row is better than nothing: all that is left is paused. */
static void the_slowest_may_be_a_mere_row(void **state)
{
	struct fixture *f = *state;
	uint64_t i, frame = 0;

	fixture_close(f);
	f->config.history_frames = 10;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (i = 1; i <= 15; i++) {
		struct batch *b = must(batch_new());
		int64_t begin = (int64_t)i * 1000, end = begin + (i == 3 ? 900 : 100);

		add_zones(b, 1, 1, begin, end, 1);
		add_frame(b, 1, 0, i, begin, end);
		if (i > 5)
			b->frames.at[0].flags = FRAME_PAUSED;
		fixture_submit(f, b);
	}
	assert_int_equal(history_slowest(f->history, 1, NULL, &frame), 0);
	assert_int_equal(frame, 3);
}

static void sessions_are_their_owners(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_session session;
	history_sessions_vec sessions;
	history_tracks_vec tracks = {0};

	PUSH(&b->infos, (struct info_row){1, must(strdup("level")), must(strdup("e1m1"))});
	fixture_submit(f, b);
	assert_int_equal(history_session(f->history, 0, 1002, &session), -ENOENT);
	fixture_submit(f, first_batch(2, 2));
	b = first_batch(3, 3);
	b->sessions.at[0].state = SESSION_ENDED;
	fixture_submit(f, b);

	assert_int_equal(history_session(f->history, 0, HISTORY_ANY_UID, &session), 0);
	assert_int_equal(session.row.id, 2); /* the newest that lives */
	history_session_deinit(&session);
	assert_int_equal(history_session(f->history, 0, 1003, &session), 0);
	assert_int_equal(session.row.id, 3); /* none lives: the newest */
	history_session_deinit(&session);
	assert_int_equal(history_session(f->history, 1, 1002, &session), -ENOENT);
	assert_int_equal(history_session(f->history, 1, 1001, &session), 0);
	assert_string_equal(session.row.exe, "/usr/games/game");
	assert_null(session.row.build_id);
	assert_int_equal(session.update.end_ns, -1);
	assert_int_equal(session.threads, 1);
	assert_int_equal(session.frames_retained, 0);
	assert_int_equal(session.infos.count, 1);
	assert_string_equal(session.infos.at[0].value, "e1m1");
	history_session_deinit(&session);

	assert_int_equal(history_sessions(f->history, HISTORY_ANY_UID, &sessions), 0);
	assert_int_equal(sessions.count, 3);
	assert_int_equal(sessions.at[0].row.id, 3);
	history_sessions_free(&sessions);
	assert_int_equal(history_sessions(f->history, 1001, &sessions), 0);
	assert_int_equal(sessions.count, 1);
	history_sessions_free(&sessions);
	assert_int_equal(history_tracks(f->history, 1, &tracks), 0);
	assert_int_equal(tracks.count, 1);
	assert_int_equal(tracks.at[0].tid, 101);
	free(tracks.at[0].name);
	VEC_FREE(&tracks);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(zones_nest),
		TEST(equal_timestamps_keep_ring_order),
		TEST(a_zone_across_frames_is_in_each_of_them),
		TEST(a_silent_track_is_open_throughout),
		TEST(boundaries_belong_to_one_frame),
		TEST(repairs_are_flagged),
		TEST(texts_values_and_messages_are_found),
		TEST(lanes_of_a_track_become_one_tree),
		TEST(the_marking_track_comes_first),
		TEST(a_late_chunk_is_found),
		TEST(loss_between_chunks_truncates),
		TEST(a_damaged_chunk_loses_only_itself),
		TEST(too_many_zones_are_cut_deepest_first),
		TEST(a_frame_is_decoded_up_to_a_bound),
		TEST(a_huge_frame_is_bounded),
		TEST(depth_has_its_limit),
		TEST(times_are_on_the_sessions_clock),
		TEST(the_tail_is_what_follows_the_last_frame),
		TEST(a_tail_may_be_empty),
		TEST(a_session_without_frames_is_all_tail),
		TEST(a_tail_of_many_events_is_cut),
		TEST(open_zones_of_lanes_nest_by_time),
		TEST(counters_and_gpu_are_with_their_frame),
		TEST(counters_are_null_before_their_first_value),
		TEST(an_incomplete_frame_has_no_gpu_time),
		TEST(unknown_times_are_null),
		TEST(evicted_frames_say_so),
		TEST(streams_have_their_own_frames),
		TEST(the_slowest_is_no_startup_frame),
		TEST(the_slowest_has_its_events),
		TEST(the_slowest_may_be_a_mere_row),
		TEST(sessions_are_their_owners),
	};
#undef TEST

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
