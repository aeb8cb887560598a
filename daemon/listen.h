/* SPDX-License-Identifier: MIT */
/*
 * The socket that games connect to: accept, hello, pidfd, goodbye. Runs on the loop; owns the
 * listening socket, one record a connection and one a live process. It maps memories and hands them
 * to the drain.
 */
#ifndef FPROF_DAEMON_LISTEN_H
#define FPROF_DAEMON_LISTEN_H

#include "config.h"
#include "drain.h"
#include "loop.h"
#include "status.h"
#include "store.h"

struct games;
struct listen;

/* fd: a listening socket from socket activation, or -1 to make one at config->socket_path (a
 * stale file is replaced, a living daemon's is not: -EADDRINUSE). */
int listen_new(struct loop *loop, const struct config *config, struct store *store,
	       struct drain *drain, struct status *status, int fd, struct listen **ret_listen);
void listen_free(struct listen *listen);
/* Takes max_sessions, memory_mib and ring_kib of a reloaded configuration, which must outlive
 * listen. */
void listen_set_config(struct listen *listen, const struct config *config);
/* The processes that are recorded, also those that never connected. As long as listen lives. */
struct games *listen_games(struct listen *listen);

#endif
