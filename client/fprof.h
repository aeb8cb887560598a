/* SPDX-License-Identifier: MIT */
/*
 * fprof: record what a game does, frame by frame, for the daemon fprofd.
 *
 *	#include <fprof.h>
 *
 *	void frame(void)
 *	{
 *		FPROF_ZONE("frame");
 *		physics();
 *		present();
 *		fprof_frame_mark();
 *	}
 *
 * C11 and C++17 (fprof.hpp adds RAII classes), gcc and clang, x86-64 and arm64. Compiled with
 * FPROF_DISABLED defined, everything here leaves no code and no string behind.
 *
 * What holds everywhere:
 *
 * - Any thread may call anything at any time, signal handlers too, before main and after it
 *   returns. No call blocks, takes a lock or starts a thread. A thread's first event (and the
 *   process's first one, more so) sets up its memory: some tenths of a millisecond, a few system
 *   calls.
 * - Nothing returns an error, and errno stays as it is. What cannot be recorded (no daemon, a
 *   full table, a NULL name) is left out; what is lost that way is counted, and the daemon shows
 *   the counts. Without a daemon everything is skipped, and the library looks for one at most
 *   once a second.
 * - Strings are copied before a call returns; static markers hold theirs for as long as their
 *   code is loaded. They may hold any bytes; the daemon shows what is no UTF-8 as U+FFFD. Names
 *   are cut at 1,023 bytes, texts and messages at 1,024, thread names at 127; each cut is
 *   counted.
 * - Times are read from one clock per process, see fprof_ticks().
 *
 * Environment: FPROF_SOCKET (the daemon's socket, instead of $XDG_RUNTIME_DIR/fprofd/fprofd.sock
 * and /run/fprofd/fprofd.sock), FPROF_RING_KIB (ring of each thread, a power of two, 16 to 65536,
 * default 1024), FPROF_NAME (how the session is called), FPROF_CLOCK=monotonic (don't use the
 * CPU's counter).
 */
#ifndef FPROF_H
#define FPROF_H

#include "fprof/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPROF_VERSION_MAJOR 0
#define FPROF_VERSION_MINOR 1
#define FPROF_VERSION_PATCH 0
#define FPROF_VERSION_TEXT  "0.1.0"

/*
 * A static marker: what an event is called and where it stands in the source. The macros below
 * make one per use. Members are read-only for the game, but `top` is the library's.
 */
struct fprof_marker {
	uint64_t top;	      /* the library's: the lead word of its events, where it is known */
	const char *name;     /* must not be NULL */
	const char *category; /* NULL: none */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	uint32_t colour;      /* 0xRRGGBB, 0: the viewer's choice */
	uint8_t kind;	      /* enum fprof_marker_kind */
	uint8_t level;	      /* enum fprof_level */
	uint8_t unit;	      /* enum fprof_unit, counters only */
	uint8_t pad[5];
};

/*
 * An open zone, as its begin returned it. 0: it was not begun (not recording, or its level is not
 * wanted), and then its end does nothing. A value, not a resource: a scope that is never ended
 * (longjmp, a killed thread) leaks nothing, and the zone ends with the one around it.
 */
typedef uint64_t fprof_scope;

/*
 * A fiber (a job or coroutine with a stack of its own). The game keeps one per fiber, filled by
 * FPROF_FIBER_INIT, for as long as the fiber lives. It is used by one thread at a time: whatever
 * hands the fiber from thread to thread orders that.
 */
struct fprof_fiber {
	uint64_t id;	  /* not 0; unique within the process while the fiber lives */
	const char *name; /* may be NULL */
	uint64_t seq;	  /* the library's: segments so far */
	uint32_t depth;	  /* the library's: zones open on it */
	uint32_t marker;  /* the library's: its name, interned */
};
#define FPROF_FIBER_INIT(id, name)    \
	{                             \
		(id), (name), 0, 0, 0 \
	}

