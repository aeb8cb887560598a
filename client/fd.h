/* SPDX-License-Identifier: MIT */
/*
 * File descriptors inside somebody else's program, which may close any number at any time and be
 * given it again for something of its own. So each is kept with what it stood for, and asked
 * before each use.
 */
#ifndef FPROF_CLIENT_FD_H
#define FPROF_CLIENT_FD_H

#include <stdbool.h>
#include <stdint.h>

struct owned_fd {
	int32_t fd; /* -1: none */
	uint32_t pad;
	uint64_t dev, ino;
};
#define OWNED_FD_NONE       \
	{                   \
		-1, 0, 0, 0 \
	}

/* Remembers what fd stands for. 0 or a negative errno; fd stays the caller's on an error. */
int owned_fd_set(struct owned_fd *owned, int fd);
/* Does the number still stand for what it stood for? */
bool owned_fd_valid(const struct owned_fd *owned);
/* Closes it where it is still ours, and forgets it in any case. */
void owned_fd_close(struct owned_fd *owned);

/* The size of a file. 0 or a negative errno. */
int fd_size(int fd, uint64_t *ret_bytes);

#endif
