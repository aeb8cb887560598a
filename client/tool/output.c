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
	free(output->name);
	*output = (struct output){0};
}

/* What is there and no file (a pipe, /dev/null) is written to, never replaced. */
static int open_other(struct output *output, const char *name)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		tool_say("%s: %s", name, strerror(errno));
		return TOOL_CONFIG;
	}
	*output = (struct output){.file = fdopen(fd, "w")};
	output->name = strdup(name);
	return output->file && output->name ? TOOL_OK : tool_no_memory();
}

int output_open(struct output *output, const char *name)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_free_ char *real = realpath(name, NULL); /* what a link leads to */
	struct stat st;
	int fd;

	if (stat(name, &st) == 0 && !S_ISREG(st.st_mode))
		return open_other(output, name);
	if (!real)
		real = strdup(name);
	if (!real || asprintf(&temporary, "%s.XXXXXX", real) < 0) {
		temporary = NULL;
		return tool_no_memory();
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		tool_say("%s: %s", name, strerror(errno));
		return TOOL_CONFIG;
	}
	*output = (struct output){real, temporary, fdopen(fd, "w")};
	real = temporary = NULL;
	return output->file ? TOOL_OK : tool_no_memory();
}

/* On the disk, with the rights of a new file. */
static int settle(FILE *file)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fileno(file), 0666 & ~mask) | fsync(fileno(file));
}

int output_finish(struct output *output)
{
	FILE *file = output->file;
	int failed = ferror(file) | fflush(file);

	if (output->temporary)
		failed |= settle(file);
	output->file = NULL;
	failed |= fclose(file);
	if (failed || (output->temporary && rename(output->temporary, output->name) < 0)) {
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
