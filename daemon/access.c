/* SPDX-License-Identifier: MIT */
/*
 * A browser tab on any page can reach a port on loopback, and so can every user of the machine. The
 * first is kept out by the names: the Host header must be one of ours, an Origin must be our own
 * page. The second is told apart by asking the kernel which user owns the socket at the other end
 * (NETLINK_SOCK_DIAG), at accept: later the peer may be gone, and a closed socket reads as uid 0.
 * No inode or any error means "not known", and then only the token helps. The kernel answers for
 * any user's socket without privilege.
 */
#include "access.h"

#include "history.h"
#include "log.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Is host name, in brackets when it has colons, with :port or (bare) without? */
static bool host_is(const char *host, const char *name, uint16_t port, bool bare)
{
	char want[INET6_ADDRSTRLEN + 260];
	bool v6 = strchr(name, ':') != NULL;
	int n;

	n = snprintf(want, sizeof(want), "%s%s%s", v6 ? "[" : "", name, v6 ? "]" : "");
	if (n < 0 || (size_t)n + 8 > sizeof(want))
		return false;
	if (bare && !strcasecmp(host, want))
		return true;
	snprintf(want + n, sizeof(want) - (size_t)n, ":%u", (unsigned)port);
	return !strcasecmp(host, want);
}

static bool host_allowed(const char *host, const char *address, const char *local, uint16_t port,
			 bool bare)
{
	return host_is(host, "127.0.0.1", port, bare) || host_is(host, "localhost", port, bare) ||
	       host_is(host, "::1", port, bare) || host_is(host, address, port, bare) ||
	       (local && host_is(host, local, port, bare));
}

bool access_host_ok(const char *host, const char *address, const char *local, uint16_t port)
{
	return host && host_allowed(host, address, local, port, true);
}

bool access_origin_ok(const char *origin, const char *address, const char *local, uint16_t port)
{
	if (!origin)
		return true;
	if (strncasecmp(origin, "http://", 7) != 0)
		return false;
	return host_allowed(origin + 7, address, local, port, port == 80);
}

bool access_site_ok(const char *site)
{
	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
}

enum access_token access_token_check(const char *authorization, const char *token)
{
	unsigned char differ = 0;
	size_t i;

	if (!authorization)
		return ACCESS_TOKEN_NONE;
	if (strncasecmp(authorization, "Bearer ", 7) != 0 ||
	    strlen(authorization + 7) != ACCESS_TOKEN_CHARS)
		return ACCESS_TOKEN_WRONG;
	for (i = 0; i < ACCESS_TOKEN_CHARS; i++)
		differ |= (unsigned char)(authorization[7 + i] ^ token[i]);
	return differ ? ACCESS_TOKEN_WRONG : ACCESS_TOKEN_RIGHT;
}

int access_scope(const struct access_peer *peer, enum access_token token, bool exposed,
		 uint32_t daemon_uid, uint32_t *ret_uid)
{
	if (token == ACCESS_TOKEN_WRONG)
		return -EACCES;
	if (token == ACCESS_TOKEN_RIGHT) {
		*ret_uid = HISTORY_ANY_UID;
		return 0;
	}
	if (exposed || !peer->known)
		return -EACCES;
	*ret_uid = peer->uid == 0 && daemon_uid == 0 ? HISTORY_ANY_UID : peer->uid;
	return 0;
}

bool access_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)address;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)address;

		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	}
	return false;
}

static int fill_ends(struct inet_diag_sockid *id, const struct sockaddr *peer,
		     const struct sockaddr *local)
{
	if (peer->sa_family == AF_INET && local->sa_family == AF_INET) {
		const struct sockaddr_in *p = (const void *)peer, *l = (const void *)local;

		id->idiag_sport = p->sin_port;
		id->idiag_dport = l->sin_port;
		memcpy(id->idiag_src, &p->sin_addr, sizeof(p->sin_addr));
		memcpy(id->idiag_dst, &l->sin_addr, sizeof(l->sin_addr));
	} else if (peer->sa_family == AF_INET6 && local->sa_family == AF_INET6) {
		const struct sockaddr_in6 *p = (const void *)peer, *l = (const void *)local;

		id->idiag_sport = p->sin6_port;
		id->idiag_dport = l->sin6_port;
		memcpy(id->idiag_src, &p->sin6_addr, sizeof(p->sin6_addr));
		memcpy(id->idiag_dst, &l->sin6_addr, sizeof(l->sin6_addr));
	} else {
		return -EAFNOSUPPORT;
	}
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return 0;
}

