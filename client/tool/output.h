/* SPDX-License-Identifier: MIT */
/* A file that has its name only when it is whole. What is there and no file is written to as it is.
 * Failures are said. */
#ifndef FPROF_TOOL_OUTPUT_H
#define FPROF_TOOL_OUTPUT_H

#include "api.h"

#include <stdio.h>

struct output {
	char *name;	 /* links followed; owned */
	char *temporary; /* beside it; NULL: there is no such file */
	FILE *file;
};

/* TOOL_OK, or TOOL_CONFIG where no file can be made there. */
int output_open(struct output *output, const char *name);
/* All is written: gives it its name. TOOL_OK or TOOL_FAILED. */
int output_finish(struct output *output);
/* Removes what was not finished; fine with one that is zero. */
void output_deinit(struct output *output);
#define _cleanup_output_ __attribute__((cleanup(output_deinit)))

/* GETs path into it and finishes it: an exit code. */
int output_download(struct output *output, struct api *api, const char *path);

#endif
