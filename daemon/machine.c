// SPDX-License-Identifier: MIT
/*
 * Facts of the machine, each from one file of /proc or /sys. A fact that cannot be read stays
 * empty: a recording without it is worth more than none.
 *
 * NVIDIA's driver names its GPUs in /proc/driver/nvidia, also when the kernel mode setting is off
 * and /sys/class/drm has no card; other GPUs are known by card, PCI ids and driver.
 */
#include "machine.h"

#include "procfs.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#define TEXT_BYTES 4096

/* Appends "; item" to list; what does not fit is left out. */
static void list_add(char *list, size_t size, const char *separator, const char *item)
{
	size_t n = strlen(list);

	if (n + strlen(separator) + strlen(item) < size)
		snprintf(list + n, size - n, "%s%s", n ? separator : "", item);
}

static void read_cpu(const char *root, struct machine *m)
{
	char text[TEXT_BYTES];

	if (procfs_read(text, sizeof(text), "%s/proc/cpuinfo", root) > 0 &&
	    procfs_field(text, "model name", m->cpu, sizeof(m->cpu)) == 0)
		return;
	if (procfs_read(text, sizeof(m->cpu), "%s/sys/firmware/devicetree/base/model", root) > 0)
		snprintf(m->cpu, sizeof(m->cpu), "%.159s", text);
}

static int each_entry(const char *directory, void (*fn)(void *, const char *), void *userdata)
{
	struct dirent **entries;
	int i, n = scandir(directory, &entries, NULL, alphasort);

	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			fn(userdata, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return n;
}

struct walk {
	const char *root;
	struct machine *machine;
	bool nvidia_named; /* /proc/driver/nvidia has told its GPUs */
};

static void add_governor(void *userdata, const char *policy)
{
	struct walk *walk = userdata;
	struct machine *m = walk->machine;
	char governor[32];

	if (strncmp(policy, "policy", 6) != 0 ||
	    procfs_read(governor, sizeof(governor),
			"%s/sys/devices/system/cpu/cpufreq/%s/scaling_governor", walk->root,
			policy) <= 0)
		return;
	if (!strstr(m->governor, governor))
		list_add(m->governor, sizeof(m->governor), ",", governor);
}

static void read_frequency(const char *root, struct machine *m)
{
	struct walk walk = {.root = root, .machine = m};
	char path[512], flag[16];

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq", root);
	each_entry(path, add_governor, &walk);
	m->turbo = -1;
	if (procfs_read(flag, sizeof(flag), "%s/sys/devices/system/cpu/intel_pstate/no_turbo",
			root) > 0)
		m->turbo = flag[0] == '0';
	else if (procfs_read(flag, sizeof(flag), "%s/boost", path) > 0)
		m->turbo = flag[0] != '0';
}

static void add_nvidia(void *userdata, const char *address)
{
	struct walk *walk = userdata;
	char text[TEXT_BYTES], model[128], version[128] = "", driver[160];

	if (procfs_read(text, sizeof(text), "%s/proc/driver/nvidia/gpus/%s/information", walk->root,
			address) <= 0 ||
	    procfs_field(text, "Model", model, sizeof(model)) < 0)
		return;
	procfs_read(version, sizeof(version), "%s/sys/module/nvidia/version", walk->root);
	snprintf(driver, sizeof(driver), version[0] ? "nvidia %s" : "nvidia%s", version);
	list_add(walk->machine->gpu, sizeof(walk->machine->gpu), "; ", model);
	list_add(walk->machine->gpu_driver, sizeof(walk->machine->gpu_driver), "; ", driver);
	walk->nvidia_named = true;
}

static const char *vendor_name(const char *id)
{
	static const struct {
		const char *id, *name;
	} vendors[] = {
		{"0x1002", "AMD"},    {"0x10de", "NVIDIA"}, {"0x8086", "Intel"},
		{"0x1af4", "virtio"}, {"0x15ad", "VMware"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vendors); i++)
		if (strcmp(id, vendors[i].id) == 0)
			return vendors[i].name;
	return "PCI";
}

static void add_card(void *userdata, const char *card)
{
	struct walk *walk = userdata;
	char link[512], vendor[16] = "", device[16] = "", version[64] = "", name[64], driver[160];
	const char *slash;

	if (strncmp(card, "card", 4) != 0 || card[4 + strspn(card + 4, "0123456789")] ||
	    procfs_link(link, sizeof(link), "%s/sys/class/drm/%s/device/driver", walk->root, card) <
		    0)
		return;
	slash = strrchr(link, '/');
	slash = slash ? slash + 1 : link;
	if (walk->nvidia_named && strcmp(slash, "nvidia") == 0)
		return;
	procfs_read(vendor, sizeof(vendor), "%s/sys/class/drm/%s/device/vendor", walk->root, card);
	procfs_read(device, sizeof(device), "%s/sys/class/drm/%s/device/device", walk->root, card);
	procfs_read(version, sizeof(version), "%s/sys/module/%s/version", walk->root, slash);
	if (strlen(vendor) > 2 && strlen(device) > 2)
		snprintf(name, sizeof(name), "%s GPU %s:%s", vendor_name(vendor), vendor + 2,
			 device + 2);
	else
		snprintf(name, sizeof(name), "GPU of %.50s", slash);
	snprintf(driver, sizeof(driver), version[0] ? "%.80s %s" : "%.80s%s", slash, version);
	list_add(walk->machine->gpu, sizeof(walk->machine->gpu), "; ", name);
	list_add(walk->machine->gpu_driver, sizeof(walk->machine->gpu_driver), "; ", driver);
}

static void read_gpus(const char *root, struct machine *m)
{
	struct walk walk = {.root = root, .machine = m};
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
	each_entry(path, add_nvidia, &walk);
	snprintf(path, sizeof(path), "%s/sys/class/drm", root);
	each_entry(path, add_card, &walk);
}

void machine_read(const char *root, struct machine *ret_machine)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec tick = {0};
	struct utsname name;

	/* the coarse clock moves with it */
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	*ret_machine = (struct machine){.cpus = cpus > 0 ? (unsigned)cpus : 0,
					.tick_ns = (uint64_t)tick.tv_nsec};
	if (uname(&name) == 0)
		snprintf(ret_machine->kernel, sizeof(ret_machine->kernel), "%s %s", name.sysname,
			 name.release);
	read_cpu(root, ret_machine);
	read_frequency(root, ret_machine);
	read_gpus(root, ret_machine);
}
