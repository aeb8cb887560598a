// SPDX-License-Identifier: MIT
/* The service manager's protocol against a manager made of a socket. */
#include "daemon/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

/* A bound datagram socket; name[0] '@': abstract. */
static int manager_new(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));

	assert_true(fd >= 0);
	strcpy(address.sun_path, name);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void expect_message(int manager, const char *message)
{
	char buf[256];
	ssize_t n = recv(manager, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, message);
}

static void test_nobody_asked(void **state)
{
	(void)state;
	assert_int_equal(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_send("READY=1"), 0);
}

static void test_path_and_abstract_sockets(void **state)
{
	char path[64], abstract[64];
	int manager;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/fprof-test-notify-%d", getpid());
	manager = manager_new(path);
	assert_int_equal(notify_send("READY=1\nSTATUS=x"), 1);
	expect_message(manager, "READY=1\nSTATUS=x");
	close(manager);
	assert_int_equal(notify_send("READY=1"), -ECONNREFUSED);
	unlink(path);
	assert_int_equal(notify_send("READY=1"), -ENOENT);
	snprintf(abstract, sizeof(abstract), "@fprof-test-notify-%d", getpid());
	manager = manager_new(abstract);
	assert_int_equal(notify_send("WATCHDOG=1"), 1);
	expect_message(manager, "WATCHDOG=1");
	close(manager);
}

static void test_bad_sockets(void **state)
{
	char path[200];

	(void)state;
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	setenv("NOTIFY_SOCKET", path, 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
}

static void test_watchdog(void **state)
{
	char pid[16];

	(void)state;
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "3000000", 1);
	assert_int_equal(notify_watchdog_ns(), UINT64_C(3000000000));
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_ns(), UINT64_C(3000000000));
	setenv("WATCHDOG_USEC", "soon", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "18446744073709551615", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
}

static int listening(int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	/* autobind: an abstract address of the kernel's choice */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
	    listen(fd, 1) < 0)
		_exit(90);
	return fd;
}

/* In a child, as the manager starts us: these sockets from descriptor 3 on. */
static int child_result(const int *types, int count, const char *pid)
{
	char number[16];
	int i, fd, expected = -1;

	for (i = 0; i < count; i++) {
		fd = types[i] < 0 ? open("/dev/null", O_RDONLY) : listening(types[i]);
		if (dup2(fd, 100 + i) < 0)
			_exit(91);
		if (expected < 0 && types[i] == SOCK_SEQPACKET)
			expected = 3 + i;
	}
	for (i = 0; i < count; i++)
		if (dup2(100 + i, 3 + i) < 0)
			_exit(92);
	snprintf(number, sizeof(number), "%d", getpid());
	setenv("LISTEN_PID", pid ? pid : number, 1);
	snprintf(number, sizeof(number), "%d", count);
	setenv("LISTEN_FDS", number, 1);
	fd = notify_listen_fd();
	if (getenv("LISTEN_FDS") || getenv("LISTEN_PID"))
		_exit(93);
	if (fd < 0)
		return -fd;
	if (fd != expected || !(fcntl(fd, F_GETFL) & O_NONBLOCK) ||
	    !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		_exit(94);
	for (i = 0; i < count; i++)
		if (3 + i != fd && fcntl(3 + i, F_GETFD) >= 0)
			_exit(95);
	return 0;
}

static void expect_result(const int *types, int count, const char *for_pid, int expected)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_result(types, count, for_pid));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void test_inherited_sockets(void **state)
{
	static const int one[] = {SOCK_SEQPACKET};
	static const int many[] = {SOCK_STREAM, -1, SOCK_SEQPACKET, SOCK_SEQPACKET};
	static const int wrong[] = {SOCK_STREAM, -1};

	(void)state;
	expect_result(one, 1, NULL, 0);
	expect_result(many, 4, NULL, 0);
	expect_result(wrong, 2, NULL, EINVAL);
	expect_result(one, 0, NULL, ENOENT);
	expect_result(one, 1, "1", ENOENT); /* meant for another process */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_nobody_asked), T(test_path_and_abstract_sockets), T(test_bad_sockets),
		T(test_watchdog),     T(test_inherited_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
