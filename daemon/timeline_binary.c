/* SPDX-License-Identifier: MIT */
/* Column by column, since that is what a typed array is. No state; any thread. */
#include "timeline_binary.h"

#include <endian.h>
#include <string.h>

enum column { BEGIN, DURATION, BUSY, MARKER, COUNT, DEPTH, FLAGS, COLUMNS };

static const size_t widths[COLUMNS] = {8, 8, 8, 4, 4, 2, 2};

static size_t aligned(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void put_u16(struct json *out, uint16_t v)
{
	v = htole16(v);
	json_bytes(out, &v, sizeof(v));
}

static void put_u32(struct json *out, uint32_t v)
{
	v = htole32(v);
	json_bytes(out, &v, sizeof(v));
}

static void put_f64(struct json *out, int64_t ns)
{
	double v = (double)ns;
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits = htole64(bits);
	json_bytes(out, &bits, sizeof(bits));
}

static void put_item(struct json *out, const struct timeline_item *item, enum column column,
		     uint32_t marker)
{
	switch (column) {
	case BEGIN:
		put_f64(out, item->begin_ns);
		break;
	case DURATION:
		put_f64(out, item->end_ns - item->begin_ns);
		break;
	case BUSY:
		put_f64(out, item->busy_ns);
		break;
	case MARKER:
		put_u32(out, marker);
		break;
	case COUNT:
		put_u32(out, item->count);
		break;
	case DEPTH:
		put_u16(out, item->depth);
		break;
	default:
		put_u16(out, item->flags);
		break;
	}
}

static void pad(struct json *out, size_t bytes)
{
	static const char zeros[8];

	json_bytes(out, zeros, aligned(bytes) - bytes);
}

void timeline_binary(const struct timeline *timeline, const uint32_t *markers, size_t marker_count,
		     const struct json *description, struct json *out)
{
	size_t n = timeline->items.count, at = TIMELINE_BINARY_HEADER, i;
	int column;

	json_bytes(out, "FPTL", 4);
	put_u32(out, TIMELINE_BINARY_VERSION);
	put_u32(out, (uint32_t)n);
	put_u32(out, (uint32_t)description->count);
	for (column = 0; column < COLUMNS; column++) {
		put_u32(out, (uint32_t)at);
		at += aligned(n * widths[column]);
	}
	put_u32(out, (uint32_t)at);
	json_reserve(out, at + description->count);
	for (column = 0; column < COLUMNS; column++) {
		for (i = 0; i < n; i++) {
			const struct timeline_item *item = &timeline->items.at[i];

			put_item(out, item, (enum column)column,
				 item->marker < marker_count ? markers[item->marker] : 0);
		}
		pad(out, n * widths[column]);
	}
	json_bytes(out, description->at, description->count);
	out->failed = out->failed || description->failed;
}
