/* SPDX-License-Identifier: MIT */
/* Finding present functions in the files that a process runs. */
#ifndef FPROF_PROBE_SYMBOLS_H
#define FPROF_PROBE_SYMBOLS_H

#include "functions.h"

#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_POINTS_MAX 32 /* functions of one process */
/* Instead of a present function: the file is a Vulkan driver (it has vk_icdGetInstanceProcAddr). */
#define SYMBOLS_DRIVER PRESENT_FUNCTIONS

struct symbols_point {
	int32_t fd;	   /* of the file */
	uint32_t function; /* of present_functions, or SYMBOLS_DRIVER */
	uint64_t offset;   /* in the file */
};

/* A byte of a file, as /proc/PID/maps names it: no two files have one. */
struct symbols_place {
	uint32_t major, minor;
	uint64_t inode, offset;
};

struct symbols {
	struct symbols_point points[SYMBOLS_POINTS_MAX];
	size_t count;
	int *fds; /* of all files that were looked into */
	size_t fd_count;
	uint32_t unread; /* files that could not be opened, or are no longer what is mapped */
};

/*
 * Looks into every file of which the process maps code. process: a descriptor of its directory in
 * /proc. 0 (there may be none), or -errno: the process's files cannot be listed.
 */
int symbols_find(int process, struct symbols *ret_symbols);
/* Opens the file, where the process maps the byte as code. 0 or -errno. */
int symbols_open(int process, const struct symbols_place *place, int *ret_fd);
void symbols_deinit(struct symbols *symbols); /* closes the files */

#endif
