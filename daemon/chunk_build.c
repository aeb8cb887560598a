/* SPDX-License-Identifier: MIT */
/*
 * The columns of a chunk that is being built grow by doubling and are kept for the next chunk, so
 * that a track in steady state allocates only the finished blob. A blob is made once and never
 * changed.
 */
#include "chunk_build.h"

#include "util.h"

#include <errno.h>

#define COLUMN_BYTES_MIN 256u

/* What is carried in is left as it is: a page that was never used is no memory. */
void chunk_build_init(struct chunk_builder *b)
{
	memset(b, 0, offsetof(struct chunk_builder, carried));
}

void chunk_build_deinit(struct chunk_builder *b)
{
	free(b->tags);
	free(b->times);
	free(b->codes);
	free(b->payload);
	chunk_build_init(b);
}

void chunk_build_start(struct chunk_builder *b, int64_t t0, const struct chunk_open *open,
		       uint32_t depth)
{
	b->times_bytes = b->codes_bytes = b->payload_bytes = 0;
	b->events = b->tag = 0;
	b->depth_in = depth;
	b->t0 = b->last = t0;
	if (depth > 0)
		memcpy(b->carried, open, depth * sizeof(*open));
}

static int column_room(uint8_t **column, size_t *capacity, size_t need)
{
	size_t want = MAX(*capacity, (size_t)COLUMN_BYTES_MIN);
	uint8_t *grown;

	if (need <= *capacity)
		return 0;
	while (want < need)
		want *= 2;
	grown = realloc(*column, want);
	if (!grown)
		return -ENOMEM;
	*column = grown;
	*capacity = want;
	return 0;
}

int chunk_build_room(struct chunk_builder *b, size_t events, size_t payload)
{
	int r = column_room(&b->times, &b->times_capacity,
			    b->times_bytes + events * CHUNK_TIME_BYTES_MAX);

	if (r == 0)
		r = column_room(&b->tags, &b->tags_capacity, (b->events + events) / 4 + 1);
	if (r == 0)
		r = column_room(&b->codes, &b->codes_capacity,
				b->codes_bytes + events * CHUNK_CODE_BYTES_MAX);
	if (r == 0 && payload > 0)
		r = column_room(&b->payload, &b->payload_capacity, b->payload_bytes + payload);
	return r;
}

static uint8_t *put_open(uint8_t *p, const struct chunk_open *open, uint32_t depth, int64_t base)
{
	uint32_t i;

	for (i = 0; i < depth; i++) {
		p = chunk_put_varint(p, open[i].marker);
		p = chunk_put_varint(p, chunk_zigzag(base - open[i].begin));
	}
	return p;
}

static uint8_t *put_column(uint8_t *p, const uint8_t *column, size_t bytes)
{
	if (bytes > 0)
		memcpy(p, column, bytes);
	return p + bytes;
}

/* The newest tag of an unfinished byte is on top: move them down to where they belong. */
static void finish_tags(struct chunk_builder *b)
{
	if (b->events % 4)
		b->tags[b->events / 4] = (uint8_t)(b->tag >> (8 - b->events % 4 * 2));
}

int chunk_build_finish(struct chunk_builder *b, uint8_t **ret_raw, uint32_t *ret_bytes)
{
	size_t tags = (b->events + 3) / 4;
	size_t most = 1 + 5 * 10 + tags + CHUNK_STACK_BYTES(b->depth_in) + chunk_build_bytes(b);
	uint8_t *raw = malloc(most), *p = raw, *fitted;

	if (!raw)
		return -ENOMEM;
	finish_tags(b);
	*p++ = CHUNK_VERSION;
	p = chunk_put_varint(p, b->events);
	p = chunk_put_varint(p, b->depth_in);
	p = chunk_put_varint(p, tags + b->times_bytes);
	p = chunk_put_varint(p, b->codes_bytes);
	p = chunk_put_varint(p, b->payload_bytes);
	p = put_open(p, b->carried, b->depth_in, b->t0);
	p = put_column(p, b->tags, tags);
	p = put_column(p, b->times, b->times_bytes);
	p = put_column(p, b->codes, b->codes_bytes);
	p = put_column(p, b->payload, b->payload_bytes);
	*ret_bytes = (uint32_t)(p - raw);
	fitted = realloc(raw, *ret_bytes);
	*ret_raw = fitted ? fitted : raw;
	chunk_build_start(b, b->last, NULL, 0);
	return 0;
}

size_t chunk_stack_put(uint8_t *dst, const struct chunk_open *open, uint32_t depth, int64_t base)
{
	return (size_t)(put_open(chunk_put_varint(dst, depth), open, depth, base) - dst);
}
