// SPDX-License-Identifier: MIT
/*
 * A history in /dev/shm does not go with its runtime directory: a daemon that was tried once in
 * some directory would leave its history in memory until the machine is started again. So each such
 * history holds a note with the path of its runtime directory, and a daemon that starts removes
 * those whose runtime directory is gone.
 *
 * All of them lie in one directory that is ours and closed to others, so nobody else can make us
 * remove anything; still only what looks as we leave it is touched: a real directory of ours, with
 * a whole note, and in it regular files only. A daemon holds its note by a shared lock for as long
 * as it lives, the remover takes it exclusively: it never takes a history that is in use. Who gets
 * a note of a directory that was removed meanwhile makes it anew.
 */
#include "leftovers.h"

#include "log.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define NOTE "runtime_dir"

static void closedir_p(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
#define _cleanup_closedir_ __attribute__((cleanup(closedir_p)))

/* A line: a note that was not written to its end has no newline. */
static int write_note(int fd, const char *runtime_dir)
{
	_cleanup_free_ char *text = NULL;
	int n = asprintf(&text, "%s\n", runtime_dir);
	ssize_t written;

	if (n < 0)
		return -ENOMEM;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	written = pwrite(fd, text, (size_t)n, 0);
	if (written < 0)
		return -errno;
	return written == n ? 0 : -ENOSPC;
}

int leftovers_hold(const char *history_dir, const char *runtime_dir, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/" NOTE, history_dir) < 0)
		return -ENOMEM;
	for (;;) {
		_cleanup_close_ int fd = -1;
		int r;

		if (mkdir(history_dir, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno == ENOENT)
			continue; /* removed since the line above */
		if (fd < 0 || flock(fd, LOCK_SH) < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (st.st_nlink == 0)
			continue; /* removed while we waited for it */
		r = write_note(fd, runtime_dir);
		if (r < 0)
			return r;
		*ret_fd = util_take_fd(&fd);
		return 0;
	}
}

/* The note of an open directory, locked; -errno where it is not to be touched. */
static int take_note(int dir, char *ret_path, size_t size)
{
	_cleanup_close_ int fd = openat(dir, NOTE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	n = pread(fd, ret_path, size, 0);
	if (n < 0)
		return -errno;
	if (n < 2 || (size_t)n == size || ret_path[0] != '/' || ret_path[n - 1] != '\n' ||
	    memchr(ret_path, '\0', (size_t)n))
		return -EBADMSG;
	ret_path[n - 1] = '\0';
	return util_take_fd(&fd);
}

/* The note goes last: what could not be emptied is found again. */
static int empty(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	struct stat st;

	if (!list)
		return -errno;
	while ((entry = readdir(list))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, NOTE) == 0)
			continue;
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (!S_ISREG(st.st_mode))
			return -ENOTEMPTY;
		if (unlinkat(dir, name, 0) < 0)
			return -errno;
	}
	return unlinkat(dir, NOTE, 0) < 0 ? -errno : 0;
}

static bool is_gone(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == ENOENT;
}

static int remove_one(int parent, const char *name)
{
	_cleanup_close_ int dir =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int note = -1;
	char runtime_dir[PATH_MAX];
	struct stat st;
	int r;

	if (dir < 0 || fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	note = take_note(dir, runtime_dir, sizeof(runtime_dir));
	if (note < 0)
		return note;
	if (!is_gone(runtime_dir))
		return -EEXIST;
	r = empty(dir);
	if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
		r = -errno;
	if (r == 0)
		log_info("the history of %s, which is gone, is removed", runtime_dir);
	return r;
}

unsigned leftovers_remove(const char *history_dir)
{
	_cleanup_free_ char *above = strdup(history_dir), *copy = strdup(history_dir);
	_cleanup_closedir_ DIR *list = NULL;
	const struct dirent *entry;
	const char *own;
	unsigned removed = 0;

	if (!above || !copy)
		return 0;
	own = basename(copy);
	list = opendir(dirname(above));
	while (list && (entry = readdir(list))) {
		int r;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0)
			continue;
		r = remove_one(dirfd(list), entry->d_name);
		if (r == 0)
			removed++;
		else
			log_debug("%s/%s stays: %s", above, entry->d_name, strerror(-r));
	}
	return removed;
}
