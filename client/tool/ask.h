/* SPDX-License-Identifier: MIT */
/* The options of commands. Most are parameters of the API: they are handed on as they are, the
 * daemon judges them.
 */
#ifndef FPROF_TOOL_ASK_H
#define FPROF_TOOL_ASK_H

#include "answer.h"

#include <stdbool.h>

struct ask {
	const char *session; /* as given; NULL: it was not */
	char *query;	     /* "&a=1&b=2", NULL: nothing was given */
	json_t *body;	     /* an object: parameters become its members instead; NULL: a query */
	bool no_session;     /* the command is about none: it does not know --session */
};
void ask_deinit(struct ask *ask);
#define _cleanup_ask_ __attribute__((cleanup(ask_deinit)))

/* An option that stays with the command. A table of them ends with a NULL. */
struct ask_option {
	const char *option; /* "--sort" */
	const char **value; /* NULL: it takes none */
	bool *flag;	    /* which is set then */
};

/*
 * words: the options that are parameters, with blanks between: "over-ms" is --over-ms, which gives
 * over_ms. Of one that is given twice the last counts; a word with "*" at its end may be there
 * several times. In a body "#" marks whole numbers, "%" numbers; all else is text.
 *
 * Takes the option at argv[*index]; --session, too, which need not be named. 1: it was one; 0: it
 * was not; -1: a wrong one, which was said. ask: NULL where there are no words.
 */
int ask_take(struct ask *ask, const char *words, const struct ask_option *own, int argc,
	     char **argv, int *index);
/* Takes all options; what is left is argv[1..*argc). TOOL_OK, or TOOL_USAGE after saying why. */
int ask_options(struct ask *ask, const char *words, const struct ask_option *own, int *argc,
		char **argv);
/* The same where at most one session is left, and taken. */
int ask_parse(struct ask *ask, const char *words, const struct ask_option *own, int argc,
	      char **argv);

/* Takes the session that stands in front of other words, where one does: argv[1]. TOOL_OK, or
 * TOOL_USAGE after saying that it was given by --session, too. */
int ask_front_session(struct ask *ask, int *argc, char **argv);
/* Was the parameter given? */
bool ask_has(const struct ask *ask, const char *parameter);
/* TOOL_OK or TOOL_FAILED. */
int ask_add(struct ask *ask, const char *parameter, const char *value);

/* "base?query", and the same below the session's path; malloc()ed; NULL: no memory,
 * which was said. */
char *ask_address(const struct ask *ask, const char *base);
char *ask_path(const struct ask *ask, const char *what);

/* A number that an option gave; text NULL: it was not given, and *ret stays. TOOL_OK, or TOOL_USAGE
 * after saying what it takes. most: LONG_MAX is no bound. */
int ask_number(const char *option, const char *text, long least, long most, long *ret);
/* The same for one that is finite and not below 0; what: "milliseconds". */
int ask_real(const char *option, const char *what, const char *text, double *ret);

#endif
