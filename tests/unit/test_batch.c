/* SPDX-License-Identifier: MIT */
/* Batches own what is in them (leaks are ASan's to find), and growable arrays grow. */
#include "store_fixture.h"

#include "daemon/batch.h"
#include "daemon/util.h"

static void a_vec_grows_and_keeps_its_elements(void **state)
{
	VEC(uint32_t) v = {0};
	uint32_t i;

	(void)state;
	for (i = 0; i < 10000; i++)
		assert_int_equal(VEC_PUSH(&v, i * 3), 0);
	assert_int_equal(v.count, 10000);
	assert_true(v.capacity >= 10000);
	for (i = 0; i < 10000; i++)
		assert_int_equal(v.at[i], i * 3);
	VEC_FREE(&v);
	assert_null(v.at);
	assert_int_equal(v.count + v.capacity, 0);
}

static void an_impossible_size_is_refused(void **state)
{
	VEC(uint64_t) v = {0};

	(void)state;
	assert_int_equal(VEC_PUSH(&v, 7), 0);
	assert_int_equal(VEC_RESERVE(&v, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(VEC_RESERVE(&v, SIZE_MAX / 8), -ENOMEM);
	assert_int_equal(v.count, 1);
	assert_int_equal(v.at[0], 7);
	VEC_FREE(&v);
}

static void a_batch_frees_all_that_it_owns(void **state)
{
	struct batch *b = first_batch(1, 1);

	(void)state;
	b->sessions.at[0].build_id = must(strdup("abc"));
	PUSH(&b->memories, (struct memory_row){.session = 1});
	PUSH(&b->infos, (struct info_row){1, must(strdup("key")), must(strdup("value"))});
	add_zones(b, 1, 1, 0, 1000, 10);
	PUSH(&b->gaps, (struct gap_row){.session = 1});
	add_frame(b, 1, 0, 1, 0, 1000);
	PUSH(&b->frame_counters, (struct frame_counter_row){.session = 1});
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){.session = 1});
	PUSH(&b->ledgers, (struct ledger_row){.stack = must(malloc(3)), .stack_bytes = 3});
	PUSH(&b->updates, (struct session_update_row){.end_reason = must(strdup("exit")),
						      .fault = must(strdup("garbage"))});
	batch_free(b);
	batch_free(NULL);
}

/* A flood of names, infos or values is as heavy as one of chunks, and is measured once. */
static void every_kind_of_row_has_weight(void **state)
{
	struct batch *b = must(batch_new());
	uint64_t before = batch_weight(b);

	(void)state;
	assert_int_equal(before, 0);
	PUSH(&b->infos, (struct info_row){1, must(strdup("key")), must(strdup("value"))});
	assert_int_equal(batch_weight(b), sizeof(struct info_row) + 4 + 6);
	assert_int_equal(batch_weight(b), sizeof(struct info_row) + 4 + 6);
	before = batch_weight(b);
	add_marker(b, 1, 1, "name");
	assert_int_equal(batch_weight(b) - before, sizeof(struct marker_row) + 5 + 5 + 7);
	before = batch_weight(b);
	add_track(b, 1, 1, "main");
	assert_int_equal(batch_weight(b) - before, sizeof(struct track_row) + 5);
	before = batch_weight(b);
	PUSH(&b->frame_counters, (struct frame_counter_row){.session = 1});
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1});
	PUSH(&b->ledgers, (struct ledger_row){.stack = must(malloc(3)), .stack_bytes = 3});
	assert_int_equal(batch_weight(b) - before, sizeof(struct frame_counter_row) +
							   sizeof(struct gpu_span_row) +
							   sizeof(struct ledger_row) + 3);
	batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vec_grows_and_keeps_its_elements),
		cmocka_unit_test(an_impossible_size_is_refused),
		cmocka_unit_test(a_batch_frees_all_that_it_owns),
		cmocka_unit_test(every_kind_of_row_has_weight),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
