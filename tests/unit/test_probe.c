/* SPDX-License-Identifier: MIT */
/* fprof-probe as a service: what one peer does is nothing to the others. No kernel program is
 * loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/probe/protocol.h"
#include "daemon/procfs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS	  20000 /* for what must come */
#define PEERS_UID 6	/* that one user may have, see daemon/probe/main.c */
#define NOBODY	  65534

struct service {
	char dir[64];
	struct sockaddr_un at;
	pid_t pid;
};

static int peer_new(const struct service *s)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&s->at, sizeof(s->at)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A request that nothing comes of but its answer. */
static int ask(int fd, int flags)
{
	const struct probe_request q = {
		.magic = PROBE_MAGIC, .version = PROBE_VERSION, .op = UINT16_MAX};

	return send(fd, &q, sizeof(q), MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

static bool is_answered(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct probe_answer a;

	return fd >= 0 && ask(fd, 0) == 0 && poll(&p, 1, WAIT_MS) == 1 &&
	       recv(fd, &a, sizeof(a), 0) == (ssize_t)sizeof(a) && a.magic == PROBE_MAGIC;
}

/* The helper of this build: two directories above the test. */
static int setup(void **state)
{
	char self[PATH_MAX], path[PATH_MAX + 32], socket_option[] = "--socket";
	struct service *s = calloc(1, sizeof(*s));
	char *argv[] = {path, socket_option, NULL, NULL};
	int fd = -1, tries;

	assert_non_null(s);
	strcpy(s->dir, "/tmp/fprof-test-probe-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	s->at.sun_family = AF_UNIX;
	snprintf(s->at.sun_path, sizeof(s->at.sun_path), "%s/probe.sock", s->dir);
	assert_true(procfs_link(self, sizeof(self), "/proc/self/exe") > 0);
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../../fprof-probe", self);
	argv[2] = s->at.sun_path;
	assert_int_equal(posix_spawn(&s->pid, path, NULL, NULL, argv, environ), 0);
	for (tries = 0; fd < 0 && tries < WAIT_MS; tries++) {
		usleep(1000);
		fd = peer_new(s);
	}
	assert_true(is_answered(fd));
	close(fd);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct service *s = *state;

	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	unlink(s->at.sun_path);
	rmdir(s->dir);
	free(s);
	return 0;
}

static void a_peer_that_reads_no_answer_holds_nobody_up(void **state)
{
	const struct service *s = *state;
	int deaf = peer_new(s), other = peer_new(s), r;
	struct pollfd p = {deaf, POLLOUT, 0};

	assert_true(deaf >= 0);
	do /* until it is dropped, or nobody takes its requests any more */
		r = ask(deaf, MSG_DONTWAIT);
	while (r == 0 || (r == -EAGAIN && poll(&p, 1, WAIT_MS) == 1));
	assert_true(is_answered(other));
	assert_true(r == -EPIPE || r == -ECONNRESET);
	close(other);
	close(deaf);
}

/* As another user: 0 when its share is answered and one more is not. */
static int take_share(const struct service *s)
{
	int fds[PEERS_UID + 1], i;

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return 2;
	for (i = 0; i < PEERS_UID; i++) {
		fds[i] = peer_new(s);
		if (!is_answered(fds[i]))
			return 3;
	}
	fds[i] = peer_new(s);
	if (is_answered(fds[i]))
		return 4;
	close(fds[0]);
	for (i = 0; i < WAIT_MS; i++) { /* until the helper has seen that one is free */
		fds[0] = peer_new(s);
		if (is_answered(fds[0]))
			return 0;
		close(fds[0]);
		usleep(1000);
	}
	return 5;
}

static void one_user_cannot_take_all_connections(void **state)
{
	const struct service *s = *state;
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("becoming another user needs root\n");
		skip();
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(take_share(s));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_peer_that_reads_no_answer_holds_nobody_up),
		TEST(one_user_cannot_take_all_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
