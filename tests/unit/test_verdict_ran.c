// SPDX-License-Identifier: MIT
/* When readings of what a thread ran tell anything of its frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/util.h"
#include "daemon/verdict_ran.h"

#define MS(n) ((n) * (int64_t)NS_PER_MS)

/* Readings each 100 ms, of a thread that ran 30 ms of each; frames of 10 ms from..to. */
static struct verdict_ran ran_of(int64_t from, int64_t to, int64_t cpu, int64_t frame)
{
	struct verdict_readings r = {0};
	struct verdict_ran ran;
	int64_t t;

	for (t = 0; t <= 300; t += 100) {
		struct history_sample reading = {MS(t), t * 30 / 100};

		assert_int_equal(VEC_PUSH(&r.samples, reading), 0);
	}
	for (t = from; t < to; t += 10) {
		struct history_cpu one = {MS(t), MS(t + 10), MS(cpu)};

		assert_int_equal(VEC_PUSH(&r.frames, one), 0);
	}
	ran = verdict_ran_between(&r, MS(frame), MS(frame + 10));
	verdict_readings_deinit(&r);
	return ran;
}

static void frames_between_two_readings(void **state)
{
	struct verdict_ran ran = ran_of(0, 300, 9, 120);

	(void)state;
	assert_int_equal(ran.window_ns, MS(100));
	assert_int_equal(ran.ran_ns, MS(30));
	assert_int_equal(ran.cpu_ns, MS(90));
	ran = ran_of(0, 300, 9, 190 + 5); /* over a reading */
	assert_int_equal(ran.window_ns, MS(200));
	assert_int_equal(ran.cpu_ns, MS(180));
}

static void a_frame_without_a_reading_after_it(void **state)
{
	(void)state;
	assert_int_equal(ran_of(0, 400, 9, 310).window_ns, 0);
}

/* The thread may have run before it marked its first frame. */
static void what_ran_outside_of_frames_tells_nothing(void **state)
{
	(void)state;
	assert_int_equal(ran_of(150, 300, 9, 160).window_ns, 0);
	assert_int_equal(ran_of(150, 300, 9, 210).window_ns, MS(100));
}

static void less_than_readings_miss_tells_nothing(void **state)
{
	(void)state;
	assert_int_equal(ran_of(0, 300, 1, 120).window_ns, 0);
	assert_int_equal(ran_of(0, 300, 2, 120).window_ns, MS(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_between_two_readings),
		cmocka_unit_test(a_frame_without_a_reading_after_it),
		cmocka_unit_test(what_ran_outside_of_frames_tells_nothing),
		cmocka_unit_test(less_than_readings_miss_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
