// SPDX-License-Identifier: MIT
/*
 * A query is text that grows, "&name=value" for each parameter: names are plain, values escaped. A
 * body is an object of JSON.
 */
#include "ask.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 32

void ask_deinit(struct ask *ask)
{
	free(ask->query);
	json_decref(ask->body);
	*ask = (struct ask){0};
}

/* ---- The query ---- */

static char *find(const struct ask *ask, const char *parameter)
{
	size_t n = strlen(parameter);
	char *at;

	for (at = ask->query; at && *at; at = strchr(at + 1, '&')) {
		if (strncmp(at + 1, parameter, n) == 0 && at[n + 1] == '=')
			return at;
	}
	return NULL;
}

bool ask_has(const struct ask *ask, const char *parameter)
{
	return find(ask, parameter) != NULL;
}

static void drop(struct ask *ask, const char *parameter)
{
	char *at = find(ask, parameter), *next = at ? strchr(at + 1, '&') : NULL;

	if (next)
		memmove(at, next, strlen(next) + 1);
	else if (at)
		*at = '\0';
}

int ask_add(struct ask *ask, const char *parameter, const char *value)
{
	_cleanup_free_ char *escaped = api_escape(value);
	const char *before = ask->query ? ask->query : "";
	char *query = NULL;

	if (!escaped || asprintf(&query, "%s&%s=%s", before, parameter, escaped) < 0)
		return tool_no_memory();
	free(ask->query);
	ask->query = query;
	return TOOL_OK;
}

char *ask_address(const struct ask *ask, const char *base)
{
	bool asks = ask->query && ask->query[0];
	char *address = NULL;

	if (asprintf(&address, "%s%s%s", base, asks ? "?" : "", asks ? ask->query + 1 : "") >= 0)
		return address;
	tool_no_memory();
	return NULL;
}

char *ask_path(const struct ask *ask, const char *what)
{
	_cleanup_free_ char *session = api_escape(ask->session ? ask->session : "current");
	_cleanup_free_ char *base = NULL;

	if (session && asprintf(&base, "/api/v1/sessions/%s/%s", session, what) >= 0)
		return ask_address(ask, base);
	base = NULL;
	tool_no_memory();
	return NULL;
}

/* ---- Numbers ---- */

int ask_number(const char *option, const char *text, long least, long most, long *ret)
{
	char *end;
	long number;

	if (!text)
		return TOOL_OK;
	errno = 0;
	number = strtol(text, &end, 10);
	if (!errno && end != text && !*end && number >= least && number <= most) {
		*ret = number;
		return TOOL_OK;
	}
	if (most == LONG_MAX)
		return tool_usage("%s takes a number from %ld, not '%s'", option, least, text);
	return tool_usage("%s takes a number from %ld to %ld, not '%s'", option, least, most, text);
}

int ask_real(const char *option, const char *what, const char *text, double *ret)
{
	char *end;
	double number;

	if (!text)
		return TOOL_OK;
	number = strtod(text, &end);
	if (end == text || *end || !isfinite(number) || number < 0)
		return tool_usage("%s takes %s, 0 or more, not '%s'", option, what, text);
	*ret = number;
	return TOOL_OK;
}

/* ---- Options ---- */

static int set_member(json_t *body, const char *option, const char *name, char kind,
		      const char *value)
{
	int r = TOOL_OK;
	double real = 0;
	long whole = 0;

	if (kind == '#')
		r = ask_number(option, value, 0, LONG_MAX, &whole);
	else if (kind == '%')
		r = ask_real(option, "a number", value, &real);
	if (r == TOOL_OK && json_object_set_new(body, name,
						kind == '#'   ? json_integer(whole)
						: kind == '%' ? json_real(real)
							      : json_string(value)) < 0)
		r = tool_usage("%s takes a text in UTF-8", option);
	return r;
}

static int set(struct ask *ask, const char *option, char kind, const char *value)
{
	char name[WORD_MAX], *c;

	snprintf(name, sizeof(name), "%s", option + 2);
	for (c = name; (c = strchr(c, '-'));)
		*c = '_';
	if (ask->body)
		return set_member(ask->body, option, name, kind, value);
	if (kind != '*')
		drop(ask, name);
	return ask_add(ask, name, value);
}

static int take_word(struct ask *ask, const char *words, int argc, char **argv, int *index)
{
	const char *value = NULL;
	int taken = 0;

	while (*words && taken == 0) {
		size_t length = strcspn(words, " *#%");
		char option[WORD_MAX], kind = words[length];

		snprintf(option, sizeof(option), "--%.*s", (int)length, words);
		taken = tool_option(argc, argv, index, option, &value);
		if (taken > 0 && set(ask, option, kind, value) != TOOL_OK)
			return -1;
		words += strcspn(words, " ");
		words += strspn(words, " ");
	}
	return taken;
}

static bool is_session(const char *text)
{
	return strcmp(text, "current") == 0 ||
	       (text[0] && text[0] != '0' && strspn(text, "0123456789") == strlen(text));
}

static int give_session(struct ask *ask, const char *text)
{
	if (!is_session(text))
		return tool_usage("SESSION is a number from `fprof sessions` or 'current', not "
				  "'%s'",
				  text);
	if (ask->session)
		return tool_usage("two sessions are given: '%s' and '%s'", ask->session, text);
	ask->session = text;
	return TOOL_OK;
}

static int take_session(struct ask *ask, int argc, char **argv, int *index)
{
	const char *text = NULL;
	int taken = tool_option(argc, argv, index, "--session", &text);

	return taken > 0 && give_session(ask, text) != TOOL_OK ? -1 : taken;
}

int ask_front_session(struct ask *ask, int *argc, char **argv)
{
	int r;

	if (*argc < 2 || !is_session(argv[1]))
		return TOOL_OK;
	r = give_session(ask, argv[1]);
	memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof(*argv));
	*argc -= 1;
	return r;
}

int ask_take(struct ask *ask, const char *words, const struct ask_option *own, int argc,
	     char **argv, int *index)
{
	int taken = 0;

	for (; own && own->option && taken == 0; own++) {
		if (own->value) {
			taken = tool_option(argc, argv, index, own->option, own->value);
		} else if (strcmp(argv[*index], own->option) == 0) {
			*own->flag = true;
			taken = 1;
		}
	}
	if (taken == 0 && ask && !ask->no_session)
		taken = take_session(ask, argc, argv, index);
	return taken ? taken : take_word(ask, words, argc, argv, index);
}

int ask_options(struct ask *ask, const char *words, const struct ask_option *own, int *argc,
		char **argv)
{
	int kept = 1, i;

	for (i = 1; i < *argc; i++) {
		char *argument = argv[i];
		int taken = ask_take(ask, words, own, *argc, argv, &i);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken == 0 && argument[0] == '-' && argument[1])
			return tool_usage("%s does not know '%s'", argv[0], argument);
		if (taken == 0)
			argv[kept++] = argument;
	}
	argv[kept] = NULL;
	*argc = kept;
	return TOOL_OK;
}

int ask_parse(struct ask *ask, const char *words, const struct ask_option *own, int argc,
	      char **argv)
{
	int r = ask_options(ask, words, own, &argc, argv);

	if (r != TOOL_OK)
		return r;
	if (argc > 2)
		return tool_usage("%s does not know '%s': it takes one session", argv[0], argv[2]);
	return argc > 1 ? give_session(ask, argv[1]) : TOOL_OK;
}
