/* SPDX-License-Identifier: MIT */
/* Critical paths of frames, with the zones of the threads on them. */
#include "store_fixture.h"

#include "daemon/critical_range.h"
#include "daemon/sched_log.h"

#define MAIN 42
#define A    43
#define B    44

enum { UPDATE = 1, PHYSICS, RENDER, NOTE }; /* as first_batch names them */

static struct sched_who who(uint32_t tid)
{
	return (struct sched_who){.tid = tid, .tgid = 1, .comm = "thread"};
}

/* Frames 1..3 of 1000 ns each, the first the startup frame; tracks 1, 2, 3 are MAIN, A and B. */
static struct batch *three_threads(void)
{
	struct batch *b = first_batch(1, 1);
	unsigned n;

	for (n = 1; n <= 3; n++)
		add_frame(b, 1, 0, n, (n - 1) * INT64_C(1000), n * INT64_C(1000));
	add_track(b, 1, 2, "A");
	add_track(b, 1, 3, "B");
	for (n = 0; n < 3; n++)
		b->tracks.at[n].tid = MAIN + (int32_t)n;
	return b;
}

/* In frame 2 main gives A a job at 1150, A one to B at 1200, which has it done at 1700, and A its
 * own at 1800. */
static void add_chain_with(struct batch *b, int64_t physics_end, bool zones)
{
	const struct sched_record of_main[] = {
		{.kind = SCHED_RUN, .t = 0},
		{.kind = SCHED_BLOCK, .t = 1200, .reason = WAIT_LOCK},
		{.kind = SCHED_WAKE, .t = 1800, .who = who(A)},
		{.kind = SCHED_RUN, .t = 1810},
		{.kind = SCHED_BLOCK, .t = 2100, .reason = WAIT_SLEEP},
		{.kind = SCHED_WAKE, .t = 2600, .flags = SCHED_BY_INTERRUPT},
		{.kind = SCHED_RUN, .t = 2610}};
	const struct sched_record of_a[] = {{.kind = SCHED_BLOCK, .t = 0},
					    {.kind = SCHED_WAKE, .t = 1150, .who = who(MAIN)},
					    {.kind = SCHED_RUN, .t = 1160},
					    {.kind = SCHED_BLOCK, .t = 1250},
					    {.kind = SCHED_WAKE, .t = 1700, .who = who(B)},
					    {.kind = SCHED_RUN, .t = 1705},
					    {.kind = SCHED_BLOCK, .t = 1850}};
	const struct sched_record of_b[] = {{.kind = SCHED_BLOCK, .t = 0},
					    {.kind = SCHED_WAKE, .t = 1200, .who = who(A)},
					    {.kind = SCHED_RUN, .t = 1205},
					    {.kind = SCHED_BLOCK, .t = 1750}};
	struct maker *m = maker_new(1, 1, 0, 1000);

	make_begin(m, 1000, UPDATE);
	make_begin(m, 1820, RENDER);
	make_end(m, 1900);
	make_end(m, 1990);
	make_chunk(m, b);
	if (zones) {
		m = maker_new(1, 2, 1, 1160);
		make_begin(m, 1160, PHYSICS);
		make_end(m, physics_end);
		make_chunk(m, b);
		m = maker_new(1, 3, 2, 1210);
		make_begin(m, 1210, NOTE);
		make_end(m, 1690);
		make_chunk(m, b);
	}
	add_schedule(b, MAIN, of_main, ARRAY_SIZE(of_main));
	add_schedule(b, A, of_a, ARRAY_SIZE(of_a));
	add_schedule(b, B, of_b, ARRAY_SIZE(of_b));
}

static void add_chain(struct batch *b)
{
	add_chain_with(b, 1850, true);
}

struct made {
	struct range range;
	struct critical c;
};

static void make(struct fixture *f, uint64_t from, uint64_t to, unsigned flags, bool pieces,
		 struct made *m)
{
	const struct range_query which = {.from = from, .to = to};
	int64_t sum = 0, states = 0;
	size_t i;

	assert_int_equal(range_open(f->history, 1, &which, &m->range), 0);
	assert_int_equal(critical_read(f->history, &m->range, flags, pieces, &m->c), 0);
	for (i = 0; i < m->c.rows.count; i++) {
		sum += m->c.rows.at[i].self_ns;
		assert_true(m->c.rows.at[i].gain_ns <= m->c.rows.at[i].total_ns);
	}
	for (i = 0; i < PATH_STATES; i++)
		states += m->c.ns[i];
	assert_int_equal(sum, m->c.wall_ns);
	assert_int_equal(states, m->c.wall_ns);
}

