/* SPDX-License-Identifier: MIT */
/*
 * A pull tokenizer for JSON as tracing tools write it: of any size, from a file or from memory,
 * tolerant of what does not change the meaning. It holds one buffer of TRACE_JSON_BUFFER bytes and
 * one string of at most TRACE_JSON_STRING. One thread at a time.
 */
#ifndef FPROF_DAEMON_TRACE_JSON_H
#define FPROF_DAEMON_TRACE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_JSON_BUFFER (512u * 1024u)
#define TRACE_JSON_STRING (16u * 1024u) /* bytes of a string that are kept */

enum trace_json_kind {
	TRACE_JSON_END, /* of the input */
	TRACE_JSON_OBJECT,
	TRACE_JSON_OBJECT_END,
	TRACE_JSON_ARRAY,
	TRACE_JSON_ARRAY_END,
	TRACE_JSON_COLON,
	TRACE_JSON_COMMA,
	TRACE_JSON_TEXT, /* a string */
	TRACE_JSON_WORD, /* a number or literal, or what stands where one should: not checked */
	TRACE_JSON_BAD,	 /* a byte that begins nothing */
};

struct trace_json_token {
	enum trace_json_kind kind;
	uint64_t at;	  /* byte offset of its first byte */
	const char *text; /* TEXT: decoded, valid UTF-8, no NUL inside; WORD: as it is. Valid
			     until the next call; not terminated */
	size_t bytes;
	bool bad_utf8; /* something in it became U+FFFD */
	bool cut;      /* longer than is kept */
	bool open;     /* the input ended inside it */
};

struct trace_json {
	int fd;		  /* -1: memory */
	int error;	  /* of reading: -errno; then the input seems to end */
	uint64_t base;	  /* offset of buffer[0] in the input */
	size_t at, count; /* in buffer */
	bool at_end;	  /* nothing follows what is in the buffer */
	const char *buffer;
	char *owned; /* buffer of a file, NULL: memory */
	char *string;
};

/* 0 or -ENOMEM. fd is read by pread from its start; it stays the caller's. */
int trace_json_open(struct trace_json *j, int fd);
/* Of bytes in memory, which must outlive it. */
int trace_json_memory(struct trace_json *j, const char *text, size_t bytes);
void trace_json_close(struct trace_json *j);

/* At the start: over a byte order mark. */
void trace_json_skip_bom(struct trace_json *j);
void trace_json_next(struct trace_json *j, struct trace_json_token *ret_token);
/* Skips what is left of an object or array whose opening token was the last one. False: the input
 * ended within. keep: the bytes are also put there, closing one included, up to size; *ret_bytes
 * is how many there were, more than size where they were too many. NULL: not kept. */
bool trace_json_skip(struct trace_json *j, char *keep, size_t size, size_t *ret_bytes);

static inline uint64_t trace_json_offset(const struct trace_json *j)
{
	return j->base + j->at;
}

static inline bool trace_json_is(const struct trace_json_token *t, const char *word, size_t bytes)
{
	return t->bytes == bytes && !__builtin_memcmp(t->text, word, bytes);
}
#define TRACE_JSON_IS(token, word) trace_json_is((token), (word), sizeof(word) - 1)

/* Decimal microseconds ("-12.3456e2") as whole ns, half to even, never through a double. False: it
 * is no decimal number, or beyond +-2^62 ns. */
bool trace_json_us(const char *text, size_t bytes, int64_t *ret_ns);

#endif
