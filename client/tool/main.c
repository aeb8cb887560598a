// SPDX-License-Identifier: MIT
/*
 * The `fprof` command: reads the command line, hands over to one command. It is a reader of the
 * daemon's HTTP API like any other; it knows nothing that the API does not say. One thread, no
 * state.
 */
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

static const char help_text[] =
	"fprof: records and shows the frames of games\n"
	"\n"
	"  fprof run [--name N] [--alloc] [--] COMMAND...  run a game under the recording hook\n"
	"  fprof run --frames N [--skip M] --export FILE [--] COMMAND...\n"
	"                                         measure N frames of it, end it, write a report\n"
	"  fprof attach [PID | --name PATTERN]    record a game that runs already; list those\n"
	"  fprof detach SESSION                   leave it alone again\n"
	"  fprof status                           what the daemon does, and what it cannot\n"
	"  fprof sessions                         games that were recorded\n"
	"  fprof frames [SESSION] [--last N] [--stream NAME] [--over MS] [--sort wall|cpu|gpu]\n"
	"                                         frames of a session; 'current' is the newest\n"
	"  fprof frame [SESSION] N|slowest|latest [--stream NAME]\n"
	"                                         a frame, and the zones that took its time\n"
	"  fprof zones [SESSION] [--view flat|tree|calls|callers] [--name PATTERN] [--per frame]\n"
	"              [--from N --to N | --last N] [--thread T]... [--sort KEY] [--limit N]\n"
	"                                         where the time of a range of frames went\n"
	"  fprof stats [SESSION] [--metric wall|cpu|gpu|wait|zone:NAME|counter:NAME]...\n"
	"              [--over-ms MS] [--from N --to N | --last N]\n"
	"                                         what frame times come to\n"
	"  fprof verdict [SESSION] [--from N --to N | --last N]\n"
	"                                         what held the frames back, and the numbers\n"
	"  fprof critical-path [FRAME | --from N --to N] [--limit N]\n"
	"                                         what frames waited for, moment by moment\n"
	"  fprof sampling [on|off] [--hz N] [--session S]\n"
	"                                         have stacks sampled, or no more\n"
	"  fprof samples [SESSION] [--view flat|tree] [--from N --to N | --last N] [--thread "
	"T]...\n"
	"                [--limit N]              where the threads were, function by function\n"
	"  fprof tail [SESSION]                   what each thread has open now, or had at the "
	"end\n"
	"  fprof record|freeze|stop|clear [SESSION]\n"
	"                                         order a session to record, freeze or stop; empty "
	"its\n"
	"                                         history\n"
	"  fprof detail [--session S] [PATH [0|1|2|inherit] | --mask CATEGORY | --unmask "
	"CATEGORY]\n"
	"                                         levels of detail by path ('main/frame/render')\n";

static const char help_more[] =
	"  fprof dashboard [--open]               the page's address\n"
	"  fprof snapshot NAME [--session S] [--seconds N | --from N --to N]\n"
	"                                         keep the last seconds to compare with\n"
	"  fprof trigger [SESSION] [clear | --list FILE | --frame-ms MS [--times-median N]\n"
	"                [--floor-ms MS] [--before N] [--after N] [--keep N] [--freeze]]\n"
	"                                         what makes a frame a spike; --frame-ms 33 is the "
	"usual\n"
	"  fprof spikes [SESSION]                 what was kept because a trigger fired\n"
	"  fprof diff A B [--by self|total] [--limit N] [--floor-ms MS] [--stream NAME]\n"
	"                                         what moved between sessions, ranges (S:FROM-TO) "
	"or\n"
	"                                         snapshots; several joined by commas are runs\n"
	"  fprof check CONDITION... [--session S [--from N --to N | --last N] | --runs A,B,...]\n"
	"              [--stream NAME] [--allow-loss]\n"
	"                                         the regression gate: 'frame.p99<=16.7', or "
	"frame.p99\n"
	"                                         baseline=NAME tolerance=5% floor_ms=0.2\n"
	"  fprof export [SESSION] [--format chrome|vprof|speedscope|folded] [--from N --to N | "
	"--last N]\n"
	"               [--stream NAME] -o FILE   frames as a file for other tools\n"
	"  fprof save [SESSION] [--from N --to N | --last N] [--tail] [--name NAME] [--note TEXT]\n"
	"             [-o FILE]                   keep frames for good, and write them to a file\n"
	"  fprof captures [delete ID | name ID NAME | note ID TEXT]\n"
	"                                         what is kept\n"
	"  fprof import FILE [--name NAME] [--frames zone:NAME|instant:NAME]\n"
	"                                         a .fprof file, or another tool's, as a session\n"
	"  fprof query [--session S] [--limit N] [--csv] SQL|- [PARAMETER...] [-- PARAMETER...]\n"
	"                                         SQL over what was recorded\n"
	"  fprof selftest                         record known events and compare what comes back\n"
	"  fprof --version | --help\n";

static const char help_options[] =
	"\n"
	"Options of all commands:\n"
	"  --json             print JSON\n"
	"  --url URL          ask the daemon at URL, e.g. http://127.0.0.1:7600 ($FPROF_URL); else "
	"its\n"
	"                     Unix socket in $XDG_RUNTIME_DIR/fprofd or in /run/fprofd, or in the\n"
	"                     directory of $FPROF_SOCKET alone where that is set\n"
	"  --token-file FILE  bearer token for --url ($FPROF_TOKEN holds a token itself)\n"
	"\n"
	"Exit codes: 0 done; 1 failed or not found; 2 wrong usage; 3 check: inconclusive; 77 no "
	"daemon answers or "
	"something\n"
	"is missing here; 78 an unusable option, variable or file. `run` becomes the game: its "
	"exit\n"
	"status and signals are the game's (127: no such command, 126: it cannot be run).\n";

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

int tool_help(void)
{
	fputs(help_text, stdout);
	fputs(help_more, stdout);
	fputs(help_options, stdout);
	return TOOL_OK;
}

static bool asks_for_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
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
		return tool_help();
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
	if (argc > 1 && command && asks_for_help(argv[1]))
		return tool_help();
	if (options.url && options.url[0] == '\0')
		options.url = NULL;
	if (!command) {
		bool json = options.json || (argc > 1 && strcmp(argv[1], "--json") == 0);

		return answer_itself(argv[0], json);
	}
	return command->run(&options, argc, argv);
}
