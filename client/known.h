/* SPDX-License-Identifier: MIT */
/* What a daemon that comes later has to be told again: the GPU queues, the session's infos, whether
 * it is loading. */
#ifndef FPROF_CLIENT_KNOWN_H
#define FPROF_CLIENT_KNOWN_H

#include "session.h"

/* Writes all of it, unless another thread just did. Caller holds w, which is recording. */
void known_announce(struct session *s, struct fprof_writer *w);

#endif
