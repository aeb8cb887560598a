// SPDX-License-Identifier: MIT
/*
 * Finding the daemon, keeping it, noticing that it is gone.
 *
 * Nothing here blocks. While no daemon is there, one look for a socket a second; while the answer
 * to the hello is awaited, one recv() a poll; afterwards no system call at all: the control page
 * says what to do, and its heartbeat that the daemon lives. Where the heartbeat is still for a
 * second the socket is asked, once a second, whether the daemon hung up (it died) or not (it is
 * stopped). If it did, the same memory is offered to the next one; recording goes on all the
 * while, so the ring holds the newest events when it comes.
 *
 * A process that ends and finds its daemon dead looks once more: a new one gets the memory and the
 * goodbye in one go.
 *
 * All of it runs under link->busy, a lock that is only ever tried.
 */
#include "connection.h"

#include "fprof.h"
#include "note.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NS_PER_S   UINT64_C(1000000000)
#define BEAT_STILL NS_PER_S
#define RETRY_SOON NS_PER_S
#define RETRY_LATER \
	(10 * NS_PER_S) /* after a refusal: the answer will hardly be another one soon */
#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define FDS_MAX 4

static void path_set(struct link *link, unsigned i, const char *dir, const char *file)
{
	size_t a = strlen(dir), b = strlen(file);

	if (a + b >= LINK_PATH_BYTES) {
		note(NOTE_ERROR, "the path of the daemon's socket is longer than 107 bytes", dir,
		     0);
		return;
	}
	memcpy(link->paths[i], dir, a);
	memcpy(link->paths[i] + a, file, b + 1);
}

void link_init(struct link *link)
{
	const char *socket_path = secure_getenv("FPROF_SOCKET");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	const char *name = secure_getenv("FPROF_NAME");
	const char *run = secure_getenv("FPROF_RUN");

	if (socket_path && *socket_path) {
		path_set(link, 0, socket_path, "");
	} else {
		if (runtime && *runtime)
			path_set(link, 0, runtime, "/fprofd/fprofd.sock");
		path_set(link, 1, "/run/fprofd/fprofd.sock", "");
	}
	if (name)
		strncpy(link->name, name, sizeof(link->name) - 1);
	link->gate = FPROF_LEVELS;
	link->ordered = FPROF_STATE_RECORDING;
	/* Until the first look others record already: what they wrote would be missing without a
	 * count. */
	link->recording = 1;
	link->waits = run && *run;
}

static void link_drop(struct session *s, uint64_t retry_ns)
{
	owned_fd_close(&s->kin.socket);
	if (s->link.control)
		munmap((void *)s->link.control, s->link.control_bytes);
	s->link.control = NULL;
	s->link.state = LINK_NONE;
	s->link.retry_ns = retry_ns;
}

/* -ENOENT, -ECONNREFUSED: nobody there; -EAGAIN: a daemon, and its queue is full. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, r;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static int hello_send(struct session *s, int fd)
{
	struct fprof_msg_hello hello = {
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_HELLO,
		.bytes = sizeof(hello),
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.origin = s->head->origin,
		.pid = s->head->pid,
		.library_version = s->head->library_version,
		.memory_id = s->head->memory_id,
		.image_id = s->head->image_id,
		.memory_bytes = s->kin.bytes,
		.connects = s->link.connects,
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {&hello, sizeof(hello)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *rights;

	memcpy(hello.name, s->link.name, sizeof(hello.name));
	memset(&control, 0, sizeof(control));
	rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &s->kin.memfd.fd, sizeof(int));
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Is it time for place i? All at first, then one a second in turn: one system call a second. */
static bool place_due(const struct link *link, unsigned i)
{
	bool all = !link->rounds || !link->paths[0][0] || !link->paths[1][0];

	return link->paths[i][0] && (all || i == link->rounds % LINK_PATHS);
}

/* A socket that somebody listens on, or a negative errno; -EBADF: there is nothing to offer him. */
static int connect_any(struct session *s)
{
	struct link *link = &s->link;
	unsigned i;
	int fd = -ENOENT;

	for (i = 0; i < LINK_PATHS && fd < 0; i++) {
		if (!place_due(link, i) || access(link->paths[i], F_OK) < 0)
			continue;
		if (!owned_fd_valid(&s->kin.memfd))
			return -EBADF;
		fd = connect_to(link->paths[i]);
		if (fd == -EAGAIN)
			link->recording = link->ordered == FPROF_STATE_RECORDING;
	}
	link->rounds++;
	return fd;
}

