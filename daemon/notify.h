/* SPDX-License-Identifier: MIT */
/*
 * The service manager's protocol, without its library: readiness, watchdog, inherited sockets.
 * The environment is read at each call; main thread.
 */
#ifndef FPROF_DAEMON_NOTIFY_H
#define FPROF_DAEMON_NOTIFY_H

#include <stdint.h>

/* Sends "READY=1" and the like to $NOTIFY_SOCKET. 1: sent; 0: nobody asked; -errno. */
int notify_send(const char *state);

/* How often the manager wants to hear WATCHDOG=1, in ns. 0: not at all. */
uint64_t notify_watchdog_ns(void);

/*
 * The listening SOCK_SEQPACKET Unix socket that the manager passed, made close-on-exec and
 * nonblocking; -ENOENT: none was passed. Others that were passed are closed, and that is said in
 * the log. -EINVAL when sockets were passed and none is of this kind (said). Clears the variables:
 * a child does not take them for its own.
 */
int notify_listen_fd(void);

#endif
