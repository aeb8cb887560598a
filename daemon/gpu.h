/* SPDX-License-Identifier: MIT */
/*
 * GPU results of one session: raw queue ticks onto the session's axis, spans into their frames,
 * span and busy time per queue and frame, what is missing. Pure: it is told events in the order
 * they were read, and writes rows into a batch. Used by the drain thread.
 */
#ifndef FPROF_DAEMON_GPU_H
#define FPROF_DAEMON_GPU_H

#include "batch.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu;

#define GPU_FRAMES_PENDING \
	8 /* frames after its own that a result may come and still be waited for */

#define GPU_FRAMES_AHEAD                                                                          \
	960 /* so far beyond the newest closed frame a result is believed: its ring is read first \
	     */

struct gpu *gpu_new(uint64_t session); /* NULL: no memory */
void gpu_free(struct gpu *gpu);	       /* NULL is fine */

/* A queue: raw ticks are masked to valid_bits (1..64). track is its track id. -EINVAL: nonsense
 * (ns_per_tick not finite and > 0, bits out of range); -ENOSPC: more than 64 queues. */
int gpu_queue(struct gpu *gpu, uint32_t queue, uint32_t track, double ns_per_tick,
	      uint32_t valid_bits);
/* GPU ticks and the session's ns at one moment. Spans between two pairs are interpolated. */
void gpu_calibrate(struct gpu *gpu, uint32_t queue, uint64_t gpu_ticks, int64_t ns);
void gpu_submit(struct gpu *gpu, uint32_t queue, uint32_t view, uint64_t submission, uint64_t frame,
		int64_t ns);
struct gpu_span {
	uint32_t queue, marker, view;
	uint64_t begin, end; /* raw */
	uint64_t frame, submission, fence;
};
/* Returns false when the span was dropped as impossible (end before begin, end = 0, longer than 60
 * s, unknown queue), as too late for its frame, as far
 * ahead of it, or for want of room: counted by the caller as
 * REPAIR_GPU_DROPPED. */
bool gpu_span(struct gpu *gpu, const struct gpu_span *span, int64_t arrival_ns);
void gpu_dropped(struct gpu *gpu, uint32_t queue, uint64_t frame, uint64_t count);
/* A frame of the main stream closed on the CPU side: rows for older ones may become final. */
void gpu_frame_closed(struct gpu *gpu, uint64_t frame);
/* Does frame have submissions whose results are missing so far? For FRAME_GPU_PENDING. */
bool gpu_frame_pending(const struct gpu *gpu, uint64_t frame);
/* Appends gpu_span_row and frame_gpu_row for what is new. all: the session ends; nothing stays
 * pending. */
int gpu_flush(struct gpu *gpu, struct batch *batch, bool all);
/* Results of frames written for the last time that never came, since it was asked last. For
 * REPAIR_GPU_MISSING. */
uint64_t gpu_take_missing(struct gpu *gpu);

#endif
