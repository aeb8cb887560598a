// SPDX-License-Identifier: MIT
/*
 * The `fprof` command: reads the command line, hands over to one command. It is a reader of the
 * daemon's HTTP API like any other; it knows nothing that the API does not say. One thread, no
 * state.
 */
#include "help.h"
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tool_command {
	const char *name;
	tool_command_fn run;
};

static const struct tool_command commands[] = {
	{"run", tool_run},
	{"attach", tool_attach},
	{"detach", tool_detach},
	{"status", tool_status},
	{"sessions", tool_sessions},
	{"frames", tool_frames},
	{"frame", tool_frame},
	{"zones", tool_zones},
	{"stats", tool_stats},
	{"verdict", tool_verdict},
	{"tail", tool_tail},
	{"record", tool_record},
	{"freeze", tool_record},
	{"stop", tool_record},
	{"clear", tool_clear},
	{"detail", tool_detail},
	{"dashboard", tool_dashboard},
	{"snapshot", tool_snapshot},
	{"trigger", tool_trigger},
	{"spikes", tool_spikes},
	{"diff", tool_diff},
	{"check", tool_check},
	{"export", tool_export},
	{"save", tool_save},
	{"captures", tool_captures},
	{"import", tool_import},
	{"query", tool_query},
	{"selftest", tool_selftest},
	{"critical-path", tool_critical_path},
	{"sampling", tool_sampling},
	{"samples", tool_samples},
};

void tool_clean(char *text)
{
	unsigned char *c;

	for (c = (unsigned char *)text; c && *c; c++) {
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
		else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* those of Latin-1 */
			c[0] = c[1] = '?';
	}
}

static void say(const char *format, va_list arguments, const char *end)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	tool_clean(text);
	fprintf(stderr, "fprof: %s%s\n", text ? text : "out of memory", end);
}

void tool_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments, "");
	va_end(arguments);
}

int tool_usage(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments, "; see fprof --help");
	va_end(arguments);
	return TOOL_USAGE;
}

int tool_no_memory(void)
{
	tool_say("out of memory");
	return TOOL_FAILED;
}

int tool_no_arguments(int argc, char **argv)
{
	return argc > 1 ? tool_usage("%s takes no argument '%s'", argv[0], argv[1]) : TOOL_OK;
}

void tool_freep(void *pointer)
{
	free(*(void **)pointer);
}

int tool_option(int argc, char **argv, int *index, const char *name, const char **ret_value)
{
	const char *argument = argv[*index];
	size_t length = strlen(name);

	if (strncmp(argument, name, length) != 0)
		return 0;
	if (argument[length] == '=') {
		*ret_value = argument + length + 1;
		return 1;
	}
	if (argument[length] != '\0')
		return 0;
	if (*index + 1 >= argc) {
		tool_usage("%s needs a value", name);
		return -1;
	}
	*ret_value = argv[++*index];
	return 1;
}

int tool_common(int argc, char **argv, int *index, struct tool_options *options)
{
	int taken;

	if (strcmp(argv[*index], "--json") == 0) {
		options->json = true;
		return 1;
	}
	taken = tool_option(argc, argv, index, "--url", &options->url);
	if (taken == 0)
		taken = tool_option(argc, argv, index, "--token-file", &options->token_file);
	return taken;
}

static const struct tool_command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* Takes the common options out of argv, up to "--". The new argc; -1: a value was missing. */
static int filter_common(int argc, char **argv, struct tool_options *options)
{
	int kept = 1, i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		int taken = tool_common(argc, argv, &i, options);

		if (taken < 0)
			return -1;
		if (taken == 0)
			argv[kept++] = argv[i];
	}
	for (; i < argc; i++)
		argv[kept++] = argv[i];
	argv[kept] = NULL;
	return kept;
}

static bool asks_for_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool any_asks_for_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (asks_for_help(argv[i]))
			return true;
	}
	return false;
}

static int print_version(bool json)
{
	if (json)
		printf("{\"version\": \"%s\"}\n", FPROF_VERSION);
	else
		printf("fprof %s\n", FPROF_VERSION);
	return TOOL_OK;
}

static int answer_itself(const char *name, bool json)
{
	if (asks_for_help(name) || strcmp(name, "help") == 0)
		return help_all();
	if (strcmp(name, "--version") == 0)
		return print_version(json);
	return tool_usage("there is no command '%s'", name);
}

int main(int argc, char **argv)
{
	struct tool_options options = {.url = getenv("FPROF_URL")};
	const struct tool_command *command;
	int first = 1;

	for (; first < argc; first++) {
		int taken = tool_common(argc, argv, &first, &options);

		if (taken < 0)
			return TOOL_USAGE;
		if (taken == 0)
			break;
	}
	if (first >= argc)
		return tool_usage("no command given");
	argv += first;
	argc -= first;
	command = find_command(argv[0]);
	if (command && command->run != tool_run) /* its own end at the game's command */
		argc = filter_common(argc, argv, &options);
	if (argc < 0)
		return TOOL_USAGE;
	if (command && (command->run == tool_run ? argc > 1 && asks_for_help(argv[1])
						 : any_asks_for_help(argc, argv)))
		return help_command(argv[0]);
	if (options.url && options.url[0] == '\0')
		options.url = NULL;
	if (!command) {
		bool json = options.json || (argc > 1 && strcmp(argv[1], "--json") == 0);

		return answer_itself(argv[0], json);
	}
	return command->run(&options, argc, argv);
}
