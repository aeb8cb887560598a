/* SPDX-License-Identifier: MIT */
/*
 * Where there is a service (fprof-probe.socket) it is asked; else, as root, the helper that is
 * installed with us is started on one end of a socket pair, and ends when we close the other, or is
 * made to: what it has in the kernel goes with it in any case.
 */
#include "probe_client.h"

#include "helper.h"
#include "mappings.h"
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define END_MS	    1000

static const char no_answer[] = "fprof-probe does not answer";

void probe_client_init(struct probe_client *client, enum probe_source source, struct status *status,
		       const char *name)
{
	*client = (struct probe_client){
		.fd = -1,
		.source = source,
		.status = status,
		.name = name,
		.patience_ms = PATIENCE_MS,
		.cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
}

void probe_client_deinit(struct probe_client *client)
{
	probe_client_close(client);
	if (client->cancel >= 0)
		close(client->cancel);
	client->cancel = -1;
}

void probe_client_cancel(const struct probe_client *client)
{
	eventfd_write(client->cancel, 1);
}

static void wait_for_end(pid_t pid)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};

	if (end.fd < 0 || poll(&end, 1, END_MS) != 1)
		kill(pid, SIGKILL);
	if (end.fd >= 0)
		close(end.fd);
	waitpid(pid, NULL, 0);
}

void probe_client_close(struct probe_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	if (client->pid > 0)
		wait_for_end(client->pid);
	client->pid = 0;
}

static int fail(struct probe_client *client, int error, const char *reason, const char *fix)
{
	snprintf(client->reason, sizeof(client->reason), "%s", reason);
	snprintf(client->fix, sizeof(client->fix), "%s", fix);
	return error;
}

static int connect_service(struct probe_client *client)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = PROBE_SOCKET};
	/* A service that takes no connections lets others wait for ever. */
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	client->fd = util_take_fd(&fd);
	return 0;
}

const char *probe_client_log(const struct probe_client *client)
{
	return client->pid > 0 ? "journalctl -n 50 -u fprofd"
			       : "journalctl -n 50 -u 'fprof-probe*'";
}

static int start_helper(struct probe_client *client)
{
	char *argv[] = {NULL, (char[]){"--fd"}, (char[]){"3"}, NULL};

	return helper_start("fprof-probe", argv, environ, &client->pid, &client->fd);
}

/* In another pid namespace than the initial one? */
static bool in_container(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != 4026531836u;
}

static int get_connected(struct probe_client *client)
{
	int r = connect_service(client);

	if (r < 0 && geteuid() == 0)
		r = start_helper(client);
	if (r < 0 && geteuid() == 0)
		return r == -ENOENT ? fail(client, r, HELPER_MISSING("fprof-probe"), HELPER_FIX)
				    : fail(client, r, "fprof-probe cannot be started", HELPER_FIX);
	if (r == -EAGAIN)
		return fail(client, r, no_answer, probe_client_log(client));
	if (r < 0 && in_container())
		return fail(client, r,
			    "fprofd runs in a container, and nobody listens at " PROBE_SOCKET,
			    "run it on the host, or its container with --pid=host and -v "
			    "/run/fprof-probe:/run/fprof-probe");
	if (r < 0)
		return fail(client, r, "nobody listens at " PROBE_SOCKET,
			    "sudo systemctl enable --now fprof-probe.socket");
	return 0;
}

/* Takes up to two descriptors that came with a message; others are closed. */
static void take_fds(struct msghdr *message, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	size_t i, n;
	int got;

	for (; c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
			if (i < 2 && fds[i] < 0)
				fds[i] = got;
			else
				close(got);
		}
	}
}

static struct probe_request request(const struct probe_client *client, uint16_t op, int32_t pid)
{
	return (struct probe_request){.magic = PROBE_MAGIC,
				      .version = PROBE_VERSION,
				      .op = op,
				      .pid = pid,
				      .source = client->source};
}

