/* SPDX-License-Identifier: MIT */
/* What zones came to over a session, of chunks made by hand: whatever of it is still there. */
#include "store_fixture.h"

#include "daemon/log.h"
#include "daemon/zone_session.h"
#include "daemon/zone_totals.h"
#include "failing.h"

enum { FRAME_NS = 1000, LONG_FRAME = 3, KEPT_FRAMES = 10 };

static int setup(void **state)
{
	struct fixture *f = must(calloc(1, sizeof(*f)));

	fixture_init(f);
	f->config.history_frames = KEPT_FRAMES;
	fixture_open(f);
	*state = f;
	return 0;
}

static void submit(struct fixture *f, struct batch *b)
{
	store_submit(f->store, b);
	store_flush(f->store);
}

/* update(physics(physics) render) on a track: 500, 100(50), 30 ns; physics has 200 more in
 * LONG_FRAME. */
static void add_calls(struct batch *b, uint32_t track, uint64_t n)
{
	int64_t t = (int64_t)(n - 1) * FRAME_NS, more = n == LONG_FRAME ? 200 : 0;
	struct maker *m = maker_new(1, track, 0, t);

	make_begin(m, t, 1);
	make_begin(m, t + 10, 2);
	make_begin(m, t + 20, 2);
	make_end(m, t + 70);
	make_end(m, t + 110 + more);
	make_begin(m, t + 350, 3);
	make_end(m, t + 380);
	make_end(m, t + 500);
	make_chunk(m, b);
}

static void add_frame_of_calls(struct batch *b, uint64_t n)
{
	add_calls(b, 1, n);
	add_frame(b, 1, 0, n, (int64_t)(n - 1) * FRAME_NS, (int64_t)n * FRAME_NS);
}

/* Frames from..to, so many in a batch. */
static void record(struct fixture *f, struct batch *first, uint64_t from, uint64_t to,
		   unsigned many)
{
	struct batch *b = first ? first : must(batch_new());

	for (; from <= to; from++) {
		add_frame_of_calls(b, from);
		if (from % many == 0 && from < to) {
			submit(f, b);
			b = must(batch_new());
		}
	}
	submit(f, b);
}

/* What the session's zones called name came to. */
static struct zone_session_numbers numbers_of(struct history *h, uint64_t session, const char *name,
					      const bool *skip, uint64_t *ret_uncounted)
{
	const struct range_query which = {.last = 1};
	struct zone_session_numbers n;
	struct zone_session s;
	struct zone_tree tree;
	struct range range;
	uint32_t id;

	assert_int_equal(range_open(h, session, &which, &range), 0);
	assert_int_equal(zone_tree_read(h, &range, NULL, COUNTED_ALL, &tree), 0);
	assert_int_equal(zone_session_read(h, &tree, skip, &s), 0);
	assert_true(s.known);
	for (id = 1; id < range.markers.count; id++)
		if (range.markers.at[id].name && !strcmp(range.markers.at[id].name, name))
			break;
	n = *zone_session_of(&s, id, false);
	if (ret_uncounted)
		*ret_uncounted = s.uncounted;
	zone_session_deinit(&s);
	zone_tree_deinit(&tree);
	range_close(&range);
	return n;
}

static void assert_numbers(struct history *h, uint64_t session, uint64_t frames)
{
	struct zone_session_numbers n = numbers_of(h, session, "physics", NULL, NULL);

	assert_int_equal(n.calls, 2 * frames);
	assert_int_equal(n.total_ns, 100 * frames + 200); /* the inner one is in the outer one */
	assert_int_equal(n.max_ns, 300);
	assert_int_equal(n.max_frame, LONG_FRAME);
	n = numbers_of(h, session, "update", NULL, NULL);
	assert_int_equal(n.calls, frames);
	assert_int_equal(n.total_ns, 500 * frames);
	assert_int_equal(n.max_frame, 1); /* the first of equals */
}

