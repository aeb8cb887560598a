/* SPDX-License-Identifier: MIT */
/* The scheduler's source: sched.bpf.c, and which processes it writes for. */
#ifndef FPROF_PROBE_SCHED_H
#define FPROF_PROBE_SCHED_H

#include "source.h"

extern const struct source_kind sched_kind;

#endif
