/* SPDX-License-Identifier: MIT */
/* Making the memory that the daemon reads. */
#ifndef FPROF_CLIENT_MEMORY_H
#define FPROF_CLIENT_MEMORY_H

#include "fd.h"

#include "fprof/layout.h"

#include <stdint.h>

/* A mapped session memory, its header filled but for the magic. */
struct memory {
	void *base;
	uint64_t bytes;
	struct owned_fd memfd;
};

/*
 * Makes a memory of up to FPROF_SLOTS_DEFAULT rings of ring_words words; fewer where they would
 * be more than 960 MiB, or the process's limits leave no room for so many. 0 or a negative errno,
 * and then nothing is left behind.
 */
int memory_new(uint32_t ring_words, enum fprof_clock_kind clock, enum fprof_origin origin,
	       struct memory *ret_memory);
void memory_free(struct memory *memory);

/*
 * Gives pages to ring i of a memory now, so that writing there faults no more: huge ones with what
 * lies beside it, where it can have them. Never changes what is written there. Any thread.
 * Returns how many rings have them now: those from *ret_first on, i among them.
 */
uint32_t memory_populate(const struct fprof_memory_header *h, uint32_t i, uint32_t *ret_first);

#endif
