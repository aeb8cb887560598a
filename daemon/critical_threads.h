/* SPDX-License-Identifier: MIT */
/* The threads that the frames of a range may have waited for, and what the scheduler did with them.
 */
#ifndef FPROF_DAEMON_CRITICAL_THREADS_H
#define FPROF_DAEMON_CRITICAL_THREADS_H

#include "counted.h"
#include "critical_path.h"
#include "range.h"

/* How much is held at once. */
#define CRITICAL_INTERVALS_MAX (1u << 21) /* of all threads: 128 MiB */
#define CRITICAL_THREADS_MAX   1024u

struct critical_threads {
	VEC(struct path_thread) at; /* as path_threads wants them; track: into range->tracks */
	size_t with_tid;
};
/* Those that mark counted frames, and whoever woke one of them, or one of those, and so on. 0,
 * -E2BIG, -ENOMEM, -EIO. */
int critical_threads_read(struct history *h, const struct counted *counted,
			  struct critical_threads *ret_threads);
void critical_threads_deinit(struct critical_threads *threads);
/* The index of the thread with this tid, or PATH_NOBODY. */
uint32_t critical_threads_tid(const struct critical_threads *threads, uint32_t tid);
/* The index of the thread whose track this is, or PATH_NOBODY. */
uint32_t critical_threads_track(const struct critical_threads *threads, const struct range *range,
				uint32_t track);

#endif
