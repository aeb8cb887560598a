/* SPDX-License-Identifier: MIT */
/* Why a thread blocks, from the system call that it is in and what its descriptor is. Pure. */
#ifndef FPROF_DAEMON_WAIT_REASON_H
#define FPROF_DAEMON_WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum wait_reason {
	WAIT_OTHER = 0,
	WAIT_LOCK,  /* futex, ntsync, flock, semaphores, an eventfd */
	WAIT_SLEEP, /* nanosleep and the like, a timerfd; a lock's wait that a timer ended */
	WAIT_READ,  /* files and pipes */
	WAIT_WRITE,
	WAIT_DISK,   /* fsync and the like, names, a page of a file */
	WAIT_MEMORY, /* a page fault that waits for memory, memory calls */
	WAIT_POLL,   /* poll, epoll, select */
	WAIT_SOCKET,
	WAIT_GPU,     /* ioctl of a DRM or NVIDIA device, a sync file */
	WAIT_STOPPED, /* by a signal, a debugger or the freezer, whatever call it is in */
	WAIT_REASONS
};
extern const char *const wait_reason_names[WAIT_REASONS];

enum fd_class { FD_UNKNOWN = 0, FD_FILE, FD_PIPE, FD_SOCKET, FD_GPU, FD_LOCK, FD_TIMER };
/* Of what /proc/PID/fd/N points to. */
enum fd_class fd_class_of(const char *target);
/* Of how the name of a file begins that has no path: what follows anon_inode: there. */
enum fd_class fd_class_of_nameless(uint64_t name);

/* Is the first argument of the system call a descriptor that decides? */
bool wait_wants_fd(int32_t syscall);
/* syscall: the native number. fd: what it waits for by, where that is known. */
enum wait_reason wait_reason_of(int32_t syscall, enum fd_class fd);
/* Of a thread that is in no system call, so in a fault. io: it waits for a page to be read (the
 * kernel's in_iowait); stalled: because memory is short (in_memstall). */
enum wait_reason wait_reason_of_fault(bool io, bool stalled);
/* A call that waits for descriptors and was given none waits for its time to pass. */
bool wait_is_sleep(int32_t syscall, uint64_t arg0, uint64_t arg1);
/* Does the call end by itself where it was told to, and not only by who answers it? */
bool wait_may_be_timed(int32_t syscall);
/* The native number of a call of the 32-bit table; INT32_MAX: none that is known. */
int32_t wait_native_of(int32_t compat);
/* The call goes on after a signal: the reason is what it was before. */
bool wait_is_restart(int32_t syscall);

#endif
