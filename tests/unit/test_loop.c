// SPDX-License-Identifier: MIT
/* The loop's promises, held by both ways of waiting. */
#include "daemon/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct fixture {
	struct loop *loop;
	int pair[2];
	struct loop_source *source, *other, *timer;
	unsigned calls, other_calls, timer_calls, stop_at;
	unsigned events;
	uint64_t slow_end_ns;
};

/* NULL: whatever the kernel allows. */
static int setup(void **state, const char *kind)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (strcmp(kind, "epoll") == 0)
		setenv("FPROF_LOOP", kind, 1);
	else
		unsetenv("FPROF_LOOP");
	if (!f || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->pair) < 0)
		return -1;
	return loop_new(&f->loop);
}

static int setup_uring(void **state)
{
	return setup(state, "io_uring");
}

static int setup_epoll(void **state)
{
	return setup(state, "epoll");
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	close(f->pair[0]);
	if (f->pair[1] >= 0)
		close(f->pair[1]);
	free(f);
	return 0;
}

/* Reads one byte a call, and stops after stop_at calls. */
static void on_byte(void *userdata, int fd, unsigned events)
{
	struct fixture *f = userdata;
	char byte;

	assert_int_equal(fd, f->pair[0]);
	f->events = events;
	assert_true(read(fd, &byte, 1) >= 0);
	if (++f->calls == f->stop_at)
		loop_stop(f->loop);
}

static void test_what_stays_readable_fires_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_fd(f->loop, f->pair[0], on_byte, f, &f->source), 0);
	assert_int_equal(write(f->pair[1], "abc", 3), 3);
	f->stop_at = 3;
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->calls, 3);
	assert_true(f->events & POLLIN);
}

static void test_hang_up_is_reported(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_fd(f->loop, f->pair[0], on_byte, f, &f->source), 0);
	close(f->pair[1]);
	f->pair[1] = -1;
	f->stop_at = 1;
	assert_int_equal(loop_run(f->loop), 0);
	assert_true(f->events & POLLHUP);
}

static void on_byte_remove_other(void *userdata, int fd, unsigned events)
{
	struct fixture *f = userdata;

	on_byte(f, fd, events);
	loop_remove(f->loop, f->other);
	f->other = NULL;
	loop_remove(f->loop, f->source);
	f->source = NULL;
	loop_stop(f->loop);
}

static void on_other(void *userdata, int fd, unsigned events)
{
	struct fixture *f = userdata;

	(void)fd;
	(void)events;
	f->other_calls++;
	loop_remove(f->loop, f->source);
	f->source = NULL;
	loop_remove(f->loop, f->other);
	f->other = NULL;
	loop_stop(f->loop);
}

/* Two ready sources, each of which removes itself and the other: only one may run. */
static void test_removed_in_a_callback_is_not_called(void **state)
{
	struct fixture *f = *state;
	int other[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
	assert_int_equal(write(f->pair[1], "a", 1), 1);
	assert_int_equal(write(other[1], "a", 1), 1);
	assert_int_equal(loop_add_fd(f->loop, f->pair[0], on_byte_remove_other, f, &f->source), 0);
	assert_int_equal(loop_add_fd(f->loop, other[0], on_other, f, &f->other), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->calls + f->other_calls, 1);
	close(other[0]);
	close(other[1]);
}

static void on_timer(void *userdata)
{
	struct fixture *f = userdata;

	if (++f->timer_calls == f->stop_at)
		loop_stop(f->loop);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_timer_fires_every_period_and_never_early(void **state)
{
	struct fixture *f = *state;
	uint64_t before = now_ns();

	assert_int_equal(loop_add_timer(f->loop, 5 * MS, on_timer, f, &f->timer), 0);
	f->stop_at = 3;
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->timer_calls, 3);
	assert_true(now_ns() - before >= 15 * MS);
	assert_int_equal(loop_add_timer(f->loop, 0, on_timer, f, &f->other), -EINVAL);
}

/* The first call lasts 12 periods of 5 ms. */
static void on_slow_timer(void *userdata)
{
	struct timespec long_time = {.tv_nsec = 60 * (long)MS};
	struct fixture *f = userdata;

	if (f->timer_calls == 0) {
		nanosleep(&long_time, NULL);
		f->slow_end_ns = now_ns();
	}
	on_timer(f);
}

static void on_stop_timer(void *userdata)
{
	struct fixture *f = userdata;

	loop_stop(f->loop);
}

/* After it one call may come at once, the others a period apart; made up, 12 would come at once. */
static void test_missed_periods_are_not_made_up(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_timer(f->loop, 5 * MS, on_slow_timer, f, &f->timer), 0);
	f->stop_at = 8;
	assert_int_equal(loop_run(f->loop), 0);
	assert_true(now_ns() - f->slow_end_ns >= 5 * 5 * MS);
}

