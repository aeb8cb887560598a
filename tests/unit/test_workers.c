/* SPDX-License-Identifier: MIT */
/* Threads for slow requests: one user never has all, and none is to be had after the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/workers.h"

#include <unistd.h>

static void one_user_leaves_one_to_others(void **state)
{
	struct workers w;
	unsigned i;

	(void)state;
	workers_init(&w);
	for (i = 0; i < WORKERS_UID; i++)
		assert_true(workers_take(&w, 1));
	assert_false(workers_take(&w, 1));
	assert_true(workers_take(&w, 2));
	assert_false(workers_take(&w, 3));
	workers_give_back(&w, 1);
	assert_true(workers_take(&w, 3));
	for (i = 1; i < WORKERS_UID; i++)
		workers_give_back(&w, 1);
	workers_give_back(&w, 2);
	workers_give_back(&w, 3);
	workers_deinit(&w);
}

struct closer {
	struct workers w;
	bool ended;
};

static void *close_it(void *userdata)
{
	struct closer *c = userdata;

	workers_close(&c->w);
	__atomic_store_n(&c->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* While the last one still answers, or has only given its place back, and after it. */
static void none_is_to_be_had_after_the_end(void **state)
{
	struct closer c = {.ended = false};
	pthread_t thread;

	(void)state;
	workers_init(&c.w);
	assert_true(workers_take(&c.w, 1));
	assert_int_equal(pthread_create(&thread, NULL, close_it, &c), 0);
	while (workers_take(&c.w, 2)) { /* until it is closed */
		workers_give_back(&c.w, 2);
		workers_leave(&c.w);
		usleep(100);
	}
	assert_false(__atomic_load_n(&c.ended, __ATOMIC_ACQUIRE));
	workers_give_back(&c.w, 1);
	usleep(1000);
	assert_false(__atomic_load_n(&c.ended, __ATOMIC_ACQUIRE));
	workers_leave(&c.w);
	pthread_join(thread, NULL);
	assert_true(c.ended);
	assert_false(workers_take(&c.w, 1));
	workers_deinit(&c.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_leaves_one_to_others),
		cmocka_unit_test(none_is_to_be_had_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
