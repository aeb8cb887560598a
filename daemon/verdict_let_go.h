/* SPDX-License-Identifier: MIT */
/* In which zone those were who let go of the locks that frames waited for. */
#ifndef FPROF_DAEMON_VERDICT_LET_GO_H
#define FPROF_DAEMON_VERDICT_LET_GO_H

#include "verdict_range.h"

/* Sets zone of each let_go, which has its track: the name of the innermost one that was open as it
 * let go, the range's. Of a thread that recorded none then, or whose events of that moment are
 * lost, it stays NULL. 0 or -errno. */
int verdict_let_go_zones(struct history *h, const struct range *range, verdicts_vec *verdicts);

#endif
