/* SPDX-License-Identifier: MIT */
/*
 * The kernel says EPERM for many reasons: each is looked for, those first that can be seen for
 * certain. Programs are given the numbers that processes have in the initial pid namespace: in
 * another one these are strangers' or nobody's, and so a helper or an fprofd there is refused.
 */
#include "why.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PID_NAMESPACE_INITIAL 4026531836u /* PROC_PID_INIT_INO */

/* Does a line of the file, of the first 4 KiB, hold the text? */
static bool has_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	char buffer[4096];
	size_t n;

	if (!f)
		return false;
	n = fread(buffer, 1, sizeof(buffer) - 1, f);
	fclose(f);
	buffer[n] = '\0';
	return strstr(buffer, text) != NULL;
}

/* 0: not to be seen. */
static ino_t pid_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

struct why why_other_pids(pid_t peer)
{
	ino_t ours = pid_namespace("/proc/self/ns/pid"), theirs;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", peer);
	theirs = pid_namespace(path);
	if (ours && ours != PID_NAMESPACE_INITIAL)
		return (struct why){
			"fprof-probe runs in a pid namespace of its own (a container), where "
			"processes have other numbers than the kernel's",
			"run fprofd on the host, or its container with --pid=host"};
	if (peer <= 0 || (theirs && theirs != ours))
		return (struct why){
			"fprofd runs in a pid namespace of its own (a container), where processes "
			"have other numbers than the kernel's",
			"run fprofd on the host, or its container with --pid=host"};
	return (struct why){NULL, ""};
}

static bool has_capabilities(void)
{
	const uint64_t all = UINT64_C(1) << CAP_SYS_ADMIN,
		       both = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint64_t have;

	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	have = data[0].effective | (uint64_t)data[1].effective << 32;
	return (have & all) == all || (have & both) == both;
}

/* Of an administrator, with the whole range of users in it: the initial one. */
static bool in_user_namespace(void)
{
	return !has_text("/proc/self/uid_map", "4294967295");
}

static struct why why_not_permitted(void)
{
	if (!has_capabilities())
		return (struct why){
			"fprof-probe has not the capabilities CAP_BPF and CAP_PERFMON",
			"sudo systemctl enable --now fprof-probe.socket, which has them"};
	if (in_user_namespace())
		return (struct why){
			"fprof-probe runs in a user namespace (a container), whose capabilities "
			"are none for the kernel",
			"run it on the host: sudo systemctl enable --now fprof-probe.socket"};
	if (has_text("/sys/kernel/security/lockdown", "[confidentiality]"))
		return (struct why){
			"the kernel is locked down (confidentiality): nobody may read its memory",
			"boot with lockdown=integrity, or without it"};
	if (has_text("/proc/self/status", "Seccomp:\t2"))
		return (struct why){"a seccomp filter (a container's, a service's) forbids bpf(2) "
				    "or perf_event_open(2)",
				    "docker run --security-opt seccomp=unconfined, or a profile "
				    "that allows them"};
	return (struct why){"the kernel does not permit BPF programs, though fprof-probe has the "
			    "capabilities (FPROF_PROBE_DEBUG=1 says more)",
			    ""};
}

struct why why_refused(int error)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return (struct why){"the kernel has no BTF to be seen (/sys/kernel/btf/vmlinux)",
				    "a kernel with CONFIG_DEBUG_INFO_BTF=y"};
	if (error == -EPERM || error == -EACCES)
		return why_not_permitted();
	if (error == -ENOSYS)
		return (struct why){"the kernel has no BPF", "a kernel with CONFIG_BPF_SYSCALL=y"};
	return (struct why){
		"the kernel refuses the program (FPROF_PROBE_DEBUG=1 fprof-probe says more)", ""};
}