static void calls_outlive_their_events(void **state)
{
	struct fixture *f = *state;
	uint64_t n;

	record(f, first_batch(1, 1), 1, 5, 1);
	assert_numbers(f->history, 1, 5); /* all of it is there */
	for (n = 6; n <= 60; n++) {
		record(f, NULL, n, n, 1);
		assert_numbers(f->history, 1, n);
	}
	assert_true(ask(f->history_db, "SELECT events_from FROM streams") > LONG_FRAME);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM zone_totals"), 1 + 4);
	assert_int_equal(ask(f->history_db, "SELECT max_frame FROM zone_totals WHERE node = 3"),
			 LONG_FRAME);
}

static void many_frames_in_a_batch_are_counted_once(void **state)
{
	struct fixture *f = *state;

	record(f, first_batch(1, 1), 1, 200, 37);
	assert_numbers(f->history, 1, 200);
}

/* A daemon that comes later goes on, from whatever the rows say. */
static void they_go_on_with_the_next_daemon(void **state)
{
	struct fixture *f = *state;

	record(f, first_batch(1, 1), 1, 7, 1);
	fixture_close(f);
	fixture_open(f);
	assert_numbers(f->history, 1, 7);
	record(f, NULL, 8, 45, 3);
	fixture_close(f);
	fixture_open(f);
	assert_numbers(f->history, 1, 45);
	record(f, NULL, 46, 80, 3);
	assert_numbers(f->history, 1, 80);
}

/* SQLite gives an id again whose row is gone; what has such an id was not counted yet. */
static void ids_are_not_given_again(void **state)
{
	struct fixture *f = *state;
	int64_t newest;

	record(f, first_batch(1, 1), 1, 40, 1);
	newest = ask(f->history_db, "SELECT max(id) FROM chunks");
	fixture_close(f);
	assert_int_equal(ask(f->history_db, "DELETE FROM chunks; SELECT 1"), INT64_MIN);
	assert_int_equal(ask(f->history_db, "UPDATE session_totals SET zones_counted_to = "
					    "(SELECT 40)"),
			 INT64_MIN);
	fixture_open(f);
	record(f, NULL, 41, 42, 1);
	assert_int_equal(ask(f->history_db, "SELECT min(id) FROM chunks"), newest + 1);
}

/* A zone that begins in one chunk and ends in another, as the next one says. */
static void a_call_counts_where_it_ends(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m = maker_new(1, 1, 0, 100);
	uint64_t n;

	make_begin(m, 100, 4);
	make_chunk(m, b);
	add_frame(b, 1, 0, 1, 0, 1000);
	submit(f, b);
	assert_int_equal(numbers_of(f->history, 1, "note", NULL, NULL).calls, 0);
	b = must(batch_new());
	m = maker_new(1, 1, 0, 1500);
	make_carried(m, 4, 100);
	make_with(m, 1500, CHUNK_NEXT, 3);
	make_begin(m, 1600, 2);
	make_with(m, 1900, CHUNK_TRUNCATE, 2);
	make_chunk(m, b);
	add_frame(b, 1, 0, 2, 1000, 2000);
	submit(f, b);
	for (n = 3; n < 40; n++) {
		assert_int_equal(numbers_of(f->history, 1, "note", NULL, NULL).calls, 1);
		assert_int_equal(numbers_of(f->history, 1, "note", NULL, NULL).max_ns, 1400);
		assert_int_equal(numbers_of(f->history, 1, "note", NULL, NULL).max_frame, 1);
		assert_int_equal(numbers_of(f->history, 1, "render", NULL, NULL).max_frame, 2);
		b = must(batch_new());
		add_frame(b, 1, 0, n, (int64_t)(n - 1) * FRAME_NS, (int64_t)n * FRAME_NS);
		m = maker_new(1, 1, 0, (int64_t)(n - 1) * FRAME_NS);
		make_begin(m, (int64_t)(n - 1) * FRAME_NS, 1);
		make_end(m, (int64_t)(n - 1) * FRAME_NS + 1);
		make_chunk(m, b);
		submit(f, b);
	}
	assert_int_equal(numbers_of(f->history, 1, "physics", NULL, NULL).total_ns, 300);
}

