/* SPDX-License-Identifier: MIT */
/* The threads that the frames of a range may have waited for, and what the scheduler did with them.
 */
#ifndef FPROF_DAEMON_CRITICAL_THREADS_H
#define FPROF_DAEMON_CRITICAL_THREADS_H

#include "counted.h"
#include "critical_path.h"
#include "history.h"

/* How much is held at once. */
#define CRITICAL_INTERVALS_MAX (1u << 22) /* of all threads: 64 MiB */
#define CRITICAL_THREADS_MAX   4096u	  /* as many as gain_meeting and path_interval can name */

/* Those that mark counted frames, and whoever woke one of them, or one of those, and so on. track
 * is an index into range->tracks or PATH_NOBODY. 0, -E2BIG, -ENOMEM, -EIO. */
int critical_threads_read(struct history *h, const struct counted *counted,
			  struct path_threads *ret_threads);
void critical_threads_deinit(struct path_threads *threads);
/* The index of the thread whose track this is (an index, too), or PATH_NOBODY. */
uint32_t critical_threads_track(const struct path_threads *threads, const struct range *range,
				uint32_t track);

#endif
