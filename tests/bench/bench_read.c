// SPDX-License-Identifier: MIT
/*
 * What reading a range costs: tree, table by name, statistics and a timeline of a history of
 * FRAMES frames with ZONES zones each, which is made here. So are a second one, of 60 frames a
 * second, in which the frame's thread and three others wake each other, SWITCHES times a second: of
 * that one what the scheduler did is read, too. Each line is the median of RUNS runs, in
 * ms of this thread's CPU time, which a busy machine does not stretch as it does the clock on the
 * wall. One more run before them warms up.
 */
#include "daemon/chunk_build.h"
#include "daemon/counted.h"
#include "daemon/critical_range.h"
#include "daemon/frame_stats.h"
#include "daemon/history.h"
#include "daemon/range.h"
#include "daemon/sched_log.h"
#include "daemon/store.h"
#include "daemon/timeline.h"
#include "daemon/util.h"
#include "daemon/zone_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FRAMES	 600
#define ZONES	 2000
#define SYSTEMS	 9  /* below the frame's zone */
#define GROUPS	 12 /* below each of them */
#define RUNS	 15
#define WORKERS	 3
#define SWITCHES 20000
#define TURNS	 (SWITCHES / 60 / 4) /* of a frame: two threads stop, and two go on */
#define HZ	 2100000000.0

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_read: %s: %s\n", what, strerror(-r));
	exit(1);
}

