/* SPDX-License-Identifier: MIT */
/* Trees and tables of zones, of chunks made by hand. */
#include "store_fixture.h"

#include "daemon/sched_log.h"
#include "daemon/statistics.h"
#include "daemon/timeline.h"
#include "daemon/zone_calls.h"
#include "daemon/zone_table.h"

#include <math.h>

/* Frames 1..count of 1000 ns each; the first is the startup frame. */
static struct batch *frames(unsigned count)
{
	struct batch *b = first_batch(1, 1);
	unsigned n;

	for (n = 1; n <= count; n++)
		add_frame(b, 1, 0, n, (n - 1) * INT64_C(1000), n * INT64_C(1000));
	return b;
}

/* A range with its tree and the rows of a table of it. */
struct made {
	struct range range;
	struct zone_tree tree;
	zone_rows rows;
};

static void make(struct fixture *f, uint64_t from, uint64_t to, unsigned flags,
		 const struct zone_table_query *query, struct made *m)
{
	const struct range_query which = {.from = from, .to = to};

	memset(m, 0, sizeof(*m));
	assert_int_equal(range_open(f->history, 1, &which, &m->range), 0);
	assert_int_equal(zone_tree_read(f->history, &m->range, NULL, flags, &m->tree), 0);
	assert_int_equal(zone_table_make(&m->tree, query, &m->rows), 0);
}

static void unmake(struct made *m)
{
	VEC_FREE(&m->rows);
	zone_tree_deinit(&m->tree);
	range_close(&m->range);
}

static const char *name_of(const struct made *m, const struct zone_row *row)
{
	return row->marker == ZONE_NODE_NONE ? "-" : range_marker(&m->range, row->marker)->name;
}

static const struct zone_row *row_called(const struct made *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->rows.count; i++)
		if (strcmp(name_of(m, &m->rows.at[i]), name) == 0)
			return &m->rows.at[i];
	fail_msg("there is no row %s", name);
	return NULL;
}

/* update(physics(physics) render) with times to tell apart. */
static void add_recursion(struct batch *b)
{
	struct maker *m = maker_new(1, 1, 0, 1100);

	make_begin(m, 1100, 1);
	make_begin(m, 1110, 2);
	make_begin(m, 1120, 2);
	make_end(m, 1150);
	make_end(m, 1200);
	make_begin(m, 1300, 3);
	make_end(m, 1340);
	make_end(m, 1400);
	make_chunk(m, b);
}

static void total_counts_recursion_once(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	const struct zone_row *row;
	struct made m;

	add_recursion(b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, &flat, &m);
	assert_int_equal(m.rows.count, 3);
	assert_string_equal(name_of(&m, &m.rows.at[0]), "update");
	assert_int_equal(m.rows.at[0].n.total_ns, 300);
	assert_int_equal(m.rows.at[0].n.self_ns, 300 - 90 - 40);
	row = row_called(&m, "physics");
	assert_int_equal(row->n.calls, 2);
	assert_int_equal(row->n.total_ns, 90);
	assert_int_equal(row->n.self_ns, 90);
	assert_int_equal(row->n.min_ns, 30);
	assert_int_equal(row->n.max_ns, 90);
	assert_true(row->n.avg_ns == 60);
	assert_int_equal(row->n.p50_ns, 30); /* nearest rank: a value that is there */
	assert_int_equal(row->n.p95_ns, NS_UNKNOWN);
	assert_int_equal(row->n.frames, 1);
	assert_int_equal(row->n.max_frame, 2);
	row = row_called(&m, "render");
	assert_int_equal(row->n.p50_ns, NS_UNKNOWN); /* one call is too few for any */
	unmake(&m);
}

