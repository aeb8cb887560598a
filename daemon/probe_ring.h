/* SPDX-License-Identifier: MIT */
/*
 * Reading the kernel program's ring buffer through its map's descriptor, without bpf(2), which this
 * process may not use. The layout is the kernel's (Documentation/bpf/ringbuf.rst): a page with the
 * consumer's position, one with the producer's, then the data, mapped twice in a row. One thread.
 */
#ifndef FPROF_DAEMON_PROBE_RING_H
#define FPROF_DAEMON_PROBE_RING_H

#include "probe/event.h"

#include <stddef.h>
#include <stdint.h>

struct probe_ring {
	uint64_t *consumer;
	const uint8_t *producer; /* its page, then the data */
	const struct probe_counts *counts;
	size_t bytes; /* of the data */
};

/* Maps both; the descriptors may be closed. bytes: a power of two, of the data. 0 or -errno. */
int probe_ring_map(int events_fd, int counts_fd, size_t bytes, struct probe_ring *ret_ring);
void probe_ring_unmap(struct probe_ring *ring); /* all zeros is fine */

/* Copies up to max events: how many. They are gone from the buffer. */
size_t probe_ring_read(struct probe_ring *ring, struct probe_event *events, size_t max);
/* Copies the next record, where it has at most size bytes (others are passed over): how many it
 * has; 0: there is none. */
size_t probe_ring_take(struct probe_ring *ring, void *record, size_t size);
/* Events that the kernel had no room for. */
uint64_t probe_ring_lost(const struct probe_ring *ring);

#endif