static void unmake(struct made *m)
{
	critical_deinit(&m->c);
	range_close(&m->range);
}

/* Of a thread's zone; marker 0: outside of all. */
static const struct path_row *row_of(const struct made *m, int32_t tid, uint32_t marker)
{
	size_t i;

	for (i = 0; i < m->c.rows.count; i++) {
		const struct path_row *row = &m->c.rows.at[i];
		bool outside = row->node == PATH_NOBODY ||
			       m->c.tree.nodes.at[row->node].parent == ZONE_NODE_NONE;

		if (m->c.threads.at.at[row->thread].tid == tid &&
		    (outside ? marker == 0 : m->c.tree.nodes.at[row->node].marker == marker))
			return row;
	}
	fail_msg("%d has no row of %u", tid, marker);
	return NULL;
}

static void assert_row(const struct path_row *row, int64_t running, int64_t runnable, int64_t total,
		       int64_t gain)
{
	assert_int_equal(row->ns[PATH_RUNNING], running);
	assert_int_equal(row->ns[PATH_RUNNABLE], runnable);
	assert_int_equal(row->total_ns, total);
	assert_int_equal(row->gain_ns, gain);
}

static void a_chain_has_its_rows(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct made m;

	add_chain(b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, false, &m);
	assert_true(m.c.kernel);
	assert_int_equal(m.c.wall_ns, 1000);
	assert_row(row_of(&m, MAIN, UPDATE), 250, 10, 340, 340);
	assert_row(row_of(&m, MAIN, RENDER), 80, 0, 80, 80);
	assert_row(row_of(&m, MAIN, 0), 10, 0, 350, 350);
	assert_row(row_of(&m, A, PHYSICS), 135, 5, 140, 140);
	assert_row(row_of(&m, A, 0), 0, 10, 150, 150);
	/* A began to wait for B only at 1250: 50 of B's time had slack */
	assert_row(row_of(&m, B, NOTE), 480, 0, 480, 450);
	assert_row(row_of(&m, B, 0), 15, 5, 500, 450);
	/* outside of zones alone, and in one without those inside */
	assert_int_equal(row_of(&m, MAIN, 0)->self_gain_ns, 10);
	assert_int_equal(row_of(&m, MAIN, UPDATE)->self_gain_ns, 260);
	assert_int_equal(row_of(&m, MAIN, RENDER)->self_gain_ns, 80);
	assert_int_equal(row_of(&m, A, 0)->self_gain_ns, 10);
	assert_int_equal(row_of(&m, B, 0)->self_gain_ns, 20);
	assert_int_equal(row_of(&m, B, NOTE)->self_gain_ns, 450);
	unmake(&m);
}

/* More than are played at once: zones one inside the other, each a path of its own. */
static void every_row_has_its_gain(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct maker *maker;
	struct made m;
	size_t i, zones = 0;
	int n;

	add_chain(b);
	maker = maker_new(1, 1, 0, 2610);
	for (n = 0; n < 50; n++)
		make_begin(maker, 2610 + 2 * n, n % 2 ? PHYSICS : RENDER);
	for (n = 0; n < 50; n++)
		make_end(maker, 2800 + 2 * n);
	make_chunk(maker, b);
	fixture_submit(f, b);
	make(f, 3, 3, 0, false, &m);
	for (i = 0; i < m.c.rows.count; i++) {
		const struct path_row *row = &m.c.rows.at[i];
		bool zone = m.c.tree.nodes.at[row->node].parent != ZONE_NODE_NONE;

		assert_true(row->self_gain_ns != NS_UNKNOWN && row->self_gain_ns >= 0);
		assert_true(row->self_gain_ns <= row->self_ns && row->gain_ns >= row->self_gain_ns);
		/* after the last sleep all is gained */
		if (zone)
			assert_int_equal(row->gain_ns, row->total_ns);
		if (zone)
			assert_int_equal(row->self_gain_ns, row->self_ns);
		zones += zone;
	}
	assert_int_equal(zones, 50);
	unmake(&m);
}

/* What such threads did would have been waited for as well as a zone. */
static void threads_without_zones_have_gains(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct made m;

	add_chain_with(b, 0, false);
	fixture_submit(f, b);
	make(f, 2, 2, 0, false, &m);
	assert_row(row_of(&m, B, 0), 495, 5, 500, 450);
	unmake(&m);
}

