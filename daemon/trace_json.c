/* SPDX-License-Identifier: MIT */
/*
 * Tokens come straight out of the buffer: a string without escapes, control characters or bytes
 * beyond ASCII is not copied. The buffer slides: what stands before the token in progress is
 * dropped, and the rest of the buffer is filled from the file. A token that fills the whole buffer
 * is decoded piece by piece into the string, of which the first TRACE_JSON_STRING bytes are kept.
 *
 * Nothing here recurses and nothing grows with the input.
 */
#include "trace_json.h"

#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define NS_MAX	    (INT64_C(1) << 62)

__extension__ typedef unsigned __int128 u128;

/* Bytes that stand in a string as they are and need no look; of words: that go on. */
static const uint8_t plain[256] = {
#define ROW8 1, 1, 1, 1, 1, 1, 1, 1
	[0x20] = 1,
	1,
	0 /* " */,
	1,
	1,
	1,
	1,
	1,
	[0x28] = ROW8,
	[0x30] = ROW8,
	[0x38] = ROW8,
	[0x40] = ROW8,
	[0x48] = ROW8,
	[0x50] = ROW8,
	[0x58] = 1,
	1,
	1,
	1,
	0 /* \ */,
	1,
	1,
	1,
	[0x60] = ROW8,
	[0x68] = ROW8,
	[0x70] = ROW8,
	[0x78] = ROW8,
#undef ROW8
};

int trace_json_open(struct trace_json *j, int fd)
{
	memset(j, 0, sizeof(*j));
	j->fd = fd;
	j->owned = malloc(TRACE_JSON_BUFFER);
	j->string = malloc(TRACE_JSON_STRING + 8);
	if (!j->owned || !j->string) {
		trace_json_close(j);
		return -ENOMEM;
	}
	j->buffer = j->owned;
	return 0;
}

int trace_json_memory(struct trace_json *j, const char *text, size_t bytes)
{
	memset(j, 0, sizeof(*j));
	j->fd = -1;
	j->buffer = text;
	j->count = bytes;
	j->at_end = true;
	j->string = malloc(TRACE_JSON_STRING + 8);
	return j->string ? 0 : -ENOMEM;
}

void trace_json_close(struct trace_json *j)
{
	free(j->owned);
	free(j->string);
	j->owned = j->string = NULL;
}

/* Drops the bytes before keep and reads on: is there more than before? */
static bool fill(struct trace_json *j, size_t keep)
{
	ssize_t n;

	if (j->at_end)
		return false;
	memmove(j->owned, j->owned + keep, j->count - keep);
	j->base += keep;
	j->at -= keep;
	j->count -= keep;
	if (j->count == TRACE_JSON_BUFFER)
		return false;
	do
		n = pread(j->fd, j->owned + j->count, TRACE_JSON_BUFFER - j->count,
			  (off_t)(j->base + j->count));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		j->error = -errno;
	if (n <= 0) {
		j->at_end = true;
		return false;
	}
	j->count += (size_t)n;
	return true;
}

/* ---- Strings ------------------------------------------------------------------------------- */

struct decoder {
	struct trace_json *j;
	struct trace_json_token *t;
	size_t count; /* in j->string */
};

static void put(struct decoder *d, const char *bytes, size_t count)
{
	if (d->count + count > TRACE_JSON_STRING || d->t->cut) {
		d->t->cut = true;
		return;
	}
	memcpy(d->j->string + d->count, bytes, count);
	d->count += count;
}

static void put_bad(struct decoder *d)
{
	d->t->bad_utf8 = true;
	put(d, REPLACEMENT, 3);
}

static void put_scalar(struct decoder *d, uint32_t c)
{
	char u[4];

	if (c == 0 || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
		put_bad(d);
	} else if (c < 0x80) {
		u[0] = (char)c;
		put(d, u, 1);
	} else if (c < 0x800) {
		u[0] = (char)(0xc0 | c >> 6);
		u[1] = (char)(0x80 | (c & 0x3f));
		put(d, u, 2);
	} else if (c < 0x10000) {
		u[0] = (char)(0xe0 | c >> 12);
		u[1] = (char)(0x80 | (c >> 6 & 0x3f));
		u[2] = (char)(0x80 | (c & 0x3f));
		put(d, u, 3);
	} else {
		u[0] = (char)(0xf0 | c >> 18);
		u[1] = (char)(0x80 | (c >> 12 & 0x3f));
		u[2] = (char)(0x80 | (c >> 6 & 0x3f));
		u[3] = (char)(0x80 | (c & 0x3f));
		put(d, u, 4);
	}
}

/* Are so many bytes there from at on? */
static bool ahead(struct trace_json *j, size_t bytes)
{
	while (j->count - j->at < bytes)
		if (!fill(j, j->at))
			return false;
	return true;
}

