/* SPDX-License-Identifier: MIT */
/*
 * The clock of the rings: the CPU's counter where it runs at one rate on all CPUs, else
 * CLOCK_MONOTONIC. Reads are unfenced: two reads on one thread are in order, on two threads they
 * may be off by some tens of ns.
 */
#ifndef FPROF_SHM_CLOCK_H
#define FPROF_SHM_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__)
#define FPROF_HAVE_COUNTER 1
static inline uint64_t fprof_counter(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define FPROF_HAVE_COUNTER 1
static inline uint64_t fprof_counter(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#else
#define FPROF_HAVE_COUNTER 0
static inline uint64_t fprof_counter(void)
{
	return 0;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
