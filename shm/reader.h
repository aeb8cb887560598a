/* SPDX-License-Identifier: MIT */
/*
 * Reading rings and marker tables out of a memory that another process writes: copy, then look.
 *
 * Nothing here trusts the memory: sizes were checked once when it was mapped (memory_view_init),
 * every index is masked, every length bounded, and a head that runs backwards or jumps is reported.
 */
#ifndef FPROF_SHM_READER_H
#define FPROF_SHM_READER_H

#include "layout.h"
#include "word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapped session memory whose header was found sound. Immutable after init: any thread. */
struct memory_view {
	const uint8_t *base;
	uint64_t bytes;
	struct fprof_memory_header
		head; /* the copy that was checked; use its sizes, never the memory's */
};

/*
 * Checks the header in [base, base + bytes) and fills ret_view with a copy of it.
 * Returns 0; -EPROTO: no fprof memory, or another major version; -EINVAL: sizes, counts or offsets
 * that do not fit the memory or the limits of layout.h. ret_why (may be NULL) gets a static English
 * sentence.
 */
int memory_view_init(const void *base, uint64_t bytes, struct memory_view *ret_view,
		     const char **ret_why);

/* How many slots have been used so far: 0..slot_count. */
uint32_t memory_slots_used(const struct memory_view *view);
uint64_t memory_refused(const struct memory_view *view, enum fprof_refused kind);

/* Who owns a slot. A consistent copy; -EAGAIN when its writer was never seen at rest (killed
 * inside). */
struct slot_owner {
	uint32_t state;
	int32_t tid;
	uint32_t serial;
	uint64_t start_ticks, begin_pos, populate_ns;
	char name[FPROF_THREAD_NAME_MAX + 1]; /* NUL-terminated; not yet valid UTF-8 */
	bool named;			      /* by the game */
};
int memory_slot_owner(const struct memory_view *view, uint32_t slot, struct slot_owner *ret_owner);
uint64_t memory_slot_head(const struct memory_view *view, uint32_t slot); /* acquire */
uint64_t memory_slot_dropped(const struct memory_view *view, uint32_t slot);

/* A marker, its strings copied, made valid UTF-8 and NUL-terminated. */
struct marker_copy {
	uint8_t kind, level, unit, dynamic;
	uint32_t line, colour;
	char name[FPROF_NAME_MAX + 1];
	char category[FPROF_NAME_MAX + 1];
	char file[FPROF_NAME_MAX + 1];
};
/* 0; -ENOENT: no such marker or not ready; -EINVAL: an entry that points outside its memory. */
int memory_marker(const struct memory_view *view, uint32_t id, struct marker_copy *ret_marker);

/* Makes bytes valid UTF-8 in dst (at most size - 1 bytes and a NUL): what is invalid becomes
 * U+FFFD, what does not fit is cut at a character. Returns whether anything was changed or cut. */
bool utf8_copy(char *dst, size_t size, const void *src, size_t bytes);

/*
 * One ring, read from an absolute position on. The reader is used by one thread.
 */
struct ring_reader {
	const uint64_t *words;
	const uint64_t *head;
	uint64_t mask;
	uint64_t tail; /* absolute position of the next word to read */
};

void ring_reader_init(struct ring_reader *r, const struct memory_view *view, uint32_t slot,
		      uint64_t tail);

enum ring_status {
	RING_OK = 0,
	RING_LAPPED = 1, /* words were overwritten before they were read: the copy starts at a later
			    block */
	RING_BACKWARDS = 2, /* the head lies before the tail: nothing was copied */
};

/*
 * Copies words from tail on into buf: at most max, up to the published head, and only words that
 * cannot have been overwritten meanwhile. *ret_count words were copied, the first stood at
 * *ret_pos. Does not move the tail: the caller sets r->tail to how far it has consumed. After
 * RING_LAPPED *ret_pos is the position of a block header, > tail. max >= 2 * FPROF_BLOCK_WORDS.
 */
enum ring_status ring_reader_copy(const struct ring_reader *r, uint64_t *buf, size_t max,
				  uint64_t *ret_pos, size_t *ret_count);

#endif
