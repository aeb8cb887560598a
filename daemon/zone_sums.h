/* SPDX-License-Identifier: MIT */
/* A zone tree of a session of sums (aggregate.h): nodes without samples, of one track. */
#ifndef FPROF_DAEMON_ZONE_SUMS_H
#define FPROF_DAEMON_ZONE_SUMS_H

#include "zone_tree.h"

/* Adds up the range's frames. The range's markers become the names of the nodes; the root's is
 * empty. 0, -E2BIG, -EIO, -ENOMEM. */
int zone_sums_read(struct history *h, struct range *range, struct zone_tree *ret_tree);

#endif