static void a_clear_begins_anew(void **state)
{
	struct fixture *f = *state;
	struct batch *b;

	record(f, first_batch(1, 1), 1, 30, 1);
	b = must(batch_new());
	add_frame_of_calls(b, 31);
	PUSH(&b->clears, (struct clear_row){.session = 1, .before = 30 * FRAME_NS});
	submit(f, b);
	assert_int_equal(numbers_of(f->history, 1, "update", NULL, NULL).calls, 1);
	record(f, NULL, 32, 70, 1);
	assert_int_equal(numbers_of(f->history, 1, "update", NULL, NULL).calls, 40);
	assert_int_equal(numbers_of(f->history, 1, "physics", NULL, NULL).max_ns, 100);
	assert_int_equal(numbers_of(f->history, 1, "physics", NULL, NULL).max_frame, 31);
}

/* Threads of one name are one, also when they and their tracks are long gone. */
static void threads_go_by_their_names(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	bool skip[400];
	uint64_t n;

	memset(skip, true, sizeof(skip));
	add_track(b, 1, 2, "helper");
	submit(f, b);
	for (n = 1; n <= 300; n++) {
		b = must(batch_new());
		add_frame_of_calls(b, n);
		add_calls(b, 2, n);
		add_track(b, 1, 2 + (uint32_t)n, "job");
		add_calls(b, 2 + (uint32_t)n, n);
		b->tracks.at[0].end_ticks = (int64_t)n * FRAME_NS;
		submit(f, b);
	}
	assert_true(ask(f->history_db, "SELECT count(*) FROM tracks") < 200);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM zone_totals"), 3 * (1 + 4));
	assert_int_equal(numbers_of(f->history, 1, "update", NULL, NULL).calls, 900);
	skip[1] = false; /* tracks come by id, the main one first */
	assert_int_equal(numbers_of(f->history, 1, "update", skip, NULL).calls, 300);
	skip[2] = false; /* one of the jobs: those of its name */
	assert_int_equal(numbers_of(f->history, 1, "update", skip, NULL).calls, 600);
}

static struct zone_session_numbers gpu_numbers(struct fixture *f)
{
	const struct range_query which = {.last = 1};
	struct zone_session_numbers n;
	struct zone_session s;
	struct zone_tree tree;
	struct range range;

	assert_int_equal(range_open(f->history, 1, &which, &range), 0);
	assert_int_equal(zone_tree_read(f->history, &range, NULL, COUNTED_ALL, &tree), 0);
	assert_int_equal(zone_session_read(f->history, &tree, NULL, &s), 0);
	n = *zone_session_of(&s, 3, true);
	zone_session_deinit(&s);
	zone_tree_deinit(&tree);
	range_close(&range);
	return n;
}

static void add_gpu(struct batch *b, uint64_t frame, int64_t begin, int64_t end)
{
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = frame,
						  .track = 2,
						  .marker = 3,
						  .begin_ns = begin,
						  .end_ns = end,
						  .calibrated = true});
}

/* A GPU's results come frames later, some when their frame is gone already. */
static void gpu_spans_count_with_their_frames(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	uint64_t n;

	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 2,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX});
	submit(f, b);
	for (n = 1; n <= 100; n++) {
		int64_t t = (int64_t)n * FRAME_NS;

		b = must(batch_new());
		add_frame_of_calls(b, n);
		if (n > 3)
			add_gpu(b, n - 3, t, t + (n == 50 ? 70 : 20));
		if (n > 40)
			add_gpu(b, n - 40, t, t + 5);
		submit(f, b);
	}
	assert_int_equal(gpu_numbers(f).calls, 97 + 60);
	assert_int_equal(gpu_numbers(f).total_ns, 96 * 20 + 70 + 60 * 5);
	assert_int_equal(gpu_numbers(f).max_ns, 70);
	assert_int_equal(gpu_numbers(f).max_frame, 47);
	assert_true(ask(f->history_db, "SELECT min(frame) FROM gpu_spans") > 47);
	assert_int_equal(numbers_of(f->history, 1, "render", NULL, NULL).calls, 100);
}

