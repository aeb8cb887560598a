/* SPDX-License-Identifier: MIT */
/*
 * What the drain thread hands to the store thread: rows, one transaction a batch.
 *
 * The drain thread fills a batch, the store thread commits and frees it; at no time do both touch
 * it. All tick values are relative to the session's start_ticks (signed: an event may be older),
 * all ns values count from session start. Strings are owned by the batch (malloc), valid UTF-8.
 * Rows are written in the order of the members below.
 */
#ifndef FPROF_DAEMON_BATCH_H
#define FPROF_DAEMON_BATCH_H

#include "util.h"

#include <stdbool.h>
#include <stdint.h>

/* The ids of a session's markers are 1 to this one. Greater ones are nobody's. */
#define MARKER_ID_MAX 1048576

enum session_state { SESSION_LIVE = 0, SESSION_ENDED = 1, SESSION_CRASHED = 2 };

/* Lead words that were received but not stored, and things lost before they could be received.
 * The ledger of every ring: produced = received + overwritten;
 * received = stored + sum(discarded[DISCARD_*]). */
enum discard_reason {
	DISCARD_MALFORMED = 0, /* unknown marker id, impossible length, garbage word */
	DISCARD_TIME,	       /* a time that could not be placed without ambiguity */
	DISCARD_QUOTA,	       /* the session's share was used up */
	DISCARD_HOOK_MARK,     /* hook marks, once the game's own were seen */
	DISCARD_NOT_RECORDING, /* arrived outside a recorded range */
	DISCARD_FOREIGN_MARK,  /* of a thread that does not own the stream */
	DISCARD_REASONS
};

/* What was repaired or refused, per session; "losses" in the API. */
enum repair_kind {
	REPAIR_UNBALANCED_END =
		0,		 /* an end whose zone was open further out: inner ones truncated */
	REPAIR_STRAY_END,	 /* an end of a zone that is not open */
	REPAIR_TRUNCATED_ZONE,	 /* closed by thread end, process end, lap or lost fiber segment */
	REPAIR_DEPTH,		 /* zones beyond the depth limit, counted, not stored */
	REPAIR_FOREIGN_MARK,	 /* marks of a stream from a thread that does not own it */
	REPAIR_TIME_BACKWARDS,	 /* times that ran backwards on one ring, clamped */
	REPAIR_LATE_EVENT,	 /* came after their frame was closed */
	REPAIR_GPU_DROPPED,	 /* GPU queries lost, and spans with impossible times */
	REPAIR_COUNTERS_REFUSED, /* beyond max_counters */
	REPAIR_CLOCK_STEP,	 /* suspend or migration: a new clock epoch */
	REPAIR_HEAD_BACKWARDS,	 /* a ring whose head ran backwards: the ring is abandoned */
	REPAIR_GPU_MISSING,	 /* GPU results of finished frames that never came */
	REPAIR_KINDS
};

enum frame_flags {
	FRAME_STARTUP = 1 << 0,	       /* frame 1: starts with the session; outside statistics */
	FRAME_LOST_EVENTS = 1 << 1,    /* events of its time were overwritten */
	FRAME_GPU_INCOMPLETE = 1 << 2, /* results were submitted that never came */
	FRAME_GPU_PENDING = 1 << 3,    /* results are still to come */
	FRAME_CLOCK_STEP = 1 << 4,
	FRAME_EVENTS_EVICTED = 1 << 5, /* set by readers when its chunks are gone */
	FRAME_LATE_EVENTS = 1 << 6,    /* set by readers when late rows exist */
	FRAME_MARKS_LOST = 1 << 7,     /* marks before its end were lost: it stands for several */
	FRAME_COUNTERS_INCOMPLETE = 1 << 8,
	FRAME_CLOCK_DOUBTFUL = 1 << 9, /* the clock is not invariant */
	FRAME_PAUSED = 1 << 10,	       /* recording was stopped or frozen within it */
	FRAME_UNFINISHED = 1 << 11,    /* set by readers: no mark has ended it */
	FRAME_LOADING = 1 << 12,       /* the game was loading in it; outside statistics */
};

