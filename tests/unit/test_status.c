// SPDX-License-Identifier: MIT
/* The table of sources and refusals. */
#include "daemon/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
	*state = status_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	status_free(*state);
	return 0;
}

static void test_a_source_is_set_and_replaced(void **state)
{
	static struct status_snapshot s;

	status_source(*state, "gpu", SOURCE_OFF, "not here", "apt install it");
	status_source(*state, "loop", SOURCE_ON, NULL, NULL);
	status_source(*state, "gpu", SOURCE_DEGRADED, "half", NULL);
	status_snapshot(*state, &s);
	assert_int_equal(s.source_count, 2);
	assert_string_equal(s.sources[0].name, "gpu");
	assert_int_equal(s.sources[0].state, SOURCE_DEGRADED);
	assert_string_equal(s.sources[0].reason, "half");
	assert_string_equal(s.sources[0].fix, "");
	assert_string_equal(s.sources[1].name, "loop");
	assert_string_equal(s.sources[1].reason, "");
}

static void test_what_was_said_before_stands(void **state)
{
	static struct status_snapshot s;

	status_source_first(*state, "attach", SOURCE_OFF, "nothing is attached", NULL);
	status_snapshot(*state, &s);
	assert_string_equal(s.sources[0].reason, "nothing is attached");
	status_source(*state, "attach", SOURCE_UNAVAILABLE, "nobody listens", "start it");
	status_source_first(*state, "attach", SOURCE_OFF, "nothing is attached", NULL);
	status_snapshot(*state, &s);
	assert_int_equal(s.source_count, 1);
	assert_int_equal(s.sources[0].state, SOURCE_UNAVAILABLE);
	assert_string_equal(s.sources[0].reason, "nobody listens");
}

static void test_bounds(void **state)
{
	static struct status_snapshot s;
	char text[400], name[32];
	unsigned i;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	status_source(*state, text, SOURCE_ON, text, text);
	status_source(*state, text, SOURCE_OFF, "again", NULL); /* the same one, cut alike */
	for (i = 0; i < STATUS_SOURCES_MAX + 5; i++) {
		snprintf(name, sizeof(name), "%u", i);
		status_source(*state, name, SOURCE_ON, NULL, NULL);
	}
	status_snapshot(*state, &s);
	assert_int_equal(s.source_count, STATUS_SOURCES_MAX);
	assert_int_equal(strlen(s.sources[0].name), sizeof(s.sources[0].name) - 1);
	assert_int_equal(s.sources[0].state, SOURCE_OFF);
	assert_string_equal(s.sources[1].name, "0");
}

static void test_refusals_newest_first_and_counted(void **state)
{
	static struct status_snapshot s;
	struct status_refusal refusal = {.abi_major = 2, .abi_minor = 1};
	int i;

	memset(refusal.reason, 'r', sizeof(refusal.reason)); /* no NUL: must be cut */
	for (i = 1; i <= STATUS_REFUSALS_MAX + 8; i++) {
		refusal.pid = i;
		status_refuse(*state, &refusal);
	}
	status_snapshot(*state, &s);
	assert_int_equal(s.refusals_total, STATUS_REFUSALS_MAX + 8);
	assert_int_equal(s.refusal_count, STATUS_REFUSALS_MAX);
	for (i = 0; i < STATUS_REFUSALS_MAX; i++)
		assert_int_equal(s.refusals[i].pid, STATUS_REFUSALS_MAX + 8 - i);
	assert_int_equal(s.refusals[0].abi_major, 2);
	assert_int_equal(strlen(s.refusals[0].reason), sizeof(refusal.reason) - 1);
}

static void *refuse_many(void *status)
{
	struct status_refusal refusal = {.pid = 1};
	int i;

	for (i = 0; i < 1000; i++) {
		status_refuse(status, &refusal);
		status_source(status, "x", SOURCE_ON, "reason", "fix");
	}
	return NULL;
}

static void test_threads(void **state)
{
	static struct status_snapshot s;
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, refuse_many, *state), 0);
	for (i = 0; i < 100; i++)
		status_snapshot(*state, &s);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	status_snapshot(*state, &s);
	assert_int_equal(s.refusals_total, 4000);
	assert_int_equal(s.source_count, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_a_source_is_set_and_replaced),
		T(test_what_was_said_before_stands),
		T(test_bounds),
		T(test_refusals_newest_first_and_counted),
		T(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
