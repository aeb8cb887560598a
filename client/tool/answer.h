/* SPDX-License-Identifier: MIT */
/* Asking the API once, and showing what it answers. */
#ifndef FPROF_TOOL_ANSWER_H
#define FPROF_TOOL_ANSWER_H

#include "api.h"
#include "table.h"

/* Prints an answer for people; returns an exit code. */
typedef int (*answer_print_fn)(const json_t *answer);

/* One request of its own connection; as api_send. */
int answer_get(const struct tool_options *options, const char *path, json_t **ret_json);
int answer_send(const struct tool_options *options, const char *method, const char *path,
		const json_t *body, json_t **ret_json);
/* The same, and what is answered shown. path is taken over; NULL: there was no memory for it. print
 * may be NULL: only JSON has anything to show. */
int answer_ask(const struct tool_options *options, const char *method, char *path,
	       const json_t *body, answer_print_fn print);

/* Prints an answer as it came with --json, else by print, cleaned. */
int answer_show(const struct tool_options *options, json_t *answer, answer_print_fn print);
/* Prints it as it came; returns an exit code. */
int answer_print(const json_t *json);
/* Takes control characters out of all its texts: the name of a zone cannot write to the terminal.
 */
void answer_clean(json_t *json);

/* A member that is text; "-" where it is not. */
const char *answer_text(const json_t *json, const char *key);
/* A member that is an integer; 0 where it is not. */
long long answer_integer(const json_t *json, const char *key);
/* A member that is nanoseconds, as milliseconds. */
double answer_ms(const json_t *json, const char *key);
/* Is flag among json's flags? */
bool answer_has_flag(const json_t *json, const char *flag);

/* "600 frames (1..600) of session 27": what an answer over a range is of. */
void answer_print_scope(const json_t *answer);
/* "; left out: 1 startup, 3 paused": how many frames a range leaves out, by why. */
void answer_print_left_out(const json_t *range);
/* "; 681 older ones are not among them": of a range that ends with the newest frame. */
void answer_print_older(const json_t *range);
/* A line of what was lost, "3 events lost, 2 frames missing", after what comes before it; none
 * where nothing was. events: frames whose events are gone belong to it. */
void answer_print_lost(const char *before, const json_t *lost, bool events);
/* Frames, rows of the API, as a table. */
int answer_print_frames(const json_t *frames);

#endif
