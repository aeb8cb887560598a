// SPDX-License-Identifier: MIT
/*
 * `fprof status`: what a person wants to know of the daemon, in groups and readable units. --json
 * prints all that the API says.
 */
#include "answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void line(struct table *table, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void line(struct table *table, const char *label, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	table_cell(table, label);
	table_cell(table, text);
}

static double number(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

static double mib(const json_t *json, const char *key)
{
	return number(json, key) / (1 << 20);
}

/* ": why" where there is a why. */
static const char *colon(const json_t *json, const char *key)
{
	return json_is_string(json_object_get(json, key)) ? ": " : "";
}

static const char *why(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static const char *uptime(double ns, char *buf, size_t size)
{
	long long s = llround(ns / 1e9);

	if (s < 60)
		snprintf(buf, size, "%lld s", s);
	else if (s < 3600)
		snprintf(buf, size, "%lld min %lld s", s / 60, s % 60);
	else
		snprintf(buf, size, "%lld h %lld min", s / 3600, s / 60 % 60);
	return buf;
}

static void daemon_lines(struct table *table, const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *clock = json_object_get(status, "clock");
	const json_t *loop = json_object_get(status, "loop");
	const json_t *http = json_object_get(status, "http");
	const json_t *scheduler = json_object_get(status, "scheduler");
	const json_t *config = json_object_get(status, "config");

	line(table, "cost", "%.2f %% of a core since it started, %.1f MiB of memory",
	     number(daemon, "cpu_percent"), mib(daemon, "rss_bytes"));
	line(table, "recording", "%s", answer_text(status, "recording_state"));
	line(table, "page",
	     strchr(answer_text(http, "address"), ':') ? "http://[%s]:%lld/" : "http://%s:%lld/",
	     answer_text(http, "address"), answer_integer(http, "port"));
	line(table, "socket", "%s", answer_text(config, "socket"));
	line(table, "config", "%s", answer_text(config, "file"));
	line(table, "clock", "%s, %.1f MHz, calibration: %s%s%s", answer_text(clock, "source"),
	     number(clock, "hz") / 1e6, answer_text(clock, "calibration"), colon(clock, "error"),
	     why(clock, "error"));
	if (answer_integer(scheduler, "events") > 0)
		line(table, "", "the kernel's is within %.2f us of it",
		     number(scheduler, "clock_error_ns") / 1e3);
	line(table, "loop", "%s%s%s", answer_text(loop, "kind"), colon(loop, "reason"),
	     why(loop, "reason"));
}

static void store_lines(struct table *table, const json_t *status)
{
	const json_t *history = json_object_get(status, "history");
	const json_t *state = json_object_get(status, "state");
	const json_t *config = json_object_get(status, "config");
	bool on_disk = strcmp(answer_text(history, "place"), "memory") != 0;

	line(table, "history", "%.1f of %.0f MiB, %lld frames a stream", mib(history, "used_bytes"),
	     mib(history, "budget_bytes"), answer_integer(config, "history_frames"));
	line(table, "", "in %s%s%s",
	     on_disk ? answer_text(history, "directory") : "the daemon's own memory",
	     colon(history, on_disk ? "directory_reason" : "reason"),
	     why(history, on_disk ? "directory_reason" : "reason"));
	line(table, "state", "%s%s%s",
	     json_is_true(json_object_get(state, "ok")) ? answer_text(state, "directory") : "off",
	     colon(state, "reason"), why(state, "reason"));
}

static void session_lines(struct table *table, const json_t *status)
{
	const json_t *sessions = json_object_get(status, "sessions");
	const json_t *current = json_object_get(status, "current");
	const json_t *cost = json_object_get(current, "own_cost");

	line(table, "sessions", "%lld live of %lld, %lld threads, %lld frames",
	     answer_integer(sessions, "live"), answer_integer(sessions, "total"),
	     answer_integer(sessions, "threads_active"), answer_integer(sessions, "frames"));
	if (!json_is_object(current))
		return;
	line(table, "current", "session %lld, %s: %lld frames, %lld with their events",
	     answer_integer(current, "session"), answer_text(current, "state"),
	     answer_integer(current, "frames_total"), answer_integer(current, "frames_retained"));
	if (json_is_object(cost))
		line(table, "", "recording costs it %.3f ms a frame", answer_ms(cost, "frame_ns"));
}

struct loss {
	const char *of, *key, *text;
};

static void loss_lines(struct table *table, const json_t *status)
{
	static const struct loss losses[] = {
		{"losses", "lost_events", "events were never received"},
		{"losses", "overwritten",
		 "of them were overwritten in their ring before they were read"},
		{"losses", "reentrant", "of them came from a signal handler, inside of another"},
		{"losses", "discarded", "events were not kept"},
		{"losses", "not_recording",
		 "of them came while recording was stopped or frozen, as ordered"},
		{"losses", "hook_marks", "of them are marks of the hook, as the game has its own"},
		{"losses", "refused",
		 "times a game was refused a thread, a name, a text or an event"},
		{"losses", "gpu_dropped", "GPU results were lost, or had impossible times"},
		{"losses", "gpu_missing", "GPU results never came"},
		{"losses", "malformed_scopes", "zones were repaired"},
		{"losses", "truncated_zones",
		 "of them were open when recording was ordered to stop or to freeze, when their "
		 "thread ended, or where events were lost"},
		{"scheduler", "lost", "switches and wakes found no room in the kernel's buffer"},
		{"scheduler", "dropped", "switches and wakes were read and not stored"},
		{"scheduler", "missed", "switches and wakes the kernel did not tell of"},
		{"scheduler", "interruptions", "times fprof-probe ended while games were traced"},
		{"stacks", "lost", "samples of stacks found no room in the kernel's buffer"}};
	const char *label = "losses";
	size_t i;

	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		const json_t *counts = json_object_get(status, losses[i].of);
		long long n = answer_integer(counts, losses[i].key);

		if (n == 0)
			continue;
		line(table, label, "%lld %s", n, losses[i].text);
		label = "";
	}
	if (label[0])
		line(table, label, "none");
	if (json_is_string(json_object_get(status, "fault")))
		line(table, "fault", "%s", why(status, "fault"));
}

static void source_row(struct table *table, const json_t *source)
{
	table_row(table, source, "name", "state", "reason", "fix", NULL);
}

static void refusal_row(struct table *table, const json_t *one)
{
	table_row(table, one, "pid", "client_abi", "daemon_abi", "reason", NULL);
}

static int print_refusals(const json_t *status)
{
	static const char *const heads[] = {"refused pid", "<its version", "<the daemon's",
					    "<reason", NULL};
	const json_t *refusals = json_object_get(status, "refusals");
	long long total = answer_integer(status, "refusals_total");
	int r;

	if (total == 0)
		return TOOL_OK;
	putchar('\n');
	r = table_list(heads, refusals, refusal_row);
	if ((size_t)total > json_array_size(refusals))
		printf("%zu of %lld refusals\n", json_array_size(refusals), total);
	return r;
}

static int print_status(const json_t *status)
{
	char head[128] = "<", up[32];
	const char *const heads[] = {"<fprofd", head, NULL};
	_cleanup_table_ struct table *table = table_new(heads);

	if (!table)
		return TOOL_FAILED;
	snprintf(head + 1, sizeof(head) - 1, "%s, pid %lld, up %s", answer_text(status, "version"),
		 answer_integer(json_object_get(status, "daemon"), "pid"),
		 uptime(number(status, "uptime_ns"), up, sizeof(up)));
	daemon_lines(table, status);
	store_lines(table, status);
	session_lines(table, status);
	loss_lines(table, status);
	table_print(table);
	return TOOL_OK;
}

static int print(const json_t *status)
{
	static const char *const heads[] = {"<source", "<state", "<reason", "<fix", NULL};
	int r = print_status(status);

	putchar('\n');
	if (r == TOOL_OK)
		r = table_list(heads, json_object_get(status, "sources"), source_row);
	return r == TOOL_OK ? print_refusals(status) : r;
}

int tool_status(const struct tool_options *options, int argc, char **argv)
{
	int r = tool_no_arguments(argc, argv);

	return r == TOOL_OK ? answer_ask(options, "GET", strdup("/api/v1/status"), NULL, print) : r;
}
