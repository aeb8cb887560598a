// SPDX-License-Identifier: MIT
/*
 * A build is tried as it lies there; an installed daemon has its helpers in a directory of theirs,
 * which is not the one it was built for where the whole was moved, or installed with DESTDIR.
 */
#include "helper.h"

#include "procfs.h"
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void helper_path(const char *name, char *path, size_t size)
{
	static const char *const places[] = {"/", "/../lib/"};
	char self[PATH_MAX];
	const char *slash;
	size_t i;

	if (procfs_link(self, sizeof(self), "/proc/self/exe") > 0) {
		slash = strrchr(self, '/');
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			snprintf(path, size, "%.*s%s%s", (int)(slash - self), self, places[i],
				 name);
			if (access(path, X_OK) == 0)
				return;
		}
	}
	snprintf(path, size, "%s/%s", FPROF_LIBDIR, name);
}

int helper_start(const char *name, char *argv[], char *const environment[], pid_t *ret_pid,
		 int *ret_fd)
{
	posix_spawn_file_actions_t actions;
	char path[PATH_MAX];
	int ends[2], r;

	helper_path(name, path, sizeof(path));
	argv[0] = path;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
	r = posix_spawn(ret_pid, path, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	argv[0] = NULL;
	if (r != 0) {
		*ret_pid = 0;
		close(ends[0]);
		return -r;
	}
	*ret_fd = ends[0];
	return 0;
}
