// SPDX-License-Identifier: MIT
/* Orders of live sessions: states, consumers, levels of detail, and the pages that carry them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/control_set.h"
#include "daemon/history.h"
#include "daemon/near.h"

#include <errno.h>
#include <string.h>

#define SESSION 5u
#define OWNER	1000u
#define SECOND	UINT64_C(1000000000)

static struct control_set *set_of(bool on_demand)
{
	struct control_set *set;

	assert_int_equal(control_set_new(on_demand, &set), 0);
	return set;
}

static struct control *add(struct control_set *set, bool tells,
			   const struct session_update_row *last)
{
	struct control *control = malloc(sizeof(*control));

	assert_non_null(control);
	assert_int_equal(control_new(SESSION, control), 0);
	assert_int_equal(control_set_add(set, control, SESSION, OWNER, tells, last), 0);
	return control;
}

static struct control_view view(struct control_set *set)
{
	struct control_view v;

	assert_int_equal(control_set_view(set, SESSION, &v), 0);
	return v;
}

static const struct fprof_detail *area(const struct control *control)
{
	return (const void *)((const uint8_t *)control->page + FPROF_CONTROL_BYTES);
}

static void test_states_go_from_stopped_to_recording_to_frozen(void **state)
{
	struct control_set *set = set_of(false);
	struct control *control = add(set, true, NULL);
	uint32_t generation = control->page->generation;

	(void)state;
	assert_int_equal(control->page->record_state, FPROF_STATE_RECORDING);
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_FROZEN), 0);
	assert_int_equal(control->page->record_state, FPROF_STATE_FROZEN);
	assert_int_equal(control->page->generation, generation + 1);
	assert_int_equal(view(set).ordered, FPROF_STATE_FROZEN);
	assert_int_equal(view(set).in_force, FPROF_STATE_RECORDING);
	control_set_in_force(set, SESSION, FPROF_STATE_FROZEN, 77);
	assert_int_equal(view(set).in_force, FPROF_STATE_FROZEN);
	assert_int_equal(view(set).frame, 77);
	control_set_cleared(set, SESSION);
	assert_int_equal(control->page->record_state, FPROF_STATE_STOPPED);
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_FROZEN), -EINVAL);
	assert_int_equal(control->page->record_state, FPROF_STATE_STOPPED);
	control_set_cleared(set, SESSION);
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_RECORDING), 0);
	control_set_cleared(set, SESSION);
	assert_int_equal(control->page->record_state, FPROF_STATE_RECORDING);
	assert_int_equal(control_set_record(set, 6, FPROF_STATE_STOPPED), -ENOENT);
	control_free(control);
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_STOPPED), -ENOENT);
	control_set_free(set);
}

/* Clients of minor version 0 take orders over without a word. */
static void test_clients_that_do_not_tell_are_believed(void **state)
{
	struct control_set *set = set_of(false);
	struct control *control = add(set, false, NULL);

	(void)state;
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_STOPPED), 0);
	assert_int_equal(view(set).in_force, FPROF_STATE_STOPPED);
	control_free(control);
	control_set_free(set);
}

static void test_on_demand_records_while_a_consumer_holds(void **state)
{
	struct control_set *set = set_of(true);
	struct consumers *consumers = control_set_consumers(set);
	struct control *control = add(set, true, NULL);
	uint64_t mine, others, all;

	(void)state;
	assert_int_equal(control->page->record_state, FPROF_STATE_STOPPED);
	assert_true(view(set).waits);
	others = consumers_stream_begin(consumers, SESSION + 1, OWNER);
	all = consumers_stream_begin(consumers, 0, OWNER + 1);
	assert_int_equal(control_set_update(set), 0);
	assert_int_equal(control->page->record_state, FPROF_STATE_STOPPED);
	mine = consumers_stream_begin(consumers, SESSION, OWNER);
	assert_int_equal(control_set_update(set), 1);
	assert_int_equal(control->page->record_state, FPROF_STATE_RECORDING);
	assert_int_equal(view(set).consumers, 1);
	assert_int_equal(control_set_record(set, SESSION, FPROF_STATE_FROZEN), 0);
	assert_int_equal(control->page->record_state, FPROF_STATE_FROZEN);
	consumers_stream_end(consumers, mine);
	control_set_update(set);
	assert_int_equal(control->page->record_state, FPROF_STATE_FROZEN);
	assert_false(view(set).waits);
	consumers_stream_end(consumers, others);
	consumers_stream_end(consumers, all);
	control_free(control);
	control_set_free(set);
}

