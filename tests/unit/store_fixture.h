/* SPDX-License-Identifier: MIT */
/*
 * What the tests of store and history share: a store in a directory of its own, sessions and chunks
 * made by hand. One tick is one ns unless a test says otherwise.
 */
#ifndef FPROF_TESTS_STORE_FIXTURE_H
#define FPROF_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/batch.h"
#include "daemon/chunk.h"
#include "daemon/chunk_build.h"
#include "daemon/config.h"
#include "daemon/history.h"
#include "daemon/sched_log.h"
#include "daemon/sql.h"
#include "daemon/store.h"
#include "daemon/util.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

struct fixture {
	char dir[64], history_dir[96], state_dir[96], history_db[128], state_db[128];
	struct config config;
	struct store *store;
	struct history *history;
};

static UNUSED void *must(void *p)
{
	assert_non_null(p);
	return p;
}

/* Pushes into a batch's member; a test has no use for -ENOMEM. */
#define PUSH(v, ...) assert_int_equal(VEC_PUSH((v), ((__VA_ARGS__))), 0)

static UNUSED void fixture_paths(struct fixture *f, const char *dir)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->dir, sizeof(f->dir), "%s", dir);
	snprintf(f->history_dir, sizeof(f->history_dir), "%s/run", dir);
	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state/fprofd", dir);
	snprintf(f->history_db, sizeof(f->history_db), "%s/history.db", f->history_dir);
	snprintf(f->state_db, sizeof(f->state_db), "%s/fprofd.db", f->state_dir);
	f->config.history_dir = f->history_dir;
	f->config.state_dir = f->state_dir;
	f->config.history_frames = 600;
	f->config.history_mib = f->config.history_session_mib = 128;
}

static UNUSED void fixture_init(struct fixture *f)
{
	const char *place = getenv("TMPDIR");
	char dir[256];

	/* The durable database syncs, which takes long on a disk: tests/run.sh's TMPDIR is a tmpfs.
	 */
	snprintf(dir, sizeof(dir), "%s/fprof-store-XXXXXX",
		 place			     ? place
		 : !access("/dev/shm", W_OK) ? "/dev/shm"
					     : "/tmp");
	fixture_paths(f, must(mkdtemp(dir)));
}

static UNUSED void fixture_open(struct fixture *f)
{
	assert_int_equal(store_new(&f->config, NULL, NULL, &f->store), 0);
	assert_int_equal(history_open(f->store, &f->history), 0);
}

static UNUSED void fixture_close(struct fixture *f)
{
	history_close(f->history);
	store_free(f->store);
	f->history = NULL;
	f->store = NULL;
}

