/* SPDX-License-Identifier: MIT */
/* Which fiber a thread runs. */
#ifndef FPROF_CLIENT_FIBER_H
#define FPROF_CLIENT_FIBER_H

#include "session.h"

/* Says again which fiber w runs: it was switched to while nothing was written. Caller holds w. */
void fiber_announce(struct session *s, struct fprof_writer *w);

#endif
