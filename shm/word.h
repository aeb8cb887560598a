/* SPDX-License-Identifier: MIT */
/*
 * What a ring holds: 8-byte words, `kind:4 | id:20 | time:40` from the top bit down.
 *
 * time is the low 40 bits of the memory's clock. Kinds 1-4 are one word each. Kind 15 is extended:
 * the id is `subkind:8 | words:12`, words counts the lead word too, and an unknown subkind is
 * skipped by it. Payload words follow the lead word as they are; bytes are packed little-endian and
 * padded with zeros to a whole word. A lead word is the unit of the ledger: one event. PAD and
 * HEADER are no events.
 *
 * A ring is cut into blocks of FPROF_BLOCK_WORDS. A block starts with a HEADER; no event straddles
 * a block: what is left at its end is filled with PAD words.
 */
#ifndef FPROF_SHM_WORD_H
#define FPROF_SHM_WORD_H

#include <stdint.h>

#define FPROF_TIME_BITS 40
#define FPROF_TIME_MASK ((UINT64_C(1) << FPROF_TIME_BITS) - 1)
#define FPROF_ID_BITS	20
#define FPROF_ID_MASK	((1u << FPROF_ID_BITS) - 1)

enum fprof_word_kind {
	FPROF_WORD_PAD = 0,
	FPROF_WORD_BEGIN = 1,	/* id: marker */
	FPROF_WORD_END = 2,	/* id: the marker that its begin had */
	FPROF_WORD_NEXT = 3,	/* ends the innermost open zone and begins id with one time */
	FPROF_WORD_INSTANT = 4, /* id: marker */
	FPROF_WORD_EXT = 15,
};

enum fprof_ext_kind {
	/* [1] block number [2] full ticks [3] events before this block [4] depth | serial << 32
	 * [5] fiber id, 0: none [6] fiber sequence [7] 0. Always FPROF_HEADER_WORDS words. */
	FPROF_EXT_HEADER = 1,
	/* the slot has a new owner: [1] tid | serial << 32 [2] start ticks [3..] name bytes */
	FPROF_EXT_THREAD = 2,
	/* [1] byte count [2..] bytes: the thread's name from here on */
	FPROF_EXT_THREAD_NAME = 3,
	FPROF_EXT_THREAD_END = 4,
	/* a frame of a stream ends: [1] stream marker (0: main) | origin << 32 [2] number of this
	 * stream's marks by this origin in this memory, from 1 [3] engine's frame number, ~0: none
	 * [4] enum fprof_mark_flag; the word is left out where it is 0 */
	FPROF_EXT_MARK = 5,
	/* [1] marker | op << 32 | type << 40 (enum fprof_counter_op, enum fprof_value_type) [2]
	   value */
	FPROF_EXT_COUNTER = 6,
	/* [1] marker (category; 0: none) | bytes << 32 [2] colour [3..] bytes */
	FPROF_EXT_MESSAGE = 7,
	/* text of the innermost open zone: [1] byte count [2..] bytes */
	FPROF_EXT_TEXT = 8,
	/* value of the innermost open zone: [1] enum fprof_value_type [2] value */
	FPROF_EXT_VALUE = 9,
	/* this thread runs fiber [1] from here on (0: itself again); [2] how many segments that
	 * fiber had before (its sequence: 0, 1, ...) [3] marker of the fiber's name. Leaving a
	 * fiber ends its segment; time never decides the order of segments. */
	FPROF_EXT_FIBER = 10,
	/* [1] queue | valid_bits << 32 [2] ns per tick (double) [3] marker of its name */
	FPROF_EXT_GPU_QUEUE = 11,
	/* a calibration pair: [1] queue [2] GPU ticks [3] CPU ticks (memory's clock) */
	FPROF_EXT_GPU_CALIBRATION = 12,
	/* results that came back: [1] queue | marker << 32 [2] begin, raw [3] end, raw [4] frame
	 * [5] submission [6] view [7] fence */
	FPROF_EXT_GPU_SPAN = 13,
	/* work was submitted, results are to come: [1] queue | view << 32 [2] submission [3] frame
	 */
	FPROF_EXT_GPU_SUBMIT = 14,
	/* results that will never come: [1] queue [2] frame [3] count */
	FPROF_EXT_GPU_DROPPED = 15,
	/* session info: [1] key bytes | value bytes << 32 [2..] key, then value */
	FPROF_EXT_INFO = 16,
	/* The session begins or ceases to record, as its control page says (since minor version 1):
	 * [1] enum fprof_record_state | FPROF_RECORD_AT_MARK: the mark that follows on this ring is
	 * the boundary [2] clock before the first event that may be recorded again. Events behind a
	 * boundary where it ceases are ends of zones that were open there. */
	FPROF_EXT_RECORD = 17,
	/* the game is loading from here on: [1] 1, or has loaded: 0 (since minor version 1) */
	FPROF_EXT_LOADING = 18,
	/* the thread allocated since the last of these, or since tracking began, in the zone that
	 * is innermost here: [1] bytes [2] allocations (since minor version 1) */
	FPROF_EXT_ALLOC = 19,
};

