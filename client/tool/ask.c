// SPDX-License-Identifier: MIT
/* A query is text that grows; names of parameters are plain, values are escaped. */
#include "ask.h"

#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ask_deinit(struct ask *ask)
{
	free(ask->query);
	ask->query = NULL;
}

bool ask_has(const struct ask *ask, const char *parameter)
{
	size_t n = strlen(parameter);
	const char *p = ask->query;

	while (p) {
		if (strncmp(p, parameter, n) == 0 && p[n] == '=')
			return true;
		p = strchr(p, '&');
		if (p)
			p++;
	}
	return false;
}

int ask_add(struct ask *ask, const char *parameter, const char *value)
{
	_cleanup_free_ char *escaped = api_escape(value);
	char *query = NULL;

	if (!escaped || asprintf(&query, "%s%s%s=%s", ask->query ? ask->query : "",
				 ask->query ? "&" : "", parameter, escaped) < 0)
		return TOOL_FAILED;
	free(ask->query);
	ask->query = query;
	return TOOL_OK;
}

/* 1: argv[*index] was an option of the table; 0: it was not; -1: it was a wrong one, said. */
static int take_option(const struct ask_option *table, int argc, char **argv, int *index,
		       struct ask *ask)
{
	const char *value = NULL;
	int taken = 0;

	for (; table->option && taken == 0; table++) {
		taken = tool_option(argc, argv, index, table->option, &value);
		if (taken < 0)
			tool_usage("%s needs a value", table->option);
		if (taken <= 0)
			continue;
		if (!table->repeats && ask_has(ask, table->parameter)) {
			tool_usage("%s is given twice", table->option);
			return -1;
		}
		if (ask_add(ask, table->parameter, value) != TOOL_OK)
			return -1;
	}
	return taken;
}

int ask_parse(const struct ask_option *table, int argc, char **argv, struct ask *ret_ask)
{
	struct ask *ask = ret_ask;
	int i;

	*ask = (struct ask){0};
	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = take_option(table, argc, argv, &i, ask);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (argument[0] == '-' || ask->session)
			return tool_usage("%s does not know '%s'", argv[0], argument);
		ask->session = argument;
	}
	if (!ask->session)
		ask->session = "current";
	return answer_check_session(ask->session);
}

char *ask_path(const struct ask *ask, const char *what)
{
	_cleanup_free_ char *session = api_escape(ask->session);
	char *path = NULL;

	if (!session || asprintf(&path, "/api/v1/sessions/%s/%s%s%s", session, what,
				 ask->query ? "?" : "", ask->query ? ask->query : "") < 0)
		return NULL;
	return path;
}
