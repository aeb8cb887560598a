/* SPDX-License-Identifier: MIT */
/*
 * A chunk: the events of one track from one lane over a stretch of time, in ring order, immutable.
 *
 * Raw form (before compression), all integers LEB128 varints unless said:
 *   u8 version (1), events, depth_in, bytes of times, bytes of codes, bytes of payload,
 *   depth_in x (marker, zig-zag ticks before t0 that it began), times, codes, payload
 * times: (events + 3) / 4 bytes of tags, two bits an event from the lowest up, then per event the
 * ticks since the event before (the first: since t0, so 0) in 1, 2, 3 or 8 little-endian bytes as
 * tag 0..3 says. Times never run backwards in a chunk. (Against varints: a third less at gaps of
 * some us.) codes: per event 0: END of the innermost zone; 1..15: enum chunk_code, arguments in
 * payload; 16 + marker: BEGIN. Depth is the reader's to follow. Lossless: what the ring said can be
 * read back, except block headers and padding.
 */
#ifndef FPROF_DAEMON_CHUNK_H
#define FPROF_DAEMON_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHUNK_VERSION 1
#define CHUNK_DEPTH_MAX                                                           \
	512 /* zones open at once on a track; deeper ones are counted, not stored \
	     */
#define CHUNK_BYTES_MAX (64u * 1024u) /* raw; a chunk is cut when it passes this */

enum chunk_code {
	CHUNK_END = 0,	   /* closes the innermost */
	CHUNK_NEXT = 1,	   /* payload: marker. Closes the innermost and begins marker */
	CHUNK_INSTANT = 2, /* marker */
	CHUNK_COUNTER = 3, /* marker, op | type << 1, zig-zag value or 8 bytes double */
	CHUNK_MESSAGE = 4, /* marker, colour, byte count, bytes */
	CHUNK_TEXT = 5,	   /* byte count, bytes */
	CHUNK_VALUE = 6,   /* type, zig-zag value or 8 bytes; CHUNK_VALUE_FLAGS: see there */
	CHUNK_MARK = 7,	   /* stream, origin, sequence, engine id + 1 (0: none) */
	CHUNK_TRUNCATE =
		8, /* payload: count. Closes the count innermost zones, flagged truncated */
	CHUNK_THREAD_BEGIN = 9,
	CHUNK_THREAD_END = 10,
	CHUNK_UNBALANCED_END = 11, /* marker. Closes the zones inside the innermost one of marker
				      (truncated), then it */
	CHUNK_STRAY_END = 12,	   /* marker. Closes nothing */
	CHUNK_FIBER_ENTER = 13,	   /* fiber track; the thread runs the fiber from here on */
	CHUNK_FIBER_LEAVE = 14,
	CHUNK_OTHER = 15, /* subkind, word count, words as 8 bytes each: kept as it was */
	CHUNK_BEGIN = 16,
};

/* A type of CHUNK_VALUE that no ring can have: the value is enum zone_flags that the innermost open
 * zone has besides what its events tell. Imported zones only. */
#define CHUNK_VALUE_FLAGS 3

struct chunk_open {
	uint32_t marker;
	int64_t begin; /* ticks */
};

/* Writing: used by the drain thread, one per track and lane. */
struct chunk_builder {
	uint8_t *tags, *times, *codes, *payload;
	size_t times_bytes, codes_bytes, payload_bytes;
	size_t tags_capacity, times_capacity, codes_capacity, payload_capacity;
	uint32_t events, depth_in;
	uint32_t tag; /* the byte of tags that is being filled, newest on top */
	int64_t t0, last;
	struct chunk_open carried[CHUNK_DEPTH_MAX];
};

