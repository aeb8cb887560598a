/* SPDX-License-Identifier: MIT */
/* `fprof record|freeze|stop|clear [SESSION]`: one order to a session, and what holds now. */
#include "ask.h"

#include <stdio.h>
#include <string.h>

static int print(const json_t *answer)
{
	const char *state = answer_text(answer, "state");
	long long session = answer_integer(answer, "session");

	if (json_is_true(json_object_get(answer, "waits_for_consumer")))
		printf("session %lld: %s, once somebody wants to see it\n", session, state);
	else if (!strcmp(state, answer_text(answer, "in_force")))
		printf("session %lld: %s\n", session, state);
	else
		printf("session %lld: %s from its next frame on\n", session, state);
	return TOOL_OK;
}

int tool_record(const struct tool_options *options, int argc, char **argv)
{
	const char *state = "recording";
	_cleanup_ask_ struct ask ask = {0};
	_cleanup_json_ json_t *body = NULL;
	int r = ask_parse(&ask, "", NULL, argc, argv);

	if (r != TOOL_OK)
		return r;
	if (!strcmp(argv[0], "freeze"))
		state = "frozen";
	else if (!strcmp(argv[0], "stop"))
		state = "stopped";
	body = json_pack("{s:s}", "state", state);
	return answer_ask(options, "PUT", ask_path(&ask, "recording"), body, print);
}

int tool_clear(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "", NULL, argc, argv);

	return r == TOOL_OK ? answer_ask(options, "POST", ask_path(&ask, "clear"), NULL, print) : r;
}
