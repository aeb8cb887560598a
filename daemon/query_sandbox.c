// SPDX-License-Identifier: MIT
/*
 * Limits first, then a list of system calls. What is not on the list fails with EPERM and does not
 * kill, so that SQLite can say what it could not do.
 *
 * The sanitizers reserve address space by the terabyte and have system calls of their own: under
 * them both are left out.
 */
#include "query_sandbox.h"

#include "util.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define NICE 10 /* behind games and the daemon */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

int query_sandbox_begin(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (getppid() == 1)
		return -ESRCH; /* it ended before we asked */
	prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

static int limit(int resource, uint64_t value)
{
	struct rlimit r = {value, value};

	return setrlimit((__rlimit_resource_t)resource, &r) < 0 ? -errno : 0;
}

#ifndef SANITIZED
/* Address space in use, in bytes. */
static uint64_t used_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH
#define ALLOW(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(recvmsg), /* on what it has: it makes no socket */
		ALLOW(sendto),
		ALLOW(pread64),
		ALLOW(write),
		ALLOW(lseek),
		ALLOW(ftruncate),
		ALLOW(fstat),
		ALLOW(newfstatat),
		ALLOW(fcntl),
		ALLOW(close),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(mprotect),
		ALLOW(brk),
		ALLOW(futex),
		ALLOW(getpid),
		ALLOW(getuid),
		ALLOW(geteuid),
		ALLOW(getrandom),
		ALLOW(clock_gettime),
		ALLOW(gettimeofday),
		ALLOW(clock_nanosleep),
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigprocmask),
		ALLOW(exit),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA)),
	};
	struct sock_fprog program = {ARRAY_SIZE(filter), filter};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}
#endif
#endif

int query_sandbox_close(uint64_t memory, unsigned seconds, uint64_t output, unsigned files)
{
	int r = limit(RLIMIT_CORE, 0);

	signal(SIGXFSZ, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (r == 0)
		r = limit(RLIMIT_FSIZE, output);
	if (r == 0)
		r = limit(RLIMIT_CPU, seconds);
#ifndef SANITIZED
	if (r == 0)
		r = limit(RLIMIT_AS, used_bytes() + memory);
#endif
	if (r == 0)
		r = limit(RLIMIT_NOFILE, files);
#if !defined(SANITIZED) && defined(ARCH)
	if (r == 0)
		r = filter_calls();
#else
	(void)memory;
#endif
	return r;
}
