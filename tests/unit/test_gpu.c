// SPDX-License-Identifier: MIT
/* GPU results: each in its own frame, at its own time, exact to the nanosecond. */
#include "daemon/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#define QUEUE 3
#define TRACK 30

static int setup(void **state)
{
	struct gpu *gpu = gpu_new(7);

	*state = gpu;
	return gpu ? gpu_queue(gpu, QUEUE, TRACK, 1.0, 64) : -1;
}

static int teardown(void **state)
{
	gpu_free(*state);
	return 0;
}

static bool put(struct gpu *gpu, uint64_t frame, uint64_t submission, uint64_t begin, uint64_t end)
{
	struct gpu_span span = {
		.queue = QUEUE,
		.marker = 5,
		.begin = begin,
		.end = end,
		.frame = frame,
		.submission = submission,
	};

	return gpu_span(gpu, &span, 1000000);
}

static struct batch *flush(struct gpu *gpu, bool all)
{
	struct batch *batch = batch_new();

	assert_non_null(batch);
	assert_int_equal(gpu_flush(gpu, batch, all), 0);
	return batch;
}

static void expect_row(const struct frame_gpu_row *row, uint64_t frame, int64_t span, int64_t busy,
		       uint32_t spans, uint32_t missing, bool final)
{
	assert_int_equal(row->session, 7);
	assert_int_equal(row->track, TRACK);
	assert_int_equal(row->frame, frame);
	assert_int_equal(row->span_ns, span);
	assert_int_equal(row->busy_ns, busy);
	assert_int_equal(row->spans, spans);
	assert_int_equal(row->missing, missing);
	assert_int_equal(row->final, final);
}

static void expect_one(struct gpu *gpu, bool all, uint64_t frame, int64_t span, int64_t busy,
		       uint32_t spans, uint32_t missing, bool final)
{
	struct batch *batch = flush(gpu, all);

	assert_int_equal(batch->frame_gpus.count, 1);
	expect_row(&batch->frame_gpus.at[0], frame, span, busy, spans, missing, final);
	batch_free(batch);
}

static void expect_nothing(struct gpu *gpu)
{
	struct batch *batch = flush(gpu, false);

	assert_int_equal(batch->frame_gpus.count, 0);
	assert_int_equal(batch->gpu_spans.count, 0);
	batch_free(batch);
}

static void test_queue_refuses_nonsense(void **state)
{
	struct gpu *gpu = *state;
	uint32_t i;

	assert_int_equal(gpu_queue(gpu, 1, 1, 0.0, 64), -EINVAL);
	assert_int_equal(gpu_queue(gpu, 1, 1, -1.0, 64), -EINVAL);
	assert_int_equal(gpu_queue(gpu, 1, 1, NAN, 64), -EINVAL);
	assert_int_equal(gpu_queue(gpu, 1, 1, INFINITY, 64), -EINVAL);
	assert_int_equal(gpu_queue(gpu, 1, 1, 1.0, 0), -EINVAL);
	assert_int_equal(gpu_queue(gpu, 1, 1, 1.0, 65), -EINVAL);
	for (i = 1; i < 64; i++)
		assert_int_equal(gpu_queue(gpu, 100 + i, 1, 1.0, 64), 0);
	assert_int_equal(gpu_queue(gpu, 200, 1, 1.0, 64), -ENOSPC);
	assert_int_equal(gpu_queue(gpu, 101, 1, 2.0, 32), 0);
}

static void test_interpolates_between_pairs(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;

	/* ns_per_tick says 1, the pairs say 2: between them the pairs are right. */
	gpu_calibrate(gpu, QUEUE, 1000, 500000);
	gpu_calibrate(gpu, QUEUE, 3000, 504000);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 500000);
	assert_true(put(gpu, 1, 1, 1500, 2001));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.count, 1);
	assert_true(batch->gpu_spans.at[0].calibrated);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 501000);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, 502002);
	assert_int_equal(batch->gpu_spans.at[0].raw_begin, 1500);
	assert_int_equal(batch->gpu_spans.at[0].raw_end, 2001);
	assert_int_equal(batch->gpu_spans.at[0].track, TRACK);
	assert_int_equal(batch->gpu_spans.at[0].marker, 5);
	batch_free(batch);
}

static void test_outside_pairs_by_rate(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;

	gpu_calibrate(gpu, QUEUE, 1000, 500000);
	gpu_calibrate(gpu, QUEUE, 3000, 504000);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 500000);
	assert_true(put(gpu, 1, 1, 400, 1000));	 /* ends at the first pair */
	assert_true(put(gpu, 1, 1, 2500, 3500)); /* begins between, ends behind the last */
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 500000 - 600);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, 500000);
	assert_int_equal(batch->gpu_spans.at[1].begin_ns, 503000);
	assert_int_equal(batch->gpu_spans.at[1].end_ns, 504000 + 500);
	batch_free(batch);
}

