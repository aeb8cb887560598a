/* SPDX-License-Identifier: MIT */
/*
 * Where the Vulkan drivers of a process have their vkQueuePresentKHR: fprof-vulkan loads and asks
 * them, with the rights of the process's user. Any thread.
 */
#ifndef FPROF_DAEMON_VULKAN_DRIVER_H
#define FPROF_DAEMON_VULKAN_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* In a file, as /proc/PID/maps names it. */
struct vulkan_place {
	uint32_t major, minor;
	uint64_t inode, offset;
};

/* How many places, at most max; 0: none, and *ret_why (static) says why. Takes up to some seconds.
 * uid: whose process it is. */
size_t vulkan_driver_find(int32_t pid, uint32_t uid, struct vulkan_place *places, size_t max,
			  const char **ret_why);

#endif
