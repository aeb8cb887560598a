// SPDX-License-Identifier: MIT
/*
 * `fprof run`: becomes the game, with the recording hook preloaded. It sets a few variables and
 * calls exec, so that pid, terminal, signals, descriptors and exit status are the game's own and
 * nothing of us stands between. With --frames the game is a child instead (harness.h).
 */
#include "ask.h"
#include "harness.h"
#include "program.h"
#include "tool.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOK_FILE  "libfprof-preload.so"
#define ALLOC_FILE "libfprof-alloc.so"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

struct run {
	const char *name; /* --name, NULL: none */
	char **command;
	char path[PATH_MAX]; /* the file that command[0] stands for */
	char hook[PATH_MAX];
	bool alloc; /* --alloc */
	char alloc_hook[PATH_MAX];
	struct harness_order harness;
};

static int check_harness(const struct harness_order *order)
{
	if (order->frames && !order->export)
		return tool_usage("--frames needs --export FILE");
	if (!order->frames && (order->export || order->skip))
		return tool_usage("--export and --skip need --frames N");
	return TOOL_OK;
}

static int parse(struct run *run, struct tool_options *options, int argc, char **argv)
{
	const char *frames = NULL, *skip = NULL;
	const struct ask_option own[] = {{"--name", &run->name, NULL},
					 {"--alloc", NULL, &run->alloc},
					 {"--frames", &frames, NULL},
					 {"--skip", &skip, NULL},
					 {"--export", &run->harness.export, NULL},
					 {NULL, NULL, NULL}};
	int i, r;

	for (i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		int taken = ask_take(NULL, "", own, argc, argv, &i);

		if (taken == 0)
			taken = tool_common(argc, argv, &i, options);
		if (taken < 0)
			return TOOL_USAGE;
		if (taken == 0)
			return tool_usage("run has no option '%s'; put -- before the command",
					  argv[i]);
	}
	i += i < argc && strcmp(argv[i], "--") == 0;
	if (i >= argc)
		return tool_usage("run needs a command");
	run->command = argv + i;
	r = ask_number("--frames", frames, 1, HARNESS_FRAMES_MAX, &run->harness.frames);
	if (r == TOOL_OK)
		r = ask_number("--skip", skip, 0, HARNESS_FRAMES_MAX, &run->harness.skip);
	return r == TOOL_OK ? check_harness(&run->harness) : r;
}

/* The absolute path of directory/rest where that can be read. */
static bool try_hook(const char *directory, const char *rest, char *ret_path)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s%s", directory, rest) < 0 || access(path, R_OK) < 0)
		return false;
	return realpath(path, ret_path) != NULL;
}

/* Looks for the hook beside this program, in ../lib from there, and where it was to be installed.
 * ret_path holds PATH_MAX bytes. */
static int find_hook(char *ret_path)
{
	const char *given = getenv("FPROF_PRELOAD");
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (given && given[0]) {
		if (try_hook(given, "", ret_path))
			return TOOL_OK;
		tool_say("$FPROF_PRELOAD: %s: %s", given, strerror(errno));
		return TOOL_CONFIG;
	}
	self[length > 0 ? length : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	if (try_hook(self, "/" HOOK_FILE, ret_path) ||
	    try_hook(self, "/../lib/" HOOK_FILE, ret_path) ||
	    try_hook(FPROF_LIBDIR, "/" HOOK_FILE, ret_path))
		return TOOL_OK;
	tool_say(HOOK_FILE " is neither beside this program nor in ../lib from it; "
			   "$FPROF_PRELOAD can name it");
	return TOOL_UNAVAILABLE;
}

/* The library that counts allocations lies beside the hook. */
static int find_alloc_hook(struct run *run)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(run->hook, '/');

	if (!run->alloc)
		return TOOL_OK;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - run->hook), run->hook);
	if (try_hook(directory, "/" ALLOC_FILE, run->alloc_hook))
		return TOOL_OK;
	tool_say(ALLOC_FILE " is not beside %s", run->hook);
	return TOOL_UNAVAILABLE;
}