static UNUSED int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static UNUSED void fixture_deinit(struct fixture *f)
{
	fixture_close(f);
	nftw(f->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static UNUSED int fixture_setup(void **state)
{
	struct fixture *f = must(calloc(1, sizeof(*f)));

	fixture_init(f);
	fixture_open(f);
	*state = f;
	return 0;
}

static UNUSED int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	fixture_deinit(f);
	free(f);
	return 0;
}

static UNUSED void fixture_submit(struct fixture *f, struct batch *b)
{
	store_submit(f->store, b);
	store_flush(f->store);
}

static UNUSED void add_session(struct batch *b, uint64_t id, int32_t pid)
{
	struct session_row row = {
		.id = id,
		.pid = pid,
		.ns_pid = 7,
		.uid = 1000 + (uint32_t)id,
		.process_start = 4242,
		.image_id = UINT64_C(0xfedcba9876543210),
		.boot_id = must(strdup("boot")),
		.name = must(strdup("game")),
		.exe = must(strdup("/usr/games/game")),
		.facts_json = must(strdup("{\"argv\": [\"game\"]}")),
		.clock_kind = 1,
		.clock_hz = 1e9,
		.clock_mult = 1,
		.clock_shift = 0,
		.start_ticks = 1000000,
		.start_utc_ns = UINT64_C(1790000000000000000),
		.abi_major = 1,
		.library_version = 256,
	};

	PUSH(&b->sessions, row);
}

static UNUSED void add_track(struct batch *b, uint64_t session, uint32_t track, const char *name)
{
	PUSH(&b->tracks, (struct track_row){.session = session,
					    .track = track,
					    .kind = TRACK_THREAD,
					    .tid = 100 + (int32_t)track,
					    .name = must(strdup(name)),
					    .end_ticks = INT64_MAX});
}

static UNUSED void add_marker(struct batch *b, uint64_t session, uint32_t marker, const char *name)
{
	PUSH(&b->markers, (struct marker_row){.session = session,
					      .marker = marker,
					      .line = 10 + marker,
					      .name = must(strdup(name)),
					      .category = must(strdup("test")),
					      .file = must(strdup("game.c"))});
}

static UNUSED void add_stream(struct batch *b, uint64_t session, uint32_t stream, const char *name)
{
	PUSH(&b->streams,
	     (struct stream_row){
		     .session = session, .stream = stream, .name = must(strdup(name)), .track = 1});
}

/* Frame n of a stream: [t0, t1) ticks. */
static UNUSED void add_frame(struct batch *b, uint64_t session, uint32_t stream, uint64_t n,
			     int64_t t0, int64_t t1)
{
	PUSH(&b->frames, (struct frame_row){.session = session,
					    .stream = stream,
					    .frame = n,
					    .engine_id = -1,
					    .t0 = t0,
					    .t1 = t1,
					    .begin_ns = t0,
					    .end_ns = t1,
					    .cpu_ns = t1 - t0,
					    .wait_gpu_ns = NS_UNKNOWN,
					    .wait_present_ns = NS_UNKNOWN,
					    .wait_cap_ns = NS_UNKNOWN,
					    .flags = n == 1 ? FRAME_STARTUP : 0,
					    .track = 1});
}

/* A chunk being made: an event by its code and time; see chunk.h for arguments. */
struct maker {
	struct chunk_builder builder;
	struct chunk_open carried[4];
	uint64_t session;
	uint32_t track, lane;
};

static UNUSED struct maker *maker_new(uint64_t session, uint32_t track, uint32_t lane, int64_t t0)
{
	struct maker *m = must(calloc(1, sizeof(*m)));

	m->session = session;
	m->track = track;
	m->lane = lane;
	chunk_build_init(&m->builder);
	chunk_build_start(&m->builder, t0, NULL, 0);
	return m;
}

/* Before the first event. */
static UNUSED void make_carried(struct maker *m, uint32_t marker, int64_t begin)
{
	uint32_t depth = m->builder.depth_in;

	m->carried[depth] = (struct chunk_open){marker, begin};
	chunk_build_start(&m->builder, m->builder.t0, m->carried, depth + 1);
	assert_int_equal(m->builder.depth_in, depth + 1);
}

static UNUSED void make_event(struct maker *m, int64_t t, uint32_t code)
{
	assert_int_equal(chunk_build_room(&m->builder, 1, 64), 0);
	chunk_build_event(&m->builder, t, code);
}

static UNUSED void make_begin(struct maker *m, int64_t t, uint32_t marker)
{
	make_event(m, t, CHUNK_BEGIN + marker);
}

static UNUSED void make_end(struct maker *m, int64_t t)
{
	make_event(m, t, CHUNK_END);
}

/* A code with one varint of payload. */
static UNUSED void make_with(struct maker *m, int64_t t, uint32_t code, uint64_t argument)
{
	make_event(m, t, code);
	chunk_build_varint(&m->builder, argument);
}

static UNUSED void make_text(struct maker *m, int64_t t, const char *text)
{
	make_with(m, t, CHUNK_TEXT, strlen(text));
	assert_int_equal(chunk_build_room(&m->builder, 0, strlen(text)), 0);
	chunk_build_raw(&m->builder, text, strlen(text));
}

static UNUSED void make_message(struct maker *m, int64_t t, uint32_t marker, uint32_t colour,
				const char *text)
{
	make_with(m, t, CHUNK_MESSAGE, marker);
	chunk_build_varint(&m->builder, colour);
	chunk_build_varint(&m->builder, strlen(text));
	assert_int_equal(chunk_build_room(&m->builder, 0, strlen(text)), 0);
	chunk_build_raw(&m->builder, text, strlen(text));
}

/* Ends it as a row of the batch; frees the maker. */
static UNUSED struct chunk_row *make_chunk(struct maker *m, struct batch *b)
{
	struct chunk_row row = {.session = m->session,
				.track = m->track,
				.lane = m->lane,
				.t0 = m->builder.t0,
				.t1 = m->builder.last,
				.events = m->builder.events,
				.depth_in = m->builder.depth_in};

	assert_int_equal(chunk_build_finish(&m->builder, &row.data, &row.bytes), 0);
	chunk_build_deinit(&m->builder);
	free(m);
	PUSH(&b->chunks, row);
	b->bytes += row.bytes;
	return &b->chunks.at[b->chunks.count - 1];
}

/* zones leaf zones within [t0, t1), not well compressible. */
static UNUSED void add_zones(struct batch *b, uint64_t session, uint32_t track, int64_t t0,
			     int64_t t1, unsigned zones)
{
	struct maker *m = maker_new(session, track, 0, t0);
	int64_t step = zones > 0 ? (t1 - t0) / zones : 0;
	static uint32_t noise = 1;
	unsigned i;

	for (i = 0; i < zones; i++) {
		noise = noise * 1664525u + 1013904223u;
		make_begin(m, t0 + i * step, 1 + noise % 50);
		make_end(m, t0 + i * step + step / 2 + (int64_t)(noise >> 16) % (step / 4 + 1));
	}
	make_chunk(m, b);
}

/* 10,000 zones in the i-th stretch of time: some 50 KB as stored. */
static UNUSED void add_many_zones(struct batch *b, uint64_t session, uint32_t track, int i)
{
	add_zones(b, session, track, i * INT64_C(100000000), (i + 1) * INT64_C(100000000) - 1,
		  10000);
}

static UNUSED uint32_t noise(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A random walk of zones on a lane of session 1 from 0 on: so many events, up to step - 1 ticks
 * apart, and a new chunk at every cut-th of them or so. */
struct walk {
	unsigned events, step, cut;
};
static UNUSED void add_walk(struct batch *b, uint32_t track, uint32_t lane, const struct walk *walk,
			    uint32_t *seed)
{
	struct chunk_open open[4];
	struct maker *m = maker_new(1, track, lane, 0);
	unsigned depth = 0, i, k;
	int64_t t = 0;

	for (i = 0; i < walk->events; i++) {
		t += noise(seed) % walk->step;
		if (m->builder.events > 0 && noise(seed) % walk->cut == 0) {
			make_chunk(m, b);
			m = maker_new(1, track, lane, t);
			for (k = 0; k < depth; k++)
				make_carried(m, open[k].marker, open[k].begin);
		}
		if (depth < 4 && noise(seed) % 2) {
			open[depth] = (struct chunk_open){1 + noise(seed) % 4, t};
			make_begin(m, t, open[depth++].marker);
		} else if (depth > 0) {
			depth--;
			make_end(m, t);
		}
	}
	if (m->builder.events == 0)
		make_with(m, t, CHUNK_INSTANT, 1);
	make_chunk(m, b);
}

/* A session with a track, a main stream and the names of markers 1..4. */
static UNUSED struct batch *first_batch(uint64_t session, int32_t pid)
{
	struct batch *b = must(batch_new());

	add_session(b, session, pid);
	add_track(b, session, 1, "main");
	add_stream(b, session, 0, "main");
	add_marker(b, session, 1, "update");
	add_marker(b, session, 2, "physics");
	add_marker(b, session, 3, "render");
	add_marker(b, session, 4, "note");
	return b;
}

/* Answers one integer from a database file, opened for it. */
static UNUSED int64_t ask(const char *path, const char *sql)
{
	int64_t value = INT64_MIN;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
			 SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_true(sql_int(db, sql, &value) >= 0);
	sqlite3_close(db);
	return value;
}

static UNUSED void assert_sound(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sql_prepare(db, "PRAGMA integrity_check", &stmt), 0);
	assert_int_equal(sql_step(stmt), 1);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* What the scheduler did with a thread of session 1: from the time of each record on it is so. */
static UNUSED void add_schedule(struct batch *b, int32_t tid, const struct sched_record *records,
				size_t count)
{
	struct sched_chunk chunk;
	struct sched_log log;
	size_t i;

	sched_log_init(&log);
	for (i = 0; i < count; i++)
		assert_int_equal(sched_log_put(&log, &records[i]), 0);
	sched_log_take(&log, &chunk);
	PUSH(&b->scheds, (struct sched_row){.session = 1,
					    .tid = tid,
					    .t0 = chunk.t0,
					    .t1 = chunk.t1,
					    .records = chunk.records,
					    .data = chunk.data,
					    .bytes = (uint32_t)chunk.bytes});
	sched_log_deinit(&log);
}

#endif
