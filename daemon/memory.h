/* SPDX-License-Identifier: MIT */
/*
 * A client's memory as the daemon holds it: checked, mapped read-only, shared by the loop (which
 * made it) and the drain thread (which reads it). Also the control page, the other direction.
 */
#ifndef FPROF_DAEMON_MEMORY_H
#define FPROF_DAEMON_MEMORY_H

#include "shm/reader.h"

#include <stdint.h>

struct memory {
	struct memory_view view;
	uint64_t memory_id;
	uint32_t origin;
	uint32_t lane; /* given by the drain when it is added to a session */
};

/*
 * Takes a received fd: checks seals (SHRINK, GROW, SEAL set), tmpfs (a hugetlb memfd passes the
 * seals and then SIGBUSes), size against max_bytes and header, then maps it. The fd stays the
 * caller's and may be closed. Returns 0, -EPERM (seals), -EMEDIUMTYPE (not tmpfs), -EFBIG, -EPROTO
 * (version), -EINVAL, or the errno of fstat/mmap. *ret_why (may be NULL): a static English
 * sentence.
 */
int memory_open(int fd, uint64_t max_bytes, struct memory **ret_memory, const char **ret_why);
void memory_free(struct memory *memory); /* NULL is fine */

struct control_set;

/* A control page: sealed memfd, mapped read-write here. */
struct control {
	struct control_set *set; /* that it was added to, or NULL: see control_free */
	struct fprof_control *page;
	int fd; /* to be sent to clients (they map it read-only; seals allow no writable mapping
		   after FUTURE_WRITE) */
};
int control_new(uint64_t session_id, struct control *ret_control);
void control_deinit(struct control *control);

#endif
