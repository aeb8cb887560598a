/* SPDX-License-Identifier: MIT */
/* What held frames back, of chunks made by hand: without the kernel, unless a test says otherwise.
 */
#include "store_fixture.h"

#include "daemon/verdict_range.h"

#define FRAME_NS INT64_C(10000000) /* of each frame */
#define WAIT	 4		   /* marker of a frame limiter's wait */

/* Frames 1..count of session 1; marker WAIT waits for a limiter. */
static struct batch *frames(unsigned count)
{
	struct batch *b = first_batch(1, 1);
	unsigned n;

	b->markers.at[WAIT - 1].kind = FPROF_MARKER_WAIT_CAP;
	for (n = 1; n <= count; n++)
		add_frame(b, 1, 0, n, (n - 1) * FRAME_NS, n * FRAME_NS);
	return b;
}

/* The frames from..to as they are judged; kept_from: their events are gone before this index. */
static void judge(struct fixture *f, uint64_t from, uint64_t to, size_t kept_from,
		  verdicts_vec *ret_verdicts)
{
	const struct range_query query = {.from = from, .to = to};
	struct displays displays;
	struct range range;
	verdicts_vec verdicts;

	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	verdict_displays(&range, &displays);
	if (kept_from > 0) {
		range.kept_from = kept_from;
		range.events_t0 = kept_from < range.frames.frames.count
					  ? range.frames.frames.at[kept_from].row.t0
					  : range.t1;
	}
	assert_int_equal(verdict_range(f->history, &range, &displays, &verdicts), 0);
	assert_int_equal(verdicts.count, range.frames.frames.count);
	*ret_verdicts = verdicts;
	range_close(&range);
}

static void frames_whose_events_are_gone_are_judged_by_their_rows(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(5);
	verdicts_vec v;

	b->frames.at[1].wait_cap_ns = FRAME_NS * 3 / 4;
	b->frames.at[1].cpu_ns = FRAME_NS / 4;
	b->frames.at[2].cpu_ns = NS_UNKNOWN;
	fixture_submit(f, b);
	judge(f, 2, 4, 2, &v);
	assert_int_equal(v.at[0].events, EVENTS_GONE);
	assert_int_equal(v.at[0].ns[PART_CAP], FRAME_NS * 3 / 4);
	assert_int_equal(v.at[0].ns[PART_CPU], FRAME_NS / 4);
	assert_int_equal(v.at[0].bound, BOUND_CAP);
	assert_non_null(strstr(v.at[0].sentence, "Its events are gone, only its row is left."));
	assert_int_equal(v.at[1].events, EVENTS_GONE);
	assert_int_equal(v.at[1].ns[PART_UNKNOWN], FRAME_NS);
	assert_int_equal(v.at[1].bound, BOUND_UNKNOWN);
	assert_int_equal(v.at[2].events, EVENTS_COMPLETE);
	assert_int_equal(v.at[2].ns[PART_CPU], FRAME_NS);
	assert_int_equal(v.at[2].bound, BOUND_CPU);
	VEC_FREE(&v);
}

static void frames_that_were_not_all_recorded_are_not_cpu(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct maker *m = maker_new(1, 1, 0, FRAME_NS);
	verdicts_vec v;

	b->frames.at[1].cpu_ns = NS_UNKNOWN;
	make_begin(m, FRAME_NS + 1000, WAIT);
	make_end(m, FRAME_NS + 3000);
	make_chunk(m, b);
	fixture_submit(f, b);
	judge(f, 2, 3, 0, &v);
	assert_int_equal(v.at[0].events, EVENTS_PARTIAL);
	assert_int_equal(v.at[0].ns[PART_CAP], 2000);
	assert_int_equal(v.at[0].ns[PART_UNKNOWN], FRAME_NS - 2000);
	assert_int_equal(v.at[0].ns[PART_CPU], 0);
	assert_int_equal(v.at[1].ns[PART_CPU], FRAME_NS);
	VEC_FREE(&v);
}