/* GPU work whose timestamps came back. */
struct fprof_gpu_result {
	struct fprof_marker *marker; /* FPROF_GPU_MARKER(...); NULL: use name */
	const char *name;	     /* copied; used where marker is NULL */
	uint32_t queue;		     /* as fprof_gpu_queue() returned it */
	uint32_t view;	     /* which view of the frame (an eye, a split screen), 0 for one */
	uint64_t begin, end; /* raw timestamps of the queue's clock */
	uint64_t frame;	     /* fprof_frame_number() when it was submitted */
	uint64_t submission; /* the game's number of the queue submit */
	uint64_t fence;	     /* the fence or timeline value that ended it, 0: none */
};

/* What the library has to say: level 3 error, 4 warning, 6 information, as in syslog. */
typedef void (*fprof_log_fn)(void *data, int level, const char *text);

/* What a scope holds: the lead word of its begin, and the depth around it where the time would be.
 */
static inline uint64_t fprof_scope_top(fprof_scope scope)
{
	return scope & ~FPROF_TIME_MASK;
}

static inline uint32_t fprof_scope_depth(fprof_scope scope)
{
	return FPROF_CAST(uint32_t, scope);
}

#ifndef FPROF_DISABLED

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The slow halves of the inline functions below. Not for use by name. ------------------- */
FPROF_API fprof_scope fprof_begin_slow(struct fprof_marker *marker) __attribute__((cold));
FPROF_API fprof_scope fprof_begin_dynamic_slow(struct fprof_marker *site, const char *name);
FPROF_API void fprof_end_slow(fprof_scope scope) __attribute__((cold));
FPROF_API fprof_scope fprof_next_slow(fprof_scope scope, struct fprof_marker *marker)
	__attribute__((cold));
FPROF_API void fprof_instant_slow(struct fprof_marker *marker) __attribute__((cold));
FPROF_API void fprof_zone_text_slow(fprof_scope scope, const char *text);
FPROF_API void fprof_zone_value_slow(fprof_scope scope, unsigned type, uint64_t bits);
FPROF_API void fprof_counter_slow(struct fprof_marker *marker, unsigned op, unsigned type,
				  uint64_t bits);
FPROF_API void fprof_gpu_span_slow(const struct fprof_gpu_result *span);
FPROF_API void fprof_mark_stream_slow(struct fprof_marker *stream);

/* ---- Zones ----------------------------------------------------------------------------------- */

/*
 * Begins and ends a zone by hand. The scope that a begin returned goes to one end, on the same
 * thread or fiber; zones nest. An end that comes out of order closes the zones inside it; one
 * that comes twice is reported. marker must not be NULL and must outlive its code's use only, not
 * the session.
 */
static inline fprof_scope fprof_zone_begin_at(struct fprof_marker *marker, uint32_t level);
static inline fprof_scope fprof_zone_begin(struct fprof_marker *marker);
static inline void fprof_zone_end(fprof_scope scope);
/* With a name made at run time, which is copied; site gives category, colour, file, line and level.
 * New names are limited to 4,096 a second; zones with refused names are counted and not recorded.
 */
static inline fprof_scope fprof_zone_begin_dynamic(struct fprof_marker *site, const char *name);
/*
 * Ends scope and begins a sibling at the same instant, with one clock read. Returns the sibling's
 * scope, which takes the place of the old one. Where scope was not begun it begins one; where the
 * sibling is not wanted it just ends.
 */
static inline fprof_scope fprof_zone_next(fprof_scope scope, struct fprof_marker *marker);

/*
 * Adds a text or a value to a zone that is open, and the innermost: otherwise it is refused, and
 * counted. Does nothing where scope is 0. text is copied; NULL is counted.
 */
static inline void fprof_zone_text(fprof_scope scope, const char *text);
static inline void fprof_zone_value_i64(fprof_scope scope, int64_t value);
static inline void fprof_zone_value_f64(fprof_scope scope, double value);

/* ---- Instants, frames, counters, messages ---------------------------------------------------- */

/* Something that happened now. */
static inline void fprof_instant(struct fprof_marker *marker);

/*
 * Ends a frame of the main stream: N marks are N frames. Call it once a frame, right after the
 * present. The main stream belongs to the first thread that marks, until that thread ends; marks
 * of others are counted, not obeyed.
 */
