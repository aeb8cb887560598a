/* SPDX-License-Identifier: MIT */
/*
 * One growing text and a hash over it. At its limits it holds 64 MiB of text, 1 Mi numbers and 20
 * bytes for each: what a hostile file can make an import remember.
 */
#include "import_strings.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void import_strings_free(struct import_strings *s)
{
	free(s->text);
	free(s->offsets);
	free(s->hashes);
	free(s->slots);
	memset(s, 0, sizeof(*s));
}

const char *import_strings_at(const struct import_strings *s, uint32_t number)
{
	return number ? s->text + s->offsets[number - 1] : "";
}

static int grow_numbers(struct import_strings *s)
{
	uint32_t room = s->room ? s->room * 2 : 1024, i, at;
	uint32_t *offsets = realloc(s->offsets, room * sizeof(*offsets));
	uint64_t *hashes;
	uint32_t *slots;

	if (!offsets)
		return -1;
	s->offsets = offsets;
	hashes = realloc(s->hashes, room * sizeof(*hashes));
	if (!hashes)
		return -1;
	s->hashes = hashes;
	slots = calloc((size_t)room * 2, sizeof(*slots));
	if (!slots)
		return -1;
	free(s->slots);
	s->slots = slots;
	s->mask = room * 2 - 1;
	s->room = room;
	for (i = 0; i < s->count; i++) {
		for (at = (uint32_t)hashes[i] & s->mask; slots[at]; at = (at + 1) & s->mask)
			;
		slots[at] = i + 1;
	}
	return 0;
}

static int grow_text(struct import_strings *s, size_t need)
{
	size_t capacity = s->capacity ? s->capacity : 64u * 1024u;
	char *text;

	while (capacity < need)
		capacity *= 2;
	text = realloc(s->text, capacity);
	if (!text)
		return -1;
	s->text = text;
	s->capacity = capacity;
	return 0;
}

static uint32_t add(struct import_strings *s, const char *text, size_t bytes, uint64_t hash)
{
	if (s->count == IMPORT_STRINGS_MAX || s->bytes + bytes + 1 > IMPORT_STRINGS_BYTES)
		return 0;
	if (s->bytes + bytes + 1 > s->capacity && grow_text(s, s->bytes + bytes + 1) < 0)
		return 0;
	if (bytes > 0)
		memcpy(s->text + s->bytes, text, bytes);
	s->text[s->bytes + bytes] = '\0';
	s->offsets[s->count] = (uint32_t)s->bytes;
	s->hashes[s->count] = hash;
	s->bytes += bytes + 1;
	return ++s->count;
}

uint32_t import_strings_put(struct import_strings *s, const char *text, size_t bytes)
{
	uint64_t hash;
	uint32_t at;

	if (bytes > IMPORT_STRING_BYTES_MAX) {
		bytes = IMPORT_STRING_BYTES_MAX;
		while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
			bytes--;
	}
	if (s->count == s->room && grow_numbers(s) < 0)
		return 0;
	hash = XXH3_64bits_withSeed(text, bytes, s->seed);
	for (at = (uint32_t)hash & s->mask; s->slots[at]; at = (at + 1) & s->mask) {
		uint32_t number = s->slots[at];
		const char *have = s->text + s->offsets[number - 1];

		if (s->hashes[number - 1] == hash && s->offsets[number - 1] + bytes < s->bytes &&
		    !memcmp(have, text, bytes) && !have[bytes])
			return number;
	}
	s->slots[at] = add(s, text, bytes, hash);
	return s->slots[at];
}