static void a_tree_has_a_row_for_each_path(void **state)
{
	static const struct zone_table_query tree = {.view = ZONE_VIEW_TREE};
	static const struct zone_table_query rising = {.view = ZONE_VIEW_TREE, .ascending = true};
	static const char *const names[] = {"update", "physics", "physics", "render"};
	static const char *const backwards[] = {"update", "render", "physics", "physics"};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct made m;
	size_t i;

	add_recursion(b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, &tree, &m);
	assert_int_equal(m.rows.count, 4);
	for (i = 0; i < 4; i++)
		assert_string_equal(name_of(&m, &m.rows.at[i]), names[i]);
	assert_int_equal(m.rows.at[1].n.total_ns, 90);
	assert_int_equal(m.rows.at[1].n.self_ns, 60);
	assert_int_equal(m.tree.nodes.at[m.rows.at[2].node].depth, 2);
	unmake(&m);
	make(f, 2, 2, 0, &rising, &m);
	for (i = 0; i < 4; i++)
		assert_string_equal(name_of(&m, &m.rows.at[i]), backwards[i]);
	unmake(&m);
}

static void callers_and_callees_are_found(void **state)
{
	static const struct zone_table_query callers = {.view = ZONE_VIEW_CALLERS,
							.name = "physics"};
	static const struct zone_table_query callees = {.view = ZONE_VIEW_CALLEES,
							.name = "update"};
	static const struct zone_table_query outermost = {.view = ZONE_VIEW_CALLERS,
							  .name = "update"};
	static const struct zone_table_query nobody = {.view = ZONE_VIEW_CALLERS, .name = "none"};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	zone_rows none = {0};
	struct made m;

	add_recursion(b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, &callers, &m);
	assert_int_equal(m.rows.count, 2);
	assert_int_equal(row_called(&m, "update")->n.total_ns, 90);
	assert_int_equal(row_called(&m, "physics")->n.total_ns, 0); /* counted once, above */
	assert_int_equal(row_called(&m, "physics")->n.calls, 1);
	unmake(&m);
	make(f, 2, 2, 0, &callees, &m);
	assert_int_equal(m.rows.count, 2);
	assert_int_equal(row_called(&m, "render")->n.total_ns, 40);
	assert_int_equal(zone_table_make(&m.tree, &nobody, &none), -ENOENT);
	unmake(&m);
	make(f, 2, 2, 0, &outermost, &m);
	assert_int_equal(m.rows.count, 1);
	assert_int_equal(m.rows.at[0].marker, ZONE_NODE_NONE);
	unmake(&m);
}

/* A zone from within frame 1 to within frame 4, with a child in frame 3. */
static struct batch *spanning(void)
{
	struct batch *b = frames(4);
	struct maker *m = maker_new(1, 1, 0, 500);

	make_begin(m, 500, 1);
	make_begin(m, 2200, 2);
	make_end(m, 2300);
	make_end(m, 3100);
	make_chunk(m, b);
	return b;
}

static void times_are_clipped_to_the_range(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	static const struct zone_table_query by_frame = {.view = ZONE_VIEW_FLAT, .per_frame = true};
	struct fixture *f = *state;
	const struct zone_row *row;
	struct made m;

	fixture_submit(f, spanning());
	make(f, 3, 4, 0, &flat, &m);
	row = row_called(&m, "update");
	assert_int_equal(row->n.total_ns, 1100);
	assert_int_equal(row->n.self_ns, 1000);
	assert_int_equal(row->n.frames, 2);
	assert_int_equal(row->n.calls, 1);
	unmake(&m);
	make(f, 3, 4, 0, &by_frame, &m);
	row = row_called(&m, "update");
	assert_int_equal(row->n.samples, 2);
	assert_int_equal(row->n.min_ns, 100);
	assert_int_equal(row->n.max_ns, 1000);
	assert_int_equal(row->n.max_frame, 3);
	assert_true(row->n.avg_ns == 550);
	unmake(&m);
}

