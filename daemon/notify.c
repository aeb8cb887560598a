// SPDX-License-Identifier: MIT
/*
 * sd_notify(3) and sd_listen_fds(3), as far as the daemon needs them: one datagram to a Unix socket
 * whose name may be abstract (@), and descriptors from 3 on that are ours when LISTEN_PID is.
 */
#include "notify.h"

#include "log.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LISTEN_FDS_FIRST 3
#define LISTEN_FDS_MAX	 64

int notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	socklen_t bytes;

	if (!path || !path[0])
		return 0;
	if ((path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(address.sun_path))
		return -EINVAL;
	strcpy(address.sun_path, path);
	bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, bytes) < 0)
		return -errno;
	return 1;
}

/* A variable that holds a whole number, else 0. */
static unsigned long long number_from(const char *variable)
{
	const char *value = getenv(variable);
	char *end;
	unsigned long long n;

	if (!value || value[0] < '0' || value[0] > '9')
		return 0;
	errno = 0;
	n = strtoull(value, &end, 10);
	return *end || errno ? 0 : n;
}

uint64_t notify_watchdog_ns(void)
{
	unsigned long long us = number_from("WATCHDOG_USEC");

	if (getenv("WATCHDOG_PID") && number_from("WATCHDOG_PID") != (unsigned long long)getpid())
		return 0;
	return us > UINT64_MAX / 1000u ? 0 : us * 1000u;
}

static bool option_is(int fd, int option, int expected)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

static bool is_ours(int fd)
{
	return option_is(fd, SO_DOMAIN, AF_UNIX) && option_is(fd, SO_TYPE, SOCK_SEQPACKET) &&
	       option_is(fd, SO_ACCEPTCONN, 1);
}

static int prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return fd;
}

int notify_listen_fd(void)
{
	bool mine = number_from("LISTEN_PID") == (unsigned long long)getpid();
	unsigned long long count = mine ? number_from("LISTEN_FDS") : 0;
	int fd, found = -1;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (count == 0)
		return -ENOENT;
	for (fd = LISTEN_FDS_FIRST; fd < LISTEN_FDS_FIRST + (int)MIN(count, LISTEN_FDS_MAX); fd++) {
		if (found < 0 && is_ours(fd)) {
			found = fd;
			continue;
		}
		log_warning("descriptor %d from the service manager is no listening Unix "
			    "SOCK_SEQPACKET socket that is needed, ignoring it",
			    fd);
		close(fd);
	}
	if (found < 0) {
		log_error("the service manager passed no listening Unix SOCK_SEQPACKET socket");
		return -EINVAL;
	}
	return prepare(found);
}
