// SPDX-License-Identifier: MIT
/*
 * A driver is code that the game's user chose. It runs as that user or not at all: as root we let
 * fprof-vulkan become that user, as somebody else we do not start it.
 */
#include "vulkan_driver.h"

#include "helper.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#define PATIENCE_NS  (10 * NS_PER_S)
#define ANSWER_BYTES 1024

static pid_t start(int32_t pid, int to)
{
	char path[PATH_MAX], number[16], place[] = "PATH=/usr/bin:/bin";
	char *argv[] = {path, number, NULL}, *environment[] = {place, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	int r;

	helper_path("fprof-vulkan", path, sizeof(path));
	snprintf(number, sizeof(number), "%d", pid);
	posix_spawn_file_actions_init(&actions);
	r = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = posix_spawn(&child, path, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? child : -r;
}

/* What it prints until it ends, for some seconds at most. */
static void read_answer(int from, char *text)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS, now;
	struct pollfd p = {from, POLLIN, 0};
	size_t count = 0;
	ssize_t n = 1;

	while (n > 0 && count < ANSWER_BYTES - 1) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= until || poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) <= 0)
			break;
		n = read(from, text + count, ANSWER_BYTES - 1 - count);
		if (n > 0)
			count += (size_t)n;
	}
	text[count] = '\0';
}

static size_t parse(const char *text, struct vulkan_place *places, size_t max)
{
	size_t n = 0;
	int taken;

	while (n < max &&
	       sscanf(text, "%" SCNx32 ":%" SCNx32 " %" SCNu64 " %" SCNu64 "\n%n", &places[n].major,
		      &places[n].minor, &places[n].inode, &places[n].offset, &taken) == 4) {
		text += taken;
		n++;
	}
	return n;
}

size_t vulkan_driver_find(int32_t pid, uint32_t uid, struct vulkan_place *places, size_t max,
			  const char **ret_why)
{
	char text[ANSWER_BYTES] = "";
	pid_t child;
	int ends[2];
	size_t n;

	*ret_why = "only the game's user, or root, may ask its Vulkan driver: run fprofd as that "
		   "user";
	if (geteuid() != 0 && geteuid() != uid)
		return 0;
	*ret_why = "fprof-vulkan cannot be started";
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	child = start(pid, ends[1]);
	close(ends[1]);
	if (child == -ENOENT)
		*ret_why = HELPER_MISSING("fprof-vulkan");
	if (child > 0) {
		read_answer(ends[0], text);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		*ret_why = "the Vulkan driver does not tell its vkQueuePresentKHR outside of the "
			   "game";
	}
	close(ends[0]);
	n = parse(text, places, max);
	return n;
}
