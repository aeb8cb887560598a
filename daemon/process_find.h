/* SPDX-License-Identifier: MIT */
/* Looking for processes in /proc. Any thread. */
#ifndef FPROF_DAEMON_PROCESS_FIND_H
#define FPROF_DAEMON_PROCESS_FIND_H

#include <stddef.h>
#include <stdint.h>

#define PROCESS_FIND_MAX 32

/*
 * What is called so: the program's file, the name that it was called by, or that of its main
 * thread fits the shell pattern. uid: only of this user; UINT32_MAX: of all. Fills pids, lowest
 * first: how many, at most PROCESS_FIND_MAX.
 */
size_t process_find_named(const char *pattern, uint32_t uid, int32_t pids[PROCESS_FIND_MAX]);
/* The same for processes in a pid namespace of their own (a container's, a sandbox's) that have
 * this number there. */
size_t process_find_inner(int32_t ns_pid, uint32_t uid, int32_t pids[PROCESS_FIND_MAX]);

#endif
