// SPDX-License-Identifier: MIT
/*
 * The lock file PATH.lock decides who owns PATH: it is held as long as the daemon lives, and the
 * kernel drops it with the process, so a killed daemon's socket can be replaced. The
 * connect probe finds what listens there without our lock: a socket that systemd holds, or another
 * program.
 */
#include "socket.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define BACKLOG	     256
#define TRIES	     20 /* for a second */
#define TRY_AGAIN_NS 50000000
#define FDS_MAX	     8

static int take_lock(const char *path)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s.lock", path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	return util_take_fd(&fd);
}

static int address_of(const char *path, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	strcpy(ret_address->sun_path, path);
	return 0;
}

/* Removes a socket file that nobody listens at. */
static int remove_stale(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno == EAGAIN || errno == EPROTOTYPE)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(address->sun_path) < 0 ? -errno : 0;
}

/* Of one that was killed the kernel closes what its io_uring was about a moment later. */
static int take_path(const char *path, const struct sockaddr_un *address, int *lock)
{
	const struct timespec pause = {.tv_nsec = TRY_AGAIN_NS};
	int tries, r = 0;

	for (tries = 0; tries < TRIES; tries++) {
		if (tries > 0)
			nanosleep(&pause, NULL);
		if (*lock < 0)
			*lock = take_lock(path);
		r = *lock < 0 ? *lock : remove_stale(address);
		if (r != -EADDRINUSE)
			break;
	}
	return r;
}

int socket_listen(const char *path, mode_t mode, int *ret_fd, int *ret_lock)
{
	_cleanup_close_ int fd = -1, lock = -1;
	struct sockaddr_un address;
	int r = address_of(path, &address);

	if (r < 0)
		return r;
	r = take_path(path, &address, &lock);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The file gets this mode at once: nobody else connects before the chmod. */
	if (fchmod(fd, mode & 0600) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = util_take_fd(&fd);
	*ret_lock = util_take_fd(&lock);
	return 0;
}

/* Keeps the first descriptor of a message, closes the others. */
static int take_fd(struct msghdr *message)
{
	struct cmsghdr *c;
	int fd, first = -1;
	size_t i, count;

	for (c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

ssize_t socket_receive(int fd, void *buf, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = buf, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	/* Said once when the other side closed without reading all; what it sent is still there. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	*ret_fd = -1;
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	*ret_fd = take_fd(&message);
	return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

int socket_send(int fd, const void *buf, size_t bytes, int pass)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = bytes};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (pass >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &pass, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