static void startup_and_paused_frames_do_not_count(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = spanning();
	struct made m;

	b->frames.at[2].flags |= FRAME_PAUSED;
	fixture_submit(f, b);
	make(f, 1, 4, 0, &flat, &m);
	assert_int_equal(m.tree.counted.left_out.startup, 1);
	assert_int_equal(m.tree.counted.left_out.paused, 1);
	assert_int_equal(m.tree.counted.frames.count, 2);
	assert_int_equal(m.tree.counted.wall_ns, 2000);
	assert_int_equal(m.rows.count, 1); /* the child lay within the paused frame */
	assert_int_equal(m.rows.at[0].n.total_ns, 1000 + 100);
	assert_int_equal(m.rows.at[0].n.self_ns, 1000 + 100);
	assert_int_equal(m.rows.at[0].n.frames, 2);
	unmake(&m);
	make(f, 1, 4, COUNTED_ALL, &flat, &m);
	assert_int_equal(m.rows.count, 2);
	assert_int_equal(row_called(&m, "update")->n.total_ns, 2600);
	unmake(&m);
	/* Who asks for nothing else gets it. */
	make(f, 1, 1, 0, &flat, &m);
	assert_int_equal(row_called(&m, "update")->n.total_ns, 500);
	unmake(&m);
}

static void the_same_name_is_one_row_on_threads_and_another_on_queues(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	static const struct zone_table_query tree = {.view = ZONE_VIEW_TREE};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct maker *m = maker_new(1, 1, 0, 1100), *other = maker_new(1, 2, 0, 1100);
	struct made made;
	size_t i;

	add_track(b, 1, 2, "worker");
	add_marker(b, 1, 9, "update"); /* of another place */
	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 3,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX});
	make_begin(m, 1100, 1);
	make_end(m, 1200);
	make_begin(other, 1100, 9);
	make_end(other, 1150);
	make_chunk(m, b);
	make_chunk(other, b);
	/* Frame 2's spans run in frame 3's time. */
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = 2,
						  .track = 3,
						  .marker = 1,
						  .begin_ns = 2100,
						  .end_ns = 2400});
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = 2,
						  .track = 3,
						  .marker = 3,
						  .begin_ns = 2200,
						  .end_ns = 2300});
	fixture_submit(f, b);
	make(f, 2, 2, 0, &flat, &made);
	assert_int_equal(made.rows.count, 3);
	for (i = 0; i < made.rows.count; i++) {
		const struct zone_row *row = &made.rows.at[i];

		if (strcmp(name_of(&made, row), "update") != 0)
			continue;
		assert_int_equal(row->n.total_ns, row->gpu ? 300 : 150);
		assert_int_equal(row->n.self_ns, row->gpu ? 200 : 150);
		assert_int_equal(row->tracks, row->gpu ? 1 : 2);
		assert_int_equal(row->n.frames, 1);
	}
	unmake(&made);
	make(f, 2, 2, 0, &tree, &made);
	assert_int_equal(made.rows.count, 4);
	unmake(&made);
	make(f, 3, 3, 0, &flat, &made);
	assert_int_equal(made.rows.count, 0); /* by identity, not by time */
	unmake(&made);
}

/* 99 quick calls a frame of 10 ns, and every third frame one of 100 ns. */
static void slow_calls_show_their_rhythm(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = frames(13);
	struct maker *m = maker_new(1, 1, 0, 1000);
	const struct zone_row *row;
	struct made made;
	int64_t n, t;

	for (n = 1; n < 13; n++)
		for (t = 0; t < 9; t++) {
			bool slow = n % 3 == 0 && t == 0;

			make_begin(m, n * 1000 + t * 110, 1);
			make_end(m, n * 1000 + t * 110 + (slow ? 100 : 10));
		}
	make_chunk(m, b);
	fixture_submit(f, b);
	make(f, 2, 13, 0, &flat, &made);
	row = row_called(&made, "update");
	assert_int_equal(row->n.calls, 108);
	assert_int_equal(row->n.p50_ns, 10);
	assert_int_equal(row->n.p95_ns, 10);
	assert_int_equal(row->n.p99_ns, 100);
	assert_int_equal(row->n.slow_above_ns, 20);
	assert_int_equal(row->n.slow_calls, 4);
	assert_true(row->n.slow_gap_mean_ns == 3000);
	assert_true(row->n.slow_gap_sd_ns == 0);
	unmake(&made);
	make(f, 2, 7, 0, &flat, &made);
	assert_int_equal(made.rows.at[0].n.slow_calls, 2);
	assert_true(isnan(made.rows.at[0].n.slow_gap_mean_ns));
	unmake(&made);
}

