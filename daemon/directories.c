// SPDX-License-Identifier: MIT
/*
 * The runtime directory is made, not its parents: a path with a mistake in it would become one, in
 * silence. Parents are made for the state directory alone, which lies below a home that may be new.
 * What exists is left as it is. The one directory with a guessable
 * name in a place that all users write to is /dev/shm/fprofd-<uid>: it must be a real directory,
 * ours and closed to others, or it is not used.
 */
#include "directories.h"

#include "log.h"
#include "util.h"

#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

static int make_one(const char *path, mode_t mode)
{
	if (mkdir(path, mode) == 0)
		return chmod(path, mode) < 0 ? -errno : 0; /* whatever the umask is */
	return errno == EEXIST ? 0 : -errno;
}

static int make_with_parents(const char *path, mode_t mode)
{
	_cleanup_free_ char *copy = strdup(path);
	struct stat st;
	char *slash;
	int r;

	if (!copy)
		return -ENOMEM;
	for (slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = stat(copy, &st) == 0 ? 0 : make_one(copy, 0755);
		if (r < 0)
			return r;
		*slash = '/';
	}
	r = make_one(copy, mode);
	if (r < 0)
		return r;
	if (stat(copy, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int make_runtime_dir(const char *path, mode_t mode)
{
	struct stat st;
	int r = make_one(path, mode);

	if (r == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		r = -ENOTDIR;
	if (r == -ENOENT)
		log_error("%s: cannot be made: the directory above it is not there", path);
	else if (r < 0)
		log_error("%s: cannot be made: %s", path, strerror(-r));
	return r;
}

static int check_socket_dir(const char *path, const char *socket_path)
{
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;

	if (r < 0)
		log_error("%s: the socket's directory cannot be used: %s", socket_path,
			  strerror(-r));
	return r;
}

/* The directory above history_dir in /dev/shm. */
static int make_private(const char *path)
{
	struct stat st;
	int r = make_one(path, 0700);

	if (r < 0)
		return r;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

static int make_history_dir(struct config *config)
{
	_cleanup_free_ char *copy = strdup(config->history_dir);
	char *why;
	int r;

	if (!copy)
		return -ENOMEM;
	if (strcmp(config->history_dir, config->runtime_dir) == 0)
		return 0;
	r = make_private(dirname(copy));
	if (r == 0)
		r = make_one(config->history_dir, 0700);
	if (r == 0)
		return 0;
	if (asprintf(&why,
		     "%s is not tmpfs, and %s cannot be used (%s): the rolling history is written "
		     "to a disk",
		     config->runtime_dir, copy,
		     r == -EPERM ? "it belongs to another user, or others may enter it"
				 : strerror(-r)) < 0)
		return -ENOMEM;
	free(config->history_why);
	config->history_why = why;
	free(config->history_dir);
	config->history_dir = strdup(config->runtime_dir);
	return config->history_dir ? 0 : -ENOMEM;
}

int directories_make(struct config *config)
{
	mode_t shared = geteuid() == 0 ? 0755 : 0700;
	_cleanup_free_ char *copy = strdup(config->socket_path);
	int r;

	if (!copy)
		return -ENOMEM;
	r = make_runtime_dir(config->runtime_dir, shared);
	if (r == 0)
		r = check_socket_dir(dirname(copy), config->socket_path);
	if (r < 0)
		return r;
	r = make_with_parents(config->state_dir, 0700);
	if (r < 0)
		log_warning("%s: cannot be made: %s; ignoring it", config->state_dir, strerror(-r));
	r = make_history_dir(config);
	if (r == 0 && config->history_why)
		log_info("%s", config->history_why);
	return r;
}
