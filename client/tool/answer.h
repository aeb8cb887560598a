/* SPDX-License-Identifier: MIT */
/* What the commands that show something do with their arguments and with the API's answers. */
#ifndef FPROF_TOOL_ANSWER_H
#define FPROF_TOOL_ANSWER_H

#include "api.h"
#include "table.h"

/* GETs path for a command that asks once; as api_new and api_get. */
int answer_get(const struct tool_options *options, const char *path, json_t **ret_json);

/* Prints it as it came; returns an exit code. */
int answer_print(const json_t *json);

/* A member that is text; "-" where it is not. */
const char *answer_text(const json_t *json, const char *key);

/* text names a session: TOOL_OK, or TOOL_USAGE after saying what does. */
int answer_check_session(const char *text);

/* Frames, rows of the API, as a table. */
void answer_print_frames(const json_t *frames);

#endif