static void link_connect(struct session *s, uint64_t now)
{
	int fd;

	if (!s->link.rounds)
		s->link.recording = s->link.waits;
	fd = connect_any(s);
	s->link.retry_ns = now + RETRY_SOON;
	if (fd == -EBADF) {
		s->link.state = LINK_OVER;
		note(NOTE_WARNING, "the game closed our descriptors: no new daemon can find it",
		     NULL, 0);
	}
	if (fd < 0)
		return;
	if (owned_fd_set(&s->kin.socket, fd) < 0 || hello_send(s, fd) < 0) {
		s->kin.socket.fd = -1;
		close(fd);
		return;
	}
	s->link.connects++;
	s->link.state = LINK_PENDING;
	/* A stop that was ordered before holds until the new daemon says otherwise. */
	s->link.recording = s->link.ordered == FPROF_STATE_RECORDING;
}

/* The first descriptor of a message, -1: none. Closes all others. */
static int take_fd(struct msghdr *message)
{
	struct cmsghdr *c;
	int taken = -1;

	for (c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t i, count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (taken < 0)
				taken = fd;
			else
				close(fd);
		}
	}
	return taken;
}

/* Returns 0 with a whole welcome; -EAGAIN: none yet; -EPROTO, or what recvmsg said. */
static int welcome_receive(int fd, struct fprof_msg_welcome *welcome, int *ret_control_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = {welcome, sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_control_fd = -1;
	if (n < 0)
		return -errno;
	*ret_control_fd = take_fd(&message);
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n < sizeof(*welcome) || welcome->magic != FPROF_SOCKET_MAGIC ||
	    welcome->type != FPROF_MSG_WELCOME)
		return -EPROTO;
	welcome->reason[sizeof(welcome->reason) - 1] = '\0';
	return 0;
}

