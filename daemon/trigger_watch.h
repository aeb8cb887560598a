/* SPDX-License-Identifier: MIT */
/*
 * The triggers of one live session: told of each frame of the main stream as it closes, of GPU
 * figures as they become final, and of the session's end. What fires becomes a row of the session's
 * batch (struct spike_row), so it is known after the frame that it is about is stored. Drain thread
 * only.
 */
#ifndef FPROF_DAEMON_TRIGGER_WATCH_H
#define FPROF_DAEMON_TRIGGER_WATCH_H

#include "batch.h"
#include "track.h"
#include "trigger.h"

struct live;
struct trigger_watch;

#define TRIGGER_MEDIAN_FRAMES 127u /* that a running median is of */
#define TRIGGER_MEDIAN_MIN    30u  /* before so many there is none */
#define TRIGGER_EXTEND_MAX    600u /* frames from a window's first spike to its last one */

/* From now on list is what session s is watched for: 0 or -ENOMEM, then as it was. A list without
 * entries costs nothing. The list's count is taken. */
int trigger_watch_set(struct live *s, struct trigger_list *list);
void trigger_watch_free(struct trigger_watch *watch); /* NULL is fine */
const struct trigger_list *trigger_watch_list(const struct trigger_watch *watch);

/* s->watch may be NULL in all of these. 0 or -errno. */
int trigger_watch_chunk(struct live *s, struct part *part, const struct chunk_row *row);
/* The frame's counters are the batch's last rows. */
int trigger_watch_frame(struct live *s, const struct frame_row *row);
/* The batch's frame_gpus from this one on are new. */
int trigger_watch_gpu(struct live *s, size_t from);
/* Rows of what triggers would have said while they rested, where that has changed. */
int trigger_watch_tell(struct live *s);
/* The process is gone and left without a goodbye. */
int trigger_watch_exit(struct live *s);

#endif
