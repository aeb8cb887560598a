/* SPDX-License-Identifier: MIT */
/* The source of presents: present.bpf.c on the functions (functions.h) of attached processes. */
#ifndef FPROF_PROBE_PRESENT_H
#define FPROF_PROBE_PRESENT_H

#include "source.h"

extern const struct source_kind present_kind;

#endif