struct session_row {
	uint64_t id;
	enum session_state state;
	int32_t pid;	/* in the daemon's namespace */
	int32_t ns_pid; /* in the game's */
	uint32_t uid;
	uint64_t process_start; /* /proc/PID/stat field 22 */
	uint64_t image_id;
	char *boot_id;
	char *name, *exe, *build_id; /* build_id: hex or NULL */
	char *facts_json; /* {"argv": [...], "kernel": ..., "cpu": ..., "gpu": ..., ...} */
	uint32_t clock_kind;
	double clock_hz;
	uint64_t clock_mult; /* ns = (ticks * mult) >> shift */
	uint32_t clock_shift;
	uint64_t start_ticks;
	uint64_t start_utc_ns;
	uint16_t abi_major, abi_minor;
	uint32_t library_version;
};

/* What changes while a session runs: written with every batch that touches the session. */
struct session_update_row {
	uint64_t id;
	enum session_state state;
	char *end_reason; /* NULL while live: "exit", "exec", "killed by signal 9 (SIGKILL)", ... */
	int64_t end_ns;	  /* -1 while live */
	bool end_unknown; /* no fprofd was there: end_ns is the last event that was read */
	uint32_t threads_active;
	uint64_t frames_total; /* of the main stream */
	uint64_t produced, received, stored, overwritten;
	uint64_t dropped_reentrant;
	uint64_t discarded[DISCARD_REASONS];
	uint64_t repaired[REPAIR_KINDS];
	uint64_t refused[8];		 /* enum fprof_refused, summed over memories */
	uint32_t ring_fill_max_permille; /* fullest ring seen at a sweep since the last update */
	char *fault;			 /* NULL, or why recording of this session was given up */
	uint32_t record;		 /* enum fprof_record_state, as ordered */
	uint32_t record_in_force;	 /* ... as the game has taken it over */
	char *detail;			 /* JSON of what was ordered of it; NULL: as before */
	bool record_news;		 /* one of them, or the detail, has changed with this row */
};

/* One registered memory: what a restarted daemon needs to recognise it. */
struct memory_row {
	uint64_t session, memory_id;
	uint32_t lane; /* 0, 1, ... within the session */
	uint32_t origin;
	uint64_t bytes;
};

struct marker_row {
	uint64_t session;
	uint32_t marker; /* the session's id, from 1: lanes are merged by content */
	uint8_t kind, level, unit, dynamic;
	uint32_t line, colour;
	char *name, *category, *file; /* category and file may be NULL */
};

enum track_kind { TRACK_THREAD = 0, TRACK_FIBER = 1, TRACK_GPU_QUEUE = 2 };

/* Written when a track appears and again whenever something of it changes. */
struct track_row {
	uint64_t session;
	uint32_t track; /* from 1 */
	enum track_kind kind;
	int32_t tid; /* threads only, the game's namespace */
	char *name;  /* NULL: none known */
	int64_t begin_ticks;
	int64_t end_ticks;  /* INT64_MAX while alive */
	double ns_per_tick; /* GPU queues only */
	uint32_t valid_bits;
};

/* Events of one track from one lane, in ring order; see chunk.h. data is compressed by the store.
 */
struct chunk_row {
	uint64_t session;
	uint32_t track, lane;
	int64_t t0, t1;	   /* of its first and last event; carried-in zones began before */
	uint32_t events;   /* lead words in it */
	uint32_t depth_in; /* zones carried in */
	uint32_t late;	   /* events in it that came after their frame was closed */
	uint8_t *data;	   /* chunk.h's raw form, owned */
	uint32_t bytes;
	bool counted; /* zone_counts has what its zones came to, in counts rows from counts_from */
	uint32_t counts_from, counts;
};

/* What a path of zones came to: the calls that have ended. */
struct zone_sum {
	uint64_t calls, ticks, max_ticks;
	int64_t max_begin; /* ticks */
};

/* The same in one chunk. Parents come first. */
struct zone_count_row {
	uint32_t parent; /* the place of its row among the chunk's, from 1; 0: the thread */
	uint32_t marker;
	struct zone_sum sum;
};

/* An interval in which events of a track were overwritten. */
struct gap_row {
	uint64_t session;
	uint32_t track, lane;
	int64_t t0, t1;
	uint64_t events;
};