static int hex4(const char *s)
{
	int v = 0, i;

	for (i = 0; i < 4; i++) {
		char c = s[i];

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v |= (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* \uXXXX, at its u; a pair of surrogates is one character. */
static void decode_unicode(struct decoder *d)
{
	struct trace_json *j = d->j;
	int high = ahead(j, 5) ? hex4(j->buffer + j->at + 1) : -1, low = -1;

	if (high < 0) {
		j->at++;
		put_bad(d);
		return;
	}
	j->at += 5;
	if (high >= 0xd800 && high < 0xdc00 && ahead(j, 6) && j->buffer[j->at] == '\\' &&
	    j->buffer[j->at + 1] == 'u')
		low = hex4(j->buffer + j->at + 2);
	if (low >= 0xdc00 && low < 0xe000) {
		j->at += 6;
		put_scalar(d,
			   0x10000u + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
		return;
	}
	put_scalar(d, (uint32_t)high);
}

/* At the backslash. False: the input ends. */
static bool decode_escape(struct decoder *d)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	struct trace_json *j = d->j;
	const char *known;
	char c;

	if (!ahead(j, 2)) {
		j->at = j->count;
		return false;
	}
	c = j->buffer[++j->at];
	if (c == 'u') {
		decode_unicode(d);
		return true;
	}
	j->at++;
	known = c ? strchr(from, c) : NULL;
	if (known)
		c = to[known - from];
	if ((unsigned char)c >= 0x80) { /* no escape; the byte is judged by itself */
		j->at--;
		put(d, "\\", 1);
	} else if (c) {
		put(d, &c, 1);
	} else {
		put_bad(d);
	}
	return true;
}

/* A byte that is not plain, a quote or a backslash: a control character or the start of UTF-8. */
static void decode_other(struct decoder *d)
{
	struct trace_json *j = d->j;
	size_t there, n;

	ahead(j, 4);
	there = j->count - j->at;
	n = json_utf8_bytes((const unsigned char *)j->buffer + j->at, there < 4 ? there : 4);
	if (n == 0 || j->buffer[j->at] == '\0') {
		j->at++;
		put_bad(d);
		return;
	}
	put(d, j->buffer + j->at, n);
	j->at += n;
}

/* The slow way: from at on, with what is decoded so far. */
static void decode_string(struct decoder *d)
{
	struct trace_json *j = d->j;

	d->t->open = true;
	for (;;) {
		size_t from = j->at;
		char c;

		while (j->at < j->count && plain[(uint8_t)j->buffer[j->at]])
			j->at++;
		put(d, j->buffer + from, j->at - from);
		if (j->at == j->count) {
			if (!fill(j, j->at))
				break;
			continue;
		}
		c = j->buffer[j->at];
		if (c == '"') {
			j->at++;
			d->t->open = false;
			break;
		}
		if (c != '\\')
			decode_other(d);
		else if (!decode_escape(d))
			break;
	}
	d->t->text = j->string;
	d->t->bytes = d->count;
}

/* At the byte after the quote. */
static void read_string(struct trace_json *j, struct trace_json_token *t)
{
	struct decoder d = {.j = j, .t = t};
	size_t from = j->at, i = from;

	for (;;) {
		while (i < j->count && plain[(uint8_t)j->buffer[i]])
			i++;
		if (i < j->count || i - from >= TRACE_JSON_STRING)
			break;
		i -= from;
		j->at = from;
		if (!fill(j, from)) {
			from = j->at;
			i += from;
			break;
		}
		from = j->at;
		i += from;
	}
	if (i < j->count && j->buffer[i] == '"' && i - from <= TRACE_JSON_STRING) {
		t->text = j->buffer + from;
		t->bytes = i - from;
		j->at = i + 1;
		return;
	}
	put(&d, j->buffer + from, i - from);
	j->at = i;
	decode_string(&d);
}

/* ---- Words and tokens ---------------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '-' || c == '+' || c == '_';
}

static void read_word(struct trace_json *j, struct trace_json_token *t)
{
	size_t bytes = 0;

	for (;;) {
		while (j->at + bytes < j->count && is_word(j->buffer[j->at + bytes]))
			bytes++;
		if (j->at + bytes < j->count || bytes > TRACE_JSON_STRING || !fill(j, j->at))
			break;
	}
	t->text = j->buffer + j->at;
	t->bytes = bytes;
	t->open = j->at + bytes == j->count && j->at_end;
	j->at += bytes;
}

static bool skip_space(struct trace_json *j)
{
	for (;;) {
		while (j->at < j->count) {
			char c = j->buffer[j->at];

			if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
				return true;
			j->at++;
		}
		if (!fill(j, j->at))
			return false;
	}
}

void trace_json_skip_bom(struct trace_json *j)
{
	if (ahead(j, 3) && !memcmp(j->buffer + j->at, "\xef\xbb\xbf", 3))
		j->at += 3;
}

void trace_json_next(struct trace_json *j, struct trace_json_token *t)
{
	char c;

	t->bytes = 0;
	t->bad_utf8 = t->cut = t->open = false;
	t->kind = TRACE_JSON_END;
	if (!skip_space(j)) {
		t->at = trace_json_offset(j);
		return;
	}
	t->at = trace_json_offset(j);
	c = j->buffer[j->at];
	if (is_word(c)) {
		t->kind = TRACE_JSON_WORD;
		read_word(j, t);
		return;
	}
	j->at++;
	switch (c) {
	case '"':
		t->kind = TRACE_JSON_TEXT;
		read_string(j, t);
		return;
	case '{':
		t->kind = TRACE_JSON_OBJECT;
		return;
	case '}':
		t->kind = TRACE_JSON_OBJECT_END;
		return;
	case '[':
		t->kind = TRACE_JSON_ARRAY;
		return;
	case ']':
		t->kind = TRACE_JSON_ARRAY_END;
		return;
	case ':':
		t->kind = TRACE_JSON_COLON;
		return;
	case ',':
		t->kind = TRACE_JSON_COMMA;
		return;
	default:
		t->kind = TRACE_JSON_BAD;
	}
}

struct keeper {
	char *at;
	size_t size, count;
};

static void keep_bytes(struct keeper *k, const char *bytes, size_t count)
{
	if (k->at && k->count < k->size)
		memcpy(k->at + k->count, bytes,
		       count < k->size - k->count ? count : k->size - k->count);
	k->count += count;
}

bool trace_json_skip(struct trace_json *j, char *keep, size_t size, size_t *ret_bytes)
{
	struct keeper k = {keep, size, 0};
	bool in_string = false, escaped = false;
	uint64_t depth = 1;

	do {
		size_t from = j->at;

		while (j->at < j->count && depth > 0) {
			char c = j->buffer[j->at++];

			if (escaped)
				escaped = false;
			else if (in_string)
				in_string = c != '"' ? (escaped = c == '\\', true) : false;
			else if (c == '"')
				in_string = true;
			else if (c == '{' || c == '[')
				depth++;
			else if (c == '}' || c == ']')
				depth--;
		}
		keep_bytes(&k, j->buffer + from, j->at - from);
	} while (depth > 0 && fill(j, j->at));
	if (ret_bytes)
		*ret_bytes = k.count;
	return depth == 0;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* The digits of a decimal: value * 10^exponent, and whether what did not fit was not zero. */
struct decimal {
	u128 value;
	int64_t exponent;
	bool negative, rest;
};

static bool parse_exponent(const char *p, const char *end, int64_t *exponent)
{
	bool negative = p < end && *p == '-';
	int64_t e = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		if (e < 100000)
			e = e * 10 + (*p - '0');
	}
	*exponent += negative ? -e : e;
	return true;
}

static bool parse_decimal(const char *p, const char *end, struct decimal *d)
{
	const u128 full = (u128)1 << 120;
	bool point = false, any = false;

	*d = (struct decimal){.negative = p < end && *p == '-'};
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end; p++) {
		if (*p == '.' && !point) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		any = true;
		if (d->value < full) {
			d->value = d->value * 10 + (unsigned)(*p - '0');
			d->exponent -= point;
		} else {
			d->rest |= *p != '0';
			d->exponent += !point;
		}
	}
	if (any && p < end && (*p == 'e' || *p == 'E'))
		return parse_exponent(p + 1, end, &d->exponent);
	return any && p == end;
}

/* value * 10^exponent as an integer, half to even. */
static bool round_decimal(const struct decimal *d, int64_t *ret)
{
	u128 v = d->value, power = 1, left;
	int64_t e = d->exponent;

	for (; e > 0 && v > 0; e--) {
		v *= 10;
		if (v > (u128)NS_MAX)
			return false;
	}
	if (e < 0 && e >= -37) {
		for (; e < 0; e++)
			power *= 10;
		left = v % power;
		v /= power;
		if (left > power / 2 || (left == power / 2 && (d->rest || (v & 1))))
			v++;
	} else if (e < 0) {
		v = 0; /* below 10^-1: 37 digits hold less than half of one */
	}
	if (v > (u128)NS_MAX)
		return false;
	*ret = d->negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The usual: up to 19 digits, up to three of them behind the point. */
static bool parse_fast(const char *p, const char *end, int64_t *ret_ns)
{
	static const uint64_t scale[] = {1000, 100, 10, 1};
	const char *digits = p, *point = end;
	uint64_t v = 0, factor = 1000;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			v = v * 10 + (uint64_t)(*p - '0');
		else if (*p == '.' && point == end && p > digits)
			point = p;
		else
			return false;
	}
	if (end - digits - (point != end) > 19 || end - point > 4 || end == digits)
		return false;
	if (point != end)
		factor = scale[end - point - 1];
	*ret_ns = (int64_t)(v * factor);
	return v <= (uint64_t)NS_MAX / factor;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool trace_json_us(const char *text, size_t bytes, int64_t *ret_ns)
{
	const char *end = text + bytes;
	struct decimal d;

	if (bytes <= 20 && parse_fast(text, end, ret_ns))
		return true;
	while (text < end && is_space(*text))
		text++;
	while (text < end && is_space(end[-1]))
		end--;
	if (!parse_decimal(text, end, &d))
		return false;
	d.exponent += 3;
	return round_decimal(&d, ret_ns);
}