static void test_leases_end_by_time_and_are_their_users(void **state)
{
	struct consumers *consumers;
	struct consumer one, renewed;

	(void)state;
	assert_int_equal(consumers_new(&consumers), 0);
	assert_int_equal(consumers_take(consumers, SESSION, OWNER, 10, 0, &one), 0);
	assert_int_equal(strlen(one.token), CONSUMER_TOKEN_CHARS);
	assert_int_equal(consumers_of(consumers, SESSION, OWNER, 9 * SECOND), 1);
	assert_int_equal(consumers_of(consumers, SESSION + 1, OWNER, 9 * SECOND), 0);
	assert_int_equal(consumers_renew(consumers, one.token, OWNER + 1, 10, 9 * SECOND, &renewed),
			 -ENOENT);
	assert_int_equal(consumers_renew(consumers, one.token, OWNER, 10, 9 * SECOND, &renewed), 0);
	assert_int_equal(renewed.until_ns, 19 * SECOND);
	assert_int_equal(consumers_of(consumers, SESSION, OWNER, 19 * SECOND - 1), 1);
	assert_int_equal(consumers_of(consumers, SESSION, OWNER, 19 * SECOND), 0);
	assert_int_equal(consumers_renew(consumers, one.token, OWNER, 10, 19 * SECOND, &renewed),
			 -ENOENT);
	assert_int_equal(consumers_take(consumers, SESSION, HISTORY_ANY_UID, 10, 0, &one), 0);
	assert_int_equal(consumers_of(consumers, SESSION, OWNER, 0), 1);
	assert_int_equal(consumers_release(consumers, one.token, OWNER, 0), -ENOENT);
	assert_int_equal(consumers_release(consumers, one.token, HISTORY_ANY_UID, 0), 0);
	assert_int_equal(consumers_release(consumers, one.token, HISTORY_ANY_UID, 0), -ENOENT);
	consumers_free(consumers);
}

static void test_one_user_cannot_take_all_places(void **state)
{
	struct consumers *consumers;
	struct consumer one;
	unsigned i;

	(void)state;
	assert_int_equal(consumers_new(&consumers), 0);
	for (i = 0; i < CONSUMERS_UID; i++)
		assert_int_equal(consumers_take(consumers, SESSION, OWNER, 10, 0, &one), 0);
	assert_int_equal(consumers_take(consumers, SESSION, OWNER, 10, 0, &one), -EUSERS);
	assert_int_equal(consumers_take(consumers, SESSION, OWNER + 1, 10, 0, &one), 0);
	assert_int_equal(consumers_take(consumers, SESSION, OWNER, 10, 10 * SECOND, &one), 0);
	consumers_free(consumers);
}

#define PATH(...)                                     \
	((struct detail_path){.names = {__VA_ARGS__}, \
			      .count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)})

static void test_an_own_level_and_an_inherited_one_are_told_apart(void **state)
{
	const struct detail_path frame = PATH("main", "frame"), below = PATH("main", "frame", "x"),
				 other = PATH("main", "x"), root = {.count = 0};
	struct detail_set set = {0};
	struct detail_reading r;

	(void)state;
	assert_int_equal(detail_set_level(&set, &frame, 1), 0);
	detail_set_read(&set, &frame, &r);
	assert_int_equal(r.own, 1);
	assert_int_equal(r.in_force, 1);
	detail_set_read(&set, &below, &r);
	assert_int_equal(r.own, DETAIL_CLEAR);
	assert_int_equal(r.in_force, 1);
	assert_int_equal(r.from->count, 2);
	detail_set_read(&set, &other, &r);
	assert_int_equal(r.in_force, FPROF_LEVEL_INNER);
	assert_null(r.from);
	assert_int_equal(detail_set_level(&set, &root, 0), 0);
	detail_set_read(&set, &other, &r);
	assert_int_equal(r.in_force, 0);
	assert_int_equal(r.from->count, 0);
	assert_int_equal(detail_set_level(&set, &frame, DETAIL_CLEAR), 0);
	detail_set_read(&set, &below, &r);
	assert_int_equal(r.in_force, 0);
	detail_set_deinit(&set);
}

static void test_a_text_is_the_set_that_it_was_made_of(void **state)
{
	const struct detail_path odd = PATH("m\"ain", "a/b", "\xc3\xa9"), root = {.count = 0};
	struct detail_set set = {0}, again, none;
	char *text, *second;

	(void)state;
	assert_int_equal(detail_set_level(&set, &odd, 2), 0);
	assert_int_equal(detail_set_level(&set, &root, 1), 0);
	assert_int_equal(detail_set_mask(&set, "phy\nsics", true), 0);
	text = detail_set_text(&set);
	assert_int_equal(detail_set_parse(text, &again), 0);
	second = detail_set_text(&again);
	assert_string_equal(text, second);
	assert_true(detail_set_is_masked(&again, "phy\nsics"));
	assert_false(again.allocations);
	assert_int_equal(detail_set_parse("{\"levels\": [{\"path\": [1], \"level\": 1}, 7, "
					  "{\"path\": [\"a\"], \"level\": 9}], \"masks\": [3]}",
					  &none),
			 0);
	assert_int_equal(none.nodes.count + none.masks.count, 0);
	assert_int_equal(detail_set_parse("{nonsense", &none), 0);
	assert_int_equal(detail_set_parse(NULL, &none), 0);
	free(text);
	free(second);
	detail_set_deinit(&set);
	detail_set_deinit(&again);
}