struct stream_row {
	uint64_t session;
	uint32_t stream; /* 0: main */
	char *name;	 /* "main" for 0 */
	uint32_t track;	 /* its marking thread */
	int32_t tid;	 /* the same, in the game's namespace; 0: none. Not stored */
};

#define NS_UNKNOWN INT64_MIN /* stored as NULL: could not be measured */

struct frame_row {
	uint64_t session;
	uint32_t stream;
	uint64_t frame;	   /* from 1 */
	int64_t engine_id; /* -1: none given */
	int64_t t0, t1;	   /* ticks */
	int64_t begin_ns, end_ns;
	int64_t cpu_ns; /* wall - waits of the marking thread, or NS_UNKNOWN */
	int64_t wait_gpu_ns, wait_present_ns, wait_cap_ns; /* or NS_UNKNOWN */
	uint64_t events, lost_events;
	uint32_t flags;
	uint32_t track; /* that ended it */
};

/* What its thread waited in all, as far as it is known; NS_UNKNOWN: nothing of it is. */
static inline int64_t frame_row_wait_ns(const struct frame_row *row)
{
	if (row->wait_gpu_ns == NS_UNKNOWN && row->wait_present_ns == NS_UNKNOWN &&
	    row->wait_cap_ns == NS_UNKNOWN)
		return NS_UNKNOWN;
	return MAX(row->wait_gpu_ns, 0) + MAX(row->wait_present_ns, 0) + MAX(row->wait_cap_ns, 0);
}

/* A counter's value at the end of a frame. */
struct frame_counter_row {
	uint64_t session;
	uint32_t stream;
	uint64_t frame;
	uint32_t marker;
	bool is_double, incomplete;
	union {
		int64_t i;
		double d;
	} value;
};

struct gpu_span_row {
	uint64_t session;
	uint64_t frame; /* of the main stream */
	uint32_t track; /* its queue */
	uint32_t marker;
	uint64_t submission;
	uint32_t view;
	uint64_t fence;
	int64_t begin_ns, end_ns; /* on the session's axis */
	bool calibrated;	  /* false: only aligned to its submission */
	uint64_t raw_begin, raw_end;
};

/* What a frame's queue came to; a later row of the same frame and queue replaces an earlier one. */
struct frame_gpu_row {
	uint64_t session;
	uint64_t frame;
	uint32_t track;
	int64_t span_ns, busy_ns; /* NS_UNKNOWN: there is no span */
	uint32_t spans, missing;  /* missing: submissions whose results are not here (yet) */
	bool final;		  /* nothing more is expected */
};

/* A counter that the daemon reads from outside the game; see sampler.h. */
struct sampled_row {
	uint64_t session;
	uint32_t counter; /* from 1, within the session */
	char name[48];
	const char *module, *source; /* static */
	uint8_t unit;
	bool cumulative; /* grows: only differences mean something */
};
/* What the scheduler did with one thread; see sched_log.h. */
struct sched_row {
	uint64_t session;
	int32_t tid; /* the game's own */
	int64_t t0, t1;
	uint32_t records;
	uint8_t *data; /* sched_log.h's form, owned */
	uint32_t bytes;
};
/* Sampled stacks; see stack_log.h. */
struct stack_row {
	uint64_t session;
	int64_t t0, t1;
	uint32_t samples;
	uint8_t *data; /* stack_log.h's form, owned */
	uint32_t bytes;
};
/* The code that they are in. The later row of one id counts. */
struct stack_module_row {
	uint64_t session;
	uint64_t module;
	char *path;	     /* owned */
	char build_id[41];   /* "": none */
	const char *symbols; /* static; NULL: none */
	char reason[160];    /* "": there are symbols */
};
/* A function of it, lo <= offset < hi; the later row of one lo counts. */
struct stack_symbol_row {
	uint64_t session;
	uint64_t module, lo, hi;
	char *name; /* owned; NULL: it has none */
};
/* How long a thread that marks frames had run when it was read; see usage.h. */
struct ran_row {
	uint64_t session;
	int32_t tid; /* the game's own */
	int64_t ns, ran_ns;
};
struct sample_row {
	uint64_t session;
	uint32_t counter;
	int64_t ns; /* when it was read */
	int64_t value;
};

