/* SPDX-License-Identifier: MIT */
/* The connection to the daemon: a socket for the handshake, and the daemon's control page. */
#ifndef FPROF_CLIENT_CONNECTION_H
#define FPROF_CLIENT_CONNECTION_H

#include "fprof/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

#define LINK_PATHS	2
#define LINK_PATH_BYTES 108 /* what a socket address holds, NUL included */

enum link_state {
	LINK_NONE = 0, /* no daemon; looked for once a second */
	LINK_PENDING,  /* the hello is sent */
	LINK_UP,       /* welcomed; the control page is mapped */
	LINK_OVER,     /* for good: goodbye said, or our descriptors are gone */
};

struct link {
	uint32_t busy;	     /* a try-lock around all below */
	uint32_t state;	     /* enum link_state */
	uint32_t recording;  /* what the link says: record? */
	uint32_t ordered;    /* enum fprof_record_state, by the daemon that was last there */
	uint32_t gate;	     /* zones with level < gate */
	uint32_t generation; /* of the control page, as last taken over; 0: never */
	uint32_t bye;	     /* say goodbye and stop */
	uint32_t waits;	     /* `fprof run`: a daemon is to come, record until then */
	uint64_t connects;
	uint64_t rounds;   /* looks for a daemon */
	uint64_t retry_ns; /* no connect() before */
	uint64_t check_ns; /* no look at the heartbeat before */
	uint64_t beat_ns;  /* when the heartbeat last moved */
	uint64_t beat;
	const struct fprof_control *control;
	uint32_t control_bytes; /* that are mapped */
	uint32_t pad;
	char paths[LINK_PATHS][LINK_PATH_BYTES]; /* where the daemon may listen; "": nowhere */
	char name[64];				 /* $FPROF_NAME */
};

/* Takes the environment over. Records at once where `fprof run` asks for it. */
void link_init(struct link *link);
/* One look; at a boundary the daemon's orders are taken over. Returns whether recording, gate or
 * state may have changed. Caller holds link->busy. */
bool link_poll(struct session *s, uint64_t now_ns, bool boundary);
/* Says goodbye. Caller holds link->busy. */
void link_bye(struct session *s);

#endif
