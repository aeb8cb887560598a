/* SPDX-License-Identifier: MIT */
/* Nothing here has a state of its own: any thread. */
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>

int cond_init_monotonic(pthread_cond_t *ret_cond)
{
	pthread_condattr_t attr;
	int r = pthread_condattr_init(&attr);

	if (r == 0)
		r = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (r == 0)
		r = pthread_cond_init(ret_cond, &attr);
	pthread_condattr_destroy(&attr);
	return -r;
}

int write_all(int fd, const void *data, size_t bytes)
{
	const char *p = data;

	while (bytes > 0) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int util_temporary(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[4096];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd >= 0 ? fd : -errno;
	if ((size_t)snprintf(path, sizeof(path), "%s/.fprof-XXXXXX", directory) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int util_random_hex(char *text, size_t chars)
{
	unsigned char byte;
	size_t i;

	for (i = 0; i < chars; i += 2) {
		if (getrandom(&byte, 1, 0) != 1)
			return -EIO;
		snprintf(text + i, 3, "%02x", byte);
	}
	return 0;
}

uint64_t util_seed(void)
{
	uint64_t seed;

	/* early at boot, where there is no random number yet, the stack's place has to do */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uintptr_t)&seed;
	return seed;
}
