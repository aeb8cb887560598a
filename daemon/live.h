/* SPDX-License-Identifier: MIT */
/*
 * A live session as the drain holds it: its memories, tracks, markers, frames, counters, and the
 * batch that its rows go to. Drain thread only. The modules below it (lane, track, words, frames,
 * counters) are one machine cut into files: they all work on this structure.
 *
 * Errors: -ENOMEM and the like end the session's recording (fault) and nothing else.
 */
#ifndef FPROF_DAEMON_LIVE_H
#define FPROF_DAEMON_LIVE_H

#include "batch.h"
#include "counters.h"
#include "frames.h"
#include "gpu.h"
#include "lane.h"
#include "marker_table.h"
#include "memory.h"
#include "record.h"
#include "shm/clock_source.h"
#include "store.h"
#include "track.h"
#include "trigger_watch.h"

#define LIVE_BUF_WORDS	 8192u		/* copied at a time: 64 KiB */
#define LIVE_RING_WORDS	 (512u * 1024)	/* a ring's share of a sweep */
#define LIVE_SWEEP_WORDS (2048u * 1024) /* a session's */
#define LIVE_BATCH_BYTES \
	(8u * 1024 * 1024) /* a batch that large is committed before more is read */
#define LIVE_LANES_MAX 16u
#define LIVE_LAST_SWEEPS \
	1024u /* what a process that is gone left is read in so many, or given up */

struct live {
	uint64_t id;
	uint32_t uid;
	uint64_t start; /* ticks */
	enum fprof_clock_kind clock_kind;
	struct fprof_clock_rate rate;
	struct control *control;      /* may be NULL */
	struct control_set *controls; /* that has it, or NULL */
	struct store_resume *resume;  /* until its memories have come back; may be NULL */
	struct batch *batch;	      /* where rows go; set by the owner before each call */

	struct lane *lanes[LIVE_LANES_MAX]; /* NULL: not here (yet again) */
	uint32_t lane_count;
	VEC(struct ring *) order; /* of a sweep */
	struct marker_table markers;
	struct tracks tracks;
	uint64_t count_from; /* frames of the main stream, before zones are counted */
	struct frames frames;
	struct counters counters;
	struct gpu *gpu;
	struct trigger_watch *watch; /* NULL: no triggers */
	uint64_t cleared_to;	     /* frames of the main stream up to it were cleared by order */
	uint64_t watches;	     /* lists that watched events, so far */
	uint32_t triggers_watched;   /* so far, of all lists */
	int64_t gpu_frame_shift;     /* from the marks' sequence to frame numbers */

	struct record record;
	uint64_t detail_version; /* of what the rows say */

	uint64_t repaired[REPAIR_KINDS];
	struct session_update_row last_update; /* without strings */
	bool updated;
	uint32_t fill_permille;
	uint64_t *buf; /* LIVE_BUF_WORDS */

	uint32_t rotate; /* which ring comes first: shares are fair over sweeps */
	int64_t now;	 /* of the last sweep */
	uint32_t info_count;
	int64_t swept_to;     /* all rings have been read up to here */
	uint32_t last_sweeps; /* of them so far */
	bool gone;	      /* the process is: the owner's, live_end is to come */
	bool bye;	      /* it said goodbye: what it ends by is in order, unless it crashed */
	bool crashed;
	int fault; /* 0, or why recording was given up */
	enum session_state state;
	char *end_reason;
};

/* Takes control and resume over, in any case. row stays the caller's. -ENOMEM. */
int live_new(const struct session_row *row, struct control *control, struct store_resume *resume,
	     uint32_t max_counters, struct batch *batch, struct live **ret_live);
void live_free(struct live *s); /* NULL is fine */

/* Takes memory over on success. -EINVAL: another clock than the session's, -ENOSPC: too many. */
int live_add_memory(struct live *s, struct memory *memory);

struct live_sweep {
	uint64_t now;		/* the clock before any head is read, ticks */
	uint64_t grace;		/* events younger than this wait for the next sweep */
	bool last;		/* the process is gone: all that is there */
	uint32_t fill_permille; /* out: the fullest ring */
	uint64_t events;	/* out: received */
	uint64_t budget_ns;	/* what is not read within this waits for the next one; 0: none */
	bool behind;		/* out: shares were used up, there is more */
};
/* Reads the rings. An error is remembered in s->fault and the session is left alone from then on.
 */
int live_sweep(struct live *s, struct live_sweep *sweep);

/* Shows the client that the daemon lives; live_sweep does it too. */
void live_heartbeat(struct live *s);

/* A clock step was found between two sweeps' clocks (ticks). */
void live_clock_step(struct live *s, uint64_t from, uint64_t to);

/* Chunks, GPU rows, ledgers and the update: the batch is whole and consistent afterwards. */
int live_flush(struct live *s);

/* A row that clears what was recorded up to the last frame boundary. 0 or -ENOMEM. */
int live_clear(struct live *s);

/* The process is gone and swept (s->end_reason says how): what is open stays so in the last chunks'
 * state. */
int live_end(struct live *s, enum session_state state);

/* Bounded, as a memory may say anything: sums and differences of two times do not overflow. */
#define LIVE_TICKS_MAX (INT64_C(1) << 61)
static inline int64_t live_ticks(const struct live *s, uint64_t ticks)
{
	return MIN(MAX((int64_t)(ticks - s->start), -LIVE_TICKS_MAX), LIVE_TICKS_MAX);
}

#endif
