/* SPDX-License-Identifier: MIT */
/*
 * fprof.h with FPROF_DISABLED: everything is accepted, nothing is left of it. Arguments are not
 * evaluated; sizeof keeps the compiler from calling them unused.
 */
#ifndef FPROF_DISABLED_H
#define FPROF_DISABLED_H

#define FPROF_NOTHING_	 FPROF_STATIC_ASSERT(1, "fprof is compiled out")
#define FPROF_UNUSED_(x) ((void)sizeof(x))

#define FPROF_MARKER_INIT(name, category, colour, kind, level, unit) \
	{                                                            \
		0, 0, 0, 0, 0, 0, 0, 0, 0,                           \
		{                                                    \
			0, 0, 0, 0, 0                                \
		}                                                    \
	}
#define FPROF_ZONE_MARKER(var, name, category, colour, level)	 FPROF_NOTHING_
#define FPROF_INSTANT_MARKER(var, name, category, colour, level) FPROF_NOTHING_
#define FPROF_COUNTER_MARKER(var, name, unit)			 FPROF_NOTHING_
#define FPROF_GPU_MARKER(var, name)				 FPROF_NOTHING_

#define FPROF_ZONE(name)			     ((void)0)
#define FPROF_ZONE_L(name, level)		     ((void)0)
#define FPROF_ZONE_EX(name, category, colour, level) ((void)0)
#define FPROF_ZONE_DYNAMIC(name)		     FPROF_UNUSED_(name)
/* A constant instead of a variable: there is nothing to keep, at any level of optimisation. */
#define FPROF_ZONE_V(var, name)				   enum { var = 0 }
#define FPROF_ZONE_VEX(var, name, category, colour, level) enum { var = 0 }
#define FPROF_ZONE_DYNAMIC_V(var, name)			   enum { var = (int)(0 * sizeof(name)) }
#define FPROF_NEXT(var, name)				   ((void)0)
#define FPROF_ZONE_TEXT(var, text)			   FPROF_UNUSED_(text)
#define FPROF_ZONE_VALUE_I64(var, value)		   FPROF_UNUSED_(value)
#define FPROF_ZONE_VALUE_F64(var, value)		   FPROF_UNUSED_(value)
#define FPROF_WAIT_GPU(name)				   ((void)0)
#define FPROF_WAIT_PRESENT(name)			   ((void)0)
#define FPROF_WAIT_CAP(name)				   ((void)0)
#define FPROF_INSTANT(name)				   ((void)0)
#define FPROF_COUNTER_SET_I64(name, unit, value)	   FPROF_UNUSED_(value)
#define FPROF_COUNTER_SET_F64(name, unit, value)	   FPROF_UNUSED_(value)
#define FPROF_COUNTER_ADD_I64(name, unit, value)	   FPROF_UNUSED_(value)
#define FPROF_COUNTER_ADD_F64(name, unit, value)	   FPROF_UNUSED_(value)
#define FPROF_FRAME_MARK_NAMED(name)			   ((void)0)

#define fprof_zone_begin_at(marker, level)	 ((fprof_scope)0)
#define fprof_zone_begin(marker)		 ((fprof_scope)0)
#define fprof_zone_begin_dynamic(site, name)	 ((fprof_scope)(0 * sizeof(name)))
#define fprof_zone_next(scope, marker)		 ((fprof_scope)(0 * sizeof(scope)))
#define fprof_zone_end(scope)			 FPROF_UNUSED_(scope)
#define fprof_zone_text(scope, text)		 ((void)(sizeof(scope) + sizeof(text)))
#define fprof_zone_value_i64(scope, value)	 ((void)(sizeof(scope) + sizeof(value)))
#define fprof_zone_value_f64(scope, value)	 ((void)(sizeof(scope) + sizeof(value)))
#define fprof_instant(marker)			 ((void)0)
#define fprof_frame_mark()			 ((void)0)
#define fprof_frame_mark_id(number)		 FPROF_UNUSED_(number)
#define fprof_frame_mark_named(stream)		 FPROF_UNUSED_(stream)
#define fprof_frame_number()			 ((uint64_t)1)
#define fprof_counter_set_i64(counter, value)	 FPROF_UNUSED_(value)
#define fprof_counter_set_f64(counter, value)	 FPROF_UNUSED_(value)
#define fprof_counter_add_i64(counter, value)	 FPROF_UNUSED_(value)
#define fprof_counter_add_f64(counter, value)	 FPROF_UNUSED_(value)
#define fprof_message(text)			 FPROF_UNUSED_(text)
#define fprof_message_ex(category, colour, text) ((void)(sizeof(category) + sizeof(text)))
#define fprof_thread_name(name)			 FPROF_UNUSED_(name)
#define fprof_fiber_enter(fiber)		 FPROF_UNUSED_(fiber)
#define fprof_fiber_leave()			 ((void)0)
#define fprof_gpu_queue(name, ns_per_tick, bits) ((uint32_t)(0 * sizeof(name)))
#define fprof_gpu_calibrate(queue, gpu, cpu)	 ((void)(sizeof(queue) + sizeof(gpu) + sizeof(cpu)))
#define fprof_ticks()				 ((uint64_t)0)
#define fprof_gpu_submit(queue, view, submission, frame) \
	((void)(sizeof(queue) + sizeof(view) + sizeof(submission) + sizeof(frame)))
#define fprof_gpu_span(span) FPROF_UNUSED_(span)
#define fprof_gpu_dropped(queue, frame, count) \
	((void)(sizeof(queue) + sizeof(frame) + sizeof(count)))
#define fprof_session_info(key, value) ((void)(sizeof(key) + sizeof(value)))
#define fprof_recording(on)	       FPROF_UNUSED_(on)
#define fprof_loading(on)	       FPROF_UNUSED_(on)
#define fprof_alloc(bytes)	       FPROF_UNUSED_(bytes)
#define fprof_set_log(fn, data)	       ((void)(fn), (void)sizeof(data))
#define fprof_version()		       ""

#endif
