/* SPDX-License-Identifier: MIT */
/* One user's places are bounded, and what it does is nothing to the others. */
#include "daemon/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void one_user_cannot_take_all_places(void **state)
{
	struct places p;
	int i;

	(void)state;
	places_init(&p);
	for (i = 0; i < 3; i++)
		assert_true(places_take(&p, 1000, 3));
	assert_false(places_take(&p, 1000, 3));
	assert_true(places_take(&p, 1001, 3));
	places_give_back(&p, 1000);
	assert_true(places_take(&p, 1000, 3));
	assert_false(places_take(&p, 1000, 3));
	for (i = 0; i < 3; i++)
		places_give_back(&p, 1000);
	assert_int_equal(p.users.count, 1);
	assert_int_equal(p.users.at[0].uid, 1001);
	places_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_cannot_take_all_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
