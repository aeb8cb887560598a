// SPDX-License-Identifier: MIT
/* `fprof snapshot`: keeps the last seconds of a game under a name, to be compared with later. */
#include "ask.h"

#include <stdio.h>
#include <string.h>

static int print(const json_t *answer)
{
	const json_t *frames = json_object_get(answer, "frames");

	printf("%s: frames %lld to %lld, session %lld\n", answer_text(answer, "name"),
	       answer_integer(frames, "first"), answer_integer(frames, "last"),
	       answer_integer(answer, "session"));
	return TOOL_OK;
}

int tool_snapshot(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {.body = json_object()};
	int r = ask_options(&ask, "seconds% from# to#", NULL, &argc, argv);

	if (r == TOOL_OK && argc > 2)
		r = ask_front_session(&ask, &argc, argv);
	if (r != TOOL_OK)
		return r;
	if (argc < 2)
		return tool_usage("snapshot needs a name");
	if (argc > 2)
		return tool_usage("snapshot does not know '%s'", argv[2]);
	if (json_object_set_new(ask.body, "name", json_string(argv[1])) < 0)
		return tool_usage("a name is a text in UTF-8");
	if (ask.session)
		json_object_set_new(ask.body, "session", json_string(ask.session));
	return answer_ask(options, "POST", strdup("/api/v1/snapshots"), ask.body, print);
}
