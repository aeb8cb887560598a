// SPDX-License-Identifier: MIT
/* Children of every kind: none records into its parent's memory, each has its own at its next
 * event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client_child.h"
#include "client_ring.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

static char text[65536];

typedef pid_t (*fork_fn)(void);

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void work(const char *name)
{
	FPROF_ZONE("static");
	FPROF_ZONE_DYNAMIC(name);
}

/* Its memory is new, its ids are its parent's, and it does not see its parent's scopes. */
static void child_body(fprof_scope parents, uint64_t parents_memory)
{
	struct memory_view view;

	fprof_zone_end(parents);
	CHECK(session_peek() == NULL);
	work("of the child");
	work("of the parent");
	view = own_view();
	CHECK(view.head.memory_id != parents_memory);
	CHECK_EQUAL(view.head.pid, getpid());
	ring_text(&view, own_slot(), text, sizeof(text));
	CHECK_TEXT(text, "static(of the child(of the child)static)"
			 "static(of the parent(of the parent)static)");
	CHECK_EQUAL(session_peek()->head->markers_used, 4);
}

static void fork_like(fork_fn make)
{
	FPROF_ZONE_MARKER(open, "open", NULL, 0, FPROF_LEVEL_PHASE);
	struct memory_view view;
	fprof_scope scope;
	uint64_t head;
	int memfd;
	pid_t pid;

	work("of the parent");
	scope = fprof_zone_begin(&open);
	view = own_view();
	head = memory_slot_head(&view, own_slot());
	memfd = session_peek()->kin.memfd.fd;
	pid = make();
	CHECK(pid >= 0);
	if (pid == 0) {
		child_body(scope, view.head.memory_id);
		/* the parent's memfd is closed, or its number is the child's own */
		CHECK(session_peek()->kin.memfd.fd == memfd || fcntl(memfd, F_GETFD) < 0);
		_exit(0);
	}
	CHECK_EQUAL(child_status(pid), 0);
	CHECK_EQUAL(memory_slot_head(&view, own_slot()), head);
	fprof_zone_end(scope);
	CHECK_EQUAL(memory_slot_head(&view, own_slot()), head + 1);
}

static void child_of_fork(void)
{
	fork_like(fork);
}
CHILD_TEST(child_of_fork)

static void child_of_raw_clone(void)
{
	fork_like(raw_clone);
}
CHILD_TEST(child_of_raw_clone)

static void child_of__Fork(void)
{
	fork_like(_Fork);
}
CHILD_TEST(child_of__Fork)

static void grandchild(void)
{
	pid_t pid;

	work("of the parent");
	pid = fork();
	if (pid == 0) {
		/* a generation that records nothing lies between */
		pid_t inner = fork();

		if (inner == 0) {
			work("of the grandchild");
			own_view();
			CHECK_EQUAL(session_peek()->head->markers_used, 3);
			_exit(0);
		}
		_exit(child_status(inner));
	}
	CHECK_EQUAL(child_status(pid), 0);
}
CHILD_TEST(grandchild)

/* A vfork child runs in its parent's memory and is its parent, as far as recording goes. */
static int vfork_body(void *unused)
{
	(void)unused;
	work("of the vfork child");
	return 0;
}

static void child_of_vfork(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct session *before;
	struct memory_view view;
	pid_t pid;

	work("of the parent");
	before = session_peek();
	pid = clone(vfork_body, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK(pid > 0);
	CHECK_EQUAL(child_status(pid), 0);
	CHECK(session_peek() == before);
	work("of the parent");
	view = own_view();
	ring_text(&view, own_slot(), text, sizeof(text));
	CHECK_TEXT(text, "static(of the parent(of the parent)static)"
			 "static(of the vfork child(of the vfork child)static)"
			 "static(of the parent(of the parent)static)");
}
CHILD_TEST(child_of_vfork)

/* Other threads record and intern while children are made: every child is whole. */
static uint32_t stop;

static void *busy_thread(void *unused)
{
	uint32_t line = 0;

	while (!FPROF_LOAD_RELAXED(&stop)) {
		struct fprof_marker m =
			FPROF_MARKER_INIT("busy", NULL, 0, FPROF_MARKER_ZONE, FPROF_LEVEL_PHASE, 0);

		m.line = ++line % 5000;
		fprof_zone_end(fprof_zone_begin(&m));
	}
	return unused;
}

static void forks_while_threads_record(void)
{
	pthread_t threads[2];
	int i;

	work("of the parent");
	for (i = 0; i < 2; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, busy_thread, NULL), 0);
	for (i = 0; i < 50; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			struct memory_view view;

			work("of the child");
			view = own_view();
			ring_text(&view, own_slot(), text, sizeof(text));
			CHECK_TEXT(text, "static(of the child(of the child)static)");
			_exit(0);
		}
		CHECK_EQUAL(child_status(pid), 0);
	}
	FPROF_STORE_RELAXED(&stop, 1u);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
CHILD_TEST(forks_while_threads_record)

/* The gates were closed when the process forked: the child's thread finds them open. */
static void fork_while_not_recording(void)
{
	pid_t pid;

	fprof_frame_mark();
	fprof_recording(false);
	pid = fork();
	if (pid == 0) {
		struct memory_view view;

		work("of the child");
		view = own_view();
		ring_text(&view, own_slot(), text, sizeof(text));
		CHECK_TEXT(text, "static(of the child(of the child)static)");
		_exit(0);
	}
	CHECK_EQUAL(child_status(pid), 0);
}
CHILD_TEST(fork_while_not_recording)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(child_of_fork),
		CHILD_UNIT(child_of_raw_clone),
		CHILD_UNIT(child_of__Fork),
		CHILD_UNIT(grandchild),
		CHILD_UNIT(child_of_vfork),
		CHILD_UNIT(forks_while_threads_record),
		CHILD_UNIT(fork_while_not_recording),
	};

	record_alone();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