static void long_calls_and_long_gaps_are_kept_whole(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m = maker_new(1, 1, 0, 0);
	int64_t second = 1000000000;
	struct made made;

	add_frame(b, 1, 0, 1, 0, 100 * second);
	make_begin(m, 0, 1);
	make_end(m, 5 * second + 7);
	make_begin(m, 60 * second, 1);
	make_end(m, 60 * second + 9);
	make_chunk(m, b);
	fixture_submit(f, b);
	make(f, 1, 1, 0, &flat, &made);
	assert_int_equal(made.rows.at[0].n.calls, 2);
	assert_int_equal(made.rows.at[0].n.max_ns, 5 * second + 7);
	assert_int_equal(made.rows.at[0].n.min_ns, 9);
	assert_int_equal(made.rows.at[0].n.total_ns, 5 * second + 16);
	unmake(&made);
}

/* Within the frame of the call before, in the next one, over an edge, further on, and with no
 * length on an edge. */
static void calls_are_shared_out_over_their_frames(void **state)
{
	static const struct zone_table_query by_frame = {.view = ZONE_VIEW_FLAT, .per_frame = true};
	static const int64_t times[][2] = {{1100, 1200}, {1300, 1400}, {2100, 2300}, {2900, 3200},
					   {5000, 5000}, {5100, 5200}, {6100, 8050}, {8100, 8110}};
	struct fixture *f = *state;
	struct batch *b = frames(10);
	struct maker *m = maker_new(1, 1, 0, 1100);
	const struct zone_row *row;
	struct made made;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		make_begin(m, times[i][0], 1);
		make_end(m, times[i][1]);
	}
	make_chunk(m, b);
	fixture_submit(f, b);
	make(f, 2, 10, 0, &by_frame, &made);
	row = row_called(&made, "update");
	assert_int_equal(row->n.calls, ARRAY_SIZE(times));
	/* 200, 200 + 100, 200, none of the fifth, 0 + 100, 900, 1000, 50 + 10 */
	assert_int_equal(row->n.frames, 7);
	assert_int_equal(row->n.samples, 7);
	assert_int_equal(row->n.min_ns, 60);
	assert_int_equal(row->n.max_ns, 1000);
	assert_int_equal(row->n.max_frame, 8);
	assert_int_equal(row->n.p50_ns, 200);
	assert_int_equal(row->n.total_ns, 200 + 300 + 200 + 100 + 900 + 1000 + 60);
	unmake(&made);
}

/* Two zones in turns, of which every third call is one that takes more room. */
static void long_calls_fit_wherever_they_come(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	const int64_t wide = INT64_C(5000000000);
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m = maker_new(1, 1, 0, 1000);
	struct made made;
	int64_t t = 1000;
	uint32_t i;

	for (i = 0; i < 200; i++) {
		make_begin(m, t, 1 + i % 2);
		t += i % 3 == 0 ? wide : 10;
		make_end(m, t);
	}
	make_chunk(m, b);
	add_frame(b, 1, 0, 1, 0, 1000);
	add_frame(b, 1, 0, 2, 1000, t + 1);
	fixture_submit(f, b);
	make(f, 2, 2, 0, &flat, &made);
	assert_int_equal(made.rows.count, 2);
	for (i = 0; i < 2; i++) {
		struct zone_samples samples =
			zone_samples(&made.tree.nodes.at[made.rows.at[i].node]);
		uint32_t k = made.rows.at[i].marker - 1;
		int64_t begin, duration;

		for (; zone_samples_next(&samples, &begin, &duration); k += 2)
			assert_int_equal(duration, k % 3 == 0 ? wide : 10);
		assert_int_equal(k / 2, 100);
	}
	unmake(&made);
}

static void name_filters_are_patterns(void **state)
{
	(void)state;
	assert_true(zone_name_fits("physics", "physics"));
	assert_false(zone_name_fits("physics", "physics2"));
	assert_false(zone_name_fits("phys", "physics"));
	assert_true(zone_name_fits("phys*", "physics"));
	assert_true(zone_name_fits("*", ""));
	assert_true(zone_name_fits("*sic*", "physics"));
	assert_true(zone_name_fits("p?y*s", "physics"));
	assert_false(zone_name_fits("p?y*t", "physics"));
	assert_true(zone_name_fits("a*b*c", "aXbbYc"));
	assert_false(zone_name_fits("", "a"));
}

