/* SPDX-License-Identifier: MIT */
/* Chunks as they stand in a database that anybody may have written: packed and raw. */
#include "daemon/chunk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all events and touches every byte that they point to. */
static uint64_t read_all(const void *raw, size_t bytes)
{
	struct chunk_reader *reader = malloc(sizeof(*reader));
	struct chunk_event event;
	uint64_t sum = 0;
	size_t i;

	if (!reader)
		abort();
	if (chunk_reader_init(reader, raw, bytes, 0) == 0) {
		while (chunk_reader_next(reader, &event) == 1) {
			sum += (uint64_t)event.t + event.marker;
			if (event.code == CHUNK_MESSAGE || event.code == CHUNK_TEXT)
				for (i = 0; i < event.byte_count; i++)
					sum += event.bytes[i];
		}
	}
	free(reader);
	return sum;
}

/* What is packed must come back as it was. */
static void round_trip(const uint8_t *data, size_t size)
{
	size_t capacity = chunk_pack_bound(size), bytes;
	uint8_t *packed = malloc(capacity), *raw;
	long packed_bytes;

	if (!packed)
		abort();
	packed_bytes = chunk_pack(packed, capacity, data, size);
	if (packed_bytes >= 0 && chunk_unpack(packed, (size_t)packed_bytes, &raw, &bytes) == 0) {
		if (bytes != size || memcmp(raw, data, size))
			abort();
		free(raw);
	}
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw;
	size_t bytes;

	read_all(data, size);
	if (chunk_unpack(data, size, &raw, &bytes) == 0) {
		read_all(raw, bytes);
		free(raw);
	}
	if (size > 0)
		round_trip(data, size);
	return 0;
}
