/* SPDX-License-Identifier: MIT */
/*
 * fprof-probe: the privileged part. It loads the kernel program for an fprofd that asks for it and
 * hands it the ring buffer; it never reads what is in there.
 *
 * Each connection has a process of its own, with programs and maps that go when it closes: looking
 * into a game's files may take as long as its user likes, and others do not wait for that. A peer
 * may have the processes of its own user recorded; root all.
 *
 *   fprof-probe --fd N      serve one connected socket, then exit (fprofd as root starts it so)
 *   fprof-probe --socket P  listen at P; under a service manager at the socket it was given
 */
#include "present.h"
#include "protocol.h"
#include "sched.h"
#include "stacks.h"
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS_MAX 16
#define PEERS_UID 6 /* of one user who is not trusted */

struct peer {
	int fd;
	pid_t pid;
	uid_t uid;
	bool trusted;	       /* with every user's processes */
	struct source *source; /* NULL: nothing was opened */
	int handed;	       /* goes with the next answer; -1: none */
};

/* A connection that a child serves. */
struct served {
	int pidfd;
	uid_t uid;
};

struct server {
	int listener;
	uid_t trusted; /* may name any process, as root may; 0: root only */
	struct served served[PEERS_MAX];
	size_t count;
};

/* The owner of a process, by its directory in /proc. */
static int owner_of(int32_t pid, uid_t *ret_uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid <= 0 || stat(path, &st) < 0)
		return -ESRCH;
	*ret_uid = st.st_uid;
	return 0;
}

static void refuse(struct probe_answer *a, int error, const char *reason, const char *fix)
{
	a->status = error;
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
	snprintf(a->fix, sizeof(a->fix), "%s", fix ? fix : "");
}

static void serve_open(struct peer *peer, uint32_t source, struct probe_answer *a)
{
	static const struct source_kind *const kinds[PROBE_SOURCES] = {
		[PROBE_SCHED] = &sched_kind,
		[PROBE_PRESENT] = &present_kind,
		[PROBE_STACKS] = &stacks_kind,
	};
	struct why why = why_other_pids(peer->pid);
	int r = -EINVAL;

	if (why.reason)
		r = -EXDEV;
	else if (peer->source)
		why.reason = "the connection has a source already";
	else if (source >= PROBE_SOURCES)
		why.reason = "there is no such source";
	else
		r = source_new(kinds[source], &peer->source, &why);
	if (r < 0)
		refuse(a, r, why.reason, why.fix);
	else
		a->ring_bytes = source_ring_bytes(peer->source);
}

static bool is_of(int32_t pid, uid_t uid)
{
	uid_t now;

	return owner_of(pid, &now) == 0 && now == uid;
}

/* The number has become another process's meanwhile. */
static int give_up(const struct peer *peer, int32_t pid)
{
	peer->source->kind->remove(peer->source, (uint32_t)pid);
	return -ESRCH;
}

/* May the peer name the process? Else the answer says why not. */
static bool may_name(const struct peer *peer, int32_t pid, uid_t *ret_uid, struct probe_answer *a)
{
	int r = owner_of(pid, ret_uid);

	if (!peer->source)
		refuse(a, -EINVAL, "nothing was opened", NULL);
	else if (r < 0)
		refuse(a, r, "there is no such process", NULL);
	else if (!peer->trusted && *ret_uid != peer->uid)
		refuse(a, -EACCES, "the process is another user's", NULL);
	return a->status == 0;
}

/* What is handed over goes with the answer: nothing goes with a refusal. */
static void keep_back(struct peer *peer)
{
	if (peer->handed >= 0)
		close(peer->handed);
	peer->handed = -1;
}

static void serve_add(struct peer *peer, const struct probe_request *q, struct probe_answer *a)
{
	char path[32];
	uid_t uid;

	if (!may_name(peer, q->pid, &uid, a))
		return;
	a->status = peer->source->kind->add(peer->source, q, a);
	snprintf(path, sizeof(path), "/proc/%d/maps", q->pid);
	if (a->status == 0 && peer->source->kind->maps)
		peer->handed = open(path, O_RDONLY | O_CLOEXEC);
	if (a->status == 0 && !is_of(q->pid, uid))
		a->status = give_up(peer, q->pid);
	if (a->status < 0 && !*a->reason)
		refuse(a, a->status, strerror(-a->status), NULL);
	if (a->status < 0)
		keep_back(peer);
}

