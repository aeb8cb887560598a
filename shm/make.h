/* SPDX-License-Identifier: MIT */
/* Making a session memory: where things stand in it, and who owns a slot. */
#ifndef FPROF_SHM_MAKE_H
#define FPROF_SHM_MAKE_H

#include "atomic.h"
#include "layout.h"
#include "word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fills in versions, sizes, offsets and total_bytes of a header that has slot_count,
 * marker_capacity, strings_bytes and ring_words, and is zero otherwise. */
static inline void fprof_memory_lay_out(struct fprof_memory_header *h)
{
	const uint64_t page = 4096;

	h->abi_major = FPROF_ABI_MAJOR;
	h->abi_minor = FPROF_ABI_MINOR;
	h->header_bytes = sizeof(*h);
	h->slot_bytes = sizeof(struct fprof_slot);
	h->marker_bytes = sizeof(struct fprof_marker_entry);
	h->slots_offset = page;
	h->markers_offset = (h->slots_offset + (uint64_t)h->slot_count * h->slot_bytes + page - 1) &
			    ~(page - 1);
	h->strings_offset =
		(h->markers_offset + (uint64_t)h->marker_capacity * h->marker_bytes + page - 1) &
		~(page - 1);
	h->rings_offset = (h->strings_offset + h->strings_bytes + FPROF_RINGS_ALIGN - 1) &
			  ~(FPROF_RINGS_ALIGN - 1);
	h->total_bytes =
		h->rings_offset + (uint64_t)h->slot_count * h->ring_words * sizeof(uint64_t);
}

/* Around a change of a slot's owner. */
static inline void fprof_slot_own_begin(struct fprof_slot *slot)
{
	FPROF_STORE_RELAXED(&slot->seq, slot->seq + 1);
	FPROF_FENCE_RELEASE();
}

static inline void fprof_slot_own_end(struct fprof_slot *slot)
{
	FPROF_STORE_RELEASE(&slot->seq, slot->seq + 1);
}

/* n bytes of name, at most FPROF_THREAD_NAME_MAX; named: it is another one than the thread began
 * with. Within a change. */
static inline void fprof_slot_name(struct fprof_slot *slot, const char *name, size_t n, bool named)
{
	size_t i;

	FPROF_STORE_RELAXED(&slot->named, (uint64_t)named);
	for (i = 0; i < sizeof(slot->name); i++)
		FPROF_STORE_RELAXED(&slot->name[i], (uint8_t)(i < n ? name[i] : 0));
}

/* The slot's owner from start on, whose THREAD word is at pos. */
static inline void fprof_slot_own(struct fprof_slot *slot, int32_t tid, uint32_t serial,
				  uint64_t start, uint64_t pos, const char *name)
{
	fprof_slot_own_begin(slot);
	FPROF_STORE_RELAXED(&slot->tid, tid);
	/* after the tid: who takes slots back asks after the tid of what is LIVE */
	FPROF_STORE_RELEASE(&slot->state, (uint32_t)FPROF_SLOT_LIVE);
	FPROF_STORE_RELAXED(&slot->serial, serial);
	FPROF_STORE_RELAXED(&slot->start_ticks, start);
	FPROF_STORE_RELAXED(&slot->begin_pos, pos);
	FPROF_STORE_RELAXED(&slot->populate_ns, UINT64_C(0));
	fprof_slot_name(slot, name, strlen(name), false);
	fprof_slot_own_end(slot);
}

/* A THREAD event, without its time, for a name of up to FPROF_THREAD_NAME_MAX bytes: how many of
 * the FPROF_THREAD_WORDS_MAX words it has. */
#define FPROF_THREAD_WORDS_MAX (3 + (FPROF_THREAD_NAME_MAX + 7) / 8)
static inline unsigned fprof_thread_words(uint64_t *words, int32_t tid, uint32_t serial,
					  uint64_t start, const char *name)
{
	size_t n = strlen(name), count = 3 + (n + 7) / 8;

	words[count - 1] = 0;
	words[0] = FPROF_EXT_TOP(FPROF_EXT_THREAD, (uint32_t)count);
	words[1] = (uint32_t)tid | (uint64_t)serial << 32;
	words[2] = start;
	memcpy(words + 3, name, n);
	return (unsigned)count;
}

#endif
