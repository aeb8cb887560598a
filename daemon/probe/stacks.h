/* SPDX-License-Identifier: MIT */
/* The stacks source: stacks.bpf.c, and the clock events that it hangs on. */
#ifndef FPROF_PROBE_STACKS_H
#define FPROF_PROBE_STACKS_H

#include "source.h"

extern const struct source_kind stacks_kind;

#endif
