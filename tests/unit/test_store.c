/* SPDX-License-Identifier: MIT */
/* The store when nothing goes wrong: what is written is there, what is too much goes, ids and
 * sessions go on across a restart. */
#include "store_fixture.h"

#include <time.h>

static int setup(void **state)
{
	struct fixture *f = must(calloc(1, sizeof(*f)));

	fixture_init(f);
	*state = f;
	return 0;
}

static void every_kind_of_row_is_stored(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(5, 77);

	fixture_open(f);
	PUSH(&b->memories, (struct memory_row){5, UINT64_MAX, 0, 1, 4096});
	PUSH(&b->infos, (struct info_row){5, must(strdup("level")), must(strdup("e1m1"))});
	add_zones(b, 5, 1, 0, 1000, 10);
	PUSH(&b->gaps, (struct gap_row){5, 1, 0, 10, 20, 99});
	add_frame(b, 5, 0, 1, 0, 1000);
	PUSH(&b->frame_counters, (struct frame_counter_row){5, 0, 1, 4, false, true, {.i = -3}});
	PUSH(&b->frame_counters, (struct frame_counter_row){5, 0, 1, 3, true, false, {.d = 2.5}});
	PUSH(&b->gpu_spans,
	     (struct gpu_span_row){.session = 5, .frame = 1, .track = 9, .end_ns = 4});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){.session = 5, .frame = 1, .track = 9});
	PUSH(&b->ledgers, (struct ledger_row){.session = 5,
					      .slot = 3,
					      .tail = UINT64_MAX,
					      .stack = must(calloc(1, 4)),
					      .stack_bytes = 4});
	PUSH(&b->updates, (struct session_update_row){.id = 5,
						      .end_ns = -1,
						      .frames_total = 1,
						      .repaired[REPAIR_HEAD_BACKWARDS] = 11,
						      .refused[7] = 12});
	fixture_submit(f, b);

	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM session_list"), 1);
	assert_int_equal(ask(f->history_db, "SELECT memory_id FROM memories"), -1);
	assert_int_equal(ask(f->history_db, "SELECT value = 'e1m1' FROM infos"), 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM markers"), 4);
	assert_int_equal(ask(f->history_db, "SELECT events FROM chunks"), 20);
	assert_int_equal(ask(f->history_db, "SELECT events FROM gaps"), 99);
	assert_int_equal(ask(f->history_db, "SELECT wall_ns FROM frame_times"), 1000);
	assert_int_equal(ask(f->history_db, "SELECT wait_gpu_ns IS NULL FROM frames"), 1);
	assert_int_equal(ask(f->history_db, "SELECT value FROM frame_counters WHERE marker=4"), -3);
	assert_int_equal(ask(f->history_db, "SELECT value = 2.5 AND typeof(value) = 'real' "
					    "FROM frame_counters WHERE marker=3"),
			 1);
	assert_int_equal(ask(f->history_db, "SELECT end_ns FROM gpu_spans"), 4);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frame_gpus"), 1);
	assert_int_equal(ask(f->history_db, "SELECT length(stack) FROM ledger"), 4);
	assert_int_equal(ask(f->history_db, "SELECT heads_backwards FROM session_totals"), 11);
	assert_int_equal(ask(f->history_db, "SELECT refused_7 FROM session_totals"), 12);
	assert_int_equal(ask(f->history_db, "SELECT next_track FROM session_totals"), 2);
	assert_sound(f->history_db);
}

static void count_commit(void *userdata, const struct batch *batch)
{
	unsigned *frames = userdata;

	*frames += (unsigned)batch->frames.count;
}

static void each_batch_is_announced_once(void **state)
{
	struct fixture *f = *state;
	unsigned frames = 0;
	uint64_t i;

	assert_int_equal(store_new(&f->config, count_commit, &frames, &f->store), 0);
	store_submit(f->store, first_batch(1, 1));
	for (i = 1; i <= 100; i++) {
		struct batch *b = must(batch_new());

		add_frame(b, 1, 0, i, (int64_t)i * 10, (int64_t)i * 10 + 10);
		store_submit(f->store, b);
	}
	store_flush(f->store);
	assert_int_equal(frames, 100);
}

/* 5,000 frames of 100 ticks with a chunk of two zones each, and two named streams at other paces.
 */
