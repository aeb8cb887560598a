/* SPDX-License-Identifier: MIT */
/* The drain thread with a real store behind it: commands, commits, the end of sessions. */
#include "failing_vec.h"
#include "fake_game.h"

#include "daemon/drain.h"
#include "daemon/sampler.h"
#include "daemon/sched_trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct seen {
	uint64_t sessions, frames, last_frame, events, faults;
	struct session_update_row update;			     /* without strings */
	uint64_t produced, received, stored, overwritten, discarded; /* of slot 0's newest ledger */
};

struct world {
	char dir[64];
	struct config config;
	struct store *store;
	struct drain *drain;
	struct seen seen; /* the store thread's until store_flush */
	struct fake_memory m;
	struct fake_thread t;
	uint32_t a;
};

static void committed(void *userdata, const struct batch *b)
{
	struct seen *seen = userdata;
	size_t i;

	seen->sessions += b->sessions.count;
	seen->frames += b->frames.count;
	if (b->frames.count > 0)
		seen->last_frame = b->frames.at[b->frames.count - 1].frame;
	for (i = 0; i < b->chunks.count; i++)
		seen->events += b->chunks.at[i].events;
	for (i = 0; i < b->updates.count; i++) {
		seen->update = b->updates.at[i];
		seen->faults += b->updates.at[i].fault != NULL;
	}
	for (i = 0; i < b->ledgers.count; i++) {
		const struct ledger_row *l = &b->ledgers.at[i];
		unsigned j;

		if (l->slot != 0)
			continue;
		seen->produced = l->produced;
		seen->received = l->received;
		seen->stored = l->stored;
		seen->overwritten = l->overwritten;
		for (seen->discarded = 0, j = 0; j < DISCARD_REASONS; j++)
			seen->discarded += l->discarded[j];
	}
}

static uint64_t real_now(void)
{
	return fprof_clock_read(FPROF_CLOCK_MONOTONIC) - FAKE_START;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->dir, "/tmp/fprof-test-drain-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->config = (struct config){
		.runtime_dir = w->dir,
		.state_dir = w->dir,
		.history_dir = w->dir,
		.history_frames = 600,
		.history_mib = 16,
		.history_session_mib = 16,
		.max_counters = 4096,
		.max_sessions = 64,
	};
	assert_int_equal(store_new(&w->config, committed, &w->seen, &w->store), 0);
	assert_int_equal(drain_new(&w->config, w->store, &w->drain), 0);
	fake_memory_new(&w->m, FPROF_RING_WORDS_DEFAULT, FPROF_ORIGIN_GAME);
	w->a = fake_marker(&w->m, FPROF_MARKER_ZONE, "a");
	*state = w;
	return 0;
}

