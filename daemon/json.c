/* SPDX-License-Identifier: MIT */
/*
 * A writer, not a tree: a frame with 10,000 zones is some 2 MB of text, and building it first as
 * objects would cost more than the database does. Growth doubles the buffer. A failed allocation
 * sets `failed` and makes everything after it a no-op, so that callers look once.
 *
 * One flag is enough for commas: a begin or a key clears it, a finished value sets it.
 */
#include "json.h"

#include "util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_free(struct json *j)
{
	free(j->at);
	*j = (struct json){0};
}

static char *reserve(struct json *j, size_t more)
{
	size_t capacity = MAX(j->capacity, 4096u);
	char *at;

	if (j->failed)
		return NULL;
	if (j->capacity - j->count >= more)
		return j->at + j->count;
	if (capacity < j->count + more)
		capacity = MAX(2 * capacity, j->count + more);
	at = realloc(j->at, capacity);
	if (!at) {
		j->failed = true;
		return NULL;
	}
	j->at = at;
	j->capacity = capacity;
	return at + j->count;
}

void json_reserve(struct json *j, size_t bytes)
{
	reserve(j, bytes);
}

char *json_text(struct json *j)
{
	char *text;

	json_bytes(j, "", 1);
	if (j->failed) {
		json_free(j);
		return NULL;
	}
	text = j->at;
	*j = (struct json){0};
	return text;
}

void json_bytes(struct json *j, const void *bytes, size_t count)
{
	char *p = count ? reserve(j, count) : NULL;

	if (!p)
		return;
	memcpy(p, bytes, count);
	j->count += count;
}

void json_printf(struct json *j, const char *format, ...)
{
	va_list args, again;
	int n;
	char *p;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	p = n < 0 ? NULL : reserve(j, (size_t)n + 1);
	if (p) {
		vsnprintf(p, (size_t)n + 1, format, again);
		j->count += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

static void value(struct json *j, const char *text, size_t bytes)
{
	char *p = reserve(j, bytes + 1);

	if (!p)
		return;
	if (j->comma)
		*p++ = ',';
	memcpy(p, text, bytes);
	j->count = (size_t)(p - j->at) + bytes;
	j->comma = true;
}

static void begin(struct json *j, char c)
{
	value(j, &c, 1);
	j->comma = false;
}

static void end(struct json *j, char c)
{
	json_bytes(j, &c, 1);
	j->comma = true;
}

void json_object_begin(struct json *j)
{
	begin(j, '{');
}

void json_object_end(struct json *j)
{
	end(j, '}');
}

void json_array_begin(struct json *j)
{
	begin(j, '[');
}

void json_array_end(struct json *j)
{
	end(j, ']');
}

void json_key(struct json *j, const char *key)
{
	size_t n = strlen(key);
	char *p = reserve(j, n + 4);

	if (!p)
		return;
	if (j->comma)
		*p++ = ',';
	*p++ = '"';
	memcpy(p, key, n);
	p += n;
	*p++ = '"';
	*p++ = ':';
	j->count = (size_t)(p - j->at);
	j->comma = false;
}

void json_null(struct json *j)
{
	value(j, "null", 4);
}

void json_bool(struct json *j, bool v)
{
	if (v)
		value(j, "true", 4);
	else
		value(j, "false", 5);
}

static void number(struct json *j, uint64_t v, bool negative)
{
	char text[24], *p = text + sizeof(text);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (negative)
		*--p = '-';
	value(j, p, (size_t)(text + sizeof(text) - p));
}

void json_int(struct json *j, int64_t v)
{
	number(j, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
}

void json_uint(struct json *j, uint64_t v)
{
	number(j, v, false);
}

void json_double(struct json *j, double v)
{
	char text[40];
	int n;

	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	n = snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		n = snprintf(text, sizeof(text), "%.17g", v);
	value(j, text, (size_t)n);
}

size_t json_utf8_bytes(const unsigned char *s, size_t count)
{
	size_t n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (count < n)
		return 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* The escape of one byte that may not stand in a string, in at most 6 bytes. */
static size_t escape(char *p, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const char *found = c ? strchr(plain, c) : NULL;

	p[0] = '\\';
	if (found) {
		p[1] = letter[found - plain];
		return 2;
	}
	memcpy(p + 1, "u00", 3);
	p[4] = hex[c >> 4];
	p[5] = hex[c & 15];
	return 6;
}

void json_string_n(struct json *j, const char *s, size_t bytes)
{
	const unsigned char *u = (const unsigned char *)s, *stop = u + bytes;
	char *p = reserve(j, 6 * bytes + 3); /* the worst case, so that the loop needs no checks */
	size_t n;

	if (!p)
		return;
	if (j->comma)
		*p++ = ',';
	*p++ = '"';
	while (u < stop) {
		if (*u >= 0x20 && *u < 0x80 && *u != '"' && *u != '\\') {
			*p++ = (char)*u++;
		} else if (*u < 0x80) {
			p += escape(p, *u++);
		} else if ((n = json_utf8_bytes(u, (size_t)(stop - u)))) {
			memcpy(p, u, n);
			p += n;
			u += n;
		} else {
			memcpy(p, "\xef\xbf\xbd", 3);
			p += 3;
			u++;
		}
	}
	*p++ = '"';
	j->count = (size_t)(p - j->at);
	j->comma = true;
}

void json_string(struct json *j, const char *s)
{
	if (s)
		json_string_n(j, s, strlen(s));
	else
		json_null(j);
}

void json_key_string(struct json *j, const char *key)
{
	json_string(j, key);
	json_bytes(j, ":", 1);
	j->comma = false;
}

void json_raw(struct json *j, const char *text)
{
	if (text && *text)
		value(j, text, strlen(text));
	else
		json_null(j);
}

void json_member_string(struct json *j, const char *key, const char *v)
{
	json_key(j, key);
	json_string(j, v);
}

void json_member_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_member_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

void json_member_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

void json_member_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
