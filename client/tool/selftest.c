// SPDX-License-Identifier: MIT
/*
 * `fprof selftest`: records fixtures in child processes through the daemon that is running, waits
 * until their sessions have ended, asks the API for each frame and compares. The first difference
 * of each fixture is printed.
 */
#include "answer.h"
#include "fixture.h"
#include "shm/layout.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS	   20000 /* for a session to end, and its last frames to be committed */
#define POLL_MS	   20
#define ZONES_TEXT 1024

struct selftest {
	struct api *api;
	bool json;
	json_t *failures;
	const struct fixture *fixture;
	json_int_t session;
};

static json_t *frame_json(unsigned frame)
{
	return frame == FIXTURE_TAIL ? json_string("tail") : json_integer(frame);
}

static const char *frame_text(unsigned frame, char *buf, size_t size)
{
	if (frame == FIXTURE_TAIL)
		return "tail";
	snprintf(buf, size, "%u", frame);
	return buf;
}

/* One difference; thread and marker may be NULL. Returns false. */
static bool differs(struct selftest *t, unsigned frame, const char *thread, const char *marker,
		    const char *expected, const char *got)
{
	char number[16];

	json_array_append_new(t->failures, json_pack("{s:s, s:o, s:s?, s:s?, s:s, s:s}", "fixture",
						     t->fixture->name, "frame", frame_json(frame),
						     "thread", thread, "marker", marker, "expected",
						     expected, "got", got));
	if (!t->json)
		printf("fixture=%s frame=%s thread=%s marker=%s\n  expected: %s\n  got:      %s\n",
		       t->fixture->name, frame_text(frame, number, sizeof(number)),
		       thread ? thread : "-", marker ? marker : "-", expected, got);
	return false;
}

static bool differs_number(struct selftest *t, unsigned frame, const char *what, double expected,
			   const json_t *got)
{
	char want[32], have[32] = "null";

	snprintf(want, sizeof(want), "%.15g", expected);
	if (json_is_number(got))
		snprintf(have, sizeof(have), "%.15g", json_number_value(got));
	return differs(t, frame, NULL, what, want, have);
}

/* ---- A thread's zones as text ---------------------------------------------------------------- */

struct text {
	char at[ZONES_TEXT];
	size_t used;
};

static void text_add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->at + text->used, sizeof(text->at) - text->used, format, arguments);
	va_end(arguments);
	if (n > 0)
		text->used += (size_t)n;
	if (text->used >= sizeof(text->at))
		text->used = sizeof(text->at) - 1;
}

static void text_flags(struct text *text, const json_t *flags)
{
	static const struct {
		const char *name;
		char sign;
	} signs[] = {{"clipped_begin", '<'},
		     {"clipped_end", '>'},
		     {"truncated", '!'},
		     {"open", '?'},
		     {"unbalanced", '~'}};
	const json_t *flag;
	size_t i, k;

	json_array_foreach(flags, i, flag)
	{
		for (k = 0; k < sizeof(signs) / sizeof(signs[0]); k++) {
			if (strcmp(json_string_value(flag), signs[k].name) == 0)
				text_add(text, "%c", signs[k].sign);
		}
	}
}

/* Does zone lie within its parent, in time and in depth? */
static bool fits_parent(const json_t *zones, const json_t *zone)
{
	const json_t *index = json_object_get(zone, "parent");
	const json_t *parent = json_array_get(zones, (size_t)json_integer_value(index));
	json_int_t start = answer_integer(zone, "start_ns"),
		   end = start + answer_integer(zone, "duration_ns");

	if (!json_is_integer(index))
		return answer_integer(zone, "depth") == 0;
	return parent && answer_integer(parent, "depth") + 1 == answer_integer(zone, "depth") &&
	       answer_integer(parent, "start_ns") <= start &&
	       answer_integer(parent, "start_ns") + answer_integer(parent, "duration_ns") >= end;
}

static void zones_text(const json_t *zones, struct text *ret_text)
{
	json_int_t depth = 0, own;
	const json_t *zone;
	size_t i;

	*ret_text = (struct text){.used = 0};
	json_array_foreach(zones, i, zone)
	{
		const char *name = json_string_value(json_object_get(zone, "name"));

		own = answer_integer(zone, "depth");
		if (i && own > depth)
			text_add(ret_text, "(");
		for (; depth > own; depth--)
			text_add(ret_text, ")");
		if (i && ret_text->at[ret_text->used - 1] != '(')
			text_add(ret_text, " ");
		text_add(ret_text, "%s", name ? name : "null");
		text_flags(ret_text, json_object_get(zone, "flags"));
		if (!fits_parent(zones, zone))
			text_add(ret_text, "[outside its parent]");
		depth = own;
	}
	for (; depth > 0; depth--)
		text_add(ret_text, ")");
}

