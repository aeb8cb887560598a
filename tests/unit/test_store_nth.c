/* SPDX-License-Identifier: MIT */
/*
 * The Nth allocation or write of the store fails, then the N+1st, until a run in which none did.
 * Whatever fails, all that was submitted can be read, nothing is counted as lost, and the file is
 * sound.
 */
#include "store_fixture.h"

#include "daemon/log.h"
#include "failing.h"

#define FRAMES 3

static int setup(void **state)
{
	struct fixture *f = must(calloc(1, sizeof(*f)));

	fixture_init(f);
	*state = f;
	return 0;
}

static void record(struct fixture *f)
{
	uint64_t n;

	store_submit(f->store, first_batch(1, 1));
	store_flush(f->store);
	for (n = 1; n <= FRAMES; n++) {
		struct batch *b = must(batch_new());
		int64_t t = (int64_t)n * 100000;

		add_zones(b, 1, 1, t, t + 100000, 500);
		add_frame(b, 1, 0, n, t, t + 100000);
		PUSH(&b->ledgers, (struct ledger_row){.session = 1, .tail = n});
		PUSH(&b->updates,
		     (struct session_update_row){.id = 1, .end_ns = -1, .frames_total = n});
		store_submit(f->store, b);
		store_flush(f->store);
	}
}

static void assert_all_there(struct fixture *f)
{
	struct history_session session;
	struct history_frame_detail d;
	struct store_health health;
	uint64_t n;

	store_health(f->store, &health);
	assert_int_equal(health.batches_failed, 0);
	assert_int_equal(health.events_dropped, 0);
	assert_int_equal(history_session(f->history, 1, HISTORY_ANY_UID, &session), 0);
	assert_string_equal(session.row.name, "game");
	assert_int_equal(session.update.frames_total, FRAMES);
	history_session_deinit(&session);
	for (n = 1; n <= FRAMES; n++) {
		assert_int_equal(history_frame_detail(f->history, 1, NULL, n, 0, &d), 0);
		assert_int_equal(d.zones.count, 500);
		history_frame_detail_deinit(&d);
	}
}

/* Starts over in an empty directory. */
static void clear(struct fixture *f)
{
	char dir[64];
	struct config config = f->config;

	snprintf(dir, sizeof(dir), "%s", f->dir);
	fixture_deinit(f);
	assert_int_equal(mkdir(dir, 0700), 0);
	fixture_paths(f, dir);
	f->config.history_frames = config.history_frames;
	f->config.history_mib = config.history_mib;
	f->config.history_session_mib = config.history_session_mib;
}

/* A run in which the failure comes while rows are committed. Returns how many failed. */
static long run_commits(struct fixture *f, enum failing_what what, long after, bool forever,
			int error)
{
	long failed;

	fixture_open(f);
	failing_arm(what, after, forever, error);
	record(f);
	failed = failing_disarm();
	assert_all_there(f);
	fixture_close(f);
	assert_sound(f->history_db);
	return failed;
}

static void try_commits(struct fixture *f, enum failing_what what, bool forever, int error,
			long step)
{
	long after = 0;

	while (run_commits(f, what, after, forever, error) > 0) {
		clear(f);
		after += step;
	}
	assert_true(after > 10); /* something did fail */
	print_message("%ld points of failure, every %ld tried\n", after, step);
}

static void an_allocation_fails(void **state)
{
	try_commits(*state, FAILING_ALLOCATIONS, false, 0, 2);
}

static void a_write_fails_once(void **state)
{
	try_commits(*state, FAILING_WRITES, false, SQLITE_IOERR_WRITE, 1);
}

static void writes_fail_from_then_on(void **state)
{
	try_commits(*state, FAILING_WRITES, true, SQLITE_IOERR_WRITE, 1);
}

static void the_disk_is_full_from_then_on(void **state)
{
	try_commits(*state, FAILING_WRITES, true, SQLITE_FULL, 1);
}

/* The failure comes while the databases are opened. A store that does not open says so; one that
 * does keeps what it gets. */
static long run_open(struct fixture *f, enum failing_what what, long after, bool forever)
{
	long failed;
	int r;

	failing_arm(what, after, forever, SQLITE_FULL);
	r = store_new(&f->config, NULL, NULL, &f->store);
	failed = failing_disarm();
	if (r < 0) {
		assert_int_equal(r, -ENOMEM);
		f->store = NULL;
		return failed;
	}
	assert_int_equal(history_open(f->store, &f->history), 0);
	record(f);
	assert_all_there(f);
	fixture_close(f);
	return failed;
}

static void try_open(struct fixture *f, enum failing_what what, bool forever, long step)
{
	long after = 0;

	while (run_open(f, what, after, forever) > 0) {
		clear(f);
		after += step;
	}
	assert_true(after > 10);
	print_message("%ld points of failure, every %ld tried\n", after, step);
}

static void a_write_fails_at_open(void **state)
{
	try_open(*state, FAILING_WRITES, true, 3);
}

static void an_allocation_fails_at_open(void **state)
{
	try_open(*state, FAILING_ALLOCATIONS, false, 307);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_allocation_fails),	TEST(a_write_fails_once),
		TEST(writes_fail_from_then_on), TEST(the_disk_is_full_from_then_on),
		TEST(a_write_fails_at_open),	TEST(an_allocation_fails_at_open),
	};
#undef TEST

	failing_install();
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("store_nth", tests, NULL, NULL);
}
