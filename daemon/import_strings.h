/* SPDX-License-Identifier: MIT */
/*
 * Strings that a file repeats, each kept once under a number from 1. One thread at a time.
 */
#ifndef FPROF_DAEMON_IMPORT_STRINGS_H
#define FPROF_DAEMON_IMPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#define IMPORT_STRINGS_MAX	(1u << 20)
#define IMPORT_STRINGS_BYTES	(64u * 1024u * 1024u)
#define IMPORT_STRING_BYTES_MAX 1024u /* of one; longer ones are cut between characters */

/* Zero-initialised is empty. */
struct import_strings {
	char *text; /* all of them, each ended by a NUL */
	size_t bytes, capacity;
	uint32_t *offsets; /* by number - 1, in units of 1 byte */
	uint64_t *hashes;
	uint32_t count, room;
	uint32_t *slots;
	uint32_t mask;
	uint64_t seed; /* of the hashes: one that no file knows, so that none has texts that meet */
};

void import_strings_free(struct import_strings *s);
/* The number of a string (UTF-8 without NULs); 0: there is no more room, for it or for memory. */
uint32_t import_strings_put(struct import_strings *s, const char *text, size_t bytes);
/* NUL-terminated; valid until the next put. 0: "". */
const char *import_strings_at(const struct import_strings *s, uint32_t number);

#endif