static int read_answer(int fd, const struct inet_diag_sockid *id, uint32_t *ret_uid)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} buf;
	struct inet_diag_msg msg;
	struct nlmsgerr error;
	ssize_t n = recv(fd, &buf, sizeof(buf), 0);

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(&buf.head, (size_t)n))
		return -EPROTO;
	if (buf.head.nlmsg_type == NLMSG_ERROR &&
	    buf.head.nlmsg_len >= NLMSG_LENGTH(sizeof(error))) {
		memcpy(&error, NLMSG_DATA(&buf.head), sizeof(error));
		return error.error < 0 ? error.error : -EPROTO;
	}
	if (buf.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    buf.head.nlmsg_len < NLMSG_LENGTH(sizeof(msg)))
		return -EPROTO;
	memcpy(&msg, NLMSG_DATA(&buf.head), sizeof(msg));
	if (msg.id.idiag_sport != id->idiag_sport || msg.id.idiag_dport != id->idiag_dport ||
	    !msg.idiag_inode)
		return -ENOENT;
	*ret_uid = msg.idiag_uid;
	return 0;
}

int access_socket_uid(const struct sockaddr *peer, const struct sockaddr *local, uint32_t *ret_uid)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 diag;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.diag = {.sdiag_family = (uint8_t)peer->sa_family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX},
	};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	_cleanup_close_ int fd = -1;
	int rc = fill_ends(&ask.diag.id, peer, local);

	if (rc < 0)
		return rc;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return -errno;
	if (sendto(fd, &ask, sizeof(ask), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return read_answer(fd, &ask.diag.id, ret_uid);
}

void access_peer(int fd, struct access_peer *ret_peer)
{
	struct sockaddr_storage peer = {0}, local = {0};
	socklen_t peer_bytes = sizeof(peer), local_bytes = sizeof(local);
	struct ucred cred;
	socklen_t cred_bytes = sizeof(cred);

	*ret_peer = (struct access_peer){0};
	if (getsockname(fd, (struct sockaddr *)&local, &local_bytes) < 0)
		return;
	if (local.ss_family == AF_UNIX) {
		ret_peer->known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_bytes) == 0;
		ret_peer->uid = ret_peer->known ? cred.uid : 0;
		return;
	}
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) < 0 ||
	    !access_is_loopback((struct sockaddr *)&peer))
		return;
	ret_peer->known = access_socket_uid((struct sockaddr *)&peer, (struct sockaddr *)&local,
					    &ret_peer->uid) == 0;
}

static int token_read(const char *path, char *token)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077) {
		log_warning("%s could be read by others: making a new token", path);
		return -EPERM;
	}
	n = read(fd, token, ACCESS_TOKEN_CHARS);
	if (n < 0)
		return -errno;
	token[n] = '\0';
	if (strspn(token, "0123456789abcdef") != ACCESS_TOKEN_CHARS)
		return -EINVAL;
	return 0;
}

static int token_write(const char *path, const char *token)
{
	char temporary[4096];
	_cleanup_close_ int fd = -1;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.new", path) >= sizeof(temporary))
		return -ENAMETOOLONG;
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", token) != ACCESS_TOKEN_CHARS + 1 || rename(temporary, path) < 0) {
		unlink(temporary);
		return -EIO;
	}
	return 0;
}

int access_token_load(const char *state_dir, char ret_token[ACCESS_TOKEN_CHARS + 1])
{
	char path[4000];
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/token", state_dir) < sizeof(path) &&
	    token_read(path, ret_token) == 0)
		return 0;
	r = util_random_hex(ret_token, ACCESS_TOKEN_CHARS);
	if (r == 0)
		return token_write(path, ret_token);
	memset(ret_token, 0, ACCESS_TOKEN_CHARS + 1); /* matches no header */
	return r;
}
