/* SPDX-License-Identifier: MIT */
/*
 * One game as the kernel's events tell of it: its threads, each with its log, and what its
 * descriptors are. One thread.
 */
#ifndef FPROF_DAEMON_SCHED_PROCESS_H
#define FPROF_DAEMON_SCHED_PROCESS_H

#include "batch.h"
#include "probe/event.h"
#include "sched_log.h"

#include <stdbool.h>
#include <stdint.h>

#define SCHED_FDS_MAX 256u

struct sched_thread {
	uint32_t tid;	  /* the kernel's */
	int32_t game_tid; /* the game's */
	bool gone;
	enum wait_reason last_block; /* what a call that is restarted goes on to wait for */
	struct sched_log log;
};

/* What a descriptor of a game was when it was last asked. */
struct sched_fd {
	int32_t fd;
	enum fd_class class;
	uint64_t at;
};

struct sched_process {
	int32_t pid;
	VEC(struct sched_thread *) threads;
	size_t gone;	 /* of them */
	uint64_t missed; /* switches and wakes that the kernel did not tell of, as later events show
			  */
	struct sched_fd fds[SCHED_FDS_MAX];
};
void sched_process_deinit(struct sched_process *process); /* all zeros but the pid is fine */

/* An event of one of its threads, at t ticks since the session's start. 0; -ENOMEM, -ENOSPC (too
 * many threads): it is not in any log. */
int sched_process_take(struct sched_process *process, const struct probe_event *event, int64_t t);
/* From here on nothing is known of anybody, until the next event. */
void sched_process_lost(struct sched_process *process);
/* What its logs have goes into the batch, a row a thread; what finds no memory stays. Threads that
 * are gone are forgotten. */
void sched_process_flush(struct sched_process *process, uint64_t session, struct batch *batch);
/* Many of its threads are gone: time to flush, lest there be no room for new ones. */
bool sched_process_is_full(const struct sched_process *process);

#endif
