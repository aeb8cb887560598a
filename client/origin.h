/* SPDX-License-Identifier: MIT */
/* For the preload hook, which contains this library: whose memory and whose marks these are. */
#ifndef FPROF_CLIENT_ORIGIN_H
#define FPROF_CLIENT_ORIGIN_H

#include "fprof/layout.h"

#include <stdbool.h>

/* What the memory of this process says of its maker; before the first event. Default: GAME. */
void client_origin_set(enum fprof_origin origin);
/* fprof_frame_mark() by the hook. The two origins count apart; the daemon chooses. */
void client_mark(enum fprof_origin origin);

/* Has this process marked a frame, whoever did? Does the main stream (either's) belong to the
 * calling thread? Any thread; neither makes a session. */
bool client_has_marked(void);
bool client_marks_here(void);

#endif
