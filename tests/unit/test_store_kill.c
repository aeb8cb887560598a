/* SPDX-License-Identifier: MIT */
/*
 * A store that is killed at any moment leaves a sound database in which every transaction is there
 * as a whole: what the ledger says was stored is what the chunks hold.
 */
#include "store_fixture.h"

#include "daemon/log.h"

#include <signal.h>
#include <sys/wait.h>

#define ROUNDS 20

/* Each batch: a frame, a chunk of 2 * ZONES events, the ledger as it is with them. */
#define ZONES 200

static struct batch *ledger_batch(uint64_t n)
{
	struct batch *b = must(batch_new());
	int64_t t = (int64_t)n * 10000;
	uint64_t events = n * 2 * ZONES;

	add_zones(b, 1, 1, t, t + 10000, ZONES);
	add_frame(b, 1, 0, n, t, t + 10000);
	PUSH(&b->ledgers, (struct ledger_row){.session = 1,
					      .tail = events,
					      .track = 1,
					      .produced = events + n,
					      .received = events + 3,
					      .stored = events,
					      .overwritten = n - 3,
					      .discarded[DISCARD_MALFORMED] = 3});
	PUSH(&b->updates, (struct session_update_row){.id = 1,
						      .end_ns = -1,
						      .frames_total = n,
						      .produced = events + n,
						      .received = events + 3,
						      .stored = events,
						      .overwritten = n - 3,
						      .discarded[DISCARD_MALFORMED] = 3});
	return b;
}

static void announce(void *userdata, const struct batch *batch)
{
	int fd = *(int *)userdata;
	uint64_t n = batch->frames.count > 0 ? batch->frames.at[0].frame : 0;

	if (write(fd, &n, sizeof(n)) < 0)
		_exit(1);
}

/* Records until it is killed, telling fd each frame that was committed. */
static void record_forever(struct fixture *f, int fd, uint64_t from)
{
	uint64_t n;

	if (store_new(&f->config, announce, &fd, &f->store) < 0)
		_exit(1);
	if (from == 1)
		store_submit(f->store, first_batch(1, 1));
	for (n = from;; n++) {
		if (store_submit(f->store, ledger_batch(n)) > 1 << 20)
			store_flush(f->store);
		if (n % 7 == 0)
			store_flush(f->store);
	}
}

/* Runs it until it has announced some frames more than from, kills it at once, and returns the last
 * announced. */
static uint64_t run_and_kill(struct fixture *f, uint64_t from, uint64_t frames)
{
	uint64_t n, last = 0;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(fds[0]);
		record_forever(f, fds[1], from);
	}
	close(fds[1]);
	while (last < from + frames && read(fds[0], &n, sizeof(n)) == (ssize_t)sizeof(n))
		last = n;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (read(fds[0], &n, sizeof(n)) == (ssize_t)sizeof(n))
		last = n;
	close(fds[0]);
	return last;
}

static void assert_ledger_balances(struct fixture *f, uint64_t announced)
{
	const char *db = f->history_db;
	int64_t frames = ask(db, "SELECT max(frame) FROM frames");

	assert_true(frames >= (int64_t)announced);
	assert_int_equal(ask(db, "SELECT sum(events) FROM chunks"), frames * 2 * ZONES);
	assert_int_equal(ask(db, "SELECT stored FROM ledger"), frames * 2 * ZONES);
	assert_int_equal(ask(db, "SELECT tail FROM ledger"), frames * 2 * ZONES);
	assert_int_equal(ask(db, "SELECT frames_total FROM session_totals"), frames);
	assert_int_equal(ask(db, "SELECT produced = received + overwritten FROM ledger"), 1);
	assert_int_equal(ask(db, "SELECT produced = received + overwritten FROM session_totals"),
			 1);
	assert_int_equal(ask(db, "SELECT received = stored + discarded_malformed + discarded_time "
				 "+ discarded_quota + discarded_hook_mark + "
				 "discarded_not_recording + discarded_foreign_mark FROM ledger"),
			 1);
	assert_int_equal(ask(db, "SELECT sum(length(data)) FROM chunks"),
			 ask(db, "SELECT chunk_bytes FROM session_totals"));
}

static void a_killed_store_leaves_whole_transactions(void **state)
{
	struct fixture f;
	uint64_t frames = 0;
	int round;

	(void)state;
	fixture_init(&f);
	f.config.history_frames = 100000; /* nothing is evicted: the sums are exact */
	for (round = 0; round < ROUNDS; round++) {
		uint64_t announced = run_and_kill(&f, frames + 1, (uint64_t)round * 5 % 60);

		assert_sound(f.history_db);
		assert_ledger_balances(&f, announced);
		frames = (uint64_t)ask(f.history_db, "SELECT max(frame) FROM frames");
	}
	/* The next daemon goes on, without anything to repair. */
	fixture_open(&f);
	store_submit(f.store, ledger_batch(frames + 1));
	store_flush(f.store);
	assert_ledger_balances(&f, frames + 1);
	fixture_deinit(&f);
}

/* With eviction at work, what is left still makes whole frames. */
static void a_killed_store_evicts_whole_frames(void **state)
{
	struct fixture f;
	uint64_t frames = 0;
	int round;

	(void)state;
	fixture_init(&f);
	f.config.history_frames = 20;
	for (round = 0; round < ROUNDS / 2; round++) {
		run_and_kill(&f, frames + 1, (uint64_t)round * 7 % 50);
		assert_sound(f.history_db);
		frames = (uint64_t)ask(f.history_db, "SELECT max(frame) FROM frames");
		assert_int_equal(ask(f.history_db, "SELECT count(*) FROM chunks"),
				 MIN(frames, 20u));
		assert_int_equal(ask(f.history_db, "SELECT min(t0) / 10000 FROM chunks"),
				 ask(f.history_db, "SELECT events_from FROM streams"));
	}
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_store_leaves_whole_transactions),
		cmocka_unit_test(a_killed_store_evicts_whole_frames),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("store_kill", tests, NULL, NULL);
}
