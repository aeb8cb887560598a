/* SPDX-License-Identifier: MIT */
/*
 * Reading chunks back, and the form in which they are stored. A chunk comes out of a database file
 * that may be damaged or made by somebody else: every length is checked against what is there.
 *
 * Packed form: u8 method (0: as it is, 1: LZ4), varint raw bytes, u64 little-endian XXH3 of what
 * follows seeded with method and raw bytes, data. No state; any thread.
 */
#include "chunk.h"

#include "chunk_build.h"
#include "util.h"

#include <errno.h>
#include <lz4.h>
#include <xxhash.h>

#define PACK_HEADER_MAX (1 + 10 + 8)
#define RAW_BYTES_MAX	(16u * 1024u * 1024u) /* far more than a chunk ever has */

enum pack_method { PACK_STORED = 0, PACK_LZ4 = 1 };

static bool get_u32(const uint8_t **p, const uint8_t *end, uint32_t *ret)
{
	uint64_t v;

	if (!chunk_get_varint(p, end, &v) || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool get_open(const uint8_t **p, const uint8_t *end, int64_t base, struct chunk_open *ret)
{
	uint64_t ago;

	if (!get_u32(p, end, &ret->marker) || !chunk_get_varint(p, end, &ago))
		return false;
	ret->begin = (int64_t)((uint64_t)base - (uint64_t)chunk_unzigzag(ago));
	return true;
}

long chunk_stack_get(const uint8_t *src, size_t bytes, int64_t base, struct chunk_open *ret_open,
		     uint32_t *ret_depth)
{
	const uint8_t *p = src, *end = src + bytes;
	uint32_t depth, i;

	if (!get_u32(&p, end, &depth) || depth > CHUNK_DEPTH_MAX)
		return -EBADMSG;
	for (i = 0; i < depth; i++)
		if (!get_open(&p, end, base, &ret_open[i]))
			return -EBADMSG;
	*ret_depth = depth;
	return p - src;
}

int chunk_reader_init(struct chunk_reader *r, const void *raw, size_t bytes, int64_t t0)
{
	const uint8_t *p = raw, *end = p + bytes;
	uint64_t times, codes, payload;
	uint32_t i;

	if (bytes < 1 || *p++ != CHUNK_VERSION)
		return -EBADMSG;
	if (!get_u32(&p, end, &r->events_left) || !get_u32(&p, end, &r->depth_in) ||
	    r->depth_in > CHUNK_DEPTH_MAX || !chunk_get_varint(&p, end, &times) ||
	    !chunk_get_varint(&p, end, &codes) || !chunk_get_varint(&p, end, &payload))
		return -EBADMSG;
	for (i = 0; i < r->depth_in; i++)
		if (!get_open(&p, end, t0, &r->carried[i]))
			return -EBADMSG;
	if (times > bytes || codes > bytes || payload > bytes ||
	    times + codes + payload != (uint64_t)(end - p) ||
	    ((uint64_t)r->events_left + 3) / 4 > times)
		return -EBADMSG;
	r->tags = p;
	r->times = p + ((uint64_t)r->events_left + 3) / 4;
	r->times_end = r->codes = p + times;
	r->codes_end = r->payload = r->codes + codes;
	r->payload_end = end;
	r->event = 0;
	r->t0 = r->last = t0;
	return 0;
}

static bool get_time(struct chunk_reader *r)
{
	uint32_t tag = (uint32_t)r->tags[r->event / 4] >> (r->event % 4 * 2) & 3;
	uint32_t bytes = chunk_time_bytes(tag);
	uint64_t delta = 0;

	if (r->times_end - r->times < (ptrdiff_t)bytes)
		return false;
	memcpy(&delta, r->times, bytes);
	r->times += bytes;
	r->event++;
	r->last = (int64_t)((uint64_t)r->last + delta);
	return true;
}

/* The value of a COUNTER or VALUE: zig-zag, or 8 bytes as they are. */
static bool get_value(struct chunk_reader *r, struct chunk_event *e)
{
	uint64_t v;

	if (e->type != 1) {
		if (!chunk_get_varint(&r->payload, r->payload_end, &v))
			return false;
		e->value.i = chunk_unzigzag(v);
		return true;
	}
	if (r->payload_end - r->payload < 8)
		return false;
	memcpy(&e->value.d, r->payload, 8);
	r->payload += 8;
	return true;
}

static bool get_bytes(struct chunk_reader *r, struct chunk_event *e, uint64_t count)
{
	if (count > (uint64_t)(r->payload_end - r->payload))
		return false;
	e->bytes = r->payload;
	e->byte_count = (size_t)count;
	r->payload += count;
	return true;
}

static bool get_text(struct chunk_reader *r, struct chunk_event *e)
{
	uint64_t count;

	return chunk_get_varint(&r->payload, r->payload_end, &count) && get_bytes(r, e, count);
}

static bool get_counter(struct chunk_reader *r, struct chunk_event *e)
{
	uint32_t how;

	if (!get_u32(&r->payload, r->payload_end, &e->marker) ||
	    !get_u32(&r->payload, r->payload_end, &how))
		return false;
	e->op = how & 1;
	e->type = how >> 1;
	return get_value(r, e);
}

static bool get_mark(struct chunk_reader *r, struct chunk_event *e)
{
	uint64_t engine;

	if (!get_u32(&r->payload, r->payload_end, &e->stream) ||
	    !get_u32(&r->payload, r->payload_end, &e->origin) ||
	    !chunk_get_varint(&r->payload, r->payload_end, &e->sequence) ||
	    !chunk_get_varint(&r->payload, r->payload_end, &engine))
		return false;
	e->value.i = (int64_t)(engine - 1);
	return true;
}

static bool get_other(struct chunk_reader *r, struct chunk_event *e)
{
	uint64_t words;

	return get_u32(&r->payload, r->payload_end, &e->type) &&
	       chunk_get_varint(&r->payload, r->payload_end, &words) && words < UINT32_MAX &&
	       get_bytes(r, e, words * 8);
}

/* The arguments of codes 1..15. */
static bool get_arguments(struct chunk_reader *r, struct chunk_event *e)
{
	const uint8_t **p = &r->payload, *end = r->payload_end;

	switch (e->code) {
	case CHUNK_NEXT:
	case CHUNK_INSTANT:
	case CHUNK_UNBALANCED_END:
	case CHUNK_STRAY_END:
		return get_u32(p, end, &e->marker);
	case CHUNK_COUNTER:
		return get_counter(r, e);
	case CHUNK_MESSAGE:
		return get_u32(p, end, &e->marker) && get_u32(p, end, &e->colour) && get_text(r, e);
	case CHUNK_TEXT:
		return get_text(r, e);
	case CHUNK_VALUE:
		return get_u32(p, end, &e->type) && get_value(r, e);
	case CHUNK_MARK:
		return get_mark(r, e);
	case CHUNK_TRUNCATE:
		return chunk_get_varint(p, end, &e->value.u);
	case CHUNK_FIBER_ENTER:
		return get_u32(p, end, &e->track);
	case CHUNK_OTHER:
		return get_other(r, e);
	default:
		return true;
	}
}

int chunk_reader_next(struct chunk_reader *r, struct chunk_event *ret_event)
{
	struct chunk_event *e = ret_event;
	uint32_t code;

	if (r->events_left == 0)
		return r->codes == r->codes_end && r->times == r->times_end ? 0 : -EBADMSG;
	if (!get_time(r) || !get_u32(&r->codes, r->codes_end, &code))
		return -EBADMSG;
	memset(e, 0, sizeof(*e));
	r->events_left--;
	e->t = r->last;
	e->code = code < CHUNK_BEGIN ? (enum chunk_code)code : CHUNK_BEGIN;
	if (code >= CHUNK_BEGIN)
		e->marker = code - CHUNK_BEGIN;
	return get_arguments(r, e) ? 1 : -EBADMSG;
}

size_t chunk_pack_bound(size_t raw_bytes)
{
	return PACK_HEADER_MAX + raw_bytes + raw_bytes / 255 + 16;
}

static uint64_t checksum(const void *data, size_t bytes, uint8_t method, uint64_t raw_bytes)
{
	return XXH3_64bits_withSeed(data, bytes, raw_bytes << 8 | method);
}

long chunk_pack(void *dst, size_t capacity, const void *raw, size_t bytes)
{
	uint8_t *p = dst, *data;
	uint8_t method = PACK_LZ4;
	uint64_t sum;
	int packed;

	if (bytes > RAW_BYTES_MAX || capacity < chunk_pack_bound(bytes))
		return -ENOMEM;
	data = chunk_put_varint(p + 1, bytes) + 8;
	packed = LZ4_compress_default(raw, (char *)data, (int)bytes,
				      (int)(capacity - (size_t)(data - p)));
	if (packed <= 0 || (size_t)packed >= bytes) {
		method = PACK_STORED;
		packed = (int)bytes;
		if (bytes > 0)
			memcpy(data, raw, bytes);
	}
	p[0] = method;
	sum = checksum(data, (size_t)packed, method, bytes);
	memcpy(data - 8, &sum, 8);
	return (long)(data - p) + packed;
}

static int unpack_data(uint8_t method, const uint8_t *data, size_t bytes, uint8_t *raw,
		       size_t raw_bytes)
{
	if (method == PACK_STORED && bytes == raw_bytes) {
		if (bytes > 0)
			memcpy(raw, data, bytes);
		return 0;
	}
	if (method == PACK_LZ4 && bytes <= RAW_BYTES_MAX &&
	    LZ4_decompress_safe((const char *)data, (char *)raw, (int)bytes, (int)raw_bytes) ==
		    (int)raw_bytes)
		return 0;
	return -EBADMSG;
}

int chunk_unpack(const void *packed, size_t bytes, uint8_t **ret_raw, size_t *ret_bytes)
{
	const uint8_t *p = packed, *end = p + bytes;
	_cleanup_free_ uint8_t *raw = NULL;
	uint64_t raw_bytes, sum;
	uint8_t method;
	int r;

	if (bytes < 1)
		return -EBADMSG;
	method = *p++;
	if (!chunk_get_varint(&p, end, &raw_bytes) || raw_bytes > RAW_BYTES_MAX || end - p < 8)
		return -EBADMSG;
	memcpy(&sum, p, 8);
	p += 8;
	if (sum != checksum(p, (size_t)(end - p), method, raw_bytes))
		return -EBADMSG;
	raw = malloc(raw_bytes > 0 ? raw_bytes : 1);
	if (!raw)
		return -ENOMEM;
	r = unpack_data(method, p, (size_t)(end - p), raw, raw_bytes);
	if (r < 0)
		return r;
	*ret_raw = raw;
	*ret_bytes = raw_bytes;
	raw = NULL;
	return 0;
}