static void test_a_reset_counter_begins_anew(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;

	gpu_calibrate(gpu, QUEUE, 1000000, 100000);
	gpu_calibrate(gpu, QUEUE, 10, 200000);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 200000);
	assert_true(put(gpu, 1, 1, 20, 40));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 200010);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, 200030);
	batch_free(batch);
}

/* 1 ns ticks of few bits: the second pair is several wraps later, and a span crosses the next one.
 */
static void check_wrap(uint32_t bits)
{
	struct gpu *gpu = gpu_new(7);
	uint64_t period = UINT64_C(1) << bits, garbage = bits < 60 ? UINT64_C(5) << bits : 0;
	int64_t base = 1000, at = base + 3 * (int64_t)period + 77;
	struct batch *batch;

	assert_non_null(gpu);
	assert_int_equal(gpu_queue(gpu, QUEUE, TRACK, 1.0, bits), 0);
	gpu_calibrate(gpu, QUEUE, period - 100, base);
	gpu_calibrate(gpu, QUEUE, (period - 100 + 77) | garbage, at);
	gpu_submit(gpu, QUEUE, 0, 1, 1, at);
	/* 20 ticks before the wrap to 30 after it; garbage above the valid bits is ignored */
	assert_true(put(gpu, 1, 1, (period - 20) | garbage, 30));
	/* between the pairs, after the first wrap */
	gpu_submit(gpu, QUEUE, 0, 2, 2, base + (int64_t)period);
	assert_true(put(gpu, 2, 2, 400, 600));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.count, 2);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, at + 3);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, at + 53);
	expect_row(&batch->frame_gpus.at[0], 1, 50, 50, 1, 0, false);
	assert_int_equal(batch->gpu_spans.at[1].begin_ns, base + (int64_t)period + 500);
	assert_int_equal(batch->gpu_spans.at[1].end_ns, base + (int64_t)period + 700);
	/* an end before the begin is no wrap */
	assert_false(put(gpu, 1, 1, 1000, 990));
	batch_free(batch);
	gpu_free(gpu);
}

static void test_wrap_of_32_bits(void **state)
{
	(void)state;
	check_wrap(32);
}

static void test_wrap_of_36_bits(void **state)
{
	(void)state;
	check_wrap(36);
}

static void test_without_pairs_aligned_to_submission(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;

	gpu_submit(gpu, QUEUE, 0, 1, 1, 70000);
	assert_true(put(gpu, 1, 1, 5100, 5200)); /* the inner pass came first */
	assert_true(put(gpu, 1, 1, 5000, 5300));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.count, 2);
	assert_false(batch->gpu_spans.at[0].calibrated);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 70100);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, 70200);
	assert_int_equal(batch->gpu_spans.at[1].begin_ns, 70000);
	assert_int_equal(batch->gpu_spans.at[1].end_ns, 70300);
	batch_free(batch);
	/* what is placed stays, and what follows keeps its distance */
	assert_true(put(gpu, 1, 1, 5400, 5450));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.count, 1);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 70400);
	expect_row(&batch->frame_gpus.at[0], 1, 450, 350, 3, 0, false);
	batch_free(batch);
}

static void test_without_submission_ends_at_arrival(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;

	assert_true(put(gpu, 1, 9, 5000, 5300)); /* arrives at 1000000 */
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.at[0].begin_ns, 1000000 - 300);
	assert_int_equal(batch->gpu_spans.at[0].end_ns, 1000000);
	expect_row(&batch->frame_gpus.at[0], 1, 300, 300, 1, 0, false);
	batch_free(batch);
}

static void test_busy_is_a_union(void **state)
{
	struct gpu *gpu = *state;

	gpu_calibrate(gpu, QUEUE, 1000, 0);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 0);
	assert_true(put(gpu, 1, 1, 1000, 1100)); /* with 10 nested */
	assert_true(put(gpu, 1, 1, 1020, 1030));
	assert_true(put(gpu, 1, 1, 1200, 1250)); /* overlaps the next */
	assert_true(put(gpu, 1, 1, 1240, 1300));
	assert_true(put(gpu, 1, 1, 1300, 1310)); /* touches it */
	assert_true(put(gpu, 1, 1, 1500, 1500)); /* nothing */
	expect_one(gpu, false, 1, 500, 100 + 110, 6, 0, false);
}

