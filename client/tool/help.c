// SPDX-License-Identifier: MIT
/*
 * The help: how each command is called, which is all of `fprof --help`, and what its options mean,
 * which `fprof COMMAND --help` adds. Options are named as the man page names them.
 */
#include "help.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

struct help {
	const char *names; /* of commands, with blanks between */
	const char *usage; /* lines, as the list of all has them */
	const char *more;  /* lines */
};

#define RANGE                                                                      \
	"  --from N --to N    those frames; either alone: from, or up to, there\n" \
	"  --last N           the newest N frames\n"                               \
	"  --stream NAME      frames of a stream other than the main one\n"
#define FRAMES "  --frames all       startup, paused and loading frames, too\n"
#define LIMIT  "  --limit N          so many rows\n"

static const struct help helps[] = {
	{"run",
	 "  fprof run [--name N] [--alloc] [--] COMMAND...  run a game under the recording hook\n"
	 "  fprof run --frames N [--skip M] --export FILE [--] COMMAND...\n"
	 "                                         measure N frames of it, end it, write a "
	 "report\n",
	 "  --name N           what the session is called; else as the program\n"
	 "  --alloc            count allocations, too\n"
	 "  --frames N         measure N frames, without the first and those of loading\n"
	 "  --skip M           ... and without the M before them\n"
	 "  --export FILE      where the report goes (JSON)\n"},
	{"attach",
	 "  fprof attach [PID | --name PATTERN]    record a game that runs already; list those\n",
	 "  --name PATTERN     all whose program's name fits the shell pattern\n"},
	{"detach", "  fprof detach [SESSION]                 leave it alone again\n", ""},
	{"status",
	 "  fprof status                           what the daemon does, and what it cannot\n", ""},
	{"sessions", "  fprof sessions                         games that were recorded\n", ""},
	{"frames",
	 "  fprof frames [SESSION] [--from N --to N | --last N] [--stream NAME] [--over MS]\n"
	 "               [--sort wall|cpu|gpu]     frames of a session; 'current' is the newest\n",
	 RANGE "  --over MS          only those that took longer, of all\n"
	       "  --sort KEY         wall, cpu or gpu: the longest first, of all\n"},
	{"frame",
	 "  fprof frame [SESSION] N|slowest|latest [--stream NAME]\n"
	 "                                         a frame, and the zones that took its time\n",
	 "  --stream NAME      of a stream other than the main one\n"},
	{"zones",
	 "  fprof zones [SESSION] [--view flat|tree|calls|callers] [--name PATTERN] [--per frame]\n"
	 "              [--from N --to N | --last N] [--thread T]... [--sort KEY] [--limit N]\n"
	 "                                         where the time of a range of frames went\n",
	 RANGE FRAMES
	 "  --view VIEW        flat (by name), tree (by path), calls (one by one), callers\n"
	 "  --name PATTERN     only zones that are called so (* and ?)\n"
	 "  --category NAME    only zones of the category\n"
	 "  --thread T         only this thread, a number or a name; several times\n"
	 "  --per frame        minimum, percentiles and maximum are of frames, not of calls\n"
	 "  --sort KEY         total, self, calls, avg, min, max, p50, p95, p99, frames, name;\n"
	 "                     of calls duration, self, start\n"
	 "  --order asc|desc   which way\n" LIMIT "  --offset N         after so many\n"},
	{"stats",
	 "  fprof stats [SESSION] [--metric wall|cpu|gpu|wait|zone:NAME|counter:NAME]...\n"
	 "              [--over-ms MS] [--from N --to N | --last N]\n"
	 "                                         what frame times come to\n",
	 RANGE FRAMES
	 "  --metric METRIC    wall, cpu, gpu, wait, allocations, zone:NAME, gpu_zone:NAME,\n"
	 "                     counter:NAME, path, gpu_path; several times\n"
	 "  --path NAME        of path and gpu_path: once for each zone, outermost first\n"
	 "  --over-ms MS       the share of the time in frames above; several times\n"
	 "  --over VALUE       the same of counters\n"
	 "  --thread T         zones of this thread only; several times\n"},
	{"verdict",
	 "  fprof verdict [SESSION] [--from N --to N | --last N]\n"
	 "                                         what held the frames back, and the numbers\n",
	 RANGE FRAMES},
	{"critical-path",
	 "  fprof critical-path [SESSION] [FRAME | --from N --to N | --last N] [--limit N]\n"
	 "                                         what frames waited for, moment by moment\n",
	 "  FRAME              a number (behind a session: after it), slowest or latest\n" RANGE
		 FRAMES "  --sort KEY         of a range: self, total or gain\n" LIMIT
	 "  --offset N         after so many\n"},
	{"sampling",
	 "  fprof sampling [SESSION] [on|off] [--hz N]\n"
	 "                                         have stacks sampled, or no more\n",
	 "  --hz N             samples a second on each CPU, 10 to 10000\n"},
	{"samples",
	 "  fprof samples [SESSION] [--view flat|tree] [--from N --to N | --last N]\n"
	 "                [--thread T]... [--limit N]\n"
	 "                                         where the threads were, function by function\n",
	 RANGE "  --view VIEW        flat (by function) or tree (from where threads began)\n"
	       "  --thread T         only this thread, a number or a name; several times\n" LIMIT},
	{"tail",
	 "  fprof tail [SESSION]                   what each thread has open now, or had at the "
	 "end\n",
	 ""},
	{"record freeze stop clear",
	 "  fprof record|freeze|stop|clear [SESSION]\n"
	 "                                         order a session to record, freeze or stop; "
	 "empty "
	 "its\n"
	 "                                         history\n",
	 ""},
	{"detail",
	 "  fprof detail [SESSION] [PATH [0|1|2|inherit] | --mask CATEGORY | --unmask CATEGORY]\n"
	 "                                         levels of detail by path "
	 "('main/frame/render')\n",
	 "  --mask CATEGORY    record no zone of it\n"
	 "  --unmask CATEGORY  record them again\n"},
	{"dashboard", "  fprof dashboard [--open]               the page's address\n",
	 "  --open             open it by xdg-open\n"},
	{"snapshot",
	 "  fprof snapshot [SESSION] NAME [--seconds N | --from N --to N]\n"
	 "                                         keep the last seconds to compare with\n",
	 "  --seconds N        so many; 5 without\n"
	 "  --from N --to N    those frames\n"},
	{"trigger",
	 "  fprof trigger [SESSION] [clear | --list FILE | --frame-ms MS [--times-median N]\n"
	 "                [--floor-ms MS] [--before N] [--after N] [--keep N] [--freeze]]\n"
	 "                                         what makes a frame a spike; --frame-ms 33 is "
	 "the "
	 "usual\n",
	 "  --list FILE        all of them, as a JSON array (-: standard input)\n"
	 "  --frame-ms MS      frames that take longer\n"
	 "  --times-median N   ... longer than N times the running median\n"
	 "  --floor-ms MS      ... and than this\n"
	 "  --warm-up N        not before so many frames\n"
	 "  --before N         frames that are kept before the spike\n"
	 "  --after N          ... and after it\n"
	 "  --cool-down-ms N   how long it rests afterwards\n"
	 "  --keep N           spikes of it that are kept\n"
	 "  --freeze           freeze the recording once it is kept\n"},
	{"spikes",
	 "  fprof spikes [SESSION]                 what was kept because a trigger fired\n", ""},
	{"diff",
	 "  fprof diff A B [--by self|total] [--limit N] [--floor-ms MS] [--stream NAME]\n"
	 "                                         what moved between sessions, ranges (S:FROM-TO) "
	 "or\n"
	 "                                         snapshots; several joined by commas are runs\n",
	 "  --by self|total    which time orders the zones that moved\n"
	 "  --floor-ms MS      less than this a frame did not move\n"
	 "  --stream NAME      frames of a stream other than the main one\n" LIMIT},
	{"check",
	 "  fprof check [SESSION] CONDITION... [--from N --to N | --last N | --runs A,B,...]\n"
	 "              [--stream NAME] [--allow-loss]\n"
	 "                                         the regression gate: 'frame.p99<=16.7', or "
	 "frame.p99\n"
	 "                                         baseline=NAME tolerance=5% floor_ms=0.2\n",
	 "  CONDITION          METRIC<=BOUND (ms; of counters and calls as they are), or METRIC "
	 "and\n"
	 "                     what belongs to it: max_ms=, max=, baseline=NAME, tolerance=5%,\n"
	 "                     floor_ms=, floor=, slow_ms=\n"
	 "  METRIC             frame, cpu, gpu, wait, zone:NAME.total, zone:NAME.self,\n"
	 "                     zone:NAME.calls, counter:NAME; then .p50, .p99, .p99.9, .mean, "
	 ".sd,\n"
	 "                     .max or .jitter; and frame.slow_share\n" RANGE
	 "  --runs A,B,...     sessions, ranges (S:FROM-TO) or snapshots to compare\n"
	 "  --allow-loss       judge in spite of lost events\n"},
	{"export",
	 "  fprof export [SESSION] [--format chrome|vprof|speedscope|folded] [--from N --to N | "
	 "--last N]\n"
	 "               [--stream NAME] -o FILE   frames as a file for other tools\n",
	 RANGE "  --format FORMAT    chrome where none is said\n"
	       "  -o FILE            where it goes (-: standard output)\n"},
	{"save",
	 "  fprof save [SESSION] [--from N --to N | --last N] [--tail] [--name NAME] [--note "
	 "TEXT]\n"
	 "             [-o FILE]                   keep frames for good, and write them to a "
	 "file\n",
	 "  --from N --to N    those frames; without, all whose events are there\n"
	 "  --last N           the newest N frames\n"
	 "  --tail             what follows the last frame, too\n"
	 "  --name NAME        what it is called\n"
	 "  --note TEXT        a note\n"
	 "  -o FILE            write its file here as well\n"},
	{"captures",
	 "  fprof captures [delete ID | name ID NAME | note ID TEXT]\n"
	 "                                         what is kept\n",
	 ""},
	{"import",
	 "  fprof import FILE [--name NAME] [--frames zone:NAME|instant:NAME]\n"
	 "                                         a .fprof file, or another tool's, as a "
	 "session\n",
	 "  --name NAME        what the session is called\n"
	 "  --frames WHICH     what its frames are: zone:NAME or instant:NAME\n"},
	{"query",
	 "  fprof query [SESSION] [--limit N] [--csv] SQL|- [PARAMETER...] [-- PARAMETER...]\n"
	 "                                         SQL over what was recorded\n",
	 "  --limit N          so many rows at most; 10000 without\n"
	 "  --csv              CSV (RFC 4180)\n"},
	{"selftest",
	 "  fprof selftest                         record known events and compare what comes "
	 "back\n",
	 ""},
};

