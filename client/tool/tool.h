/* SPDX-License-Identifier: MIT */
/* What the parts of the `fprof` command share: exit codes, common options, the commands. */
#ifndef FPROF_TOOL_H
#define FPROF_TOOL_H

#include <stdbool.h>

enum tool_exit {
	TOOL_OK = 0,
	TOOL_FAILED = 1, /* asked and answered no: not found, refused, a test that failed */
	TOOL_USAGE = 2,
	TOOL_INCONCLUSIVE = 3, /* check: too little to tell */
	TOOL_UNAVAILABLE = 77, /* no daemon answers, or this machine lacks what is needed */
	TOOL_CONFIG = 78,      /* an option, variable or file that names something unusable */
};

struct tool_options {
	bool json;
	const char *url;	/* --url, else $FPROF_URL, else NULL: the daemon's Unix socket */
	const char *token_file; /* --token-file, else NULL */
};

/*
 * One command: argv[0] is its name, argv[argc] is NULL. Returns an exit code; messages have gone to
 * stderr. Common options were taken out of argv, except for run, whose own end at the game's
 * command.
 */
typedef int (*tool_command_fn)(const struct tool_options *options, int argc, char **argv);

int tool_run(const struct tool_options *options, int argc, char **argv);
int tool_attach(const struct tool_options *options, int argc, char **argv);
int tool_detach(const struct tool_options *options, int argc, char **argv);
int tool_status(const struct tool_options *options, int argc, char **argv);
int tool_sessions(const struct tool_options *options, int argc, char **argv);
int tool_frames(const struct tool_options *options, int argc, char **argv);
int tool_frame(const struct tool_options *options, int argc, char **argv);
int tool_zones(const struct tool_options *options, int argc, char **argv);
int tool_critical_path(const struct tool_options *options, int argc, char **argv);
int tool_verdict(const struct tool_options *options, int argc, char **argv);
int tool_samples(const struct tool_options *options, int argc, char **argv);
int tool_sampling(const struct tool_options *options, int argc, char **argv);
int tool_stats(const struct tool_options *options, int argc, char **argv);
int tool_tail(const struct tool_options *options, int argc, char **argv);
int tool_record(const struct tool_options *options, int argc, char **argv);
int tool_clear(const struct tool_options *options, int argc, char **argv);
int tool_detail(const struct tool_options *options, int argc, char **argv);
int tool_dashboard(const struct tool_options *options, int argc, char **argv);
int tool_snapshot(const struct tool_options *options, int argc, char **argv);
int tool_trigger(const struct tool_options *options, int argc, char **argv);
int tool_spikes(const struct tool_options *options, int argc, char **argv);
int tool_diff(const struct tool_options *options, int argc, char **argv);
int tool_check(const struct tool_options *options, int argc, char **argv);
int tool_export(const struct tool_options *options, int argc, char **argv);
int tool_save(const struct tool_options *options, int argc, char **argv);
int tool_captures(const struct tool_options *options, int argc, char **argv);
int tool_import(const struct tool_options *options, int argc, char **argv);
int tool_query(const struct tool_options *options, int argc, char **argv);
int tool_selftest(const struct tool_options *options, int argc, char **argv);

/* "fprof: " and the message, cleaned, on stderr. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* tool_say for a wrong command line; returns TOOL_USAGE. */
int tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that there is none; returns TOOL_FAILED. */
int tool_no_memory(void);

/* TOOL_OK where a command has no argument, else TOOL_USAGE, said. */
int tool_no_arguments(int argc, char **argv);

/* Control characters become '?', so that text cannot write to the terminal. NULL is fine. */
void tool_clean(char *text);

/*
 * Takes an option with a value at argv[*index]: "--name VALUE" (moves *index on) or "--name=VALUE".
 * 1: it was that option and *ret_value points into argv; 0: another argument; -1: its value is
 * missing, which was said.
 */
int tool_option(int argc, char **argv, int *index, const char *name, const char **ret_value);

/* Takes a common option. 1: argv[*index] was one; 0: it was not; -1: its value is missing, which
 * was said. */
int tool_common(int argc, char **argv, int *index, struct tool_options *options);

/* Cleanup attributes of the tool. */
void tool_freep(void *pointer);
#define _cleanup_free_ __attribute__((cleanup(tool_freep)))

#endif