static void test_each_lands_in_its_own_frame(void **state)
{
	struct gpu *gpu = *state;
	struct batch *batch;
	uint64_t frame;

	/* Heavy (500) and light (10) alternate; results come frame % 4 frames late. */
	gpu_calibrate(gpu, QUEUE, 1, 1);
	for (frame = 1; frame <= 12; frame++) {
		uint64_t late;

		gpu_submit(gpu, QUEUE, 0, 100 + frame, frame, (int64_t)frame * 1000);
		for (late = 0; late < 4 && late < frame; late++) {
			uint64_t of = frame - late, begin = of * 1000 + 1;

			if (of % 4 == late)
				assert_true(
					put(gpu, of, 100 + of, begin, begin + (of % 2 ? 500 : 10)));
		}
		gpu_frame_closed(gpu, frame);
		assert_int_equal(gpu_frame_pending(gpu, frame), frame % 4 != 0);
	}
	batch = flush(gpu, false);
	/* of 12 only 9 (late 1), 10 (2), 11 (3) could be missing: 11 is */
	assert_int_equal(batch->gpu_spans.count, 11);
	assert_int_equal(batch->frame_gpus.count, 12);
	for (frame = 1; frame <= 12; frame++) {
		int64_t ns = frame == 11 ? NS_UNKNOWN : frame % 2 ? 500 : 10;

		expect_row(&batch->frame_gpus.at[frame - 1], frame, ns, ns, frame != 11,
			   frame == 11, frame != 11);
	}
	batch_free(batch);
	assert_true(put(gpu, 11, 111, 11001, 11501));
	expect_one(gpu, false, 11, 500, 500, 1, 0, true);
	expect_nothing(gpu);
}

static void test_two_views_in_one_frame(void **state)
{
	struct gpu *gpu = *state;
	struct gpu_span left = {
		.queue = QUEUE, .view = 0, .begin = 100, .end = 200, .frame = 4, .submission = 8};
	struct gpu_span right = left;
	struct batch *batch;

	right.view = 1;
	right.begin = 300;
	right.end = 380;
	gpu_calibrate(gpu, QUEUE, 1, 1);
	gpu_submit(gpu, QUEUE, 0, 8, 4, 50);
	gpu_submit(gpu, QUEUE, 1, 8, 4, 60);
	assert_true(gpu_span(gpu, &right, 1000));
	gpu_frame_closed(gpu, 4);
	expect_one(gpu, false, 4, 80, 80, 1, 1, false);
	assert_true(gpu_frame_pending(gpu, 4));
	assert_true(gpu_span(gpu, &left, 1100));
	assert_false(gpu_frame_pending(gpu, 4));
	batch = flush(gpu, false);
	assert_int_equal(batch->gpu_spans.count, 1);
	assert_int_equal(batch->gpu_spans.at[0].view, 0);
	assert_int_equal(batch->frame_gpus.count, 1);
	expect_row(&batch->frame_gpus.at[0], 4, 280, 180, 2, 0, true);
	batch_free(batch);
}

static void test_a_late_result_completes_its_frame(void **state)
{
	struct gpu *gpu = *state;
	uint64_t frame;

	gpu_calibrate(gpu, QUEUE, 1, 1);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 0);
	for (frame = 1; frame < 1 + GPU_FRAMES_PENDING; frame++)
		gpu_frame_closed(gpu, frame);
	expect_one(gpu, false, 1, NS_UNKNOWN, NS_UNKNOWN, 0, 1, false);
	assert_true(put(gpu, 1, 1, 100, 150));
	expect_one(gpu, false, 1, 50, 50, 1, 0, true);
}

static void test_too_late_is_final_and_incomplete(void **state)
{
	struct gpu *gpu = *state;

	gpu_calibrate(gpu, QUEUE, 1, 1);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 0);
	gpu_submit(gpu, QUEUE, 0, 2, 1, 0);
	assert_true(put(gpu, 1, 2, 100, 150));
	gpu_frame_closed(gpu, 1 + GPU_FRAMES_PENDING);
	expect_one(gpu, false, 1, 50, 50, 1, 1, true);
	assert_false(put(gpu, 1, 1, 200, 250));
	assert_false(gpu_frame_pending(gpu, 1));
	expect_nothing(gpu);
}