static void record_frames(struct fixture *f, uint64_t frames)
{
	uint64_t i;

	fixture_submit(f, first_batch(1, 1));
	for (i = 1; i <= frames; i++) {
		struct batch *b = must(batch_new());
		int64_t t1 = (int64_t)i * 100;

		add_zones(b, 1, 1, t1 - 100, t1, 2);
		add_frame(b, 1, 0, i, t1 - 100, t1);
		if (i % 2 == 0)
			add_frame(b, 1, 7, i / 2, t1 - 200, t1);
		PUSH(&b->frame_counters,
		     (struct frame_counter_row){.session = 1, .frame = i, .marker = 3});
		PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1, .frame = i, .track = 2});
		PUSH(&b->frame_gpus, (struct frame_gpu_row){.session = 1, .frame = i, .track = 2});
		PUSH(&b->gaps, (struct gap_row){1, 1, 0, t1 - 50, t1 - 40, 1});
		store_submit(f->store, b);
	}
	store_flush(f->store);
}

static void frames_keep_events_600_and_rows_3600(void **state)
{
	struct fixture *f = *state;
	struct history_session session;
	struct store_health health;

	fixture_open(f);
	record_frames(f, 5000);

	assert_int_equal(ask(f->history_db, "SELECT min(frame) FROM frames WHERE stream=0"), 1401);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames WHERE stream=0"), 3600);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks"), 600);
	assert_int_equal(ask(f->history_db, "SELECT min(t0) FROM chunks"), 440000);
	assert_int_equal(ask(f->history_db, "SELECT events_from FROM streams WHERE stream=0"),
			 4401);
	assert_int_equal(ask(f->history_db, "SELECT events_from FROM streams WHERE stream=7"),
			 2201);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frame_counters"), 600);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM gpu_spans"), 600);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frame_gpus"), 3600);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM gaps"), 600);
	assert_int_equal(history_session(f->history, 1, HISTORY_ANY_UID, &session), 0);
	assert_int_equal(session.frames_retained, 600);
	assert_int_equal(session.first_frame, 1401);
	assert_int_equal(session.last_frame, 5000);
	assert_int_equal(session.chunk_bytes,
			 ask(f->history_db, "SELECT sum(length(data)) FROM chunks"));
	history_session_deinit(&session);
	store_health(f->store, &health);
	assert_int_equal(health.evicted_frames, 4400);
	assert_int_equal(health.evicted_chunks, 4400);
	assert_sound(f->history_db);
}

static void history_frames_is_obeyed(void **state)
{
	struct fixture *f = *state;

	f->config.history_frames = 10;
	fixture_open(f);
	record_frames(f, 100);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks"), 10);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames WHERE stream=0"), 100);
}

/* What goes for a frame goes before it comes: its pages are used again at once. */
static void a_full_history_has_no_free_pages(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	const int64_t step = 100000000;
	uint64_t i;

	f->config.history_frames = 10;
	fixture_open(f);
	for (i = 1; i <= 30; i++) {
		add_many_zones(b, 1, 1, (int)i - 1);
		add_frame(b, 1, 0, i, ((int64_t)i - 1) * step, (int64_t)i * step);
		fixture_submit(f, b);
		b = must(batch_new());
	}
	batch_free(b);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks"), 10);
	/* a chunk has three pages and more */
	assert_in_range(ask(f->history_db, "PRAGMA freelist_count"), 0, 2);
}

