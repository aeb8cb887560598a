/* SPDX-License-Identifier: MIT */
/*
 * Between fprofd and fprof-symbols, which reads files that a game's user made: SOCK_SEQPACKET, one
 * message a packet. A request is answered before the next one is read. Answers are a stranger's
 * word: they are looked at before they are believed.
 */
#ifndef FPROF_SYMBOLS_PROTOCOL_H
#define FPROF_SYMBOLS_PROTOCOL_H

#include <stdint.h>

#define SYMBOLS_ASK_MAX	    64u
#define SYMBOLS_NAME_MAX    511u
#define SYMBOLS_MODULES_MAX 1024u
#define SYMBOLS_BUILD_ID    40u /* hex digits */

enum symbols_op {
	SYMBOLS_FILE = 1,  /* module is the file that comes along; one answer */
	SYMBOLS_DEBUG = 2, /* ... whose symbols may be in this one; one answer */
	SYMBOLS_ASK = 3,   /* what are count offsets of module in; an answer each, in order */
};

/* Where the names come from. */
enum symbols_source { SYMBOLS_NONE = 0, SYMBOLS_DYNSYM, SYMBOLS_SYMTAB, SYMBOLS_OTHER_FILE };

struct symbols_request {
	uint32_t op, module;
	uint32_t count, pad;
	uint64_t offsets[SYMBOLS_ASK_MAX]; /* bytes of the file */
};

struct symbols_answer {
	uint32_t op, module;
	int32_t status; /* FILE, DEBUG: 0, -ENOEXEC (no ELF file), -ENODATA (no symbols), ... */
	uint32_t source;
	uint64_t offset;		     /* ASK: that was asked for */
	uint64_t lo, hi;		     /* ASK: lo <= offset < hi */
	char build_id[SYMBOLS_BUILD_ID + 1]; /* FILE; "": it has none */
	char name[SYMBOLS_NAME_MAX + 1];     /* ASK: demangled; "": there is none */
};

#endif