/* A trigger fired (trigger_watch.h). For whoever hears of the commit; not stored. */
struct spike_row {
	uint64_t session;
	uint64_t frame;	      /* of the main stream, that it fired in; 0: before the first */
	uint64_t first, last; /* to be kept, 0: none; the last ones may be still to come */
	uint32_t keep;	      /* spikes of this trigger */
	bool freeze;
	bool end;	   /* the game has ended, without a goodbye */
	bool crashed;	   /* ... and was killed */
	char *reason_json; /* an object: trigger, value, threshold, median, frame */
};
/* Firings of one trigger that no spike has told of, as it rests: it takes the place of an earlier
 * one of the same number. For whoever hears of the commit; not stored. */
struct suppressed_row {
	uint64_t session;
	uint32_t uid;	      /* the session's owner */
	uint32_t number;      /* of the trigger, within the session */
	uint64_t count;	      /* 0: a spike has told of them */
	uint64_t first, last; /* frames */
	char *trigger_json;
};

struct info_row {
	uint64_t session;
	char *key, *value;
};

/* The absolute state of one ring: where a restarted daemon goes on. */
struct ledger_row {
	uint64_t session;
	uint32_t lane, slot;
	uint64_t tail;	      /* next word to read */
	uint64_t base_ticks;  /* full time of the last event read (absolute) */
	uint32_t serial;      /* of the thread that owned it there */
	uint32_t track;	      /* its own track */
	uint32_t fiber_track; /* 0: none running */
	uint64_t fiber, fiber_seq;
	uint64_t produced, received, stored, overwritten;
	uint64_t discarded[DISCARD_REASONS];
	uint32_t fill_permille; /* the fullest it was since the row before */
	uint8_t *stack;		/* chunk.h's carried-in form of the open zones, owned */
	uint32_t stack_bytes;
};

/* All that was recorded before is to go; names stay. Written after the rows of its batch. */
struct clear_row {
	uint64_t session;
	int64_t before; /* ticks: what ended by then, and frames that did */
};

/* How far batch_weight has come, and what the strings and blobs up to there add up to. */
struct batch_weighed {
	size_t sessions, markers, tracks, streams, infos, ledgers, updates, spikes, suppressed;
	size_t stack_modules, stack_symbols;
	uint64_t bytes;
};

struct batch {
	VEC(struct session_row) sessions;
	VEC(struct memory_row) memories;
	VEC(struct marker_row) markers;
	VEC(struct track_row) tracks;
	VEC(struct stream_row) streams;
	VEC(struct info_row) infos;
	VEC(struct chunk_row) chunks;
	VEC(struct zone_count_row) zone_counts; /* of chunks; not stored as they are */
	VEC(struct gap_row) gaps;
	VEC(struct frame_row) frames;
	VEC(struct frame_counter_row) frame_counters;
	VEC(struct gpu_span_row) gpu_spans;
	VEC(struct frame_gpu_row) frame_gpus;
	VEC(struct sampled_row) sampled;
	VEC(struct sample_row) samples;
	VEC(struct ran_row) rans;
	VEC(struct sched_row) scheds;
	VEC(struct stack_row) stacks;
	VEC(struct stack_module_row) stack_modules;
	VEC(struct stack_symbol_row) stack_symbols;
	VEC(struct ledger_row) ledgers;
	VEC(struct session_update_row) updates;
	VEC(struct clear_row) clears;
	VEC(struct spike_row) spikes;
	VEC(struct suppressed_row) suppressed;
	uint64_t bytes; /* of chunk data */
	struct batch_weighed weighed;
	uint64_t weight;    /* the store's: of all, while it is queued */
	struct batch *next; /* the same */
};

struct batch *batch_new(void);	      /* NULL: no memory */
void batch_free(struct batch *batch); /* with all that it owns; NULL is fine */

/* The bytes of all rows and of what they own, as the bounds on batches and on the store's queue
 * count them. Cheap: a string is measured once. */
uint64_t batch_weight(struct batch *batch);

/* Free what a row owns, not the row. */
void session_row_deinit(struct session_row *row);
void session_update_row_deinit(struct session_update_row *row);
void marker_row_deinit(struct marker_row *row);

#endif
