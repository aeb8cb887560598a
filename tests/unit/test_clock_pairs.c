/* SPDX-License-Identifier: MIT */
/* Times of the kernel's clock in ticks of the rings': how far off they are, and what is said of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/clock_pairs.h"
#include "daemon/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define HZ	 3e9
#define POLL	 10000000u /* ns between two pairs */
#define SLEW	 500e-6	   /* the most that NTP slews by */
#define ERROR_NS 5000u	   /* the most that a time may be off by */

/* A world in which the rings' clock runs at HZ and the kernel's is slewed from a moment on; from
 * another one on the rings' has gone on (or back) by so many ticks while the kernel's stood still.
 */
struct clocks {
	uint64_t slewed_from; /* ns */
	double slew;
	uint64_t stepped_from;
	int64_t step;
};

static uint64_t ticks_at(const struct clocks *c, uint64_t mono)
{
	double ns = (double)MIN(mono, c->slewed_from);

	if (mono > c->slewed_from)
		ns += (double)(mono - c->slewed_from) / (1 + c->slew);
	return (uint64_t)llround(ns * HZ / 1e9) +
	       (c->step && mono >= c->stepped_from ? (uint64_t)c->step : 0);
}

static void put(struct clock_pairs *p, const struct clocks *c, uint64_t mono, uint64_t width)
{
	const struct clock_pair pair = {mono, ticks_at(c, mono), width};

	clock_pairs_put(p, &pair);
}

/* The worst conversion of times between the two newest pairs, in ns. */
static uint64_t worst_between(const struct clock_pairs *p, const struct clocks *c, uint64_t mono)
{
	uint64_t t, ticks, worst = 0;

	for (t = mono - POLL; t <= mono; t += 1000) {
		assert_int_equal(clock_pairs_ticks(p, t, &ticks), 0);
		worst = MAX(worst, (uint64_t)llabs((int64_t)(ticks - ticks_at(c, t))));
	}
	return (uint64_t)((double)worst * 1e9 / HZ);
}

static void a_slew_between_two_pairs_costs_less_than_five_microseconds(void **state)
{
	struct clocks c = {.slew = SLEW};
	struct clock_pairs *p = malloc(sizeof(*p));
	uint64_t mono, worst;
	unsigned part;

	(void)state;
	assert_non_null(p);
	for (part = 0; part <= 10; part++) { /* of the interval in which it begins */
		clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
		c.slewed_from = 20 * (uint64_t)POLL + part * (uint64_t)POLL / 10;
		for (worst = 0, mono = POLL; mono <= 40 * (uint64_t)POLL; mono += POLL) {
			put(p, &c, mono, 100);
			if (p->count >= 2)
				worst = MAX(worst, worst_between(p, &c, mono));
		}
		assert_in_range(worst, 0, ERROR_NS - 1);
		assert_in_range(p->error_ns, worst, ERROR_NS - 1);
	}
	free(p);
}

/* As when a full buffer is read: a reading that is 50 ns off would be 25 us off after 10 ms. */
static void pairs_in_a_burst_are_no_measure_of_the_rate(void **state)
{
	struct clocks c = {.slewed_from = UINT64_MAX};
	struct clock_pairs *p = malloc(sizeof(*p));
	uint64_t mono, t, ticks;
	unsigned i;

	(void)state;
	assert_non_null(p);
	clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
	for (mono = POLL; mono <= 20 * (uint64_t)POLL; mono += POLL) {
		put(p, &c, mono, 100);
		for (i = 1; i <= 3; i++) {
			struct clock_pair pair = {mono + i * 20000, ticks_at(&c, mono + i * 20000),
						  300};

			pair.ticks += i % 2 ? 150 : -150;
			clock_pairs_put(p, &pair);
			for (t = mono; t <= mono + i * 20000; t += 5000) {
				assert_int_equal(clock_pairs_ticks(p, t, &ticks),
						 p->count < 2 ? -ERANGE : 0);
				assert_in_range(ticks + 300 - ticks_at(&c, t), 0, 600);
			}
		}
	}
	assert_in_range(p->error_ns, 50, 1000);
	free(p);
}

/* A suspend: the kernel's clock stands still, the TSC goes on or begins anew. */
static void after_a_step_all_begins_anew(void **state)
{
	const int64_t steps[] = {(int64_t)(3600 * HZ), (int64_t)(0.003 * HZ), -(int64_t)(0.2 * HZ)};
	struct clock_pairs *p = malloc(sizeof(*p));
	uint64_t mono, ticks = 0;
	size_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct clocks c = {.slewed_from = UINT64_MAX,
				   .stepped_from = 205 * (uint64_t)POLL / 10,
				   .step = steps[i]};

		clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
		for (mono = POLL; mono <= 40 * (uint64_t)POLL; mono += POLL) {
			put(p, &c, mono, 100);
			if (mono == 21 * (uint64_t)POLL) { /* neither side of the step is guessed */
				assert_int_equal(p->steps, 1);
				assert_int_equal(clock_pairs_ticks(p, mono - POLL / 4, &ticks),
						 -ERANGE);
				assert_int_equal(clock_pairs_ticks(p, mono, &ticks), -ERANGE);
			} else if (p->count >= 2) {
				assert_in_range(worst_between(p, &c, mono), 0, ERROR_NS - 1);
			}
		}
		assert_int_equal(clock_pairs_ticks(p, 20 * (uint64_t)POLL, &ticks), -ERANGE);
		assert_int_equal(p->steps, 1);
		assert_in_range(p->error_ns, 1, ERROR_NS - 1);
	}
	free(p);
}

