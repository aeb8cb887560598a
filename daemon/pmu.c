// SPDX-License-Identifier: MIT
/* One counter is tried, on this thread's own cycles: what any process may count, where any can be.
 */
#include "pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

void pmu_tell(struct status *status)
{
	switch (try()) {
	case 0:
		status_source(status, "pmu", SOURCE_OFF,
			      "the machine has hardware counters, which this version does not read",
			      NULL);
		return;
	case -ENOENT:
	case -ENODEV:
	case -EOPNOTSUPP:
		status_source(
			status, "pmu", SOURCE_UNAVAILABLE,
			"the kernel has no hardware counters here (a virtual machine?)",
			"run on the machine itself, or have the hypervisor pass its counters on");
		return;
	case -EACCES:
	case -EPERM:
		status_source(
			status, "pmu", SOURCE_UNAVAILABLE,
			"hardware counters are not permitted (kernel.perf_event_paranoid, or a "
			"seccomp filter)",
			"sudo sysctl kernel.perf_event_paranoid=2");
		return;
	default:
		status_source(status, "pmu", SOURCE_UNAVAILABLE,
			      "the kernel refuses hardware counters", NULL);
	}
}
