/* SPDX-License-Identifier: MIT */
/* The source "pmu": whether the machine has hardware counters. */
#ifndef FPROF_DAEMON_PMU_H
#define FPROF_DAEMON_PMU_H

#include "status.h"

/* Says what there is. This version reads none of them. */
void pmu_tell(struct status *status);

#endif
