/* SPDX-License-Identifier: MIT */
/* Facts about a game's process, from /proc. Any thread. */
#ifndef FPROF_DAEMON_PROCESS_H
#define FPROF_DAEMON_PROCESS_H

#include "displays.h"

#include <stdbool.h>
#include <stdint.h>

/* What /proc/PID/stat says. */
struct process_stat {
	char state;	   /* 'R', 'S', ..., 'Z': dead, not yet waited for */
	uint64_t start;	   /* clock ticks since boot: tells apart processes with the same pid */
	int32_t exit_code; /* as of wait(2); only of a zombie that we may trace, else 0 */
};
int process_stat(int32_t pid, struct process_stat *ret_stat);

/* The owner of /proc/PID: the effective uid. 0 or -errno. */
int process_uid(int32_t pid, uint32_t *ret_uid);

/* A thread of it. */
struct process_thread {
	int32_t ns_tid; /* in the innermost namespace of the process */
	char name[64];
};
/* 0; -ENOENT, -ESRCH: there is none. */
int process_thread(int32_t pid, int32_t tid, struct process_thread *ret_thread);

struct process_facts {
	int32_t ns_pid; /* in the innermost namespace of the process */
	char *exe;	/* path; NULL when we may not know it */
	char *name;	/* of the executable file, else of the main thread; never NULL */
	char *build_id; /* hex, or NULL */
	char *json;	/* for session_row.facts_json */
};

/* Reads them. What cannot be read is left out and named, with why, in the json's "unknown". 0 or
 * -ENOMEM. */
int process_facts_read(int32_t pid, const struct displays *displays,
		       struct process_facts *ret_facts);
void process_facts_deinit(struct process_facts *facts);

/* This boot's id, malloc'ed; NULL: not known, or no memory. */
char *process_boot_id(void);

#endif