static void lost_events_lower_the_confidence(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(3);
	verdicts_vec v;

	b->frames.at[1].flags |= FRAME_LOST_EVENTS;
	fixture_submit(f, b);
	judge(f, 2, 3, 0, &v);
	assert_int_equal(v.at[0].events, EVENTS_LOST);
	assert_int_equal(v.at[0].bound, BOUND_CPU);
	assert_true(v.at[0].confidence == v.at[1].confidence * VERDICT_DOUBT);
	assert_non_null(strstr(v.at[0].sentence, "Events of its time were lost."));
	assert_null(strstr(v.at[1].sentence, "lost"));
	VEC_FREE(&v);
}

/* A wait over several frames, and one within: each has its own share of them. */
static void waits_are_shared_out_over_frames(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(5);
	struct maker *m = maker_new(1, 1, 0, FRAME_NS + 1000);
	verdicts_vec v;

	make_begin(m, FRAME_NS + 1000, WAIT);
	make_end(m, 3 * FRAME_NS + 500);
	make_begin(m, 3 * FRAME_NS + 700, WAIT);
	make_end(m, 3 * FRAME_NS + 900);
	make_chunk(m, b);
	fixture_submit(f, b);
	judge(f, 1, 5, 0, &v);
	assert_int_equal(v.at[0].ns[PART_CAP], 0);
	assert_int_equal(v.at[1].ns[PART_CAP], FRAME_NS - 1000);
	assert_int_equal(v.at[2].ns[PART_CAP], FRAME_NS);
	assert_int_equal(v.at[3].ns[PART_CAP], 700);
	assert_int_equal(v.at[4].ns[PART_CAP], 0);
	VEC_FREE(&v);
}

/* The kernel was asked and told nothing: a zone that waits is believed all the same. */
static void a_wait_that_nobody_heard_of_rests_on_its_zone(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(3);
	struct maker *m = maker_new(1, 1, 0, FRAME_NS);
	verdicts_vec v;

	make_begin(m, FRAME_NS, WAIT);
	make_end(m, 2 * FRAME_NS);
	make_chunk(m, b);
	PUSH(&b->scheds, (struct sched_row){.session = 1});
	fixture_submit(f, b);
	judge(f, 1, 3, 0, &v);
	assert_int_equal(v.at[0].ns[PART_UNKNOWN], FRAME_NS);
	assert_int_equal(v.at[0].unheard_ns, FRAME_NS);
	assert_int_equal(v.at[1].evidence[PART_CAP].zone_ns, FRAME_NS);
	assert_int_equal(v.at[1].unheard_ns, 0);
	assert_false(v.at[1].kernel);
	VEC_FREE(&v);
}

/* Frames 1..5 of 10 ms, of which the third takes as long as told; all wait for the limiter. */
static void paced(struct fixture *f, int64_t third, struct verdict *ret_verdict)
{
	struct batch *b = frames(0);
	struct maker *m = maker_new(1, 1, 0, 0);
	verdicts_vec v;
	int64_t t = 0;
	unsigned n;

	for (n = 1; n <= 5; n++) {
		int64_t end = t + (n == 3 ? third : FRAME_NS);

		add_frame(b, 1, 0, n, t, end);
		make_begin(m, t + 1000, WAIT);
		make_end(m, end - 1000);
		t = end;
	}
	make_chunk(m, b);
	fixture_submit(f, b);
	judge(f, 3, 3, 0, &v);
	*ret_verdict = v.at[0];
	VEC_FREE(&v);
}

static void a_paced_frame_is_only_as_usual_if_it_is(void **state)
{
	struct fixture *f = *state;
	struct verdict v;

	paced(f, 13000000, &v);
	assert_int_equal(v.usual_ns, FRAME_NS);
	assert_int_equal(v.bound, BOUND_CAP);
	assert_non_null(
		strstr(v.sentence, "the frame took 13.00 ms, longer than usual (10.00 ms)."));
}