/* The newest chunk of a living track stays however old, and goes when the track speaks again. */
static void a_silent_track_keeps_its_last_chunk(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m = maker_new(1, 2, 0, 5);
	uint64_t i;

	f->config.history_frames = 10;
	fixture_open(f);
	add_track(b, 1, 2, "loader");
	make_begin(m, 5, 2);
	make_chunk(m, b);
	fixture_submit(f, b);
	for (i = 1; i <= 100; i++) {
		b = must(batch_new());
		add_zones(b, 1, 1, (int64_t)i * 100, (int64_t)i * 100 + 100, 2);
		add_frame(b, 1, 0, i, (int64_t)i * 100, (int64_t)i * 100 + 100);
		fixture_submit(f, b);
	}
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks WHERE track=1"), 10);
	assert_int_equal(ask(f->history_db, "SELECT t0 FROM chunks WHERE track=2"), 5);

	b = must(batch_new());
	m = maker_new(1, 2, 0, 10050);
	make_carried(m, 2, 5);
	make_end(m, 10050);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks WHERE track=2"), 1);
	assert_int_equal(ask(f->history_db, "SELECT t0 FROM chunks WHERE track=2"), 10050);
	assert_sound(f->history_db);
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
	char name[160];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* What the directory uses, WAL and file, after every commit: the budget and one transaction's WAL
 * on top is the slack that is allowed. */
static void the_budget_holds_under_load(void **state)
{
	struct fixture *f = *state;
	const uint64_t budget = 8u << 20, slack = 1u << 20;
	struct store_health health;
	uint64_t most = 0;
	int i;

	f->config.history_mib = f->config.history_session_mib = 8;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (i = 0; i < 400; i++) {
		struct batch *b = must(batch_new());

		/* No frame mark at all: bytes alone bound it. */
		add_many_zones(b, 1, 1, i);
		fixture_submit(f, b);
		store_health(f->store, &health);
		assert_true(health.used_bytes <= budget + slack);
		most = MAX(most, file_bytes(f->history_db, "") + file_bytes(f->history_db, "-wal"));
	}
	assert_true(most <= budget + slack);
	assert_true(health.evicted_chunks > 100);
	assert_true(ask(f->history_db, "SELECT sum(length(data)) FROM chunks") > 5 << 20);
	assert_true(ask(f->history_db, "SELECT evicted_before_ticks FROM session_totals") >
		    100 * INT64_C(100000000));
	assert_sound(f->history_db);
}

static void one_session_has_its_own_bound(void **state)
{
	struct fixture *f = *state;
	int i;

	f->config.history_mib = 64;
	f->config.history_session_mib = 8;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, first_batch(2, 2));
	for (i = 0; i < 400; i++) {
		struct batch *b = must(batch_new());

		if (i == 0)
			add_zones(b, 2, 1, 0, 999999, 1000);
		add_many_zones(b, 1, 1, i);
		store_submit(f->store, b);
	}
	store_flush(f->store);
	assert_true(ask(f->history_db, "SELECT chunk_bytes FROM session_totals WHERE session=1") <=
		    8 << 20);
	assert_true(ask(f->history_db, "SELECT chunk_bytes FROM session_totals WHERE session=1") >
		    7 << 20);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks WHERE session=2"), 1);
}

static void end(struct batch *b, uint64_t session)
{
	PUSH(&b->updates, (struct session_update_row){.id = session,
						      .state = SESSION_ENDED,
						      .end_reason = must(strdup("exit")),
						      .end_ns = 5});
}

static void ended_sessions_go_first(void **state)
{
	struct fixture *f = *state;
	uint64_t id;
	int i;

	f->config.history_mib = f->config.history_session_mib = 8;
	fixture_open(f);
	for (id = 1; id <= 3; id++) {
		struct batch *b = first_batch(id, (int32_t)id);

		for (i = 0; i < 20; i++)
			add_many_zones(b, id, 1, i);
		if (id < 3)
			end(b, id);
		fixture_submit(f, b);
	}
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 3);
	for (i = 20; i < 170; i++) {
		struct batch *b = must(batch_new());

		add_many_zones(b, 3, 1, i);
		fixture_submit(f, b);
	}
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 1);
	assert_int_equal(ask(f->history_db, "SELECT min(id) FROM sessions"), 3);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM markers WHERE session < 3"), 0);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks WHERE session < 3"), 0);
	assert_sound(f->history_db);
}

static void at_most_64_ended_sessions_stay(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	fixture_open(f);
	for (id = 1; id <= 70; id++) {
		struct batch *b = first_batch(id, (int32_t)id);

		end(b, id);
		fixture_submit(f, b);
	}
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 64);
	assert_int_equal(ask(f->history_db, "SELECT min(id) FROM sessions"), 7);
}

/* The others' are short: 30 users with one each, then 70 of one user, of which one has a frame. */
static void one_users_short_sessions_push_out_no_other_users(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	fixture_open(f);
	for (id = 1; id <= 100; id++) {
		struct batch *b = first_batch(id, (int32_t)id);

		if (id > 30)
			b->sessions.at[0].uid = 4000;
		if (id == 31)
			add_frame(b, id, 0, 1, 0, 100);
		end(b, id);
		fixture_submit(f, b);
		if (id == 60) { /* what it knows of users must come back */
			fixture_close(f);
			fixture_open(f);
		}
	}
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 64);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions WHERE uid != 4000"), 30);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions WHERE id = 31"), 1);
	assert_int_equal(ask(f->history_db, "SELECT min(id) FROM sessions WHERE id > 31"), 68);
}

/* Rows for a session that nobody opened, or that was evicted, are refused and counted. */
static void rows_of_unknown_sessions_are_counted(void **state)
{
	struct fixture *f = *state;
	struct store_health health;
	struct batch *b = must(batch_new());

	fixture_open(f);
	add_zones(b, 99, 1, 0, 100, 3);
	add_frame(b, 99, 0, 1, 0, 100);
	fixture_submit(f, b);
	store_health(f->store, &health);
	assert_int_equal(health.events_dropped, 6);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM chunks"), 0);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), 0);
}

