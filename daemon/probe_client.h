/* SPDX-License-Identifier: MIT */
/*
 * The connection to fprof-probe, the privileged helper. A request waits for its answer, for some
 * seconds at most: callers are threads that may. A helper that does not answer is ended: what it
 * was asked for is not done later. One thread.
 */
#ifndef FPROF_DAEMON_PROBE_CLIENT_H
#define FPROF_DAEMON_PROBE_CLIENT_H

#include "probe/protocol.h"
#include "probe_ring.h"
#include "status.h"
#include "vulkan_driver.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROBE_SOCKET "/run/fprof-probe/probe.sock"

struct probe_client {
	int fd;			  /* -1: none */
	pid_t pid;		  /* of a helper that we started, 0: none */
	enum probe_source source; /* what it is opened for */
	struct status *status;	  /* told, as name, that an answer does not come */
	const char *name;
	int patience_ms;
	int cancel;		    /* an eventfd: nothing is waited for any more */
	bool hung;		    /* it did not answer */
	uint32_t found, unread;	    /* by the last add: see struct probe_answer */
	char reason[160], fix[160]; /* why not, after a failure */
};
void probe_client_init(struct probe_client *client, enum probe_source source, struct status *status,
		       const char *name);
void probe_client_deinit(struct probe_client *client);
void probe_client_close(struct probe_client *client);
/* Whoever waits for an answer, now or later, has -ECANCELED. Any thread. */
void probe_client_cancel(const struct probe_client *client);

/* Connects to the service, or starts a helper where we are root; loads the program; maps its
 * buffer. 0, or -errno with reason and fix. */
int probe_client_open(struct probe_client *client, struct probe_ring *ret_ring);
/* -EACCES, -ESRCH, ...; -ECONNRESET, -ETIMEDOUT: the helper is gone; -ECANCELED. */
int probe_client_add(struct probe_client *client, int32_t pid);
int probe_client_remove(struct probe_client *client, int32_t pid);
/* A process that was added has a vkQueuePresentKHR there. */
int probe_client_point(struct probe_client *client, int32_t pid, const struct vulkan_place *place);
/* Of PROBE_STACKS: samples the process from now on. *ret_maps: what it maps, to be read and closed;
 * -1: the helper may not see it. */
int probe_client_sample(struct probe_client *client, int32_t pid, uint64_t period_ns,
			int *ret_maps);
/* The file that the process maps as code there: a descriptor in *ret_fd. */
struct mapped_place;
int probe_client_file(struct probe_client *client, int32_t pid, const struct mapped_place *place,
		      int *ret_fd);
/* Is the helper still there? Asks nothing. */
bool probe_client_is_alive(const struct probe_client *client);
/* Why it is not. */
const char *probe_client_lost(const struct probe_client *client);
/* The command that shows what it said last: of the service, or of a child of ours, which says it
 * where we do. */
const char *probe_client_log(const struct probe_client *client);

#endif
