// SPDX-License-Identifier: MIT
/*
 * A Vulkan driver, as far as it takes to be asked for its vkQueuePresentKHR, which no symbol names.
 * Where there is a file `broken` beside it, it has no device.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>

static int object;

static int is_broken(void)
{
	char path[4096];
	Dl_info info;

	if (!dladdr(&object, &info))
		return 1;
	snprintf(path, sizeof(path), "%s", info.dli_fname);
	snprintf(strrchr(path, '/'), 8, "/broken");
	return access(path, F_OK) == 0;
}

static VkResult create_instance(const VkInstanceCreateInfo *info,
				const VkAllocationCallbacks *allocator, VkInstance *instance)
{
	(void)info;
	(void)allocator;
	*instance = (VkInstance)(void *)&object;
	return VK_SUCCESS;
}

static VkResult list_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices)
{
	(void)instance;
	*count = 1;
	*devices = (VkPhysicalDevice)(void *)&object;
	return VK_SUCCESS;
}

static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
			      const VkAllocationCallbacks *allocator, VkDevice *device)
{
	(void)physical;
	(void)info;
	(void)allocator;
	*device = (VkDevice)(void *)&object;
	return is_broken() ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

static VkResult present(VkQueue queue, const VkPresentInfoKHR *info)
{
	(void)queue;
	usleep(1000);
	return info ? VK_SUCCESS : VK_ERROR_SURFACE_LOST_KHR;
}

static PFN_vkVoidFunction device_function(VkDevice device, const char *name)
{
	(void)device;
	return strcmp(name, "vkQueuePresentKHR") == 0 ? (PFN_vkVoidFunction)present : NULL;
}

PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction function;
	} all[] = {{"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
		   {"vkEnumeratePhysicalDevices", (PFN_vkVoidFunction)list_devices},
		   {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
		   {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function}};
	size_t i;

	(void)instance;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(name, all[i].name) == 0)
			return all[i].function;
	return NULL;
}
