// SPDX-License-Identifier: MIT
/*
 * `fprof check`: the regression gate. The daemon decides; this puts conditions into a query, shows
 * the verdict and makes it the exit code: 0 pass, 1 fail, 3 inconclusive. Nothing else answers 1
 * here, so that a script can tell a regression from a question that was wrong (2).
 */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), bytes = strlen(suffix);

	return length >= bytes && strcmp(text + length - bytes, suffix) == 0;
}

/* Does a metric count, rather than being a time? */
static bool counts(const char *metric)
{
	return strncmp(metric, "counter:", 8) == 0 || strstr(metric, ".calls.") ||
	       is_suffix(metric, ".slow_share");
}

/* METRIC<VALUE, which is not known here. A zone's name may hold the sign, too. */
static bool is_below(const char *condition)
{
	const char *at = strrchr(condition, '<');
	char *end = NULL;

	if (!at || strstr(condition, "<="))
		return false;
	strtod(at + 1, &end);
	return end > at + 1 && (!*end || strcmp(end, "ms") == 0 || strcmp(end, "%") == 0);
}

/* METRIC<=VALUE; the bound of a time may end in "ms". */
static int put_bound(struct ask *ask, const char *condition, const char *at)
{
	_cleanup_free_ char *metric = strndup(condition, (size_t)(at - condition));
	_cleanup_free_ char *bound = strdup(at + 2);
	int r;

	if (!metric || !bound)
		return tool_no_memory();
	if (is_suffix(bound, "ms"))
		bound[strlen(bound) - 2] = '\0';
	r = ask_add(ask, "metric", metric);
	return r == TOOL_OK ? ask_add(ask, counts(metric) ? "max" : "max_ms", bound) : r;
}

static int put_condition(struct ask *ask, const char *condition)
{
	static const char *const keys[] = {"max_ms",   "max",	"baseline", "tolerance",
					   "floor_ms", "floor", "slow_ms"};
	const char *at = strstr(condition, "<=");
	size_t i;

	if (at)
		return put_bound(ask, condition, at);
	if (is_below(condition))
		return tool_usage("a bound is written with <=, as in 'frame.p99<=16.7', not '%s'",
				  condition);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t bytes = strlen(keys[i]);

		if (strncmp(condition, keys[i], bytes) == 0 && condition[bytes] == '=')
			return ask_add(ask, keys[i], condition + bytes + 1);
	}
	return ask_add(ask, "metric",
		       strncmp(condition, "metric=", 7) == 0 ? condition + 7 : condition);
}

static int parse(struct ask *ask, int argc, char **argv)
{
	bool allow_loss = false;
	const struct ask_option own[] = {{"--allow-loss", NULL, &allow_loss}, {NULL, NULL, NULL}};
	int i, r = ask_options(ask, "runs from to last stream", own, &argc, argv);

	if (r == TOOL_OK)
		r = ask_front_session(ask, &argc, argv);
	if (r == TOOL_OK && argc < 2)
		return tool_usage("check needs a condition, as in: fprof check 'frame.p99<=16.7'");
	if (r == TOOL_OK && ask->session && ask_has(ask, "runs"))
		return tool_usage("--runs and --session exclude each other");
	if (r == TOOL_OK && allow_loss)
		r = ask_add(ask, "allow_loss", "yes");
	for (i = 1; r == TOOL_OK && i < argc; i++)
		r = put_condition(ask, argv[i]);
	return r;
}

/* Parameters of the API are options here; yes is said by the option alone. */
static void print_try(const json_t *condition)
{
	json_t *try = json_object_get(condition, "try"), *value;
	const char *key, *before = "             try";

	json_object_foreach(try, key, value)
	{
		printf("%s --%s", before, strcmp(key, "allow_loss") == 0 ? "allow-loss" : key);
		if (json_is_integer(value))
			printf(" %" JSON_INTEGER_FORMAT, json_integer_value(value));
		before = "";
	}
	if (json_object_size(try) > 0)
		putchar('\n');
}

static void print_condition(const json_t *condition)
{
	printf("%-12s %s\n", answer_text(condition, "verdict"), answer_text(condition, "detail"));
	print_try(condition);
	if (json_is_string(json_object_get(condition, "note")))
		printf("             note: %s\n", answer_text(condition, "note"));
	if (json_is_true(json_object_get(condition, "same_run_on_both_sides")))
		puts("             note: a run is on both sides");
}

/* Which frames it is about. */
static void print_side(const char *what, const json_t *runs)
{
	const json_t *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		long long several = answer_integer(run, "frames_that_stand_for_several");

		printf("%s %s: %lld frames (%lld..%lld)", what, answer_text(run, "run"),
		       answer_integer(run, "frames"), answer_integer(run, "first"),
		       answer_integer(run, "last"));
		if (several > 0)
			printf(", %lld of which stand for several", several);
		answer_print_left_out(run);
	}
}

static int print(const json_t *answer)
{
	const json_t *conditions = json_object_get(answer, "conditions"), *condition;
	size_t i;

	json_array_foreach(conditions, i, condition) print_condition(condition);
	print_side("run", json_object_get(answer, "runs"));
	print_side("baseline", json_object_get(answer, "baselines"));
	printf("%s\n", answer_text(answer, "verdict"));
	return TOOL_OK;
}

static int exit_of(const json_t *answer)
{
	const char *verdict = answer_text(answer, "verdict");

	if (strcmp(verdict, "pass") == 0)
		return TOOL_OK;
	return strcmp(verdict, "fail") == 0 ? TOOL_FAILED : TOOL_INCONCLUSIVE;
}

/* What was asked and refused was asked wrongly; else 1 is a regression's alone. */
static int ask_daemon(const struct tool_options *options, const char *path)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_api_ struct api *api = NULL;
	int code, r = api_new(options, &api);

	if (r != TOOL_OK)
		return r;
	r = api_send(api, "GET", path, NULL, &answer);
	if (r != TOOL_OK)
		return r == TOOL_FAILED ? TOOL_USAGE : r;
	code = exit_of(answer);
	r = answer_show(options, answer, print);
	return code == TOOL_OK ? r : code;
}

int tool_check(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_ask_ struct ask ask = {0};
	_cleanup_free_ char *path = NULL;
	int r = parse(&ask, argc, argv);

	if (r != TOOL_OK)
		return r == TOOL_FAILED ? TOOL_INCONCLUSIVE : r;
	path = ask_has(&ask, "runs") ? ask_address(&ask, "/api/v1/check") : ask_path(&ask, "check");
	return path ? ask_daemon(options, path) : TOOL_INCONCLUSIVE;
}