FPROF_API void fprof_frame_mark(void);
/* The same, with the engine's own number of the frame that ends. ~0 is no number. */
FPROF_API void fprof_frame_mark_id(uint64_t number);
/* Ends a frame of a stream of its own: a worker's tick, an audio callback. A stream has one owner
 * too: the first thread, or fiber, that marks it. NULL and "" are counted. */
FPROF_API void fprof_frame_mark_named(const char *stream);
/* The number of the main stream's unfinished frame: marks so far + 1. Counts on when not recording.
 */
FPROF_API uint64_t fprof_frame_number(void);

/*
 * Counters. A SET counter has its last value by time; an ADD counter starts at 0 in each frame
 * and sums over all threads. unit is an enum fprof_unit. A name is used with one of the two only.
 */
static inline void fprof_counter_set_i64(struct fprof_marker *counter, int64_t value);
static inline void fprof_counter_set_f64(struct fprof_marker *counter, double value);
static inline void fprof_counter_add_i64(struct fprof_marker *counter, int64_t value);
static inline void fprof_counter_add_f64(struct fprof_marker *counter, double value);

/* A line of text, with a category (NULL: none) and a colour 0xRRGGBB (0: none). NULL text is
 * counted. */
FPROF_API void fprof_message(const char *text);
FPROF_API void fprof_message_ex(const char *category, uint32_t colour, const char *text);

/* ---- Threads and fibers ---------------------------------------------------------------------- */

/* Names the calling thread from here on. Without it the kernel's name of the thread is taken
 * (prctl PR_SET_NAME), which holds 15 bytes. NULL is counted. */
FPROF_API void fprof_thread_name(const char *name);

/*
 * The calling thread runs fiber from here on; if it ran another one, it leaves that first. Call
 * leave before the fiber is suspended, or on switching back to the scheduler. Zones that are open
 * on the fiber stay open while it is away and may end on another thread. NULL and id 0 are
 * counted.
 */
FPROF_API void fprof_fiber_enter(struct fprof_fiber *fiber);
FPROF_API void fprof_fiber_leave(void);

/* ---- GPU ------------------------------------------------------------------------------------- */

/*
 * Makes a queue with a clock of its own and returns its number, from 1; 0 when it was refused
 * (NULL name, a tick that is no positive number, valid_bits not in 1..64, more than 64 queues).
 * Calling it again with the same name returns the same queue.
 */
FPROF_API uint32_t fprof_gpu_queue(const char *name, double ns_per_tick, unsigned valid_bits);
/* The GPU's clock and fprof_ticks(), read at the same moment as well as may be. Repeat it about
 * once a second: GPU times are interpolated between such pairs. */
FPROF_API void fprof_gpu_calibrate(uint32_t queue, uint64_t gpu_ticks, uint64_t cpu_ticks);
/* The library's clock now: the TSC, arm64's virtual counter, or CLOCK_MONOTONIC in ns. */
FPROF_API uint64_t fprof_ticks(void);
/* Work was submitted for a frame; its spans are to come, maybe frames later. */
FPROF_API void fprof_gpu_submit(uint32_t queue, uint32_t view, uint64_t submission, uint64_t frame);
/* The result of submitted work. NULL, and a span with neither marker nor name, are counted. */
static inline void fprof_gpu_span(const struct fprof_gpu_result *span);
/* count results of a frame will never come. */
FPROF_API void fprof_gpu_dropped(uint32_t queue, uint64_t frame, uint64_t count);

/* ---- The session ----------------------------------------------------------------------------- */

/* Something to know about this run: "level", "e1m1"; a key set again has its new value. At most
 * 32 keys of 63 bytes with values of 959. */
FPROF_API void fprof_session_info(const char *key, const char *value);
/* Pauses (false) and resumes this process's recording; frames are counted on. Takes effect on all
 * threads within a block of their rings (about 500 events). */
