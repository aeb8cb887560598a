/* SPDX-License-Identifier: MIT */
/* When a game was loading: steps in any order, asked for by time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/loading.h"

static void by_time_the_last_step_counts(void **state)
{
	struct loading l = {0};

	(void)state;
	assert_false(loading_within(&l, 0, 1000));
	assert_int_equal(loading_put(&l, 300, false), 0);
	assert_int_equal(loading_put(&l, 100, true), 0);
	assert_false(loading_within(&l, 0, 100));
	assert_true(loading_within(&l, 0, 101));
	assert_true(loading_within(&l, 100, 200));
	assert_true(loading_within(&l, 200, 250));
	assert_true(loading_within(&l, 250, 400));
	assert_false(loading_within(&l, 300, 400));
	loading_deinit(&l);
}

static void what_is_over_is_forgotten(void **state)
{
	struct loading l = {0};

	(void)state;
	loading_put(&l, 100, true);
	loading_put(&l, 300, false);
	loading_prune(&l, 200);
	assert_int_equal(l.steps.count, 1);
	assert_true(loading_within(&l, 200, 250));
	assert_false(loading_within(&l, 300, 350));
	loading_prune(&l, 1000);
	assert_int_equal(l.steps.count, 0);
	assert_false(loading_within(&l, 1000, 2000));
	loading_deinit(&l);
}

static void a_game_that_says_it_without_end_is_bounded(void **state)
{
	struct loading l = {0};
	int64_t i;

	(void)state;
	for (i = 0; i < 3 * (int64_t)LOADING_STEPS_MAX; i++)
		assert_int_equal(loading_put(&l, i, i % 2 == 0), 0);
	assert_true(l.steps.count <= LOADING_STEPS_MAX);
	assert_true(loading_within(&l, i - 2, i - 1));
	assert_false(loading_within(&l, i, i + 5));
	loading_deinit(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_time_the_last_step_counts),
		cmocka_unit_test(what_is_over_is_forgotten),
		cmocka_unit_test(a_game_that_says_it_without_end_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