static void expect_no_resume(struct fixture *f, const struct store_process *process)
{
	struct store_resume *resume = NULL;

	assert_int_equal(store_find_resume(f->store, process, &resume), -ENOENT);
}

static void a_session_is_resumed_where_it_was(void **state)
{
	static const uint8_t stack[] = {1, 2, 20};
	const uint64_t image = UINT64_C(0xfedcba9876543210);
	struct store_process gone = {.pid = 55, .image_id = image, .boot_id = "boot"};
	struct fixture *f = *state;
	struct store_resume *resume = NULL;
	struct batch *b = first_batch(3, 55);

	fixture_open(f);
	PUSH(&b->memories, (struct memory_row){3, UINT64_C(0xaaaabbbbccccdddd), 1, 2, 8192});
	add_frame(b, 3, 0, 41, 0, 100);
	add_frame(b, 3, 0, 42, 100, 200);
	add_frame(b, 3, 2, 7, 0, 200);
	PUSH(&b->ledgers, (struct ledger_row){.session = 3,
					      .lane = 1,
					      .slot = 4,
					      .tail = 1234,
					      .base_ticks = UINT64_C(0xffffffff00000000),
					      .serial = 6,
					      .track = 1,
					      .fiber_track = 8,
					      .fiber = 9,
					      .fiber_seq = 10,
					      .produced = 100,
					      .received = 90,
					      .stored = 80,
					      .overwritten = 10,
					      .discarded = {1, 2, 3, 4, 0},
					      .stack = must(malloc(sizeof(stack))),
					      .stack_bytes = sizeof(stack)});
	memcpy(b->ledgers.at[0].stack, stack, sizeof(stack));
	PUSH(&b->updates, (struct session_update_row){.id = 3, .end_ns = -1, .produced = 100});
	fixture_submit(f, b);
	fixture_close(f);

	fixture_open(f);
	expect_no_resume(f,
			 &(struct store_process){
				 .pid = 56, .start = 4242, .image_id = image, .boot_id = "boot"});
	expect_no_resume(f, &(struct store_process){
				    .pid = 55, .start = 4242, .image_id = 1, .boot_id = "boot"});
	expect_no_resume(
		f, &(struct store_process){
			   .pid = 55, .start = 4242, .image_id = image, .boot_id = "another"});
	/* a process that is gone is known by its memory and its user */
	gone.uid = 1003;
	gone.memory_id = 1;
	expect_no_resume(f, &gone);
	gone.memory_id = UINT64_C(0xaaaabbbbccccdddd);
	gone.uid++;
	expect_no_resume(f, &gone);
	gone.uid--;
	assert_int_equal(store_find_resume(f->store, &gone, &resume), 0);
	assert_int_equal(resume->session, 3);
	assert_string_equal(resume->row.name, "game");
	assert_int_equal(resume->row.start_ticks, 1000000);
	assert_int_equal(resume->last.produced, 100);
	assert_int_equal(resume->next_track, 2);
	assert_int_equal(resume->memories.count, 1);
	assert_int_equal(resume->memories.at[0].memory_id, UINT64_C(0xaaaabbbbccccdddd));
	assert_int_equal(resume->markers.count, 4);
	assert_string_equal(resume->markers.at[1].name, "physics");
	assert_int_equal(resume->tracks.count, 1);
	assert_int_equal(resume->tracks.at[0].end_ticks, INT64_MAX);
	assert_int_equal(resume->streams.count, 2);
	assert_int_equal(resume->last_frames.count, 2);
	assert_int_equal(resume->last_frames.at[0].frame, 42);
	assert_int_equal(resume->last_frames.at[1].frame, 7);
	assert_int_equal(resume->ledgers.count, 1);
	assert_int_equal(resume->ledgers.at[0].base_ticks, UINT64_C(0xffffffff00000000));
	assert_int_equal(resume->ledgers.at[0].discarded[DISCARD_HOOK_MARK], 4);
	assert_int_equal(resume->ledgers.at[0].fiber_seq, 10);
	assert_int_equal(resume->ledgers.at[0].stack_bytes, sizeof(stack));
	assert_memory_equal(resume->ledgers.at[0].stack, stack, sizeof(stack));
	store_resume_free(resume);

	/* It is claimed now: neither found again nor ended as stale. */
	expect_no_resume(f, &gone);
	store_end_stale(f->store, 3, SESSION_ENDED, "unseen;");
	store_flush(f->store);
	assert_int_equal(ask(f->history_db, "SELECT state FROM session_totals"), SESSION_LIVE);
}