/* More paths than are kept, and a chunk that makes no sense: what is missing is said. */
static void what_is_not_counted_is_told(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct chunk_row *row;
	struct maker *m;
	uint64_t uncounted;
	uint32_t i;

	m = maker_new(1, 1, 0, 0);
	for (i = 0; i < ZONE_TOTALS_MAX + 100; i++) {
		make_begin(m, i, 100 + i);
		make_end(m, i);
	}
	make_chunk(m, b);
	add_calls(b, 1, 200); /* these came too late */
	m = maker_new(1, 1, 0, 300 * FRAME_NS);
	make_begin(m, 300 * FRAME_NS, 1);
	make_end(m, 300 * FRAME_NS + 10);
	row = make_chunk(m, b);
	memset(row->data, 0xff, row->bytes);
	add_frame(b, 1, 0, 1, 0, 301 * FRAME_NS);
	submit(f, b);
	numbers_of(f->history, 1, "update", NULL, &uncounted);
	assert_int_equal(uncounted, 100 + 2 + 4 + 2);
	for (i = 2; i < 40; i++) {
		b = must(batch_new());
		add_frame(b, 1, 0, i, (300 + (int64_t)i - 1) * FRAME_NS,
			  (300 + (int64_t)i) * FRAME_NS);
		m = maker_new(1, 1, 0, (300 + (int64_t)i - 1) * FRAME_NS);
		make_begin(m, (300 + (int64_t)i - 1) * FRAME_NS, 100);
		make_end(m, (300 + (int64_t)i - 1) * FRAME_NS);
		make_chunk(m, b);
		submit(f, b);
	}
	numbers_of(f->history, 1, "update", NULL, &uncounted);
	assert_int_equal(uncounted, 100 + 2 + 4 + 2);
}

/* What an earlier version evicted nobody counted. */
static void what_nobody_counted_is_not_known(void **state)
{
	const struct range_query which = {.last = 1};
	struct fixture *f = *state;
	struct zone_session s;
	struct zone_tree tree;
	struct range range;

	record(f, first_batch(1, 1), 1, 12, 1);
	fixture_close(f);
	assert_int_equal(ask(f->history_db, "UPDATE session_totals SET zones_counted_to = NULL"),
			 INT64_MIN);
	fixture_open(f);
	record(f, NULL, 13, 40, 1);
	assert_int_equal(range_open(f->history, 1, &which, &range), 0);
	assert_int_equal(zone_tree_read(f->history, &range, NULL, COUNTED_ALL, &tree), 0);
	assert_int_equal(zone_session_read(f->history, &tree, NULL, &s), 0);
	assert_false(s.known);
	assert_int_equal(zone_session_of(&s, 1, false)->calls, 0);
	zone_session_deinit(&s);
	zone_tree_deinit(&tree);
	range_close(&range);
	assert_int_equal(ask(f->history_db, "SELECT zones_counted_to IS NULL FROM session_totals"),
			 1);
}

/* In an empty directory: every transaction evicts, and something of them fails after so much of it.
 * Returns how often. */
static long record_failing(struct fixture *f, enum failing_what what, long after)
{
	char dir[64];
	long failed;

	snprintf(dir, sizeof(dir), "%s", f->dir);
	fixture_deinit(f);
	assert_int_equal(mkdir(dir, 0700), 0);
	fixture_paths(f, dir);
	f->config.history_frames = 2;
	fixture_open(f);
	record(f, first_batch(1, 1), 1, 3, 1);
	failing_arm(what, after, false, SQLITE_IOERR_WRITE);
	record(f, NULL, 4, 9, 1);
	failed = failing_disarm();
	assert_numbers(f->history, 1, 9);
	return failed;
}

/* A transaction that is tried again does not count twice. */
static void what_failed_is_counted_once(void **state)
{
	struct fixture *f = *state;
	long after, tried = 0;

	for (after = 0; record_failing(f, FAILING_ALLOCATIONS, after) > 0; after += 13)
		tried++;
	assert_true(tried > 20);
	for (after = 0; record_failing(f, FAILING_WRITES, after) > 0; after++)
		tried++;
	assert_true(tried > 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_outlive_their_events),
		TEST(many_frames_in_a_batch_are_counted_once),
		TEST(they_go_on_with_the_next_daemon),
		TEST(ids_are_not_given_again),
		TEST(a_call_counts_where_it_ends),
		TEST(a_clear_begins_anew),
		TEST(threads_go_by_their_names),
		TEST(gpu_spans_count_with_their_frames),
		TEST(what_is_not_counted_is_told),
		TEST(what_nobody_counted_is_not_known),
		TEST(what_failed_is_counted_once),
	};

	failing_install();
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
