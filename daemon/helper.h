/* SPDX-License-Identifier: MIT */
/* Programs of ours that the daemon starts. Any thread. */
#ifndef FPROF_DAEMON_HELPER_H
#define FPROF_DAEMON_HELPER_H

#include <stddef.h>

/* Where a program is: beside our own (a build's directory), else where make install puts it. */
void helper_path(const char *name, char *path, size_t size);

#endif
