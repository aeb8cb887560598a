/* SPDX-License-Identifier: MIT */
/*
 * The recording path: one thread writes one ring, and never waits.
 *
 * A thread's writer lives in a page of its own that a fork's child reads as zeros. It is reached
 * by a pointer in thread-local storage that is loaded anew at every event and kept nowhere (a
 * fiber may end a zone on another thread than it began on).
 *
 * `ready` is 1 when the inline path may write. It is 0 while a write is in progress (so a signal
 * handler that records inside one takes the slow path, which counts the event as dropped), in a
 * fork's child, before registration, after the thread's end, and in every mode that the inline
 * path does not know (a clock that is no counter): the slow path sorts them out.
 *
 * The head in the slot is the writer's only position. It never decreases. See word.h for blocks.
 */
#ifndef FPROF_SHM_WRITER_H
#define FPROF_SHM_WRITER_H

#include "atomic.h"
#include "clock.h"
#include "layout.h"
#include "word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fprof_writer {
	/* the inline path's line */
	uint32_t ready;
	/* Levels that are not wanted: zones with level + closed < FPROF_LEVELS are recorded. Set by
	 * any thread; it lives here rather than in thread-local storage because a writer is never
	 * unmapped, so that no thread's end has to wait for whoever sets it. 0 (a child) is open.
	 */
	uint32_t closed;
	uint32_t depth; /* zones open on this thread or on the fiber that it runs */
	uint32_t mode;	/* the client's own: why ready may be 0 */
	uint64_t limit; /* position of the end of the current block */
	uint64_t *ring; /* words of this thread's ring */
	uint64_t mask;	/* words - 1 */
	struct fprof_slot *slot;
	uint32_t serial;     /* of the thread, as in the slot */
	uint32_t busy;	     /* held by the slow path in the modes where ready is always 0 */
	uint64_t non_events; /* words so far that are no lead word of an event */
	/* the slow path's */
	uint64_t fiber; /* fiber that this thread runs, 0: none */
	uint64_t fiber_seq;
	uint32_t thread_depth; /* depth of the thread itself while it runs a fiber */
	uint32_t index;	       /* of the slot */
	uint64_t client[4];    /* the client's own */
	uint32_t masks;	       /* zones whose markers hold this number are masked; 0: none are */
	uint32_t pad;
};

struct fprof_tls {
	struct fprof_writer *writer; /* never NULL */
	uint64_t client;	     /* the client's own */
};

#define FPROF_API __attribute__((visibility("default")))

extern FPROF_API __thread struct fprof_tls fprof_tls __attribute__((tls_model("initial-exec")));

/*
 * Opens the next block at the counter's now; out of line to keep the inline path small. Returns
 * what `ready` is to be after the event: 0 sends the next event to the slow path.
 */
FPROF_API uint32_t fprof_writer_next_block_slow(struct fprof_writer *w) __attribute__((cold));

/*
 * The calling thread's writer. Never kept across a call: a fiber may go on on another thread. On
 * arm64 compilers take the thread pointer for a constant of the function; hence the assembly.
 */
static inline struct fprof_writer *fprof_writer_here(void)
{
#if defined(__aarch64__)
	struct fprof_tls *tls;
	uint64_t offset;

	__asm__("adrp %0, :gottprel:fprof_tls\n\tldr %0, [%0, :gottprel_lo12:fprof_tls]"
		: "=r"(offset));
	__asm__ volatile("mrs %0, tpidr_el0\n\tadd %0, %0, %1" : "=&r"(tls) : "r"(offset));
	return FPROF_LOAD_RELAXED(&tls->writer);
#else
	return FPROF_LOAD_RELAXED(&fprof_tls.writer);
#endif
}

/*
 * Opens the next block: pads, publishes, fences, writes the header at ticks now, publishes. The
 * caller holds the writer (ready == 0).
 */
static inline void fprof_writer_next_block(struct fprof_writer *w, uint64_t now)
{
	uint64_t pos = FPROF_LOAD_RELAXED(&w->slot->head);
	uint64_t words[FPROF_HEADER_WORDS];
	unsigned i;

	for (; pos < w->limit; pos++, w->non_events++)
		FPROF_STORE_RELAXED(&w->ring[pos & w->mask], FPROF_WORD_TOP(FPROF_WORD_PAD, 0));
	FPROF_STORE_RELEASE(&w->slot->head, pos);
	FPROF_FENCE_RELEASE();
	words[0] = FPROF_EXT_TOP(FPROF_EXT_HEADER, FPROF_HEADER_WORDS) | (now & FPROF_TIME_MASK);
	words[1] = pos / FPROF_BLOCK_WORDS;
	words[2] = now;
	words[3] = pos - w->non_events;
	words[4] = w->depth | FPROF_CAST(uint64_t, w->serial) << 32;
	words[5] = w->fiber;
	words[6] = w->fiber_seq;
	words[7] = 0;
	for (i = 0; i < FPROF_HEADER_WORDS; i++)
		FPROF_STORE_RELAXED(&w->ring[(pos + i) & w->mask], words[i]);
	w->non_events += FPROF_HEADER_WORDS;
	w->limit = pos + FPROF_BLOCK_WORDS;
	FPROF_STORE_RELEASE(&w->slot->head, pos + FPROF_HEADER_WORDS);
}

/* Writes an event of count words, lead word first (its time already in it). Holds as above; 1 <=
 * count <= FPROF_EXT_WORDS_MAX. */
static inline void fprof_writer_put(struct fprof_writer *w, const uint64_t *words, unsigned count,
				    uint64_t now)
{
	uint64_t pos = FPROF_LOAD_RELAXED(&w->slot->head);
	unsigned i;

	if (pos + count > w->limit) {
		fprof_writer_next_block(w, now);
		pos = FPROF_LOAD_RELAXED(&w->slot->head);
	}
	for (i = 0; i < count; i++)
		FPROF_STORE_RELAXED(&w->ring[(pos + i) & w->mask], words[i]);
	w->non_events += count - 1;
	FPROF_STORE_RELEASE(&w->slot->head, pos + count);
}

/*
 * Records one single-word event, after which depth zones are open. top is FPROF_WORD_TOP(...); w
 * is the calling thread's and ready.
 */
static inline void fprof_put(struct fprof_writer *w, uint64_t top, uint32_t depth)
{
	uint64_t pos, now;
	uint32_t ready = 1;

	FPROF_STORE_RELAXED(&w->ready, 0u);
	FPROF_FENCE_SIGNAL();
	pos = FPROF_LOAD_RELAXED(&w->slot->head);
	if (FPROF_UNLIKELY(pos == w->limit)) {
		ready = fprof_writer_next_block_slow(w);
		pos = FPROF_LOAD_RELAXED(&w->slot->head);
	}
	now = fprof_counter();
	FPROF_STORE_RELAXED(&w->ring[pos & w->mask], top | (now & FPROF_TIME_MASK));
	FPROF_STORE_RELEASE(&w->slot->head, pos + 1);
	w->depth = depth;
	FPROF_FENCE_SIGNAL();
	FPROF_STORE_RELAXED(&w->ready, ready);
}

#ifdef __cplusplus
}
#endif

#endif
