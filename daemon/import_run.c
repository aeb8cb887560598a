/* SPDX-License-Identifier: MIT */
/* Which importer reads a file, and what becomes of what it made. */
#include "import.h"

#include <errno.h>
#include <fcntl.h>
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
	if (r == 0)
		r = captures_enter_or_remove(captures, &result->capture);
	if (r == 0)
		*ret_session = ours.session;
	return r;
}
