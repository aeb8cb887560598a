// SPDX-License-Identifier: MIT
/*
 * One pass over /proc for a question. Processes come and go meanwhile: what cannot be read does not
 * fit.
 */
#include "process_find.h"

#include "process.h"
#include "procfs.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef bool (*fits_fn)(int32_t pid, const void *userdata);

static int compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static size_t find(fits_fn fits, const void *userdata, uint32_t uid, int32_t *pids)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	uint32_t owner;
	size_t n = 0;

	while (dir && n < PROCESS_FIND_MAX && (entry = readdir(dir))) {
		int32_t pid = atoi(entry->d_name);

		if (pid <= 0 || pid == getpid() || process_uid(pid, &owner) < 0 ||
		    (uid != UINT32_MAX && owner != uid) || !fits(pid, userdata))
			continue;
		pids[n++] = pid;
	}
	if (dir)
		closedir(dir);
	qsort(pids, n, sizeof(*pids), compare);
	return n;
}

static bool matches(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	return fnmatch(pattern, slash ? slash + 1 : path, 0) == 0;
}

static bool is_named(int32_t pid, const void *userdata)
{
	char text[PATH_MAX];

	if (procfs_link(text, sizeof(text), "/proc/%d/exe", pid) > 0 && matches(userdata, text))
		return true;
	if (procfs_read(text, sizeof(text), "/proc/%d/cmdline", pid) > 0 && matches(userdata, text))
		return true;
	return procfs_read(text, sizeof(text), "/proc/%d/comm", pid) > 0 && matches(userdata, text);
}

size_t process_find_named(const char *pattern, uint32_t uid, int32_t pids[PROCESS_FIND_MAX])
{
	return find(is_named, pattern, uid, pids);
}

static bool is_inner(int32_t pid, const void *userdata)
{
	struct process_thread thread;

	return process_thread(pid, pid, &thread) == 0 && thread.ns_tid != pid &&
	       thread.ns_tid == *(const int32_t *)userdata;
}

size_t process_find_inner(int32_t ns_pid, uint32_t uid, int32_t pids[PROCESS_FIND_MAX])
{
	return find(is_inner, &ns_pid, uid, pids);
}
