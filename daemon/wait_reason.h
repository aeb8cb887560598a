/* SPDX-License-Identifier: MIT */
/* Why a thread blocks, from the system call that it is in and what its descriptor is. Pure. */
#ifndef FPROF_DAEMON_WAIT_REASON_H
#define FPROF_DAEMON_WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum wait_reason {
	WAIT_OTHER = 0,
	WAIT_LOCK,  /* futex, ntsync */
	WAIT_SLEEP, /* nanosleep and the like */
	WAIT_READ,  /* files and pipes */
	WAIT_WRITE,
	WAIT_DISK,   /* fsync and the like */
	WAIT_MEMORY, /* a page fault that waits, memory calls */
	WAIT_POLL,   /* poll, epoll, select */
	WAIT_SOCKET,
	WAIT_GPU, /* ioctl of a DRM or NVIDIA device, a sync file */
	WAIT_REASONS
};
extern const char *const wait_reason_names[WAIT_REASONS];

enum fd_class { FD_UNKNOWN = 0, FD_FILE, FD_PIPE, FD_SOCKET, FD_GPU, FD_LOCK };
/* Of what /proc/PID/fd/N points to. */
enum fd_class fd_class_of(const char *target);

/* Is the first argument of the system call a descriptor that decides? */
bool wait_wants_fd(int32_t syscall);
/* syscall: the native number; -1: none, so a fault. */
enum wait_reason wait_reason_of(int32_t syscall, enum fd_class fd);
/* The call goes on after a signal: the reason is what it was before. */
bool wait_is_restart(int32_t syscall);

#endif
