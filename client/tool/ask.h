/* SPDX-License-Identifier: MIT */
/* Options that are parameters of the API: they are handed on as they are, the daemon judges them.
 */
#ifndef FPROF_TOOL_ASK_H
#define FPROF_TOOL_ASK_H

#include "tool.h"

#include <stdbool.h>
#include <stddef.h>

struct ask_option {
	const char *option;    /* "--over-ms" */
	const char *parameter; /* "over_ms" */
	bool repeats;
};

struct ask {
	const char *session; /* as given, "current" without */
	char *query;	     /* "a=1&b=2", "" */
};

/* Reads argv: options of the table (NULL ends it), and at most one session. TOOL_OK or TOOL_USAGE,
 * said. ask_deinit it in any case. */
int ask_parse(const struct ask_option *table, int argc, char **argv, struct ask *ret_ask);
void ask_deinit(struct ask *ask);
/* Was the parameter given? */
bool ask_has(const struct ask *ask, const char *parameter);
/* TOOL_OK or TOOL_FAILED. */
int ask_add(struct ask *ask, const char *parameter, const char *value);
/* "/api/v1/sessions/SESSION/what?query", malloc()ed; NULL: no memory. */
char *ask_path(const struct ask *ask, const char *what);

#define _cleanup_ask_ __attribute__((cleanup(ask_deinit)))

#endif