static uint32_t noise(void)
{
	static uint32_t seed = 1;

	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

/* --- the history ------------------------------------------------------------------------- */

static char *text(const char *format, unsigned n)
{
	char *s = NULL;

	must(asprintf(&s, format, n) < 0 ? -ENOMEM : 0, "names");
	return s;
}

static void add_names(struct batch *b, uint64_t id)
{
	struct session_row session = {.id = id,
				      .pid = 1,
				      .boot_id = strdup("boot"),
				      .name = strdup("bench"),
				      .clock_kind = 1,
				      .clock_hz = HZ,
				      .start_utc_ns = 1,
				      .abi_major = 1};
	struct fprof_clock_rate rate;
	unsigned i;

	fprof_clock_rate_set(&rate, HZ);
	session.clock_mult = rate.mult;
	session.clock_shift = rate.shift;
	must(VEC_PUSH(&b->sessions, session), "session");
	for (i = 1; i <= 1 + WORKERS; i++)
		must(VEC_PUSH(&b->tracks, ((struct track_row){.session = id,
							      .track = i,
							      .tid = (int32_t)i,
							      .name = text("thread %u", i),
							      .end_ticks = INT64_MAX})),
		     "track");
	must(VEC_PUSH(&b->streams,
		      ((struct stream_row){.session = id, .name = strdup("main"), .track = 1})),
	     "stream");
	for (i = 1; i <= 400; i++)
		must(VEC_PUSH(&b->markers,
			      ((struct marker_row){
				      .session = id, .marker = i, .name = text("zone %u", i)})),
		     "marker");
}

struct writer {
	uint64_t session;
	struct chunk_builder b;
	int64_t t;
	unsigned zones;
	unsigned slower; /* so many times */
	struct sched_log logs[1 + WORKERS];
};

/* Gaps of 100 to 1000 ticks, as a game with many small zones has. */
static void event(struct writer *w, uint32_t code)
{
	w->t += (100 + noise() % 900) * w->slower;
	must(chunk_build_room(&w->b, 1, 16), "chunk");
	chunk_build_event(&w->b, w->t, code);
}

static void begin(struct writer *w, uint32_t marker)
{
	event(w, CHUNK_BEGIN + marker);
	w->zones++;
}

static void write_frame(struct writer *w)
{
	unsigned s, g, leaf;

	w->zones = 0;
	begin(w, 1);
	for (s = 0; s < SYSTEMS; s++) {
		begin(w, 2 + s);
		for (g = 0; g < GROUPS; g++) {
			begin(w, 20 + s * GROUPS + g);
			for (leaf = 0; leaf < 18 && w->zones < ZONES; leaf++) {
				begin(w, 150 + (g * 3 + leaf) % 40);
				event(w, CHUNK_END);
			}
			event(w, CHUNK_END);
		}
		event(w, CHUNK_END);
	}
	while (w->zones < ZONES) {
		begin(w, 200);
		event(w, CHUNK_END);
	}
	event(w, CHUNK_END);
}

static void switched(struct writer *w, unsigned thread, enum sched_kind kind, int64_t t,
		     unsigned waker)
{
	const struct sched_record r = {.kind = kind,
				       .t = t,
				       .cpu = thread % 2,
				       .reason = WAIT_LOCK,
				       .who = {.tid = waker + 1, .tgid = 1, .comm = "thread"}};

	must(sched_log_put(&w->logs[thread], &r), "scheduler");
}

/* The frame's thread hands over to one after the other, and waits for it. */
static void add_turns(struct writer *w, int64_t t0, int64_t t1)
{
	int64_t step = (t1 - t0) / TURNS, t = t0;
	unsigned i;

	for (i = 0; i < TURNS; i++, t += step) {
		unsigned other = 1 + i % WORKERS;

		switched(w, 0, SCHED_RUN, t, 0);
		switched(w, other, SCHED_WAKE, t + step / 3, 0);
		switched(w, 0, SCHED_BLOCK, t + step / 3 + 500, 0);
		switched(w, other, SCHED_RUN, t + step / 3 + 5000, 0);
		switched(w, 0, SCHED_WAKE, t + step - 6000, other);
		switched(w, other, SCHED_BLOCK, t + step - 5000, 0);
	}
}

static void add_logs(struct batch *b, struct writer *w)
{
	struct sched_chunk chunk;
	unsigned i;

	for (i = 0; i < 1 + WORKERS && w->slower > 1; i++) {
		sched_log_take(&w->logs[i], &chunk);
		must(VEC_PUSH(&b->scheds, ((struct sched_row){.session = w->session,
							      .tid = (int32_t)i + 1,
							      .t0 = chunk.t0,
							      .t1 = chunk.t1,
							      .records = chunk.records,
							      .data = chunk.data,
							      .bytes = (uint32_t)chunk.bytes})),
		     "scheduler");
	}
}

static void add_frame(struct batch *b, struct writer *w, uint64_t n, const struct range *clock)
{
	struct chunk_row chunk = {.session = w->session, .track = 1, .t0 = w->t};
	struct frame_row frame = {.session = w->session,
				  .frame = n,
				  .engine_id = -1,
				  .t0 = w->t,
				  .wait_gpu_ns = NS_UNKNOWN,
				  .wait_present_ns = NS_UNKNOWN,
				  .wait_cap_ns = NS_UNKNOWN,
				  .track = 1};

	chunk_build_start(&w->b, w->t, NULL, 0);
	write_frame(w);
	chunk.t1 = w->b.last;
	chunk.events = w->b.events;
	must(chunk_build_finish(&w->b, &chunk.data, &chunk.bytes), "chunk");
	must(VEC_PUSH(&b->chunks, chunk), "chunk");
	w->t++;
	frame.t1 = w->t;
	frame.events = 2 * ZONES;
	frame.begin_ns = range_ns(clock, frame.t0);
	frame.end_ns = range_ns(clock, frame.t1);
	frame.cpu_ns = frame.end_ns - frame.begin_ns;
	must(VEC_PUSH(&b->frames, frame), "frame");
	if (w->slower > 1)
		add_turns(w, frame.t0, frame.t1);
}

static void fill(struct store *store, uint64_t session, unsigned slower)
{
	struct batch *b = batch_new();
	struct writer w = {.session = session, .slower = slower};
	struct range clock = {0};
	uint64_t n;

	fprof_clock_rate_set(&clock.rate, HZ);
	chunk_build_init(&w.b);
	must(b ? 0 : -ENOMEM, "batch");
	add_names(b, session);
	for (n = 1; n <= FRAMES; n++) {
		add_frame(b, &w, n, &clock);
		if (n % 20 != 0)
			continue;
		add_logs(b, &w);
		store_submit(store, b);
		b = batch_new();
		must(b ? 0 : -ENOMEM, "batch");
	}
	store_submit(store, b);
	store_flush(store);
	chunk_build_deinit(&w.b);
}

/* --- what is measured -------------------------------------------------------------------- */

static struct history *history;

static uint64_t session = 1; /* which one is read */

static void open_range(uint64_t from, uint64_t to, struct range *range)
{
	const struct range_query query = {.from = from, .to = to};

	must(range_open(history, session, &query, range), "range");
}

static int skip_end(void *userdata, const struct range_zone *zone)
{
	*(uint64_t *)userdata += zone->depth;
	return 0;
}

/* Nothing but the visit. */
static size_t run_visit(void)
{
	uint64_t sum = 0;
	const struct range_visitor visitor = {.userdata = &sum, .end = skip_end};
	struct range range;

	open_range(1, FRAMES, &range);
	must(range_visit(history, &range, &visitor), "visit");
	range_close(&range);
	return sum != 0;
}

static size_t run_table(const struct zone_table_query *query)
{
	struct range range;
	struct zone_tree tree;
	zone_rows rows = {0};
	size_t count;

	open_range(1, FRAMES, &range);
	must(zone_tree_read(history, &range, NULL, 0, &tree), "tree");
	must(zone_table_make(&tree, query, &rows), "table");
	count = rows.count;
	VEC_FREE(&rows);
	zone_tree_deinit(&tree);
	range_close(&range);
	return count;
}

static size_t run_tree(void)
{
	return run_table(&(struct zone_table_query){.view = ZONE_VIEW_TREE});
}

static size_t run_flat(void)
{
	return run_table(&(struct zone_table_query){.view = ZONE_VIEW_FLAT});
}

static size_t run_stats(void)
{
	frame_samples samples = {0};
	struct frame_stats_over over;
	struct frame_stats stats;
	struct counted counted;
	struct range range;
	size_t i;

	open_range(1, FRAMES, &range);
	must(counted_init(&counted, &range, 0), "frames");
	for (i = 0; i < counted.frames.count; i++) {
		const struct frame_row *row = &range.frames.frames.at[i].row;
		double wall = (double)(row->end_ns - row->begin_ns);

		must(VEC_PUSH(&samples, ((struct frame_sample){row->frame, wall, wall})),
		     "samples");
	}
	must(frame_stats_make(&samples, &stats), "statistics");
	frame_stats_over(&samples, 16.7e6, &over);
	VEC_FREE(&samples);
	counted_deinit(&counted);
	range_close(&range);
	return stats.count;
}

static size_t run_zone_stats(void)
{
	struct frame_stats_zone zone = {.name = "zone 160"};
	struct frame_stats stats;
	struct counted counted;
	struct range range;

	open_range(1, FRAMES, &range);
	must(counted_init(&counted, &range, COUNTED_EVENTS), "frames");
	must(frame_stats_zones(history, &counted, NULL, &zone, 1), "zone");
	must(frame_stats_make(&zone.samples, &stats), "statistics");
	VEC_FREE(&zone.samples);
	counted_deinit(&counted);
	range_close(&range);
	return zone.frames;
}

static size_t run_timeline_of(uint64_t from, uint64_t to)
{
	struct timeline timeline;
	struct range range;
	size_t count;

	open_range(from, to, &range);
	must(timeline_read(history, &range, NULL, 0, 20000, &timeline), "timeline");
	count = timeline.items.count;
	timeline_deinit(&timeline);
	range_close(&range);
	return count;
}

static size_t run_one_frame(void)
{
	return run_timeline_of(300, 300);
}

static size_t run_timeline(void)
{
	return run_timeline_of(1, FRAMES);
}

static size_t run_path_of(uint64_t from, uint64_t to, bool pieces)
{
	struct critical critical;
	struct range range;
	size_t count;

	open_range(from, to, &range);
	must(critical_read(history, &range, 0, pieces, &critical), "critical path");
	count = pieces ? critical.pieces.count : critical.rows.count;
	critical_deinit(&critical);
	range_close(&range);
	return count;
}

static size_t run_path(void)
{
	return run_path_of(1, FRAMES, false);
}

static size_t run_path_of_frame(void)
{
	return run_path_of(300, 300, true);
}

/* What the path is walked over, without any zone. */
static size_t run_sched(void)
{
	struct path_threads threads;
	struct counted counted;
	struct range range;
	size_t count = 0, i;

	open_range(1, FRAMES, &range);
	must(counted_init(&counted, &range, 0), "frames");
	must(critical_threads_read(history, &counted, &threads), "scheduler");
	for (i = 0; i < threads.at.count; i++)
		count += threads.at.at[i].sched.count;
	critical_threads_deinit(&threads);
	counted_deinit(&counted);
	range_close(&range);
	return count;
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct measured {
	const char *name;
	size_t (*run)(void);
	const char *bound;
	size_t rows;
	double ms[RUNS];
};

/* In turns, so that a machine that is slow for a while is so for all. */
static void measure(struct measured *all, size_t count)
{
	double start;
	size_t i, j;

	for (j = 0; j < count; j++)
		all[j].rows = all[j].run();
	for (i = 0; i < RUNS; i++)
		for (j = 0; j < count; j++) {
			start = cpu_ms();
			all[j].run();
			all[j].ms[i] = cpu_ms() - start;
		}
	for (j = 0; j < count; j++) {
		double *ms = all[j].ms;

		qsort(ms, RUNS, sizeof(ms[0]), by_value);
		printf("%-28s %8.2f ms (%.2f to %.2f)%s  %zu rows\n", all[j].name, ms[RUNS / 2],
		       ms[0], ms[RUNS - 1], all[j].bound, all[j].rows);
	}
}

int main(int argc, char **argv)
{
	struct config config = {
		.history_frames = FRAMES + 100, .history_mib = 256, .history_session_mib = 128};
	struct measured reads[] = {
		{.name = "visit alone", .run = run_visit, .bound = ""},
		{.name = "tree", .run = run_tree, .bound = ", at most 60"},
		{.name = "flat", .run = run_flat, .bound = ", at most 60"},
		{.name = "stats of wall", .run = run_stats, .bound = ", at most 20"},
		{.name = "stats of a zone", .run = run_zone_stats, .bound = ", at most 20"},
		{.name = "timeline of one frame", .run = run_one_frame, .bound = ", at most 10"},
		{.name = "timeline of all", .run = run_timeline, .bound = ""},
	};
	struct measured with_scheduler[] = {
		{.name = "what the scheduler did", .run = run_sched, .bound = ""},
		{.name = "critical path of all", .run = run_path, .bound = ", at most 100"},
		{.name = "critical path of one frame", .run = run_path_of_frame, .bound = ""},
		{.name = "tree", .run = run_tree, .bound = ""},
	};
	struct store *store;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_read DIRECTORY\n");
		return 2;
	}
	must(asprintf(&config.history_dir, "%s/read", argv[1]) < 0 ? -ENOMEM : 0, "directory");
	must(asprintf(&config.state_dir, "%s/read-state", argv[1]) < 0 ? -ENOMEM : 0, "directory");
	must(store_new(&config, NULL, NULL, &store), "store");
	must(history_open(store, &history), "history");
	fill(store, 1, 1);
	fill(store, 2, 16);
	printf("%d frames of %d zones; CPU time, median of %d\n", FRAMES, ZONES, RUNS);
	measure(reads, ARRAY_SIZE(reads));
	session = 2;
	printf("with %d switches a second, %d frames of 1/60 s\n", SWITCHES, FRAMES);
	measure(with_scheduler, ARRAY_SIZE(with_scheduler));
	history_close(history);
	store_free(store);
	free(config.history_dir);
	free(config.state_dir);
	return 0;
}
