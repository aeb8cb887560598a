/* SPDX-License-Identifier: MIT */
/*
 * How much earlier frames would have ended if a zone had taken no time: their threads are played
 * once more, forwards, with that zone's own time left out. Pure; one thread at a time.
 *
 * The rules: all time that a thread spent for itself (running, queueing for a CPU, waiting for a
 * disk) keeps its length, but for that in the zone or in zones inside of it. A wait that a thread
 * of the game ended lasts until that thread comes to where it ended it, and is no wait at all where
 * it came there first. A wait for the GPU, and where frames are even one for the limiter or the
 * display and any sleep, ends when it ended: it would only have been longer. So no gain is larger
 * than the zone's time on the critical path, and it is smaller where the next longest path takes
 * over.
 */
#ifndef FPROF_DAEMON_CRITICAL_GAIN_H
#define FPROF_DAEMON_CRITICAL_GAIN_H

#include "slab.h"
#include "util.h"

#include <stddef.h>
#include <stdint.h>

#define GAIN_KEYS_MAX 64u /* zones that are played at once: a bit each */

/* What one thread did, in order. what: a node (which of them, the caller knows), maybe with
 * GAIN_UNTIL (it ended when it ended), or GAIN_MEETS: here comes the thread's next meeting. */
#define GAIN_MEETS UINT32_MAX
#define GAIN_UNTIL (UINT32_C(1) << 31)
struct gain_entry {
	uint32_t what;
	uint32_t ns; /* longer ones are several */
};
/* Appends to a list of entries: 0 or -ENOMEM. */
int gain_add(struct slab_list *entries, struct slab **slabs, uint32_t what, int64_t ns);

/* A meeting of two threads, or of all. Each thread's entries have one GAIN_MEETS for each meeting
 * that it has a part in, in the order of the meetings. */
enum gain_kind {
	GAIN_WAKE,  /* waker ended a wait of thread that had lasted waited_ns */
	GAIN_END,   /* of a frame that thread marks */
	GAIN_BEGIN, /* of a frame: all threads take part, and nothing was gained yet */
};
struct gain_meeting {
	int64_t t;	   /* rising */
	uint64_t kind : 2; /* enum gain_kind */
	uint64_t thread : 12, waker : 12;
	uint64_t waited_ns : 38; /* four minutes are as good as more */
};
#define GAIN_WAITED_MAX	 ((INT64_C(1) << 38) - 1)
#define GAIN_THREADS_MAX (1u << 12)

struct gain_play {
	const struct slab_list *threads; /* of entries */
	size_t thread_count;
	const struct gain_meeting *meetings;
	size_t meeting_count;
	const uint64_t *keys; /* by node: which keys it is in, or is */
	size_t node_count;
	unsigned key_count;
};
/* Adds to ret_ns[key] what all frames gain together. 0 or -ENOMEM. */
int gain_play(const struct gain_play *play, int64_t *ret_ns);

#endif
