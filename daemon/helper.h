/* SPDX-License-Identifier: MIT */
/* Programs of ours that the daemon starts. Any thread. */
#ifndef FPROF_DAEMON_HELPER_H
#define FPROF_DAEMON_HELPER_H

#include <stddef.h>
#include <sys/types.h>

/* Where a program is: beside our own (a build's directory), in ../lib from there, else where make
 * install was to put it. */
void helper_path(const char *name, char *path, size_t size);

/* Starts one, argv[0] of which is filled in. Its descriptor 3 is an end of a socket of sequenced
 * packets, the other one is *ret_fd. 0 or -errno. */
int helper_start(const char *name, char *argv[], char *const environment[], pid_t *ret_pid,
		 int *ret_fd);

/* What is said where none was found, and what helps. name: a literal. */
#define HELPER_MISSING(name) \
	name " is neither beside fprofd, nor in ../lib from there, nor in " FPROF_LIBDIR
#define HELPER_FIX "make install, with the PREFIX that fprofd lies in"

#endif