static void serve_file(struct peer *peer, const struct probe_request *q, struct probe_answer *a)
{
	const struct symbols_place place = {q->major, q->minor, q->inode, q->offset};
	char path[32];
	uid_t uid;
	int process;

	if (!may_name(peer, q->pid, &uid, a))
		return;
	snprintf(path, sizeof(path), "/proc/%d", q->pid);
	process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	a->status = process < 0 ? -ESRCH : symbols_open(process, &place, &peer->handed);
	if (process >= 0)
		close(process);
	if (a->status == 0 && !is_of(q->pid, uid))
		a->status = -ESRCH;
	if (a->status < 0) {
		refuse(a, a->status, "the process maps no such file that could be opened", NULL);
		keep_back(peer);
	}
}

static void serve_remove(struct peer *peer, int32_t pid, struct probe_answer *a)
{
	if (peer->source && pid > 0)
		a->status = peer->source->kind->remove(peer->source, (uint32_t)pid);
}

static void serve_point(struct peer *peer, const struct probe_request *q, struct probe_answer *a)
{
	if (!peer->source || !peer->source->kind->point || q->pid <= 0)
		refuse(a, -EINVAL, "the source has no such request", NULL);
	else
		a->status = peer->source->kind->point(peer->source, q);
}

/* The answer, with the maps where it opened them. */
static int answer(struct peer *peer, const struct probe_answer *a)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)a, sizeof(*a)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[2] = {peer->handed, -1}, r;
	size_t count = peer->handed >= 0;

	if (a->op == PROBE_OPEN && a->status == 0) {
		fds[0] = source_map_fd(peer->source, "events");
		fds[1] = source_map_fd(peer->source, "counts");
		count = 2;
	}
	if (count > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	/* One thread serves all: a peer that does not read its answers is of no use. */
	r = sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
	keep_back(peer);
	return r;
}

/* One request: 0, or the connection is of no more use. */
static int serve(struct peer *peer)
{
	struct probe_request q;
	ssize_t n = recv(peer->fd, &q, sizeof(q), MSG_TRUNC);
	struct probe_answer a = {.magic = PROBE_MAGIC, .version = PROBE_VERSION};

	if (n != sizeof(q) || q.magic != PROBE_MAGIC)
		return -ECONNRESET;
	a.op = q.op;
	if (q.version != PROBE_VERSION)
		refuse(&a, -EPROTO, "fprofd and fprof-probe are of different versions",
		       "install both from one build");
	else if (q.op == PROBE_OPEN)
		serve_open(peer, q.source, &a);
	else if (q.op == PROBE_ADD)
		serve_add(peer, &q, &a);
	else if (q.op == PROBE_REMOVE)
		serve_remove(peer, q.pid, &a);
	else if (q.op == PROBE_POINT)
		serve_point(peer, &q, &a);
	else if (q.op == PROBE_FILE)
		serve_file(peer, &q, &a);
	else
		refuse(&a, -EINVAL, "there is no such request", NULL);
	return answer(peer, &a);
}

static int peer_of(const struct server *s, int fd, struct peer *ret_peer)
{
	struct ucred who;
	socklen_t bytes = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0)
		return -errno;
	*ret_peer = (struct peer){.fd = fd,
				  .handed = -1,
				  .pid = who.pid,
				  .uid = who.uid,
				  .trusted = who.uid == 0 || who.uid == s->trusted};
	return 0;
}

static void serve_all(struct peer *peer)
{
	while (serve(peer) == 0)
		;
	source_free(peer->source);
	close(peer->fd);
}

static bool has_room(const struct server *s, const struct peer *peer)
{
	size_t i, n = 0;

	for (i = 0; i < s->count; i++)
		n += s->served[i].uid == peer->uid;
	return s->count < PEERS_MAX && (peer->trusted || n < PEERS_UID);
}

