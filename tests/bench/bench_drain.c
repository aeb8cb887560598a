/* SPDX-License-Identifier: MIT */
/*
 * How many zones a second one core takes from rings into the database, and where the time goes.
 *
 * Rings in memory are filled by the recording path's own writer (not timed), then swept as the
 * daemon does. Stages: copy (ring to buffer), parse (words to columns, copy included), pack (LZ4),
 * all (the drain and the store's thread together, CPU time of both, into a real database in DIR).
 * Each is the median of SAMPLES, with the least and the most. In the store "pack" is what the stage
 * by itself took; the rest of its thread's CPU time is SQLite's.
 * Usage: bench_drain [DIR]
 */
#include "daemon/live.h"
#include "daemon/store.h"
#include "shm/atomic.h"
#include "shm/writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define START	   UINT64_C(1000000)
#define HZ	   2.1e9
#define THREADS	   4u
#define MARKERS	   64u
#define RING_WORDS (128u * 1024)
#define STRINGS	   4096u
#define SAMPLES	   11
#define FILLS	   5 /* of the rings, in a sample */

/* How a game's time looks. */
struct profile {
	const char *name;
	double gap_ticks;     /* mean between two events */
	double spread;	      /* uniform in gap * (1 +- spread); < 0: exponential */
	unsigned frame_zones; /* zones a thread has in a frame */
};

static const struct profile profiles[] = {
	{"gaps of 20-100 ns", 126, 0.67, 20000},
	{"gaps of 100-1000 ticks", 550, 0.82, 5000},
	{"60 fps, 4 threads, 2,000 zones a frame", 35000, -1, 500},
	{"60 fps, 4 threads, about 500 events a frame", 140000, -1, 57},
};

/* One number of each sample. */
struct samples {
	double at[SAMPLES];
	unsigned count;
};

struct game {
	uint8_t *base;
	struct fprof_memory_header *head;
	struct fprof_writer w[THREADS];
	uint64_t now[THREADS], marks, zones;
	unsigned pattern[THREADS];
	uint64_t next_frame;
};

static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double draw_unit(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

static uint64_t gap(const struct profile *p)
{
	double u = draw_unit();

	if (p->spread < 0)
		return (uint64_t)(-log(1 - u) * p->gap_ticks);
	return (uint64_t)(p->gap_ticks * (1 - p->spread + 2 * p->spread * u));
}

static double seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct samples *s)
{
	qsort(s->at, s->count, sizeof(s->at[0]), compare);
	return s->at[s->count / 2];
}

static void print_rates(const char *name, struct samples *s)
{
	double m = median(s);

	printf("  %-5s %7.1f M zones/s (%.1f to %.1f)\n", name, m, s->at[0], s->at[s->count - 1]);
}

static void layout(struct fprof_memory_header *h)
{
	h->abi_major = FPROF_ABI_MAJOR;
	h->header_bytes = sizeof(*h);
	h->slot_count = THREADS;
	h->slot_bytes = sizeof(struct fprof_slot);
	h->slots_offset = 4096;
	h->marker_capacity = MARKERS;
	h->marker_bytes = sizeof(struct fprof_marker_entry);
	h->markers_offset = 8192;
	h->strings_offset = 16384;
	h->strings_bytes = STRINGS;
	h->ring_words = RING_WORDS;
	h->rings_offset = 20480;
	h->total_bytes = h->rings_offset + (uint64_t)THREADS * RING_WORDS * 8;
	h->clock_kind = FPROF_CLOCK_TSC;
	h->origin = FPROF_ORIGIN_GAME;
	h->start_ticks = START;
	h->slots_used = THREADS;
	h->memory_id = 1;
}

static void make_markers(struct game *g)
{
	struct fprof_marker_entry *e =
		(struct fprof_marker_entry *)(g->base + g->head->markers_offset);
	char *strings = (char *)g->base + g->head->strings_offset;
	unsigned i;

	for (i = 0; i < MARKERS; i++) {
		e[i].name_offset = i * 16;
		e[i].name_bytes = (uint16_t)snprintf(strings + i * 16, 16, "zone %u", i);
		e[i].ready = 1;
	}
}

