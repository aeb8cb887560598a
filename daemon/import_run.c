/* SPDX-License-Identifier: MIT */
/* Which importer reads a file, and what becomes of what it made. */
#include "import.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A .vprof begins with its version, a small number; JSON with white space, a bracket or a mark. */
static import_fn importer_of(enum import_format format, const struct import_order *order)
{
	char head = ' ';

	if (format == IMPORT_AUTO && pread(order->fd, &head, 1, 0) == 1 && head > 0 && head < '\t')
		format = IMPORT_VPROF;
	return format == IMPORT_VPROF ? import_vprof : import_chrome;
}

/* Is text in the first or the last bytes of a file? */
static bool has_near_ends(int fd, const char *text)
{
	char part[4096];
	off_t end = lseek(fd, 0, SEEK_END);
	off_t last = MAX(end - (off_t)sizeof(part), 0);
	ssize_t n = pread(fd, part, sizeof(part), 0);

	if (n > 0 && memmem(part, (size_t)n, text, strlen(text)))
		return true;
	n = pread(fd, part, sizeof(part), last);
	return n > 0 && memmem(part, (size_t)n, text, strlen(text));
}

/* What a file is that is read by nobody here; NULL: that is not known. */
static const char *known_as(int fd)
{
	char head[16] = "";

	if (pread(fd, head, sizeof(head), 0) < 0)
		return NULL;
	if (memcmp(head, "SQLite format 3", sizeof(head)) == 0)
		return "it is a SQLite database; a .fprof is taken by /api/v1/captures/upload";
	if (memcmp(head, "\x1f\x8b", 2) == 0)
		return "it is compressed by gzip: unpack it";
	if (has_near_ends(fd, "www.speedscope.app"))
		return "it is a profile of speedscope, which is only written";
	return NULL;
}

/* Of what is not of its format: what it is instead, where that is known, and what is read. */
static void explain(const struct import_order *order, struct import_result *result)
{
	const char *known = known_as(order->fd);
	size_t n = strlen(result->why);

	if (known || n == 0)
		n = (size_t)snprintf(result->why, sizeof(result->why), "%s",
				     known ? known : "it is not of this format");
	snprintf(result->why + n, sizeof(result->why) - n,
		 "; what is read is Chrome's trace JSON, .vprof and fprof's own .fprof");
}

int import_run(struct captures *captures, enum import_format format,
	       const struct import_order *order, struct import_result *result,
	       uint64_t *ret_session)
{
	struct import_order ours = *order;
	int r = captures_prepare(captures);

	if (r == 0)
		r = captures_check_room(captures, 0);
	if (r < 0)
		return r;
	ours.directory = captures_directory(captures);
	ours.session = captures_next_id(captures);
	r = importer_of(format, order)(&ours, result);
	if (r == -EBADMSG)
		explain(order, result);
	if (r == 0)
		r = captures_enter_or_remove(captures, &result->capture);
	if (r == 0)
		*ret_session = ours.session;
	return r;
}