FPROF_API void fprof_recording(bool on);
/*
 * The game is loading (true) until it has loaded (false): frames in between are flagged `loading`
 * and stay out of statistics and of what `fprof run --frames` counts. Any thread; the last call
 * counts, and a daemon that comes later learns of it.
 */
FPROF_API void fprof_loading(bool on);
/* Who hears of a daemon that came, went or refused; NULL: nobody. Called on whichever thread
 * finds out, be it in a signal handler's event. Set it once, first. */
FPROF_API void fprof_set_log(fprof_log_fn fn, void *data);
/* "0.1.0", static. */
FPROF_API const char *fprof_version(void);

#ifdef __cplusplus
}
#endif

/* ---- Macros: each makes its static marker ---------------------------------------------------- */

#define FPROF_CAT2_(a, b) a##b
#define FPROF_CAT_(a, b)  FPROF_CAT2_(a, b)
#define FPROF_UNIQUE_(p)  FPROF_CAT_(p, __COUNTER__)

/* The initialiser of a struct fprof_marker. */
#define FPROF_MARKER_INIT(name, category, colour, kind, level, unit)                          \
	{                                                                                     \
		0, (name), (category), __FILE__, __LINE__, (colour), (kind), (level), (unit), \
		{                                                                             \
			0, 0, 0, 0, 0                                                         \
		}                                                                             \
	}

/* Static markers for use with the functions above; at file scope or in a block. */
#define FPROF_ZONE_MARKER(var, name, category, colour, level) \
	static struct fprof_marker var =                      \
		FPROF_MARKER_INIT(name, category, colour, FPROF_MARKER_ZONE, level, 0)
#define FPROF_INSTANT_MARKER(var, name, category, colour, level) \
	static struct fprof_marker var =                         \
		FPROF_MARKER_INIT(name, category, colour, FPROF_MARKER_INSTANT, level, 0)
#define FPROF_COUNTER_MARKER(var, name, unit) \
	static struct fprof_marker var =      \
		FPROF_MARKER_INIT(name, NULL, 0, FPROF_MARKER_COUNTER, FPROF_LEVEL_LANDMARK, unit)
#define FPROF_GPU_MARKER(var, name)      \
	static struct fprof_marker var = \
		FPROF_MARKER_INIT(name, NULL, 0, FPROF_MARKER_GPU, FPROF_LEVEL_LANDMARK, 0)

#define FPROF_ZONE_(marker, var, name, category, colour, kind, level)         \
	static struct fprof_marker marker =                                   \
		FPROF_MARKER_INIT(name, category, colour, kind, level, 0);    \
	__attribute__((cleanup(fprof_scope_close), unused)) fprof_scope var = \
		fprof_zone_begin_at(&marker, (level))

/* From here to the end of the block. Several may stand in one block; they end in reverse order. */
#define FPROF_ZONE(name)	  FPROF_ZONE_L(name, FPROF_LEVEL_PHASE)
#define FPROF_ZONE_L(name, level) FPROF_ZONE_EX(name, NULL, 0, level)
#define FPROF_ZONE_EX(name, category, colour, level)                                           \
	FPROF_ZONE_(FPROF_UNIQUE_(fprof_marker_), FPROF_UNIQUE_(fprof_scope_), name, category, \
		    colour, FPROF_MARKER_ZONE, level)
/* The same with a variable for the functions that take a scope, and for FPROF_NEXT. */
#define FPROF_ZONE_V(var, name) FPROF_ZONE_VEX(var, name, NULL, 0, FPROF_LEVEL_PHASE)
#define FPROF_ZONE_VEX(var, name, category, colour, level)                                        \
	FPROF_ZONE_(FPROF_UNIQUE_(fprof_marker_), var, name, category, colour, FPROF_MARKER_ZONE, \
		    level)
/* Ends var's zone and begins the next sibling, which then ends with the block. */
#define FPROF_NEXT(var, name) FPROF_NEXT_(FPROF_UNIQUE_(fprof_marker_), var, name)
#define FPROF_NEXT_(marker, var, name)                                       \
	do {                                                                 \
		FPROF_ZONE_MARKER(marker, name, NULL, 0, FPROF_LEVEL_PHASE); \
		(var) = fprof_zone_next((var), &marker);                     \
	} while (0)

