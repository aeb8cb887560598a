/* SPDX-License-Identifier: MIT */
/*
 * The buffered writer of exports, and which format is written by whom. Numbers are made of integers
 * here: an export of a gigabyte is mostly digits, and a double would round them.
 */
#include "export.h"

#include "json.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

const char *const export_format_names[EXPORT_FORMATS + 1] = {"chrome", "vprof", "speedscope",
							     "folded", NULL};

static const char digits[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			     "34353637383940414243444546474849505152535455565758596061626364656667"
			     "6869707172737475767778798081828384858687888990919293949596979899";

int export_out_flush(struct export_out *o)
{
	if (o->error == 0)
		o->error = write_all(o->fd, o->buffer, o->count);
	o->count = 0;
	return o->error;
}

void export_bytes(struct export_out *o, const void *bytes, size_t count)
{
	const char *p = bytes;

	while (count > 0) {
		size_t n = MIN(count, EXPORT_BUFFER - o->count);

		memcpy(o->buffer + o->count, p, n);
		o->count += n;
		p += n;
		count -= n;
		if (o->count == EXPORT_BUFFER)
			export_out_flush(o);
	}
}

void export_text(struct export_out *o, const char *text)
{
	export_bytes(o, text, strlen(text));
}

static char *put_uint(char *p, uint64_t v)
{
	char text[20], *at = text + sizeof(text);
	size_t bytes;

	for (; v >= 100; v /= 100)
		memcpy(at -= 2, digits + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(at -= 2, digits + v * 2, 2);
	else
		*--at = (char)('0' + v);
	bytes = (size_t)(text + sizeof(text) - at);
	memcpy(p, at, bytes);
	return p + bytes;
}

char *export_put_int(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return put_uint(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

char *export_put_us(char *p, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	unsigned rest = (unsigned)(v % 1000);

	if (ns < 0)
		*p++ = '-';
	p = put_uint(p, v / 1000);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	memcpy(p, digits + rest % 100 * 2, 2);
	return p + 2;
}

void export_int(struct export_out *o, int64_t v)
{
	export_advance(o, export_put_int(export_room(o), v));
}

void export_double(struct export_out *o, double v)
{
	char *p = export_room(o);

	if (isfinite(v))
		export_advance(o, p + snprintf(p, 40, "%.17g%s", v,
					       v == trunc(v) && fabs(v) < 1e15 ? ".0" : ""));
	else
		export_text(o, "null");
}

char *export_quoted(const char *text)
{
	struct json j = {0};

	json_string(&j, text);
	return json_text(&j);
}

void export_string(struct export_out *o, const char *text)
{
	char *quoted = export_quoted(text);

	if (quoted)
		export_text(o, quoted);
	else if (o->error == 0)
		o->error = -ENOMEM;
	free(quoted);
}

const char *export_name(const struct range *range, uint32_t marker)
{
	const struct marker_row *row = range_marker(range, marker);

	return row ? row->name : "?";
}

const char *export_media_type(enum export_format format)
{
	static const char *const types[EXPORT_FORMATS] = {
		[EXPORT_CHROME] = "application/json",
		[EXPORT_VPROF] = "application/octet-stream",
		[EXPORT_SPEEDSCOPE] = "application/json",
		[EXPORT_FOLDED] = "text/plain; charset=utf-8",
	};

	return types[format];
}

const char *export_extension(enum export_format format)
{
	static const char *const extensions[EXPORT_FORMATS] = {
		[EXPORT_CHROME] = "trace.json",
		[EXPORT_VPROF] = "vprof",
		[EXPORT_SPEEDSCOPE] = "speedscope.json",
		[EXPORT_FOLDED] = "folded.txt",
	};

	return extensions[format];
}

int export_run(enum export_format format, const struct export_order *order, int fd,
	       struct export_report *report)
{
	static const export_fn exports[EXPORT_FORMATS] = {
		[EXPORT_CHROME] = export_chrome,
		[EXPORT_VPROF] = export_vprof,
		[EXPORT_SPEEDSCOPE] = export_speedscope,
		[EXPORT_FOLDED] = export_folded,
	};
	struct export_out *out = malloc(sizeof(*out));
	int r;

	if (!out)
		return -ENOMEM;
	out->fd = fd;
	out->error = 0;
	out->count = 0;
	report->lost[0] = '\0';
	r = exports[format](order, out, report);
	if (r == 0)
		r = export_out_flush(out);
	free(out);
	return r;
}
