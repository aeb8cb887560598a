/* SPDX-License-Identifier: MIT */
/* What a recording needs to be compared with another: the machine and its settings right now. */
#ifndef FPROF_DAEMON_MACHINE_H
#define FPROF_DAEMON_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
	char kernel[160];     /* "Linux 6.1.0-28-amd64" */
	char cpu[160];	      /* model; "" when unknown, as all below */
	unsigned cpus;	      /* online */
	uint64_t tick_ns;     /* of the scheduler: 4,000,000 at 250 Hz */
	char governor[64];    /* cpufreq governors, comma-separated when they differ */
	int turbo;	      /* 1, 0, or -1: unknown */
	char gpu[256];	      /* "NVIDIA H200; Intel GPU 8086:9a49" */
	char gpu_driver[256]; /* "nvidia 550.54.14; i915", in the same order */
};

/* Reads <root>/proc and <root>/sys; root is "" but in tests. Any thread, some ms. */
void machine_read(const char *root, struct machine *ret_machine);

#endif