static int wait_for_answer(const struct probe_client *client)
{
	struct pollfd fds[] = {{client->fd, POLLIN, 0}, {client->cancel, POLLIN, 0}};
	int r;

	do {
		r = poll(fds, ARRAY_SIZE(fds), client->patience_ms);
	} while (r < 0 && errno == EINTR);
	if (fds[1].revents)
		return -ECANCELED;
	return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

static int exchange(const struct probe_client *client, const struct probe_request *q,
		    struct probe_answer *ret, int fds[2])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = {ret, sizeof(*ret)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n;
	int r;

	if (client->fd < 0 || send(client->fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -ECONNRESET;
	r = wait_for_answer(client);
	if (r < 0)
		return r;
	n = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n > 0)
		take_fds(&message, fds);
	if (n != sizeof(*ret) || ret->magic != PROBE_MAGIC || ret->op != q->op)
		return -ECONNRESET;
	ret->reason[sizeof(ret->reason) - 1] = ret->fix[sizeof(ret->fix) - 1] = '\0';
	return ret->status;
}

/* Of no more use. One that sleeps would do what it was asked for when it wakes. */
static void give_up(struct probe_client *client)
{
	if (client->fd >= 0)
		shutdown(client->fd, SHUT_RDWR);
	if (client->pid > 0)
		kill(client->pid, SIGKILL);
}

static int ask(struct probe_client *client, const struct probe_request *q, struct probe_answer *ret,
	       int fds[2])
{
	int r;

	status_awaits(client->status, client->name, no_answer, probe_client_log(client));
	r = exchange(client, q, ret, fds);
	status_awaits(client->status, client->name, NULL, NULL);
	client->hung |= r == -ETIMEDOUT;
	if (r == -ETIMEDOUT || r == -ECONNRESET)
		give_up(client);
	return r;
}

/* Why a request failed, as the answer has it or as there was none. */
static int fail_asked(struct probe_client *client, int error, const struct probe_answer *answer)
{
	const char *reason = answer->reason, *fix = answer->fix;

	if (!*reason && (error == -ECONNRESET || error == -ETIMEDOUT)) {
		reason = client->hung	   ? no_answer
			 : client->pid > 0 ? "fprof-probe ended before it answered"
					   : "fprof-probe hung up before it answered: it ended, "
					     "or serves too many connections";
		fix = probe_client_log(client);
	} else if (error == -ECANCELED) {
		reason = "fprofd is ending";
	}
	return fail(client, error, *reason ? reason : strerror(-error), fix);
}

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

int probe_client_open(struct probe_client *client, struct probe_ring *ret_ring)
{
	const struct probe_request q = request(client, PROBE_OPEN, 0);
	struct probe_answer answer = {0};
	int fds[2] = {-1, -1};
	int r = get_connected(client);

	if (r < 0)
		return r;
	client->hung = false;
	r = ask(client, &q, &answer, fds);
	if (r == 0 && (fds[0] < 0 || fds[1] < 0 || !is_power(answer.ring_bytes)))
		r = -EPROTO;
	if (r == 0)
		r = probe_ring_map(fds[0], fds[1], answer.ring_bytes, ret_ring);
	if (r < 0)
		fail_asked(client, r, &answer);
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	if (r < 0)
		probe_client_close(client);
	return r;
}

/* *ret_fd: what came with the answer, -1: nothing did. */
static int ask_for(struct probe_client *client, const struct probe_request *q, int *ret_fd)
{
	struct probe_answer answer = {0};
	int fds[2] = {-1, -1};
	int r = ask(client, q, &answer, fds);

	client->found = answer.found;
	client->unread = answer.unread;
	if (r < 0)
		fail_asked(client, r, &answer);
	if (fds[1] >= 0)
		close(fds[1]);
	*ret_fd = fds[0];
	return r;
}

static int ask_plain(struct probe_client *client, const struct probe_request *q)
{
	int fd, r = ask_for(client, q, &fd);

	if (fd >= 0)
		close(fd);
	return r;
}

int probe_client_add(struct probe_client *client, int32_t pid)
{
	const struct probe_request q = request(client, PROBE_ADD, pid);

	return ask_plain(client, &q);
}

int probe_client_remove(struct probe_client *client, int32_t pid)
{
	const struct probe_request q = request(client, PROBE_REMOVE, pid);

	return ask_plain(client, &q);
}

int probe_client_point(struct probe_client *client, int32_t pid, const struct vulkan_place *place)
{
	struct probe_request q = request(client, PROBE_POINT, pid);

	q.major = place->major;
	q.minor = place->minor;
	q.inode = place->inode;
	q.offset = place->offset;
	return ask_plain(client, &q);
}

int probe_client_sample(struct probe_client *client, int32_t pid, uint64_t period_ns, int *ret_maps)
{
	struct probe_request q = request(client, PROBE_ADD, pid);

	q.period_ns = period_ns;
	return ask_for(client, &q, ret_maps);
}

int probe_client_file(struct probe_client *client, int32_t pid, const struct mapped_place *place,
		      int *ret_fd)
{
	struct probe_request q = request(client, PROBE_FILE, pid);
	int r;

	q.major = place->major;
	q.minor = place->minor;
	q.inode = place->inode;
	q.offset = place->offset;
	r = ask_for(client, &q, ret_fd);
	return r == 0 && *ret_fd < 0 ? -EPROTO : r;
}

bool probe_client_is_alive(const struct probe_client *client)
{
	char byte;

	return client->fd >= 0 && recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK);
}

const char *probe_client_lost(const struct probe_client *client)
{
	return client->hung ? no_answer : "fprof-probe has ended";
}
