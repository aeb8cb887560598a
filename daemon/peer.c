// SPDX-License-Identifier: MIT
/*
 * SO_PEERCRED names a pid, and a pid may be reused before we look. SO_PEERPIDFD (6.5) has no such
 * gap. Before it the pidfd is opened by pid; start time and uid are then read while the pidfd says
 * that its process is alive, so they belong to it, and a process of another uid than the one that
 * connected is refused.
 *
 * The end: PIDFD_GET_INFO (6.15) knows it after the parent has waited; before, /proc/PID/stat of
 * the zombie tells those who may trace it.
 */
#include "peer.h"

#include "process.h"
#include "util.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* include/uapi/linux/pidfd.h, the first published size. */
struct pidfd_info_64 {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info_64) == 64, "PIDFD_INFO_SIZE_VER0");
#define PIDFD_GET_INFO_64   _IOWR(0xFF, 11, struct pidfd_info_64)
#define PIDFD_INFO_EXIT_BIT (UINT64_C(1) << 3)

/* Not yet waited for. */
static bool still_exists(int pidfd)
{
	return pidfd_send_signal(pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

/* Without SO_PEERPIDFD: the process that has this pid now, if it can be the one that connected. */
static int open_by_pid(int32_t pid, uint32_t uid)
{
	int pidfd = pidfd_open(pid, 0);
	uint32_t owner;

	if (pidfd < 0)
		return -errno;
	/* The files of a process that may not be traced belong to root. */
	if (process_uid(pid, &owner) < 0 || (owner != uid && owner != 0)) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

static int peer_pidfd(int fd, const struct ucred *credentials)
{
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	if (errno == ENOPROTOOPT || errno == EINVAL)
		return open_by_pid(credentials->pid, credentials->uid);
	return errno == ENODATA ? -ESRCH : -errno;
}

static int refuse(int error, const char *why, const char **ret_why)
{
	*ret_why =
		error == -EMFILE || error == -ENFILE ? "the daemon has no descriptors left" : why;
	return error;
}

int peer_identify(int fd, struct peer *ret_peer, const char **ret_why)
{
	struct process_stat stat = {0};
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	_cleanup_close_ int pidfd = -1;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return refuse(-errno, "the kernel does not say who connected", ret_why);
	if (credentials.pid <= 0)
		return refuse(-ESRCH,
			      "the game's process is not visible in the daemon's pid namespace",
			      ret_why);
	pidfd = peer_pidfd(fd, &credentials);
	if (pidfd < 0 && pidfd != -ESRCH)
		return refuse(pidfd, "the game's process cannot be watched", ret_why);
	r = process_stat(credentials.pid, &stat);
	if (r < 0 && r != -ESRCH)
		return refuse(r, "the daemon may not read /proc/PID/stat of the game", ret_why);
	*ret_peer = (struct peer){
		.pid = credentials.pid,
		.uid = credentials.uid,
		.start = pidfd >= 0 && still_exists(pidfd) ? stat.start : 0,
		.pidfd = pidfd >= 0 ? util_take_fd(&pidfd) : -1,
	};
	return 0;
}

void peer_deinit(struct peer *peer)
{
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

int peer_open(int32_t pid, uint64_t start, struct peer *ret_peer)
{
	_cleanup_close_ int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
	struct process_stat stat;
	uint32_t uid;

	if (pidfd < 0 || process_stat(pid, &stat) < 0 || stat.start != start ||
	    process_uid(pid, &uid) < 0)
		return -ESRCH;
	*ret_peer = (struct peer){
		.pid = pid, .uid = uid, .start = start, .pidfd = util_take_fd(&pidfd)};
	return 0;
}

bool peer_exists(const struct peer *peer)
{
	struct process_stat stat;

	return process_stat(peer->pid, &stat) == 0 && stat.start == peer->start;
}

static void end_from_wait_status(int status, struct peer_end *ret_end)
{
	*ret_end = (struct peer_end){
		.known = true,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
	};
}

/* May we read the exit code of a zombie? The kernel shows 0 to those who may not. */
static bool may_trace(const struct peer *peer)
{
	return geteuid() == 0 || geteuid() == peer->uid;
}

/* After its parent has waited. 1: told; 0: not yet; -errno: this kernel never tells. */
static int end_from_pidfd(int pidfd, struct peer_end *ret_end)
{
	struct pidfd_info_64 info = {.mask = PIDFD_INFO_EXIT_BIT};

	if (ioctl(pidfd, PIDFD_GET_INFO_64, &info) < 0)
		return -errno;
	if (!(info.mask & PIDFD_INFO_EXIT_BIT))
		return 0;
	end_from_wait_status(info.exit_code, ret_end);
	return 1;
}

int peer_end(const struct peer *peer, struct peer_end *ret_end)
{
	struct process_stat stat;
	bool zombie;
	int r;

	*ret_end = (struct peer_end){0};
	if (peer->pidfd < 0)
		return 0;
	/* In this order: a zombie that vanishes after the look at it has been waited for. */
	zombie = process_stat(peer->pid, &stat) == 0 && stat.start == peer->start &&
		 stat.state == 'Z';
	if (zombie && may_trace(peer)) {
		end_from_wait_status(stat.exit_code, ret_end);
		return 0;
	}
	r = end_from_pidfd(peer->pidfd, ret_end);
	return r == 0 && zombie ? -EAGAIN : 0;
}

void peer_end_text(const struct peer_end *end, char *text, size_t size)
{
	const char *name = end->signal ? sigabbrev_np(end->signal) : NULL;

	if (!end->known)
		snprintf(text, size, "exit status unknown");
	else if (end->signal)
		snprintf(text, size, name ? "killed by signal %d (SIG%s)" : "killed by signal %d",
			 end->signal, name);
	else if (end->status)
		snprintf(text, size, "exit status %d", end->status);
	else
		snprintf(text, size, "exit");
}