static void assert_ended(struct fixture *f, uint64_t id, enum session_state state,
			 const char *reason)
{
	struct history_session session;

	assert_int_equal(history_session(f->history, id, HISTORY_ANY_UID, &session), 0);
	assert_int_equal(session.row.state, state);
	if (reason)
		assert_string_equal(session.update.end_reason, reason);
	else
		assert_null(session.update.end_reason);
	history_session_deinit(&session);
}

/* What an earlier daemon left live: 1. 2 is this daemon's own. */
static void a_stale_session_ends_with_its_last_event(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, INT32_MAX);

	fixture_open(f);
	PUSH(&b->ledgers, (struct ledger_row){.session = 1, .base_ticks = 1000000 + 5000000});
	PUSH(&b->ledgers,
	     (struct ledger_row){.session = 1, .slot = 1, .base_ticks = 1000000 + 7000000});
	PUSH(&b->updates, (struct session_update_row){.id = 1, .end_ns = -1, .received = 17});
	fixture_submit(f, b);
	fixture_close(f);

	fixture_open(f);
	fixture_submit(f, first_batch(2, INT32_MAX));
	store_end_stale(f->store, 1, SESSION_ENDED, "unseen;");
	store_end_stale(f->store, 2, SESSION_ENDED, "unseen;");
	store_end_stale(f->store, 3, SESSION_ENDED, "unseen;");
	store_flush(f->store);
	assert_ended(f, 1, SESSION_ENDED, "unseen; events after 7 ms are missing");
	assert_int_equal(ask(f->history_db, "SELECT end_ns FROM session_totals WHERE session=1"),
			 7000000);
	assert_int_equal(ask(f->history_db, "SELECT end_unknown FROM session_totals "
					    "WHERE session=1"),
			 1);
	assert_int_equal(ask(f->history_db, "SELECT end_ticks FROM tracks WHERE session=1"),
			 7000000);
	assert_int_equal(ask(f->history_db, "SELECT received FROM session_totals WHERE session=1"),
			 17);
	assert_ended(f, 2, SESSION_LIVE, NULL);
}

static void session_ids_are_never_used_twice(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	fixture_open(f);
	for (id = 1; id <= 40; id++)
		assert_int_equal(store_next_session_id(f->store), id);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(store_next_session_id(f->store), 41);
	fixture_close(f);

	/* The history says more than the counter does. */
	fixture_open(f);
	fixture_submit(f, first_batch(500, 1));
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(store_next_session_id(f->store), 501);
	assert_int_equal(file_bytes(f->state_db, "") > 0, 1);
}

static void without_a_state_directory_ids_are_from_the_clock(void **state)
{
	struct fixture *f = *state;
	struct store_health health;
	uint64_t before = (uint64_t)time(NULL);
	uint64_t id;
	FILE *file;

	/* A file where the directory should be. */
	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state", f->dir);
	file = must(fopen(f->state_dir, "w"));
	fclose(file);
	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state/fprofd", f->dir);
	fixture_open(f);
	store_health(f->store, &health);
	assert_false(health.state_ok);
	assert_non_null(strstr(health.state_reason, "fprofd.db: "));
	id = store_next_session_id(f->store);
	assert_true(id >= before);
	fixture_submit(f, first_batch(id, 1));
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 1);

	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state", f->dir);
	assert_int_equal(unlink(f->state_dir), 0);
	store_retry(f->store);
	store_flush(f->store);
	store_health(f->store, &health);
	assert_true(health.state_ok);
	assert_string_equal(health.state_reason, "");
	assert_int_equal(store_next_session_id(f->store), id + 1);
}

static void the_state_directory_is_private(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	fixture_open(f);
	assert_int_equal(stat(f->state_dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_kind_of_row_is_stored, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(each_batch_is_announced_once, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(frames_keep_events_600_and_rows_3600, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(history_frames_is_obeyed, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_full_history_has_no_free_pages, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_silent_track_keeps_its_last_chunk, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(the_budget_holds_under_load, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(one_session_has_its_own_bound, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(ended_sessions_go_first, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(at_most_64_ended_sessions_stay, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(one_users_short_sessions_push_out_no_other_users,
						setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(rows_of_unknown_sessions_are_counted, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_session_is_resumed_where_it_was, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_stale_session_ends_with_its_last_event, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(session_ids_are_never_used_twice, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(without_a_state_directory_ids_are_from_the_clock,
						setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(the_state_directory_is_private, setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
