/* SPDX-License-Identifier: MIT */
/*
 * Games that are watched from outside: frame marks from probes on their present functions, which
 * fprof-probe puts there, written into a memory of ours (stand_in.h) that is drained like a game's.
 * A thread reads the kernel's events while something is attached, and sleeps else.
 *
 * An attachment is named by its session. It ends with the game, with fprofd, when it is asked to,
 * and when the game runs another program or begins to record itself.
 */
#ifndef FPROF_DAEMON_ATTACH_H
#define FPROF_DAEMON_ATTACH_H

#include "drain.h"
#include "listen.h"
#include "loop_call.h"
#include "status.h"
#include "util.h"

#include <stdint.h>

struct attach;

/* On the loop's thread, before it runs. 0 or -errno. */
int attach_new(struct drain *drain, struct listen *listen, struct loop_calls *calls,
	       struct status *status, struct attach **ret_attach);
/* On the same thread, after the loop has ended and calls were stopped: detaches all; nothing can be
 * attached from here on. NULL is fine. */
void attach_stop(struct attach *attach);
void attach_free(struct attach *attach); /* NULL is fine */

struct attach_view {
	uint64_t session;
	int32_t pid;
	uint32_t uid;
	uint32_t functions; /* present_functions that it has, a bit each */
	const char *unseen; /* static: frames that cannot be seen, and why; NULL: none are known */
	uint64_t frames;
	uint64_t lost; /* events that the kernel had no room for */
};

/* Why not. */
struct attach_failure {
	uint64_t session; /* -EEXIST: as which it is recorded */
	char reason[192]; /* English */
	char fix[192];	  /* a command that would help, or "" */
};

/*
 * Attaches to a process; may take seconds. 0; -ESRCH: there is none; -EEXIST: it is recorded
 * already; -ENOENT: it has no present function; -EACCES: the helper may not; -EBUSY, -ENOSPC: too
 * many; -EOPNOTSUPP: kernel programs cannot be had here. Any thread but the loop's, as the next.
 */
int attach_add(struct attach *attach, int32_t pid, struct attach_view *ret_view,
	       struct attach_failure *ret_failure);
/* 0 or -ENOENT: there is no such attachment of uid (HISTORY_ANY_UID: of anybody). */
int attach_remove(struct attach *attach, uint64_t session, uint32_t uid);

typedef VEC(struct attach_view) attach_views;
/* Those of uid, oldest first: 0 or -ENOMEM. Any thread. */
int attach_list(struct attach *attach, uint32_t uid, attach_views *ret_views);

#endif