static void put_thread(struct game *g, unsigned i)
{
	uint64_t words[3];

	g->w[i].slot = (struct fprof_slot *)(g->base + g->head->slots_offset) + i;
	g->w[i].ring = (uint64_t *)(g->base + g->head->rings_offset) + (size_t)i * RING_WORDS;
	g->w[i].mask = RING_WORDS - 1;
	g->w[i].serial = i + 1;
	g->w[i].slot->tid = (int32_t)(100 + i);
	g->w[i].slot->serial = i + 1;
	words[0] = FPROF_EXT_TOP(FPROF_EXT_THREAD, 3) | START;
	words[1] = (100 + i) | (uint64_t)(i + 1) << 32;
	words[2] = START;
	fprof_writer_put(&g->w[i], words, 3, START);
	g->now[i] = START;
}

static struct memory *make_game(struct game *g)
{
	struct fprof_memory_header head = {0};
	struct memory *memory = calloc(1, sizeof(*memory));
	unsigned i;

	memset(g, 0, sizeof(*g));
	layout(&head);
	g->base = mmap(NULL, head.total_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	assert(memory && g->base != MAP_FAILED);
	g->head = (struct fprof_memory_header *)g->base;
	*g->head = head;
	g->head->magic = FPROF_MEMORY_MAGIC;
	make_markers(g);
	for (i = 0; i < THREADS; i++)
		put_thread(g, i);
	i = (unsigned)memory_view_init(g->base, head.total_bytes, &memory->view, NULL);
	assert(i == 0);
	memory->memory_id = 1;
	memory->origin = FPROF_ORIGIN_GAME;
	return memory;
}

static void put_word(struct game *g, unsigned i, const struct profile *p, unsigned kind,
		     unsigned id)
{
	uint64_t word;

	g->now[i] += gap(p);
	word = FPROF_WORD_TOP(kind, id) | (g->now[i] & FPROF_TIME_MASK);
	fprof_writer_put(&g->w[i], &word, 1, g->now[i]);
}

/* One pass through a thread's call tree: a system with some parts, as engines have. */
static unsigned put_system(struct game *g, unsigned i, const struct profile *p)
{
	unsigned system = g->pattern[i]++ % 12, parts = 2 + system % 5 + (draw() % 8 == 0), j;
	unsigned base = 1 + i * 16;

	put_word(g, i, p, FPROF_WORD_BEGIN, base);
	for (j = 0; j < parts; j++) {
		unsigned id = base + 1 + (system + j) % 14;

		put_word(g, i, p, FPROF_WORD_BEGIN, id);
		if (j % 3 == 0) {
			put_word(g, i, p, FPROF_WORD_BEGIN, base + 15);
			put_word(g, i, p, FPROF_WORD_END, base + 15);
			g->zones++;
		}
		put_word(g, i, p, FPROF_WORD_END, id);
	}
	put_word(g, i, p, FPROF_WORD_END, base);
	g->zones += parts + 1;
	return parts + 1;
}

/* One frame on every thread, then its mark on the first. */
static void put_frame(struct game *g, const struct profile *p)
{
	uint64_t words[4], end = 0;
	unsigned i, zones;

	for (i = 0; i < THREADS; i++) {
		for (zones = 0; zones < p->frame_zones;)
			zones += put_system(g, i, p);
		end = MAX(end, g->now[i]);
	}
	words[0] = FPROF_EXT_TOP(FPROF_EXT_MARK, 4) | (end & FPROF_TIME_MASK);
	words[1] = (uint64_t)FPROF_ORIGIN_GAME << 32;
	words[2] = ++g->marks;
	words[3] = UINT64_MAX;
	fprof_writer_put(&g->w[0], words, 4, end);
	for (i = 0; i < THREADS; i++)
		g->now[i] = end;
}

/* Frames until the rings are about three quarters full. */
static void fill(struct game *g, const struct profile *p)
{
	uint64_t from = FPROF_LOAD_RELAXED(&g->w[0].slot->head);
	uint64_t room = RING_WORDS * 3 / 4;

	do
		put_frame(g, p);
	while (g->w[0].slot->head - from + p->frame_zones * 5 < room);
}

static struct live *make_session(struct memory *memory, uint64_t id, struct batch *batch)
{
	struct session_row row = {.id = id, .clock_kind = FPROF_CLOCK_TSC, .start_ticks = START};
	struct fprof_clock_rate rate;
	struct live *s;
	int r;

