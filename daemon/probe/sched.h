/* SPDX-License-Identifier: MIT */
/* The kernel program, loaded and attached for one fprofd. One thread. */
#ifndef FPROF_PROBE_SCHED_H
#define FPROF_PROBE_SCHED_H

#include <stdint.h>

struct sched;

/* 0, or -errno with *ret_why (static) and *ret_fix (static, NULL: none known). */
int sched_new(struct sched **ret_sched, const char **ret_why, const char **ret_fix);
void sched_free(struct sched *sched); /* detaches; NULL is fine */

/* The ring buffer's map and the counts', which stay sched's. */
int sched_events_fd(const struct sched *sched);
int sched_counts_fd(const struct sched *sched);
uint32_t sched_ring_bytes(const struct sched *sched);

/* Records a process, or no more: 0 or -errno. */
int sched_add(struct sched *sched, uint32_t tgid);
int sched_remove(struct sched *sched, uint32_t tgid);

#endif
