/* SPDX-License-Identifier: MIT */
/*
 * Sockets are made here and not by the HTTP library, so that the reason of a failure reaches the
 * log with what to do about it.
 */
#include "listener.h"

#include "access.h"
#include "log.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 64

static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret,
			 socklen_t *ret_bytes)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (!strcmp(address, "localhost"))
		address = "127.0.0.1";
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		*ret_bytes = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		*ret_bytes = sizeof(*in6);
		return 0;
	}
	return -EINVAL;
}

/* Keeps the cleanup from closing it. */
static int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static void say_bind_error(const char *address, uint16_t port, int error)
{
	if (error == EADDRINUSE)
		log_error("http: port %u of %s is taken by another program; "
			  "choose one with --http ADDR:PORT (port 0: any free one)",
			  port, address);
	else
		log_error("http: cannot listen on %s port %u: %s", address, port, strerror(error));
}

int listener_tcp(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
		 bool *ret_exposed)
{
	struct sockaddr_storage at;
	_cleanup_close_ int fd = -1;
	socklen_t bytes;
	int one = 1, rc = parse_address(address, port, &at, &bytes);

	if (rc < 0) {
		log_error("http: %s is no IPv4 or IPv6 address", address);
		return rc;
	}
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		goto failed;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, bytes) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		goto failed;
	*ret_exposed = !access_is_loopback((struct sockaddr *)&at);
	*ret_port = ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
						  : ((struct sockaddr_in6 *)&at)->sin6_port);
	*ret_fd = take_fd(&fd);
	return 0;
failed:
	rc = -errno;
	say_bind_error(address, port, -rc);
	return rc;
}

static bool someone_listens(const struct sockaddr_un *at)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
}

int listener_unix(const char *path, unsigned mode, int *ret_fd)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	int rc;

	if (strlen(path) >= sizeof(at.sun_path)) {
		log_error("http: the path %s is too long for a socket (%zu bytes at most)", path,
			  sizeof(at.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(at.sun_path, path);
	if (someone_listens(&at)) {
		log_error("http: another fprofd listens on %s", path);
		return -EADDRINUSE;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || chmod(path, mode) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		rc = -errno;
		log_error("http: cannot listen on %s: %s", path, strerror(-rc));
		return rc;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}