	fprof_clock_rate_set(&rate, HZ);
	row.clock_hz = rate.hz;
	row.clock_mult = rate.mult;
	row.clock_shift = rate.shift;
	r = live_new(&row, NULL, NULL, 4096, batch, &s);
	assert(r == 0);
	r = live_add_memory(s, memory);
	assert(r == 0);
	return s;
}

static void sweep(struct live *s, const struct game *g)
{
	struct live_sweep sweep = {.now = g->now[0] + 1};
	int r;

	do {
		r = live_sweep(s, &sweep);
		assert(r == 0);
	} while (sweep.behind);
	r = live_flush(s);
	assert(r == 0);
}

static void copy_only(struct ring_reader *readers, uint64_t *buf)
{
	uint64_t pos;
	size_t count;
	unsigned i;

	for (i = 0; i < THREADS; i++)
		while (ring_reader_copy(&readers[i], buf, LIVE_BUF_WORDS, &pos, &count) ==
			       RING_OK &&
		       count > 0)
			readers[i].tail = pos + count;
}

/* What one sample took: CPU seconds. */
struct cost {
	double copy, parse, pack, store;
	uint64_t zones;
};

struct stages {
	struct samples copy, parse, pack;
	double pack_seconds; /* a zone, median */
	uint64_t raw, packed;
};

static void pack_all(const struct batch *batch, struct stages *out)
{
	static uint8_t dst[256 * 1024];
	size_t i;

	for (i = 0; i < batch->chunks.count; i++) {
		long n = chunk_pack(dst, sizeof(dst), batch->chunks.at[i].data,
				    batch->chunks.at[i].bytes);

		assert(n > 0);
		out->raw += batch->chunks.at[i].bytes;
		out->packed += (uint64_t)n;
	}
}

static void push_rate(struct samples *s, uint64_t zones, double took)
{
	s->at[s->count++] = (double)zones / took / 1e6;
}

/* Fills the rings once and takes them through the stages, one after the other. */
static void stage_fill(const struct profile *p, struct game *g, struct ring_reader *readers,
		       struct live *s, struct stages *out, struct cost *cost)
{
	uint64_t before = g->zones;
	double t;

	fill(g, p);
	t = seconds(CLOCK_PROCESS_CPUTIME_ID);
	copy_only(readers, s->buf);
	cost->copy += seconds(CLOCK_PROCESS_CPUTIME_ID) - t;
	t = seconds(CLOCK_PROCESS_CPUTIME_ID);
	sweep(s, g);
	cost->parse += seconds(CLOCK_PROCESS_CPUTIME_ID) - t;
	t = seconds(CLOCK_PROCESS_CPUTIME_ID);
	pack_all(s->batch, out);
	cost->pack += seconds(CLOCK_PROCESS_CPUTIME_ID) - t;
	batch_free(s->batch);
	s->batch = batch_new();
	cost->zones += g->zones - before;
}

static void run_stages(const struct profile *p, struct stages *out)
{
	struct ring_reader readers[THREADS];
	struct cost warm_up = {0};
	struct game g;
	struct memory *memory = make_game(&g);
	struct live *s = make_session(memory, 1, batch_new());
	unsigned i, j;

	for (i = 0; i < THREADS; i++)
		ring_reader_init(&readers[i], &memory->view, i, 0);
	stage_fill(p, &g, readers, s, out, &warm_up);
	for (i = 0; i < SAMPLES; i++) {
		struct cost cost = {0};

		for (j = 0; j < FILLS; j++)
			stage_fill(p, &g, readers, s, out, &cost);
		push_rate(&out->copy, cost.zones, cost.copy);
		push_rate(&out->parse, cost.zones, cost.parse);
		push_rate(&out->pack, cost.zones, cost.pack);
	}
	assert(s->last_update.overwritten == 0);
	printf("%s\n", p->name);
	print_rates("copy", &out->copy);
	print_rates("parse", &out->parse);
	print_rates("pack", &out->pack);
	out->pack_seconds = 1e-6 / median(&out->pack);
	printf("  %.2f bytes a zone raw, %.2f packed\n", (double)out->raw / (double)g.zones,
	       (double)out->packed / (double)g.zones);
	batch_free(s->batch);
	live_free(s);
}

static struct live *begin_stored(struct store *store, struct game *g)
{
	struct session_row row = {.pid = 1, .clock_kind = FPROF_CLOCK_TSC, .clock_hz = HZ};
	struct batch *batch = batch_new();
	struct live *s;
	int r;

