// SPDX-License-Identifier: MIT
/*
 * Runs a game as a child, watches its frames come in at the daemon and ends it once the last wanted
 * one is there: recording is frozen first, so that nothing of them leaves the history, then the
 * game gets SIGTERM, and SIGKILL when that does nothing. The game has a process group of its own,
 * so that what it started ends with it, and nothing else is ever signalled; it ends with us, too.
 *
 * The report is written however the game ends. Whether the file can be written is found out before
 * the game starts.
 */
#include "harness.h"
#include "answer.h"
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS	  50   /* between two looks at the frames */
#define GRACE_MS  5000 /* from SIGTERM to SIGKILL */
#define SETTLE_MS 5000 /* for the daemon to store what is left */

enum { EXIT_NOT_EXECUTABLE = 126 };

struct harness {
	const struct harness_order *order;
	struct api *api;
	struct harness_frames frames;
	struct harness_end end;
	struct timespec started;
	int64_t newest;	 /* session before the game */
	int64_t session; /* the game's; 0: not seen yet */
	bool unanswered;
	pid_t child;
	int pidfd;
	struct output output;
};

static volatile sig_atomic_t told_to_stop;

static void stop(int signal)
{
	(void)signal;
	told_to_stop = 1;
}

/* ---- The game's session ---- */

static int find_newest(struct harness *h)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *session;
	size_t i;
	int r = api_get_quiet(h->api, "/api/v1/sessions", &answer);

	if (r != TOOL_OK)
		return r;
	json_array_foreach(json_object_get(answer, "sessions"), i, session)
	{
		if (answer_integer(session, "id") > h->newest)
			h->newest = answer_integer(session, "id");
	}
	return TOOL_OK;
}

/* Of the game's processes the one with most frames; it may be a child of what was started. */
static int find_session(struct harness *h)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *session;
	int64_t most = -1;
	size_t i;
	int r = api_get_quiet(h->api, "/api/v1/sessions", &answer);

	if (r != TOOL_OK)
		return r;
	json_array_foreach(json_object_get(answer, "sessions"), i, session)
	{
		pid_t pid = (pid_t)answer_integer(session, "pid");
		int64_t frames = answer_integer(session, "frames_total");

		if (answer_integer(session, "id") <= h->newest ||
		    (pid != h->child && getpgid(pid) != h->child))
			continue;
		/* it is told of its frames late: by then it may be gone */
		if (frames > most || (frames == most && pid == h->child)) {
			h->session = answer_integer(session, "id");
			most = frames;
		}
	}
	return TOOL_OK;
}

/* Takes what the daemon has of the game by now. */
static void look(struct harness *h)
{
	int r = TOOL_OK;

	if (h->frames.next <= 1)
		r = find_session(h);
	if (r == TOOL_OK && h->session)
		r = harness_frames_read(h->api, h->session, &h->frames);
	h->unanswered = r == TOOL_UNAVAILABLE;
}

static void freeze(struct harness *h)
{
	_cleanup_json_ json_t *body = json_pack("{s:s}", "state", "frozen");
	char path[96];

	snprintf(path, sizeof(path), "/api/v1/sessions/%" PRId64 "/recording", h->session);
	if (body && api_send(h->api, "PUT", path, body, NULL) == TOOL_FAILED)
		tool_say("recording could not be frozen; the game is ended at once");
}

/* ---- The game ---- */

/* In the child. Returns when it cannot. */
static void become_game(const struct harness *h, int failed)
{
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	/* as run does: unlike execv it runs scripts without #! */
	execvp(h->order->path, h->order->command);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(EXIT_NOT_EXECUTABLE);
	_exit(EXIT_NOT_EXECUTABLE);
}

static int start_game(struct harness *h)
{
	int pipes[2], error = 0;
	ssize_t bytes;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return TOOL_FAILED;
	clock_gettime(CLOCK_REALTIME, &h->started);
	h->child = fork();
	if (h->child == 0)
		become_game(h, pipes[1]);
	close(pipes[1]);
	bytes = h->child > 0 ? read(pipes[0], &error, sizeof(error)) : -1;
	close(pipes[0]);
	if (bytes == 0) {
		h->pidfd = (int)syscall(SYS_pidfd_open, h->child, 0);
		return TOOL_OK;
	}
	tool_say("%s: %s", h->order->path, strerror(bytes > 0 ? error : errno));
	if (h->child > 0)
		waitpid(h->child, NULL, 0);
	return EXIT_NOT_EXECUTABLE;
}

/* Has it ended, or does it within ms? It stays a zombie, so that its process group stays ours. */
static bool wait_child(const struct harness *h, int ms)
{
	struct pollfd fd = {.fd = h->pidfd, .events = POLLIN};
	siginfo_t info = {0};

	poll(&fd, 1, ms);
	return waitid(P_PID, (id_t)h->child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == h->child;
}

/* Is a process of /proc/PID/stat in the group, and no zombie? */
static bool is_in_group(const char *pid, pid_t group)
{
	char path[64], stat[512], state;
	size_t bytes;
	FILE *file;
	int of;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	bytes = fread(stat, 1, sizeof(stat) - 1, file);
	fclose(file);
	stat[bytes] = '\0';
	/* the name may hold anything, parentheses too */
	return strrchr(stat, ')') && sscanf(strrchr(stat, ')'), ") %c %*d %d", &state, &of) == 2 &&
	       of == group && state != 'Z';
}

static bool group_lives(pid_t group)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool lives = false;

	while (proc && !lives && (entry = readdir(proc)))
		lives = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			is_in_group(entry->d_name, group);
	if (proc)
		closedir(proc);
	return lives;
}

