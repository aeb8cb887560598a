/* SPDX-License-Identifier: MIT */
/* The game socket itself: making it, and one packet with at most one descriptor. */
#ifndef FPROF_DAEMON_SOCKET_H
#define FPROF_DAEMON_SOCKET_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Listens at path with this mode. A file that nobody answers is replaced; *ret_lock is a descriptor
 * that keeps other daemons away while it is open. -EADDRINUSE: a living daemon has it;
 * -ENAMETOOLONG; -errno.
 */
int socket_listen(const char *path, mode_t mode, int *ret_fd, int *ret_lock);

/*
 * One packet, without waiting. Bytes; 0: the other side hung up; -EAGAIN; -EMSGSIZE: longer than
 * size; -errno. *ret_fd: the first descriptor that came with it, close-on-exec, -1: none; others
 * are closed.
 */
ssize_t socket_receive(int fd, void *buf, size_t size, int *ret_fd);

/* One packet, without waiting, with a descriptor unless pass is -1. 0 or -errno. */
int socket_send(int fd, const void *buf, size_t bytes, int pass);

#endif
