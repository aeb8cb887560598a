/* SPDX-License-Identifier: MIT */
/* One table of system calls by name, so that it is right on every architecture. */
#include "wait_reason.h"

#include "util.h"

#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

const char *const wait_reason_names[WAIT_REASONS] = {"other", "lock",	"sleep", "read",   "write",
						     "disk",  "memory", "poll",	 "socket", "gpu"};

static const struct {
	int32_t syscall;
	enum wait_reason reason;
	bool fd; /* the descriptor decides, where it is known */
} table[] = {
	{SYS_futex, WAIT_LOCK, false},
	{SYS_futex_waitv, WAIT_LOCK, false},
	{SYS_futex_wait, WAIT_LOCK, false},
	{SYS_nanosleep, WAIT_SLEEP, false},
	{SYS_clock_nanosleep, WAIT_SLEEP, false},
	{SYS_read, WAIT_READ, true},
	{SYS_pread64, WAIT_READ, true},
	{SYS_readv, WAIT_READ, true},
	{SYS_preadv, WAIT_READ, true},
	{SYS_preadv2, WAIT_READ, true},
	{SYS_openat, WAIT_READ, false},
	{SYS_getdents64, WAIT_READ, false},
	{SYS_statx, WAIT_READ, false},
	{SYS_io_uring_enter, WAIT_READ, false},
	{SYS_io_getevents, WAIT_READ, false},
	{SYS_write, WAIT_WRITE, true},
	{SYS_pwrite64, WAIT_WRITE, true},
	{SYS_writev, WAIT_WRITE, true},
	{SYS_pwritev, WAIT_WRITE, true},
	{SYS_pwritev2, WAIT_WRITE, true},
	{SYS_sendfile, WAIT_WRITE, false},
	{SYS_fsync, WAIT_DISK, false},
	{SYS_fdatasync, WAIT_DISK, false},
	{SYS_sync, WAIT_DISK, false},
	{SYS_syncfs, WAIT_DISK, false},
	{SYS_sync_file_range, WAIT_DISK, false},
	{SYS_msync, WAIT_DISK, false},
	{SYS_ftruncate, WAIT_DISK, false},
	{SYS_fallocate, WAIT_DISK, false},
	{SYS_madvise, WAIT_MEMORY, false},
	{SYS_mmap, WAIT_MEMORY, false},
	{SYS_munmap, WAIT_MEMORY, false},
	{SYS_mprotect, WAIT_MEMORY, false},
	{SYS_brk, WAIT_MEMORY, false},
	{SYS_ppoll, WAIT_POLL, false},
	{SYS_pselect6, WAIT_POLL, false},
	{SYS_epoll_pwait, WAIT_POLL, false},
	{SYS_epoll_pwait2, WAIT_POLL, false},
	{SYS_recvfrom, WAIT_SOCKET, false},
	{SYS_recvmsg, WAIT_SOCKET, false},
	{SYS_recvmmsg, WAIT_SOCKET, false},
	{SYS_sendto, WAIT_SOCKET, false},
	{SYS_sendmsg, WAIT_SOCKET, false},
	{SYS_connect, WAIT_SOCKET, false},
	{SYS_accept, WAIT_SOCKET, false},
	{SYS_accept4, WAIT_SOCKET, false},
	{SYS_ioctl, WAIT_OTHER, true},
#ifdef SYS_poll
	{SYS_poll, WAIT_POLL, false},
	{SYS_select, WAIT_POLL, false},
	{SYS_epoll_wait, WAIT_POLL, false},
	{SYS_open, WAIT_READ, false},
#endif
};

static size_t find(int32_t syscall)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table) && table[i].syscall != syscall; i++)
		;
	return i;
}

enum fd_class fd_class_of(const char *target)
{
	static const struct {
		const char *begins;
		enum fd_class class;
	} kinds[] = {{"socket:", FD_SOCKET},
		     {"pipe:", FD_PIPE},
		     {"/dev/dri/", FD_GPU},
		     {"/dev/nvidia", FD_GPU},
		     {"/dev/kfd", FD_GPU},
		     {"anon_inode:sync_file", FD_GPU},
		     {"/dev/ntsync", FD_LOCK},
		     {"anon_inode:ntsync", FD_LOCK},
		     {"/", FD_FILE}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(target, kinds[i].begins, strlen(kinds[i].begins)))
			return kinds[i].class;
	return FD_UNKNOWN;
}

bool wait_wants_fd(int32_t syscall)
{
	size_t i = find(syscall);

	return i < ARRAY_SIZE(table) && table[i].fd;
}

bool wait_is_restart(int32_t syscall)
{
	return syscall == SYS_restart_syscall;
}

enum wait_reason wait_reason_of(int32_t syscall, enum fd_class fd)
{
	size_t i = find(syscall);

	if (syscall < 0)
		return WAIT_MEMORY;
	if (i == ARRAY_SIZE(table))
		return WAIT_OTHER;
	if (table[i].fd && fd == FD_SOCKET)
		return WAIT_SOCKET;
	if (table[i].fd && fd == FD_GPU)
		return WAIT_GPU;
	if (table[i].fd && fd == FD_LOCK)
		return WAIT_LOCK;
	return table[i].reason;
}