/* Hours of a slew that comes and goes: the rate of long ago is not used. */
static void hours_of_slewing_cost_no_more(void **state)
{
	struct clock_pairs *p = malloc(sizeof(*p));
	uint64_t mono, ticks = 0, worst = 0;
	double at = 0, rate;
	unsigned i;

	(void)state;
	assert_non_null(p);
	clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
	for (i = 1, mono = POLL; i <= 2 * 3600 * 100; i++, mono += POLL) {
		double before = at;
		struct clock_pair pair;

		rate = 1 + (i / 4096 % 4 == 0 ? SLEW : i / 4096 % 4 == 2 ? -SLEW : 0);
		at += POLL * rate * HZ / 1e9;
		pair = (struct clock_pair){mono, (uint64_t)llround(at), 100};
		clock_pairs_put(p, &pair);
		if (i < 3)
			continue;
		assert_int_equal(clock_pairs_ticks(p, mono - POLL / 2, &ticks), 0);
		worst = MAX(worst, (uint64_t)llabs((
					   int64_t)(ticks - (uint64_t)llround((before + at) / 2))));
	}
	assert_in_range((uint64_t)((double)worst * 1e9 / HZ), 0, ERROR_NS - 1);
	assert_in_range(p->error_ns, 1, ERROR_NS - 1);
	assert_int_equal(p->steps, 0);
	free(p);
}

static void a_reading_that_took_long_is_said_to_be_worth_less(void **state)
{
	struct clocks c = {.slewed_from = UINT64_MAX};
	struct clock_pairs *p = malloc(sizeof(*p));

	(void)state;
	assert_non_null(p);
	clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
	put(p, &c, POLL, (uint64_t)(HZ / 1e9 * 60));
	assert_in_range(p->error_ns, 29, 31);
	put(p, &c, 2 * (uint64_t)POLL, (uint64_t)(HZ / 1e9 * 20000));
	assert_in_range(p->error_ns, 9999, 10001);
	free(p);
}

static void a_time_after_the_newest_pair_is_not_guessed(void **state)
{
	struct clocks c = {.slewed_from = UINT64_MAX};
	struct clock_pairs *p = malloc(sizeof(*p));
	uint64_t ticks = 0;

	(void)state;
	assert_non_null(p);
	clock_pairs_init(p, FPROF_CLOCK_TSC, HZ);
	put(p, &c, POLL, 100);
	assert_int_equal(clock_pairs_ticks(p, POLL, &ticks), -ERANGE);
	put(p, &c, 2 * (uint64_t)POLL, 100);
	put(p, &c, POLL, 100); /* older: ignored */
	assert_int_equal(clock_pairs_ticks(p, 2 * (uint64_t)POLL, &ticks), 0);
	assert_int_equal(ticks, ticks_at(&c, 2 * (uint64_t)POLL));
	assert_int_equal(clock_pairs_ticks(p, 2 * (uint64_t)POLL + 1, &ticks), -ERANGE);
	assert_int_equal(clock_pairs_ticks(p, POLL / 2, &ticks), 0);
	assert_int_equal(ticks, ticks_at(&c, POLL / 2));
	free(p);
}

static void pairs_read_here_convert_the_time_between_them(void **state)
{
	struct clock_pairs *p = malloc(sizeof(*p));
	enum fprof_clock_kind kind = fprof_clock_choose();
	uint64_t before, mono, after, ticks = 0, slack;
	struct fprof_clock_rate rate;
	unsigned i;

	(void)state;
	assert_non_null(p);
	fprof_clock_measure(kind, 1000000, &rate);
	clock_pairs_init(p, kind, rate.hz);
	for (i = 0; i < 3 * CLOCK_PAIRS; i++) { /* the ring goes round */
		clock_pairs_take(p);
		before = fprof_clock_read(kind);
		mono = clock_ns(CLOCK_MONOTONIC);
		after = fprof_clock_read(kind);
		clock_pairs_take(p);
		assert_int_equal(clock_pairs_ticks(p, mono, &ticks), 0);
		slack = (uint64_t)((double)p->error_ns * rate.hz / 1e9) + 1;
		assert_in_range(ticks, before - slack, after + slack);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slew_between_two_pairs_costs_less_than_five_microseconds),
		cmocka_unit_test(pairs_in_a_burst_are_no_measure_of_the_rate),
		cmocka_unit_test(after_a_step_all_begins_anew),
		cmocka_unit_test(hours_of_slewing_cost_no_more),
		cmocka_unit_test(a_reading_that_took_long_is_said_to_be_worth_less),
		cmocka_unit_test(a_time_after_the_newest_pair_is_not_guessed),
		cmocka_unit_test(pairs_read_here_convert_the_time_between_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