static int find_program(struct run *run)
{
	int r = program_find(run->command[0], run->path, sizeof(run->path));

	if (r < 0) {
		tool_say("%s: %s", run->command[0], strerror(-r));
		return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	switch (program_inspect(run->path)) {
	case PROGRAM_FOREIGN:
		tool_say(
			"%s is a program of 32 bits or of another machine; only 64-bit programs of "
			"this machine can be recorded",
			run->path);
		return TOOL_UNAVAILABLE;
	case PROGRAM_STATIC:
		tool_say("%s is statically linked: the hook cannot see it; running it anyway",
			 run->path);
		break;
	case PROGRAM_PRIVILEGED:
		tool_say(
			"%s is setuid, setgid or has capabilities, so the linker ignores the hook; "
			"running it anyway",
			run->path);
		break;
	case PROGRAM_OK:
	case PROGRAM_UNKNOWN:
		break;
	}
	return TOOL_OK;
}

/* Puts the hook before what is preloaded already. */
static int set_preload(const char *hook)
{
	_cleanup_free_ char *both = NULL;
	const char *old = getenv("LD_PRELOAD");

	if (strpbrk(hook, ": ")) {
		tool_say("the dynamic linker cannot preload a path with a blank or a colon: %s",
			 hook);
		return TOOL_CONFIG;
	}
	if (old && old[0]) {
		if (asprintf(&both, "%s:%s", hook, old) < 0)
			return TOOL_FAILED;
		hook = both;
	}
	return setenv("LD_PRELOAD", hook, 1) == 0 ? TOOL_OK : TOOL_FAILED;
}

static int set_environment(const struct run *run)
{
	int r = run->alloc ? set_preload(run->alloc_hook) : TOOL_OK;

	if (r == TOOL_OK)
		r = set_preload(run->hook);
	if (r != TOOL_OK)
		return r;
	if (run->alloc && setenv("FPROF_ALLOC", "1", 1) < 0)
		return TOOL_FAILED;
	if (setenv("FPROF_RUN", "1", 1) < 0)
		return TOOL_FAILED;
	if (run->name && setenv("FPROF_NAME", run->name, 1) < 0)
		return TOOL_FAILED;
	return TOOL_OK;
}

/* The ring that the daemon's configuration asks for, unless the user asked for one already. */
static int set_ring(void)
{
	_cleanup_api_ struct api *api = NULL;
	_cleanup_json_ json_t *status = NULL;
	const char *given = getenv("FPROF_RING_KIB");
	const json_t *kib;
	char text[32];

	if (given && given[0])
		return TOOL_OK;
	api = api_new_brief();
	if (!api || api_get_quiet(api, "/api/v1/status", &status) != TOOL_OK)
		return TOOL_OK;
	kib = json_object_get(json_object_get(status, "config"), "ring_kib");
	if (!json_is_integer(kib))
		return TOOL_OK;
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(kib));
	return setenv("FPROF_RING_KIB", text, 1) == 0 ? TOOL_OK : TOOL_FAILED;
}

static void say_json(const struct run *run, bool daemon)
{
	_cleanup_json_ json_t *json =
		json_pack("{s:i, s:s, s:s, s:s*, s:b}", "pid", (int)getpid(), "program", run->path,
			  "hook", run->hook, "name", run->name, "daemon", daemon);

	if (json)
		json_dumpf(json, stderr, 0);
	fputc('\n', stderr);
}

int tool_run(const struct tool_options *options, int argc, char **argv)
{
	struct tool_options own = *options;
	struct run run = {0};
	bool daemon;
	int r = parse(&run, &own, argc, argv);

	if (r == TOOL_OK)
		r = find_program(&run);
	if (r == TOOL_OK)
		r = find_hook(run.hook);
	if (r == TOOL_OK)
		r = find_alloc_hook(&run);
	if (r == TOOL_OK)
		r = set_environment(&run);
	if (r == TOOL_OK)
		r = set_ring();
	if (r != TOOL_OK)
		return r;
	if (run.harness.frames) {
		run.harness.path = run.path;
		run.harness.command = run.command;
		return harness_run(&own, &run.harness);
	}
	daemon = api_daemon_waits();
	if (own.json)
		say_json(&run, daemon);
	else if (!daemon)
		tool_say("no fprofd is running: the game runs, and is recorded from when one "
			 "starts");
	/* the path has a slash, so nothing is searched; unlike execv it runs scripts without #! */
	execvp(run.path, run.command);
	tool_say("%s: %s", run.path, strerror(errno));
	return EXIT_NOT_EXECUTABLE;
}
