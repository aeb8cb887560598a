/* SPDX-License-Identifier: MIT */
/* One table of system calls by name, so that it is right on every architecture. */
#include "wait_reason.h"

#include "util.h"

#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

const char *const wait_reason_names[WAIT_REASONS] = {"other",  "lock", "sleep",	 "read",
						     "write",  "disk", "memory", "poll",
						     "socket", "gpu",  "stopped"};

static const struct {
	int32_t syscall;
	enum wait_reason reason;
	bool fd; /* its first argument is the descriptor that decides */
} table[] = {
	{SYS_futex, WAIT_LOCK, false},
	{SYS_futex_waitv, WAIT_LOCK, false},
	{SYS_futex_wait, WAIT_LOCK, false},
	{SYS_flock, WAIT_LOCK, false},
	{SYS_fcntl, WAIT_LOCK, false}, /* of a part of a file: nothing else of it blocks */
	{SYS_semop, WAIT_LOCK, false},
	{SYS_semtimedop, WAIT_LOCK, false},
	{SYS_msgrcv, WAIT_LOCK, false},
	{SYS_msgsnd, WAIT_LOCK, false},
	{SYS_nanosleep, WAIT_SLEEP, false},
	{SYS_clock_nanosleep, WAIT_SLEEP, false},
	{SYS_read, WAIT_READ, true},
	{SYS_pread64, WAIT_READ, true},
	{SYS_readv, WAIT_READ, true},
	{SYS_preadv, WAIT_READ, true},
	{SYS_preadv2, WAIT_READ, true},
	{SYS_openat, WAIT_DISK, false},
	{SYS_openat2, WAIT_DISK, false},
	{SYS_getdents64, WAIT_DISK, false},
	{SYS_statx, WAIT_DISK, false},
	{SYS_newfstatat, WAIT_DISK, false},
	{SYS_unlinkat, WAIT_DISK, false},
	{SYS_renameat, WAIT_DISK, false},
	{SYS_renameat2, WAIT_DISK, false},
	{SYS_mkdirat, WAIT_DISK, false},
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
	{SYS_open, WAIT_DISK, false},
	{SYS_stat, WAIT_DISK, false},
	{SYS_lstat, WAIT_DISK, false},
	{SYS_unlink, WAIT_DISK, false},
	{SYS_rename, WAIT_DISK, false},
	{SYS_mkdir, WAIT_DISK, false},
	{SYS_rmdir, WAIT_DISK, false},
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
		     {"anon_inode:[timerfd]", FD_TIMER},
		     {"anon_inode:[eventfd]", FD_LOCK},
		     {"/dev/ntsync", FD_LOCK},
		     {"anon_inode:ntsync", FD_LOCK},
		     {"/", FD_FILE}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(target, kinds[i].begins, strlen(kinds[i].begins)))
			return kinds[i].class;
	return FD_UNKNOWN;
}

enum fd_class fd_class_of_nameless(uint64_t name)
{
	static const struct {
		char begins[sizeof(name) + 1];
		enum fd_class class;
	} kinds[] = {{"sync_fil", FD_GPU}, {"[timerfd", FD_TIMER}, {"[eventfd", FD_LOCK}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!memcmp(&name, kinds[i].begins, sizeof(name)))
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

	if (i == ARRAY_SIZE(table))
		return WAIT_OTHER;
	switch (fd) {
	case FD_SOCKET:
		return WAIT_SOCKET;
	case FD_GPU:
		return WAIT_GPU;
	case FD_LOCK:
		return WAIT_LOCK;
	case FD_TIMER:
		return WAIT_SLEEP;
	default:
		return table[i].reason;
	}
}

enum wait_reason wait_reason_of_fault(bool io, bool stalled)
{
	return io && !stalled ? WAIT_DISK : WAIT_MEMORY;
}

