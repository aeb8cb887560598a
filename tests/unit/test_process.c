// SPDX-License-Identifier: MIT
/* What is read of processes, executables and the machine; and how a peer is held and its end told.
 */
#include "daemon/build_id.h"
#include "daemon/helper.h"
#include "daemon/machine.h"
#include "daemon/peer.h"
#include "daemon/process.h"
#include "daemon/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct displays displays = {.hz = {143.98, 60}, .count = 2, .configured = true};

static void test_own_facts(void **state)
{
	struct process_facts facts;
	char exe[PATH_MAX];

	(void)state;
	assert_true(procfs_link(exe, sizeof(exe), "/proc/self/exe") > 0);
	assert_int_equal(process_facts_read(getpid(), &displays, &facts), 0);
	assert_string_equal(facts.exe, exe);
	assert_string_equal(facts.name, strrchr(exe, '/') + 1);
	assert_non_null(facts.build_id);
	assert_int_equal(strlen(facts.build_id), 40);
	assert_int_equal(strspn(facts.build_id, "0123456789abcdef"), 40);
	assert_true(facts.ns_pid > 0);
	assert_non_null(strstr(facts.json, "\"argv\":[\""));
	assert_non_null(strstr(facts.json, "\"kernel\":\"Linux "));
	assert_non_null(strstr(facts.json, "\"affinity\":\""));
	assert_non_null(strstr(facts.json, "\"display_hz\":\"143.98, 60\""));
	assert_non_null(strstr(facts.json, "\"display_source\":\"configured\""));
	assert_non_null(strstr(facts.json, "\"unknown\":{}"));
	process_facts_deinit(&facts);
}

/* The name of a process that runs cat as argv0. */
static void expect_name(const char *argv0, const char *name)
{
	struct process_facts facts;
	int out[2], in[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/bin/cat", argv0, (char *)NULL);
		_exit(1);
	}
	/* what cat gives back it has read: it runs */
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(process_facts_read(pid, &displays, &facts), 0);
	assert_string_equal(facts.name, name);
	process_facts_deinit(&facts);
	close(in[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(in[0]);
	close(out[0]);
	close(out[1]);
}

static void test_a_process_is_named_as_it_was_called(void **state)
{
	(void)state;
	expect_name("glxgears", "glxgears");
	expect_name("./games/of mine", "of mine");
	expect_name("", "cat");
	expect_name("-sh", "cat");
	expect_name("/usr/bin/-sh", "cat");
	expect_name("//", "cat");
}

static void test_a_process_that_is_gone_says_why(void **state)
{
	struct process_facts facts;
	struct process_stat stat;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_stat(pid, &stat), -ESRCH);
	assert_int_equal(process_facts_read(pid, &displays, &facts), 0);
	assert_null(facts.exe);
	assert_null(facts.build_id);
	assert_non_null(facts.name);
	assert_non_null(strstr(facts.json, "\"argv\":null"));
	assert_non_null(strstr(facts.json, "\"exe\":\"No such file or directory\""));
	process_facts_deinit(&facts);
}

/* A name that looks like the fields behind it. */
static void test_stat_of_a_hostile_name(void **state)
{
	struct process_stat plain, hostile;

	(void)state;
	assert_int_equal(process_stat(getpid(), &plain), 0);
	assert_int_equal(prctl(PR_SET_NAME, "x) Z 1 1 (", 0, 0, 0), 0);
	assert_int_equal(process_stat(getpid(), &hostile), 0);
	prctl(PR_SET_NAME, "test", 0, 0, 0);
	assert_int_equal(hostile.state, 'R');
	assert_int_equal(hostile.start, plain.start);
	assert_true(plain.start > 0);
}

static void test_boot_id(void **state)
{
	char *id = process_boot_id();

	(void)state;
	assert_non_null(id);
	assert_int_equal(strlen(id), 36);
	free(id);
}

/* --- build ids --- */

struct elf {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Nhdr other, note;
	char name[4];
	uint8_t id[4];
};

static struct elf elf_good(void)
{
	struct elf e = {
		.header = {.e_phoff = offsetof(struct elf, segments),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_LOAD},
			     {.p_type = PT_NOTE,
			      .p_offset = offsetof(struct elf, other),
			      .p_filesz = sizeof(struct elf) - offsetof(struct elf, other)}},
		.other = {.n_type = NT_GNU_ABI_TAG},
		.note = {.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID},
		.name = "GNU",
		.id = {0xde, 0xad, 0x00, 0x0f},
	};

	memcpy(e.header.e_ident, ELFMAG, SELFMAG);
	e.header.e_ident[EI_CLASS] = ELFCLASS64;
	e.header.e_ident[EI_DATA] = ELFDATA2LSB;
	return e;
}

static int read_elf(const struct elf *e, size_t bytes, char *hex, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, e, bytes), bytes);
	r = build_id_read(fd, hex, size);
	close(fd);
	return r;
}

static void test_build_id_behind_another_note(void **state)
{
	struct elf e = elf_good();
	char hex[129];

	(void)state;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), 0);
	assert_string_equal(hex, "dead000f");
}