static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char name[400];

	while (dir && (e = readdir(dir))) {
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.')
			unlink(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static int teardown(void **state)
{
	struct world *w = *state;

	drain_free(w->drain);
	store_free(w->store);
	fake_memory_deinit(&w->m);
	remove_dir(w->dir);
	free(w);
	return 0;
}

static uint64_t open_session(struct world *w)
{
	struct session_row *row = malloc(sizeof(*row));
	struct control *control = malloc(sizeof(*control));
	uint64_t id = store_next_session_id(w->store);

	assert_non_null(row);
	assert_non_null(control);
	assert_int_equal(control_new(id, control), 0);
	assert_int_equal(control_set_add(drain_controls(w->drain), control, id, 0, false, NULL), 0);
	*row = fake_row();
	row->id = id;
	row->name = strdup("game");
	row->boot_id = strdup("boot");
	row->facts_json = strdup("{}");
	assert_int_equal(drain_session_open(w->drain, row, control, NULL), 0);
	assert_int_equal(drain_memory_add(w->drain, id, fake_memory_open(&w->m)), 0);
	return id;
}

static void play(struct world *w, unsigned frames, unsigned zones)
{
	unsigned i, j;

	for (i = 0; i < frames; i++) {
		for (j = 0; j < zones; j++) {
			fake_begin(&w->t, w->a, real_now());
			fake_end(&w->t, w->a, real_now());
		}
		fake_mark(&w->t, real_now());
	}
}

static void expect_balance(const struct world *w)
{
	assert_int_equal(w->seen.produced, fake_produced(&w->t));
	assert_int_equal(w->seen.produced, w->seen.received + w->seen.overwritten);
	assert_int_equal(w->seen.received, w->seen.stored + w->seen.discarded);
	assert_int_equal(w->seen.update.received, w->seen.received);
	assert_int_equal(w->seen.events, w->seen.stored);
}

/* Stops the drain: all that it knew is with the store then, and committed. */
static void stop(struct world *w)
{
	drain_free(w->drain);
	w->drain = NULL;
	store_flush(w->store);
}

static void a_session_is_recorded_from_open_to_gone(void **state)
{
	struct world *w = *state;
	uint64_t id;

	fake_thread_begin(&w->t, &w->m, 0, 100, 1, "main", real_now());
	id = open_session(w);
	play(w, 50, 200);
	assert_int_equal(drain_session_bye(w->drain, id), 0);
	play(w, 50, 200);
	assert_int_equal(drain_session_gone(w->drain, id, false, "exit"), 0);
	stop(w);
	assert_int_equal(w->seen.sessions, 1);
	assert_int_equal(w->seen.frames, 100);
	assert_int_equal(w->seen.last_frame, 100);
	assert_int_equal(w->seen.update.id, id);
	assert_int_equal(w->seen.update.state, SESSION_ENDED);
	assert_true(w->seen.update.end_ns > 0);
	assert_int_equal(w->seen.update.frames_total, 100);
	assert_int_equal(w->seen.faults, 0);
	expect_balance(w);
}

static void a_live_session_is_left_live_when_the_daemon_stops(void **state)
{
	struct world *w = *state;

	fake_thread_begin(&w->t, &w->m, 0, 100, 1, "main", real_now());
	play(w, 10, 50);
	open_session(w);
	usleep(1000); /* older than the grace: certain to be read by the last sweep */
	stop(w);
	assert_int_equal(w->seen.frames, 10);
	assert_int_equal(w->seen.update.state, SESSION_LIVE);
	expect_balance(w);
}

static void commands_for_unknown_sessions_change_nothing(void **state)
{
	struct world *w = *state;
	struct drain_health health;

	assert_int_equal(drain_memory_add(w->drain, 99, fake_memory_open(&w->m)), 0);
	assert_int_equal(drain_session_bye(w->drain, 99), 0);
	assert_int_equal(drain_session_gone(w->drain, 99, true, "killed"), 0);
	drain_health(w->drain, &health);
	assert_true(health.clock_hz > 0);
	stop(w);
	assert_int_equal(w->seen.sessions, 0);
	assert_int_equal(w->seen.update.id, 0);
}

/* Marks as fast as they go: batches stay bounded, and what is lost is counted. */
static void marks_in_a_tight_loop_are_all_accounted_for(void **state)
{
	struct world *w = *state;
	uint64_t id;

	fake_thread_begin(&w->t, &w->m, 0, 100, 1, "main", real_now());
	id = open_session(w);
	play(w, 100000, 0);
	assert_int_equal(drain_session_gone(w->drain, id, true, "killed by signal 9"), 0);
	stop(w);
	print_message(
		"%lu frames, of %lu events %lu read, %lu overwritten, %lu discarded, %lu faults\n",
		w->seen.frames, w->seen.produced, w->seen.received, w->seen.overwritten,
		w->seen.discarded, w->seen.faults);
	assert_int_equal(w->seen.update.state, SESSION_CRASHED);
	assert_int_equal(w->seen.last_frame, 100000);
	expect_balance(w);
}

static void a_clear_that_fails_says_so(void **state)
{
	struct drain_health health;
	struct world *w = *state;
	uint64_t id;

	fake_thread_begin(&w->t, &w->m, 0, 100, 1, "main", real_now());
	id = open_session(w);
	play(w, 10, 10);
	do {
		usleep(1000);
		drain_health(w->drain, &health);
	} while (health.events < fake_produced(&w->t));
	__atomic_store_n(&vec_refused_bytes, sizeof(struct clear_row), __ATOMIC_RELEASE);
	assert_int_equal(drain_session_clear(w->drain, id), -ENOMEM);
	__atomic_store_n(&vec_refused_bytes, 0, __ATOMIC_RELEASE);
	assert_int_equal(drain_session_clear(w->drain, id), 0);
	stop(w);
}

/* Opened and ended between two commits: it is not added to the watchers after its end. */
static void a_session_that_ends_at_once_is_not_watched(void **state)
{
	struct sched_trace_health traced;
	struct sampler_health sampled;
	struct world *w = *state;
	struct status *status = status_new();
	struct sched_trace *trace;
	struct sampler *sampler;
	unsigned i;

	w->config.sample_ms = 1000;
	w->config.scheduler = true;
	assert_non_null(status);
	assert_int_equal(sampler_new(&w->config, NULL, w->store, &sampler), 0);
	assert_int_equal(sched_trace_new(&w->config, w->store, status, &trace), 0);
	drain_set_watchers(w->drain, sampler, trace, NULL);
	for (i = 0; i < 20; i++)
		assert_int_equal(drain_session_gone(w->drain, open_session(w), false, "exit"), 0);
	drain_stop(w->drain);
	sampler_health(sampler, &sampled);
	sched_trace_health(trace, &traced);
	assert_int_equal(sampled.sessions, 0);
	assert_int_equal(traced.sessions, 0);
	sched_trace_free(trace);
	sampler_free(sampler);
	status_free(status);
	stop(w);
	assert_int_equal(w->seen.sessions, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_recorded_from_open_to_gone),
		TEST(a_live_session_is_left_live_when_the_daemon_stops),
		TEST(commands_for_unknown_sessions_change_nothing),
		TEST(marks_in_a_tight_loop_are_all_accounted_for),
		TEST(a_clear_that_fails_says_so),
		TEST(a_session_that_ends_at_once_is_not_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