static void test_sets_are_bounded(void **state)
{
	struct detail_set set = {0};
	char name[16];
	unsigned i;

	(void)state;
	for (i = 0; i <= DETAIL_NODES_MAX; i++) {
		struct detail_path path = {.names = {name}, .count = 1};

		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(detail_set_level(&set, &path, 1),
				 i < DETAIL_NODES_MAX ? 0 : -ENOSPC);
		assert_int_equal(detail_set_mask(&set, name, true),
				 i < DETAIL_MASKS_MAX ? 0 : -ENOSPC);
	}
	detail_set_deinit(&set);
}

static void test_the_page_has_what_was_ordered(void **state)
{
	const struct detail_path frame = PATH("main", "frame"), root = {.count = 0};
	struct session_update_row row = {0}, last = {.record = FPROF_STATE_FROZEN,
						     .record_in_force = FPROF_STATE_FROZEN};
	struct control_set *set = set_of(false);
	struct control *control = add(set, true, NULL);
	uint64_t version = 0;
	uint32_t seq;

	(void)state;
	assert_int_equal(control_set_level(set, SESSION, &frame, 1), 0);
	assert_int_equal(control_set_level(set, SESSION, &root, 0), 0);
	assert_int_equal(control_set_mask(set, SESSION, "physics", true), 0);
	assert_int_equal(control_set_allocations(set, SESSION, true), 0);
	assert_int_equal(control_set_sampling_hz(set, SESSION), -1);
	assert_int_equal(control_set_sampling(set, SESSION, 997), 0);
	assert_int_equal(control->page->flags, FPROF_CONTROL_ALLOCATIONS);
	assert_int_equal(control->page->gate, 1);
	assert_int_equal(area(control)->rule_count, 1);
	assert_int_equal(area(control)->rules[0].count, 2);
	assert_int_equal(area(control)->rules[0].gate, 2);
	assert_true(area(control)->rules[0].names[1] == fprof_name_hash("frame", 5));
	assert_int_equal(area(control)->mask_count, 1);
	seq = area(control)->seq;
	assert_int_equal(seq % 2, 0);
	control_set_fill(set, SESSION, &row, &version);
	assert_non_null(row.detail);
	last.detail = row.detail;
	row.detail = NULL;
	control_set_fill(set, SESSION, &row, &version);
	assert_null(row.detail); /* nothing new */
	control_free(control);
	/* as a daemon that resumes the session has it */
	control = add(set, true, &last);
	assert_int_equal(control->page->record_state, FPROF_STATE_FROZEN);
	assert_int_equal(control->page->gate, 1);
	assert_int_equal(area(control)->rule_count, 1);
	assert_int_equal(area(control)->mask_count, 1);
	assert_int_equal(control->page->flags, FPROF_CONTROL_ALLOCATIONS);
	assert_true(view(set).allocations);
	assert_int_equal(control_set_sampling_hz(set, SESSION), 997);
	assert_int_equal(view(set).in_force, FPROF_STATE_FROZEN);
	free(last.detail);
	control_free(control);
	control_set_free(set);
}

static void test_near_names_come_nearest_first(void **state)
{
	struct near near = {0};

	(void)state;
	assert_int_equal(near_distance("render", "render"), 0);
	assert_int_equal(near_distance("rendr", "render"), 2);
	assert_int_equal(near_distance("mian", "main"), 2);
	assert_int_equal(near_distance("Render", "render"), 1);
	assert_int_equal(near_distance("", "ab"), 4);
	near_offer(&near, "rendr", "update");
	near_offer(&near, "rendr", "render");
	near_offer(&near, "rendr", "render");
	near_offer(&near, "rendr", NULL);
	near_offer(&near, "rendr", "trender");
	assert_int_equal(near.count, 3);
	assert_string_equal(near.names[0], "render");
	assert_string_equal(near.names[1], "trender");
	assert_null(near.names[3]);
	near_offer(&near, "rendr", "a");
	near_offer(&near, "rendr", "b");
	near_offer(&near, "rendr", "rend");
	assert_int_equal(near.count, NEAR_MAX);
	assert_string_equal(near.names[1], "rend");
	assert_null(near.names[NEAR_MAX]);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_states_go_from_stopped_to_recording_to_frozen),
		T(test_clients_that_do_not_tell_are_believed),
		T(test_on_demand_records_while_a_consumer_holds),
		T(test_leases_end_by_time_and_are_their_users),
		T(test_one_user_cannot_take_all_places),
		T(test_an_own_level_and_an_inherited_one_are_told_apart),
		T(test_a_text_is_the_set_that_it_was_made_of),
		T(test_sets_are_bounded),
		T(test_the_page_has_what_was_ordered),
		T(test_near_names_come_nearest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