static const char common[] =
	"\n"
	"Options of all commands:\n"
	"  --json             print JSON\n"
	"  --session SESSION  the same as SESSION: a number from `fprof sessions`, or 'current'\n"
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

int help_all(void)
{
	size_t i;

	fputs("fprof: records and shows the frames of games\n\n", stdout);
	for (i = 0; i < sizeof(helps) / sizeof(helps[0]); i++)
		fputs(helps[i].usage, stdout);
	fputs("  fprof COMMAND --help                   a command's options\n"
	      "  fprof --version | --help\n",
	      stdout);
	fputs(common, stdout);
	return TOOL_OK;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	while (strncmp(words, word, length) != 0 || (words[length] && words[length] != ' ')) {
		words = strchr(words, ' ');
		if (!words)
			return false;
		words++;
	}
	return true;
}

int help_command(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
		if (!has_word(helps[i].names, name))
			continue;
		fputs(helps[i].usage, stdout);
		printf("%s%s", helps[i].more[0] ? "\n" : "", helps[i].more);
		if (strstr(helps[i].usage, "SESSION"))
			puts("\n  SESSION            a number from `fprof sessions`, or 'current'; "
			     "--session, too");
		puts("\n  --json, --url URL, --token-file FILE and the exit codes: fprof --help");
		return TOOL_OK;
	}
	return help_all();
}