/* The name in which got begins to differ from expected. */
static void differing_marker(const char *expected, const char *got, char *ret_name, size_t size)
{
	static const char ends[] = "()<>!?~";
	size_t i = 0, begin;

	while (got[i] && got[i] == expected[i])
		i++;
	if (!got[i] && expected[i])
		got = expected;
	for (begin = i; begin > 0 && !strchr("( )", got[begin - 1]); begin--)
		;
	snprintf(ret_name, size, "%.*s", (int)strcspn(got + begin, ends), got + begin);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *own = json_string_value(json_object_get(item, "name"));

		if (own && strcmp(own, name) == 0)
			return item;
	}
	return NULL;
}

static bool compare_zones(struct selftest *t, const json_t *frame, const struct fixture_zones *want)
{
	const json_t *thread = find_named(json_object_get(frame, "threads"), want->thread);
	struct text got;
	char marker[128];

	zones_text(json_object_get(thread, "zones"), &got);
	if (strcmp(got.at, want->zones) == 0)
		return true;
	differing_marker(want->zones, got.at, marker, sizeof(marker));
	return differs(t, want->frame, want->thread, marker, want->zones, got.at);
}

static bool compare_counters(struct selftest *t, const json_t *frame, unsigned n)
{
	const struct fixture_counter *want;

	for (want = t->fixture->counters; want->frame; want++) {
		const json_t *got = json_object_get(
			find_named(json_object_get(frame, "counters"), want->name), "value");

		if (want->frame == n &&
		    (!json_is_number(got) || json_number_value(got) != want->value))
			return differs_number(t, n, want->name, want->value, got);
	}
	return true;
}

static bool compare_loss(struct selftest *t, const json_t *frame, unsigned n)
{
	bool lost = answer_integer(frame, "lost_events") > 0;
	bool wanted = t->fixture->lossy_frame == n;

	if (lost == wanted)
		return true;
	return differs(t, n, NULL, NULL, wanted ? "lost events" : "no lost events",
		       wanted ? "no lost events" : "lost events");
}

/* Each thread with its open zones is one that the fixture names, and as many are named. */
static bool compare_open(struct selftest *t, const json_t *tail)
{
	_cleanup_json_ json_t *count = NULL;
	const struct fixture_open *want;
	const json_t *thread, *name;
	size_t i, k, threads = 0;

	for (want = t->fixture->open; want->thread; want++) {
		const json_t *list = find_named(json_object_get(tail, "threads"), want->thread);
		struct text got = {.used = 0};

		json_array_foreach(json_object_get(list, "open"), k, name)
		{
			text_add(&got, "%s%s", k ? " > " : "", json_string_value(name));
		}
		if (strcmp(got.at, want->names) != 0)
			return differs(t, FIXTURE_TAIL, want->thread, "open", want->names, got.at);
	}
	json_array_foreach(json_object_get(tail, "threads"), i, thread)
	{
		threads += json_array_size(json_object_get(thread, "open")) > 0;
	}
	if (threads == (size_t)(want - t->fixture->open))
		return true;
	count = json_integer((json_int_t)threads);
	return differs_number(t, FIXTURE_TAIL, "threads with open zones",
			      (double)(want - t->fixture->open), count);
}

/* n may be FIXTURE_TAIL. */
static bool compare_frame(struct selftest *t, unsigned n)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_json_ json_t *frame = NULL;
	const struct fixture_zones *want;
	char number[16];

	if (asprintf(&path, "/api/v1/sessions/%lld/frames/%s", (long long)t->session,
		     frame_text(n, number, sizeof(number))) < 0)
		return false;
	if (api_get_quiet(t->api, path, &frame) != TOOL_OK)
		return differs(t, n, NULL, NULL, "the frame", "no frame");
	for (want = t->fixture->zones; want->frame; want++) {
		if (want->frame == n && !compare_zones(t, frame, want))
			return false;
	}
	return n == FIXTURE_TAIL ? compare_open(t, frame)
				 : compare_counters(t, frame, n) && compare_loss(t, frame, n);
}

/* produced = received + overwritten, received = stored + discarded */
static bool compare_ledger(struct selftest *t, const json_t *session)
{
	const json_t *ledger = json_object_get(session, "ledger");
	json_int_t produced = answer_integer(ledger, "produced"),
		   received = answer_integer(ledger, "received");

	if (!json_is_object(ledger))
		return differs(t, 0, NULL, "ledger", "a ledger", "none");
	if (produced != received + answer_integer(ledger, "overwritten"))
		return differs_number(t, 0, "ledger: received + overwritten", (double)produced,
				      json_object_get(ledger, "received"));
	if (received != answer_integer(ledger, "stored") + answer_integer(ledger, "discarded"))
		return differs_number(t, 0, "ledger: stored + discarded", (double)received,
				      json_object_get(ledger, "stored"));
	return true;
}