bool wait_is_sleep(int32_t syscall, uint64_t arg0, uint64_t arg1)
{
	switch (syscall) {
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return arg1 == 0;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return arg0 == 0;
	default:
		return false;
	}
}

bool wait_may_be_timed(int32_t syscall)
{
	switch (syscall) {
	case SYS_futex:
	case SYS_futex_waitv:
	case SYS_futex_wait:
	case SYS_semtimedop:
	case SYS_ioctl: /* ntsync */
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return true;
	default:
		return wait_is_restart(syscall);
	}
}

#ifdef __x86_64__
/* arch/x86/entry/syscalls/syscall_32.tbl of the kernel: those that block, and are in the table. */
static const struct {
	int32_t compat, native;
} compats[] = {
	{0, SYS_restart_syscall},
	{3, SYS_read},
	{4, SYS_write},
	{5, SYS_open},
	{10, SYS_unlink},
	{36, SYS_sync},
	{38, SYS_rename},
	{39, SYS_mkdir},
	{40, SYS_rmdir},
	{45, SYS_brk},
	{54, SYS_ioctl},
	{55, SYS_fcntl},
	{90, SYS_mmap},
	{91, SYS_munmap},
	{93, SYS_ftruncate},
	{106, SYS_stat},
	{107, SYS_lstat},
	{117, SYS_semtimedop}, /* ipc: semaphores and messages */
	{118, SYS_fsync},
	{125, SYS_mprotect},
	{142, SYS_select},
	{143, SYS_flock},
	{144, SYS_msync},
	{145, SYS_readv},
	{146, SYS_writev},
	{148, SYS_fdatasync},
	{162, SYS_nanosleep},
	{168, SYS_poll},
	{180, SYS_pread64},
	{181, SYS_pwrite64},
	{187, SYS_sendfile},
	{192, SYS_mmap},
	{194, SYS_ftruncate},
	{195, SYS_stat},
	{196, SYS_lstat},
	{219, SYS_madvise},
	{220, SYS_getdents64},
	{221, SYS_fcntl},
	{239, SYS_sendfile},
	{240, SYS_futex},
	{247, SYS_io_getevents},
	{256, SYS_epoll_wait},
	{267, SYS_clock_nanosleep},
	{295, SYS_openat},
	{296, SYS_mkdirat},
	{300, SYS_newfstatat},
	{301, SYS_unlinkat},
	{302, SYS_renameat},
	{308, SYS_pselect6},
	{309, SYS_ppoll},
	{314, SYS_sync_file_range},
	{319, SYS_epoll_pwait},
	{324, SYS_fallocate},
	{333, SYS_preadv},
	{334, SYS_pwritev},
	{337, SYS_recvmmsg},
	{344, SYS_syncfs},
	{353, SYS_renameat2},
	{362, SYS_connect},
	{364, SYS_accept4},
	{369, SYS_sendto},
	{370, SYS_sendmsg},
	{371, SYS_recvfrom},
	{372, SYS_recvmsg},
	{378, SYS_preadv2},
	{379, SYS_pwritev2},
	{383, SYS_statx},
	{400, SYS_msgsnd},
	{401, SYS_msgrcv},
	{407, SYS_clock_nanosleep},
	{413, SYS_pselect6},
	{414, SYS_ppoll},
	{417, SYS_recvmmsg},
	{420, SYS_semtimedop},
	{422, SYS_futex},
	{426, SYS_io_uring_enter},
	{437, SYS_openat2},
	{441, SYS_epoll_pwait2},
	{449, SYS_futex_waitv},
	{455, SYS_futex_wait},
};
#endif

int32_t wait_native_of(int32_t compat)
{
	if (compat < 0)
		return compat;
#ifdef __x86_64__
	for (size_t i = 0; i < ARRAY_SIZE(compats); i++)
		if (compats[i].compat == compat)
			return compats[i].native;
	if (compat == 102) /* socketcall, whichever */
		return SYS_recvfrom;
#endif
	return INT32_MAX;
}