static void a_paced_frame_within_a_tenth_is_as_usual(void **state)
{
	struct fixture *f = *state;
	struct verdict v;

	paced(f, 10900000, &v);
	assert_int_equal(v.bound, BOUND_CAP);
	assert_non_null(strstr(v.sentence, "the frame took 10.90 ms, as usual (10.00 ms)."));
}

/* update(physics(note waits) render): render is innermost longest outside of the wait. */
static void a_cpu_verdict_names_the_zone_with_the_most_self_time(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(4);
	struct maker *m = maker_new(1, 1, 0, FRAME_NS);
	const int64_t t = FRAME_NS;
	verdicts_vec v;

	make_begin(m, t + 100, 1);
	make_begin(m, t + 200, 2);
	make_begin(m, t + 300, WAIT);
	make_begin(m, t + 300, 2);
	make_end(m, t + 200300);
	make_end(m, t + 200300);
	make_end(m, t + 200400);
	make_begin(m, t + 200500, 3);
	make_end(m, 2 * t + 1000000); /* 1 ms of it is the next frame's */
	make_end(m, 2 * t + 3000000);
	/* Whatever is in a wait, it waits. */
	make_begin(m, 3 * t, WAIT);
	make_begin(m, 3 * t, 2);
	make_end(m, 3 * t + 6000000);
	make_end(m, 3 * t + 6000000);
	make_begin(m, 3 * t + 6000000, 3);
	make_end(m, 3 * t + 9000000);
	make_chunk(m, b);
	fixture_submit(f, b);
	judge(f, 2, 4, 0, &v);
	assert_int_equal(v.at[0].bound, BOUND_CPU);
	assert_int_equal(v.at[0].zone_ns, 2 * t - (t + 200500));
	assert_non_null(strstr(v.at[0].sentence, "; 9.80 ms passed in render."));
	assert_int_equal(v.at[1].zone_ns, 2000000);
	assert_non_null(strstr(v.at[1].sentence, "; 2.00 ms passed in update."));
	assert_int_equal(v.at[2].zone_ns, 3000000);
	VEC_FREE(&v);
}

/* The 60 frames on both sides, and nothing of what is further away. */
static void usual_is_told_by_the_range_and_its_margins(void **state)
{
	struct fixture *f = *state;
	struct batch *b = frames(0);
	verdicts_vec v;
	int64_t t = 0, ns;
	unsigned n;

	for (n = 1; n <= 300; n++) {
		ns = n < 90 || n > 211 ? 1000 : n <= 150 ? 3000 : 5000;
		add_frame(b, 1, 0, n, t, t + ns);
		t += ns;
	}
	fixture_submit(f, b);
	judge(f, 150, 151, 0, &v);
	assert_int_equal(v.at[0].usual_ns, 3000); /* 61 of 3000, 61 of 5000 */
	VEC_FREE(&v);
	judge(f, 152, 152, 0, &v);
	assert_int_equal(v.at[0].usual_ns, 5000); /* 59 of 3000, 60 of 5000, 1 of 1000 */
	VEC_FREE(&v);
	judge(f, 1, 1, 0, &v);
	assert_int_equal(v.at[0].usual_ns, 1000);
	VEC_FREE(&v);
}

#define MAIN   42
#define HOLDER 43

/* In frame 2 main waits for HOLDER twice, 3 ms until it wakes it at 4 ms and 1 ms until 9 ms. */
static struct batch *two_waits(void)
{
	const int64_t t = FRAME_NS, ms = 1000000;
	const struct sched_who holder = {.tid = HOLDER, .tgid = 1, .comm = "comm"};
	const struct sched_record of_main[] = {
		{.kind = SCHED_RUN, .t = 0},
		{.kind = SCHED_BLOCK, .t = t + ms, .reason = WAIT_LOCK},
		{.kind = SCHED_WAKE, .t = t + 4 * ms, .who = holder},
		{.kind = SCHED_RUN, .t = t + 4 * ms + 1000},
		{.kind = SCHED_BLOCK, .t = t + 6 * ms, .reason = WAIT_LOCK},
		{.kind = SCHED_WAKE, .t = t + 9 * ms, .who = holder},
		{.kind = SCHED_RUN, .t = t + 9 * ms + 1000},
		{.kind = SCHED_BLOCK, .t = 3 * t - 1, .reason = WAIT_SLEEP},
	};
	struct batch *b = frames(3);

