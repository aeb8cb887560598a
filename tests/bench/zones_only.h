/* SPDX-License-Identifier: MIT */
/* Put before examples/game.c: the same game with its zones and marks, without its counters and GPU
 * spans. */
#include <fprof.h>

#undef FPROF_COUNTER_ADD_I64
#undef FPROF_COUNTER_SET_I64
#undef FPROF_COUNTER_SET_F64
#define FPROF_COUNTER_ADD_I64(name, unit, value)	 ((void)(value))
#define FPROF_COUNTER_SET_I64(name, unit, value)	 ((void)(value))
#define FPROF_COUNTER_SET_F64(name, unit, value)	 ((void)(value))
#define fprof_gpu_span(span)				 ((void)(span))
#define fprof_gpu_submit(queue, view, submission, frame) ((void)(frame))
#define fprof_gpu_calibrate(queue, gpu, cpu)		 ((void)(cpu))
