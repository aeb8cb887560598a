/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON into a growable buffer. Commas are put by the writer; the caller keeps begins and
 * ends in balance and puts a key before each member. What comes out is valid JSON in valid UTF-8
 * whatever the strings hold. One thread at a time.
 */
#ifndef FPROF_DAEMON_JSON_H
#define FPROF_DAEMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. at is no C string. */
struct json {
	char *at;
	size_t count, capacity;
	bool comma;  /* a value stands before the next one */
	bool failed; /* no memory: everything since is dropped; the caller looks once, at the end */
};

void json_free(struct json *j);
/* Makes room for so many bytes more at once, where the size can be told beforehand. */
void json_reserve(struct json *j, size_t bytes);

void json_object_begin(struct json *j);
void json_object_end(struct json *j);
void json_array_begin(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);	       /* key: a plain name, written as it is */
void json_key_string(struct json *j, const char *key); /* a key that a stranger chose */

void json_null(struct json *j);
void json_bool(struct json *j, bool v);
void json_int(struct json *j, int64_t v);   /* exact, beyond 2^53 too */
void json_uint(struct json *j, uint64_t v); /* exact, beyond 2^53 too */
void json_double(struct json *j, double v); /* NaN and infinities become null */
/* NULL becomes null, bytes that are no UTF-8 become U+FFFD. */
void json_string(struct json *j, const char *s);
void json_string_n(struct json *j, const char *s, size_t bytes);
/* A finished JSON value, as it is. Empty or NULL: null. */
void json_raw(struct json *j, const char *text);

/* A member at once. */
void json_member_string(struct json *j, const char *key, const char *v);
void json_member_int(struct json *j, const char *key, int64_t v);
void json_member_uint(struct json *j, const char *key, uint64_t v);
void json_member_double(struct json *j, const char *key, double v);
void json_member_bool(struct json *j, const char *key, bool v);

/* What was written, as a C string of its own; j is empty again. NULL: no memory. */
char *json_text(struct json *j);

/* Bytes that are not JSON, for what is built in the same buffer (events, metrics). */
void json_bytes(struct json *j, const void *bytes, size_t count);
void json_printf(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes of the UTF-8 character at s (count > 0 are there), 0 when it is none: overlong forms,
 * surrogates and what lies beyond U+10FFFF are none. */
size_t json_utf8_bytes(const unsigned char *s, size_t count);

#endif
