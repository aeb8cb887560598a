/* SPDX-License-Identifier: MIT */
/* Nothing here has a state of its own: any thread. */
#include "util.h"

#include <errno.h>

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