/* --- properties, over walks made at random ----------------------------------------------- */

static void add_walks(struct fixture *f)
{
	static const struct walk walk = {.events = 3000, .step = 13, .cut = 50};
	struct batch *b = frames(17);
	uint32_t seed = 7;

	add_track(b, 1, 2, "other");
	add_walk(b, 1, 0, &walk, &seed);
	add_walk(b, 2, 0, &walk, &seed);
	b->frames.at[8].flags |= FRAME_PAUSED;
	fixture_submit(f, b);
}

static void self_times_sum_to_the_root(void **state)
{
	static const struct zone_table_query tree = {.view = ZONE_VIEW_TREE};
	struct fixture *f = *state;
	int64_t self[2] = {0}, outermost[2] = {0};
	uint64_t calls = 0;
	struct made m;
	size_t i;

	add_walks(f);
	make(f, 1, 17, 0, &tree, &m);
	assert_true(m.rows.count > 20);
	for (i = 0; i < m.rows.count; i++) {
		const struct zone_node *node = &m.tree.nodes.at[m.rows.at[i].node];

		assert_true(m.rows.at[i].n.self_ns >= 0);
		assert_true(m.rows.at[i].n.self_ns <= m.rows.at[i].n.total_ns || node->nested);
		self[node->track] += m.rows.at[i].n.self_ns;
		outermost[node->track] += node->depth == 0 ? node->total_ns : 0;
		calls += m.rows.at[i].n.calls;
	}
	for (i = 0; i < 2; i++) {
		assert_true(self[i] > 0);
		assert_int_equal(self[i], m.tree.nodes.at[i].total_ns);
		assert_int_equal(outermost[i], m.tree.nodes.at[i].total_ns);
		assert_true(outermost[i] <= m.tree.counted.wall_ns);
	}
	assert_int_equal(calls, m.tree.calls);
	unmake(&m);
}

/* By depth and track: what the tree adds up to. */
static void sum_tree(const struct made *m, int64_t sums[2][4], uint64_t counts[2][4])
{
	size_t i;

	for (i = 0; i < m->rows.count; i++) {
		const struct zone_node *node = &m->tree.nodes.at[m->rows.at[i].node];

		sums[node->track][node->depth] += node->total_ns;
		counts[node->track][node->depth] += node->calls;
	}
}

static void a_timeline_adds_up_to_the_tree_at_any_resolution(void **state)
{
	static const struct zone_table_query tree = {.view = ZONE_VIEW_TREE};
	static const int64_t resolutions[] = {0, 1, 5, 40, 300, 100000};
	struct fixture *f = *state;
	int64_t sums[2][4] = {{0}};
	uint64_t counts[2][4] = {{0}};
	size_t k, i, before = SIZE_MAX;
	struct made m;

	add_walks(f);
	make(f, 2, 17, COUNTED_ALL, &tree, &m);
	sum_tree(&m, sums, counts);
	for (k = 0; k < ARRAY_SIZE(resolutions); k++) {
		int64_t busy[2][4] = {{0}};
		uint64_t count[2][4] = {{0}};
		struct timeline t;
		size_t track;

		assert_int_equal(
			timeline_read(f->history, &m.range, NULL, resolutions[k], 100000, &t), 0);
		assert_int_equal(t.resolution_ns, resolutions[k]);
		assert_int_equal(t.tracks.count, 2);
		for (track = 0; track < 2; track++)
			for (i = t.tracks.at[track].first;
			     i < t.tracks.at[track].first + t.tracks.at[track].count; i++) {
				const struct timeline_item *item = &t.items.at[i];

				assert_true(item->count == 1 ||
					    item->end_ns - item->begin_ns <= resolutions[k]);
				assert_true(item->busy_ns <= item->end_ns - item->begin_ns);
				assert_true(i == t.tracks.at[track].first ||
					    t.items.at[i - 1].begin_ns <= item->begin_ns);
				busy[track][item->depth] += item->busy_ns;
				count[track][item->depth] += item->count;
			}
		assert_memory_equal(busy, sums, sizeof(sums));
		assert_memory_equal(count, counts, sizeof(counts));
		assert_true(t.items.count < before || k < 3);
		before = t.items.count;
		timeline_deinit(&t);
	}
	assert_int_equal(before, 8); /* in the end one sliver a depth and track */
	unmake(&m);
}

