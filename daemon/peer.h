/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other end of a Unix socket, held so that a reused pid is never taken for it, and
 * how that process ended.
 */
#ifndef FPROF_DAEMON_PEER_H
#define FPROF_DAEMON_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer {
	int32_t pid;
	uint32_t uid;
	uint64_t start; /* process_stat's; 0: the process was gone before we looked */
	int pidfd;	/* owned; -1: the process is gone and cannot be watched */
};

/* Fills ret_peer from a connected socket. 0, or -errno with *ret_why, a static English sentence. */
int peer_identify(int socket, struct peer *ret_peer, const char **ret_why);
void peer_deinit(struct peer *peer);

/* Holds a process that is known by pid and start time. 0; -ESRCH: it is gone. */
int peer_open(int32_t pid, uint64_t start, struct peer *ret_peer);
/* Does it still exist, if only as a zombie? */
bool peer_exists(const struct peer *peer);

struct peer_end {
	bool known; /* the rest is valid */
	int signal; /* that killed it, else 0 */
	int status; /* exit status when signal is 0 */
};
/*
 * How the process ended; its pidfd is readable. 0; -EAGAIN: the kernel will tell once its parent
 * has waited for it: ask again soon. Kernels before 6.15 tell only of processes that we may trace,
 * and only until then: known is false.
 */
int peer_end(const struct peer *peer, struct peer_end *ret_end);
/* "exit", "exit status 3", "killed by signal 9 (SIGKILL)", "exit status unknown". */
void peer_end_text(const struct peer_end *end, char *text, size_t size);

#endif
