/* SPDX-License-Identifier: MIT */
/* What a process that runs a stranger's SQL, or reads a stranger's files, gives up, for good. */
#ifndef FPROF_DAEMON_QUERY_SANDBOX_H
#define FPROF_DAEMON_QUERY_SANDBOX_H

#include <stdint.h>

/* First of all: ends with its parent, never becomes more than it is. 0 or -errno. */
int query_sandbox_begin(void);
/*
 * When all files are open: so much memory, CPU time and output, the few system calls that reading
 * takes, and way for others. It opens nothing more, and can have descriptors below files, which may
 * be handed to it (0: none at all). 0 or -errno.
 */
int query_sandbox_close(uint64_t memory, unsigned seconds, uint64_t output, unsigned files);

#endif