static void a_timeline_that_is_too_large_gets_coarser(void **state)
{
	const struct range_query which = {.from = 2, .to = 17};
	struct fixture *f = *state;
	uint64_t count = 0, all = 0;
	struct range range;
	struct timeline t;
	size_t i;

	add_walks(f);
	assert_int_equal(range_open(f->history, 1, &which, &range), 0);
	assert_int_equal(timeline_read(f->history, &range, NULL, 0, 100000, &t), 0);
	all = t.items.count;
	timeline_deinit(&t);
	assert_int_equal(timeline_read(f->history, &range, NULL, 0, 100, &t), 0);
	assert_true(t.resolution_ns > 0);
	assert_in_range(t.items.count, 8, 100);
	for (i = 0; i < t.items.count; i++)
		count += t.items.at[i].count;
	assert_int_equal(count, all);
	timeline_deinit(&t);
	assert_int_equal(timeline_read(f->history, &range, NULL, 0, 4, &t), -E2BIG);
	range_close(&range);
}

/* Frames of 1000 ticks, which are ns. */
static void a_part_of_a_range_cuts_gpu_zones_too(void **state)
{
	static const struct range_query which = {.from = 2, .to = 3};
	struct gpu_span_row span = {.session = 1,
				    .frame = 2,
				    .track = 3,
				    .marker = 1,
				    .begin_ns = 2100,
				    .end_ns = 2400};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct range range;
	struct timeline t;

	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 3,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX});
	PUSH(&b->gpu_spans, span);
	span.begin_ns = 2200;
	span.end_ns = 2300;
	span.calibrated = true;
	PUSH(&b->gpu_spans, span);
	span.begin_ns = 2300;
	PUSH(&b->gpu_spans, span); /* outside */
	fixture_submit(f, b);
	assert_int_equal(range_open(f->history, 1, &which, &range), 0);
	assert_int_equal(range_clip(&range, range.begin_ns - 1, 2250), -ERANGE);
	assert_int_equal(range_clip(&range, 2150, 2250), -ERANGE); /* not in the first frame */
	assert_int_equal(range_clip(&range, 1500, 1900), -ERANGE); /* not in the last */
	assert_int_equal(range_clip(&range, 1500, range.end_ns + 1), -ERANGE);
	assert_int_equal(range_clip(&range, 1500, 2250), 0);
	assert_int_equal(range.begin_ns, 1500);
	assert_int_equal(range.end_ns, 2250);
	assert_int_equal(timeline_read(f->history, &range, NULL, 0, 1000, &t), 0);
	assert_int_equal(t.items.count, 2);
	assert_int_equal(t.items.at[0].end_ns - t.items.at[0].begin_ns, 150);
	assert_int_equal(t.items.at[0].flags, ZONE_ALIGNED);
	assert_int_equal(t.items.at[1].end_ns - t.items.at[1].begin_ns, 50);
	assert_int_equal(t.items.at[1].flags, 0);
	timeline_deinit(&t);
	range_close(&range);
}

