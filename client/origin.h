/* SPDX-License-Identifier: MIT */
/* For the preload hook, which contains this library: whose memory and whose marks these are. */
#ifndef FPROF_CLIENT_ORIGIN_H
#define FPROF_CLIENT_ORIGIN_H

#include "fprof/layout.h"

/* What the memory of this process says of its maker; before the first event. Default: GAME. */
void client_origin_set(enum fprof_origin origin);
/* fprof_frame_mark() by the hook. The two origins count apart; the daemon chooses. */
void client_mark(enum fprof_origin origin);

#endif
