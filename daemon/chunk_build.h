/* SPDX-License-Identifier: MIT */
/*
 * Writing chunks: the columns of one, event by event. chunk.h says what they hold. One
 * thread a builder.
 *
 * Room is reserved once for many events (chunk_build_room); the put functions then only store and
 * advance. Depth and open zones are the caller's: they are given at the start and at the end.
 */
#ifndef FPROF_DAEMON_CHUNK_BUILD_H
#define FPROF_DAEMON_CHUNK_BUILD_H

#include "chunk.h"

#include <string.h>

/* The most bytes that one event adds to times and to codes. */
#define CHUNK_TIME_BYTES_MAX 8
#define CHUNK_CODE_BYTES_MAX 5

/* Reads a varint of at most 64 bits; false when it does not end in time. */
static inline bool chunk_get_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t byte = *(*p)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static inline uint8_t *chunk_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint64_t chunk_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t chunk_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Ticks in as many bytes as their tag says; 8 bytes are stored in any case, so without a branch. */
static inline uint32_t chunk_time_tag(uint64_t delta)
{
	uint32_t more = (uint32_t)(63 - __builtin_clzll(delta | 1)) / 8;

	return more < 3 ? more : 3;
}

static inline uint32_t chunk_time_bytes(uint32_t tag)
{
	return tag + 1 + ((tag + 1) & 4);
}

static inline uint8_t *chunk_put_code(uint8_t *p, uint32_t code)
{
	uint32_t two;

	if (__builtin_expect(code >= 1u << 14, 0))
		return chunk_put_varint(p, code);
	two = code >= 0x80;
	p[0] = (uint8_t)(code | two << 7);
	p[1] = (uint8_t)(code >> 7);
	return p + 1 + two;
}

void chunk_build_init(struct chunk_builder *b);
void chunk_build_deinit(struct chunk_builder *b);

/* Starts an empty chunk at t0 with depth zones carried in. */
void chunk_build_start(struct chunk_builder *b, int64_t t0, const struct chunk_open *open,
		       uint32_t depth);

/* Makes room for events more events with payload bytes of payload: 0 or -ENOMEM. */
int chunk_build_room(struct chunk_builder *b, size_t events, size_t payload);

static inline size_t chunk_build_bytes(const struct chunk_builder *b)
{
	return b->events / 4 + b->times_bytes + b->codes_bytes + b->payload_bytes;
}

/* One event: its time, not before the last one's, and code. Room was made. */
static inline void chunk_build_event(struct chunk_builder *b, int64_t t, uint32_t code)
{
	uint64_t delta = (uint64_t)(t - b->last);
	uint32_t tag = chunk_time_tag(delta);

	memcpy(b->times + b->times_bytes, &delta, 8);
	b->times_bytes += chunk_time_bytes(tag);
	b->tag = (b->tag >> 2 | tag << 6) & 0xff;
	b->tags[b->events / 4] = (uint8_t)b->tag;
	b->codes_bytes = (size_t)(chunk_put_code(b->codes + b->codes_bytes, code) - b->codes);
	b->last = t;
	b->events++;
}

/* Arguments of an event. Room was made: 10 bytes for a varint, 8 for a word. */
static inline void chunk_build_varint(struct chunk_builder *b, uint64_t v)
{
	b->payload_bytes =
		(size_t)(chunk_put_varint(b->payload + b->payload_bytes, v) - b->payload);
}

static inline void chunk_build_raw(struct chunk_builder *b, const void *bytes, size_t count)
{
	if (count > 0)
		memcpy(b->payload + b->payload_bytes, bytes, count);
	b->payload_bytes += count;
}

/* The raw form of what was built, malloc'ed; the builder is empty afterwards (start it anew). */
int chunk_build_finish(struct chunk_builder *b, uint8_t **ret_raw, uint32_t *ret_bytes);

/* A stack of open zones by itself, as the ledger keeps it: varint depth, then as carried in,
 * relative to base. Writes at most CHUNK_STACK_BYTES(depth) bytes and returns how many. */
#define CHUNK_STACK_BYTES(depth) (5 + (size_t)(depth)*15)
size_t chunk_stack_put(uint8_t *dst, const struct chunk_open *open, uint32_t depth, int64_t base);
/* Reads one of at most CHUNK_DEPTH_MAX zones back: bytes used, or -EBADMSG. */
long chunk_stack_get(const uint8_t *src, size_t bytes, int64_t base, struct chunk_open *ret_open,
		     uint32_t *ret_depth);

#endif
