// SPDX-License-Identifier: MIT
/*
 * A fake Vulkan loader with two drivers. The exported functions dispatch by the handle, as the real
 * loader's do; vkGetDeviceProcAddr gives out the driver's own function, which answers for its own
 * handles only.
 */
#include "fake.h"

#include <stddef.h>
#include <string.h>

#define VK_NOT_MINE (-13) /* VK_ERROR_UNKNOWN: the handle belongs to the other driver */

typedef void (*vk_fn)(void);

FAKE_API struct fake_log fake_vulkan_log[2];
FAKE_API int fake_vulkan_result; /* what a present answers */

FAKE_API vk_fn vkGetInstanceProcAddr(void *instance, const char *name);
FAKE_API vk_fn vkGetDeviceProcAddr(void *device, const char *name);
FAKE_API int vkQueuePresentKHR(void *queue, const void *info);
FAKE_API int vkAcquireNextImageKHR(void *device, uint64_t swapchain, uint64_t timeout,
				   uint64_t semaphore, uint64_t fence, uint32_t *index);
FAKE_API int vkWaitForFences(void *device, uint32_t count, const void *fences, uint32_t all,
			     uint64_t timeout);

FAKE_API int vkWaitSemaphores(void *device, const void *info, uint64_t timeout);
FAKE_API int vkWaitSemaphoresKHR(void *device, const void *info, uint64_t timeout);

static unsigned driver_of(const void *handle)
{
	return ((const struct fake_handle *)handle)->driver;
}

static int driver_present(unsigned driver, const void *queue)
{
	if (driver_of(queue) != driver)
		return VK_NOT_MINE;
	fake_vulkan_log[driver].presents++;
	return fake_vulkan_result;
}

static int driver0_present(void *queue, const void *info)
{
	(void)info;
	return driver_present(0, queue);
}

static int driver1_present(void *queue, const void *info)
{
	(void)info;
	return driver_present(1, queue);
}

int vkQueuePresentKHR(void *queue, const void *info)
{
	return driver_of(queue) == 0 ? driver0_present(queue, info) : driver1_present(queue, info);
}

int vkAcquireNextImageKHR(void *device, uint64_t swapchain, uint64_t timeout, uint64_t semaphore,
			  uint64_t fence, uint32_t *index)
{
	struct fake_log *log = &fake_vulkan_log[driver_of(device)];

	log->acquires++;
	log->arguments[1] = swapchain;
	log->arguments[2] = timeout;
	log->arguments[3] = semaphore;
	log->arguments[4] = fence;
	*index = 3;
	return 0;
}

int vkWaitForFences(void *device, uint32_t count, const void *fences, uint32_t all,
		    uint64_t timeout)
{
	(void)fences;
	(void)all;
	fake_vulkan_log[driver_of(device)].fences++;
	fake_vulkan_log[driver_of(device)].arguments[1] = count;
	fake_vulkan_log[driver_of(device)].arguments[4] = timeout;
	return 2; /* VK_TIMEOUT */
}

int vkWaitSemaphores(void *device, const void *info, uint64_t timeout)
{
	struct fake_log *log = &fake_vulkan_log[driver_of(device)];

	log->semaphores++;
	log->arguments[1] = (uint64_t)(uintptr_t)info;
	log->arguments[2] = timeout;
	return 2; /* VK_TIMEOUT */
}

int vkWaitSemaphoresKHR(void *device, const void *info, uint64_t timeout)
{
	return vkWaitSemaphores(device, info, timeout);
}

vk_fn vkGetDeviceProcAddr(void *device, const char *name)
{
	if (strcmp(name, "vkGetDeviceProcAddr") == 0)
		return (vk_fn)vkGetDeviceProcAddr;
	if (strcmp(name, "vkQueuePresentKHR") == 0)
		return driver_of(device) == 0 ? (vk_fn)driver0_present : (vk_fn)driver1_present;
	if (strcmp(name, "vkAcquireNextImageKHR") == 0)
		return (vk_fn)vkAcquireNextImageKHR;
	if (strcmp(name, "vkWaitForFences") == 0)
		return (vk_fn)vkWaitForFences;
	if (strcmp(name, "vkWaitSemaphores") == 0)
		return (vk_fn)vkWaitSemaphores;
	return NULL;
}

vk_fn vkGetInstanceProcAddr(void *instance, const char *name)
{
	(void)instance;
	if (strcmp(name, "vkGetInstanceProcAddr") == 0)
		return (vk_fn)vkGetInstanceProcAddr;
	if (strcmp(name, "vkQueuePresentKHR") == 0)
		return (vk_fn)vkQueuePresentKHR;
	if (strcmp(name, "vkGetDeviceProcAddr") == 0)
		return (vk_fn)vkGetDeviceProcAddr;
	return NULL;
}
