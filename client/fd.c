// SPDX-License-Identifier: MIT
/*
 * fstat is asked by number: its wrapper is newer than the oldest glibc that the preload hook must
 * run on.
 */
#include "fd.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fd_stat(int fd, struct stat *ret_st)
{
	return syscall(SYS_fstat, fd, ret_st) < 0 ? -errno : 0;
}

int owned_fd_set(struct owned_fd *owned, int fd)
{
	struct stat st;
	int r = fd_stat(fd, &st);

	if (r < 0)
		return r;
	owned->fd = fd;
	owned->dev = st.st_dev;
	owned->ino = st.st_ino;
	return 0;
}

bool owned_fd_valid(const struct owned_fd *owned)
{
	struct stat st;

	return owned->fd >= 0 && fd_stat(owned->fd, &st) == 0 && st.st_dev == owned->dev &&
	       st.st_ino == owned->ino;
}

void owned_fd_close(struct owned_fd *owned)
{
	if (owned_fd_valid(owned))
		close(owned->fd);
	owned->fd = -1;
}

int fd_size(int fd, uint64_t *ret_bytes)
{
	struct stat st;
	int r = fd_stat(fd, &st);

	if (r < 0)
		return r;
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}