static void pieces_touch_and_say_who(void **state)
{
	static const struct {
		int64_t begin, end;
		int32_t tid;
		enum path_state state;
	} want[] = {{1000, 1150, MAIN, PATH_RUNNING}, {1150, 1160, A, PATH_RUNNABLE},
		    {1160, 1200, A, PATH_RUNNING},    {1200, 1205, B, PATH_RUNNABLE},
		    {1205, 1210, B, PATH_RUNNING},    {1210, 1690, B, PATH_RUNNING},
		    {1690, 1700, B, PATH_RUNNING},    {1700, 1705, A, PATH_RUNNABLE},
		    {1705, 1800, A, PATH_RUNNING},    {1800, 1810, MAIN, PATH_RUNNABLE},
		    {1810, 1820, MAIN, PATH_RUNNING}, {1820, 1900, MAIN, PATH_RUNNING},
		    {1900, 1990, MAIN, PATH_RUNNING}, {1990, 2000, MAIN, PATH_RUNNING}};
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct made m;
	size_t i;

	add_chain(b);
	fixture_submit(f, b);
	make(f, 2, 2, COUNTED_ALL, true, &m);
	assert_int_equal(m.c.pieces.count, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const struct path_piece *p = &m.c.pieces.at[i];

		assert_int_equal(p->begin_ns, want[i].begin);
		assert_int_equal(p->end_ns, want[i].end);
		assert_int_equal(m.c.threads.at.at[p->thread].tid, want[i].tid);
		assert_int_equal(p->state, want[i].state);
		assert_int_equal(p->evidence, PATH_BY_KERNEL);
	}
	unmake(&m);
}

/* Frame 3 is held by a sleep: what came before it gains nothing, and a timer ended it. */
static void a_sleep_takes_up_what_is_saved(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct maker *maker;
	struct made m;

	add_chain(b);
	maker = maker_new(1, 1, 0, 2010);
	make_begin(maker, 2010, PHYSICS);
	make_end(maker, 2090);
	make_begin(maker, 2100, NOTE);
	make_end(maker, 2700);
	make_chunk(maker, b);
	fixture_submit(f, b);
	make(f, 3, 3, 0, false, &m);
	assert_row(row_of(&m, MAIN, PHYSICS), 80, 0, 80, 0);
	assert_int_equal(row_of(&m, MAIN, NOTE)->ns[PATH_BLOCKED], 500);
	assert_row(row_of(&m, MAIN, NOTE), 90, 10, 600, 600);
	assert_int_equal(m.c.waits_ns[PATH_INTERRUPT], 500);
	assert_int_equal(m.c.waits_ns[PATH_LOST], 0);
	unmake(&m);
}

/* As above, but no two of the frames around are as long, and none is for its waits. */
static void a_sleep_in_uneven_frames_takes_as_long_as_it_took(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct maker *maker;
	struct made m;
	int64_t t = 3000;
	unsigned n;

	add_chain(b);
	for (n = 4; n <= 15; n++) {
		add_frame(b, 1, 0, n, t, t + 800 + n * 50);
		t += 800 + n * 50;
	}
	maker = maker_new(1, 1, 0, 2010);
	make_begin(maker, 2010, PHYSICS);
	make_end(maker, 2090);
	make_begin(maker, 2100, NOTE);
	make_end(maker, 2700);
	make_chunk(maker, b);
	fixture_submit(f, b);
	make(f, 3, 3, 0, false, &m);
	assert_row(row_of(&m, MAIN, PHYSICS), 80, 0, 80, 80);
	assert_row(row_of(&m, MAIN, NOTE), 90, 10, 600, 600);
	unmake(&m);
}

/* Frames are walked each on its own, and the startup frame is left out. */
static void frames_add_up(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct made all, counted;

	add_chain(b);
	fixture_submit(f, b);
	make(f, 1, 3, 0, false, &counted);
	assert_int_equal(counted.c.wall_ns, 2000);
	assert_row(row_of(&counted, B, NOTE), 480, 0, 480, 450);
	assert_int_equal(row_of(&counted, B, NOTE)->frames, 1);
	assert_int_equal(row_of(&counted, MAIN, 0)->frames, 2);
	unmake(&counted);
	make(f, 1, 3, COUNTED_ALL, false, &all);
	assert_int_equal(all.c.wall_ns, 3000);
	assert_int_equal(row_of(&all, MAIN, 0)->frames, 3);
	unmake(&all);
}

/* A is no track of the session: it is known by its number, and by what its waker calls it. */
static void threads_without_a_track_are_there(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	const struct path_row *row;
	struct made m;

	add_chain(b);
	b->tracks.at[1].tid = 99;
	fixture_submit(f, b);
	make(f, 2, 2, 0, false, &m);
	row = row_of(&m, A, 0);
	assert_int_equal(row->node, PATH_NOBODY);
	assert_int_equal(row->self_ns, 150);
	/* all that it did was waited for, zones or not */
	assert_int_equal(row->gain_ns, 150);
	assert_int_equal(row->self_gain_ns, 150);
	assert_string_equal(m.c.threads.at.at[row->thread].comm, "thread");
	assert_int_equal(row_of(&m, B, NOTE)->total_ns, 480);
	unmake(&m);
}