/* A zone whose name is made at run time. */
#define FPROF_ZONE_DYNAMIC(name)	FPROF_ZONE_DYNAMIC_V(FPROF_UNIQUE_(fprof_scope_), name)
#define FPROF_ZONE_DYNAMIC_V(var, name) FPROF_ZONE_DYNAMIC_(FPROF_UNIQUE_(fprof_marker_), var, name)
#define FPROF_ZONE_DYNAMIC_(marker, var, name)                                \
	FPROF_ZONE_MARKER(marker, NULL, NULL, 0, FPROF_LEVEL_PHASE);          \
	__attribute__((cleanup(fprof_scope_close), unused)) fprof_scope var = \
		fprof_zone_begin_dynamic(&marker, (name))

#define FPROF_ZONE_TEXT(var, text)	 fprof_zone_text((var), (text))
#define FPROF_ZONE_VALUE_I64(var, value) fprof_zone_value_i64((var), (value))
#define FPROF_ZONE_VALUE_F64(var, value) fprof_zone_value_f64((var), (value))

/* Zones in which the thread waits: for the GPU, for the present or an image, for the frame cap. */
#define FPROF_WAIT_GPU(name)	 FPROF_WAIT_(name, FPROF_MARKER_WAIT_GPU)
#define FPROF_WAIT_PRESENT(name) FPROF_WAIT_(name, FPROF_MARKER_WAIT_PRESENT)
#define FPROF_WAIT_CAP(name)	 FPROF_WAIT_(name, FPROF_MARKER_WAIT_CAP)
#define FPROF_WAIT_(name, kind)                                                               \
	FPROF_ZONE_(FPROF_UNIQUE_(fprof_marker_), FPROF_UNIQUE_(fprof_scope_), name, NULL, 0, \
		    kind, FPROF_LEVEL_LANDMARK)

#define FPROF_INSTANT(name) FPROF_INSTANT_(FPROF_UNIQUE_(fprof_marker_), name)
#define FPROF_INSTANT_(marker, name)                                            \
	do {                                                                    \
		FPROF_INSTANT_MARKER(marker, name, NULL, 0, FPROF_LEVEL_PHASE); \
		fprof_instant(&marker);                                         \
	} while (0)

#define FPROF_COUNTER_SET_I64(name, unit, value) \
	FPROF_COUNTER_(FPROF_UNIQUE_(fprof_marker_), fprof_counter_set_i64, name, unit, value)
#define FPROF_COUNTER_SET_F64(name, unit, value) \
	FPROF_COUNTER_(FPROF_UNIQUE_(fprof_marker_), fprof_counter_set_f64, name, unit, value)
#define FPROF_COUNTER_ADD_I64(name, unit, value) \
	FPROF_COUNTER_(FPROF_UNIQUE_(fprof_marker_), fprof_counter_add_i64, name, unit, value)
#define FPROF_COUNTER_ADD_F64(name, unit, value) \
	FPROF_COUNTER_(FPROF_UNIQUE_(fprof_marker_), fprof_counter_add_f64, name, unit, value)
#define FPROF_COUNTER_(marker, fn, name, unit, value)     \
	do {                                              \
		FPROF_COUNTER_MARKER(marker, name, unit); \
		fn(&marker, (value));                     \
	} while (0)

/* fprof_frame_mark_named() without a look-up. */
#define FPROF_FRAME_MARK_NAMED(name) FPROF_MARK_STREAM_(FPROF_UNIQUE_(fprof_marker_), name)
#define FPROF_MARK_STREAM_(marker, name)                                              \
	do {                                                                          \
		static struct fprof_marker marker = FPROF_MARKER_INIT(                \
			name, NULL, 0, FPROF_MARKER_STREAM, FPROF_LEVEL_LANDMARK, 0); \
		fprof_mark_stream_slow(&marker);                                      \
	} while (0)

#include "fprof_alloc.h"
#include "fprof_inline.h"
#else
#include "fprof_disabled.h"
#endif

#endif