/* Reading. */
struct chunk_event {
	enum chunk_code code; /* CHUNK_BEGIN for every begin */
	uint32_t marker;      /* BEGIN, NEXT, INSTANT, COUNTER, MESSAGE, *_END */
	int64_t t;
	uint32_t op, type; /* COUNTER, VALUE */
	union {
		int64_t i;
		uint64_t u;
		double d;
	} value; /* COUNTER, VALUE; MARK: i = engine id or -1; TRUNCATE: u = count */
	uint32_t stream, origin; /* MARK */
	uint64_t sequence;	 /* MARK */
	uint32_t colour;	 /* MESSAGE */
	uint32_t track;		 /* FIBER_ENTER */
	const uint8_t *bytes;	 /* MESSAGE, TEXT; into the raw form */
	size_t byte_count;
};

struct chunk_reader {
	const uint8_t *tags, *times, *times_end, *codes, *codes_end, *payload, *payload_end;
	uint32_t events_left, depth_in, event;
	int64_t t0, last;
	struct chunk_open carried[CHUNK_DEPTH_MAX];
};

/* raw: a whole raw form whose first event is at t0. 0, or -EBADMSG: not a chunk. The raw form must
 * outlive the reader. Safe for any bytes. */
int chunk_reader_init(struct chunk_reader *r, const void *raw, size_t bytes, int64_t t0);
/* 1: *ret_event is the next one; 0: at the end; -EBADMSG. */
int chunk_reader_next(struct chunk_reader *r, struct chunk_event *ret_event);

/*
 * Begins and ends in a row, what most events are, at a fraction of the cost: a cursor is taken from
 * a reader, goes over as many of them as it says that there may be, but for the last few bytes of
 * the columns, and is given back.
 */
struct chunk_cursor {
	const uint8_t *codes, *times;
	const uint8_t *codes_last, *times_last; /* from here on an event may not be all there */
	uint32_t event;
	int64_t t;
};

static inline uint32_t chunk_cursor_init(struct chunk_cursor *c, const struct chunk_reader *r)
{
	*c = (struct chunk_cursor){.codes = r->codes,
				   .times = r->times,
				   .codes_last = r->codes_end - 1,
				   .times_last = r->times_end - 7,
				   .event = r->event,
				   .t = r->last};
	return r->events_left;
}

static inline void chunk_cursor_done(const struct chunk_cursor *c, struct chunk_reader *r)
{
	r->events_left -= c->event - r->event;
	r->event = c->event;
	r->codes = c->codes;
	r->times = c->times;
	r->last = c->t;
}

/* The next begin (CHUNK_BEGIN and its marker) or end (CHUNK_END), no later than until; false: it is
 * another event, and the cursor stays. tags: the reader's. */
static inline bool chunk_cursor_next(struct chunk_cursor *c, const uint8_t *tags, int64_t until,
				     uint32_t *ret_code)
{
	static const uint64_t masks[] = {0xff, 0xffff, 0xffffff, UINT64_MAX};
	uint32_t tag, code, long_code;
	uint64_t delta;
	int64_t t;

	if (c->codes >= c->codes_last || c->times >= c->times_last)
		return false;
	tag = (uint32_t)tags[c->event / 4] >> (c->event % 4 * 2) & 3;
	code = c->codes[0];
	long_code = code >> 7;
	code = (code & 0x7f) | (long_code ? (uint32_t)c->codes[1] << 7 : 0);
	memcpy(&delta, c->times, sizeof(delta));
	t = (int64_t)((uint64_t)c->t + (delta & masks[tag]));
	if (code - 1 < CHUNK_BEGIN - 1 || (long_code && c->codes[1] >= 0x80) || t > until ||
	    t < c->t)
		return false;
	c->codes += 1 + long_code;
	c->times += tag == 3 ? 8 : tag + 1;
	c->event++;
	c->t = t;
	*ret_code = code;
	return true;
}

/* What is stored: compressed with its checksum. Returns bytes written to dst (capacity >=
 * chunk_pack_bound(bytes)) or -ENOMEM. Any thread. */
size_t chunk_pack_bound(size_t raw_bytes);
long chunk_pack(void *dst, size_t capacity, const void *raw, size_t bytes);
/* Undoes it into a malloc'ed buffer: 0, -ENOMEM, -EBADMSG (checksum, format, absurd size). */
int chunk_unpack(const void *packed, size_t bytes, uint8_t **ret_raw, size_t *ret_bytes);

#endif