/* The tid of a thread that ended is another's later: each track has its own time. */
static void a_number_that_is_used_again(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct made m;
	int64_t later = 0;
	size_t i;

	add_chain_with(b, 1740, true);
	b->tracks.at[2].tid = A; /* B's zones are of a second A */
	b->tracks.at[2].begin_ticks = 1750;
	b->tracks.at[1].end_ticks = 1750;
	fixture_submit(f, b);
	make(f, 2, 2, 0, false, &m);
	assert_row(row_of(&m, A, PHYSICS), 40 + 35, 5, 80, 80);
	/* outside of zones: up to 1750 on the first one's track, then on the second one's */
	assert_int_equal(row_of(&m, A, 0)->self_ns, 10 + 10);
	for (i = 0; i < m.c.rows.count; i++)
		later += m.c.rows.at[i].node == 2 ? m.c.rows.at[i].self_ns : 0;
	assert_int_equal(later, 50);
	assert_int_equal(row_of(&m, B, 0)->self_ns, 500);
	unmake(&m);
}

/* main waits in wait zones, of which the kernel was not asked. */
static void without_the_scheduler_zones_are_all(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct maker *maker = maker_new(1, 1, 0, 1000);
	struct made m;

	b->markers.at[PHYSICS - 1].kind = FPROF_MARKER_WAIT_GPU;
	b->markers.at[RENDER - 1].kind = FPROF_MARKER_WAIT_CAP;
	make_begin(maker, 1000, UPDATE);
	make_begin(maker, 1100, PHYSICS);
	make_begin(maker, 1150, NOTE); /* inside of a wait it is a wait */
	make_end(maker, 1180);
	make_end(maker, 1200);
	make_begin(maker, 1300, RENDER);
	make_end(maker, 1900);
	make_end(maker, 1950);
	make_chunk(maker, b);
	fixture_submit(f, b);
	make(f, 2, 2, 0, true, &m);
	assert_false(m.c.kernel);
	assert_int_equal(m.c.ns[PATH_GPU], 100);
	assert_int_equal(m.c.ns[PATH_BLOCKED], 600);
	assert_int_equal(m.c.ns[PATH_RUNNING], 300);
	assert_int_equal(row_of(&m, MAIN, NOTE)->ns[PATH_GPU], 30);
	assert_int_equal(m.c.pieces.at[0].evidence, PATH_BY_ZONE);
	/* what is after the limiter is gained, and nothing before */
	assert_int_equal(row_of(&m, MAIN, 0)->self_ns, 50);
	assert_int_equal(row_of(&m, MAIN, UPDATE)->ns[PATH_RUNNING], 250);
	unmake(&m);
}

/* Both have a word: a sleep in the limiter's zone, and running in it. */
static void wait_zones_refine_what_the_kernel_says(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_threads();
	struct maker *maker;
	struct made m;
	size_t i, both = 0;

	b->markers.at[PHYSICS - 1].kind = FPROF_MARKER_WAIT_GPU;
	add_chain(b);
	maker = maker_new(1, 1, 0, 2050);
	make_begin(maker, 2050, PHYSICS);
	make_end(maker, 2700);
	make_chunk(maker, b);
	fixture_submit(f, b);
	make(f, 3, 3, 0, true, &m);
	assert_int_equal(m.c.ns[PATH_GPU], 500);
	assert_int_equal(row_of(&m, MAIN, PHYSICS)->ns[PATH_RUNNING], 50 + 90);
	for (i = 0; i < m.c.pieces.count; i++)
		both += m.c.pieces.at[i].evidence == PATH_BY_BOTH;
	assert_int_equal(both, 3);
	unmake(&m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_chain_has_its_rows),
		TEST(every_row_has_its_gain),
		TEST(threads_without_zones_have_gains),
		TEST(pieces_touch_and_say_who),
		TEST(a_sleep_takes_up_what_is_saved),
		TEST(a_sleep_in_uneven_frames_takes_as_long_as_it_took),
		TEST(frames_add_up),
		TEST(threads_without_a_track_are_there),
		TEST(a_number_that_is_used_again),
		TEST(without_the_scheduler_zones_are_all),
		TEST(wait_zones_refine_what_the_kernel_says),
	};

	return cmocka_run_group_tests_name("critical_range", tests, NULL, NULL);
}
