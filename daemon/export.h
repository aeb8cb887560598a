/* SPDX-License-Identifier: MIT */
/*
 * Writing a range of a session in formats that other tools read. An export goes through one buffer
 * into a file, as range_visit shows the events: a gigabyte costs no more memory than a kilobyte.
 * One thread an export.
 */
#ifndef FPROF_DAEMON_EXPORT_H
#define FPROF_DAEMON_EXPORT_H

#include "captures.h"
#include "history.h"
#include "range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum export_format {
	EXPORT_CHROME,
	EXPORT_VPROF,
	EXPORT_SPEEDSCOPE,
	EXPORT_FOLDED,
	EXPORT_FORMATS
};
extern const char *const export_format_names[EXPORT_FORMATS + 1]; /* NULL-terminated */

/* ---- The buffered writer. A failed write is kept: everything after it is dropped. ------------ */

#define EXPORT_BUFFER (256u * 1024u)
#define EXPORT_ROOM   4096u /* what export_room always has */

struct export_out {
	int fd, error;
	size_t count;
	char buffer[EXPORT_BUFFER];
};
int export_out_flush(struct export_out *o); /* 0 or -errno of any write so far */
void export_bytes(struct export_out *o, const void *bytes, size_t count);
void export_text(struct export_out *o, const char *text);
void export_int(struct export_out *o, int64_t v);
/* A string with its quotes; what is no UTF-8 becomes U+FFFD. NULL: null. */
void export_string(struct export_out *o, const char *text);
void export_double(struct export_out *o, double v); /* NaN and infinities: null */

/* At least EXPORT_ROOM bytes to write to; export_advance says how many were. */
static inline char *export_room(struct export_out *o)
{
	if (o->count > EXPORT_BUFFER - EXPORT_ROOM)
		export_out_flush(o);
	return o->buffer + o->count;
}
static inline void export_advance(struct export_out *o, const char *end)
{
	o->count = (size_t)(end - o->buffer);
}
/* Writers into such room, at most 24 bytes; they return the end. us: ns as microseconds with three
 * decimals, exact. */
char *export_put_int(char *p, int64_t v);
char *export_put_us(char *p, int64_t ns);
/* Text as a JSON string with its quotes, malloc'ed; NULL: no memory. */
char *export_quoted(const char *text);

/* ---- Exports --------------------------------------------------------------------------------- */

struct export_order {
	struct history *history;
	const struct range *range;
	const struct capture *captures; /* spikes taken from the session, or NULL */
	size_t capture_count;
};
/* What the format could not hold, in words: "" when nothing was lost. */
struct export_report {
	char lost[256];
};

/* One format's. 0 or -errno. */
typedef int (*export_fn)(const struct export_order *order, struct export_out *out,
			 struct export_report *report);
int export_chrome(const struct export_order *order, struct export_out *out,
		  struct export_report *report);
int export_vprof(const struct export_order *order, struct export_out *out,
		 struct export_report *report);
int export_speedscope(const struct export_order *order, struct export_out *out,
		      struct export_report *report);
int export_folded(const struct export_order *order, struct export_out *out,
		  struct export_report *report);

/* Writes to fd: 0 or -errno. */
int export_run(enum export_format format, const struct export_order *order, int fd,
	       struct export_report *report);
const char *export_media_type(enum export_format format);
const char *export_extension(enum export_format format);

/* The name of a marker, "?" where there is none. */
const char *export_name(const struct range *range, uint32_t marker);

#endif
