/* SPDX-License-Identifier: MIT */
/* A configuration file: whatever stands in it, each value that was taken lies in its range. */
#include "daemon/config_file.h"
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const struct config *c)
{
	if (c->history_frames < 10 || c->history_frames > 100000)
		abort();
	if (c->history_mib < 8 || c->history_mib > 16384)
		abort();
	if (c->max_counters < 1 || c->max_counters > 65536)
		abort();
	if (c->max_sessions < 1 || c->max_sessions > 1024)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config = {.history_frames = 600,
				.history_mib = 128,
				.history_session_mib = 128,
				.ring_kib = 1024,
				.max_counters = 4096,
				.max_sessions = 64,
				.memory_mib = 1024};
	char path[32];
	int fd = memfd_create("config", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (config_read_file(&config, path) == 0)
		check_ranges(&config);
	config_free(&config);
	close(fd);
	return 0;
}