/* Once nothing can change any more, and once only. */
static void test_missing_results_are_counted(void **state)
{
	struct gpu *gpu = *state;

	gpu_calibrate(gpu, QUEUE, 1, 1);
	gpu_submit(gpu, QUEUE, 0, 1, 1, 0);
	gpu_submit(gpu, QUEUE, 0, 2, 1, 0);
	gpu_submit(gpu, QUEUE, 0, 3, 1, 0);
	assert_true(put(gpu, 1, 2, 100, 150));
	gpu_dropped(gpu, QUEUE, 1, 1);
	gpu_frame_closed(gpu, 1);
	expect_one(gpu, false, 1, 50, 50, 1, 2, false);
	assert_int_equal(gpu_take_missing(gpu), 0);
	gpu_frame_closed(gpu, 1 + GPU_FRAMES_PENDING);
	expect_one(gpu, false, 1, 50, 50, 1, 2, true);
	assert_int_equal(gpu_take_missing(gpu), 2);
	expect_nothing(gpu);
	assert_int_equal(gpu_take_missing(gpu), 0);
}

static void test_impossible_spans_are_dropped(void **state)
{
	struct gpu *gpu = *state;
	struct gpu_span unknown = {.queue = 99, .begin = 1, .end = 2, .frame = 1};

	assert_false(put(gpu, 1, 1, 100, 0));			     /* end = 0: never written */
	assert_false(put(gpu, 1, 1, 100, 99));			     /* end before begin */
	assert_false(put(gpu, 1, 1, 0, UINT64_C(8121600000000000))); /* 94 days */
	assert_false(put(gpu, 1, 1, 1, UINT64_C(60000000002)));	     /* 60 s and a tick */
	assert_false(gpu_span(gpu, &unknown, 0));
	expect_nothing(gpu);
	assert_true(put(gpu, 1, 1, 1, UINT64_C(60000000001))); /* 60 s */
}

static void test_dropped_queries(void **state)
{
	struct gpu *gpu = *state;

	gpu_submit(gpu, QUEUE, 0, 1, 1, 0);
	gpu_submit(gpu, QUEUE, 0, 2, 1, 0);
	gpu_frame_closed(gpu, 1);
	expect_one(gpu, false, 1, NS_UNKNOWN, NS_UNKNOWN, 0, 2, false);
	gpu_dropped(gpu, QUEUE, 1, 1);
	assert_true(gpu_frame_pending(gpu, 1));
	expect_one(gpu, false, 1, NS_UNKNOWN, NS_UNKNOWN, 0, 2, false);
	gpu_dropped(gpu, QUEUE, 1, 3); /* one more submission and two queries beyond */
	assert_false(gpu_frame_pending(gpu, 1));
	expect_one(gpu, false, 1, NS_UNKNOWN, NS_UNKNOWN, 0, 4, true);
}

static void test_session_end_leaves_nothing_pending(void **state)
{
	struct gpu *gpu = *state;

	gpu_submit(gpu, QUEUE, 0, 1, 5, 0);
	expect_one(gpu, true, 5, NS_UNKNOWN, NS_UNKNOWN, 0, 1, true);
	assert_false(gpu_frame_pending(gpu, 5));
	expect_nothing(gpu);
}

/* Neither held nor written: rows of frames that never come would stay for ever. */
static void test_frames_that_never_come_are_refused(void **state)
{
	struct gpu *gpu = *state;
	uint64_t i;

	gpu_calibrate(gpu, QUEUE, 1, 1);
	for (i = 0; i < 1024; i++) {
		gpu_submit(gpu, QUEUE, 0, i, UINT64_MAX - i, 0);
		assert_false(put(gpu, UINT64_MAX - i, 1, 100, 150));
	}
	assert_false(put(gpu, GPU_FRAMES_AHEAD + 1, 1, 100, 150));
	expect_nothing(gpu);
	assert_true(put(gpu, GPU_FRAMES_AHEAD, 1, 100, 150));
	expect_one(gpu, false, GPU_FRAMES_AHEAD, 50, 50, 1, 0, false);
	gpu_frame_closed(gpu, 1);
	assert_true(put(gpu, GPU_FRAMES_AHEAD + 1, 1, 100, 150));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_queue_refuses_nonsense),
		T(test_interpolates_between_pairs),
		T(test_outside_pairs_by_rate),
		T(test_a_reset_counter_begins_anew),
		T(test_wrap_of_32_bits),
		T(test_wrap_of_36_bits),
		T(test_without_pairs_aligned_to_submission),
		T(test_without_submission_ends_at_arrival),
		T(test_busy_is_a_union),
		T(test_each_lands_in_its_own_frame),
		T(test_two_views_in_one_frame),
		T(test_a_late_result_completes_its_frame),
		T(test_too_late_is_final_and_incomplete),
		T(test_missing_results_are_counted),
		T(test_impossible_spans_are_dropped),
		T(test_dropped_queries),
		T(test_session_end_leaves_nothing_pending),
		T(test_frames_that_never_come_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