/* Every call, sorted, against what the tree says of them. */
static void calls_add_up_to_the_table(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	const struct zone_calls_query all = {.most = 100000}, few = {.most = 10};
	const struct zone_calls_query one = {.most = 100000, .name = "physics"};
	struct zone_calls calls, longest;
	struct made m;
	int64_t self = 0, expected = 0;
	size_t i;

	add_walks(f);
	make(f, 1, 17, 0, &flat, &m);
	for (i = 0; i < m.rows.count; i++)
		expected += m.rows.at[i].n.self_ns;
	assert_int_equal(zone_calls_read(f->history, &m.range, &all, &m.tree.counted, &calls), 0);
	assert_int_equal(calls.count, m.tree.calls);
	assert_int_equal(calls.calls.count, calls.count);
	for (i = 0; i < calls.calls.count; i++) {
		self += calls.calls.at[i].self_ns;
		assert_true(i == 0 ||
			    calls.calls.at[i - 1].duration_ns >= calls.calls.at[i].duration_ns);
	}
	assert_int_equal(self, expected);
	assert_int_equal(zone_calls_read(f->history, &m.range, &few, &m.tree.counted, &longest), 0);
	assert_int_equal(longest.calls.count, 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(longest.calls.at[i].duration_ns, calls.calls.at[i].duration_ns);
	zone_calls_deinit(&longest);
	zone_calls_deinit(&calls);
	assert_int_equal(zone_calls_read(f->history, &m.range, &one, &m.tree.counted, &calls), 0);
	assert_int_equal(calls.count, row_called(&m, "physics")->n.calls);
	assert_int_equal(calls.calls.at[0].duration_ns, row_called(&m, "physics")->n.max_ns);
	zone_calls_deinit(&calls);
	unmake(&m);
}

/* Ranks found by digits are those of a sorted list. */
static void selected_ranks_are_the_sorted_ones(void **state)
{
	static const unsigned shifts[] = {0, 8, 20, 33};
	size_t counts[] = {1, 2, 25, 100, 5000}, c, s, i;
	uint32_t seed = 3;

	(void)state;
	for (c = 0; c < ARRAY_SIZE(counts); c++)
		for (s = 0; s < ARRAY_SIZE(shifts); s++) {
			size_t n = counts[c], ranks[4] = {1, (n + 1) / 2, (95 * n + 99) / 100, n};
			_cleanup_free_ uint64_t *v = must(calloc(n, sizeof(*v)));
			_cleanup_free_ uint64_t *scratch = must(calloc(n, sizeof(*v)));
			_cleanup_free_ double *sorted = must(calloc(n, sizeof(*sorted)));
			uint64_t found[4];

			for (i = 0; i < n; i++) {
				v[i] = (uint64_t)(noise(&seed) % 1000) << shifts[s];
				v[i] += noise(&seed) % 7;
				sorted[i] = (double)v[i];
			}
			statistics_sort(sorted, n);
			zone_select(v, n, scratch, ranks, 4, found);
			for (i = 0; i < 4; i++)
				assert_true((double)found[i] == sorted[ranks[i] - 1]);
			assert_true((double)found[2] == statistics_percentile(sorted, n, 95));
		}
}

static void assert_kernel(const struct zone_kernel_ns *got, int64_t on_cpu, int64_t runnable,
			  int64_t blocked)
{
	assert_int_equal(got->ns[ZONE_ON_CPU], on_cpu);
	assert_int_equal(got->ns[ZONE_RUNNABLE], runnable);
	assert_int_equal(got->ns[ZONE_BLOCKED], blocked);
}

/* update 1100..1400 with physics 1110..1200, in which it is once more 1120..1150, and
 * render 1300..1340: the thread runs but for 1115..1140 (blocked until 1130, then
 * runnable), and 1320..1360 (unknown). */
static void zones_have_what_the_scheduler_did(void **state)
{
	static const struct sched_record records[] = {
		{.kind = SCHED_RUN, .t = 900},	    {.kind = SCHED_BLOCK, .t = 1115},
		{.kind = SCHED_WAKE, .t = 1130},    {.kind = SCHED_RUN, .t = 1140},
		{.kind = SCHED_LOST, .t = 1320},    {.kind = SCHED_RUN, .t = 1360},
		{.kind = SCHED_PREEMPT, .t = 2500}, {.kind = SCHED_RUN, .t = 2600}};
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	const struct zone_calls_query all = {
		.most = 10, .sort = ZONE_CALLS_START, .ascending = true};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	const struct zone_row *row;
	struct zone_calls calls;
	struct made m;

	add_recursion(b);
	b->tracks.at[0].tid = 42;
	add_schedule(b, 42, records, ARRAY_SIZE(records));
	fixture_submit(f, b);
	make(f, 2, 2, 0, &flat, &m);
	row = row_called(&m, "update");
	assert_true(row->n.scheduled);
	assert_kernel(&row->n.kernel, 300 - 25 - 40, 10, 15);
	/* outside of physics and render: 1100..1110, 1200..1300, 1340..1400 with 1340..1360
	 * unknown */
	assert_kernel(&row->n.own_kernel, 10 + 100 + 40, 0, 0);
	row = row_called(&m, "physics");
	assert_kernel(&row->n.kernel, 90 - 25, 10, 15); /* recursion once */
	/* the inner one has 1120..1130 blocked and then runnable; what is left is the outer
	 * one's */
	assert_kernel(&row->n.own_kernel, 90 - 25, 10, 15);
	row = row_called(&m, "render");
	assert_kernel(&row->n.kernel, 20, 0, 0);
	assert_int_equal(zone_calls_read(f->history, &m.range, &all, &m.tree.counted, &calls), 0);
	assert_int_equal(calls.count, 4);
	assert_true(calls.calls.at[2].scheduled);
	assert_int_equal(calls.calls.at[2].start_ns, 1120);
	assert_kernel(&calls.calls.at[2].kernel, 10, 10, 10);
	zone_calls_deinit(&calls);
	unmake(&m);
}

/* Of frames that are left out nothing is counted, here as elsewhere: of 1..3 the first is.
 */
static void left_out_frames_have_no_kernel_time(void **state)
{
	static const struct sched_record records[] = {{.kind = SCHED_RUN, .t = 0},
						      {.kind = SCHED_BLOCK, .t = 900},
						      {.kind = SCHED_WAKE, .t = 1200},
						      {.kind = SCHED_RUN, .t = 1210},
						      {.kind = SCHED_BLOCK, .t = 2900}};
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct maker *maker = maker_new(1, 1, 0, 500);
	struct made m;

	make_begin(maker, 500, 1);
	make_end(maker, 1500);
	make_chunk(maker, b);
	b->tracks.at[0].tid = 42;
	add_schedule(b, 42, records, ARRAY_SIZE(records));
	fixture_submit(f, b);
	make(f, 1, 3, 0, &flat, &m);
	assert_int_equal(row_called(&m, "update")->n.total_ns, 500);
	assert_kernel(&row_called(&m, "update")->n.kernel, 290, 10, 200);
	unmake(&m);
}

static void without_the_scheduler_nothing_is_said(void **state)
{
	static const struct zone_table_query flat = {.view = ZONE_VIEW_FLAT};
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct made m;

	add_recursion(b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, &flat, &m);
	assert_false(row_called(&m, "update")->n.scheduled);
	assert_false(m.tree.kernel.any);
	unmake(&m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(total_counts_recursion_once),
		TEST(zones_have_what_the_scheduler_did),
		TEST(left_out_frames_have_no_kernel_time),
		TEST(without_the_scheduler_nothing_is_said),
		TEST(a_tree_has_a_row_for_each_path),
		TEST(callers_and_callees_are_found),
		TEST(times_are_clipped_to_the_range),
		TEST(startup_and_paused_frames_do_not_count),
		TEST(the_same_name_is_one_row_on_threads_and_another_on_queues),
		TEST(slow_calls_show_their_rhythm),
		TEST(long_calls_and_long_gaps_are_kept_whole),
		cmocka_unit_test(name_filters_are_patterns),
		TEST(calls_are_shared_out_over_their_frames),
		TEST(long_calls_fit_wherever_they_come),
		TEST(self_times_sum_to_the_root),
		TEST(a_timeline_adds_up_to_the_tree_at_any_resolution),
		TEST(a_timeline_that_is_too_large_gets_coarser),
		TEST(a_part_of_a_range_cuts_gpu_zones_too),
		TEST(calls_add_up_to_the_table),
		cmocka_unit_test(selected_ranks_are_the_sorted_ones),
	};
#undef TEST

	return cmocka_run_group_tests_name("zone_table", tests, NULL, NULL);
}
