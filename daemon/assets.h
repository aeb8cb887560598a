/* SPDX-License-Identifier: MIT */
/*
 * Files that travel inside the daemon: the page, the API description, the schema. Made at build
 * time by tools/embed.sh; immutable, any thread.
 */
#ifndef FPROF_DAEMON_ASSETS_H
#define FPROF_DAEMON_ASSETS_H

#include <stddef.h>

struct asset {
	const char
		*path; /* "/index.html" for what lies in web/, else the base name: "schema.sql" */
	const unsigned char *data; /* size bytes, then a NUL */
	size_t size;
	const char *type; /* media type */
	const char *etag; /* W/"...": changes with the content */
};

const struct asset *assets_find(const char *path); /* NULL: no such file */
/* The file as a string; NULL: no such file. */
const char *assets_text(const char *path);

#endif
