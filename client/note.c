// SPDX-License-Identifier: MIT
/* Built without stdio, which is not safe in a signal handler. The callback is set as a pair. */
#include "note.h"

#include "fprof.h"

#include <string.h>

struct sink {
	fprof_log_fn fn;
	void *data;
};

/* Two places, so that a reader never pairs the function of one with the data of the other. */
static struct sink sinks[2];
static struct sink *sink;

void fprof_set_log(fprof_log_fn fn, void *data)
{
	struct sink *next = FPROF_LOAD_RELAXED(&sink) == &sinks[0] ? &sinks[1] : &sinks[0];

	next->fn = fn;
	next->data = data;
	FPROF_STORE_RELEASE(&sink, next);
}

static char *append(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

static char *append_number(char *at, const char *end, unsigned n)
{
	char digits[12];
	unsigned i = sizeof(digits);

	digits[--i] = '\0';
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	return append(at, end, digits + i);
}

void note(int level, const char *text, const char *detail, int error)
{
	const struct sink *to = FPROF_LOAD_ACQUIRE(&sink);
	char line[256], *at = line;
	const char *end = line + sizeof(line) - 1;

	if (!to || !to->fn)
		return;
	at = append(at, end, text);
	if (detail) {
		at = append(at, end, ": ");
		at = append(at, end, detail);
	}
	if (error) {
		at = append(at, end, " (errno ");
		at = append_number(at, end, (unsigned)error);
		at = append(at, end, ")");
	}
	*at = '\0';
	to->fn(to->data, level, line);
}
