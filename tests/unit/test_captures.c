/* SPDX-License-Identifier: MIT */
/* What is saved reads like what it was saved from, whatever becomes of that. */
#include "captures_fixture.h"

static int setup(void **state)
{
	*state = world_new();
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static void a_range_reads_as_in_the_history(void **state)
{
	struct world *w = *state;
	struct history_session s;
	struct history *h;
	uint64_t id;

	add_rich(w, 60);
	id = save(w, 11, 40);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(w->f.history, 1, h, id, 11, 40);
	assert_int_equal(history_session(h, id, 1001, &s), 0);
	assert_int_equal(s.first_frame, 11);
	assert_int_equal(s.last_frame, 40);
	assert_int_equal(s.first_retained, 11);
	assert_int_equal(s.update.overwritten, 100);
	assert_int_equal(s.update.discarded[DISCARD_QUOTA], 10);
	assert_int_equal(s.update.state, SESSION_ENDED);
	assert_string_equal(s.infos.at[0].value, "köln");
	history_session_deinit(&s);
	history_close(h);
}

static void an_upload_reads_as_what_was_saved(void **state)
{
	struct world *w = *state;
	struct history *h;
	uint64_t id, again = 0;
	char path[256], why[CAPTURE_WHY];

	add_rich(w, 60);
	id = save(w, 11, 40);
	file_of(w, id, path, sizeof(path));
	assert_int_equal(upload(w, path, &again, why), 0);
	assert_int_not_equal(again, id);
	assert_int_equal(captures_open(w->captures, again, 1001, &h), 0);
	assert_same_frames(w->f.history, 1, h, again, 11, 40);
	history_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_range_reads_as_in_the_history, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upload_reads_as_what_was_saved, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
