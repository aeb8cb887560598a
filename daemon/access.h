/* SPDX-License-Identifier: MIT */
/*
 * Who asks, and what may they see? Checks of the Host, Origin and Authorization headers (pure), the
 * uid at the other end of a connection, and the bearer token. Any thread.
 */
#ifndef FPROF_DAEMON_ACCESS_H
#define FPROF_DAEMON_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ACCESS_TOKEN_CHARS 64 /* 32 random bytes in hex */

/*
 * The names that a request may call us by: the loopback names, address (as configured) and local
 * (the address that this connection came to; may be NULL), each bare or with :port. Exact but for
 * case; anything else is a name that a stranger made to point here (DNS rebinding). host NULL:
 * false.
 */
bool access_host_ok(const char *host, const char *address, const char *local, uint16_t port);
/* http:// and one of the names above with our port. NULL (no such header): true. */
bool access_origin_ok(const char *origin, const char *address, const char *local, uint16_t port);
/* Sec-Fetch-Site: only from our own page or from the user. NULL: true. */
bool access_site_ok(const char *site);

enum access_token { ACCESS_TOKEN_NONE, ACCESS_TOKEN_RIGHT, ACCESS_TOKEN_WRONG };
/* Compares `Bearer TOKEN` in constant time. authorization NULL: none was given. */
enum access_token access_token_check(const char *authorization, const char *token);

struct access_peer {
	bool known; /* is uid what the kernel says? */
	uint32_t uid;
};
/*
 * What the caller may see: 0 and *ret_uid, which is HISTORY_ANY_UID for everything; -EACCES: a
 * token is needed. exposed: the server listens beyond loopback, so every request needs the token.
 */
int access_scope(const struct access_peer *peer, enum access_token token, bool exposed,
		 uint32_t daemon_uid, uint32_t *ret_uid);

bool access_is_loopback(const struct sockaddr *address);
/* The peer of an accepted connection: credentials of a Unix socket, sock_diag for TCP over
 * loopback. An unknown peer is no error. */
void access_peer(int fd, struct access_peer *ret_peer);
/* uid of the socket bound to peer and connected to local: 0, -ENOENT (no such socket, or
 * closed already: no inode), or another -errno. */
int access_socket_uid(const struct sockaddr *peer, const struct sockaddr *local, uint32_t *ret_uid);

/* Reads state_dir/token, or makes it (mode 0600). 0, or -errno with a random token that no one
 * knows. A token that others could read is replaced. */
int access_token_load(const char *state_dir, char ret_token[ACCESS_TOKEN_CHARS + 1]);

#endif