	row.id = store_next_session_id(store);
	s = make_session(make_game(g), row.id, batch);
	row.name = strdup("bench");
	row.boot_id = strdup("");
	row.facts_json = strdup("{}");
	r = VEC_PUSH(&batch->sessions, row);
	assert(r == 0);
	return s;
}

/* From the rings into the database. The store's time is that of its thread and of handing over. */
static void store_fill(const struct profile *p, struct game *g, struct live *s, struct store *store,
		       struct cost *cost)
{
	uint64_t before = g->zones;
	double all, own;

	fill(g, p);
	all = seconds(CLOCK_PROCESS_CPUTIME_ID);
	own = seconds(CLOCK_THREAD_CPUTIME_ID);
	sweep(s, g);
	own = seconds(CLOCK_THREAD_CPUTIME_ID) - own;
	store_submit(store, s->batch);
	store_flush(store);
	cost->parse += own;
	cost->store += seconds(CLOCK_PROCESS_CPUTIME_ID) - all - own;
	s->batch = batch_new();
	cost->zones += g->zones - before;
}

static void print_where(const struct cost *sum, const struct stages *stages, uint64_t marks)
{
	double all = sum->parse + sum->store, pack = stages->pack_seconds * (double)sum->zones;

	printf("        of its CPU time: copy and parse %.0f%%, the store %.0f%% (LZ4 %.0f%%, "
	       "SQLite %.0f%%); %.1f us a frame\n",
	       100 * sum->parse / all, 100 * sum->store / all, 100 * pack / all,
	       100 * (sum->store - pack) / all, all / (double)marks * 1e6);
}

static void run_store(const struct profile *p, struct config *config, const struct stages *stages)
{
	struct cost warm_up = {0}, sum = {0};
	struct samples rates = {0};
	struct store_health health;
	struct store *store;
	struct live *s;
	struct game g;
	uint64_t marks;
	unsigned i, j;
	int r = store_new(config, NULL, NULL, &store);

	assert(r == 0);
	s = begin_stored(store, &g);
	store_fill(p, &g, s, store, &warm_up);
	marks = g.marks;
	for (i = 0; i < SAMPLES; i++) {
		struct cost cost = {0};

		for (j = 0; j < FILLS; j++)
			store_fill(p, &g, s, store, &cost);
		push_rate(&rates, cost.zones, cost.parse + cost.store);
		sum.parse += cost.parse;
		sum.store += cost.store;
		sum.zones += cost.zones;
	}
	store_health(store, &health);
	print_rates("all", &rates);
	printf("        into the database, %.2f bytes a zone; beside it %" PRIu64 " of %" PRIu64
	       " frames were evicted (history_frames = %u, %u MiB)\n",
	       (double)health.stored_bytes / (double)g.zones, health.evicted_frames, g.marks,
	       config->history_frames, config->history_mib);
	print_where(&sum, stages, g.marks - marks);
	batch_free(s->batch);
	live_free(s);
	store_free(store);
}

int main(int argc, char **argv)
{
	char *dir = argc > 1 ? argv[1] : NULL;
	struct config config = {
		.history_dir = dir,
		.state_dir = dir,
		.runtime_dir = dir,
		.history_frames = 600,
		.history_mib = 128,
		.history_session_mib = 128,
		.max_counters = 4096,
		.max_sessions = 64,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++) {
		struct stages stages = {0};

		run_stages(&profiles[i], &stages);
		if (dir)
			run_store(&profiles[i], &config, &stages);
	}
	return 0;
}