#define FPROF_RECORD_AT_MARK (1u << 8)

enum fprof_mark_flag {
	/* by a thread that does not own the stream: [2] counts the owner's marks */
	FPROF_MARK_FOREIGN = 1 << 0,
	/* not all of the frame that ends was recorded */
	FPROF_MARK_PAUSED = 1 << 1,
};

enum fprof_counter_op { FPROF_COUNTER_SET = 0, FPROF_COUNTER_ADD = 1 };
enum fprof_value_type { FPROF_VALUE_I64 = 0, FPROF_VALUE_F64 = 1, FPROF_VALUE_U64 = 2 };

#define FPROF_HEADER_WORDS 8u
/* The largest extended event that a block holds behind its header. */
#define FPROF_EXT_WORDS_MAX (FPROF_BLOCK_WORDS - FPROF_HEADER_WORDS)
/* Bytes of text in one TEXT or MESSAGE; what is longer is cut, and counted. */
#define FPROF_TEXT_MAX 1024u

/* These headers go into other people's C++, where a C cast is a warning to some. */
#ifdef __cplusplus
#define FPROF_CAST(type, v) static_cast<type>(v)
#else
#define FPROF_CAST(type, v) ((type)(v))
#endif

/* A word without its time. */
#define FPROF_WORD_TOP(kind, id) \
	((FPROF_CAST(uint64_t, kind) << 60) | (FPROF_CAST(uint64_t, id) << FPROF_TIME_BITS))
#define FPROF_EXT_TOP(sub, words) \
	FPROF_WORD_TOP(FPROF_WORD_EXT, (FPROF_CAST(uint32_t, sub) << 12) | (words))
/* From a BEGIN to its END, or to a NEXT of the same marker. */
#define FPROF_TOP_KIND_STEP (UINT64_C(1) << 60)

static inline uint32_t fprof_word_kind(uint64_t word)
{
	return FPROF_CAST(uint32_t, word >> 60);
}

static inline uint32_t fprof_word_id(uint64_t word)
{
	return FPROF_CAST(uint32_t, word >> FPROF_TIME_BITS) & FPROF_ID_MASK;
}

static inline uint64_t fprof_word_time(uint64_t word)
{
	return word & FPROF_TIME_MASK;
}

static inline uint32_t fprof_word_ext_kind(uint64_t word)
{
	return fprof_word_id(word) >> 12;
}

static inline uint32_t fprof_word_ext_words(uint64_t word)
{
	return fprof_word_id(word) & 0xfffu;
}

/* The full time nearest to base whose low 40 bits are those of time: base - 2^39 .. base + 2^39
 * - 1. */
static inline uint64_t fprof_time_extend(uint64_t base, uint64_t time)
{
	uint64_t delta = (time - base) & FPROF_TIME_MASK;

	if (delta >= (UINT64_C(1) << (FPROF_TIME_BITS - 1)))
		delta -= UINT64_C(1) << FPROF_TIME_BITS;
	return base + delta;
}

#endif
