/* SPDX-License-Identifier: MIT */
/* Fake graphics libraries: functions with the real names that only note how they were called. */
#ifndef FPROF_TESTS_FAKE_H
#define FPROF_TESTS_FAKE_H

#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

/* What the last call of each kind had for arguments, and how many calls there were. */
struct fake_log {
	unsigned swaps, presents, acquires, fences, semaphores, finishes;
	uint64_t arguments[6];
};

/* A Vulkan handle: its first word says which of the two drivers it belongs to, as the loader's do.
 */
struct fake_handle {
	const void *dispatch;
	unsigned driver; /* 0 or 1 */
};

#endif
