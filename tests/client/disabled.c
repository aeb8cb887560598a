/* SPDX-License-Identifier: MIT */
/* Every macro and function of fprof.h. Compiled as C and C++, with and without FPROF_DISABLED. */
#include <fprof.h>

FPROF_ZONE_MARKER(zone_marker, "FPROFTEXT zone", "FPROFTEXT category", 0xff0000, FPROF_LEVEL_INNER);
FPROF_INSTANT_MARKER(instant_marker, "FPROFTEXT instant", NULL, 0, FPROF_LEVEL_PHASE);
FPROF_COUNTER_MARKER(counter_marker, "FPROFTEXT counter", FPROF_UNIT_BYTES);
FPROF_GPU_MARKER(gpu_marker, "FPROFTEXT gpu");

int use_everything(int n);

static void hear(void *data, int level, const char *line)
{
	(void)data;
	(void)level;
	(void)line;
}

static void zones(int n)
{
	FPROF_ZONE("FPROFTEXT 1");
	FPROF_ZONE("FPROFTEXT 2");
	FPROF_ZONE_L("FPROFTEXT 3", FPROF_LEVEL_LANDMARK);
	FPROF_ZONE_EX("FPROFTEXT 4", "FPROFTEXT 5", 0x00ff00, FPROF_LEVEL_PHASE);
	FPROF_ZONE_V(a, "FPROFTEXT 6");
	FPROF_ZONE_VEX(b, "FPROFTEXT 7", NULL, 0, FPROF_LEVEL_INNER);
	FPROF_ZONE_DYNAMIC("FPROFTEXT 8");
	FPROF_ZONE_DYNAMIC_V(c, "FPROFTEXT 9");
	FPROF_WAIT_GPU("FPROFTEXT 10");
	FPROF_WAIT_PRESENT("FPROFTEXT 11");
	FPROF_WAIT_CAP("FPROFTEXT 12");
	FPROF_ZONE_TEXT(c, "FPROFTEXT 13");
	FPROF_ZONE_VALUE_I64(b, n);
	FPROF_ZONE_VALUE_F64(b, n * 0.5);
	FPROF_NEXT(a, "FPROFTEXT 14");
	FPROF_INSTANT("FPROFTEXT 15");
	if (n)
		FPROF_INSTANT("FPROFTEXT 16");
	else
		FPROF_FRAME_MARK_NAMED("FPROFTEXT 17");
}

static void by_hand(int n)
{
	fprof_scope scope = fprof_zone_begin(&zone_marker);

	scope = fprof_zone_next(scope, &zone_marker);
	fprof_zone_text(scope, "FPROFTEXT 18");
	fprof_zone_value_i64(scope, n);
	fprof_zone_value_f64(scope, n * 0.5);
	fprof_zone_end(scope);
	scope = fprof_zone_begin_at(&zone_marker, FPROF_LEVEL_PHASE);
	fprof_zone_end(scope);
	scope = fprof_zone_begin_dynamic(&zone_marker, "FPROFTEXT 19");
	fprof_zone_end(scope);
	fprof_instant(&instant_marker);
}

static void counters(int n)
{
	FPROF_COUNTER_SET_I64("FPROFTEXT 20", FPROF_UNIT_COUNT, n);
	FPROF_COUNTER_SET_F64("FPROFTEXT 21", FPROF_UNIT_MS, n * 0.5);
	FPROF_COUNTER_ADD_I64("FPROFTEXT 22", FPROF_UNIT_BYTES, n);
	FPROF_COUNTER_ADD_F64("FPROFTEXT 23", FPROF_UNIT_PERCENT, n * 0.5);
	fprof_counter_set_i64(&counter_marker, n);
	fprof_counter_set_f64(&counter_marker, n * 0.5);
	fprof_counter_add_i64(&counter_marker, n);
	fprof_counter_add_f64(&counter_marker, n * 0.5);
}

static void gpu(void)
{
	uint32_t queue = fprof_gpu_queue("FPROFTEXT 24", 1.0, 64);
	struct fprof_gpu_result span = {NULL, NULL, 0, 0, 0, 0, 0, 0, 0};

	span.queue = queue;
#ifndef FPROF_DISABLED
	span.marker = &gpu_marker;
#endif
	fprof_gpu_calibrate(queue, 1, fprof_ticks());
	fprof_gpu_submit(queue, 0, 1, fprof_frame_number());
	fprof_gpu_span(&span);
	fprof_gpu_dropped(queue, 1, 2);
}

int use_everything(int n)
{
	static struct fprof_fiber fiber = FPROF_FIBER_INIT(1, NULL);

	fprof_set_log(hear, NULL);
	fprof_recording(true);
	fprof_loading(false);
	fprof_session_info("FPROFTEXT 25", "FPROFTEXT 26");
	fprof_thread_name("FPROFTEXT 27");
	fprof_fiber_enter(&fiber);
	zones(n);
	fprof_fiber_leave();
	by_hand(n);
	counters(n);
	gpu();
	fprof_message("FPROFTEXT 28");
	fprof_message_ex("FPROFTEXT 29", 0, "FPROFTEXT 30");
	fprof_frame_mark();
	fprof_frame_mark_id(1);
	fprof_frame_mark_named("FPROFTEXT 31");
	return fprof_version()[0];
}

int main(int argc, char **argv)
{
	(void)argv;
	return use_everything(argc) < 0;
}
