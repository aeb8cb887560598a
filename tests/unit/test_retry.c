/* SPDX-License-Identifier: MIT */
/* When something that failed is tried again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/retry.h"

#define SECOND UINT64_C(1000000000)

/* Fails as soon as it may: after how long it may again. */
static uint64_t fail_at_once(struct retry *r, uint64_t *now)
{
	uint64_t before = *now;

	assert_true(retry_is_due(r, *now));
	retry_later(r, *now);
	*now = r->at;
	assert_false(retry_is_due(r, *now - 1));
	return *now - before;
}

static void what_fails_is_tried_soon_and_then_ever_later(void **state)
{
	struct retry r = {0};
	uint64_t now = 5 * SECOND, sum = 0, wait = 0;
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		sum += fail_at_once(&r, &now);
	assert_true(sum < 4 * SECOND);
	for (i = 0; i < 20; i++)
		wait = fail_at_once(&r, &now);
	assert_int_equal(wait, RETRY_MAX_NS);
}

static void what_ends_as_soon_as_it_serves_has_failed(void **state)
{
	struct retry r = {0};
	uint64_t now = 5 * SECOND, wait = 0;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		retry_serves(&r, now);
		wait = fail_at_once(&r, &now);
	}
	assert_int_equal(wait, RETRY_MAX_NS);
	retry_serves(&r, now);
	now += RETRY_MAX_NS;
	assert_int_equal(fail_at_once(&r, &now), RETRY_MIN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_is_tried_soon_and_then_ever_later),
		cmocka_unit_test(what_ends_as_soon_as_it_serves_has_failed),
	};

	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
