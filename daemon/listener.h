/* SPDX-License-Identifier: MIT */
/* The sockets that the HTTP server listens on. */
#ifndef FPROF_DAEMON_LISTENER_H
#define FPROF_DAEMON_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Binds and listens on address ("127.0.0.1", "::1", "localhost", any of this machine) and port (0:
 * a free one). *ret_exposed: others than this machine can reach it. -errno after saying in the log
 * what is wrong; the fd is the caller's.
 */
int listener_tcp(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
		 bool *ret_exposed);
/* Listens on a Unix socket; a stale file is replaced, that of a living daemon is not (-EADDRINUSE).
 */
int listener_unix(const char *path, unsigned mode, int *ret_fd);

#endif