	add_track(b, 1, 2, "holder");
	b->tracks.at[0].tid = MAIN;
	b->tracks.at[1].tid = HOLDER;
	add_schedule(b, MAIN, of_main, ARRAY_SIZE(of_main));
	return b;
}

/* The holder's zones: update from 1 to 8 ms, physics in it from 2 to 5 ms, render from 8 ms on. */
static void add_holders_zones(struct batch *b, int64_t physics_begin, int64_t physics_end)
{
	const int64_t t = FRAME_NS, ms = 1000000;
	struct maker *m = maker_new(1, 2, 1, t);

	make_begin(m, t + ms, 1);
	make_begin(m, t + physics_begin, 2);
	make_end(m, t + physics_end);
	make_end(m, t + 8 * ms);
	make_begin(m, t + 8 * ms, 3);
	make_end(m, t + 9 * ms + 1000);
	make_chunk(m, b);
}

static void assert_let_go(struct fixture *f, const char *said)
{
	verdicts_vec v;

	judge(f, 2, 2, 0, &v);
	assert_int_equal(v.at[0].bound, BOUND_LOCK);
	assert_int_equal(v.at[0].let_go.ns, 6000000);
	assert_non_null(strstr(v.at[0].sentence, said));
	VEC_FREE(&v);
}

/* Of two waits as long the first one's; and begins and ends are told apart to the tick. */
static void who_lets_go_of_a_lock_does_so_in_a_zone(void **state)
{
	static const struct {
		int64_t begin, end; /* of physics */
		const char *said;
	} cases[] = {
		{2000000, 5000000, "until holder let go of it in physics."},
		{4000000, 5000000, "until holder let go of it in physics."},
		{4000001, 5000000, "until holder let go of it in update."},
		{2000000, 4000000, "until holder let go of it in update."},
	};
	struct fixture *f = *state;
	struct batch *b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (i > 0) {
			fixture_teardown(state);
			fixture_setup(state);
			f = *state;
		}
		b = two_waits();
		add_holders_zones(b, cases[i].begin, cases[i].end);
		fixture_submit(f, b);
		assert_let_go(f, cases[i].said);
	}
}

static void who_lets_go_outside_of_zones_or_unrecorded_has_none(void **state)
{
	struct fixture *f = *state;

	fixture_submit(f, two_waits());
	assert_let_go(f, "until holder let go of it.");
}

static void what_was_lost_as_it_let_go_is_not_told(void **state)
{
	struct fixture *f = *state;
	struct batch *b = two_waits();

	add_holders_zones(b, 2000000, 5000000);
	PUSH(&b->gaps, (struct gap_row){.session = 1,
					.track = 2,
					.lane = 1,
					.t0 = FRAME_NS + 3900000,
					.t1 = FRAME_NS + 4100000,
					.events = 2});
	fixture_submit(f, b);
	assert_let_go(f, "until holder let go of it.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_whose_events_are_gone_are_judged_by_their_rows),
		TEST(frames_that_were_not_all_recorded_are_not_cpu),
		TEST(lost_events_lower_the_confidence),
		TEST(waits_are_shared_out_over_frames),
		TEST(a_wait_that_nobody_heard_of_rests_on_its_zone),
		TEST(a_paced_frame_is_only_as_usual_if_it_is),
		TEST(a_paced_frame_within_a_tenth_is_as_usual),
		TEST(a_cpu_verdict_names_the_zone_with_the_most_self_time),
		TEST(usual_is_told_by_the_range_and_its_margins),
		TEST(who_lets_go_of_a_lock_does_so_in_a_zone),
		TEST(who_lets_go_outside_of_zones_or_unrecorded_has_none),
		TEST(what_was_lost_as_it_let_go_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
