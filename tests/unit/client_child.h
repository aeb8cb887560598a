/* SPDX-License-Identifier: MIT */
/* A session is made once per process; so each test of the client runs in a child of its own. */
#ifndef FPROF_TESTS_CLIENT_CHILD_H
#define FPROF_TESTS_CLIENT_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: says what is wrong and where, and fails the test. */
#define CHECK(cond)                                                                        \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

#define CHECK_TEXT(got, want)                                                            \
	do {                                                                             \
		if (strcmp((got), (want)) != 0) {                                        \
			fprintf(stderr, "%s:%d: got  %s\n", __FILE__, __LINE__, (got));  \
			fprintf(stderr, "%s:%d: want %s\n", __FILE__, __LINE__, (want)); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

#define CHECK_EQUAL(got, want)                                                                     \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_) {                                                               \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, \
				got_, want_);                                                      \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* Waits for pid; its exit status, or 128 + the signal that ended it. */
static inline int child_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs fn in a child that has no session yet. Returns the child's status. */
static inline int in_child(void (*fn)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		fn();
		_exit(0);
	}
	return pid < 0 ? -1 : child_status(pid);
}

/* A cmocka test of a function that checks in a child. */
#define CHILD_TEST(fn)                             \
	static void test_##fn(void **state)        \
	{                                          \
		(void)state;                       \
		assert_int_equal(in_child(fn), 0); \
	}
#define CHILD_UNIT(fn)                           \
	{                                        \
#fn, test_##fn, NULL, NULL, NULL \
	}

/* No daemon, recording at once, as `fprof run` asks for it. */
static inline void record_alone(void)
{
	setenv("FPROF_SOCKET", "/nonexistent/fprofd.sock", 1);
	setenv("FPROF_RUN", "1", 1);
}

#endif
