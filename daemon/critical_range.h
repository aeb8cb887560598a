/* SPDX-License-Identifier: MIT */
/*
 * The critical paths of a range's frames: pieces of them, each of one thread, zone and state, and
 * what each zone of each thread had of them. One thread at a time; the range must outlive it.
 */
#ifndef FPROF_DAEMON_CRITICAL_RANGE_H
#define FPROF_DAEMON_CRITICAL_RANGE_H

#include "critical_gain.h"
#include "critical_path.h"
#include "critical_threads.h"
#include "zone_tree.h"

#include <stdbool.h>
#include <stdint.h>

enum path_state {
	PATH_UNKNOWN = 0,
	PATH_RUNNING,
	PATH_RUNNABLE, /* it waited for a CPU */
	PATH_BLOCKED,
	PATH_GPU, /* blocked: it waited for the GPU */
	PATH_STATES
};
extern const char *const path_state_names[PATH_STATES];

/* What a piece rests on, as in a verdict. */
enum path_evidence { PATH_BY_ZONE, PATH_BY_KERNEL, PATH_BY_BOTH, PATH_EVIDENCES };
extern const char *const path_evidence_names[PATH_EVIDENCES];

struct path_piece {
	int64_t t0;		  /* ticks */
	int64_t begin_ns, end_ns; /* from the session's start */
	uint32_t thread;	  /* index into threads */
	uint32_t node;		  /* of the tree; PATH_NOBODY: the thread has no track */
	uint32_t interval;	  /* of the thread's sched, or PATH_NOBODY */
	enum path_state state;
	enum path_evidence evidence;
	enum path_end end;
	uint8_t wait; /* enum fprof_marker_kind of the innermost wait zone; 0: in none */
};

/* Of a thread's zone, or of a thread outside of all its zones. */
struct path_row {
	uint32_t thread; /* index into threads */
	uint32_t node;	 /* as in path_piece */
	uint64_t frames; /* whose paths it is on */
	int64_t ns[PATH_STATES];
	int64_t self_ns;  /* their sum */
	int64_t total_ns; /* with the zones inside */
	/* critical_gain.h, with the zones inside and without; NS_UNKNOWN: it was not played */
	int64_t gain_ns, self_gain_ns;
	uint32_t seen; /* inside: the last frame counted, from 1 */
};

struct critical {
	const struct range *range;
	struct zone_tree tree; /* its nodes; those of tracks stand for threads outside of zones */
	struct path_threads threads;
	bool kernel; /* the scheduler was asked about some of it */
	int64_t wall_ns;
	int64_t ns[PATH_STATES];       /* add up to it */
	int64_t waits_ns[PATH_ENDS];   /* of waits, by what ended them */
	VEC(struct path_piece) pieces; /* if wanted: oldest first; they touch */
	VEC(struct path_row) rows;     /* those with time, in the order of their nodes */
	uint64_t gaps, lost_events;    /* of zones, on the tracks that were read */
};
#define CRITICAL_PIECES_MAX  (1u << 18)
#define CRITICAL_ENTRIES_MAX (1u << 23) /* beyond them nothing is played */
#define CRITICAL_PLAYED_MAX  (1u << 20) /* in all rounds together, but for the first */
#define CRITICAL_ROUNDS_MAX  32u
/* flags: enum counted_flags. pieces: those are wanted. As many rows are played as these allow
 * rounds of GAIN_KEYS_MAX, those with the most self and total time first. 0, -E2BIG, -EIO, -ENOMEM.
 */
int critical_read(struct history *h, const struct range *range, unsigned flags, bool pieces,
		  struct critical *ret_critical);
void critical_deinit(struct critical *critical);

#endif
