/* SPDX-License-Identifier: MIT */
/*
 * fprof-vulkan PID: where the Vulkan drivers that a process maps have their vkQueuePresentKHR.
 *
 * Games fetch it from the driver, which has it under no name. So the drivers are loaded here and
 * asked, as a game would ask them. They are whatever the process maps: this program becomes that
 * process's user first, and never has more rights than it.
 *
 * Prints a line for each function found: device and inode of its file, as in maps, and offset in
 * it. Exit status: 0 there is one, 1 there is none, 2 bad option.
 */
#include "daemon/probe/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>

#define DEVICES_MAX 16
#define CPU_SECONDS 10

typedef VkResult(VKAPI_PTR *negotiate_fn)(uint32_t *version);

/* Its user's rights, and little time. */
static bool become_owner(int process)
{
	const struct rlimit seconds = {CPU_SECONDS, CPU_SECONDS}, nothing = {0, 0};
	struct stat st;

	if (fstat(process, &st) < 0)
		return false;
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) ||
	     setresuid(st.st_uid, st.st_uid, st.st_uid) < 0))
		return false;
	return geteuid() == st.st_uid && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       setrlimit(RLIMIT_CPU, &seconds) == 0 && setrlimit(RLIMIT_CORE, &nothing) == 0;
}

/* Prints where in which file the code at an address is. */
static bool print_place(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	bool found = false;
	char line[PATH_MAX + 128];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %" SCNx32 ":%" SCNx32
			   " %" SCNu64,
			   &start, &end, &offset, &major, &minor, &inode) != 6 ||
		    address < start || address >= end || inode == 0)
			continue;
		printf("%" PRIx32 ":%" PRIx32 " %" PRIu64 " %" PRIu64 "\n", major, minor, inode,
		       address - start + offset);
		found = true;
	}
	if (maps)
		fclose(maps);
	return found;
}

static VkInstance make_instance(PFN_vkGetInstanceProcAddr get)
{
	static const char *const extensions[] = {VK_KHR_SURFACE_EXTENSION_NAME};
	const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
					   .enabledExtensionCount = 1,
					   .ppEnabledExtensionNames = extensions};
	PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
	VkInstance instance = NULL;

	return create && create(&info, NULL, &instance) == VK_SUCCESS ? instance : NULL;
}

static VkDevice make_device(PFN_vkGetInstanceProcAddr get, VkInstance instance,
			    VkPhysicalDevice physical)
{
	static const char *const extensions[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
	static const float priority = 1;
	const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					       .queueCount = 1,
					       .pQueuePriorities = &priority};
	const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
					 .queueCreateInfoCount = 1,
					 .pQueueCreateInfos = &queue,
					 .enabledExtensionCount = 1,
					 .ppEnabledExtensionNames = extensions};
	PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(instance, "vkCreateDevice");
	VkDevice device = NULL;

	return create && create(physical, &info, NULL, &device) == VK_SUCCESS ? device : NULL;
}

static bool ask_device(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device)
{
	PFN_vkGetDeviceProcAddr lookup =
		(PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr");
	PFN_vkVoidFunction present = lookup ? lookup(device, "vkQueuePresentKHR") : NULL;

	return present && print_place((uintptr_t)present);
}

/* All devices of a driver have the same function: the first that can be had. */
static bool ask_driver(PFN_vkGetInstanceProcAddr get)
{
	VkInstance instance = make_instance(get);
	VkPhysicalDevice physical[DEVICES_MAX];
	PFN_vkEnumeratePhysicalDevices list;
	uint32_t count = DEVICES_MAX, i;
	VkDevice device = NULL;
	VkResult r;

	if (!instance)
		return false;
	list = (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
	r = list ? list(instance, &count, physical) : VK_ERROR_UNKNOWN;
	if (r != VK_SUCCESS && r != VK_INCOMPLETE)
		return false;
	for (i = 0; i < count && !device; i++)
		device = make_device(get, instance, physical[i]);
	return device && ask_device(get, instance, device);
}

/* By its own path where that is the same file here: it may look for others beside it. */
static void *load(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat ours, theirs;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		if (stat(path, &ours) == 0 && fstat(fd, &theirs) == 0 &&
		    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
			return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return dlopen(link, RTLD_NOW | RTLD_LOCAL);
}

static bool ask_file(int fd)
{
	void *library = load(fd);
	PFN_vkGetInstanceProcAddr get;
	negotiate_fn negotiate;
	uint32_t version = 5;

	if (!library)
		return false;
	*(void **)&get = dlsym(library, "vk_icdGetInstanceProcAddr");
	*(void **)&negotiate = dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
	if (!get || (negotiate && negotiate(&version) != VK_SUCCESS))
		return false;
	return ask_driver(get);
}

int main(int argc, char **argv)
{
	struct symbols symbols = {0};
	char path[32];
	int process;
	bool found = false;
	size_t i;

	if (argc != 2 || atoi(argv[1]) <= 0) {
		fputs("Usage: fprof-vulkan PID\nPrint where the process's Vulkan drivers show a "
		      "frame, for fprofd.\n",
		      stderr);
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%d", atoi(argv[1]));
	process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process < 0 || !become_owner(process) || symbols_find(process, &symbols) < 0)
		return 1;
	for (i = 0; i < symbols.count; i++)
		if (symbols.points[i].function == SYMBOLS_DRIVER)
			found = ask_file(symbols.points[i].fd) || found;
	fflush(stdout);
	_exit(found ? 0 : 1); /* drivers' own threads and handlers are no concern */
}
