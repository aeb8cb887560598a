/* SPDX-License-Identifier: MIT */
/* The daemon's side of the handshake, for tests of the client: does what it is told, and no more.
 */
#ifndef FPROF_TESTS_FAKE_DAEMON_H
#define FPROF_TESTS_FAKE_DAEMON_H

#include "client_child.h"
#include "fprof/atomic.h"
#include "fprof/layout.h"
#include "shm/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

struct fake_daemon {
	char dir[64], path[96];
	int listener, peer, memfd, control_fd;
	struct fprof_control *control;
	struct fprof_msg_hello hello;
	struct memory_view view;
};

static inline void fake_listen(struct fake_daemon *d)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	unlink(d->path);
	memcpy(address.sun_path, d->path, strlen(d->path) + 1);
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(bind(d->listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(d->listener, 16) == 0);
}

/* A directory, a path in $FPROF_SOCKET, a control page that says RECORDING; not yet listening. */
static inline void fake_init(struct fake_daemon *d)
{
	const char *place = getenv("TMPDIR");

	memset(d, 0, sizeof(*d));
	snprintf(d->dir, sizeof(d->dir), "%s/fprof-test-XXXXXX", place ? place : "/tmp");
	CHECK(mkdtemp(d->dir) != NULL);
	snprintf(d->path, sizeof(d->path), "%s/fprofd.sock", d->dir);
	setenv("FPROF_SOCKET", d->path, 1);
	unsetenv("FPROF_RUN");
	d->peer = d->memfd = d->listener = -1;
	d->control_fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(ftruncate(d->control_fd, FPROF_CONTROL_BYTES) == 0);
	d->control = mmap(NULL, FPROF_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			  d->control_fd, 0);
	CHECK(d->control != MAP_FAILED);
	CHECK(fcntl(d->control_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	d->control->abi_major = FPROF_ABI_MAJOR;
	d->control->control_bytes = FPROF_CONTROL_BYTES;
	d->control->record_state = FPROF_STATE_RECORDING;
	d->control->gate = FPROF_LEVELS;
	d->control->generation = 1;
	d->control->magic = FPROF_CONTROL_MAGIC;
}

/* Accepts within ms, takes the hello and maps the memory. False: nobody came. */
static inline bool fake_accept(struct fake_daemon *d, int ms)
{
	struct pollfd ready = {.fd = d->listener, .events = POLLIN};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {&d->hello, sizeof(d->hello)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	void *base;

	if (poll(&ready, 1, ms) != 1)
		return false;
	d->peer = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(d->peer >= 0);
	CHECK(recvmsg(d->peer, &message, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof(d->hello));
	CHECK(CMSG_FIRSTHDR(&message) != NULL);
	memcpy(&d->memfd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	base = mmap(NULL, d->hello.memory_bytes, PROT_READ, MAP_SHARED, d->memfd, 0);
	CHECK(base != MAP_FAILED);
	CHECK(memory_view_init(base, d->hello.memory_bytes, &d->view, NULL) == 0);
	return true;
}

/* Sends a welcome with status, and fd attached where it is not -1. */
static inline void fake_answer(struct fake_daemon *d, int32_t status, const char *reason, int fd)
{
	struct fprof_msg_welcome welcome = {
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_WELCOME,
		.bytes = sizeof(welcome),
		.abi_major = FPROF_ABI_MAJOR,
		.status = status,
		.session_id = 1,
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	snprintf(welcome.reason, sizeof(welcome.reason), "%s", reason);
	if (fd >= 0) {
		struct cmsghdr *rights;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &fd, sizeof(int));
	}
	CHECK(sendmsg(d->peer, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(welcome));
}

static inline void fake_welcome(struct fake_daemon *d)
{
	fake_answer(d, 0, "", d->control_fd);
}

static inline void fake_set(struct fake_daemon *d, enum fprof_record_state state, uint32_t gate)
{
	FPROF_STORE_RELAXED(&d->control->record_state, (uint32_t)state);
	FPROF_STORE_RELAXED(&d->control->gate, gate);
	FPROF_STORE_RELEASE(&d->control->generation, d->control->generation + 1);
}

/* Gone without a word, as after kill -9. */
static inline void fake_die(struct fake_daemon *d)
{
	close(d->peer);
	close(d->listener);
	close(d->memfd);
	d->peer = d->listener = d->memfd = -1;
}

static inline void fake_deinit(struct fake_daemon *d)
{
	fake_die(d);
	unlink(d->path);
	rmdir(d->dir);
}

#endif
