// SPDX-License-Identifier: MIT
/* A temporary file beside the one that is meant, renamed once it is on the disk. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void output_deinit(struct output *output)
{
	if (output->file)
		fclose(output->file);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	*output = (struct output){0};
}

int output_open(struct output *output, const char *name)
{
	_cleanup_free_ char *temporary = NULL;
	int fd;

	if (asprintf(&temporary, "%s.XXXXXX", name) < 0) {
		temporary = NULL;
		return tool_no_memory();
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		tool_say("%s: %s", name, strerror(errno));
		return TOOL_CONFIG;
	}
	*output = (struct output){name, temporary, fdopen(fd, "w")};
	temporary = NULL;
	return output->file ? TOOL_OK : tool_no_memory();
}

int output_finish(struct output *output)
{
	mode_t mask = umask(0);
	FILE *file = output->file;
	int failed = ferror(file) | fflush(file);

	umask(mask);
	failed |= fchmod(fileno(file), 0666 & ~mask) | fsync(fileno(file));
	output->file = NULL;
	failed |= fclose(file);
	if (failed || rename(output->temporary, output->name) < 0) {
		tool_say("%s: %s", output->name, strerror(errno));
		return TOOL_FAILED;
	}
	free(output->temporary);
	output->temporary = NULL;
	return TOOL_OK;
}

int output_download(struct output *output, struct api *api, const char *path)
{
	int r = api_download(api, path, output->file);

	return r == TOOL_OK ? output_finish(output) : r;
}
