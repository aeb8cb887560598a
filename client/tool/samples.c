// SPDX-License-Identifier: MIT
/*
 * `fprof sampling`: has a session's stacks sampled, or no more. `fprof samples`: where its threads
 * were, and what that rests on.
 */
#include "ask.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT "40"

/* ---- sampling ---- */

static int print_order(const json_t *answer)
{
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	const char *fix = json_string_value(json_object_get(answer, "fix"));

	printf("session %lld: ", answer_integer(answer, "session"));
	if (answer_integer(answer, "hz") > 0)
		printf("stacks are sampled %lld times a second; ", answer_integer(answer, "hz"));
	else
		printf("stacks are not sampled; ");
	printf("%lld samples", answer_integer(answer, "samples"));
	if (answer_integer(answer, "lost") > 0)
		printf(", %lld lost", answer_integer(answer, "lost"));
	printf("%s%s%s%s\n", reason ? "\n" : "", reason ? reason : "", fix ? ": " : "",
	       fix ? fix : "");
	return TOOL_OK;
}

/* The order; NULL: none was given. False after saying what is wrong. */
static bool parse_order(int argc, char **argv, const char *hz, json_t **ret_body)
{
	bool on = argc == 2 && strcmp(argv[1], "on") == 0;
	bool off = argc == 2 && strcmp(argv[1], "off") == 0;
	long number = 0;

	if ((argc > 1 && !on && !off) || (hz && off)) {
		tool_usage("sampling takes on, off or --hz N");
		return false;
	}
	if (ask_number("--hz", hz, 0, LONG_MAX, &number) != TOOL_OK)
		return false;
	if (hz || off)
		*ret_body = json_pack("{s:I}", "hz", (json_int_t)number);
	else if (on)
		*ret_body = json_object();
	return true;
}

int tool_sampling(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	_cleanup_json_ json_t *body = NULL;
	const char *hz = NULL;
	const struct ask_option own[] = {{"--hz", &hz, NULL}, {NULL, NULL, NULL}};
	int r = ask_options(&ask, "", own, &argc, argv);

	if (r == TOOL_OK)
		r = ask_front_session(&ask, &argc, argv);
	if (r != TOOL_OK)
		return r;
	if (!parse_order(argc, argv, hz, &body))
		return TOOL_USAGE;
	return answer_ask(options, body ? "PUT" : "GET", ask_path(&ask, "sampling"), body,
			  print_order);
}

/* ---- samples ---- */

static const char *file_of(const json_t *row)
{
	const char *path = json_string_value(json_object_get(row, "module"));
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* A function without a name goes by where it begins. */
static void name_cell(struct table *table, const json_t *row, int indent)
{
	const char *kind = answer_text(row, "kind");
	const char *name = json_string_value(json_object_get(row, "name"));

	if (name)
		table_printf(table, "%*s%s", indent, "", name);
	else if (strcmp(kind, "kernel") == 0)
		table_printf(table, "%*s[kernel]", indent, "");
	else if (strcmp(kind, "broken") == 0)
		table_printf(table, "%*s[callers unknown: no frame pointers]", indent, "");
	else if (json_is_integer(json_object_get(row, "address")))
		table_printf(table, "%*s[%#llx]", indent, "", answer_integer(row, "address"));
	else
		table_printf(table, "%*s[no symbols]", indent, "");
}

/* 75.1 +1.2 -1.3: the bounds lie unevenly around a share near 0 or 1. */
static void share_cell(struct table *table, const json_t *row, const char *what)
{
	double values[3];
	static const char *const ends[] = {"share", "low", "high"};
	char key[32];
	size_t i;

	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s_%s", what, ends[i]);
		values[i] = 100 * json_number_value(json_object_get(row, key));
	}
	table_printf(table, "%.1f%% (%.1f..%.1f)", values[0], values[1], values[2]);
}

static void function_row(struct table *table, const json_t *row)
{
	json_int_t depth = json_integer_value(json_object_get(row, "depth"));

	name_cell(table, row, 2 * (int)depth);
	table_cell(table, file_of(row));
	share_cell(table, row, "self");
	share_cell(table, row, "total");
	table_row(table, row, "self", "total", NULL);
}

/* What of it is not as it should be. */
static void print_modules(const json_t *answer)
{
	const json_t *modules = json_object_get(answer, "modules"), *module;
	const char *fix, *reason;
	size_t i;

	json_array_foreach(modules, i, module)
	{
		fix = json_string_value(json_object_get(module, "fix"));
		reason = json_string_value(json_object_get(module, "reason"));
		if (fix)
			printf("%s keeps no frame pointers: who called into %lld of its %lld "
			       "samples is not known; %s\n",
			       file_of(module), answer_integer(module, "broken"),
			       answer_integer(module, "total"), fix);
		if (reason && answer_integer(module, "self") > 0 &&
		    strchr(answer_text(module, "module"), '/'))
			printf("%s: %s\n", file_of(module), reason);
	}
}

static int print_samples(const json_t *answer)
{
	static const char *const heads[] = {"<function", "<file", "self", "total",
					    "self",	 "total", NULL};
	const json_t *rows = json_object_get(answer, "functions");
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	const char *fix = json_string_value(json_object_get(answer, "fix"));
	int r;

	r = table_list(heads, rows ? rows : json_object_get(answer, "nodes"), function_row);
	printf("%lld samples of frames %lld..%lld, shares with their 95%% interval; %lld in the "
	       "kernel, %lld with unknown callers, %lld lost; %lld rows left out\n",
	       answer_integer(answer, "samples"), answer_integer(answer, "from"),
	       answer_integer(answer, "to"), answer_integer(answer, "in_kernel"),
	       answer_integer(answer, "broken"), answer_integer(answer, "lost"),
	       answer_integer(answer, "left_out"));
	if (reason)
		printf("%s%s%s\n", reason, fix ? ": " : "", fix ? fix : "");
	print_modules(answer);
	return r;
}

int tool_samples(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	int r = ask_parse(&ask, "view from to last stream thread* limit", NULL, argc, argv);

	if (r == TOOL_OK && !options->json && !ask_has(&ask, "limit"))
		r = ask_add(&ask, "limit", LIMIT_DEFAULT);
	if (r != TOOL_OK)
		return r;
	return answer_ask(options, "GET", ask_path(&ask, "samples"), NULL, print_samples);
}
