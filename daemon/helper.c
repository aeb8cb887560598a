// SPDX-License-Identifier: MIT
/* A build is tried as it lies there; an installed daemon has its helpers in a directory of theirs.
 */
#include "helper.h"

#include "procfs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void helper_path(const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	const char *slash;

	if (procfs_link(self, sizeof(self), "/proc/self/exe") > 0) {
		slash = strrchr(self, '/');
		snprintf(path, size, "%.*s/%s", (int)(slash - self), self, name);
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, size, "%s/%s", FPROF_LIBDIR, name);
}