static bool compare_session(struct selftest *t, const json_t *session)
{
	const char *state = json_string_value(json_object_get(session, "state"));
	const json_t *frames = json_object_get(session, "frames_total");
	unsigned n;

	t->session = answer_integer(session, "id");
	if (!state || strcmp(state, t->fixture->state) != 0)
		return differs(t, 0, NULL, "session state", t->fixture->state,
			       state ? state : "null");
	if (json_integer_value(frames) != (json_int_t)t->fixture->frames)
		return differs_number(t, 0, "frames_total", t->fixture->frames, frames);
	for (n = 1; n <= t->fixture->frames; n++) {
		if (!compare_frame(t, n))
			return false;
	}
	return compare_frame(t, FIXTURE_TAIL) && compare_ledger(t, session);
}

/* ---- Recording ------------------------------------------------------------------------------- */

static void record_in_child(const struct fixture *fixture, const char *socket, const char *name)
{
	char ring[16];

	snprintf(ring, sizeof(ring), "%u", fixture->ring_kib);
	if (setenv("FPROF_SOCKET", socket, 1) < 0 || setenv("FPROF_NAME", name, 1) < 0 ||
	    setenv("FPROF_RUN", "1", 1) < 0 ||
	    (fixture->ring_kib ? setenv("FPROF_RING_KIB", ring, 1) : unsetenv("FPROF_RING_KIB")) <
		    0)
		_exit(1);
	fixture->record();
	exit(0); /* not _exit: the library says goodbye */
}

/* Runs the fixture to its end. false: it could not, or died of something else. */
static bool record(const struct fixture *fixture, const char *socket, const char *name)
{
	bool killed = strcmp(fixture->state, "crashed") == 0;
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		record_in_child(fixture, socket, name);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return false;
	return killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
		      : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The session called name once it is no longer live; a new reference, NULL: it did not come to
 * that. */
static json_t *wait_for_session(struct selftest *t, const char *name)
{
	struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	int waited;

	for (waited = 0; waited < WAIT_MS; waited += POLL_MS) {
		_cleanup_json_ json_t *answer = NULL;
		const json_t *session;
		const char *state;

		if (api_get_quiet(t->api, "/api/v1/sessions", &answer) == TOOL_OK) {
			session = find_named(json_object_get(answer, "sessions"), name);
			state = json_string_value(json_object_get(session, "state"));
			if (state && strcmp(state, "live") != 0)
				return json_incref((json_t *)session);
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static bool run_fixture(struct selftest *t, const struct fixture *fixture, const char *socket)
{
	_cleanup_json_ json_t *session = NULL;
	char name[64];

	t->fixture = fixture;
	snprintf(name, sizeof(name), FPROF_SELFTEST_NAME "%s %d", fixture->name, (int)getpid());
	if (!record(fixture, socket, name))
		return differs(t, 0, NULL, "recording", "an orderly end", "another one");
	session = wait_for_session(t, name);
	if (!session)
		return differs(t, 0, NULL, "session", "an ended session", "none in time");
	return compare_session(t, session);
}

static int run_fixtures(struct selftest *t, const char *socket)
{
	size_t i, failed = 0;

	for (i = 0; i < fixture_count; i++)
		failed += !run_fixture(t, &fixtures[i], socket);
	if (t->json) {
		_cleanup_json_ json_t *answer =
			json_pack("{s:b, s:i, s:O}", "ok", !failed, "fixtures", (int)fixture_count,
				  "failures", t->failures);

		answer_print(answer);
	} else {
		printf("FPROF_SELFTEST_OK=%s\n", failed ? "false" : "true");
	}
	return failed ? TOOL_FAILED : TOOL_OK;
}

int tool_selftest(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *status = NULL, *failures = json_array();
	_cleanup_api_ struct api *api = NULL;
	struct selftest t = {.json = options->json, .failures = failures};
	const char *socket;
	int r = tool_no_arguments(argc, argv);

	if (r == TOOL_OK)
		r = api_new(options, &api);
	if (r == TOOL_OK)
		r = api_send(api, "GET", "/api/v1/status", NULL, &status);
	if (r != TOOL_OK)
		return r;
	socket = json_string_value(json_object_get(json_object_get(status, "config"), "socket"));
	if (!socket || access(socket, W_OK) < 0) {
		tool_say("games cannot reach the daemon's socket here: %s",
			 socket ? strerror(errno) : "it names none");
		return TOOL_UNAVAILABLE;
	}
	t.api = api;
	return run_fixtures(&t, socket);
}
