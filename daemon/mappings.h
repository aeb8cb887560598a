/* SPDX-License-Identifier: MIT */
/* The code that a process maps, from its /proc/PID/maps. One thread. */
#ifndef FPROF_DAEMON_MAPPINGS_H
#define FPROF_DAEMON_MAPPINGS_H

#include "vec.h"

#include <stdint.h>

#define MAPPINGS_MAX 8192u

/* A byte of a file, as maps names it. */
struct mapped_place {
	uint32_t major, minor;
	uint64_t inode, offset;
};

struct mapping {
	uint64_t start, end;
	struct mapped_place place; /* of start; inode 0: no file's */
	char *path;		   /* or what else the kernel calls it; "" */
};

struct mappings {
	VEC(struct mapping) at; /* of code, by address */
};
void mappings_deinit(struct mappings *mappings); /* all zeros is fine */

/* Reads them anew, from the file's start: 0; -ESRCH: the process maps nothing any more; -errno.
 * What was there stays where it fails. */
int mappings_read(struct mappings *mappings, int fd);
/* Where an address lies, NULL: in none of them. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

#endif