static void test_build_id_of_garbage(void **state)
{
	struct elf e;
	char hex[129];
	size_t bytes;

	(void)state;
	e = elf_good();
	e.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -ENOEXEC);
	e = elf_good();
	e.header.e_phoff = UINT64_MAX;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -EIO);
	e = elf_good();
	e.note.n_namesz = UINT32_MAX;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -ENOENT);
	e = elf_good();
	e.note.n_descsz = UINT32_MAX - 2;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -ENOENT);
	e = elf_good();
	e.note.n_descsz = 0;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -ENOENT);
	e = elf_good();
	e.segments[1].p_filesz = UINT64_MAX;
	assert_int_equal(read_elf(&e, sizeof(e), hex, sizeof(hex)), -ENOENT);
	e = elf_good();
	for (bytes = 0; bytes < sizeof(e); bytes++)
		assert_true(read_elf(&e, bytes, hex, sizeof(hex)) < 0);
}

/* --- the machine, from a made-up /proc and /sys --- */

static char root[64];

static void put(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_link(const char *path, const char *target)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(symlink(target, full), 0);
}

static int setup_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/fprof-test-process-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void test_a_gaming_machine(void **state)
{
	struct machine m;

	(void)state;
	put("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD Ryzen 7 5800X\nmodel name\t: no\n");
	put("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
	put("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
	put("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
	put("sys/devices/system/cpu/cpufreq/boost", "1\n");
	put("proc/driver/nvidia/gpus/0000:01:00.0/information",
	    "Model: \t\t NVIDIA GeForce RTX 4070\nIRQ:   \t\t 16\n");
	put("sys/module/nvidia/version", "550.54.14\n");
	put("sys/class/drm/card0/device/vendor", "0x10de\n");
	put_link("sys/class/drm/card0/device/driver", "../../bus/pci/drivers/nvidia");
	put("sys/class/drm/card1/device/vendor", "0x8086\n");
	put("sys/class/drm/card1/device/device", "0x9a49\n");
	put_link("sys/class/drm/card1/device/driver", "../../bus/pci/drivers/i915");
	put("sys/class/drm/card1-HDMI-A-1/status", "connected\n");
	machine_read(root, &m);
	assert_string_equal(m.cpu, "AMD Ryzen 7 5800X");
	assert_string_equal(m.governor, "performance,powersave");
	assert_int_equal(m.turbo, 1);
	assert_string_equal(m.gpu, "NVIDIA GeForce RTX 4070; Intel GPU 8086:9a49");
	assert_string_equal(m.gpu_driver, "nvidia 550.54.14; i915");
	put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
	machine_read(root, &m);
	assert_int_equal(m.turbo, 0);
}

static void test_a_machine_that_tells_nothing(void **state)
{
	struct machine m;

	(void)state;
	machine_read(root, &m);
	assert_string_equal(m.cpu, "");
	assert_string_equal(m.governor, "");
	assert_int_equal(m.turbo, -1);
	assert_string_equal(m.gpu, "");
	assert_string_equal(m.gpu_driver, "");
	assert_true(m.cpus > 0);
}

/* --- peers --- */

/* A child that connected to us, held at its end of a socket pair until told. */
struct child {
	pid_t pid;
	int socket;
};

static void child_begin(struct child *c, int exit_code, int signal_number)
{
	int pair[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (read(pair[1], &byte, 1) < 0)
			_exit(99);
		if (signal_number)
			raise(signal_number);
		_exit(exit_code);
	}
	close(pair[1]);
	c->socket = pair[0];
}

/* Lets it end, waits until it is a zombie, and with reap until it is gone. */
static void child_end(struct child *c, struct peer *peer, bool reap)
{
	struct pollfd p = {.fd = peer->pidfd, .events = POLLIN};

	close(c->socket);
	assert_int_equal(poll(&p, 1, 10000), 1);
	if (reap)
		assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void expect_end(int exit_code, int signal_number, bool reap, const char *text)
{
	struct process_stat stat;
	struct peer_end end;
	struct child c;
	struct peer peer;
	char got[96];

	child_begin(&c, exit_code, signal_number);
	assert_int_equal(process_stat(c.pid, &stat), 0);
	assert_int_equal(peer_open(c.pid, stat.start + 1, &peer), -ESRCH);
	assert_int_equal(peer_open(c.pid, stat.start, &peer), 0);
	assert_true(peer_exists(&peer));
	child_end(&c, &peer, reap);
	assert_int_equal(peer_exists(&peer), !reap);
	assert_int_equal(peer_end(&peer, &end), 0);
	if (!end.known) {
		assert_true(reap);
		print_message(
			"SKIP: this kernel (before 6.15) does not tell how a process ended\n");
		peer_deinit(&peer);
		skip();
	}
	peer_end_text(&end, got, sizeof(got));
	assert_string_equal(got, text);
	peer_deinit(&peer);
	if (!reap)
		assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
}

static void test_the_end_of_a_zombie(void **state)
{
	(void)state;
	expect_end(0, 0, false, "exit");
	expect_end(3, 0, false, "exit status 3");
	expect_end(0, SIGKILL, false, "killed by signal 9 (SIGKILL)");
	expect_end(0, SIGABRT, false, "killed by signal 6 (SIGABRT)");
}

static void test_the_end_after_it_was_waited_for(void **state)
{
	(void)state;
	expect_end(0, 0, true, "exit");
	expect_end(255, 0, true, "exit status 255");
	expect_end(0, SIGKILL, true, "killed by signal 9 (SIGKILL)");
}

static void test_who_connected(void **state)
{
	struct process_stat stat;
	const char *why = NULL;
	struct peer peer;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(peer_identify(pair[0], &peer, &why), 0);
	assert_int_equal(process_stat(getpid(), &stat), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(peer.start, stat.start);
	assert_true(peer.pidfd >= 0);
	peer_deinit(&peer);
	assert_int_equal(peer.pidfd, -1);
	close(pair[0]);
	close(pair[1]);
}

/* Makes one system call with one value of one argument fail, from here on and for good. */
static int refuse(unsigned number, unsigned argument, uint32_t value, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)offsetof(struct seccomp_data, args) + argument * 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a child. 0: all as it should be. */
static int linux_6_1_result(void)
{
	struct process_stat stat;
	struct peer_end end;
	const char *why;
	struct peer peer;
	siginfo_t info;
	int pair[2];
	pid_t pid;

	if (refuse(SYS_getsockopt, 2, 77 /* SO_PEERPIDFD */, ENOPROTOOPT) < 0 ||
	    refuse(SYS_ioctl, 1, 0xc040ff0b /* PIDFD_GET_INFO */, ENOTTY) < 0)
		return 77;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 ||
	    peer_identify(pair[0], &peer, &why) < 0 || process_stat(getpid(), &stat) < 0)
		return 1;
	if (peer.pid != getpid() || peer.start != stat.start || peer.pidfd < 0)
		return 2;
	pid = fork();
	if (pid == 0)
		raise(SIGKILL);
	if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 ||
	    process_stat(pid, &stat) < 0 || peer_open(pid, stat.start, &peer) < 0)
		return 3;
	if (peer_end(&peer, &end) < 0 || !end.known || end.signal != SIGKILL)
		return 4;
	if (waitpid(pid, NULL, 0) != pid || peer_end(&peer, &end) < 0 || end.known)
		return 5;
	return 0;
}

static void test_as_on_linux_6_1(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(linux_6_1_result());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIP: seccomp filters cannot be set here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* What a program called helper is found as, by a copy of this one. */
static void found_helper(const char *dir, const char *make, char *path, size_t size)
{
	char self[PATH_MAX], command[3 * PATH_MAX];
	FILE *f;

	assert_true(procfs_link(self, sizeof(self), "/proc/self/exe") > 0);
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p bin lib && cp -f %s bin/us && %s && bin/us --helper", dir, self,
		 make);
	f = popen(command, "re");
	assert_non_null(f);
	assert_non_null(fgets(path, (int)size, f));
	assert_int_equal(pclose(f), 0);
}

static void test_helpers_of_a_moved_prefix(void **state)
{
	char dir[] = "/tmp/fprof-test-prefix-XXXXXX", path[PATH_MAX], want[PATH_MAX];
	char remove[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	found_helper(dir, "true", path, sizeof(path));
	assert_string_equal(path, FPROF_LIBDIR "/helper");
	found_helper(dir, "touch lib/helper && chmod +x lib/helper", path, sizeof(path));
	snprintf(want, sizeof(want), "%s/bin/../lib/helper", dir);
	assert_string_equal(path, want);
	found_helper(dir, "touch bin/helper && chmod +x bin/helper", path, sizeof(path));
	snprintf(want, sizeof(want), "%s/bin/helper", dir);
	assert_string_equal(path, want);
	snprintf(remove, sizeof(remove), "rm -r %s", dir);
	assert_int_equal(system(remove), 0);
}

static int print_helper(void)
{
	char path[PATH_MAX];

	helper_path("helper", path, sizeof(path));
	return fputs(path, stdout) < 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_facts),
		cmocka_unit_test(test_a_process_is_named_as_it_was_called),
		cmocka_unit_test(test_a_process_that_is_gone_says_why),
		cmocka_unit_test(test_stat_of_a_hostile_name),
		cmocka_unit_test(test_boot_id),
		cmocka_unit_test(test_build_id_behind_another_note),
		cmocka_unit_test(test_build_id_of_garbage),
		cmocka_unit_test_setup_teardown(test_a_gaming_machine, setup_root, teardown_root),
		cmocka_unit_test_setup_teardown(test_a_machine_that_tells_nothing, setup_root,
						teardown_root),
		cmocka_unit_test(test_the_end_of_a_zombie),
		cmocka_unit_test(test_the_end_after_it_was_waited_for),
		cmocka_unit_test(test_who_connected),
		cmocka_unit_test(test_as_on_linux_6_1),
		cmocka_unit_test(test_helpers_of_a_moved_prefix),
	};

	if (argc == 2 && strcmp(argv[1], "--helper") == 0)
		return print_helper();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