/* In a child, which ends with us. */
static void begin_to_serve(struct server *s, struct peer *peer)
{
	pid_t parent = getpid(), child = fork();
	int pidfd;

	if (child == 0) {
		close(s->listener);
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent)
			serve_all(peer);
		_exit(0);
	}
	pidfd = child > 0 ? pidfd_open(child, 0) : -1;
	if (pidfd >= 0)
		s->served[s->count++] = (struct served){pidfd, peer->uid};
	else if (child > 0)
		kill(child, SIGTERM);
}

static void take_connection(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	struct peer peer;

	if (fd < 0)
		return;
	if (peer_of(s, fd, &peer) == 0 && has_room(s, &peer))
		begin_to_serve(s, &peer);
	close(fd);
}

static void forget(struct server *s, size_t i)
{
	waitid(P_PIDFD, (id_t)s->served[i].pidfd, NULL, WEXITED);
	close(s->served[i].pidfd);
	s->served[i] = s->served[--s->count];
}

static void run(struct server *s)
{
	struct pollfd fds[PEERS_MAX + 1];
	size_t i, n;

	for (;;) {
		n = s->count;
		for (i = 0; i < n; i++)
			fds[i] = (struct pollfd){s->served[i].pidfd, POLLIN, 0};
		fds[n] = (struct pollfd){s->listener, POLLIN, 0};
		if (poll(fds, n + 1, -1) < 0 && errno != EINTR)
			return;
		for (i = n; i-- > 0;)
			if (fds[i].revents)
				forget(s, i);
		if (fds[n].revents & POLLIN)
			take_connection(s);
	}
}

/* The connection that we were started with. */
static int run_one(const struct server *s, int fd)
{
	struct peer peer;

	if (peer_of(s, fd, &peer) < 0) {
		fprintf(stderr, "fprof-probe: %d is no connected socket\n", fd);
		return 1;
	}
	serve_all(&peer);
	return 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(at.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, 16) < 0)
		return -1;
	return fd;
}

/* The socket that a service manager handed over. */
static int activated(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");

	return pid && fds && atoi(pid) == getpid() && atoi(fds) == 1 ? 3 : -1;
}

static const char usage[] =
	"Usage: fprof-probe --socket PATH | --fd N\n"
	"Let fprofd see when the threads of recorded games run, wait, and who wakes them, where "
	"they\n"
	"are, and when games that it attaches to show a frame.\n\n"
	"  --socket PATH  listen at PATH (/run/fprof-probe/probe.sock is where fprofd looks)\n"
	"  --trust USER   may name every user's processes: the system-wide fprofd's user\n"
	"  --fd N         serve the connected socket N, then exit\n"
	"  --version      print the version and exit\n"
	"  --help         print this and exit\n\n"
	"Needs CAP_BPF (to load programs and maps) and CAP_PERFMON (to attach them to tracepoints\n"
	"and into processes, and to read kernel memory in them); to attach to other users' games\n"
	"CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH (to see and read the files that they map).\n"
	"Exit status: 0 ended in order, 1 failed, 2 bad option.\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"trust", required_argument, NULL, 't'},
		{"fd", required_argument, NULL, 'f'},	  {"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},	  {0}};
	struct server server = {.listener = activated()};
	const struct passwd *user;
	int c, one = -1;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			server.listener = listen_at(optarg);
			if (server.listener < 0) {
				fprintf(stderr, "fprof-probe: %s: %s\n", optarg, strerror(errno));
				return 1;
			}
			break;
		case 't':
			user = getpwnam(optarg);
			if (!user) {
				fprintf(stderr, "fprof-probe: there is no user %s\n", optarg);
				return 2;
			}
			server.trusted = user->pw_uid;
			break;
		case 'f':
			one = atoi(optarg);
			break;
		case 'V':
			puts("fprof-probe " FPROF_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (one >= 0)
		return run_one(&server, one);
	if (server.listener < 0) {
		fputs("fprof-probe: --socket PATH or --fd N; --help says more\n", stderr);
		return 2;
	}
	run(&server);
	return 0;
}