/* What was started may have started the game and ended. */
static bool wait_game(const struct harness *h, int ms)
{
	const struct timespec pause = {0, ms * 1000000L};

	if (!wait_child(h, ms))
		return false;
	if (!group_lives(h->child))
		return true;
	nanosleep(&pause, NULL);
	return false;
}

/* Ends what is left of the group, and takes the game's status. */
static void reap_game(struct harness *h)
{
	int status = 0;

	kill(-h->child, SIGKILL);
	waitpid(h->child, &status, 0);
	while (waitpid(-h->child, NULL, 0) > 0) /* what it had started, and left to us */
		;
	h->end.exited = WIFEXITED(status);
	h->end.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Ends it, and whatever it started. */
static void end_game(struct harness *h)
{
	int64_t until = now_ms() + GRACE_MS;
	bool over = false;

	h->end.by_us = true;
	kill(-h->child, SIGTERM);
	while (!over && now_ms() < until)
		over = wait_game(h, LOOK_MS);
	if (over)
		return;
	h->end.killed = true;
	kill(-h->child, SIGKILL);
}

/* Until all frames are there, the game ends, or we are told to stop. */
static void run_game(struct harness *h)
{
	bool over = false;

	while (!over && !told_to_stop && h->frames.count < h->frames.wanted) {
		over = wait_game(h, LOOK_MS);
		look(h);
	}
	h->end.interrupted = told_to_stop && h->frames.count < h->frames.wanted;
	if (!over && h->session && !h->unanswered)
		freeze(h);
	if (!over)
		end_game(h);
	reap_game(h);
}

/* Until the daemon has stored all of the game. */
static void settle(struct harness *h)
{
	const struct timespec pause = {0, LOOK_MS * 1000000L};
	int64_t until = now_ms() + SETTLE_MS;
	bool live = true;

	look(h);
	while (live && h->session && !h->unanswered && now_ms() < until) {
		_cleanup_json_ json_t *session = NULL;
		char path[96];

		snprintf(path, sizeof(path), "/api/v1/sessions/%" PRId64, h->session);
		if (api_get_quiet(h->api, path, &session) != TOOL_OK)
			break;
		live = strcmp(answer_text(session, "state"), "live") == 0;
		if (live)
			nanosleep(&pause, NULL);
	}
	/* One that lives no more has all its rows: take them to the last. */
	do {
		until = h->frames.next;
		look(h);
	} while (h->frames.next > until);
	if (h->session && !h->unanswered)
		harness_frames_refresh(h->api, h->session, &h->frames);
}

/* ---- All of it ---- */

static int write_report(struct harness *h)
{
	struct harness_report report = {.order = h->order,
					.frames = &h->frames,
					.end = &h->end,
					.session = h->session,
					.unanswered = h->unanswered,
					.started = h->started};
	bool complete = false;
	int64_t evicted = 0;
	int r = harness_report_write(h->api, &report, h->output.file, &complete, &evicted);

	if (r == TOOL_OK)
		r = output_finish(&h->output);
	if (r == TOOL_OK && evicted > 0)
		tool_say("the zones are those of the last frames only: the events of %" PRId64
			 " had left the history (history_frames, history_mib)",
			 evicted);
	if (r != TOOL_OK || complete)
		return r;
	tool_say("%ld of %ld frames were measured; %s says why", h->frames.count, h->frames.wanted,
		 h->order->export);
	return TOOL_FAILED;
}

/* Before the time is spent: more frames than the daemon keeps with their events. */
static void warn_history(struct harness *h)
{
	_cleanup_json_ json_t *status = NULL;
	long long kept;

	if (api_get_quiet(h->api, "/api/v1/status", &status) != TOOL_OK)
		return;
	kept = answer_integer(json_object_get(status, "config"), "history_frames");
	if (kept > 0 && h->order->frames > kept)
		tool_say("the daemon keeps %lld frames with their events (history_frames): of %ld "
			 "the first will be in no zone",
			 kept, h->order->frames);
}

static void catch_signals(void)
{
	/* a poll ends all the same */
	struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int run_all(struct harness *h, const struct tool_options *options)
{
	int r = output_open(&h->output, h->order->export);

	if (r == TOOL_OK)
		r = api_new(options, &h->api);
	if (r == TOOL_OK) {
		r = find_newest(h);
		if (r != TOOL_OK)
			tool_say("the daemon does not answer");
	}
	if (r != TOOL_OK)
		return r;
	warn_history(h);
	catch_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r = start_game(h);
	if (r != TOOL_OK)
		return r;
	run_game(h);
	settle(h);
	return write_report(h);
}

int harness_run(const struct tool_options *options, const struct harness_order *order)
{
	struct harness h = {.order = order,
			    .frames = {.wanted = order->frames, .skip = order->skip},
			    .pidfd = -1};
	int r = run_all(&h, options);

	output_deinit(&h.output);
	harness_frames_deinit(&h.frames);
	api_free(h.api);
	if (h.pidfd >= 0)
		close(h.pidfd);
	return r;
}