/* The control page of a daemon: sealed, in memory, whole, and of our version. Closes nothing. */
static int control_map(int fd, const struct fprof_control **ret_control, uint32_t *ret_bytes)
{
	const struct fprof_control *c;
	struct statfs fs;
	uint64_t bytes;
	int seals, r;

	if (fd < 0)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPERM;
	if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -EPERM;
	r = fd_size(fd, &bytes);
	if (r < 0 || bytes < FPROF_CONTROL_BYTES)
		return r < 0 ? r : -EINVAL;
	bytes = bytes < FPROF_CONTROL_BYTES_DETAIL ? FPROF_CONTROL_BYTES
						   : FPROF_CONTROL_BYTES_DETAIL;
	c = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		return -errno;
	if (FPROF_LOAD_ACQUIRE(&c->magic) != FPROF_CONTROL_MAGIC ||
	    FPROF_LOAD_RELAXED(&c->abi_major) != FPROF_ABI_MAJOR) {
		munmap((void *)c, bytes);
		return -EPROTO;
	}
	*ret_control = c;
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

/* Takes the daemon's wishes over. */
static void control_read(struct session *s)
{
	struct link *link = &s->link;
	const struct fprof_control *c = link->control;
	uint32_t bytes = FPROF_LOAD_RELAXED(&c->control_bytes);

	link->generation = FPROF_LOAD_ACQUIRE(&c->generation);
	__atomic_store_n(&link->gate, FPROF_LOAD_RELAXED(&c->gate), __ATOMIC_SEQ_CST);
	/* whoever sees the order tells of this time with it */
	FPROF_STORE_RELAXED(&s->changed_ticks, fprof_clock_read(s->clock));
	FPROF_STORE_RELEASE(&link->ordered, FPROF_LOAD_RELAXED(&c->record_state));
	__atomic_store_n(&link->recording, link->ordered == FPROF_STATE_RECORDING,
			 __ATOMIC_SEQ_CST);
	alloc_track_want(&s->allocs, ALLOC_BY_DAEMON,
			 FPROF_LOAD_RELAXED(&c->flags) & FPROF_CONTROL_ALLOCATIONS);
	detail_read(s, c, link->control_bytes < bytes ? link->control_bytes : bytes);
}

static void link_refused(struct session *s, uint64_t now, const char *why, int error)
{
	link_drop(s, now + RETRY_LATER);
	s->link.recording = 0;
	note(NOTE_ERROR, "fprofd does not record this process", why, error);
}

static bool link_pending(struct session *s, uint64_t now)
{
	struct fprof_msg_welcome welcome;
	const struct fprof_control *control = NULL;
	int control_fd, r;

	if (!owned_fd_valid(&s->kin.socket)) {
		link_drop(s, now);
		return false;
	}
	r = welcome_receive(s->kin.socket.fd, &welcome, &control_fd);
	if (r == -EAGAIN || r == -EINTR)
		return false;
	if (r == -EPROTO) {
		link_refused(s, now, "it answers what we don't know", 0);
	} else if (r < 0) {
		link_drop(s, now + RETRY_SOON);
	} else if (welcome.status) {
		link_refused(s, now, welcome.reason, -welcome.status);
	} else {
		r = control_map(control_fd, &control, &s->link.control_bytes);
		if (r < 0)
			link_refused(s, now, "its control page is not sound", -r);
	}
	if (control_fd >= 0)
		close(control_fd);
	if (!control)
		return true;
	s->link.control = control;
	s->link.state = LINK_UP;
	s->link.beat = FPROF_LOAD_RELAXED(&control->heartbeat);
	s->link.beat_ns = now;
	s->link.check_ns = now + NS_PER_S;
	s->link.generation = 0;
	detail_forget(&s->detail);
	FPROF_STORE_RELAXED(&s->announce, 1u);
	note(NOTE_INFO, "fprofd is connected", NULL, 0);
	return true;
}

/* The heartbeat is still: did the daemon hang up? A daemon that is stopped did not. */
static bool hung_up(const struct session *s)
{
	char byte;
	ssize_t n;

	if (!owned_fd_valid(&s->kin.socket))
		return true;
	n = recv(s->kin.socket.fd, &byte, sizeof(byte), MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static bool link_up(struct session *s, uint64_t now, bool boundary)
{
	struct link *link = &s->link;
	bool changed =
		boundary && FPROF_LOAD_ACQUIRE(&link->control->generation) != link->generation;
	uint64_t beat;

	if (changed)
		control_read(s);
	if (now < link->check_ns)
		return changed;
	link->check_ns = now + NS_PER_S;
	beat = FPROF_LOAD_RELAXED(&link->control->heartbeat);
	if (beat != link->beat) {
		link->beat = beat;
		link->beat_ns = now;
	} else if (now - link->beat_ns > BEAT_STILL && hung_up(s)) {
		note(NOTE_WARNING, "fprofd is gone; recording goes on", NULL, 0);
		link_drop(s, now);
	}
	return changed;
}

bool link_poll(struct session *s, uint64_t now, bool boundary)
{
	bool changed = false;

	if (s->link.state == LINK_NONE && now >= s->link.retry_ns) {
		uint32_t before = s->link.recording;

		link_connect(s, now);
		changed = s->link.recording != before;
	}
	if (s->link.state == LINK_PENDING)
		changed |= link_pending(s, now);
	if (s->link.state == LINK_UP)
		changed |= link_up(s, now, boundary);
	if (FPROF_LOAD_RELAXED(&s->link.bye))
		link_bye(s);
	return changed;
}

static bool bye_send(const struct session *s)
{
	const struct fprof_msg_bye bye = {
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_BYE,
		.bytes = sizeof(bye),
	};

	return owned_fd_valid(&s->kin.socket) && send(s->kin.socket.fd, &bye, sizeof(bye),
						      MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(bye);
}

/* The daemon that we knew is gone. One that is there by now gets the memory, which outlives us on
 * its way. */
static void last_hello(struct session *s)
{
	link_drop(s, 0);
	s->link.rounds = 0; /* look at all places */
	link_connect(s, 0);
	if (s->link.state == LINK_PENDING)
		bye_send(s);
}

void link_bye(struct session *s)
{
	if (s->link.state == LINK_OVER)
		return;
	if (!bye_send(s) && s->link.recording)
		last_hello(s);
	s->link.state = LINK_OVER;
	/* A plugin's copy of this library may be loaded and unloaded many times. */
	owned_fd_close(&s->kin.socket);
	owned_fd_close(&s->kin.memfd);
}