static void on_timer_remove_itself(void *userdata)
{
	struct fixture *f = userdata;

	f->timer_calls++;
	loop_remove(f->loop, f->timer);
	f->timer = NULL;
	assert_int_equal(loop_add_timer(f->loop, MS, on_stop_timer, f, &f->other), 0);
}

static void test_a_timer_removes_itself_and_adds_another(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add_timer(f->loop, MS, on_timer_remove_itself, f, &f->timer), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->timer_calls, 1);
}

/* A removed and closed descriptor must be closed for the other side at once. */
static void test_a_removed_fd_is_let_go(void **state)
{
	struct fixture *f = *state;
	struct pollfd other = {.fd = f->pair[1], .events = POLLIN};

	assert_int_equal(loop_add_fd(f->loop, f->pair[0], on_byte, f, &f->source), 0);
	assert_int_equal(loop_add_timer(f->loop, MS, on_stop_timer, f, &f->timer), 0);
	assert_int_equal(loop_run(f->loop), 0);
	loop_remove(f->loop, f->source);
	close(f->pair[0]);
	f->pair[0] = dup(f->pair[1]);
	assert_int_equal(poll(&other, 1, 10000), 1);
	assert_true(other.revents & POLLHUP);
}

#define MANY 400

static void on_many(void *userdata, int fd, unsigned events)
{
	struct fixture *f = userdata;
	char byte;

	(void)events;
	assert_int_equal(read(fd, &byte, 1), 1);
	if (++f->calls == MANY)
		loop_stop(f->loop);
}

/* More sources than any queue has entries. */
static void test_many_sources(void **state)
{
	struct fixture *f = *state;
	struct loop_source *sources[MANY];
	int pairs[MANY][2], i;

	for (i = 0; i < MANY; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
		assert_int_equal(loop_add_fd(f->loop, pairs[i][0], on_many, f, &sources[i]), 0);
	}
	for (i = 0; i < MANY; i++)
		assert_int_equal(write(pairs[i][1], "x", 1), 1);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->calls, MANY);
	for (i = 0; i < MANY; i++) {
		loop_remove(f->loop, sources[i]);
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

static void test_epoll_is_asked_for(void **state)
{
	struct fixture *f = *state;
	const char *reason;

	assert_string_equal(loop_kind(f->loop, &reason), "epoll");
	assert_string_equal(reason, "FPROF_LOOP=epoll asks for it");
}

static void test_io_uring_needs_no_reason(void **state)
{
	struct fixture *f = *state;
	const char *reason;

	if (strcmp(loop_kind(f->loop, &reason), "io_uring") != 0) {
		print_message("SKIP: this kernel refuses io_uring: %s\n", reason);
		skip();
	}
	assert_null(reason);
}

/* In a child: refuse one system call with this errno, make a loop, and look. 0: as it should be. */
static int child_with_refusal(unsigned number, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	const char *reason = NULL;
	struct loop *loop;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 77;
	if (loop_new(&loop) < 0)
		return 1;
	if (strcmp(loop_kind(loop, &reason), "epoll") != 0)
		return 2;
	return reason && strstr(reason, strerror((int)error)) ? 0 : 3;
}

static void check_refusal(unsigned number, unsigned error)
{
	int status;
	pid_t pid;

	unsetenv("FPROF_LOOP");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_with_refusal(number, error));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIP: seccomp filters cannot be set here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_seccomp_refuses_setup(void **state)
{
	(void)state;
	check_refusal(SYS_io_uring_setup, EPERM);
	check_refusal(SYS_io_uring_setup, ENOSYS);
}

static void test_seccomp_refuses_enter_only(void **state)
{
	(void)state;
	check_refusal(SYS_io_uring_enter, EPERM);
}

int main(void)
{
#define BOTH(name)                                                  \
	{#name " (io_uring)", name, setup_uring, teardown, NULL},   \
	{                                                           \
#name " (epoll)", name, setup_epoll, teardown, NULL \
	}
	const struct CMUnitTest tests[] = {
		BOTH(test_what_stays_readable_fires_again),
		BOTH(test_hang_up_is_reported),
		BOTH(test_removed_in_a_callback_is_not_called),
		BOTH(test_timer_fires_every_period_and_never_early),
		BOTH(test_missed_periods_are_not_made_up),
		BOTH(test_a_timer_removes_itself_and_adds_another),
		BOTH(test_a_removed_fd_is_let_go),
		BOTH(test_many_sources),
		cmocka_unit_test_setup_teardown(test_epoll_is_asked_for, setup_epoll, teardown),
		cmocka_unit_test_setup_teardown(test_io_uring_needs_no_reason, setup_uring,
						teardown),
		cmocka_unit_test(test_seccomp_refuses_setup),
		cmocka_unit_test(test_seccomp_refuses_enter_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
