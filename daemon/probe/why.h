/* SPDX-License-Identifier: MIT */
/* Why kernel programs cannot be had here, and what would change that. */
#ifndef FPROF_PROBE_WHY_H
#define FPROF_PROBE_WHY_H

#include <sys/types.h>

struct why {
	const char *reason; /* English; NULL: there is nothing to be said against it */
	const char *fix;    /* a command, or what else to do; "": nothing is known to help */
};

/* Before anything is loaded: are our numbers of processes the kernel's, and those of the peer? */
struct why why_other_pids(pid_t peer);
/* Loading or attaching a program failed. */
struct why why_refused(int error);

#endif
