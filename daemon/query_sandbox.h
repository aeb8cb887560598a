/* SPDX-License-Identifier: MIT */
/* What a process that runs a stranger's SQL gives up, for good. */
#ifndef FPROF_DAEMON_QUERY_SANDBOX_H
#define FPROF_DAEMON_QUERY_SANDBOX_H

#include <stdint.h>

/* First of all: ends with its parent, never becomes more than it is. 0 or -errno. */
int query_sandbox_begin(void);
/*
 * When all files are open: no more of them, so much memory, CPU time and output, the few system
 * calls that reading a database takes, and way for others. 0 or -errno.
 */
int query_sandbox_close(uint64_t memory, unsigned seconds, uint64_t output);

#endif
